//===- GemmBenchmark.cpp - a list of products in the bare library ---------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products in oneDNN, every layout left to it. Each line of standard input is
// answered with the seconds that all of them take, one after the other.
//
// usage: tprt-gemm-bench THREADS f32|bf16 ROWS,COLUMNS,DEPTH,COUNT...
//
//===----------------------------------------------------------------------===//

#include "BareGemm.h"

#include "../runtime/support/Parallel.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

using namespace tprt;
using Clock = std::chrono::steady_clock;

int main(int argc, char **argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: tprt-gemm-bench THREADS f32|bf16 "
                         "ROWS,COLUMNS,DEPTH,COUNT...\n");
    return 2;
  }
  setWorkers(std::atoi(argv[1]));
  std::vector<std::pair<std::unique_ptr<Bare>, long>> products;
  for (int i = 3; i < argc; ++i) {
    long m, n, k, count;
    if (std::sscanf(argv[i], "%ld,%ld,%ld,%ld", &m, &n, &k, &count) != 4) {
      std::fprintf(stderr, "tprt-gemm-bench: expected four numbers, got '%s'\n",
                   argv[i]);
      return 2;
    }
    Gemm gemm{};
    gemm.m = m, gemm.n = n, gemm.k = k;
    gemm.xType = gemm.wType =
        argv[2] == std::string("bf16") ? TPRT_BF16 : TPRT_F32;
    gemm.yType = TPRT_F32;
    products.emplace_back(std::make_unique<Bare>(gemm), count);
  }
  std::puts("ready");
  std::fflush(stdout);
  for (int c; (c = std::getchar()) != EOF;) {
    if (c != '\n')
      continue;
    auto start = Clock::now();
    for (auto &[product, count] : products)
      for (long i = 0; i < count; ++i)
        product->run();
    std::printf("%.9f\n",
                std::chrono::duration<double>(Clock::now() - start).count());
    std::fflush(stdout);
  }
}
