//===- GemmTest.cpp - products against the definition ---------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every combination that the manifest can state, against loops in double. The
// tolerance follows from the type and the depth of the sum.
//
//===----------------------------------------------------------------------===//

#include "TestUtil.h"

#include "../host/Gemm.h"
#include "../host/ProductPath.h"
#include "../support/Cpu.h"
#include "../support/Parallel.h"

#include <dnnl.hpp>

#include <cmath>

using namespace tprt;
using namespace tprt::test;

namespace {

double activate(Gemm::Activation activation, double x) {
  switch (activation) {
  case Gemm::Activation::None:
    return x;
  case Gemm::Activation::Relu:
    return x > 0 ? x : 0;
  case Gemm::Activation::Silu:
    return x / (1 + std::exp(-x));
  case Gemm::Activation::GeluErf:
    return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
  case Gemm::Activation::GeluTanh:
    return 0.5 * x *
           (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  }
  return x;
}

Gemm describe(int64_t m, int64_t n, int64_t k, tprt_type type) {
  Gemm g{};
  g.m = m, g.n = n, g.k = k;
  g.xType = g.wType = g.yType = type;
  g.biasType = TPRT_F32;
  g.activation = Gemm::Activation::None;
  return g;
}

/// Runs the product on `rows` rows and compares with the definition.
void check(GemmEngine &engine, const Gemm &g, int64_t id, int64_t rows,
           int64_t xStride, int64_t yStride, bool inPlace, std::mt19937 &random,
           const std::vector<float> &w) {
  SCOPED_TRACE(detail::join(
      "rows ", rows, " n ", g.n, " k ", g.k, " types ", typeName(g.xType), " ",
      typeName(g.wType), " ", typeName(g.yType), " strides ", xStride, " ",
      yStride, " activation ", int(g.activation), " seed ", kSeed));
  int64_t xLines = g.xTransposed ? g.k : rows;
  auto x = rounded(g.xType, randomFloats(random, xLines * xStride));
  auto bias = rounded(g.biasType, randomFloats(random, g.n));
  auto residual = rounded(g.yType, randomFloats(random, rows * yStride));
  std::string xBytes = toBytes(g.xType, x);
  std::string biasBytes = toBytes(g.biasType, bias);
  std::string residualBytes = toBytes(g.yType, residual);
  std::string y =
      inPlace ? residualBytes
              : toBytes(g.yType, std::vector<float>(rows * yStride, 77.0f));
  std::string wBytes = toBytes(g.wType, w);
  const void *extra = !g.residual ? nullptr
                      : inPlace   ? y.data()
                                  : residualBytes.data();
  ASSERT_OK(engine.run({id, rows, xBytes.data(), xStride, wBytes.data(),
                        g.bias ? biasBytes.data() : nullptr, extra, y.data(),
                        yStride}));
  std::vector<float> got = toFloats(g.yType, y);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < yStride; ++c) {
      if (c >= g.n) { // between rows nothing is written
        float before =
            inPlace ? residual[r * yStride + c] : rounded(g.yType, {77.0f})[0];
        ASSERT_EQ(got[r * yStride + c], before);
        continue;
      }
      double sum = 0, size = 0;
      for (int64_t p = 0; p < g.k; ++p) {
        double a = x[g.xTransposed ? p * xStride + r : r * xStride + p];
        double b = w[g.wTransposed ? p * g.n + c : c * g.k + p];
        sum += a * b;
        size += std::fabs(a * b);
      }
      if (g.bias)
        sum += bias[c];
      double value = activate(g.activation, sum);
      if (g.residual)
        value += residual[r * yStride + c];
      // Rounding of the sum in f32, of the result in y's type; the activations
      // of oneDNN are good to 2e-6.
      double tolerance = size * 6e-8 * std::sqrt(double(g.k)) + 4e-6 +
                         epsilon(g.yType) * (std::fabs(value) + 2);
      ASSERT_NEAR(got[r * yStride + c], value, tolerance)
          << "at " << r << ", " << c;
    }
}

void checkRows(const Gemm &g, std::initializer_list<int64_t> rows) {
  std::mt19937 random(kSeed);
  GemmEngine engine({g});
  auto w = rounded(g.wType, randomFloats(random, g.n * g.k));
  for (int64_t r : rows) {
    int64_t length = g.xTransposed ? r : g.k;
    check(engine, g, 0, r, length, g.n, false, random, w);
    check(engine, g, 0, r, length + 5, g.n + 3, false, random, w);
    if (g.residual)
      check(engine, g, 0, r, length, g.n, true, random, w);
  }
}

} // namespace

TEST(Gemm, RowsOfEveryCount) {
  for (tprt_type type : {TPRT_F32, TPRT_BF16, TPRT_F16}) {
    Gemm g = describe(67, 51, 37, type);
    g.bias = true;
    std::mt19937 random(kSeed);
    GemmEngine engine({g});
    auto w = rounded(type, randomFloats(random, g.n * g.k));
    for (int64_t rows = 1; rows <= 67; ++rows)
      check(engine, g, 0, rows, g.k, g.n, false, random, w);
  }
}

TEST(Gemm, ActivationsBiasResidual) {
  using Activation = Gemm::Activation;
  for (tprt_type type : {TPRT_F32, TPRT_BF16, TPRT_F16})
    for (Activation activation :
         {Activation::None, Activation::Relu, Activation::Silu,
          Activation::GeluErf, Activation::GeluTanh})
      for (bool bias : {false, true})
        for (bool residual : {false, true}) {
          Gemm g = describe(20, 48, 64, type);
          g.activation = activation;
          g.bias = bias;
          g.biasType = type;
          g.residual = residual;
          checkRows(g, {1, 20});
        }
}

TEST(Gemm, MixedTypes) {
  for (tprt_type w : {TPRT_F32, TPRT_BF16, TPRT_F16})
    for (tprt_type x : {TPRT_F32, w})
      for (tprt_type y : {TPRT_F32, TPRT_BF16, TPRT_F16}) {
        Gemm g = describe(9, 40, 96, w);
        g.xType = x;
        g.yType = y;
        g.residual = true;
        checkRows(g, {3, 9});
      }
}

TEST(Gemm, WeightsInSeveralBlocks) {
  // The last block is smaller, and no size a multiple of anything.
  for (tprt_type type : {TPRT_F32, TPRT_BF16, TPRT_F16}) {
    Gemm g = describe(150, 903, 437, type);
    g.bias = true;
    checkRows(g, {1, 3, 8, 9, 31, 150});
  }
}

TEST(Gemm, RowsInSeveralParts) {
  // More rows than go through a block of widened weights at once.
  for (tprt_type type : {TPRT_BF16, TPRT_F16}) {
    Gemm g = describe(1100, 40, 64, type);
    g.residual = true;
    g.activation = Gemm::Activation::Silu;
    checkRows(g, {1024, 1025, 1100});
  }
}

TEST(Gemm, ComputedWeights) {
  for (tprt_type type : {TPRT_F32, TPRT_BF16, TPRT_F16})
    for (bool wTransposed : {false, true})
      for (bool xTransposed : {false, true}) {
        Gemm g = describe(33, 29, 41, type);
        g.wTransposed = wTransposed;
        g.xTransposed = xTransposed;
        g.bias = true;
        checkRows(g, {1, 7, 33});
      }
}

TEST(Gemm, ProductsOfABackward) {
  // By the input, whose sums are longer than are computed at once; by the
  // weight, with more rows than that, added to what is there.
  for (tprt_type type : {TPRT_F32, TPRT_BF16, TPRT_F16})
    for (tprt_type y : {TPRT_F32, type}) {
      Gemm g = describe(20, 70, 8195, type);
      g.wTransposed = true;
      g.yType = y;
      g.residual = y == TPRT_F32;
      checkRows(g, {1, 20});
      g.m = 1100, g.k = 33;
      g.xTransposed = true;
      checkRows(g, {1100});
      if (type == TPRT_F32) { // in several blocks
        g.n = 515;
        checkRows(g, {1090});
      }
      g.xType = TPRT_F32;
      g.k = 4100;
      checkRows(g, {17});
    }
}

TEST(Gemm, AnyNumberOfWorkersGivesTheSameBits) {
  struct Shape {
    int64_t n, k;
    std::vector<int64_t> rows;
    bool flipsX;
  };
  const Shape shapes[] = {{515, 301, {1, 7, 40, 140}, true},
                          // large enough to be multiplied as they lie
                          {1204, 420, {600}, false}};
  for (tprt_type type : {TPRT_F32, TPRT_BF16, TPRT_F16})
    for (bool transposed : {false, true})
      for (const Shape &shape : shapes) {
        int64_t most = shape.rows.back();
        bool flipsX = transposed && shape.flipsX;
        Gemm g = describe(most, shape.n, shape.k, type);
        g.wTransposed = transposed;
        g.xTransposed = flipsX;
        if (flipsX)
          g.yType = TPRT_F32;
        std::mt19937 random(kSeed);
        std::string w = toBytes(type, randomFloats(random, g.n * g.k));
        for (int64_t rows : shape.rows) {
          std::string x = toBytes(type, randomFloats(random, rows * g.k));
          std::string first;
          for (int count : {1, 2, 3}) {
            setWorkers(count);
            GemmEngine engine({g});
            std::string y(size_t(rows * g.n * typeBytes(g.yType)), '\0');
            ASSERT_OK(engine.run({0, rows, x.data(), flipsX ? rows : g.k,
                                  w.data(), nullptr, nullptr, y.data(), g.n}));
            if (count == 1)
              first = y;
            EXPECT_TRUE(y == first)
                << rows << " rows, " << count << " workers, " << typeName(type)
                << ", seed " << kSeed;
          }
        }
      }
  setWorkers(1);
}

TEST(Gemm, SeveralOfTheSameRows) {
  // Products in one call are what each is alone, bit for bit.
  setWorkers(2);
  for (tprt_type type : {TPRT_F32, TPRT_BF16, TPRT_F16}) {
    std::vector<Gemm> gemms;
    std::vector<std::string> w;
    std::mt19937 random(kSeed);
    for (int64_t n : {131, 16, 515}) {
      Gemm g = describe(1030, n, 77, type);
      g.bias = n == 131;
      g.biasType = type;
      g.residual = n == 16;
      g.yType = n == 515 ? TPRT_F32 : type;
      g.activation = n == 16 ? Gemm::Activation::None : Gemm::Activation::Silu;
      gemms.push_back(g);
      w.push_back(toBytes(type, randomFloats(random, n * g.k)));
    }
    std::string bias = toBytes(type, randomFloats(random, 131));
    std::string residual = toBytes(type, randomFloats(random, 1030 * 20));
    for (int64_t rows : {1, 3, 8, 40, 140, 1030}) {
      GemmEngine engine(gemms);
      std::string x = toBytes(type, randomFloats(random, rows * 80));
      std::vector<std::string> alone, together;
      std::vector<tprt_gemm_call> calls;
      for (int64_t id = 0; id < 3; ++id) {
        const Gemm &g = gemms[id];
        together.emplace_back(rows * (g.n + 4) * typeBytes(g.yType), '\7');
        calls.push_back({id, rows, x.data(), 80, w[id].data(),
                         g.bias ? bias.data() : nullptr,
                         g.residual ? residual.data() : nullptr,
                         together[id].data(), g.n + 4});
        ASSERT_OK(engine.run(calls.back()));
        alone.push_back(together[id]);
        std::fill(together[id].begin(), together[id].end(), '\7');
      }
      ASSERT_OK(engine.run(calls.data(), 3));
      EXPECT_TRUE(alone == together)
          << rows << " rows, " << typeName(type) << ", seed " << kSeed;
    }
  }
  setWorkers(1);
}

TEST(Gemm, ActivationsOfExtremes) {
  // A sum of one product is the number itself.
  using Activation = Gemm::Activation;
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> values = {
      0,  -0.0f, 1e-30f, -1e-30f, 0.01f, -5,       5,  -20,
      20, -90,   90,     -1e4f,   1e4f,  infinity, -9, nan};
  for (Activation activation : {Activation::Relu, Activation::Silu,
                                Activation::GeluErf, Activation::GeluTanh}) {
    Gemm g = describe(int64_t(values.size()), 1, 1, TPRT_F32);
    g.activation = activation;
    GemmEngine engine({g});
    std::vector<float> y(values.size());
    float one = 1;
    for (size_t i = 0; i < values.size(); ++i)
      ASSERT_OK(
          engine.run({0, 1, &values[i], 1, &one, nullptr, nullptr, &y[i], 1}));
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] != values[i]) {
        EXPECT_TRUE(y[i] != y[i]);
        continue;
      }
      double expected = activate(activation, values[i]);
      if (std::isinf(expected))
        EXPECT_EQ(y[i], float(expected));
      else
        EXPECT_NEAR(y[i], expected, 2e-6 + 1e-6 * std::fabs(values[i]));
    }
  }
}

TEST(Gemm, PathsByProcessor) {
  auto path = [](unsigned isas, bool isAmd) -> std::string {
    return chooseProductPath(isas, isAmd).name;
  };
  EXPECT_EQ(path(dnnl_cpu_isa_avx512_core_amx, false), "AMX");
  EXPECT_EQ(path(dnnl_cpu_isa_avx512_core_amx, true), "AMX");
  EXPECT_EQ(path(dnnl_cpu_isa_avx512_core_bf16, true), "bf16 by AVX-512");
  // The instruction is there, and loses.
  EXPECT_EQ(path(dnnl_cpu_isa_avx512_core_bf16, false), "f32 by AVX-512");
  EXPECT_EQ(path(dnnl_cpu_isa_avx512_core, true), "f32 by AVX-512");
  EXPECT_EQ(path(dnnl_cpu_isa_avx2_vnni, true), "f32");
  EXPECT_EQ(path(dnnl_cpu_isa_sse41, false), "f32");
  EXPECT_FALSE(
      chooseProductPath(dnnl_cpu_isa_avx512_core, true).multipliesBf16);
}

TEST(Gemm, PathOfThisMachine) {
  // The variable that limits oneDNN limits the path.
  const char *limit = std::getenv("ONEDNN_MAX_CPU_ISA");
  bool hasAvx512 =
      cpuFeature("avx512bw").value_or(false) &&
      (!limit || std::string(limit).find("AVX512") != std::string::npos);
  EXPECT_EQ(productPath().hasPanels, hasAvx512);
  bool hasAmx = cpuFeature("amx-bf16").value_or(false) && !limit;
  EXPECT_EQ(std::string(productPath().name) == "AMX", hasAmx);
}

TEST(Gemm, RefusesWhatTheManifestDoesNotSay) {
  Gemm g = describe(4, 8, 8, TPRT_F32);
  GemmEngine engine({g});
  float x[64] = {}, y[64] = {};
  EXPECT_MESSAGE(engine.run({1, 1, x, 8, x, nullptr, nullptr, y, 8}),
                 "gemm 1 is not in the manifest");
  EXPECT_MESSAGE(engine.run({0, 5, x, 8, x, nullptr, nullptr, y, 8}),
                 "gemm 0: expected at most 4 rows, got 5");
  EXPECT_MESSAGE(engine.run({0, 4, x, 8, x, x, nullptr, y, 8}),
                 "gemm 0: bias or residual is not as the manifest says");
  tprt_gemm_call two[] = {{0, 4, x, 8, x, nullptr, nullptr, y, 8},
                          {0, 3, x, 8, x, nullptr, nullptr, y + 32, 8}};
  EXPECT_MESSAGE(engine.run(two, 2), "gemm 0: expected the same rows as gemm "
                                     "0, which it is called with");
}
