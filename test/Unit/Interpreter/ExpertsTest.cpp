//===- ExpertsTest.cpp - Mixtures of experts against plain C++ ------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The definitions of nn.router, by sorting, and of nn.experts, by a loop over
// the experts that a row uses: routers at random with many ties, experts that
// nobody uses, one that all use.
//
//===----------------------------------------------------------------------===//

#include "Testing.h"

#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <numeric>
#include <random>

using namespace tp::interp;
using Numbers = std::vector<double>;

namespace {
struct Router {
  int64_t experts, topK;
  bool sigmoid, normalized, biased;
  double scale;
  int64_t groups = 1, topGroups = 1, groupBest = 1;
};
} // namespace

static Tensor route(const Router &r, const Tensor &logits, const Tensor &bias) {
  std::string type =
      llvm::formatv("tensor<{0}x{1}xf32>", logits.getShape()[0], r.experts);
  std::string biasType = llvm::formatv("tensor<{0}xf32>", r.experts);
  std::string text = llvm::formatv(
      "func.func @main(%l: {0}, %b: {1}) -> {0} {{\n"
      "  %0 = nn.router %l {2} {{{3} {4} scale = {5:f6} : f64, top_k = {6} : "
      "i64, groups = {8} : i64, top_groups = {9} : i64, group_best = {10} : "
      "i64} : ({0}{7}) -> {0}\n  return %0 : {0}\n}",
      type, biasType, r.biased ? "bias %b" : "", r.sigmoid ? "sigmoid," : "",
      r.normalized ? "normalized," : "", r.scale, r.topK,
      r.biased ? ", " + biasType : "", r.groups, r.topGroups, r.groupBest);
  return run(text, {logits, bias})[0];
}

/// The numbers from 0 on, those of larger values first.
static std::vector<size_t> sortLargestFirst(const Numbers &values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    // Ties of equal logits survive f32; others are far apart.
    return values[a] > values[b] + 1e-6;
  });
  return order;
}

/// The values with those outside the best groups below all others.
static Numbers limitToGroups(const Router &r, const Numbers &values) {
  int64_t size = r.experts / r.groups;
  Numbers sums, limited(values.size(), -1e6);
  for (int64_t g = 0; g < r.groups; ++g) {
    Numbers group(values.begin() + g * size, values.begin() + (g + 1) * size);
    std::sort(group.rbegin(), group.rend());
    sums.push_back(
        std::accumulate(group.begin(), group.begin() + r.groupBest, 0.0));
  }
  std::vector<size_t> order = sortLargestFirst(sums);
  for (int64_t i = 0; i < r.topGroups; ++i)
    std::copy_n(values.begin() + order[i] * size, size,
                limited.begin() + order[i] * size);
  return limited;
}

/// The row's weights, from the experts in the order of their scores.
static Numbers routeBySorting(const Router &r, const Numbers &logits,
                              const Numbers &bias) {
  size_t count = logits.size();
  Numbers scores(count), compared(count);
  double most = *std::max_element(logits.begin(), logits.end()), sum = 0;
  for (double logit : logits)
    sum += std::exp(logit - most);
  for (size_t e = 0; e < count; ++e) {
    scores[e] = r.sigmoid ? 1 / (1 + std::exp(-logits[e]))
                          : std::exp(logits[e] - most) / sum;
    compared[e] = scores[e] + (r.biased ? bias[e] : 0);
  }
  std::vector<size_t> order = sortLargestFirst(limitToGroups(r, compared));
  Numbers weights(count);
  double total = 0;
  for (int64_t i = 0; i < r.topK; ++i)
    total += scores[order[i]];
  for (int64_t i = 0; i < r.topK; ++i)
    weights[order[i]] = scores[order[i]] / (r.normalized ? total : 1) * r.scale;
  return weights;
}

TEST(Experts, RouterAtRandom) {
  std::mt19937 random(7);
  for (int n = 0; n < 120; ++n) {
    int64_t groups = 1 + int64_t(random() % 4),
            size = 1 + int64_t(random() % 4);
    int64_t experts = groups * size, topGroups = 1 + int64_t(random() % groups);
    Router r{experts, 1 + int64_t(random() % (topGroups * size)),
             random() % 2 == 0, random() % 2 == 0, random() % 2 == 0,
             random() % 2 ? 1.0 : 2.5, groups, topGroups,
             // The sum of more hangs on their order.
             1 + int64_t(random() % std::min<int64_t>(size, 2))};
    constexpr int64_t rows = 5;
    // Few different numbers, so that many tie; no two sums do by chance.
    Numbers logits, bias;
    for (int64_t i = 0; i < rows * experts; ++i)
      logits.push_back(double(random() % 4) * 0.7 - 1.1);
    for (int64_t e = 0; e < experts; ++e)
      bias.push_back(double(random() % 3) * 0.25);
    Numbers got = getNumbers(route(r, makeTensor({rows, experts}, logits),
                                   makeTensor({experts}, bias)));
    for (int64_t row = 0; row < rows; ++row) {
      auto begin = logits.begin() + row * experts;
      Numbers want = routeBySorting(r, {begin, begin + experts}, bias);
      for (int64_t e = 0; e < experts; ++e)
        EXPECT_NEAR(got[row * experts + e], want[e], 2e-6)
            << "router " << n << ", row " << row << ", expert " << e;
    }
  }
}

TEST(Experts, EqualsGoToTheLowest) {
  Router r{5, 2, false, false, false, 1};
  EXPECT_EQ(getNumbers(route(r, makeTensor({1, 5}, Numbers(5, 3.0)),
                             makeTensor({5}, Numbers(5)))),
            (Numbers{float(0.2), float(0.2), 0, 0, 0}));
}

/// A weight that a row does not use may be no number.
TEST(Experts, OnlyWhatIsUsedCounts) {
  constexpr int64_t rows = 3, experts = 3, k = 4, f = 5, n = 2, out = 3;
  double nan = std::nan("");
  // The second expert is used by all rows but the last, the first by one, the
  // third by none; the last row uses none.
  Numbers routing{0.5, 0.25, 0, 0, -2, 0, 0, 0, 0};
  Tensor x = makeRandom({rows, k}, 1), gate = makeRandom({experts, f, k}, 2),
         up = makeRandom({experts, f, k}, 3),
         down = makeRandom({experts, n, f}, 4);
  for (int64_t i = 0; i < f * k; ++i)
    gate.setFloat(2 * f * k + i, nan);
  // A position of the width that is left out.
  for (int64_t e = 0; e < experts; ++e) {
    up.setFloat((e * f + out) * k, nan);
    for (int64_t o = 0; o < n; ++o)
      down.setFloat((e * n + o) * f + out, 0);
  }
  Numbers want(rows * n);
  auto at = [](const Tensor &tensor, int64_t i) { return tensor.getNumber(i); };
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t e = 0; e < experts; ++e)
      for (int64_t c = 0; routing[r * experts + e] != 0 && c < f; ++c) {
        if (c == out)
          continue;
        double g = 0, u = 0;
        for (int64_t i = 0; i < k; ++i) {
          g += at(x, r * k + i) * at(gate, (e * f + c) * k + i);
          u += at(x, r * k + i) * at(up, (e * f + c) * k + i);
        }
        for (int64_t o = 0; o < n; ++o)
          want[r * n + o] += routing[r * experts + e] * std::max(g, 0.0) * u *
                             at(down, (e * n + o) * f + c);
      }
  Numbers got = getNumbers(
      run("func.func @main(%x: tensor<3x4xf32>, %r: tensor<3x3xf32>, %g: "
          "tensor<3x5x4xf32>, %u: tensor<3x5x4xf32>, %d: tensor<3x2x5xf32>) -> "
          "tensor<3x2xf32> {\n"
          "  %i = arith.constant dense<[1, 2, -1, 0, 1]> : tensor<5xi32>\n"
          "  %0 = nn.experts %x, %r, %g, %u, %d inside %i {activation = "
          "\"relu\"} : "
          "(tensor<3x4xf32>, tensor<3x3xf32>, tensor<3x5x4xf32>, "
          "tensor<3x5x4xf32>, tensor<3x2x5xf32>, tensor<5xi32>) -> "
          "tensor<3x2xf32>\n"
          "  return %0 : tensor<3x2xf32>\n}",
          {x, makeTensor({rows, experts}, routing), gate, up, down})[0]);
  for (int64_t i = 0; i < rows * n; ++i)
    EXPECT_NEAR(got[i], want[i], 1e-5) << i;
}
