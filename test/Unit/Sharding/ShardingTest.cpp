//===- ShardingTest.cpp - Layouts, padding, refusals, printed form --------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Local shapes of shardings, which ones are refused and how they print; what
// padding does to reductions; the ring formulae.
//
//===----------------------------------------------------------------------===//

#include "TestUtil.h"
#include "tp/Sharding/Cost.h"
#include "tp/Sharding/Padding.h"
#include "gtest/gtest.h"

using namespace tp;
using namespace tp::test;
using llvm::SmallVector;

TEST(Sharding, UnevenSizesArePadded) {
  Mesh mesh({{"tp", 4}});
  TensorSharding table = sharding({cut({ref(mesh, "tp")}), cut({})});
  EXPECT_EQ(getLocalShape({50257, 768}, table),
            (SmallVector<int64_t>{12565, 768}));
  EXPECT_EQ(getPadding(50257, table.dims[0]), 3);
  EXPECT_EQ(getShardRanges(50257, table.dims[0], 3, mesh),
            (SmallVector<ShardRange, 1>{{37695, 50257, 0}}));
  // 2 over 4: ranks 2 and 3 hold padding alone.
  EXPECT_TRUE(getShardRanges(2, table.dims[0], 3, mesh).empty());
}

TEST(Sharding, GrainKeepsHeadsWhole) {
  Mesh mesh({{"tp", 4}});
  DimSharding heads = cut({ref(mesh, "tp")}, 64);
  // 14 heads of 64 over 4 ranks: 4 heads on each, 2 of padding on the last.
  EXPECT_EQ(getLocalSize(14 * 64, heads), 256);
  EXPECT_EQ(getPadding(14 * 64, heads), 128);
  TensorSharding even = sharding({heads});
  even.normalize({16 * 64});
  EXPECT_EQ(even.dims[0].grain, 1);
  TensorSharding uneven = sharding({heads});
  uneven.normalize({14 * 64});
  EXPECT_EQ(uneven.dims[0].grain, 64);
  EXPECT_FALSE(
      sameLayout({14 * 64}, uneven, sharding({cut({ref(mesh, "tp")})})));
  // Grains of 2 and of 4 cut 12 over 4 at the same places, 1 does not.
  auto cutIn = [&](int64_t grain) {
    return sharding({cut({ref(mesh, "tp")}, grain)});
  };
  EXPECT_TRUE(sameLayout({12}, cutIn(2), cutIn(4)));
  EXPECT_FALSE(sameLayout({12}, cutIn(1), cutIn(4)));
}

TEST(Sharding, OpenAndClosedAreTheSameLayout) {
  TensorSharding open = TensorSharding::replicated(2, /*open=*/true);
  EXPECT_TRUE(open.isOpen());
  EXPECT_FALSE(open.closed().isOpen());
  EXPECT_TRUE(open.sameLayout(TensorSharding::replicated(2)));
  EXPECT_FALSE(open == TensorSharding::replicated(2));
  EXPECT_TRUE(open.isFullyReplicated());
}

TEST(Sharding, NormalizeMergesAndOrders) {
  Mesh mesh({{"x", 2}, {"tp", 4}});
  TensorSharding s =
      sharding({cut({ref(mesh, "tp", 1, 2), ref(mesh, "tp", 2, 2)})},
               {ref(mesh, "x")}, ReductionKind::Max);
  s.normalize({8});
  EXPECT_EQ(toString(s, mesh), "[{\"tp\"}], partial max {\"x\"}");
  TensorSharding whole = sharding({cut({})}, {}, ReductionKind::Max);
  whole.normalize({8});
  EXPECT_EQ(whole, TensorSharding::replicated(1));
}

TEST(Sharding, Prints) {
  Mesh mesh({{"dp", 2}, {"tp", 4}, {"x", 2}});
  TensorSharding s =
      sharding({cut({ref(mesh, "tp", 2, 2)}), cut({}),
                cut({ref(mesh, "dp"), ref(mesh, "tp", 1, 2)}, 64)},
               {ref(mesh, "x")});
  s.dims[1].open = true;
  EXPECT_EQ(toString(s, mesh), "[{\"tp\":(2)2}, {?}, {\"dp\", \"tp\":(1)2 "
                               "grain 64}], partial sum {\"x\"}");
  s.dims[0].open = true;
  s.partial.clear();
  EXPECT_EQ(toString(s, mesh),
            "[{\"tp\":(2)2, ?}, {?}, {\"dp\", \"tp\":(1)2 grain 64}]");
}

TEST(Sharding, Refusals) {
  Mesh mesh({{"dp", 2}, {"tp", 6}});
  AxisRef dp = ref(mesh, "dp"), tp = ref(mesh, "tp");
  auto why = [&](const TensorSharding &s) {
    return verifySharding({12, 10}, s, mesh);
  };
  EXPECT_EQ(why(sharding({cut({dp}), cut({tp})})), "");
  EXPECT_EQ(why(sharding({cut({dp})})),
            "expected a sharding of 2 dimensions, got 1");
  EXPECT_EQ(why(sharding({cut({dp}), cut({dp})})), "axis \"dp\" is used twice");
  EXPECT_EQ(why(sharding({cut({tp}), cut({})}, {{1, 2, 3}})),
            "axes \"tp\" and \"tp\":(2)3 overlap");
  EXPECT_EQ(why(sharding({cut({{1, 1, 2}}), cut({{1, 3, 2}})})),
            "axes \"tp\":(1)2 and \"tp\":(3)2 overlap");
  EXPECT_EQ(why(sharding({cut({{1, 1, 4}}), cut({})})),
            "expected a sub-axis (p)s where p times s divides 6, the size of "
            "the axis, got \"tp\":(1)4");
  EXPECT_EQ(why(sharding({cut({{2, 1, 4}}), cut({})})),
            "expected an axis of the mesh, which has 2, got axis number 2");
  EXPECT_EQ(why(sharding({cut({}), cut({dp}, 4)})),
            "expected a grain that divides the size 10 of dimension 1, got 4");
  auto blocks = [&](int64_t block, int64_t outer) {
    return sharding({cut({}), DimSharding{{tp}, 1, false, block, outer}});
  };
  EXPECT_EQ(why(blocks(3, 2)),
            "expected blocks that divide the size 10 of dimension 1 and are "
            "multiples of the grain 1, got 3");
  EXPECT_EQ(why(blocks(5, 4)),
            "expected the blocks of dimension 1 to be cut by leading axes, of "
            "which no number has 4 shards");
  EXPECT_EQ(why(blocks(5, 2)), "");
}

TEST(Padding, States) {
  EXPECT_EQ(join(PadState::None, PadState::Zero), PadState::Zero);
  EXPECT_EQ(join(PadState::Zero, PadState::Zero), PadState::Zero);
  EXPECT_EQ(join(PadState::Zero, PadState::NegInf), PadState::Anything);
  EXPECT_EQ(join(PadState::Anything, PadState::None), PadState::Anything);
  EXPECT_TRUE(isHarmless(PadState::Zero, ReductionKind::Sum));
  EXPECT_FALSE(isHarmless(PadState::Zero, ReductionKind::Max));
  EXPECT_TRUE(isHarmless(PadState::NegInf, ReductionKind::Max));
  EXPECT_TRUE(isHarmless(PadState::PosInf, ReductionKind::Min));
  EXPECT_TRUE(isHarmless(PadState::None, ReductionKind::Min));
  EXPECT_FALSE(isHarmless(PadState::Anything, ReductionKind::Sum));
}

TEST(Cost, Rings) {
  int64_t mib = 1 << 20, d = 16 * mib;
  EXPECT_EQ(getTraffic(CollectiveKind::AllReduce, d, 8), 28 * mib);
  EXPECT_EQ(getTraffic(CollectiveKind::AllGather, d, 8), 14 * mib);
  EXPECT_EQ(getTraffic(CollectiveKind::ReduceScatter, d, 8), 14 * mib);
  EXPECT_EQ(getTraffic(CollectiveKind::AllToAll, d, 8), 7 * mib / 4);
  EXPECT_EQ(getTraffic(CollectiveKind::CollectivePermute, d, 8), d);
  for (const tprt::CollectiveRow &row : tprt::collectiveRows) {
    CollectiveKind kind = row.kind;
    EXPECT_EQ(getTraffic(kind, d, 1), 0);
    EXPECT_EQ(getRingHops(kind, 1), 0);
  }
  EXPECT_EQ(getRingHops(CollectiveKind::AllReduce, 8), 14);
}
