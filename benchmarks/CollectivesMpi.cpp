//===- CollectivesMpi.cpp - MPI's own collectives -------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The peer of CollectivesBenchmark, which starts it under mpirun: the same
// collectives as calls of the MPI library. Its arguments are cases of three
// words, `kind bytes rounds`; for each it prints the seconds of a call that a
// tenth of the calls undercut.
//
//===----------------------------------------------------------------------===//

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mpi.h>
#include <string>
#include <vector>

using Clock = std::chrono::steady_clock;

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int at = 1; at + 2 < argc; at += 3) {
    std::string kind = argv[at];
    int count = std::atoi(argv[at + 1]) / 4 / ranks * ranks;
    int rounds = std::atoi(argv[at + 2]);
    std::vector<float> in(size_t(count), 0.0f), out(size_t(count), 0.0f);
    std::vector<double> seconds;
    for (int n = 0; n < rounds; ++n) {
      auto start = Clock::now();
      if (kind == "all_reduce")
        MPI_Allreduce(in.data(), out.data(), count, MPI_FLOAT, MPI_SUM,
                      MPI_COMM_WORLD);
      else if (kind == "all_gather")
        MPI_Allgather(in.data(), count / ranks, MPI_FLOAT, out.data(),
                      count / ranks, MPI_FLOAT, MPI_COMM_WORLD);
      else
        MPI_Reduce_scatter_block(in.data(), out.data(), count / ranks,
                                 MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      seconds.push_back(
          std::chrono::duration<double>(Clock::now() - start).count());
    }
    std::nth_element(seconds.begin(), seconds.begin() + rounds / 10,
                     seconds.end());
    if (rank == 0)
      std::printf("%.9f\n", seconds[size_t(rounds / 10)]);
  }
  MPI_Finalize();
  return 0;
}
