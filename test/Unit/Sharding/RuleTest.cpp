//===- RuleTest.cpp - Projection between tensors and factors --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules of a linear layer, of attention with shared KV heads and of reshapes;
// even, uneven and grained cuts; what is refused. A property test projects
// random shardings to factors and back.
//
//===----------------------------------------------------------------------===//

#include "tp/Sharding/Rule.h"
#include "TestUtil.h"
#include "gtest/gtest.h"
#include <random>

using namespace tp;
using namespace tp::test;
using llvm::SmallVector;
using Shape = SmallVector<int64_t>;

namespace {

/// x[b, s, k], w[n, k] -> y[b, s, n].
struct LinearRule {
  ShardingRule rule;
  unsigned b, s, n, k;
  explicit LinearRule(int64_t grain = 1, int64_t size = 16) {
    b = rule.addFactor(2, FactorKind::Parallel, "b");
    s = rule.addFactor(8, FactorKind::Parallel, "s");
    n = rule.addFactor(size, FactorKind::Parallel, "n", grain);
    k = rule.addFactor(12, FactorKind::Reduction, "k");
    rule.operands = {{{{b}, {s}, {k}}}, {{{n}, {k}}}};
    rule.results = {{{{b}, {s}, {n}}}};
    rule.linearity = {Linearity::Multilinear, Linearity::Multilinear};
  }
};

/// q[b, s, (g r), d], k[b, t, g, d] -> o[b, s, (g r), d].
struct AttentionRule {
  ShardingRule rule;
  unsigned b, s, t, g, r, d;
  AttentionRule(int64_t kvHeads, int64_t queriesPerHead) {
    b = rule.addFactor(1);
    s = rule.addFactor(8);
    t = rule.addFactor(8, FactorKind::Whole);
    g = rule.addFactor(kvHeads, FactorKind::Parallel, "kv heads");
    r = rule.addFactor(queriesPerHead, FactorKind::Parallel, "queries");
    d = rule.addFactor(64, FactorKind::Whole);
    rule.operands = {{{{b}, {s}, {g, r}, {d}}}, {{{b}, {t}, {g}, {d}}}};
    rule.results = {{{{b}, {s}, {g, r}, {d}}}};
    rule.linearity = {Linearity::None, Linearity::None};
  }
};

} // namespace

TEST(Rule, LinearColumnAndRow) {
  Mesh mesh({{"dp", 2}, {"tp", 4}});
  AxisRef tp = ref(mesh, "tp"), dp = ref(mesh, "dp");
  LinearRule linear;
  EXPECT_EQ(verifyRule(linear.rule, {{2, 8, 12}, {16, 12}}, {{2, 8, 16}}), "");
  // Column: the weight's n is cut, so is the result's; nothing is partial.
  Projection column =
      projectToFactors(linear.rule, linear.rule.operands[1], {16, 12},
                       sharding({cut({tp}), cut({})}));
  EXPECT_TRUE(column.complete);
  EXPECT_EQ(column.factors.axes[linear.n], AxisList{tp});
  EXPECT_TRUE(getPartialAxes(linear.rule, column.factors).empty());
  EXPECT_EQ(*projectToTensor(linear.rule, linear.rule.results[0], {2, 8, 16},
                             column.factors),
            sharding({cut({}), cut({}), cut({tp})}));
  // Row: the contraction is cut, the result is partial.
  Projection row =
      projectToFactors(linear.rule, linear.rule.operands[0], {2, 8, 12},
                       sharding({cut({dp}), cut({}), cut({tp})}));
  EXPECT_EQ(getPartialAxes(linear.rule, row.factors), AxisList{tp});
  EXPECT_EQ(*projectToTensor(linear.rule, linear.rule.operands[1], {16, 12},
                             row.factors),
            sharding({cut({}), cut({tp})}));
  EXPECT_EQ(*projectToTensor(linear.rule, linear.rule.results[0], {2, 8, 16},
                             row.factors),
            sharding({cut({dp}), cut({}), cut({})}));
}

TEST(Rule, SixteenRanksShareEightKVHeads) {
  Mesh mesh({{"tp", 16}});
  AttentionRule attention(/*kvHeads=*/8, /*queriesPerHead=*/4);
  ASSERT_EQ(verifyRule(attention.rule, {{1, 8, 32, 64}, {1, 8, 8, 64}},
                       {{1, 8, 32, 64}}),
            "");
  Projection q = projectToFactors(
      attention.rule, attention.rule.operands[0], {1, 8, 32, 64},
      sharding({cut({}), cut({}), cut({ref(mesh, "tp")}), cut({})}));
  EXPECT_TRUE(q.complete);
  EXPECT_EQ(mesh.getName(q.factors.axes[attention.g]), "\"tp\":(1)8");
  EXPECT_EQ(mesh.getName(q.factors.axes[attention.r]), "\"tp\":(8)2");
  // K is cut on the major 8: two neighbouring ranks hold each KV head.
  EXPECT_EQ(
      toString(*projectToTensor(attention.rule, attention.rule.operands[1],
                                {1, 8, 8, 64}, q.factors),
               mesh),
      "[{}, {}, {\"tp\":(1)8}, {}]");
  EXPECT_EQ(toString(*projectToTensor(attention.rule, attention.rule.results[0],
                                      {1, 8, 32, 64}, q.factors),
                     mesh),
            "[{}, {}, {\"tp\"}, {}]");
}

TEST(Rule, FourteenHeadsOnSevenRanksDoNotFit) {
  Mesh mesh({{"tp", 7}});
  AttentionRule attention(/*kvHeads=*/2, /*queriesPerHead=*/7);
  Projection q = projectToFactors(
      attention.rule, attention.rule.operands[0], {1, 8, 14, 64},
      sharding({cut({}), cut({}), cut({ref(mesh, "tp")}), cut({})}));
  EXPECT_FALSE(q.complete);
  EXPECT_EQ(q.misfit, 2u);
  EXPECT_TRUE(q.factors.axes[attention.g].empty());
  EXPECT_TRUE(q.factors.axes[attention.r].empty());
  // At 14 every rank has one query head, seven of them one KV head.
  Mesh mesh14({{"tp", 14}});
  q = projectToFactors(
      attention.rule, attention.rule.operands[0], {1, 8, 14, 64},
      sharding({cut({}), cut({}), cut({ref(mesh14, "tp")}), cut({})}));
  EXPECT_TRUE(q.complete);
  EXPECT_EQ(mesh14.getName(q.factors.axes[attention.g]), "\"tp\":(1)2");
}

TEST(Rule, LeadingPartIsKeptWhereTheRestDoesNotFit) {
  // 6 KV heads on 4 ranks: halves of the heads fit, quarters do not.
  Mesh mesh({{"tp", 4}});
  AttentionRule attention(/*kvHeads=*/6, /*queriesPerHead=*/2);
  Projection q = projectToFactors(
      attention.rule, attention.rule.operands[0], {1, 8, 12, 64},
      sharding({cut({}), cut({}), cut({ref(mesh, "tp")}), cut({})}));
  EXPECT_FALSE(q.complete);
  EXPECT_EQ(mesh.getName(q.factors.axes[attention.g]), "\"tp\":(1)2");
}

TEST(Rule, HeadsExpandAndCollapse) {
  Mesh mesh({{"tp", 4}});
  ShardingRule rule;
  unsigned b = rule.addFactor(2), h = rule.addFactor(14, FactorKind::Parallel),
           d = rule.addFactor(64);
  rule.operands = {{{{b}, {h, d}}}};
  rule.results = {{{{b}, {h}, {d}}}};
  rule.linearity = {Linearity::Multilinear};
  ASSERT_EQ(verifyRule(rule, {{2, 896}}, {{2, 14, 64}}), "");
  // 14 heads over 4, whole heads: 256 columns, 4 heads.
  Projection whole =
      projectToFactors(rule, rule.operands[0], {2, 896},
                       sharding({cut({}), cut({ref(mesh, "tp")}, 64)}));
  EXPECT_TRUE(whole.complete);
  EXPECT_EQ(toString(*projectToTensor(rule, rule.results[0], {2, 14, 64},
                                      whole.factors),
                     mesh),
            "[{}, {\"tp\"}, {}]");
  EXPECT_EQ(toString(*projectToTensor(rule, rule.operands[0], {2, 896},
                                      whole.factors),
                     mesh),
            "[{}, {\"tp\" grain 64}]");
  // Without the grain, 224 columns cut a head in two: halves still fit.
  Projection torn =
      projectToFactors(rule, rule.operands[0], {2, 896},
                       sharding({cut({}), cut({ref(mesh, "tp")})}));
  EXPECT_FALSE(torn.complete);
  EXPECT_EQ(torn.misfit, 1u);
  EXPECT_EQ(mesh.getName(torn.factors.axes[h]), "\"tp\":(1)2");
  // Cutting d within uncut heads is no contiguous cut of (h d).
  FactorShardings minorOnly(rule.factors.size());
  minorOnly.axes[d] = {ref(mesh, "tp")};
  EXPECT_FALSE(projectToTensor(rule, rule.operands[0], {2, 896}, minorOnly));
  // 7 over all heads of (h 7)(d 64), then 2 of d.
  Mesh mesh14({{"x", 14}, {"y", 2}});
  FactorShardings both(rule.factors.size());
  both.axes[h] = {ref(mesh14, "x")};
  both.axes[d] = {ref(mesh14, "y")};
  EXPECT_EQ(toString(*projectToTensor(rule, rule.operands[0], {2, 896}, both),
                     mesh14),
            "[{}, {\"x\", \"y\"}]");
  // An uneven cut below another factor would not be contiguous either.
  Mesh mesh3({{"x", 14}, {"y", 3}});
  both.axes[h] = {ref(mesh3, "x")};
  both.axes[d] = {ref(mesh3, "y")};
  EXPECT_FALSE(projectToTensor(rule, rule.operands[0], {2, 896}, both));
}

TEST(Rule, GrainsPassThroughALinearLayerThatKnowsNoHeads) {
  Mesh mesh({{"tp", 4}});
  LinearRule linear(/*grain=*/1, /*size=*/14 * 64);
  Projection column =
      projectToFactors(linear.rule, linear.rule.operands[1], {896, 12},
                       sharding({cut({ref(mesh, "tp")}, 64), cut({})}));
  EXPECT_TRUE(column.complete);
  EXPECT_EQ(column.factors.forms[linear.n].grain, 64);
  EXPECT_EQ(toString(*projectToTensor(linear.rule, linear.rule.results[0],
                                      {2, 8, 896}, column.factors),
                     mesh),
            "[{}, {}, {\"tp\" grain 64}]");
}

TEST(Rule, FactorGrains) {
  Mesh mesh({{"tp", 4}});
  LinearRule linear(/*grain=*/4, /*size=*/12);
  // 12 in grains of 4 over 4: three ranks have 4, one has none; not [3, 3, 3,
  // 3].
  Projection torn =
      projectToFactors(linear.rule, linear.rule.operands[1], {12, 12},
                       sharding({cut({ref(mesh, "tp")}), cut({})}));
  EXPECT_FALSE(torn.complete);
  // The column cut of 3 ranks fits.
  Mesh mesh3({{"tp", 3}});
  Projection fits =
      projectToFactors(linear.rule, linear.rule.operands[1], {12, 12},
                       sharding({cut({ref(mesh3, "tp")}), cut({})}));
  EXPECT_TRUE(fits.complete);
  EXPECT_EQ(fits.factors.axes[linear.n], AxisList{ref(mesh3, "tp")});
  // 5 grains over 4, in the rule's own grain.
  LinearRule five(/*grain=*/4, /*size=*/20);
  Projection uneven =
      projectToFactors(five.rule, five.rule.operands[1], {20, 12},
                       sharding({cut({ref(mesh, "tp")}, 4), cut({})}));
  EXPECT_TRUE(uneven.complete);
  EXPECT_EQ(toString(*projectToTensor(five.rule, five.rule.results[0],
                                      {2, 8, 20}, uneven.factors),
                     mesh),
            "[{}, {}, {\"tp\" grain 4}]");
}

TEST(Rule, CanShard) {
  Mesh mesh({{"tp", 4}, {"one", 1}});
  Factor factor;
  factor.size = 7;
  EXPECT_TRUE(canShard(factor, {ref(mesh, "tp")})); // uneven
  factor.size = 3;
  EXPECT_TRUE(canShard(factor, {ref(mesh, "tp")})); // the last one is empty
  factor.size = 8;
  factor.kind = FactorKind::Whole;
  EXPECT_FALSE(canShard(factor, {ref(mesh, "tp")}));
  EXPECT_TRUE(canShard(factor, {ref(mesh, "one")}));
  EXPECT_TRUE(canShard(factor, {}));
}

TEST(Rule, WholeFactorsTakeNoAxes) {
  Mesh mesh({{"tp", 2}});
  AttentionRule attention(8, 4);
  Projection d = projectToFactors(
      attention.rule, attention.rule.operands[1], {1, 8, 8, 64},
      sharding({cut({}), cut({}), cut({}), cut({ref(mesh, "tp")})}));
  EXPECT_FALSE(d.complete);
  EXPECT_EQ(d.misfit, 3u);
  EXPECT_EQ(d.factors, FactorShardings(attention.rule.factors.size()));
}

// logits[r, (s t)] -> records[s, r], with 131 columns in 3 blocks.
TEST(Rule, ShortBlocks) {
  Mesh mesh({{"x", 2}, {"tp", 3}});
  auto make = [](int64_t size, int64_t blocks, int64_t block) {
    ShardingRule rule;
    unsigned r = rule.addFactor(4), s = rule.addFactor(blocks),
             t = rule.addFactor(block, FactorKind::Whole);
    rule.factors[t].total = size;
    rule.operands = {{{{r}, {s, t}}}};
    rule.results = {{{{s}, {r}}}};
    rule.linearity = {Linearity::None};
    return rule;
  };
  ShardingRule rule = make(131, 3, 44);
  EXPECT_EQ(verifyRule(rule, {{4, 131}}, {{3, 4}}), "");
  EXPECT_EQ(verifyRule(rule, {{4, 132}}, {{3, 4}}),
            "operand 0 dimension 1: expected size 131, the product of its "
            "factors, got 132");
  EXPECT_EQ(verifyRule(make(131, 3, 45), {{4, 131}}, {{3, 4}}),
            "operand 0 dimension 1: expected short blocks to be whole, the "
            "minor factor of two, and as long as shards of 131");
  EXPECT_EQ(getRuleShape(rule, rule.operands[0]),
            (SmallVector<int64_t>{4, 131}));

  // All blocks are cut apart: both ways.
  TensorSharding cutBy = sharding({cut({}), cut({ref(mesh, "tp")})});
  Projection projection =
      projectToFactors(rule, rule.operands[0], {4, 131}, cutBy);
  EXPECT_TRUE(projection.complete);
  EXPECT_EQ(projection.factors.axes[1], AxisList{ref(mesh, "tp")});
  EXPECT_EQ(
      projectToTensor(rule, rule.operands[0], {4, 131}, projection.factors),
      cutBy);
  EXPECT_EQ(projectToTensor(rule, rule.results[0], {3, 4}, projection.factors),
            sharding({cut({ref(mesh, "tp")}), cut({})}));

  // 2 shards of 66 are not 2 blocks and 1; 6 shards are none.
  TensorSharding half = sharding({cut({}), cut({ref(mesh, "x")})});
  projection = projectToFactors(rule, rule.operands[0], {4, 131}, half);
  EXPECT_FALSE(projection.complete);
  EXPECT_TRUE(projection.factors.axes[1].empty());
  FactorShardings factors(3);
  factors.axes[1] = {ref(mesh, "x")};
  EXPECT_FALSE(
      projectToTensor(rule, rule.operands[0], {4, 131}, factors).has_value());
  TensorSharding most =
      sharding({cut({}), cut({ref(mesh, "x"), ref(mesh, "tp")})});
  EXPECT_FALSE(
      projectToFactors(rule, rule.operands[0], {4, 131}, most).complete);
  // 10 of 4 blocks of 3: 2 shards of 5 cut a block. 11 of 4: 2 of 6 do not.
  rule = make(10, 4, 3);
  EXPECT_FALSE(
      projectToFactors(rule, rule.operands[0], {4, 10}, half).complete);
  rule = make(11, 4, 3);
  EXPECT_TRUE(projectToFactors(rule, rule.operands[0], {4, 11}, half).complete);
}

// A dimension whose shards are as many blocks each comes back the same, and
// each rank's columns are those of its blocks.
TEST(Rule, ShortBlocksRoundTrip) {
  int complete = 0;
  for (int64_t size = 1; size <= 60; ++size)
    for (int64_t blocks = 1; blocks <= 12; ++blocks)
      for (int64_t shards = 1; shards <= 12; ++shards) {
        Mesh mesh({{"tp", shards}});
        ShardingRule rule;
        unsigned s = rule.addFactor(blocks),
                 t = rule.addFactor((size + blocks - 1) / blocks,
                                    FactorKind::Whole);
        rule.factors[t].total = size;
        TensorFactors tensor{{{s, t}}};
        SmallVector<AxisRef> axes;
        if (shards > 1)
          axes.push_back(ref(mesh, "tp"));
        TensorSharding before = sharding({cut(axes)});
        Projection projection = projectToFactors(rule, tensor, {size}, before);
        int64_t perShard = (blocks + shards - 1) / shards;
        bool fits = shards <= blocks && perShard * rule.factors[t].size ==
                                            (size + shards - 1) / shards;
        ASSERT_EQ(projection.complete, fits || shards == 1)
            << size << " " << blocks << " " << shards;
        if (!projection.complete)
          continue;
        ++complete;
        auto after = projectToTensor(rule, tensor, {size}, projection.factors);
        ASSERT_TRUE(after && sameLayout({size}, before, *after));
      }
  EXPECT_GT(complete, 1000);
}

TEST(Rule, IllFormed) {
  LinearRule linear;
  EXPECT_EQ(verifyRule(linear.rule, {{2, 8, 12}, {16, 12}}, {{2, 8, 15}}),
            "result 0 dimension 2: expected size 16, the product of its "
            "factors, got 15");
  EXPECT_EQ(verifyRule(linear.rule, {{2, 8, 12}}, {{2, 8, 16}}),
            "expected a rule of 1 operands and 1 results, got 2 and 1");
  EXPECT_EQ(verifyRule(linear.rule, {{2, 8, 12}, {16, 12}}, {{16, 16}}),
            "result 0: expected factors of 2 dimensions, got 3");
  ShardingRule rule = linear.rule;
  rule.factors[linear.k].kind = FactorKind::Parallel;
  EXPECT_EQ(verifyRule(rule, {{2, 8, 12}, {16, 12}}, {{2, 8, 16}}),
            "factor 3 is parallel but is in no result: what is summed away is "
            "a reduction, what must not be cut is whole");
  rule = linear.rule;
  rule.factors[linear.n].kind = FactorKind::Reduction;
  EXPECT_EQ(verifyRule(rule, {{2, 8, 12}, {16, 12}}, {{2, 8, 16}}),
            "factor 2 is a reduction but is in a result");
  rule = linear.rule;
  rule.factors[linear.n].grain = 5;
  EXPECT_EQ(verifyRule(rule, {{2, 8, 12}, {16, 12}}, {{2, 8, 16}}),
            "factor 2: expected a grain that divides 16, got 5");
  rule = linear.rule;
  rule.linearity.pop_back();
  EXPECT_EQ(verifyRule(rule, {{2, 8, 12}, {16, 12}}, {{2, 8, 16}}),
            "expected the linearity of 2 operands, got 1");
  ShardingRule diagonal;
  unsigned i = diagonal.addFactor(4);
  diagonal.operands = {{{{i}, {i}}}};
  diagonal.results = {{{{i}}}};
  diagonal.linearity = {Linearity::None};
  EXPECT_EQ(verifyRule(diagonal, {{4, 4}}, {{4}}),
            "operand 0 dimension 1: factor 0 is in one tensor twice, which "
            "only a whole factor may be");
}

/// x[b, h], dy[b, h], old[h] -> dx[b, h], dw[h]: the backward of a scale.
static ShardingRule makeScaleBackward() {
  ShardingRule rule;
  unsigned b = rule.addFactor(6), h = rule.addFactor(8);
  TensorFactors wide{{{b}, {h}}}, narrow{{{h}}};
  rule.operands = {wide, wide, narrow};
  rule.results = {wide, narrow};
  rule.linearity = {Linearity::None, Linearity::Multilinear,
                    Linearity::Additive};
  return rule;
}

TEST(Rule, AParallelFactorMissingFromOneResultIsSummedThere) {
  Mesh mesh({{"x", 2}, {"y", 2}});
  AxisRef x = mesh.getWhole(0), y = mesh.getWhole(1);
  ShardingRule rule = makeScaleBackward();
  SmallVector<SmallVector<int64_t>> in{{6, 8}, {6, 8}, {8}}, out{{6, 8}, {8}};
  EXPECT_EQ(verifyRule(rule, in, out), "");
  EXPECT_TRUE(isSummedIn(rule, 0, 1));
  EXPECT_FALSE(isSummedIn(rule, 0, 0));
  EXPECT_FALSE(isSummedIn(rule, 1, 1));
  EXPECT_TRUE(isReduced(rule, 0));
  EXPECT_FALSE(isReduced(rule, 1));
  FactorShardings factors(2);
  factors.axes[0] = {x};
  factors.axes[1] = {y};
  EXPECT_TRUE(getPartialAxes(rule, factors).empty());
  EXPECT_TRUE(getOwnPartialAxes(rule, factors, 0).empty());
  EXPECT_EQ(getOwnPartialAxes(rule, factors, 1), AxisList{x});
  EXPECT_EQ(getOwnPartialAxes(rule, factors), AxisList{x});
  // A factor of size one has nothing to sum; a maximum has no place beside a
  // sum.
  rule.factors[0].reduction = ReductionKind::Max;
  EXPECT_EQ(verifyRule(rule, in, out),
            "factor 0 is summed in result 1, beside which factor 0 must be "
            "summed too");
}

TEST(Rule, MergeAndRestrict) {
  Mesh mesh({{"x", 2}, {"tp", 8}});
  AxisRef x = ref(mesh, "x"), tp = ref(mesh, "tp");
  EXPECT_EQ(mergeFactorAxes({x}, {x, tp}), (AxisList{x, tp}));
  EXPECT_EQ(mergeFactorAxes({}, {tp}), AxisList{tp});
  EXPECT_EQ(mergeFactorAxes({tp}, {ref(mesh, "tp", 1, 2)}), AxisList{tp});
  EXPECT_FALSE(mergeFactorAxes({x}, {tp}));
  EXPECT_FALSE(mergeFactorAxes({tp, x}, {x, tp}));
  EXPECT_EQ(restrictToAvailable({x, tp}, {tp}), AxisList{x});
  EXPECT_EQ(restrictToAvailable({x, tp}, {x}), AxisList{});
  EXPECT_EQ(restrictToAvailable({tp}, {ref(mesh, "tp", 4, 2)}),
            (AxisList{ref(mesh, "tp", 1, 4)}));
  EXPECT_EQ(restrictToAvailable({tp, x}, {}), (AxisList{tp, x}));
}

// A layout that projects completely to factors comes back as the same layout.
TEST(Rule, ProjectionRoundTrip) {
  unsigned seed = 20261121;
  std::mt19937 random(seed);
  auto pick = [&](int n) { return int(random() % n); };
  Mesh mesh({{"x", 2}, {"tp", 12}});
  SmallVector<AxisList> lists = {
      {},
      {ref(mesh, "x")},
      {ref(mesh, "tp")},
      {ref(mesh, "x"), ref(mesh, "tp")},
      {ref(mesh, "tp"), ref(mesh, "x")},
      {ref(mesh, "tp", 1, 4)},
      {ref(mesh, "tp", 4, 3), ref(mesh, "x")},
      {ref(mesh, "tp", 6, 2), ref(mesh, "tp", 1, 6)},
  };
  int complete = 0, incomplete = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    ShardingRule rule;
    TensorFactors tensor;
    tensor.dims.resize(1);
    int64_t size = 1;
    int count = 1 + pick(3);
    for (int i = 0; i < count; ++i) {
      int64_t factorSize = 1 + pick(12);
      int64_t grain = factorSize % 2 == 0 && pick(3) == 0 ? 2 : 1;
      tensor.dims[0].push_back(rule.addFactor(
          factorSize, pick(8) ? FactorKind::Parallel : FactorKind::Whole, "",
          grain));
      size *= factorSize;
    }
    SmallVector<int64_t> divisors;
    for (int64_t grain = 1; grain <= size; ++grain)
      if (size % grain == 0)
        divisors.push_back(grain);
    TensorSharding before = sharding(
        {cut(lists[pick(lists.size())], divisors[pick(divisors.size())])});
    ASSERT_EQ(verifySharding({size}, before, mesh), "");
    Projection projection = projectToFactors(rule, tensor, {size}, before);
    // The part that was kept of an incomplete one is a sharding of its own.
    auto after = projectToTensor(rule, tensor, {size}, projection.factors);
    ASSERT_TRUE(after) << "seed " << seed << " trial " << trial;
    for (auto [f, axes] : llvm::enumerate(projection.factors.axes))
      EXPECT_TRUE(canShard(rule.factors[f], axes))
          << "seed " << seed << " trial " << trial;
    if (!projection.complete) {
      ++incomplete;
      EXPECT_TRUE(isPrefix(after->dims[0].axes, before.dims[0].axes))
          << "seed " << seed << " trial " << trial;
      continue;
    }
    ++complete;
    EXPECT_TRUE(sameLayout({size}, before, *after))
        << "seed " << seed << " trial " << trial << ": size " << size << ", "
        << toString(before, mesh) << " became " << toString(*after, mesh);
  }
  EXPECT_GT(complete, 2000);
  EXPECT_GT(incomplete, 2000);
}
