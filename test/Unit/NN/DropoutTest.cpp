//===- DropoutTest.cpp - The generator behind nn.dropout ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The decomposition against a plain Philox4x32-10, itself held against the
// published vectors (key and counter all zeros, all ones).
//
//===----------------------------------------------------------------------===//

#include "Testing.h"

#include <array>

using namespace tp::interp;

using Words = std::array<uint32_t, 4>;

static Words philox(Words c, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    if (round) {
      key0 += 0x9E3779B9;
      key1 += 0xBB67AE85;
    }
    uint64_t a = uint64_t(c[0]) * 0xD2511F53, b = uint64_t(c[2]) * 0xCD9E8D57;
    c = {uint32_t(b >> 32) ^ c[1] ^ key0, uint32_t(b),
         uint32_t(a >> 32) ^ c[3] ^ key1, uint32_t(a)};
  }
  return c;
}

TEST(Dropout, GeneratorHasThePublishedValues) {
  EXPECT_EQ(philox({0, 0, 0, 0}, 0, 0),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({ones, ones, ones, ones}, ones, ones),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(Dropout, MaskIsThatOfTheGlobalElement) {
  // Rows 2 and 3 of a [4, 64] tensor, in layer 3.
  const char *text = R"(
    func.func @main(%x: tensor<2x64xf32>) -> tensor<2x64xf32> {
      %seed = arith.constant dense<1099511627853> : tensor<i64>
      %step = arith.constant dense<5> : tensor<i64>
      %layer = arith.constant 3 : index
      %zero = arith.constant 0 : index
      %two = arith.constant 2 : index
      %0 = nn.dropout %x, %seed, %step layer %layer offsets %two, %zero
        {global_shape = array<i64: 4, 64>, op_id = 9 : i64, probability = 0.25 : f64} : tensor<2x64xf32>
      return %0 : tensor<2x64xf32>
    })";
  Tensor ones({2, 64}, kF32);
  for (int64_t i = 0; i < 128; ++i)
    ones.setFloat(i, 1);
  llvm::SmallVector<Tensor> results = run(text, {ones});
  ASSERT_EQ(results.size(), 1u);
  uint64_t seed = 1099511627853;
  int kept = 0;
  for (uint32_t i = 0; i < 128; ++i) {
    Words words =
        philox({128 + i, 3u << 16, 9, 5}, uint32_t(seed), uint32_t(seed >> 32));
    bool keep = words[0] >= 0x40000000u;
    kept += keep;
    EXPECT_FLOAT_EQ(results[0].getFloat(i), keep ? 1 / 0.75f : 0) << i;
  }
  EXPECT_GT(kept, 80);
  EXPECT_LT(kept, 112);
}
