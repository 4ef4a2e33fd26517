//===- ModelBenchmark.cpp - whole programs against bare libraries ---------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs an artifact's first entry and, alternating with it, what it is judged
// by: its GEMMs alone in oneDNN (as many calls, on as many threads per rank),
// and a triad on arrays of as many bytes as the entry reads and writes. Prints
// the best time of each and ratios, as speeds differ from machine to machine.
//
// usage: tp-bench-model MODEL.tpa [ROUNDS]
//
//===----------------------------------------------------------------------===//

#include "BareGemm.h"
#include "Timing.h"

#include "../runtime/format/Manifest.h"
#include "../runtime/session/Session.h"
#include "../runtime/support/Parallel.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

using namespace tprt;

namespace {

void require(const Status &status) {
  if (status.ok())
    return;
  std::fprintf(stderr, "tp-bench-model: %s\n", status.message().c_str());
  std::exit(int(status.code()));
}

/// Runs `work(rank)` on a thread per rank, each with its share of the cores.
void onRanks(int64_t ranks, const std::function<void(int64_t)> &work) {
  int threads = std::max<int>(1, std::thread::hardware_concurrency() / ranks);
  std::vector<std::thread> pool;
  for (int64_t rank = 0; rank < ranks; ++rank)
    pool.emplace_back([&, rank] {
      setWorkers(threads);
      work(rank);
    });
  for (std::thread &thread : pool)
    thread.join();
}

/// All GEMM calls of one step of one rank: each packed weight is used once.
class BareStep {
public:
  explicit BareStep(const Manifest &manifest) {
    for (size_t id = 0; id < manifest.gemms.size(); ++id) {
      const Gemm &gemm = manifest.gemms[id];
      if (std::any_of(manifest.gemms.begin(), manifest.gemms.begin() + id,
                      [&](const Gemm &other) { return isLike(gemm, other); }))
        continue;
      int64_t calls = countCalls(manifest, gemm);
      if (calls == 0)
        continue;
      gemms.emplace_back(std::make_unique<Bare>(gemm), calls);
      flops += 2.0 * calls * gemm.m * gemm.n * gemm.k;
    }
  }
  void run() {
    for (auto &[gemm, calls] : gemms)
      for (int64_t i = 0; i < calls; ++i)
        gemm->run();
  }
  double flops = 0;

private:
  static bool isLike(const Gemm &a, const Gemm &b) {
    return a.m == b.m && a.n == b.n && a.k == b.k && a.wType == b.wType;
  }
  /// Weights of that shape: those of all layers, or the one behind them, whose
  /// shape the table of the first embedding may have.
  static int64_t countCalls(const Manifest &manifest, const Gemm &gemm) {
    int64_t layered = 0, single = 0;
    for (const Parameter &parameter : manifest.parameters)
      if (parameter.localShape == Shape{gemm.n, gemm.k} &&
          parameter.type == gemm.wType)
        (parameter.count > 1 ? layered : single) += parameter.count;
    return layered ? layered : std::min<int64_t>(single, 1);
  }

  std::vector<std::pair<std::unique_ptr<Bare>, int64_t>> gemms;
};

/// a = b + s * c, in equal ranges on all cores.
void triad(float *__restrict a, const float *__restrict b,
           const float *__restrict c, int64_t count) {
  int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> pool;
  for (int64_t core = 0; core < cores; ++core)
    pool.emplace_back([=] {
      for (int64_t i = count * core / cores; i < count * (core + 1) / cores;
           ++i)
        a[i] = b[i] + 3.0f * c[i];
    });
  for (std::thread &thread : pool)
    thread.join();
}

/// The shortest step so far: without bringing inputs to the ranks.
double getStepSeconds(const std::string &stats) {
  constexpr std::string_view key = "\"least\":";
  size_t at = stats.find(key);
  return at == std::string::npos
             ? 1e9
             : std::strtod(stats.c_str() + at + key.size(), nullptr);
}

/// Inputs of any type within their range: ids count up, floats are small.
void setInputs(Session &session) {
  for (const Input &input : session.manifest().entries[0].inputs) {
    int64_t count = elementCount(input.shape);
    tprt_type given = isFloat(input.type) ? TPRT_F32 : input.type;
    std::string bytes(count * typeBytes(given), '\0');
    auto [low, high] = input.range.value_or(std::pair<int64_t, int64_t>(0, 2));
    for (int64_t i = 0; i < count; ++i) {
      int64_t number =
          input.rightPadded ? 1 : low + i % std::max<int64_t>(1, high - low);
      float small = float(i % 1000) / 1000 - 0.5f;
      std::memcpy(bytes.data() + i * typeBytes(given),
                  given == TPRT_F32 ? static_cast<const void *>(&small)
                                    : &number,
                  typeBytes(given));
    }
    FileType type = given == TPRT_F32   ? FileType::F32
                    : given == TPRT_I64 ? FileType::I64
                    : given == TPRT_I32 ? FileType::I32
                                        : FileType::I8;
    require(session.setInput({0}, input.name, {type, input.shape, bytes}));
  }
}

/// A program with weights and inputs, and its shortest step so far.
struct TimedProgram {
  explicit TimedProgram(const char *path)
      : path(path), session([&] {
          auto opened = Session::open(path, {});
          if (!opened)
            require(opened.status());
          return std::move(*opened);
        }()) {
    require(session->loadWeights("random:1"));
    setInputs(*session);
    require(session->run({0}, 1));
  }
  void run() {
    require(session->run({0}, 1));
    step = std::min(step, getStepSeconds(*session->stats()));
  }

  const char *path;
  Session::Owner session;
  double step = 1e9;
};

/// Bytes of inputs and outputs of a rank.
int64_t valueBytes(const Entry &entry) {
  int64_t bytes = 0;
  for (const Input &input : entry.inputs)
    bytes += elementCount(input.localShape) * typeBytes(input.type);
  for (const Output &output : entry.outputs)
    bytes += elementCount(output.localShape) * typeBytes(output.type);
  return bytes;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: tp-bench-model ROUNDS MODEL.tpa [OTHER.tpa "
                         "...]\nOthers are timed beside the first.\n");
    return 2;
  }
  int rounds = std::atoi(argv[1]);
  std::vector<TimedProgram> programs;
  for (int i = 2; i < argc; ++i)
    programs.emplace_back(argv[i]);
  const Manifest &manifest = programs[0].session->manifest();
  int64_t ranks = manifest.mesh.size();

  std::vector<std::unique_ptr<BareStep>> bare(ranks);
  onRanks(ranks, [&](int64_t rank) {
    bare[rank] = std::make_unique<BareStep>(manifest);
    bare[rank]->run();
  });
  int64_t bytes = valueBytes(manifest.entries[0]);
  int64_t count = bytes / 3 / sizeof(float);
  std::vector<float> a(count), b(count, 1.0f), c(count, 2.0f);

  double gemms = 1e9, stream = 1e9;
  for (int round = 0; round < rounds; ++round) {
    for (TimedProgram &program : programs)
      program.run();
    gemms = std::min(gemms, secondsOf([&] {
                       onRanks(ranks, [&](int64_t rank) { bare[rank]->run(); });
                     }));
    stream = std::min(
        stream, secondsOf([&] { triad(a.data(), b.data(), c.data(), count); }));
  }
  double step = programs[0].step;
  std::printf("%ld ranks, step %.4f s\n", long(ranks), step);
  if (bare[0]->flops > 0)
    std::printf("the same GEMMs bare: %.4f s (%.1f GFLOP/s); step at %.1f %% "
                "of that speed\n",
                gemms, ranks * bare[0]->flops / gemms * 1e-9,
                100 * gemms / step);
  else
    std::printf("triad on as many bytes: %.4f s (%.2f GB/s); step at %.1f %% "
                "of that speed\n",
                stream, bytes / stream * 1e-9, 100 * stream / step);
  for (size_t i = 1; i < programs.size(); ++i)
    std::printf("%s: step %.4f s, %.2f of the time\n", programs[i].path,
                programs[i].step, programs[i].step / step);
  return 0;
}
