//===- RuntimeBenchmark.cpp - the runtime against bare libraries ----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints ratios, as speeds differ from machine to machine: the runtime's
// products beside oneDNN called directly, those of few rows beside reading the
// weights, attention beside a product's speed, attention to pages beside
// reading them or beside plain attention, linear attention beside copying its
// state or a product's speed, collectives beside a copy's.
// Contestants alternate, and each one's best time counts. With a section's name
// (gemm, weights, attention, decode, prefill, recurrence, collectives), that
// alone.
//
// usage: tprt-bench [WORKERS [SECTION]]
//
//===----------------------------------------------------------------------===//

#include "../runtime/collectives/BackendTable.h"
#include "../runtime/host/Attention.h"
#include "../runtime/host/Gemm.h"
#include "../runtime/host/HostRank.h"
#include "../runtime/host/PagedAttention.h"
#include "../runtime/support/Memory.h"
#include "../runtime/support/Parallel.h"
#include "../runtime/support/Simd.h"
#include "BareGemm.h"
#include "Timing.h"

#include <dnnl.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string_view>
#include <thread>

using namespace tprt;

namespace {

/// Best seconds of each contestant, which alternate for about a second.
std::vector<double>
race(const std::vector<std::function<void()>> &contestants) {
  std::vector<double> best(contestants.size(), 1e9);
  auto start = Clock::now();
  for (int round = 0;
       round < 5 ||
       (round < 200 && Clock::now() - start < std::chrono::milliseconds(1000));
       ++round)
    for (size_t i = 0; i < contestants.size(); ++i)
      best[i] = std::min(best[i], secondsOf(contestants[i]));
  return best;
}

/// Memory filled with small numbers.
struct Values {
  Buffer buffer;
  explicit Values(int64_t count, tprt_type type = TPRT_F32)
      : buffer(std::move(*Buffer::allocate(count * typeBytes(type) + 64))) {
    for (int64_t i = 0; i < count; ++i) {
      float x = float(i * 7919 % 1000) / 1000 - 0.5f;
      simd().narrow(type, &x, buffer.data() + i * typeBytes(type), 1);
    }
  }
  void *data() const { return buffer.data(); }
};

Gemm describe(int64_t m, int64_t n, int64_t k, tprt_type type) {
  Gemm g{};
  g.m = m, g.n = n, g.k = k;
  g.xType = g.wType = g.yType = type;
  return g;
}

void benchmarkGemm(tprt_type type, int64_t m, int64_t rows, int64_t n,
                   int64_t k, tprt_type against) {
  Gemm g = describe(m, n, k, type);
  GemmEngine engine({g});
  Values x(rows * k, type), w(n * k, type), y(rows * n, type);
  Bare bare(describe(rows, n, k, against));
  auto ours = [&] {
    if (!engine
             .run({0, rows, x.data(), k, w.data(), nullptr, nullptr, y.data(),
                   n})
             .ok())
      std::abort();
  };
  ours();
  std::vector<double> best = race({[&] { bare.run(); }, ours});
  std::printf("gemm %4s %4ld x %5ld x %5ld (at most %ld)  "
              "%.2f of bare %s\n",
              typeName(type), long(rows), long(n), long(k), long(m),
              best[0] / best[1], typeName(against));
}

/// Reads memory once, as fast as that goes.
void readAll(const char *data, int64_t bytes) {
  typedef uint64_t Words __attribute__((vector_size(64)));
  constexpr int64_t kPiece = 256 << 10;
  static std::atomic<uint64_t> total;
  parallelItems((bytes + kPiece - 1) / kPiece, [&](int64_t item, int64_t) {
    auto *piece = reinterpret_cast<const Words *>(data + item * kPiece);
    int64_t words = std::min(kPiece, bytes - item * kPiece) / 64;
    Words sums[4] = {};
    for (int64_t i = 0; i + 4 <= words; i += 4)
      for (int j = 0; j < 4; ++j)
        sums[j] += piece[i + j];
    Words sum = sums[0] + sums[1] + sums[2] + sums[3];
    total += sum[0] + sum[7];
  });
}

/// The products of few rows in a Llama of 4 layers (hidden size 2048,
/// intermediate size 5632, vocabulary 32000), beside reading its weights.
void benchmarkFewRows(tprt_type type) {
  struct Part {
    int64_t n, k, count;
  };
  constexpr Part parts[] = {
      {2048, 2048, 16}, {5632, 2048, 8}, {2048, 5632, 4}, {32000, 2048, 1}};
  std::vector<Gemm> gemms;
  int64_t elements = 0;
  for (const Part &part : parts) {
    gemms.push_back(describe(8, part.n, part.k, type));
    elements += part.n * part.k * part.count;
  }
  GemmEngine engine(gemms);
  Values some(1 << 20, type), x(8 * 5632, type), y(8 * 32000, type);
  int64_t bytes = elements * typeBytes(type), step = typeBytes(type) << 20;
  Buffer weights = std::move(*Buffer::allocate(bytes));
  for (int64_t at = 0; at < bytes; at += step)
    std::memcpy(weights.data() + at, some.data(),
                size_t(std::min(step, bytes - at)));
  auto multiply = [&](int64_t rows) {
    const char *w = weights.data();
    for (size_t id = 0; id < std::size(parts); ++id)
      for (int64_t i = 0; i < parts[id].count; ++i) {
        if (!engine
                 .run({int64_t(id), rows, x.data(), parts[id].k, w, nullptr,
                       nullptr, y.data(), parts[id].n})
                 .ok())
          std::abort();
        w += parts[id].n * parts[id].k * typeBytes(type);
      }
  };
  // Logits of deviation 1, which no beginning of a block settles.
  std::mt19937 random(1);
  std::vector<float> logits(8 * 32000), records(8 * TPRT_RECORD_WORDS);
  for (float &x : logits)
    x = std::normal_distribution<float>()(random);
  int32_t block = 0, positions[8], topK[8] = {}, tokens[8];
  int64_t seeds[8];
  float temperatures[8], topP[8], minP[8] = {}, logprobs[8];
  for (int row = 0; row < 8; ++row)
    positions[row] = 100 + row, seeds[row] = row, temperatures[row] = 0.7f,
    topP[row] = 1;
  auto sample = [&] {
    HostFunctions::sample_records(nullptr, 8, 32000, 1, 32000, logits.data(),
                                  &block, positions, seeds, temperatures,
                                  records.data());
    HostFunctions::sample_pick(nullptr, 8, 1, records.data(), positions, seeds,
                               temperatures, topK, topP, minP, tokens,
                               logprobs);
  };
  std::vector<double> best =
      race({[&] { readAll(weights.data(), bytes); }, [&] { multiply(1); },
            [&] { multiply(4); }, [&] { multiply(8); }, sample});
  std::printf("weights of a model, %4s: 1 row at %.2f of the speed of reading "
              "them; 4 rows cost %.2f of one, 8 rows %.2f; to draw their "
              "tokens %.4f of that\n",
              typeName(type), best[0] / best[1], best[2] / best[1],
              best[3] / best[1], best[4] / best[3]);
}

void benchmarkAttention(tprt_type type, int64_t length, int64_t heads,
                        int64_t kvHeads, int64_t size, bool causal) {
  Attention a{};
  a.batch = 1;
  a.qLen = a.kvCapacity = length;
  a.qHeads = heads, a.kvHeads = kvHeads, a.headSize = a.valueSize = size;
  a.type = type;
  a.causal = causal;
  a.scale = 1 / std::sqrt(double(size));
  std::vector<Attention> list = {a};
  AttentionEngine engine(list);
  Values q(length * heads * size, type), k(length * kvHeads * size, type),
      v(length * kvHeads * size, type), out(length * heads * size, type);
  AttentionCall call{.q = q.data(),
                     .qStride = heads * size,
                     .k = k.data(),
                     .kStride = kvHeads * size,
                     .v = v.data(),
                     .vStride = kvHeads * size,
                     .kvLen = length,
                     .out = out.data(),
                     .outStride = heads * size};
  Bare bare(describe(512, 2048, 2048, TPRT_F32));
  std::vector<double> best = race({[&] { bare.run(); },
                                   [&] {
                                     if (!engine.run(0, call).ok())
                                       std::abort();
                                   }});
  double flops = 4.0 * length * length * size * heads * (causal ? 0.5 : 1);
  double product = 2.0 * 512 * 2048 * 2048 / best[0];
  std::printf("attention %4s %4ld tokens, %2ld/%ld heads of %3ld, %-8s  "
              "%.2f of a product's speed\n",
              typeName(type), long(length), long(heads), long(kvHeads),
              long(size), causal ? "causal" : "full",
              flops / best[1] / product);
}

/// Eight KV heads of 32 query heads; pages of 32 cells.
PagedAttention describePages(tprt_type type, int64_t rows, int64_t tokens,
                             int64_t size, int64_t keys) {
  PagedAttention a{};
  a.tokens = tokens, a.rows = rows;
  a.qHeads = 32, a.kvHeads = 8, a.headSize = a.valueSize = size;
  a.type = a.cacheType = type;
  a.page = 32, a.pages = keys / a.page;
  a.scale = 1 / std::sqrt(double(size));
  return a;
}

/// One token each of rows with 4096 keys, in pages of any order, out of so many
/// that none is in a cache of the processor.
void benchmarkDecode(tprt_type type, int64_t rows, int64_t size) {
  PagedAttention a = describePages(type, rows, rows, size, 4096);
  int64_t cellBytes = a.kvHeads * size * typeBytes(type);
  int64_t bytes = rows * 4096 * cellBytes, numPages = rows * a.pages;
  int64_t sets = std::max<int64_t>(1, (int64_t(128) << 20) / bytes);
  a.cells = sets * numPages * a.page;
  Values q(rows * a.qHeads * size, type), out(rows * a.qHeads * size, type),
      keys(a.cells * a.kvHeads * size, type),
      values(a.cells * a.kvHeads * size, type);
  std::vector<int32_t> row(rows), position(rows, 4095), table(sets * numPages);
  for (int64_t r = 0; r < rows; ++r)
    row[r] = int32_t(r);
  for (size_t i = 0; i < table.size(); ++i)
    table[i] = int32_t(i * 7919 % table.size());
  std::vector<PagedAttention> list = {a};
  PagedAttentionEngine engine(list);
  int64_t set = 0, readSet = 0;
  auto bytesOf = [](const Values &v) { return static_cast<char *>(v.data()); };
  std::vector<double> best =
      race({[&] {
              int64_t at = readSet++ % sets * bytes;
              readAll(bytesOf(keys) + at, bytes);
              readAll(bytesOf(values) + at, bytes);
            },
            [&] {
              PagedCall call{.tokens = rows,
                             .q = bytesOf(q),
                             .keys = bytesOf(keys),
                             .values = bytesOf(values),
                             .rows = row.data(),
                             .positions = position.data(),
                             .table = table.data() + set++ % sets * numPages,
                             .out = bytesOf(out)};
              if (!engine.run(0, call).ok())
                std::abort();
            }});
  std::printf("decode %4s %ld rows of 4096 keys, 32/8 heads of %3ld  "
              "%.2f of reading's speed (%.1f GB/s)\n",
              typeName(type), long(rows), long(size), best[0] / best[1],
              double(2 * bytes) / best[0] / 1e9);
}

/// A chunk of a prompt, beside attention to the same keys in a row.
void benchmarkPrefill(tprt_type type, int64_t context, int64_t size) {
  int64_t count = 512, length = context + count;
  PagedAttention a = describePages(type, 1, count, size, length);
  a.cells = length;
  int64_t qSize = a.qHeads * size, cellSize = a.kvHeads * size;
  Values q(count * qSize, type), out(count * qSize, type),
      keys(length * cellSize, type), values(length * cellSize, type);
  std::vector<int32_t> row(count), position(count), table(a.pages);
  for (int64_t t = 0; t < count; ++t)
    position[t] = int32_t(context + t);
  for (int64_t i = 0; i < a.pages; ++i)
    table[i] = int32_t(i * 7919 % a.pages);
  Attention plain{};
  plain.batch = 1;
  plain.qLen = count, plain.kvCapacity = length;
  plain.qHeads = a.qHeads, plain.kvHeads = a.kvHeads,
  plain.headSize = plain.valueSize = size;
  plain.type = type;
  plain.causal = true;
  plain.scale = a.scale;
  std::vector<PagedAttention> list = {a};
  std::vector<Attention> plainList = {plain};
  PagedAttentionEngine engine(list);
  AttentionEngine plainEngine(plainList);
  auto bytesOf = [](const Values &v) { return static_cast<char *>(v.data()); };
  PagedCall call{.tokens = count,
                 .q = bytesOf(q),
                 .keys = bytesOf(keys),
                 .values = bytesOf(values),
                 .rows = row.data(),
                 .positions = position.data(),
                 .table = table.data(),
                 .out = bytesOf(out)};
  AttentionCall plainCall{.q = q.data(),
                          .qStride = qSize,
                          .k = keys.data(),
                          .kStride = cellSize,
                          .v = values.data(),
                          .vStride = cellSize,
                          .kvLen = length,
                          .qOffset = context,
                          .out = out.data(),
                          .outStride = qSize};
  std::vector<double> best = race({[&] {
                                     if (!plainEngine.run(0, plainCall).ok())
                                       std::abort();
                                   },
                                   [&] {
                                     if (!engine.run(0, call).ok())
                                       std::abort();
                                   }});
  std::printf("prefill %4s 512 tokens after %4ld, 32/8 heads of %3ld  "
              "%.2f of attention's speed\n",
              typeName(type), long(context), long(size), best[0] / best[1]);
}

void benchmarkCollective(CollectiveKind kind, int64_t ranks, int64_t bytes) {
  Collective c{};
  c.kind = kind;
  c.type = TPRT_F32;
  int64_t count = bytes / 4;
  c.inputShape = {kind == CollectiveKind::AllGather ? count / ranks : count};
  c.outputShape = {kind == CollectiveKind::ReduceScatter ? count / ranks
                                                         : count};
  BackendOptions options;
  options.backend = "threads";
  options.ranks = ranks;
  options.waits.describe = [](CallSite) { return std::string(); };
  auto made = makeBackend(options);
  if (!made)
    std::abort();
  Backend &backend = **made;
  std::vector<int64_t> everyone;
  for (int64_t r = 0; r < ranks; ++r)
    everyone.push_back(r);
  int rounds = int(std::clamp<int64_t>((int64_t(64) << 20) / bytes, 20, 2000));
  double seconds = 1e9, copy = 1e9;
  std::vector<std::thread> threads;
  for (int64_t r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      setWorkers(1);
      auto communicator = backend.communicator(r, everyone);
      Values in(count), out(count);
      for (int n = 0; n < rounds; ++n) {
        double time = secondsOf([&] {
          if (!(*communicator)->run(c, {0, n}, in.data(), out.data()).ok())
            std::abort();
        });
        double copied = secondsOf(
            [&] { std::memcpy(out.data(), in.data(), size_t(bytes)); });
        if (r == 0) {
          seconds = std::min(seconds, time);
          copy = std::min(copy, copied);
        }
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  std::printf("%-14s %ld ranks %8ld bytes  %.2f of a copy's time\n",
              rowOf(kind).operation.data(), long(ranks), long(bytes),
              seconds / copy);
}

void benchmarkGemms() {
  for (auto [n, k] : {std::pair<int64_t, int64_t>{2048, 2048},
                      {8192, 2048},
                      {2048, 8192},
                      {512, 2048}}) {
    benchmarkGemm(TPRT_F32, 512, 512, n, k, TPRT_F32);
    benchmarkGemm(TPRT_F32, 512, 1, n, k, TPRT_F32);
  }
  for (tprt_type type : {TPRT_BF16, TPRT_F16})
    for (int64_t rows : {512, 32, 1})
      benchmarkGemm(type, 512, rows, 8192, 2048, TPRT_F32);
  auto bf16 = unsigned(dnnl::cpu_isa::avx512_core_amx);
  if ((unsigned(dnnl::get_effective_cpu_isa()) & bf16) == bf16)
    benchmarkGemm(TPRT_BF16, 512, 512, 8192, 2048, TPRT_BF16);
}

void benchmarkWeights() {
  for (tprt_type type : {TPRT_F32, TPRT_BF16, TPRT_F16})
    benchmarkFewRows(type);
}

void benchmarkAttentions() {
  for (tprt_type type : {TPRT_F32, TPRT_BF16})
    for (bool causal : {false, true}) {
      benchmarkAttention(type, 512, 32, 8, 64, causal);
      benchmarkAttention(type, 1024, 8, 8, 128, causal);
      benchmarkAttention(type, 128, 12, 12, 32, causal);
    }
}

void benchmarkDecodes() {
  for (int64_t size : {64, 128})
    for (tprt_type type : {TPRT_F32, TPRT_BF16, TPRT_F16})
      for (int64_t rows : {1, 8})
        benchmarkDecode(type, rows, size);
}

void benchmarkPrefills() {
  for (int64_t size : {64, 128})
    for (tprt_type type : {TPRT_F32, TPRT_BF16, TPRT_F16})
      for (int64_t context : {0, 4096})
        benchmarkPrefill(type, context, size);
}

/// Linear attention of Qwen3-Next's size, 16 key heads and 32 value heads of
/// 128: one token of a text beside copying its state, which it reads and
/// writes, and a prompt beside a product's speed. `usesBeta`: the gated delta
/// rule; otherwise Mamba-2's scan.
void benchmarkRecurrence(bool usesBeta) {
  constexpr int64_t keyHeads = 16, valueHeads = 32, size = 128, prompt = 512;
  constexpr int64_t state = valueHeads * size * size, numSlots = 64;
  Values q(prompt * keyHeads * size), k(prompt * keyHeads * size),
      v(prompt * valueHeads * size), out(prompt * valueHeads * size),
      decay(prompt * valueHeads), beta(prompt * valueHeads),
      pool(numSlots * state), copied(numSlots * state);
  // Decays below one and keys shorter than one: states stay finite.
  auto *decays = static_cast<float *>(decay.data());
  auto *steps = static_cast<float *>(beta.data());
  auto *keys = static_cast<float *>(k.data());
  for (int64_t i = 0; i < prompt * valueHeads; ++i) {
    decays[i] = -std::abs(decays[i]);
    steps[i] = std::abs(steps[i]);
  }
  for (int64_t i = 0; i < prompt * keyHeads * size; ++i)
    keys[i] /= 4;
  const void *betas = usesBeta ? beta.data() : nullptr;
  auto step = [&](int64_t tokens, const int32_t *slots,
                  const int32_t *sources) {
    if (HostFunctions::paged_gated_delta_rule(
            nullptr, tokens, keyHeads, valueHeads, size, size, numSlots,
            q.data(), k.data(), v.data(), decay.data(), betas, slots, sources,
            pool.data(), out.data(), pool.data()) != 0)
      std::abort();
  };
  int64_t slot = 0;
  std::vector<double> token =
      race({[&] {
              int64_t at = slot++ % numSlots * state;
              std::memcpy(static_cast<float *>(copied.data()) + at,
                          static_cast<float *>(pool.data()) + at,
                          state * sizeof(float));
            },
            [&] {
              int32_t to = int32_t(slot++ % numSlots), from = to + 1;
              step(1, &to, &from);
            }});
  std::vector<int32_t> slots(prompt, -1), sources(prompt);
  slots.back() = 0;
  sources.front() = -1;
  for (int32_t t = 1; t < prompt; ++t)
    sources[t] = t - 1;
  Bare bare(describe(512, 2048, 2048, TPRT_F32));
  std::vector<double> all =
      race({[&] { bare.run(); },
            [&] { step(prompt, slots.data(), sources.data()); }});
  double perToken = (usesBeta ? 7.0 : 5.0) * state;
  double product = 2.0 * 512 * 2048 * 2048 / all[0];
  double bytes = 2.0 * state * sizeof(float);
  std::printf("recurrence %-7s one token %.2f of a copy's speed (%.1f GB/s), "
              "%ld tokens %.2f of a product's (%.1f GFLOP/s)\n",
              usesBeta ? "delta" : "Mamba-2", token[0] / token[1],
              bytes / token[1] / 1e9, long(prompt),
              perToken * prompt / all[1] / product,
              perToken * prompt / all[1] / 1e9);
}

void benchmarkRecurrences() {
  for (bool usesBeta : {true, false})
    benchmarkRecurrence(usesBeta);
}

void benchmarkCollectives() {
  for (CollectiveKind kind :
       {CollectiveKind::AllReduce, CollectiveKind::AllGather,
        CollectiveKind::ReduceScatter})
    for (int64_t bytes :
         {int64_t(64) << 10, int64_t(1) << 20, int64_t(16) << 20})
      benchmarkCollective(kind, 2, bytes);
}

struct Section {
  std::string_view name;
  void (*run)();
};
constexpr Section sections[] = {{"gemm", benchmarkGemms},
                                {"weights", benchmarkWeights},
                                {"attention", benchmarkAttentions},
                                {"decode", benchmarkDecodes},
                                {"prefill", benchmarkPrefills},
                                {"recurrence", benchmarkRecurrences},
                                {"collectives", benchmarkCollectives}};

} // namespace

int main(int argc, char **argv) {
  auto isAsked = [&](const Section &section) {
    return argc < 3 || section.name == argv[2];
  };
  if (std::none_of(std::begin(sections), std::end(sections), isAsked)) {
    std::fprintf(stderr, "usage: tprt-bench [WORKERS [SECTION]]\n");
    return 2;
  }
  setWorkers(argc > 1 ? std::max(1, std::atoi(argv[1])) : 1);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::printf("level %s, oneDNN isa %x, %d workers\n", simd().level,
              unsigned(dnnl::get_effective_cpu_isa()), workers());
  for (const Section &section : sections)
    if (isAsked(section))
      section.run();
  return 0;
}
