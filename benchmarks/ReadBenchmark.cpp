//===- ReadBenchmark.cpp - how fast memory is read ------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The limit of every step of few tokens: several ways to read memory from
// several threads, of which the one with the least median is chosen first. For
// each line of its input it reads a few times in that way and prints the mean
// of the seconds, so that benchmarks/decode can have it run between others: a
// lucky moment of a machine that is shared counts no more here than there.
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
#include <functional>
#include <vector>

using namespace tprt;

namespace {

typedef uint64_t Words __attribute__((vector_size(64)));

/// Times that memory is read for each line.
constexpr int kReads = 8;

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
using Way = double (*)(const char *data, int64_t bytes, int64_t piece);

template <int Streams, int64_t Ahead>
double timeOf(const char *data, int64_t bytes, int64_t piece) {
  return secondsOf([&] {
    parallelItems(bytes / piece, [&](int64_t item, int64_t) {
      read<Streams, Ahead>(data + item * piece, piece);
    });
  });
}

constexpr Way kWays[] = {timeOf<1, 0>, timeOf<1, 2048>, timeOf<1, 8192>,
                         timeOf<2, 0>, timeOf<4, 0>,    timeOf<4, 1024>};

/// The way and the piece whose median of `kTries` is least.
constexpr int kTries = 5;

std::function<double()> fastest(const char *data, int64_t bytes) {
  struct Candidate {
    Way way;
    int64_t piece;
    std::vector<double> seconds;
  };
  std::vector<Candidate> candidates;
  for (int64_t piece : {int64_t(64) << 10, int64_t(1) << 20, bytes / 2})
    for (Way way : kWays)
      candidates.push_back({way, piece, {}});
  for (int i = 0; i < kTries; ++i)
    for (Candidate &candidate : candidates)
      candidate.seconds.push_back(candidate.way(data, bytes, candidate.piece));
  auto median = [](Candidate &candidate) {
    std::sort(candidate.seconds.begin(), candidate.seconds.end());
    return candidate.seconds[kTries / 2];
  };
  auto best = std::min_element(
      candidates.begin(), candidates.end(),
      [&](Candidate &a, Candidate &b) { return median(a) < median(b); });
  return [=, way = best->way, piece = best->piece] {
    return way(data, bytes, piece);
  };
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
  std::function<double()> way = fastest(data, bytes);
  for (int c; (c = std::getchar()) != EOF;) {
    if (c != '\n')
      continue;
    double seconds = 0;
    for (int i = 0; i < kReads; ++i)
      seconds += way() / kReads;
    std::printf("%.9f\n", seconds);
    std::fflush(stdout);
  }
  return 0;
}
