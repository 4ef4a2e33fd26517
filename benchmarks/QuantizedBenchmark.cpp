//===- QuantizedBenchmark.cpp - quantised products and their limits -------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For each format: steps of decoding, one row and eight rows of bf16, against a
// loop that reads the packed bytes; the eight rows against the multiplications
// at the rate of a dot product in the first cache; 512 rows of f32 against the
// same product with weights in f32; W8A8 as integers and as numbers, of 512
// rows. Contestants take turns, and the medians of ratios within a round are
// printed. One worker is timed by its processor time, so that a machine that is
// shared disturbs little; more are timed by the clock on the wall.
//
// usage: tprt-quantized-bench WORKERS [ROUNDS] [N K] [MIB]
//        MIB of packed weights are gone through by each contestant (512)
//
//===----------------------------------------------------------------------===//

#include "Timing.h"

#include "../runtime/host/Gemm.h"
#include "../runtime/support/Memory.h"
#include "../runtime/support/Parallel.h"
#include "../runtime/support/Simd.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <vector>

using namespace tprt;

namespace {

/// Somewhere for sums to go, so that no loop is left out.
std::atomic<uint64_t> kept;

double processorSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

double timeOf(const std::function<void()> &work) {
  if (workers() > 1)
    return secondsOf(work);
  double start = processorSeconds();
  work();
  return processorSeconds() - start;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Format {
  const char *name;
  QuantizedType type;
  ScaleType scaleType;
  int64_t groupN, groupK;
};

constexpr Format kFormats[] = {
    {"int8", QuantizedType::I8, ScaleType::F32, 1, 0},
    {"int8-g128", QuantizedType::I8, ScaleType::BF16, 1, 128},
    {"int4-g128", QuantizedType::I4, ScaleType::BF16, 1, 128},
    {"int4-g64", QuantizedType::I4, ScaleType::BF16, 1, 64},
    {"int4-g32", QuantizedType::I4, ScaleType::BF16, 1, 32},
    {"fp8-block", QuantizedType::E4M3, ScaleType::F32, 128, 128},
    {"fp8-channel", QuantizedType::E4M3, ScaleType::F32, 1, 0},
    {"mxfp4", QuantizedType::E2M1, ScaleType::E8M0, 1, 32},
};

/// Reads `bytes` of several matrices as four parts each, asking for what lies
/// ahead, which is the fastest way on most machines.
void readAll(const char *data, int64_t bytes) {
  typedef uint64_t Words
      __attribute__((vector_size(64), aligned(1), may_alias));
  constexpr int64_t kPiece = 512 << 10;
  parallelParts(bytes / kPiece, [&](int64_t item, int64_t) {
    Words sums[4] = {};
    for (int64_t at = 0; at < kPiece / 4; at += 64)
      for (int i = 0; i < 4; ++i) {
        const char *line = data + item * kPiece + i * (kPiece / 4) + at;
        __builtin_prefetch(line + 2048);
        sums[i] += *reinterpret_cast<const Words *>(line);
      }
    Words sum = sums[0] + sums[1] + sums[2] + sums[3];
    kept += sum[0] ^ sum[7];
  });
}

/// Multiplications a second of a worker's dot products in f32 whose operands
/// lie in its first cache.
double dotRate() {
  constexpr int64_t kDepth = 512, kLines = 8, kTimes = 20000;
  // They begin with a line of the cache, as rows in the engine do.
  Buffer lines = std::move(*Buffer::allocate(kLines * kDepth * 4));
  Buffer rows = std::move(*Buffer::allocate(8 * (kDepth + 16) * 4));
  auto *w = reinterpret_cast<float *>(lines.data());
  auto *x = reinterpret_cast<float *>(rows.data());
  std::fill_n(w, kLines * kDepth, 1.0f);
  std::fill_n(x, 8 * (kDepth + 16), 1.0f);
  std::vector<float> y(64);
  double seconds = timeOf([&] {
    for (int64_t i = 0; i < kTimes; ++i)
      simd().dot(TPRT_F32, w, kLines, x, kDepth + 16, 8, kDepth, y.data(),
                 kLines);
  });
  kept += uint64_t(y[0]);
  return double(kTimes * kLines * 8 * kDepth) / seconds;
}

Gemm describe(int64_t m, int64_t n, int64_t k, tprt_type x = TPRT_F32) {
  Gemm g{};
  g.m = m, g.n = n, g.k = k;
  g.xType = x;
  g.wType = g.yType = g.biasType = TPRT_F32;
  return g;
}

/// The matrices of one format, and what they are multiplied with.
class Contest {
public:
  Contest(const Format &format, int64_t n, int64_t k, int64_t bytes)
      : engine({describe(512, n, k), describe(1, n, k, TPRT_BF16),
                describe(8, n, k, TPRT_BF16)}) {
    weight.type = format.type, weight.n = n, weight.k = k;
    weight.scaleType = format.scaleType;
    weight.groupN = format.groupN, weight.groupK = format.groupK;
    int64_t scales = (weight.scaleRow(n - 1) + 1) * weight.columns();
    scaleSize = alignUp(scales * scaleBytes(format.scaleType), 64);
    size = alignUp(n * weight.rowBytes(), 512 << 10);
    count = std::max<int64_t>(1, bytes / size);
    values = std::move(*Buffer::allocate(size * count));
    scaleMemory = std::move(*Buffer::allocate(scaleSize * count));
    std::mt19937_64 random(1);
    auto *words = reinterpret_cast<uint64_t *>(values.data());
    // No NaN of e4m3: that costs no time, but shows nothing.
    for (int64_t i = 0; i < size * count / 8; ++i)
      words[i] = random() & 0xbfbfbfbfbfbfbfbf;
    std::memset(scaleMemory.data(), 0x3c, size_t(scaleSize * count));
    x.assign(size_t(512 * k), 0.01f);
    narrow.resize(x.size());
    simd().narrow(TPRT_BF16, x.data(), narrow.data(), int64_t(x.size()));
    y.resize(size_t(512 * n));
  }

  /// The first `times` matrices by `rows` rows, of bf16 if they are few.
  double multiply(int64_t rows, int64_t times) {
    bool isFew = rows <= 8;
    const void *from = isFew ? static_cast<void *>(narrow.data()) : x.data();
    return timeOf([&] {
      for (int64_t i = 0; i < times; ++i) {
        weight.values = values.data() + i * size;
        weight.scales = scaleMemory.data() + i * scaleSize;
        Status status =
            engine.run({isFew ? (rows == 1 ? 1 : 2) : 0, rows, from, weight.k,
                        nullptr, nullptr, nullptr, y.data(), weight.n},
                       weight);
        if (!status.ok()) {
          std::fprintf(stderr, "%s\n", status.message().c_str());
          std::exit(1);
        }
      }
    });
  }
  double multiplyF32(int64_t rows) {
    if (wide.empty())
      wide.assign(size_t(weight.n * weight.k), 0.01f);
    return timeOf([&] {
      kept += engine
                  .run({0, rows, x.data(), weight.k, wide.data(), nullptr,
                        nullptr, y.data(), weight.n})
                  .ok();
    });
  }
  double read() {
    return timeOf([&] {
      readAll(values.data(), size * count);
      readAll(scaleMemory.data(), scaleSize * count);
    });
  }

  QuantizedWeight weight;
  int64_t size, scaleSize, count;

private:
  GemmEngine engine;
  Buffer values, scaleMemory;
  std::vector<float> x, y, wide;
  std::vector<uint16_t> narrow;
};

void run(const Format &format, int64_t n, int64_t k, int64_t bytes,
         int rounds) {
  Contest contest(format, n, k, bytes);
  double rate = dotRate() * workers();
  double work = 8.0 * double(n) * double(k) * double(contest.count) / rate;
  std::vector<double> reads, shares, rows8, ratios, prefill;
  contest.multiply(1, 1);
  contest.multiply(512, 1);
  contest.multiplyF32(512);
  for (int i = 0; i < rounds; ++i) {
    double read = contest.read();
    double one = contest.multiply(1, contest.count);
    double eight = contest.multiply(8, contest.count);
    double limit = std::max(1.3 * one, work / 0.7);
    reads.push_back(read);
    shares.push_back(100 * read / one);
    rows8.push_back(eight / one);
    ratios.push_back(eight / limit);
    double wide = contest.multiplyF32(512);
    prefill.push_back(contest.multiply(512, 1) / wide);
  }
  double total = double((contest.size + contest.scaleSize) * contest.count);
  std::printf("%-12s read %5.1f GB/s; one row %5.1f %% of that; 8 rows %.2f of "
              "one, %.2f of the limit (dots at %.1f G/s); 512 rows %.2f of "
              "f32's\n",
              format.name, total / median(reads) / 1e9, median(shares),
              median(rows8), median(ratios), rate / 1e9, median(prefill));
  std::fflush(stdout);
}

/// 512 rows of integers by weights in i8: as integers, and as numbers.
void runIntegers(int64_t n, int64_t k, int rounds) {
  constexpr int64_t kRows = 512;
  Gemm ofIntegers = describe(kRows, n, k), ofF32 = ofIntegers;
  ofIntegers.xType = TPRT_BF16;
  GemmEngine engine({ofIntegers, ofF32});
  std::mt19937 random(1);
  std::vector<int8_t> values(size_t(n * k));
  for (int8_t &value : values)
    value = int8_t(random());
  std::vector<float> scales(size_t(n), 0.01f), wide(size_t(n * k), 0.01f),
      x(size_t(kRows * k)), y(size_t(kRows * n));
  for (float &value : x)
    value = float(int(random() % 255) - 127);
  std::vector<uint16_t> narrow(x.size());
  simd().narrow(TPRT_BF16, x.data(), narrow.data(), int64_t(x.size()));
  QuantizedWeight weight;
  weight.n = n, weight.k = k, weight.groupN = 1;
  weight.values = values.data(), weight.scales = scales.data();
  auto multiply = [&](bool asIntegers) {
    weight.meetsIntegers = asIntegers;
    return timeOf([&] {
      kept += engine
                  .run({0, kRows, narrow.data(), k, nullptr, nullptr, nullptr,
                        y.data(), n},
                       weight)
                  .ok();
    });
  };
  auto multiplyF32 = [&] {
    return timeOf([&] {
      kept += engine
                  .run({1, kRows, x.data(), k, wide.data(), nullptr, nullptr,
                        y.data(), n})
                  .ok();
    });
  };
  std::vector<double> integers, numbers, ratios;
  for (int i = -1; i < rounds; ++i) {
    double f32 = multiplyF32(), before = multiply(false), now = multiply(true);
    if (i < 0)
      continue;
    integers.push_back(now / f32);
    numbers.push_back(before / f32);
    ratios.push_back(now / before);
  }
  std::printf("%-12s 512 rows as integers %.2f of f32's, as numbers %.2f: "
              "%.2f of these\n",
              "w8a8", median(integers), median(numbers), median(ratios));
}

} // namespace

int main(int argc, char **argv) {
  auto argument = [&](int i, int64_t other) {
    return argc > i ? std::atoll(argv[i]) : other;
  };
  if (argc < 2) {
    std::fprintf(stderr,
                 "usage: tprt-quantized-bench WORKERS [ROUNDS] [N K] [MIB]\n");
    return 2;
  }
  setWorkers(int(std::max<int64_t>(1, argument(1, 1))));
  int64_t n = argument(3, 4096), k = argument(4, 4096);
  std::printf("%s, %d workers, %lld x %lld\n", simd().level, workers(),
              static_cast<long long>(n), static_cast<long long>(k));
  runIntegers(n, k, int(std::max<int64_t>(1, argument(2, 7))));
  for (const Format &format : kFormats)
    run(format, n, k, argument(5, 512) << 20,
        int(std::max<int64_t>(1, argument(2, 7))));
  return 0;
}
