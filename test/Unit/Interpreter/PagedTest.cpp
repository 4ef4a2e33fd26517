//===- PagedTest.cpp - Ragged rows over pages against plain C++ -----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The definitions of nn.token_places, nn.cache_write, nn.paged_attention and of
// a rotary table's positions: numbers written by hand, and attention in double
// over a cache whose dead cells are no numbers.
//
//===----------------------------------------------------------------------===//

#include "Testing.h"

#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace tp::interp;
using Numbers = std::vector<double>;

static const ElementType kI32{ElementType::Int, 32};

/// Page 4, three pages a row; `tokens` of them.
static llvm::SmallVector<Tensor> place(int64_t tokens, const Numbers &starts,
                                       const Numbers &context,
                                       const Numbers &table) {
  int64_t rows = context.size();
  std::string type =
      llvm::formatv("(tensor<{0}xi32>, tensor<{1}xi32>, tensor<{1}x3xi32>) -> "
                    "(tensor<{2}xi32>, tensor<{2}xi32>, tensor<{2}xi32>)",
                    rows + 1, rows, tokens);
  return run(llvm::formatv(
                 "func.func @main(%s: tensor<{0}xi32>, %c: tensor<{1}xi32>, "
                 "%t: tensor<{1}x3xi32>) -> (tensor<{2}xi32>, tensor<{2}xi32>, "
                 "tensor<{2}xi32>) {{\n"
                 "  %r:3 = nn.token_places %s, %c, %t {{page = 4 : i64} : {3}\n"
                 "  return %r#0, %r#1, %r#2 : tensor<{2}xi32>, "
                 "tensor<{2}xi32>, tensor<{2}xi32>\n}",
                 rows + 1, rows, tokens, type)
                 .str(),
             {makeTensor({rows + 1}, starts, kI32),
              makeTensor({rows}, context, kI32),
              makeTensor({rows, 3}, table, kI32)});
}

TEST(Paged, TokensFindTheirRowsAndCells) {
  // Row 1 has no tokens; the last two are padding. Position 4 of row 0 begins
  // its second page; row 2 goes from its second to its third.
  auto places =
      place(8, {0, 2, 2, 6}, {3, 0, 6}, {5, 1, -1, -1, -1, -1, -1, 0, 7});
  ASSERT_EQ(places.size(), 3u);
  EXPECT_EQ(getNumbers(places[0]), (Numbers{0, 0, 2, 2, 2, 2, -1, -1}));
  EXPECT_EQ(getNumbers(places[1]), (Numbers{3, 4, 6, 7, 8, 9, -1, -1}));
  EXPECT_EQ(getNumbers(places[2]), (Numbers{23, 4, 2, 3, 28, 29, -1, -1}));
}

TEST(Paged, PositionsWithoutAPageHaveNoCell) {
  // A page that is not there, and a position past the table.
  auto places = place(4, {0, 2, 4}, {3, 11}, {5, -1, 2, 0, 1, 2});
  ASSERT_EQ(places.size(), 3u);
  EXPECT_EQ(getNumbers(places[0]), (Numbers{0, 0, 1, 1}));
  EXPECT_EQ(getNumbers(places[1]), (Numbers{3, 4, 11, 12}));
  EXPECT_EQ(getNumbers(places[2]), (Numbers{23, -1, 11, -1}));
}

TEST(Paged, OnlyNamedCellsAreWritten) {
  auto results = run(
      "func.func @main(%x: tensor<4x1x2xf32>, %c: tensor<4xi32>, "
      "%p: tensor<5x1x2xf32>) -> tensor<5x1x2xf32> {\n"
      "  %r = nn.cache_write %x, %c, %p : (tensor<4x1x2xf32>, tensor<4xi32>, "
      "tensor<5x1x2xf32>) -> tensor<5x1x2xf32>\n"
      "  return %r : tensor<5x1x2xf32>\n}",
      {makeTensor({4, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8}),
       makeTensor({4}, {3, -1, 0, 5}, kI32),
       makeTensor({5, 1, 2}, {10, 11, 12, 13, 14, 15, 16, 17, 18, 19})});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(getNumbers(results[0]),
            (Numbers{5, 6, 12, 13, 14, 15, 1, 2, 18, 19}));
}

TEST(Paged, RotaryTablesFollowPositions) {
  auto results =
      run("func.func @main(%p: tensor<3xi32>) -> (tensor<3x1xf32>, "
          "tensor<3x1xf32>) {\n"
          "  %c, %s = nn.rotary_table positions %p : tensor<3xi32> "
          "{inv_freq = dense<0.5> : tensor<1xf32>, attention_scaling = 2.0 : "
          "f64} : tensor<3x1xf32>, tensor<3x1xf32>\n"
          "  return %c, %s : tensor<3x1xf32>, tensor<3x1xf32>\n}",
          {makeTensor({3}, {7, 0, -1}, kI32)});
  ASSERT_EQ(results.size(), 2u);
  for (auto [i, angle] : llvm::enumerate(Numbers{3.5, 0, -0.5})) {
    EXPECT_NEAR(results[0].getFloat(i), 2 * std::cos(angle), 1e-6);
    EXPECT_NEAR(results[1].getFloat(i), 2 * std::sin(angle), 1e-6);
  }
}

/// Two KV heads of three elements, two queries each; pages of 4 cells.
static Tensor attend(const Tensor &query, const Tensor &keys,
                     const Tensor &values, const Numbers &rows,
                     const Numbers &positions, const Numbers &table,
                     int64_t window) {
  int64_t tokens = rows.size(), numRows = table.size() / 3;
  std::string q = llvm::formatv("tensor<1x{0}x4x3xf32>", tokens);
  std::string pool = "tensor<24x2x3xf32>";
  std::string ids = llvm::formatv("tensor<{0}xi32>", tokens);
  std::string pages = llvm::formatv("tensor<{0}x3xi32>", numRows);
  auto results = run(
      llvm::formatv(
          "func.func @main(%q: {0}, %k: {1}, %v: {1}, %r: {2}, %p: {2}, "
          "%t: {3}) -> {0} {{\n"
          "  %o = nn.paged_attention %q, %k, %v, %r, %p, %t {{page = 4 : i64, "
          "scale = 0.7 : f64{4}} : ({0}, {1}, {1}, {2}, {2}, {3}) -> {0}\n"
          "  return %o : {0}\n}",
          q, pool, ids, pages,
          window ? llvm::formatv(", window = {0} : i64", window).str()
                 : std::string())
          .str(),
      {query, keys, values, makeTensor({tokens}, rows, kI32),
       makeTensor({tokens}, positions, kI32),
       makeTensor({numRows, 3}, table, kI32)});
  return results.empty() ? Tensor() : results[0];
}

TEST(Paged, AttentionSeesItsRowsCellsAlone) {
  Numbers rows{0, 0, 2, -1}, positions{4, 5, 9, -1};
  // Row 2's first page is freed, row 1 is empty.
  Numbers table{5, 1, -1, -1, -1, -1, -1, 0, 3};
  for (int64_t window : {0, 1, 5}) {
    Tensor query = makeRandom({1, 4, 4, 3}, 1);
    Tensor keys = makeRandom({24, 2, 3}, 2), values = makeRandom({24, 2, 3}, 3);
    std::vector<bool> isSeen(24);
    Numbers expected;
    for (size_t t = 0; t < rows.size(); ++t)
      for (int64_t head = 0; head < 4; ++head) {
        Numbers total(3);
        double sum = 0;
        int64_t first =
            window ? std::max<int64_t>(0, int64_t(positions[t]) - window + 1)
                   : 0;
        for (int64_t p = first; rows[t] >= 0 && p <= positions[t]; ++p) {
          double page = table[rows[t] * 3 + p / 4];
          if (page < 0)
            continue;
          int64_t cell = int64_t(page) * 4 + p % 4;
          isSeen[cell] = true;
          double score = 0;
          for (int64_t d = 0; d < 3; ++d)
            score += query.getFloat((t * 4 + head) * 3 + d) *
                     keys.getFloat((cell * 2 + head / 2) * 3 + d);
          double weight = std::exp(score * 0.7);
          sum += weight;
          for (int64_t d = 0; d < 3; ++d)
            total[d] += weight * values.getFloat((cell * 2 + head / 2) * 3 + d);
        }
        for (double x : total)
          expected.push_back(sum == 0 ? 0 : x / sum);
      }
    for (int64_t i = 0; i < keys.getNumElements(); ++i)
      if (!isSeen[i / 6]) {
        keys.setFloat(i, NAN);
        values.setFloat(i, NAN);
      }
    Tensor got = attend(query, keys, values, rows, positions, table, window);
    ASSERT_EQ(size_t(got.getNumElements()), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(got.getFloat(i), expected[i], 1e-6)
          << "element " << i << ", window " << window;
  }
}
