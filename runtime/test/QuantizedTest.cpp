//===- QuantizedTest.cpp - products by quantised weights ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every type, group and number of rows against loops in double over values that
// are decoded here, from the formats' definitions. runtime.x86-64* run these on
// the lower CPU levels.
//
//===----------------------------------------------------------------------===//

#include "TestUtil.h"

#include "../host/Gemm.h"
#include "../host/ProductPath.h"
#include "../support/Parallel.h"
#include "../support/SimdQuantized.h"

#include <cmath>
#include <cstring>
#include <dnnl.hpp>

using namespace tprt;
using namespace tprt::test;

namespace {

/// A float of `exponentBits` and `mantissaBits` behind a sign, without
/// infinities; e4m3's and e5m2's specials are the callers'.
double decodeFloat(unsigned code, int exponentBits, int mantissaBits) {
  int bias = (1 << (exponentBits - 1)) - 1;
  unsigned mantissa = code & ((1u << mantissaBits) - 1);
  int exponent = int(code >> mantissaBits & ((1u << exponentBits) - 1));
  double size = exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissaBits)
                              : std::ldexp(mantissa + (1u << mantissaBits),
                                           exponent - bias - mantissaBits);
  return code >> (exponentBits + mantissaBits) & 1 ? -size : size;
}

double decodeE4m3(unsigned code) {
  return (code & 0x7f) == 0x7f ? NAN : decodeFloat(code, 4, 3);
}

double decode(QuantizedType type, unsigned code) {
  switch (type) {
  case QuantizedType::I8:
    return int8_t(code);
  case QuantizedType::U4:
    return code;
  case QuantizedType::I4:
    return int(code ^ 8) - 8;
  case QuantizedType::E4M3:
    return decodeE4m3(code);
  case QuantizedType::E5M2:
    return (code & 0x7c) == 0x7c ? (code & 3      ? NAN
                                    : code & 0x80 ? -INFINITY
                                                  : INFINITY)
                                 : decodeFloat(code, 5, 2);
  case QuantizedType::E2M1:
    return decodeFloat(code, 2, 1);
  }
  return 0;
}

bool isSpecial(QuantizedType type, unsigned code) {
  return !std::isfinite(decode(type, code));
}

const char *nameOf(QuantizedType type) {
  constexpr const char *names[] = {"i8", "u4", "i4", "e4m3", "e5m2", "e2m1"};
  return names[int(type)];
}

/// A weight with what it points to, and its values.
struct RandomWeight {
  QuantizedWeight weight;
  std::vector<uint8_t> packed;
  std::string scales, minima;
  std::vector<int8_t> zeros;
  std::vector<float> floatZeros;
  std::vector<int32_t> groupOf;
  std::vector<double> values; ///< [n, k]
};

struct Form {
  QuantizedType type;
  ScaleType scaleType = ScaleType::F32;
  int64_t groupN = 1, groupK = 0, firstN = 0, firstK = 0;
  bool hasZeros = false, namesGroups = false, hasFloatZeros = false;
  float outer = 0; ///< 0: none
  int64_t packed = 0;
  bool hasMinima = false;
};

/// `count` scales of the type, and what they are; one in eight is zero, where
/// the type has that.
std::vector<double> randomScales(ScaleType type, int64_t count,
                                 std::mt19937 &random, std::string &bytes) {
  std::vector<double> scales;
  for (int64_t i = 0; i < count; ++i) {
    bool isZero = random() % 8 == 0;
    float value = isZero ? 0 : 0.001f + float(random() % 1000) / 4000;
    if (type == ScaleType::E8M0 || type == ScaleType::E4M3) {
      auto byte = uint8_t(type == ScaleType::E8M0 ? 120 + random() % 10
                                                  : random() % 0x60);
      bytes.push_back(char(byte));
      scales.push_back(type == ScaleType::E8M0 ? std::ldexp(1.0, byte - 127)
                                               : decodeE4m3(byte));
      continue;
    }
    tprt_type same = type == ScaleType::F32   ? TPRT_F32
                     : type == ScaleType::F16 ? TPRT_F16
                                              : TPRT_BF16;
    bytes += toBytes(same, {value});
    scales.push_back(rounded(same, {value})[0]);
  }
  return scales;
}

/// Blocks of an f16 and codes from `least` on, and what they are; one code in
/// four is zero.
std::vector<double> randomBlocks(int64_t packed, int64_t count, int least,
                                 std::mt19937 &random, std::string &bytes) {
  std::vector<double> numbers;
  for (int64_t i = 0; i < count; ++i) {
    if (i % packed == 0)
      bytes += toBytes(TPRT_F16, {0.001f + float(random() % 1000) / 40000});
    uint16_t factor;
    std::memcpy(&factor, bytes.data() + bytes.size() - size_t(i % packed) - 2,
                sizeof factor);
    auto code = int8_t(random() % 4 ? least + int(random() % 64) : 0);
    bytes.push_back(char(code));
    numbers.push_back(double(__builtin_bit_cast(_Float16, factor)) * code);
  }
  return numbers;
}

void make(RandomWeight &out, const Form &form, int64_t n, int64_t k,
          std::mt19937 &random) {
  QuantizedWeight &w = out.weight;
  w.type = form.type, w.n = n, w.k = k, w.scaleType = form.scaleType;
  w.groupN = form.groupN, w.groupK = form.groupK;
  w.firstN = form.firstN, w.firstK = form.firstK;
  if (form.namesGroups) {
    w.groups = 5;
    for (int64_t p = 0; p < k; ++p)
      out.groupOf.push_back(int32_t(random() % 5));
    w.groupOf = out.groupOf.data();
  }
  if (form.outer != 0)
    w.outerScale = &form.outer;
  int64_t columns = w.columns(), lines = w.scaleRow(n - 1) + 1;
  std::vector<double> scales, minima(size_t(lines * columns), 0.0);
  if (form.packed)
    scales = randomBlocks(form.packed, lines * columns,
                          form.hasMinima ? 0 : -32, random, out.scales);
  else
    scales = randomScales(form.scaleType, lines * columns, random, out.scales);
  if (form.hasMinima) {
    minima = randomBlocks(form.packed, lines * columns, 0, random, out.minima);
    w.zeroBlocks = out.minima.data();
  }
  w.packed = form.packed;
  w.scales = out.scales.data();
  int lowest = isNibble(form.type) ? 0 : -128;
  if (form.hasZeros) {
    for (int64_t i = 0; i < lines * columns; ++i)
      out.zeros.push_back(
          int8_t(lowest + int(random() % (isNibble(form.type) ? 17 : 256))));
    w.zeros = out.zeros.data();
  } else if (form.hasFloatZeros) {
    std::uniform_real_distribution<float> zero(-20, 20);
    for (int64_t i = 0; i < lines * columns; ++i)
      out.floatZeros.push_back(zero(random));
    w.floatZeros = out.floatZeros.data();
  } else if (form.type == QuantizedType::U4) {
    w.zero = 8;
  }
  out.packed.resize(size_t(n * w.rowBytes()));
  w.values = out.packed.data();
  for (int64_t i = 0; i < n; ++i)
    for (int64_t p = 0; p < k; ++p) {
      unsigned code = unsigned(random() % (isNibble(form.type) ? 16 : 256));
      while (isSpecial(form.type, code))
        code = unsigned(random() % 256);
      uint8_t *line = out.packed.data() + i * w.rowBytes();
      if (isNibble(form.type))
        line[p / 2] |= uint8_t(code << (p % 2 * 4));
      else
        line[p] = uint8_t(code);
      int64_t column = form.namesGroups   ? out.groupOf[size_t(p)]
                       : form.groupK == 0 ? 0
                                          : (form.firstK + p) / form.groupK;
      int64_t row = form.groupN == 0 ? 0 : (form.firstN + i) / form.groupN;
      auto group = size_t(row * columns + column);
      double zero = form.hasZeros        ? out.zeros[group]
                    : form.hasFloatZeros ? double(out.floatZeros[group])
                    : form.hasMinima     ? (isNibble(form.type) ? -8 : 0)
                                         : double(w.zero);
      double outer = form.outer == 0 ? 1 : double(form.outer);
      out.values.push_back((decode(form.type, code) - zero) *
                               (scales[group] * outer) -
                           minima[group]);
    }
}

Gemm describe(int64_t m, int64_t n, int64_t k, tprt_type x, tprt_type y) {
  Gemm g{};
  g.m = m, g.n = n, g.k = k;
  g.xType = x, g.yType = y;
  g.wType = g.biasType = TPRT_F32;
  g.activation = Gemm::Activation::None;
  return g;
}

void check(GemmEngine &engine, const Gemm &g, const RandomWeight &w,
           int64_t rows, std::mt19937 &random) {
  int64_t xStride = g.k + 3, yStride = g.n + 2;
  auto x = rounded(g.xType, randomFloats(random, rows * xStride));
  auto bias = randomFloats(random, g.n);
  std::string xBytes = toBytes(g.xType, x);
  std::string y =
      toBytes(g.yType, std::vector<float>(size_t(rows * yStride), 77.0f));
  ASSERT_OK(
      engine.run({0, rows, xBytes.data(), xStride, nullptr,
                  g.bias ? bias.data() : nullptr, nullptr, y.data(), yStride},
                 w.weight));
  auto got = toFloats(g.yType, y);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < yStride; ++c) {
      float value = got[size_t(r * yStride + c)];
      if (c >= g.n) { // between rows nothing is written
        ASSERT_EQ(value, rounded(g.yType, {77.0f})[0]);
        continue;
      }
      double sum = g.bias ? double(bias[size_t(c)]) : 0, size = 0, squares = 0;
      double largest = 0, weights = 0;
      for (int64_t p = 0; p < g.k; ++p) {
        double value = x[size_t(r * xStride + p)],
               weight = w.values[size_t(c * g.k + p)], term = value * weight;
        sum += term;
        size += std::fabs(term);
        squares += term * term;
        largest = std::max(largest, std::fabs(value));
        weights += std::fabs(weight);
      }
      // Values are rounded to f32 twice, and sums as those of Gemm.
      double tolerance = size * 6e-8 * (std::sqrt(double(g.k)) + 3) + 1e-6 +
                         epsilon(g.yType) * (std::fabs(sum) + 1);
      // Beside bf16 a value is the sum of two numbers of bf16, and off by up to
      // 2^-17 of it, one as likely to be too large as another.
      if (g.xType == TPRT_BF16)
        tolerance += 6 * 0x1p-17 / std::sqrt(3) * std::sqrt(squares);
      // In fixed point an element of x is off by so much of the largest.
      if (g.m <= 2)
        tolerance += 0x1p-23 * largest * weights;
      ASSERT_NEAR(value, sum, tolerance) << "at " << r << ", " << c;
    }
}

void checkForm(const Form &form, int64_t n, int64_t k,
               std::initializer_list<int64_t> rows, tprt_type x = TPRT_F32,
               tprt_type y = TPRT_F32) {
  SCOPED_TRACE(detail::join(
      nameOf(form.type), " scales ", int(form.scaleType), " n ", n, " k ", k,
      " groups ", form.groupN, " x ", form.groupK, " from ", form.firstN, ", ",
      form.firstK, " zeros ", form.hasZeros, form.hasFloatZeros, " named ",
      form.namesGroups, " x ", typeName(x), " seed ", kSeed));
  std::mt19937 random(kSeed);
  RandomWeight w;
  make(w, form, n, k, random);
  Gemm g = describe(200, n, k, x, y);
  g.bias = n % 2 == 0;
  // Several where there are several blocks.
  setWorkers(n > 256 ? 3 : 1);
  GemmEngine engine({g});
  for (int64_t r : rows) {
    SCOPED_TRACE(detail::join("rows ", r));
    check(engine, g, w, r, random);
  }
  // Programs of one or two rows have products of their own.
  g.m = 2;
  GemmEngine alone({g});
  for (int64_t r = 1; r <= g.m && x != TPRT_F32; ++r) {
    SCOPED_TRACE(detail::join("rows ", r, " of 2"));
    check(alone, g, w, r, random);
  }
}

constexpr QuantizedType kTypes[] = {QuantizedType::I8,   QuantizedType::U4,
                                    QuantizedType::I4,   QuantizedType::E4M3,
                                    QuantizedType::E5M2, QuantizedType::E2M1};

} // namespace

TEST(Quantized, RowsOfEveryCount) {
  for (QuantizedType type : kTypes) {
    Form form{type};
    form.groupK = 32;
    checkForm(form, 37, 160, {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 16, 31, 129});
  }
}

TEST(Quantized, GroupsAndOddSizes) {
  for (QuantizedType type : kTypes)
    for (int64_t group : {0, 1, 8, 16, 24, 32, 64, 128, 1000})
      for (int64_t k : {1, 37, 128, 321}) {
        Form form{type};
        form.groupK = group;
        checkForm(form, 7, k, {1, 5});
      }
}

TEST(Quantized, FixedPoint) {
  for (QuantizedType type :
       {QuantizedType::U4, QuantizedType::I4, QuantizedType::E2M1})
    for (int64_t group : {0, 1, 8, 16, 24, 32, 48, 64, 128, 256, 1000})
      for (int64_t k : {1, 37, 128, 321, 640}) {
        Form form{type, ScaleType::BF16};
        form.groupK = group;
        checkForm(form, 7, k, {}, k % 2 ? TPRT_BF16 : TPRT_F16);
      }
  for (int64_t first : {8, 16, 24, 64, 100, 128})
    for (int64_t group : {32, 128, 256}) {
      Form form{QuantizedType::I4};
      form.groupK = group;
      form.firstK = first % group;
      checkForm(form, 9, 400, {}, TPRT_BF16);
      form.hasZeros = true;
      checkForm(form, 9, 400, {}, TPRT_BF16);
    }
}

/// A step of one text has the bits that it has among eight, where the program
/// has steps of eight; a program for one need not.
TEST(Quantized, StepsOfEveryCount) {
  std::mt19937 random(kSeed);
  Form form{QuantizedType::I4, ScaleType::BF16};
  form.groupK = 32;
  RandomWeight w;
  int64_t n = 33, k = 256;
  make(w, form, n, k, random);
  std::string x = toBytes(TPRT_BF16, randomFloats(random, 8 * k));
  std::vector<Gemm> steps = {describe(1, n, k, TPRT_BF16, TPRT_F32),
                             describe(8, n, k, TPRT_BF16, TPRT_F32)};
  for (int64_t texts : {8, 1}) {
    GemmEngine engine(steps, texts);
    std::vector<float> alone(size_t(n), 0), all(size_t(8 * n), 0);
    ASSERT_OK(engine.run(
        {0, 1, x.data(), k, nullptr, nullptr, nullptr, alone.data(), n},
        w.weight));
    ASSERT_OK(engine.run(
        {1, 8, x.data(), k, nullptr, nullptr, nullptr, all.data(), n},
        w.weight));
    all.resize(size_t(n));
    if (texts == 8)
      EXPECT_EQ(alone, all) << "seed " << kSeed;
    for (int64_t c = 0; c < n; ++c)
      EXPECT_NEAR(alone[size_t(c)], all[size_t(c)], 1e-4);
  }
}

/// A zero for x, one that is not finite, and elements far from the largest.
TEST(Quantized, FixedPointAtTheEnds) {
  int64_t n = 3, k = 256;
  std::vector<uint8_t> packed(size_t(n * k / 2), 0x9a); // 2 and 1 above 8
  std::vector<float> scales(size_t(n), 0.5f);
  QuantizedWeight w;
  w.type = QuantizedType::U4, w.n = n, w.k = k, w.groupN = 1, w.zero = 8;
  w.values = packed.data(), w.scales = scales.data();
  GemmEngine engine({describe(2, n, k, TPRT_BF16, TPRT_F32)});
  auto run = [&](float first, float last) {
    std::vector<float> x(size_t(2 * k), 0.0f), y(size_t(2 * n), 77.0f);
    x[0] = first, x[size_t(k - 1)] = last;
    x[size_t(k)] = 1;
    std::string bytes = toBytes(TPRT_BF16, x);
    EXPECT_TRUE(engine
                    .run({0, 2, bytes.data(), k, nullptr, nullptr, nullptr,
                          y.data(), n},
                         w)
                    .ok());
    // The other row has no part in it.
    EXPECT_EQ(y[size_t(n)], 1.0f);
    return y[0];
  };
  EXPECT_EQ(run(0, 0), 0.0f);
  EXPECT_EQ(run(0x1p15f, 1), 0x1p15f + 0.5f);
  EXPECT_EQ(run(1, 0x1p15f), 1 + 0x1p14f);
  EXPECT_EQ(run(-0x1.fep126f, 0), -0x1.fep126f);
  EXPECT_EQ(run(0x1p-100f, 0x1p-108f), 0x1p-100f + 0x1p-109f);
  for (float odd : {NAN, INFINITY, -INFINITY}) {
    EXPECT_FALSE(std::isfinite(run(odd, 1)));
    EXPECT_FALSE(std::isfinite(run(1, odd)));
  }
}

/// Every element and every x is the largest there is: no sum of a group is too
/// large for its integer.
TEST(Quantized, FixedPointOfTheLargest) {
  constexpr float kX = 1.9921875f; // of eight bits
  int64_t n = 3, k = 512;
  GemmEngine engine({describe(1, n, k, TPRT_BF16, TPRT_F32)});
  auto check = [&](QuantizedType type, int code, int zero, float value) {
    std::vector<uint8_t> packed(size_t(n * k / 2), uint8_t(code * 0x11));
    std::vector<float> scales(size_t(n), 0.5f), y(size_t(n), 77.0f);
    QuantizedWeight w;
    w.type = type, w.n = n, w.k = k, w.groupN = 1, w.zero = zero;
    w.values = packed.data(), w.scales = scales.data();
    for (float x : {kX, -kX}) {
      std::string bytes = toBytes(TPRT_BF16, std::vector<float>(size_t(k), x));
      ASSERT_OK(engine.run(
          {0, 1, bytes.data(), k, nullptr, nullptr, nullptr, y.data(), n}, w));
      for (float sum : y)
        EXPECT_EQ(sum, float(k) * 0.5f * value * x);
    }
  };
  check(QuantizedType::U4, 15, 8, 7);
  check(QuantizedType::U4, 0, 8, -8);
  check(QuantizedType::U4, 15, 0, 15);
  check(QuantizedType::U4, 0, 16, -16);
  check(QuantizedType::I4, 7, 0, 7);
  check(QuantizedType::I4, 8, 0, -8);
  check(QuantizedType::E2M1, 7, 0, 6);
  check(QuantizedType::E2M1, 15, 0, -6);
}

TEST(Quantized, Blocks) {
  for (QuantizedType type : {QuantizedType::E4M3, QuantizedType::I8})
    for (int64_t first : {0, 64, 100})
      for (int64_t k : {192, 320}) {
        Form form{type};
        form.groupN = form.groupK = 128;
        form.firstN = first, form.firstK = 128 - first / 2 - 1;
        if (first != 100)
          form.firstK = first;
        checkForm(form, 200, k, {1, 8, 40});
      }
  Form tensor{QuantizedType::E4M3};
  tensor.groupN = 0;
  checkForm(tensor, 50, 70, {1, 3, 20});
}

TEST(Quantized, ZeroPoints) {
  for (QuantizedType type :
       {QuantizedType::U4, QuantizedType::I4, QuantizedType::I8})
    for (int64_t group : {0, 16, 32, 64, 128, 40}) {
      Form form{type};
      form.groupK = group;
      form.hasZeros = true;
      checkForm(form, 33, 272, {1, 2, 8, 17});
      form.hasZeros = false;
      form.hasFloatZeros = true;
      checkForm(form, 33, 272, {1, 4, 17});
      checkForm(form, 32, 272, {3, 20}, TPRT_BF16);
    }
}

/// Groups of no scale stand for their minimum.
TEST(Quantized, PackedGroups) {
  for (QuantizedType type : {QuantizedType::I4, QuantizedType::I8})
    for (int64_t packed : {8, 16})
      for (bool hasMinima : {false, true}) {
        Form form{type};
        form.groupK = 256 / packed;
        form.packed = packed;
        form.hasMinima = hasMinima;
        checkForm(form, 33, 512, {1, 4, 8, 17});
        checkForm(form, 32, 256, {3, 20}, TPRT_BF16);
      }
  QuantizedWeight part;
  char bytes[1] = {};
  part.n = 1, part.k = 96, part.groupN = 1, part.groupK = 32, part.packed = 8;
  part.values = part.scales = bytes;
  Status status = check(part);
  EXPECT_NE(
      status.message().find("expected groups in whole blocks of 8, got 3"),
      std::string::npos);
}

/// Sums of integers are exact wherever bytes are multiplied by bytes, and
/// nearly so where they are not: at the ends of both ranges, where sums of two
/// products do not fit in 16 bits, and longer than f32 can count.
TEST(Quantized, Integers) {
  bool isExact = multipliesBytes(unsigned(dnnl::get_effective_cpu_isa()));
  for (int64_t k : {1, 63, 320, 5001})
    for (bool hasZeros : {false, true})
      for (bool isLargest : {false, true}) {
        std::mt19937 random(kSeed);
        int64_t n = 37;
        Form form{QuantizedType::I8};
        form.hasZeros = hasZeros;
        RandomWeight w;
        make(w, form, n, k, random);
        w.weight.meetsIntegers = true;
        if (isLargest)
          std::fill(w.packed.begin(), w.packed.end(), uint8_t(0x80));
        Gemm g = describe(200, n, k, TPRT_BF16, TPRT_F32);
        GemmEngine engine({g});
        auto *scales = reinterpret_cast<const float *>(w.scales.data());
        for (int64_t rows : {9, 33, 130}) {
          SCOPED_TRACE(detail::join("k ", k, " rows ", rows, " zeros ",
                                    hasZeros, " largest ", isLargest));
          std::vector<float> x, y(size_t(rows * n));
          for (int64_t i = 0; i < rows * k; ++i)
            x.push_back(isLargest ? (i / k % 2 ? 127.0f : -127.0f)
                                  : float(int(random() % 255) - 127));
          std::string bytes = toBytes(TPRT_BF16, x);
          ASSERT_OK(engine.run({0, rows, bytes.data(), k, nullptr, nullptr,
                                nullptr, y.data(), n},
                               w.weight));
          for (int64_t r = 0; r < rows; ++r)
            for (int64_t c = 0; c < n; ++c) {
              int64_t sum = 0, zero = hasZeros ? w.zeros[size_t(c)] : 0;
              double size = 0;
              for (int64_t p = 0; p < k; ++p) {
                int64_t term = int64_t(x[size_t(r * k + p)]) *
                               (int8_t(w.packed[size_t(c * k + p)]) - zero);
                sum += term;
                size += std::fabs(double(term));
              }
              float expected = float(sum) * scales[c];
              float got = y[size_t(r * n + c)];
              if (isExact)
                ASSERT_EQ(got, expected) << r << ", " << c;
              else
                // Equal terms may all be rounded alike.
                ASSERT_NEAR(got, expected,
                            6e-8 * double(k + 3) * size * scales[c] + 1e-6);
            }
        }
      }
}

TEST(Quantized, ScalesOfEveryType) {
  for (ScaleType scale : {ScaleType::F32, ScaleType::F16, ScaleType::BF16,
                          ScaleType::E8M0, ScaleType::E4M3})
    for (QuantizedType type :
         {QuantizedType::I8, QuantizedType::U4, QuantizedType::E2M1}) {
      Form form{type, scale};
      form.groupK = 16;
      form.outer = scale == ScaleType::E4M3 ? 0.0371f : 0;
      checkForm(form, 19, 96, {1, 4, 20});
    }
}

TEST(Quantized, NamedGroups) {
  for (QuantizedType type : kTypes) {
    Form form{type, ScaleType::F16};
    form.namesGroups = true;
    form.hasZeros = type == QuantizedType::U4;
    checkForm(form, 21, 77, {1, 8, 30});
  }
}

TEST(Quantized, TypesOfActivations) {
  for (QuantizedType type : kTypes)
    for (tprt_type x : {TPRT_BF16, TPRT_F16}) {
      Form form{type, ScaleType::BF16};
      form.groupK = 64;
      checkForm(form, 64, 256, {1, 7, 8, 12, 140}, x, x);
      checkForm(form, 64, 256, {2}, x, TPRT_F32);
    }
}

/// A depth and a width that several workers and blocks share.
TEST(Quantized, LargerThanABlock) {
  for (QuantizedType type :
       {QuantizedType::I8, QuantizedType::U4, QuantizedType::E4M3}) {
    Form form{type, ScaleType::F16};
    form.groupK = 128;
    checkForm(form, 515, 384, {1, 8, 9, 130});
  }
}

TEST(Quantized, SameBitsAloneAndTogether) {
  for (QuantizedType type : kTypes)
    for (int64_t group : {64, 40}) {
      std::mt19937 random(kSeed);
      Form form{type};
      form.groupK = group;
      RandomWeight w;
      int64_t n = 45, k = 320;
      make(w, form, n, k, random);
      auto x = rounded(TPRT_BF16, randomFloats(random, 8 * k));
      std::string narrow = toBytes(TPRT_BF16, x);
      // Rows of f32 and of bf16, and a program of the fewest.
      GemmEngine engine({describe(8, n, k, TPRT_F32, TPRT_F32),
                         describe(8, n, k, TPRT_BF16, TPRT_F32),
                         describe(2, n, k, TPRT_BF16, TPRT_F32)});
      for (int id : {0, 1, 2}) {
        int64_t most = id == 2 ? 2 : 8;
        auto run = [&](int64_t first, int64_t rows) {
          std::vector<float> y(size_t(rows * n));
          const void *from = x.data() + first * k;
          if (id != 0)
            from = narrow.data() + first * k * 2;
          EXPECT_TRUE(engine
                          .run({id, rows, from, k, nullptr, nullptr, nullptr,
                                y.data(), n},
                               w.weight)
                          .ok());
          return y;
        };
        std::vector<float> all = run(0, most);
        for (int64_t rows = 1; rows < most; ++rows) {
          std::vector<float> some = run(most - rows, rows);
          EXPECT_EQ(std::memcmp(some.data(), all.data() + (most - rows) * n,
                                some.size() * sizeof(float)),
                    0)
              << nameOf(type) << " gemm " << id << " rows " << rows << " seed "
              << kSeed;
        }
      }
    }
}

/// Every code of the 8-bit floats, NaNs and infinities included, alone in a
/// row.
TEST(Quantized, EveryCode) {
  for (QuantizedType type : kTypes)
    for (int64_t group : {0, 7}) {
      int64_t n = isNibble(type) ? 16 : 256, k = 70;
      std::vector<float> scales(
          size_t(group == 0 ? n : n * ((k + group - 1) / group)), 0.25f);
      QuantizedWeight w;
      w.type = type, w.n = n, w.k = k, w.groupN = 1, w.groupK = group;
      std::vector<uint8_t> packed(size_t(n * w.rowBytes()));
      for (int64_t i = 0; i < n; ++i)
        packed[size_t(i * w.rowBytes()) + 20] = uint8_t(i);
      w.values = packed.data(), w.scales = scales.data();
      GemmEngine engine({describe(20, n, k, TPRT_F32, TPRT_F32)});
      std::vector<float> x(size_t(20 * k), 1.0f);
      for (int64_t rows : {1, 20}) {
        std::vector<float> y(size_t(rows * n));
        ASSERT_OK(engine.run(
            {0, rows, x.data(), k, nullptr, nullptr, nullptr, y.data(), n}, w));
        for (int64_t i = 0; i < n; ++i) {
          float expected = float(decode(type, unsigned(i)) * 0.25);
          if (std::isnan(expected) || std::isinf(expected)) {
            EXPECT_FALSE(std::isfinite(y[size_t(i)]))
                << nameOf(type) << " code " << i;
            EXPECT_TRUE(std::isinf(expected) || std::isnan(y[size_t(i)]));
          } else {
            EXPECT_EQ(y[size_t(i)], expected) << nameOf(type) << " code " << i;
          }
        }
      }
    }
}

/// e8m0 at both ends: 2^-127 is subnormal, 255 is NaN.
TEST(Quantized, ExponentsAtBothEnds) {
  uint8_t scales[] = {0, 1, 254, 255};
  std::vector<uint8_t> packed(4 * 16, 0x22); // 1 each
  QuantizedWeight w;
  w.type = QuantizedType::E2M1, w.n = 4, w.k = 32, w.groupN = 1;
  w.groupK = 32, w.scaleType = ScaleType::E8M0;
  w.values = packed.data(), w.scales = scales;
  GemmEngine engine({describe(1, 4, 32, TPRT_F32, TPRT_F32)});
  std::vector<float> x(32, 0.0f), y(4);
  x[5] = 0.5f;
  ASSERT_OK(engine.run(
      {0, 1, x.data(), 32, nullptr, nullptr, nullptr, y.data(), 4}, w));
  EXPECT_EQ(y[0], 0x1p-128f);
  EXPECT_EQ(y[1], 0x1p-127f);
  EXPECT_EQ(y[2], 0x1p126f);
  EXPECT_TRUE(std::isnan(y[3]));
}

/// A row whose values are all equal to its zero point gives nothing at all.
TEST(Quantized, DeadRows) {
  int64_t k = 256;
  std::vector<uint8_t> packed(size_t(k / 2), 0x77);
  std::vector<float> scales = {0.3f, 0.7f};
  std::vector<int8_t> zeros = {7, 7};
  QuantizedWeight w;
  w.type = QuantizedType::U4, w.n = 1, w.k = k, w.groupN = 1, w.groupK = 128;
  w.values = packed.data(), w.scales = scales.data(), w.zeros = zeros.data();
  GemmEngine engine({describe(9, 1, k, TPRT_F32, TPRT_F32)});
  std::mt19937 random(kSeed);
  auto x = randomFloats(random, 9 * k, 1e6f);
  for (int64_t rows : {1, 9}) {
    std::vector<float> y(size_t(rows), 1);
    ASSERT_OK(engine.run(
        {0, rows, x.data(), k, nullptr, nullptr, nullptr, y.data(), 1}, w));
    for (float value : y)
      EXPECT_EQ(value, 0.0f);
  }
}

TEST(Quantized, Refusals) {
  float scale = 1;
  uint8_t value = 0;
  QuantizedWeight good;
  good.n = good.k = 1, good.values = &value, good.scales = &scale;
  GemmEngine engine({describe(1, 1, 1, TPRT_F32, TPRT_F32)});
  float x = 1, y = 0;
  auto run = [&](QuantizedWeight w) {
    return engine.run({0, 1, &x, 1, nullptr, nullptr, nullptr, &y, 1}, w);
  };
  ASSERT_OK(run(good));
  QuantizedWeight w = good;
  w.k = 2;
  EXPECT_MESSAGE(run(w), "gemm 0: expected a quantised weight "
                         "of 1 x 1, row by row, got 1 x 2");
  w = good, w.n = 0;
  EXPECT_MESSAGE(run(w), "quantised weight: expected positive "
                         "sizes, got 0 x 1");
  w = good, w.scales = nullptr;
  EXPECT_MESSAGE(run(w), "quantised weight: values or scales "
                         "are missing");
  w = good, w.groupK = 4, w.firstK = 4;
  EXPECT_MESSAGE(run(w),
                 "quantised weight: expected the first column "
                 "to stand inside of a group of 4 (0: all), got position 4");
  w = good, w.firstN = 1;
  EXPECT_MESSAGE(run(w),
                 "quantised weight: expected the first row to "
                 "stand inside of a group of 0 (0: all), got position 1");
  int32_t groupOf = 0;
  w = good, w.groupOf = &groupOf;
  EXPECT_MESSAGE(run(w), "quantised weight: columns have "
                         "groups of their own, but the number of groups is 0");
  w = good, w.zero = 128;
  EXPECT_MESSAGE(run(w), "quantised weight: expected a zero "
                         "point from -112 to 127, got 128");
  w = good, w.type = QuantizedType::E4M3, w.zero = 1;
  EXPECT_MESSAGE(run(w), "quantised weight: floats have no "
                         "zero point");
}
