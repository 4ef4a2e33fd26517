//===- NotFiniteTest.cpp - weights that are no numbers --------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NaN and infinity are counted in each type of file, and runs whose results are
// not finite name the tensors that are at fault.
//
//===----------------------------------------------------------------------===//

#include "TrainRuns.h"

#include "../tensors/NotFinite.h"

#include <bit>

using namespace tprt;
using namespace tprt::test;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(),
                kInfinite = std::numeric_limits<float>::infinity();

template <typename T>
std::string bytesOf(const std::vector<T> &values) {
  return {reinterpret_cast<const char *>(values.data()),
          values.size() * sizeof(T)};
}

} // namespace

TEST(NotFinite, AreCountedInEveryType) {
  auto count = [](FileType type, const std::string &bytes) {
    NotFinite counts;
    countNotFinite(type, bytes.data(),
                   int64_t(bytes.size()) / fileTypeBytes(type), counts);
    return std::pair(counts.nans, counts.infinities);
  };
  std::pair<int64_t, int64_t> expected{2, 1};
  std::vector<float> values{1, kNan, -kInfinite, 0, -kNan, -65504, 1e-7f};
  for (tprt_type type : {TPRT_F32, TPRT_F16, TPRT_BF16})
    EXPECT_EQ(count(fileTypeOf(type), toBytes(type, values)), expected);
  EXPECT_EQ(count(FileType::F64,
                  bytesOf(std::vector<double>(values.begin(), values.end()))),
            expected);
  EXPECT_EQ(count(FileType::F8_E5M2, "\x7b\x7c\xfd\x7f\x3c"), expected);
  // The other form has no infinity, and one NaN of each sign.
  EXPECT_EQ(count(FileType::F8_E4M3, "\x7e\x7f\xff\x78"),
            (std::pair<int64_t, int64_t>(2, 0)));
  EXPECT_EQ(count(FileType::I32, bytesOf(std::vector<float>{kNan, kInfinite})),
            (std::pair<int64_t, int64_t>(0, 0)));
  EXPECT_EQ(count(FileType::U8, "\x7f\xff\x7c"),
            (std::pair<int64_t, int64_t>(0, 0)));
}

TEST(NotFinite, OfWeightsAreNamed) {
  for (int64_t ranks : {1, 2})
    for (const char *backend : {"threads", "processes"}) {
      SCOPED_TRACE(detail::join(ranks, " ", backend));
      Fixture f(ranks);
      std::string arguments =
          f.weights() + f.input() + " --backend " + backend + " --output ";
      std::string output = f.directory / "y.safetensors";
      f.w1[3] = kNan, f.w2[5] = kInfinite, f.w2[6] = kNan, f.w2[7] = kNan;
      f.checkpoint[0].bytes = toBytes(TPRT_F32, f.w1);
      f.checkpoint[2].bytes = toBytes(TPRT_F32, f.w2);
      f.writeCheckpoint();
      auto result = f.run(arguments + output);
      EXPECT_EQ(result.code, 1);
      std::string file = "' of '" + (f.directory / "model.safetensors") + "' (";
      EXPECT_TRUE(inOrder(result.err,
                          {"tp-run: error: output 'y': ",
                           " of 35 values are not finite: the "
                           "weights hold values that are not finite: 'm.w1" +
                               file + "1 NaN of 264), 'm.w2" + file +
                               "2 NaN and 1 infinite of 154)\n"}))
          << result.err;
      EXPECT_EQ(readOutput(output).size(), f.y.size());
    }
  // Infinities of what the program does not read, or of inputs, are not theirs.
  Fixture f(1);
  f.checkpoint.back().bytes = toBytes(TPRT_F32, {kNan});
  f.writeCheckpoint();
  f.writeOrFail("in.safetensors",
                safetensors({{"x",
                              "F32",
                              {kRows, kIn},
                              toBytes(TPRT_F32, std::vector<float>(kRows * kIn,
                                                                   kNan))}}));
  auto result = f.run(f.weights() + f.input());
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("35 not finite"), std::string::npos) << result.out;
}

/// A mask that is a weight gives minus infinity by right; the other sign, none.
TEST(NotFinite, MinusInfinityAloneIsAMask) {
  for (float value : {-kInfinite, kInfinite}) {
    Fixture f(1);
    f.b2[1] = value;
    f.checkpoint[3].bytes = toBytes(TPRT_F32, f.b2);
    f.writeCheckpoint();
    auto result = f.run(f.weights() + f.input());
    EXPECT_EQ(result.code, value > 0 ? 1 : 0) << result.err;
    EXPECT_NE(result.out.find("5 not finite"), std::string::npos) << result.out;
  }
}

TEST(NotFinite, OfMoreTensorsTheFirstAreNamed) {
  Fixture f(1);
  for (size_t i = 0; i < 4; ++i)
    std::memcpy(f.checkpoint[i].bytes.data(), &kNan, 4);
  f.writeCheckpoint();
  auto result = f.run(f.weights() + f.input());
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(inOrder(result.err, {"'m.w1' of", "'m.b1' of", "'m.w2' of",
                                   "(1 NaN of 154) and perhaps others\n"}))
      << result.err;
}

TEST(NotFinite, WeightsEndATrainingRunAtItsFirstStep) {
  for (const char *backend : {"threads", "processes"}) {
    TrainFixture f(2);
    f.tokens[0] = kPoison; // as such weights do
    f.writeData(f.tokens);
    std::string run = "--weights in --lr 0.02 --steps 3 "
                      "--save out --log log --backend ";
    EXPECT_EQ(f.train(run + backend).code, 0);
    for (TestTensor &tensor : f.tensors)
      if (tensor.name == "norm")
        tensor.bytes = toBytes(TPRT_F32, {1, kInfinite, 1, 1});
    f.write("in/model.safetensors", safetensors(f.tensors));
    auto result = f.train(run + backend + " --overwrite");
    EXPECT_EQ(result.code, 1);
    EXPECT_TRUE(
        inOrder(result.err,
                {"tp-run: error: step 1: the loss is nan, the gradient's norm "
                 "nan: expected finite numbers; the weights hold values that "
                 "are not finite: 'norm' of 'in/model.safetensors' (1 infinite "
                 "of 4); nothing was saved\n"}))
        << result.err;
    EXPECT_EQ(result.err.find("skipped"), std::string::npos) << result.err;
    std::vector<int32_t> ids(kTrainBatch * kTrainLength, kPoison);
    f.write("i.safetensors",
            safetensors({idTensor("input_ids", kTrainLength, ids),
                         idTensor("labels", kTrainLength, ids)}));
    result = f.run(detail::join("--weights in --input i.safetensors "
                                "--gradients g.safetensors --backend ",
                                backend));
    EXPECT_EQ(result.code, 1);
    EXPECT_TRUE(inOrder(
        result.err, {"tp-run: error: --gradients: the loss is nan: the "
                     "weights hold values that are not finite: 'norm' of "}))
        << result.err;
  }
}
