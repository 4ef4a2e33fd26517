//===- NNTest.cpp - The decompositions of nn against plain C++ ------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each nn operation is evaluated through its decomposition and compared with
// its textbook formula in double, written here once more.
//
//===----------------------------------------------------------------------===//

#include "Testing.h"

#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace tp::interp;
using Numbers = std::vector<double>;

static void expectNear(const Tensor &got, const Numbers &expected,
                       double tolerance) {
  ASSERT_EQ(size_t(got.getNumElements()), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(got.getFloat(i), expected[i], tolerance) << "element " << i;
}

/// Run one operation: `types` lists the argument types, the operation's text
/// uses %0, %1, ...
static llvm::SmallVector<Tensor> runOp(llvm::ArrayRef<std::string> types,
                                       const std::string &op,
                                       llvm::ArrayRef<std::string> results,
                                       llvm::ArrayRef<Tensor> arguments) {
  std::string text = "func.func @main(";
  for (size_t i = 0; i < types.size(); ++i)
    text += (i ? ", %" : "%") + std::to_string(i) + ": " + types[i];
  std::string resultTypes = llvm::join(results, ", ");
  text += ") -> (" + resultTypes + ") {\n  %r";
  if (results.size() > 1)
    text += ":" + std::to_string(results.size());
  text += " = " + op + "\n  return ";
  for (size_t i = 0; i < results.size(); ++i)
    text += (i ? ", %r" : "%r") +
            (results.size() > 1 ? "#" + std::to_string(i) : std::string());
  text += " : " + resultTypes + "\n}";
  return run(text, arguments);
}

TEST(NN, Linear) {
  Tensor x = makeRandom({2, 3, 5}, 1), w = makeRandom({7, 5}, 2);
  Tensor b = makeRandom({7}, 3);
  auto results =
      runOp({"tensor<2x3x5xf32>", "tensor<7x5xf32>", "tensor<7xf32>"},
            "nn.linear %0, %1 bias %2 : (tensor<2x3x5xf32>, tensor<7x5xf32>, "
            "tensor<7xf32>) -> tensor<2x3x7xf32>",
            {"tensor<2x3x7xf32>"}, {x, w, b});
  Numbers expected;
  for (int64_t row = 0; row < 6; ++row)
    for (int64_t n = 0; n < 7; ++n) {
      double sum = b.getFloat(n);
      for (int64_t k = 0; k < 5; ++k)
        sum += x.getFloat(row * 5 + k) * w.getFloat(n * 5 + k);
      expected.push_back(sum);
    }
  expectNear(results[0], expected, 1e-6);
}

TEST(NN, NormsAndTheirStatistics) {
  const int64_t rows = 6, h = 10;
  Tensor x = makeRandom({2, 3, h}, 4), w = makeRandom({h}, 5);
  Tensor b = makeRandom({h}, 6);
  auto rms = runOp({"tensor<2x3x10xf32>", "tensor<10xf32>"},
                   "nn.rms_norm %0, %1 {epsilon = 1.0e-2 : f64} : "
                   "(tensor<2x3x10xf32>, tensor<10xf32>) -> "
                   "(tensor<2x3x10xf32>, tensor<2x3xf32>)",
                   {"tensor<2x3x10xf32>", "tensor<2x3xf32>"}, {x, w});
  auto layer = runOp(
      {"tensor<2x3x10xf32>", "tensor<10xf32>", "tensor<10xf32>"},
      "nn.layer_norm %0, %1 bias %2 {epsilon = 1.0e-2 : f64} : "
      "(tensor<2x3x10xf32>, tensor<10xf32>, tensor<10xf32>) -> "
      "(tensor<2x3x10xf32>, tensor<2x3xf32>, tensor<2x3xf32>)",
      {"tensor<2x3x10xf32>", "tensor<2x3xf32>", "tensor<2x3xf32>"}, {x, w, b});
  Numbers rmsY, rmsStd, layerY, layerMean, layerStd;
  for (int64_t row = 0; row < rows; ++row) {
    double sum = 0, squares = 0, variance = 0;
    for (int64_t i = 0; i < h; ++i) {
      sum += x.getFloat(row * h + i);
      squares += std::pow(x.getFloat(row * h + i), 2);
    }
    double mean = sum / h;
    for (int64_t i = 0; i < h; ++i)
      variance += std::pow(x.getFloat(row * h + i) - mean, 2) / h;
    rmsStd.push_back(1 / std::sqrt(squares / h + 1e-2));
    layerMean.push_back(mean);
    layerStd.push_back(1 / std::sqrt(variance + 1e-2));
    for (int64_t i = 0; i < h; ++i) {
      double value = x.getFloat(row * h + i);
      rmsY.push_back(value * rmsStd.back() * w.getFloat(i));
      layerY.push_back((value - mean) * layerStd.back() * w.getFloat(i) +
                       b.getFloat(i));
    }
  }
  expectNear(rms[0], rmsY, 1e-6);
  expectNear(rms[1], rmsStd, 1e-6);
  expectNear(layer[0], layerY, 1e-6);
  expectNear(layer[1], layerMean, 1e-6);
  expectNear(layer[2], layerStd, 1e-6);
}

TEST(NN, StatisticsOfSixteenBitValuesAreInF32) {
  // Summed in bf16, 512 squares of 1 would stop at 256.
  Tensor x({1, 512}, kBF16), w({512}, kBF16);
  for (int64_t i = 0; i < 512; ++i) {
    x.setFloat(i, 1);
    w.setFloat(i, 1);
  }
  auto results = runOp({"tensor<1x512xbf16>", "tensor<512xbf16>"},
                       "nn.rms_norm %0, %1 {epsilon = 0.0 : f64} : "
                       "(tensor<1x512xbf16>, tensor<512xbf16>) -> "
                       "tensor<1x512xbf16>",
                       {"tensor<1x512xbf16>"}, {x, w});
  EXPECT_EQ(results[0].getFloat(0), 1);
}

TEST(NN, Activations) {
  Tensor x({64}, kF32);
  for (int64_t i = 0; i < 64; ++i)
    x.setFloat(i, (i - 32) * 0.25);
  Numbers erf, tanh, silu, softmax;
  double sum = 0;
  for (int64_t i = 0; i < 64; ++i) {
    double v = x.getFloat(i);
    erf.push_back(v / 2 * (1 + std::erf(v / std::sqrt(2))));
    tanh.push_back(
        v / 2 *
        (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v))));
    silu.push_back(v / (1 + std::exp(-v)));
    softmax.push_back(std::exp(v));
    sum += softmax.back();
  }
  for (double &value : softmax)
    value /= sum;
  auto apply = [&](const std::string &op) {
    return runOp({"tensor<64xf32>"}, op + " %0 : tensor<64xf32>",
                 {"tensor<64xf32>"}, {x})[0];
  };
  expectNear(apply("nn.gelu erf"), erf, 1e-6);
  expectNear(apply("nn.gelu tanh"), tanh, 1e-6);
  expectNear(apply("nn.silu"), silu, 1e-6);
  expectNear(apply("nn.softmax"), softmax, 1e-6);
  // Far out neither overflows.
  for (int64_t i = 0; i < 64; ++i)
    x.setFloat(i, i == 0 ? -1e30 : 300);
  EXPECT_EQ(apply("nn.silu").getFloat(0), 0);
  EXPECT_NEAR(apply("nn.softmax").getFloat(1), 1.0 / 63, 1e-8);
}

TEST(NN, RotaryTableAndRotation) {
  auto table =
      runOp({"index"},
            "nn.rotary_table offset %0 {inv_freq = dense<[1.0, "
            "0.01]> : tensor<2xf32>, attention_scaling = 1.5 : f64} "
            ": tensor<5x2xf32>, tensor<5x2xf32>",
            {"tensor<5x2xf32>", "tensor<5x2xf32>"}, {Tensor::scalarInt(3)});
  Numbers cos, sin;
  for (int64_t s = 0; s < 5; ++s)
    for (float frequency : {1.0f, 0.01f}) {
      float angle = float(3 + s) * frequency;
      cos.push_back(1.5 * std::cos(angle));
      sin.push_back(1.5 * std::sin(angle));
    }
  expectNear(table[0], cos, 2e-7);
  expectNear(table[1], sin, 2e-7);
  // The first four of six elements are rotated.
  Tensor x = makeRandom({2, 5, 3, 6}, 8);
  auto y = runOp({"tensor<2x5x3x6xf32>", "tensor<5x2xf32>", "tensor<5x2xf32>"},
                 "nn.rotary %0, %1, %2 : (tensor<2x5x3x6xf32>, "
                 "tensor<5x2xf32>, tensor<5x2xf32>) -> tensor<2x5x3x6xf32>",
                 {"tensor<2x5x3x6xf32>"}, {x, table[0], table[1]});
  Numbers expected(180);
  for (int64_t row = 0; row < 30; ++row) {
    int64_t s = row / 3 % 5;
    for (int64_t j = 0; j < 6; ++j)
      expected[row * 6 + j] = x.getFloat(row * 6 + j);
    for (int64_t j = 0; j < 2; ++j) {
      double a = x.getFloat(row * 6 + j), b = x.getFloat(row * 6 + j + 2);
      expected[row * 6 + j] = a * cos[2 * s + j] - b * sin[2 * s + j];
      expected[row * 6 + j + 2] = b * cos[2 * s + j] + a * sin[2 * s + j];
    }
  }
  expectNear(y[0], expected, 1e-6);
}

TEST(NN, EmbeddingOfAPartOfTheTable) {
  Tensor table = makeRandom({4, 3}, 9);
  Tensor ids = makeTensor({5}, {0, 4, 7, 8, 3}, kI64);
  auto results = runOp({"tensor<5xi64>", "tensor<4x3xf32>", "index"},
                       "nn.embedding %0, %1 offset %2 : (tensor<5xi64>, "
                       "tensor<4x3xf32>, index) -> tensor<5x3xf32>",
                       {"tensor<5x3xf32>"}, {ids, table, Tensor::scalarInt(4)});
  Numbers expected(15, 0);
  for (int64_t j = 0; j < 3; ++j) {
    expected[3 + j] = table.getFloat(j);
    expected[6 + j] = table.getFloat(9 + j);
  }
  expectNear(results[0], expected, 0);
}

TEST(NN, CrossEntropyIgnoresLabelsOutside) {
  Tensor logits = makeRandom({4, 6}, 10);
  Tensor labels = makeTensor({4}, {5, -100, 0, 6}, kI64);
  auto results = runOp({"tensor<4x6xf32>", "tensor<4xi64>"},
                       "nn.cross_entropy %0, %1 : (tensor<4x6xf32>, "
                       "tensor<4xi64>) -> (tensor<4xf32>, tensor<4xf32>)",
                       {"tensor<4xf32>", "tensor<4xf32>"}, {logits, labels});
  Numbers loss, lse;
  for (int64_t row = 0; row < 4; ++row) {
    double sum = 0;
    for (int64_t i = 0; i < 6; ++i)
      sum += std::exp(logits.getFloat(row * 6 + i));
    lse.push_back(std::log(sum));
    int64_t label = labels.getInt(row);
    loss.push_back(label < 0 || label >= 6
                       ? 0
                       : lse.back() - logits.getFloat(row * 6 + label));
  }
  expectNear(results[0], loss, 1e-6);
  expectNear(results[1], lse, 1e-6);
}

namespace {
struct AttentionCase {
  int64_t batch, s, t, queryHeads, kvHeads, d;
  bool causal = false;
  int64_t window = 0;
  bool masked = false;
};
} // namespace

static void checkAttention(const AttentionCase &c) {
  double scale = 0.37;
  Tensor q = makeRandom({c.batch, c.s, c.queryHeads, c.d}, 11);
  Tensor k = makeRandom({c.batch, c.t, c.kvHeads, c.d}, 12);
  Tensor v = makeRandom({c.batch, c.t, c.kvHeads, c.d}, 13);
  Tensor mask({c.batch, c.t}, kI64);
  for (int64_t i = 0; i < c.batch * c.t; ++i)
    mask.setInt(i, i % c.t < c.t - 1 - i / c.t ? 1 : 0);
  auto type = [](llvm::ArrayRef<int64_t> shape, const char *element) {
    std::string text = "tensor<";
    for (int64_t size : shape)
      text += std::to_string(size) + "x";
    return text + element + ">";
  };
  std::string qType = type(q.getShape(), "f32");
  std::string kType = type(k.getShape(), "f32");
  std::string maskType = type(mask.getShape(), "i64");
  std::string lseType = type({c.batch, c.s, c.queryHeads}, "f32");
  std::string op = "nn.attention %0, %1, %2";
  if (c.masked)
    op += " mask %3";
  op += llvm::formatv(
      " {{{0}{1}scale = 0.37 : f64} : ({2}, {3}, {3}{4}) -> "
      "({2}, {5})",
      c.causal ? "causal, " : "",
      c.window ? "window = " + std::to_string(c.window) + " : i64, " : "",
      qType, kType, c.masked ? ", " + maskType : "", lseType);
  auto results = runOp({qType, kType, kType, maskType}, op, {qType, lseType},
                       {q, k, v, mask});
  ASSERT_EQ(results.size(), 2u);
  Numbers expected, lse;
  std::vector<bool> sees;
  for (int64_t b = 0; b < c.batch; ++b)
    for (int64_t i = 0; i < c.s; ++i)
      for (int64_t head = 0; head < c.queryHeads; ++head) {
        int64_t kvHead = head / (c.queryHeads / c.kvHeads);
        int64_t position = i + (c.t - c.s);
        Numbers weights(c.t, 0), out(c.d, 0);
        double sum = 0;
        for (int64_t j = 0; j < c.t; ++j) {
          bool seen = !c.causal || j <= position;
          if (c.window)
            seen &= j > position - c.window;
          if (c.masked)
            seen &= mask.getInt(b * c.t + j) != 0;
          if (!seen)
            continue;
          double score = 0;
          for (int64_t e = 0; e < c.d; ++e)
            score +=
                q.getFloat(((b * c.s + i) * c.queryHeads + head) * c.d + e) *
                k.getFloat(((b * c.t + j) * c.kvHeads + kvHead) * c.d + e);
          weights[j] = std::exp(scale * score);
          sum += weights[j];
        }
        for (int64_t j = 0; j < c.t; ++j)
          for (int64_t e = 0; e < c.d; ++e)
            if (sum > 0)
              out[e] +=
                  weights[j] / sum *
                  v.getFloat(((b * c.t + j) * c.kvHeads + kvHead) * c.d + e);
        expected.insert(expected.end(), out.begin(), out.end());
        lse.push_back(sum > 0 ? std::log(sum) : 0);
        sees.push_back(sum > 0);
      }
  expectNear(results[0], expected, 2e-6);
  for (size_t i = 0; i < lse.size(); ++i)
    if (sees[i])
      ASSERT_NEAR(results[1].getFloat(i), lse[i], 2e-6);
}

TEST(NN, Attention) {
  checkAttention({2, 5, 5, 4, 4, 8});
  checkAttention({2, 5, 5, 4, 4, 8, /*causal=*/true});
  // Grouped and multi-query heads; more keys than queries.
  checkAttention({1, 6, 6, 6, 2, 4, true});
  checkAttention({1, 3, 7, 4, 1, 4, true});
  checkAttention({1, 3, 7, 4, 2, 4, false});
  // Windows and masks, alone and together.
  checkAttention({1, 8, 8, 2, 2, 4, true, 3});
  checkAttention({3, 5, 5, 2, 1, 4, false, 0, /*masked=*/true});
  checkAttention({3, 5, 5, 4, 2, 4, true, 2, true});
  // Fewer keys than queries: the first queries see none and give zeros.
  checkAttention({1, 6, 4, 2, 2, 4, true});
}

TEST(NN, DropoutIsAFunctionOfTheGlobalElement) {
  // The second half of a tensor alone, told where it begins, drops the same
  // elements as the whole does.
  Tensor whole({4, 50}, kF32), half({2, 50}, kF32);
  for (int64_t i = 0; i < 200; ++i)
    whole.setFloat(i, 1);
  for (int64_t i = 0; i < 100; ++i)
    half.setFloat(i, 1);
  Tensor seed = Tensor::scalarInt(11, kI64), step = Tensor::scalarInt(2, kI64);
  auto all = runOp({"tensor<4x50xf32>", "tensor<i64>", "tensor<i64>"},
                   "nn.dropout %0, %1, %2 {probability = 0.25 : f64, op_id = "
                   "5 : i64} : tensor<4x50xf32>",
                   {"tensor<4x50xf32>"}, {whole, seed, step});
  auto part = runOp(
      {"tensor<2x50xf32>", "tensor<i64>", "tensor<i64>", "index", "index"},
      "nn.dropout %0, %1, %2 offsets %3, %4 {probability = 0.25 "
      ": f64, op_id = 5 : i64, global_shape = array<i64: 4, "
      "50>} : tensor<2x50xf32>",
      {"tensor<2x50xf32>"},
      {half, seed, step, Tensor::scalarInt(2), Tensor::scalarInt(0)});
  int64_t kept = 0;
  for (int64_t i = 0; i < 200; ++i) {
    double value = all[0].getFloat(i);
    EXPECT_TRUE(value == 0 || std::abs(value - 1 / 0.75) < 1e-6);
    kept += value != 0;
    if (i >= 100)
      EXPECT_EQ(part[0].getFloat(i - 100), value);
  }
  EXPECT_GT(kept, 120);
  EXPECT_LT(kept, 180);
}
