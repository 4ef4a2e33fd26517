//===- ReadBenchmark.cpp - how fast memory is read ------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The limit of every step of few tokens: several ways to read memory from
// several threads, of which the fastest counts. For each line of its input it
// reads once in each way and prints the seconds of the fastest, so that
// benchmarks/decode can have it run between others.
//
// usage: tprt-read-bench THREADS BYTES
//
//===----------------------------------------------------------------------===//

#include "Timing.h"

#include "../runtime/support/Memory.h"
#include "../runtime/support/Parallel.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

using namespace tprt;

namespace {

typedef uint64_t Words __attribute__((vector_size(64)));

/// Somewhere for sums to go, so that reading is not left out.
std::atomic<uint64_t> kept;

/// Reads `bytes`, a multiple of 4096, as `Streams` parts side by side, and asks
/// for what lies `Ahead` bytes behind.
template <int Streams, int64_t Ahead>
void read(const char *data, int64_t bytes) {
  Words sums[4] = {};
  int64_t part = bytes / Streams;
  for (int64_t at = 0; at < part; at += 256)
    for (int stream = 0; stream < Streams; ++stream)
      for (int i = 0; i < 4; ++i) {
        const char *line = data + stream * part + at + 64 * i;
        if (Ahead)
          __builtin_prefetch(line + Ahead);
        sums[i] += *reinterpret_cast<const Words *>(line);
      }
  Words sum = sums[0] + sums[1] + sums[2] + sums[3];
  kept += sum[0] ^ sum[7];
}

/// Seconds for all of it; threads take pieces of `piece` bytes as they can.
template <int Streams, int64_t Ahead>
double timeOf(const char *data, int64_t bytes, int64_t piece) {
  return secondsOf([&] {
    parallelItems(bytes / piece, [&](int64_t item, int64_t) {
      read<Streams, Ahead>(data + item * piece, piece);
    });
  });
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: tprt-read-bench THREADS BYTES\n");
    return 2;
  }
  setWorkers(std::max(1, std::atoi(argv[1])));
  int64_t bytes = alignUp(std::atoll(argv[2]), 8 << 20);
  auto buffer = Buffer::allocate(bytes);
  if (!buffer)
    return 1;
  const char *data = (*buffer).data();
  std::memset((*buffer).data(), 1, size_t(bytes));
  for (int c; (c = std::getchar()) != EOF;) {
    if (c != '\n')
      continue;
    double best = 1e9;
    for (int64_t piece : {int64_t(64) << 10, int64_t(1) << 20, bytes / 2})
      for (double seconds :
           {timeOf<1, 0>(data, bytes, piece),
            timeOf<1, 2048>(data, bytes, piece),
            timeOf<1, 8192>(data, bytes, piece),
            timeOf<2, 0>(data, bytes, piece), timeOf<4, 0>(data, bytes, piece),
            timeOf<4, 1024>(data, bytes, piece)})
        best = std::min(best, seconds);
    std::printf("%.9f\n", best);
    std::fflush(stdout);
  }
  return 0;
}
