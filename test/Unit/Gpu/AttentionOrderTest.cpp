//===- AttentionOrderTest.cpp - Order of attention's blocks ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel's computation from a block's number is folded to constants here.
//
//===----------------------------------------------------------------------===//

#include "AttentionOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <queue>
#include <random>
#include <set>

using namespace mlir;
using namespace tp;

namespace {

/// Split, block, head, batch entry.
using Place = std::array<int64_t, 4>;

class Folder {
public:
  Folder() {
    context.loadDialect<arith::ArithDialect, LLVM::LLVMDialect>();
    module = ModuleOp::create(UnknownLoc::get(&context));
    builder.setInsertionPointToStart(module->getBody());
  }

  std::vector<Place> getPlaces(const AttentionOrder &order) {
    KernelEmitter e(builder, module->getLoc());
    std::vector<Place> places;
    for (int64_t number = 0; number < order.getBlocks(); ++number) {
      AttentionOrder::Place place = order.locate(e, e.int32(number));
      places.push_back({read(place.split), read(place.block), read(place.head),
                        read(place.batch)});
    }
    return places;
  }

private:
  static int64_t read(Value value) {
    APInt number;
    EXPECT_TRUE(matchPattern(value, m_ConstantInt(&number)));
    return number.getSExtValue();
  }

  MLIRContext context;
  OpBuilder builder{&context};
  OwningOpRef<ModuleOp> module;
};

} // namespace

TEST(AttentionOrder, EveryBlockOnceTheLongestOfAGroupFirst) {
  unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  auto draw = [&](int64_t from, int64_t to) {
    return std::uniform_int_distribution<int64_t>(from, to)(random);
  };
  Folder folder;
  for (int round = 0; round < 60; ++round) {
    int64_t splits = draw(1, 3), blocks = draw(1, 9), heads = draw(1, 7),
            batch = draw(1, 4);
    bool differ = draw(0, 3) > 0;
    int64_t together = draw(1, 9);
    int64_t headBytes = (16 << 20) / together; // as many fit
    AttentionOrder order(splits, blocks, heads, batch, differ, headBytes);
    ASSERT_EQ(order.getBlocks(), splits * blocks * heads * batch);
    std::vector<Place> places = folder.getPlaces(order);
    EXPECT_EQ(std::set<Place>(places.begin(), places.end()).size(),
              places.size());
    if (!differ || blocks == 1)
      together = 1;
    int64_t before = -1, group = -1;
    for (auto [split, block, head, entry] : places) {
      EXPECT_LT(split, splits);
      int64_t line = entry * heads + head;
      EXPECT_LT(line, heads * batch);
      EXPECT_TRUE(line / together == group || line / together == group + 1);
      if (line / together != group)
        before = 0;
      group = line / together;
      EXPECT_GE(block, before);
      EXPECT_LT(block, blocks);
      before = block;
    }
  }
}

/// When the last block ends, if each begins as soon as one of `slots` is free.
static int64_t getEnd(const std::vector<Place> &places, int64_t blocks,
                      int64_t slots) {
  std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>> free;
  for (int64_t slot = 0; slot < slots; ++slot)
    free.push(0);
  int64_t end = 0;
  for (const Place &place : places) {
    int64_t ends = free.top() + blocks - place[1];
    free.pop();
    free.push(ends);
    end = std::max(end, ends);
  }
  return end;
}

TEST(AttentionOrder, CausalBlocksEndTogether) {
  Folder folder;
  AttentionOrder unordered(1, 64, 8, 1, /*differ=*/false, 1 << 20);
  AttentionOrder order(1, 64, 8, 1, /*differ=*/true, 1 << 20);
  // 2080 tiles of each head, on 264 places: 63 each.
  EXPECT_GT(getEnd(folder.getPlaces(unordered), 64, 264), 95);
  EXPECT_LE(getEnd(folder.getPlaces(order), 64, 264), 65);
}
