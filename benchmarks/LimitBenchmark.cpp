//===- LimitBenchmark.cpp - what a training step cannot do without --------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts that a step is judged by, each alone: products in oneDNN, each in
// the layout that is fastest here; causal attention; a triad over memory. A
// line of standard input that names one of them is answered with seconds: of
// all products one after the other, of one attention, of a gigabyte of the
// triad's reads and writes.
//
// usage: tprt-limit-bench THREADS f32|bf16 TOKENS,HEADS,KV_HEADS,HEAD_SIZE
//          ROWS,COLUMNS,DEPTH,COUNT...
//
//===----------------------------------------------------------------------===//

#include "BareGemm.h"
#include "Timing.h"

#include "../runtime/host/Attention.h"
#include "../runtime/support/Parallel.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <string>

using namespace tprt;

namespace {

Buffer zeros(int64_t bytes) {
  Buffer buffer = std::move(*Buffer::allocate(bytes));
  std::memset(buffer.data(), 0, size_t(bytes));
  return buffer;
}

/// A product by the fastest of the ways that oneDNN has here: its inner product
/// with every layout left to it, in `type` or in f32, and f32 as it lies, with
/// either operand transposed.
class Product {
public:
  Product(int64_t m, int64_t n, int64_t k, tprt_type type) {
    auto wide = unsigned(dnnl::cpu_isa::avx512_core);
    bool isNarrow = (unsigned(dnnl::get_effective_cpu_isa()) & wide) == wide;
    // Elsewhere bf16 is multiplied by the library's reference alone.
    for (tprt_type each : {isNarrow ? type : TPRT_F32, TPRT_F32}) {
      Gemm gemm{};
      gemm.m = m, gemm.n = n, gemm.k = k;
      gemm.xType = gemm.wType = each;
      gemm.yType = TPRT_F32;
      auto bare = std::make_shared<Bare>(gemm);
      ways.push_back([bare] { bare->run(); });
    }
    auto x = std::make_shared<Buffer>(zeros(m * k * 4));
    auto w = std::make_shared<Buffer>(zeros(n * k * 4));
    auto y = std::make_shared<Buffer>(zeros(m * n * 4));
    auto at = [](auto &buffer) {
      return reinterpret_cast<float *>(buffer->data());
    };
    for (auto [xKind, wKind] : {std::pair{'N', 'T'}, {'N', 'N'}, {'T', 'N'}})
      ways.push_back([=, xKind = xKind, wKind = wKind] {
        dnnl::sgemm(xKind, wKind, m, n, k, 1, at(x), xKind == 'N' ? k : m,
                    at(w), wKind == 'N' ? n : k, 0, at(y), n);
      });
  }

  /// By the fastest of them now: which that is follows the machine's other
  /// work.
  double seconds() const {
    double best = 1e9;
    for (const auto &way : ways)
      for (int i = 0; i < 2; ++i)
        best = std::min(best, secondsOf(way));
    return best;
  }

private:
  std::vector<std::function<void()>> ways;
};

struct Size {
  int64_t numbers[4];
  explicit Size(const char *text) {
    long a, b, c, d;
    if (std::sscanf(text, "%ld,%ld,%ld,%ld", &a, &b, &c, &d) != 4) {
      std::fprintf(stderr,
                   "tprt-limit-bench: expected four numbers, got '%s'\n", text);
      std::exit(2);
    }
    numbers[0] = a, numbers[1] = b, numbers[2] = c, numbers[3] = d;
  }
};

std::function<void()> attention(Size size, tprt_type type) {
  auto [tokens, heads, kvHeads, headSize] = size.numbers;
  Attention a{};
  a.batch = 1;
  a.qLen = a.kvCapacity = tokens;
  a.qHeads = heads, a.kvHeads = kvHeads, a.headSize = a.valueSize = headSize;
  a.type = type;
  a.causal = true;
  a.scale = 1 / std::sqrt(double(headSize));
  auto list = std::make_shared<std::vector<Attention>>(1, a);
  auto engine = std::make_shared<AttentionEngine>(*list);
  int64_t wide = heads * headSize, narrow = kvHeads * headSize;
  auto rows = std::make_shared<Buffer>(
      zeros(tokens * 2 * (wide + narrow) * typeBytes(type)));
  auto at = [=](int64_t columns) {
    return rows->data() + tokens * columns * typeBytes(type);
  };
  AttentionCall call{.q = at(0),
                     .qStride = wide,
                     .k = at(wide),
                     .kStride = narrow,
                     .v = at(wide + narrow),
                     .vStride = narrow,
                     .kvLen = tokens,
                     .out = at(wide + 2 * narrow),
                     .outStride = wide};
  return [list, engine, rows, call] {
    if (!engine->run(0, call).ok())
      std::abort();
  };
}

/// a = b + 2 c over memory of which no cache holds a part worth naming.
class Triad {
public:
  double secondsPerGigabyte() {
    double best = 1e9;
    for (int i = 0; i < 2; ++i)
      best = std::min(best, secondsOf([&] { run(); }));
    return best / (3 * kBytes * 1e-9);
  }

private:
  static constexpr int64_t kBytes = int64_t(128) << 20, kPiece = 64 << 10;
  Buffer memory = zeros(3 * kBytes);

  void run() {
    typedef float Vec __attribute__((vector_size(32)));
    auto *base = reinterpret_cast<Vec *>(memory.data());
    constexpr int64_t count = kBytes / sizeof(Vec);
    parallelFor(count, kPiece, [&](int64_t begin, int64_t end, int64_t) {
      for (int64_t i = begin; i < end; ++i)
        base[i] = base[count + i] + base[2 * count + i] * 2.0f;
    });
  }
};

} // namespace

int main(int argc, char **argv) {
  if (argc < 5) {
    std::fprintf(
        stderr,
        "usage: tprt-limit-bench THREADS f32|bf16 "
        "TOKENS,HEADS,KV_HEADS,HEAD_SIZE ROWS,COLUMNS,DEPTH,COUNT...\n");
    return 2;
  }
  setWorkers(std::max(1, std::atoi(argv[1])));
  tprt_type type = argv[2] == std::string("bf16") ? TPRT_BF16 : TPRT_F32;
  std::function<void()> attend = attention(Size(argv[3]), type);
  std::vector<std::pair<Product, int64_t>> products;
  for (int i = 4; i < argc; ++i) {
    auto [rows, columns, depth, count] = Size(argv[i]).numbers;
    products.emplace_back(Product(rows, columns, depth, type), count);
  }
  Triad triad;
  std::puts("ready");
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    double seconds = 0;
    if (line == "products")
      for (auto &[product, count] : products)
        seconds += product.seconds() * double(count);
    else if (line == "attention")
      seconds = std::min(secondsOf(attend), secondsOf(attend));
    else
      seconds = triad.secondsPerGigabyte();
    std::printf("%.9f\n", seconds);
    std::fflush(stdout);
  }
}
