//===- BlocksTest.cpp - Dimensions that are cut in blocks -----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Local sizes and positions, projection to heads and back, and reshards, on
// blocks drawn at random.
//
//===----------------------------------------------------------------------===//

#include "ReshardUtil.h"
#include "Simulate.h"
#include "TestUtil.h"
#include "tp/Sharding/Rule.h"
#include "gtest/gtest.h"
#include <set>

using namespace tp;
using namespace tp::test;
using llvm::SmallVector;
using Shape = SmallVector<int64_t>;

namespace {

/// Blocks and a mesh that cuts them `outer` and `inner` ways.
struct Blocks {
  int64_t count, grains, grain, outer, inner;
  Mesh mesh;

  explicit Blocks(std::mt19937 &random)
      : count(1 + random() % 5), grains(1 + random() % 6),
        grain(1 + random() % 3), outer(1 + random() % 4),
        inner(1 + random() % 4), mesh({{"dp", 2}, {"tp", outer * inner}}) {}
  int64_t getSize() const { return count * getBlock(); }
  int64_t getBlock() const { return grains * grain; }
  DimSharding getCut() const {
    AxisList axes;
    if (outer * inner > 1)
      axes.push_back(ref(mesh, "tp"));
    return {axes, grain, false, getBlock(), outer};
  }
};

} // namespace

TEST(Blocks, HeadsOfGroups) {
  // 28 query heads of 4 KV heads over 8 ranks: each has 4 or 3 of one group.
  Mesh mesh({{"tp", 8}});
  DimSharding heads{{ref(mesh, "tp")}, 1, false, 7, 4};
  EXPECT_EQ(getLocalSize(28, heads), 4);
  EXPECT_EQ(getPadding(28, heads), 4);
  EXPECT_EQ(getShardRanges(28, heads, 2, mesh),
            (SmallVector<ShardRange, 1>{{7, 11, 0}}));
  EXPECT_EQ(getShardRanges(28, heads, 3, mesh),
            (SmallVector<ShardRange, 1>{{11, 14, 0}}));
  // 9 of 3 over 2 x 2: the first two ranks have a part of each of two groups.
  Mesh four({{"tp", 4}});
  DimSharding nine{{ref(four, "tp")}, 1, false, 3, 2};
  EXPECT_EQ(getShardRanges(9, nine, 1, four),
            (SmallVector<ShardRange, 1>{{2, 3, 0}, {5, 6, 2}}));
  EXPECT_EQ(getShardRanges(9, nine, 3, four),
            (SmallVector<ShardRange, 1>{{8, 9, 0}}));
  EXPECT_EQ(toString(sharding({heads}), mesh), "[{\"tp\" block 7 by 4}]");
}

TEST(Blocks, EveryPositionIsHeldOnce) {
  std::mt19937 random(reshardSeed);
  for (int i = 0; i < 2000; ++i) {
    Blocks blocks(random);
    DimSharding dim = blocks.getCut();
    TensorSharding plain = sharding({dim});
    ASSERT_EQ(verifySharding({blocks.getSize()}, plain, blocks.mesh), "");
    plain.normalize({blocks.getSize()});
    int64_t local = getLocalSize(blocks.getSize(), dim);
    std::set<int64_t> held;
    for (int64_t index = 0; index < blocks.outer * blocks.inner; ++index)
      for (int64_t at = 0; at < local; ++at) {
        auto position = getLogicalPosition(blocks.getSize(), dim, index, at);
        // Normalising changes nothing but the words.
        ASSERT_EQ(position, getLogicalPosition(blocks.getSize(), plain.dims[0],
                                               index, at));
        if (position)
          ASSERT_TRUE(held.insert(*position).second);
      }
    ASSERT_EQ(int64_t(held.size()), blocks.getSize());
    ASSERT_EQ(getPadding(blocks.getSize(), dim),
              local * blocks.outer * blocks.inner - blocks.getSize());
  }
}

TEST(Blocks, ProjectToHeadsAndBack) {
  // w[(g r d), k] -> q[s, (g r), d] -> o[s, (g r), d], which is [g, r, d] too.
  std::mt19937 random(reshardSeed);
  for (int i = 0; i < 2000; ++i) {
    Blocks blocks(random);
    ShardingRule rule;
    unsigned g = rule.addFactor(blocks.count),
             r = rule.addFactor(blocks.grains),
             d = rule.addFactor(blocks.grain);
    TensorFactors flat{{{g, r, d}}}, heads{{{g, r}, {d}}};
    // Blocks of one element cannot be cut.
    if (blocks.getBlock() == 1)
      continue;
    TensorSharding rows = sharding({blocks.getCut()});
    rows.normalize({blocks.getSize()});
    Projection projection =
        projectToFactors(rule, flat, {blocks.getSize()}, rows);
    ASSERT_TRUE(projection.complete)
        << toString(rows, blocks.mesh) << " of " << blocks.count << " x "
        << blocks.grains << " x " << blocks.grain;
    for (auto [factor, size] : {std::pair(g, blocks.outer), {r, blocks.inner}})
      if (blocks.count > 1 && blocks.grains > 1)
        ASSERT_EQ(getShardCount(projection.factors.axes[factor]), size);
    auto back =
        projectToTensor(rule, flat, {blocks.getSize()}, projection.factors);
    ASSERT_TRUE(back);
    ASSERT_TRUE(sameLayout({blocks.getSize()}, *back, rows));
    Shape shape{blocks.count * blocks.grains, blocks.grain};
    auto split = projectToTensor(rule, heads, shape, projection.factors);
    ASSERT_TRUE(split);
    ASSERT_EQ(getLocalSize(shape[0], split->dims[0]) * blocks.grain,
              getLocalSize(blocks.getSize(), rows.dims[0]));
    // Unless it is said to be a part of blocks, such a product has no sharding.
    FactorShardings outside = projection.factors;
    for (CutForm &form : outside.forms)
      form.isInner = false;
    auto none = projectToTensor(rule, flat, {blocks.getSize()}, outside);
    bool isProduct =
        llvm::any_of(projection.factors.forms,
                     [](const CutForm &form) { return form.isInner; });
    ASSERT_EQ(none.has_value(), !rows.dims[0].hasBlocks() || !isProduct);
  }
}

TEST(Blocks, Reshards) {
  std::mt19937 random(reshardSeed);
  for (int i = 0; i < 600; ++i) {
    Blocks blocks(random);
    AxisRef dp = ref(blocks.mesh, "dp");
    Shape shape{3, blocks.getSize(), 4};
    auto pick = [&] {
      TensorSharding tensor = TensorSharding::replicated(3);
      if (random() % 3 != 0)
        tensor.dims[1] = blocks.getCut();
      else if (random() % 2)
        tensor.dims[random() % 3].axes.push_back(ref(blocks.mesh, "tp"));
      if (random() % 3 == 0)
        tensor.dims[random() % 2 * 2].axes.push_back(dp);
      else if (random() % 2) {
        tensor.partial.push_back(dp);
        if (random() % 3 == 0)
          tensor.reduction = ReductionKind::Max;
      }
      tensor.normalize(shape);
      return tensor;
    };
    TensorSharding from = pick(), to = pick();
    if (verifySharding(shape, from, blocks.mesh) != "" ||
        verifySharding(shape, to, blocks.mesh) != "")
      continue;
    std::vector<double> global(product(shape));
    for (auto [at, value] : llvm::enumerate(global))
      value = double(at + 1);
    constexpr double rubbish = 1e9;
    auto buffers =
        distribute<double>(global, shape, from, blocks.mesh, rubbish);
    int64_t received = 0;
    for (const ReshardStage &stage :
         planReshardStages(shape, from, to, blocks.mesh)) {
      TensorSharding before = stage.from;
      for (const ReshardStep &step : stage.plan.steps) {
        buffers =
            applyStep(buffers, stage.shape, before, step, blocks.mesh, rubbish);
        before = step.result;
      }
      received += stage.plan.elementsReceived;
    }
    ASSERT_FALSE(findReplicaMismatch(buffers, shape, to, blocks.mesh));
    ASSERT_EQ(assemble(buffers, shape, to, blocks.mesh), global);
    ASSERT_EQ(planReshard(shape, from, to, blocks.mesh).elementsReceived,
              received);
  }
}
