//===- EmbeddingTest.cpp - sums by ids against the definition -------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ids that occur often, once, never and outside, into nothing, into another
// table and in place: the same bits as a loop in that order.
//
//===----------------------------------------------------------------------===//

#include "TestUtil.h"

#include "../host/HostRank.h"
#include "../support/Parallel.h"

using namespace tprt;
using namespace tprt::test;

template <typename Id>
static void check(int64_t tokens, int64_t rows, int64_t columns,
                  std::mt19937 &random) {
  std::vector<Id> ids(tokens);
  for (Id &id : ids)
    id = Id(random() % (rows / 2 + 3)) - 1;
  auto cotangent = randomFloats(random, tokens * columns);
  auto before = randomFloats(random, rows * columns);
  for (int kind = 0; kind < 3; ++kind) {
    std::vector<float> want(rows * columns), got(rows * columns, 77);
    if (kind > 0)
      want = before;
    if (kind == 2)
      got = before;
    for (int64_t t = 0; t < tokens; ++t)
      for (int64_t c = 0; c < columns; ++c)
        if (ids[t] >= 0 && ids[t] < rows)
          want[ids[t] * columns + c] += cotangent[t * columns + c];
    const void *into = kind == 0   ? nullptr
                       : kind == 1 ? before.data()
                                   : got.data();
    EXPECT_EQ(HostFunctions::embedding_backward(
                  nullptr, tokens, rows, columns, sizeof(Id), ids.data(),
                  cotangent.data(), into, got.data()),
              0);
    EXPECT_TRUE(got == want) << kind << ", " << rows << " rows of " << columns;
  }
}

TEST(Embedding, Backward) {
  std::mt19937 random(kSeed);
  for (int count : {1, 3}) {
    setWorkers(count);
    for (int64_t columns : {1, 63, 200}) {
      check<int32_t>(40, 9, columns, random);
      check<int64_t>(7, 2000, columns, random);
    }
  }
  setWorkers(1);
}
