//===- TensorTest.cpp - Rounding and boxes --------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rounding to 16-bit formats is compared with LLVM's soft floats over many
// numbers, ties, subnormals and overflow included.
//
//===----------------------------------------------------------------------===//

#include "Testing.h"

#include "llvm/ADT/APFloat.h"
#include <cmath>

using namespace tp::interp;

static double roundWith(const llvm::fltSemantics &semantics, double value) {
  llvm::APFloat number(value);
  bool losesInfo;
  number.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return number.convertToDouble();
}

TEST(Tensor, RoundsAsSoftFloatsDo) {
  ElementType bf16{ElementType::BF16, 16}, f16{ElementType::F16, 16};
  std::vector<double> numbers{0.0,     -0.0,      1.0,    65504.0,   65519.9,
                              65520.0, 65536.0,   1e-8,   6e-8,      0x1p-24,
                              0x1p-25, 0x1.8p-25, 3.4e38, 3.3961e38, 1e300};
  for (int i = 0; i < 20000; ++i) {
    double exponent = 90 * uniform(1, "exponent", i) - 45;
    numbers.push_back((uniform(2, "value", i) - 0.5) * std::exp2(exponent));
    // Halfway between two bf16 numbers, and between two f16 numbers.
    numbers.push_back((1 + (i % 128) / 128.0 + 1 / 256.0) *
                      std::exp2(i % 20 - 10));
    numbers.push_back((1 + (i % 1024) / 1024.0 + 1 / 2048.0) *
                      std::exp2(i % 30 - 24));
  }
  for (double number : numbers) {
    EXPECT_EQ(roundTo(bf16, number), roundWith(llvm::APFloat::BFloat(), number))
        << number;
    EXPECT_EQ(roundTo(f16, number),
              roundWith(llvm::APFloat::IEEEhalf(), number))
        << number;
  }
  EXPECT_TRUE(std::isnan(roundTo(bf16, std::nan(""))));
}

TEST(Tensor, WrapsIntegers) {
  EXPECT_EQ(wrapTo({ElementType::Int, 8}, 200), -56);
  EXPECT_EQ(wrapTo({ElementType::Int, 32}, int64_t(1) << 31), -2147483648LL);
  EXPECT_EQ(wrapTo({ElementType::Int, 1}, -1), 1);
  EXPECT_EQ(wrapTo({ElementType::Int, 64}, -5), -5);
}

TEST(Tensor, CopiesBoxes) {
  Tensor from({3, 4}, kI64), to({5, 5}, kI64);
  for (int64_t i = 0; i < 12; ++i)
    from.setInt(i, i);
  to.copyBox(from, {1, 0}, {2, 1}, {2, 2}, {1, 2}, {2, 1});
  // Rows 1 and 2, columns 0 and 2, to rows 2 and 4, columns 1 and 2.
  EXPECT_EQ(to.getInt(11), 4);
  EXPECT_EQ(to.getInt(12), 6);
  EXPECT_EQ(to.getInt(21), 8);
  EXPECT_EQ(to.getInt(22), 10);
  EXPECT_EQ(to.getInt(16), 0);
  EXPECT_EQ(formatIndex({5, 5}, 22), "[4, 2]");
}
