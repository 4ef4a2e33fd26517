//===- CostModelTest.cpp - Seconds of kernels and collectives -------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Cost/CostModel.h"

#include "tp/Sharding/Cost.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace tp;

static Profile read(llvm::StringRef name) {
  std::optional<Profile> profile = readProfile(
      name, [](const llvm::Twine &problem) { ADD_FAILURE() << problem.str(); });
  return profile.value_or(Profile());
}

/// Returns the span of the groups along `axes` with 8 ranks on a node.
static Span spanOf(llvm::ArrayRef<AxisRef> axes, const Mesh &mesh) {
  return getSpan(axes, mesh, 8);
}

TEST(CostModel, Spans) {
  Mesh tp8({{"tp", 8}}), tp16({{"tp", 16}}), four({{"dp", 4}, {"tp", 2}}),
      two({{"dp", 2}, {"tp", 8}}), threes({{"dp", 8}, {"tp", 3}});
  EXPECT_EQ(spanOf(tp8.getWhole(0), tp8), (Span{8, 1, 8}));
  EXPECT_EQ(spanOf(tp16.getWhole(0), tp16), (Span{16, 2, 8}));
  EXPECT_EQ(spanOf(four.getWhole(1), four), (Span{2, 1, 2}));
  EXPECT_EQ(spanOf(two.getWhole(0), two), (Span{2, 2, 1}));
  EXPECT_EQ(spanOf({two.getWhole(0), two.getWhole(1)}, two), (Span{16, 2, 8}));
  // 16 ranks on 8 KV heads: neighbours share one, and the groups of heads span
  // the nodes.
  EXPECT_EQ(spanOf(AxisRef{0, 8, 2}, tp16), (Span{2, 1, 2}));
  EXPECT_EQ(spanOf(AxisRef{0, 1, 8}, tp16), (Span{8, 2, 4}));
  // Groups of three do not end where a node ends.
  EXPECT_EQ(spanOf(threes.getWhole(1), threes), (Span{3, 2, 1}));
}

// An all-reduce is a start, 2 (N-1) alpha and 2 (N-1)/N D/beta.
TEST(CostModel, Rings) {
  Profile h100 = read("h100");
  const Link &link = h100.links[0];
  int64_t bytes = int64_t(16) << 20;
  for (int64_t ranks : {1, 2, 3, 8}) {
    Mesh mesh({{"tp", ranks}});
    CostModel model(h100, mesh);
    double expected = ranks == 1
                          ? 0
                          : link.start + 2 * double(ranks - 1) * link.alpha +
                                2 * double(ranks - 1) / double(ranks) *
                                    double(bytes) / link.getSpeed();
    EXPECT_NEAR(
        model.getCollective(getRingHops(CollectiveKind::AllReduce, ranks),
                            getTraffic(CollectiveKind::AllReduce, bytes, ranks),
                            mesh.getWhole(0)),
        expected, 1e-9);
  }
}

TEST(CostModel, Nodes) {
  Profile h100 = read("h100");
  Mesh inside({{"tp", 8}}), across({{"tp", 16}}), alone({{"dp", 2}, {"tp", 8}});
  int64_t gigabyte = 1000000000;
  double one =
      CostModel(h100, inside).getCollective(14, gigabyte, inside.getWhole(0));
  double two =
      CostModel(h100, across).getCollective(30, gigabyte, across.getWhole(0));
  double pair =
      CostModel(h100, alone).getCollective(2, gigabyte, alone.getWhole(0));
  EXPECT_LT(one, two);
  EXPECT_LT(two, pair);
  // Eight adapters together, which are no faster than the link within a node.
  EXPECT_NEAR(
      two - h100.links[0].start - 30 * h100.links[1].alpha,
      1e9 / std::min(h100.links[0].getSpeed(), 8 * h100.links[1].getSpeed()),
      1e-9);
  h100.links.pop_back();
  EXPECT_TRUE(std::isinf(
      CostModel(h100, across).getCollective(30, 1, across.getWhole(0))));
}

// The model is within a fifth of published times of NCCL's all-reduce on H100,
// but for 2 and 4 MB on 6 devices. The profile's latency is made of the
// smallest of them; its bandwidth is the data sheet's.
TEST(CostModel, PublishedAllReduces) {
  Profile h100 = read("h100");
  struct Row {
    int64_t ranks;
    double megabytes, published;
  } rows[] = {{4, 0.5, 21e-6}, {4, 1, 23e-6},   {4, 2, 28e-6},
              {4, 4, 39e-6},   {6, 0.5, 23e-6}, {6, 1, 25e-6},
              {6, 2, 43e-6},   {6, 4, 53e-6},   {8, 0.008, 21.8e-6}};
  int numFar = 0;
  for (const Row &row : rows) {
    Mesh mesh({{"tp", row.ranks}});
    double time =
        CostModel(h100, mesh)
            .getCollective(getRingHops(CollectiveKind::AllReduce, row.ranks),
                           getTraffic(CollectiveKind::AllReduce,
                                      int64_t(row.megabytes * 1e6), row.ranks),
                           mesh.getWhole(0));
    double error = time / row.published - 1;
    EXPECT_LT(std::abs(error), 0.35) << row.ranks << " " << row.megabytes;
    numFar += std::abs(error) > 0.2;
  }
  EXPECT_EQ(numFar, 2);
}

TEST(CostModel, Kernels) {
  Profile h100 = read("h100");
  CostModel model(h100, Mesh({{"tp", 2}}));
  KernelWork work;
  work.kernel = "gemm";
  work.type = "bf16";
  work.isProduct = true;
  work.rows = 2048;
  work.flops = 2e12;
  work.bytes = 1 << 20;
  KernelSeconds product = model.getKernel(work);
  EXPECT_NEAR(product.arithmetic, 2e12 / (989.4e12 * 0.7), 1e-9);
  EXPECT_NEAR(product.getTotal(), product.arithmetic + h100.kernelSeconds,
              1e-12);
  // As many operations in another kernel take longer.
  work.kernel = "rows";
  work.isProduct = false;
  EXPECT_GT(model.getKernel(work).arithmetic, 10 * product.arithmetic);
  // Ranks that share a device have a part of it.
  double alone = model.getKernel(work).arithmetic;
  h100.isShared = true;
  EXPECT_DOUBLE_EQ(model.getKernel(work).arithmetic, 2 * alone);
}

TEST(CostModel, FewRowsReachLess) {
  Profile profile = read("h100");
  EXPECT_EQ(profile.getRowEfficiency(1), 1);
  profile.rows = {{16, 0.25}, {64, 0.5}, {256, 1}};
  EXPECT_EQ(profile.getRowEfficiency(1), 0.25);
  EXPECT_EQ(profile.getRowEfficiency(16), 0.25);
  EXPECT_NEAR(profile.getRowEfficiency(32), 0.375, 1e-12);
  EXPECT_EQ(profile.getRowEfficiency(64), 0.5);
  EXPECT_EQ(profile.getRowEfficiency(4096), 1);
}

TEST(Clock, KernelsBesideCollectives) {
  Clock clock(0.5);
  clock.run(1);
  EXPECT_EQ(clock.start(2), 2); // from 1 to 3
  clock.run(0.5);               // at half its speed
  EXPECT_EQ(clock.getNow(), 2);
  clock.run(1); // half of it until 3, the rest at full speed
  EXPECT_EQ(clock.getNow(), 3.5);
  EXPECT_EQ(clock.wait(2), 0);
  EXPECT_EQ(clock.start(1), 3);
  EXPECT_EQ(clock.start(1), 4); // after the one before
  EXPECT_EQ(clock.getEnd(), 5.5);
  EXPECT_EQ(clock.wait(4), 2);
  EXPECT_EQ(clock.getNow(), 5.5);
}

TEST(Clock, CollectivesBesideKernels) {
  Clock clock(0.5, 0.25);
  double first = clock.start(1), second = clock.start(1);
  clock.run(1); // until 2, when the link has done half a second
  EXPECT_EQ(clock.getNow(), 2);
  EXPECT_EQ(clock.wait(first), 0.5);
  EXPECT_EQ(clock.getNow(), 2.5);
  clock.run(3); // at half its speed until 6.5, when the link is done
  EXPECT_EQ(clock.getNow(), 7.5);
  EXPECT_EQ(clock.wait(second), 0);
  double never = clock.start(HUGE_VAL);
  clock.run(1);
  EXPECT_EQ(clock.wait(never), HUGE_VAL);
  EXPECT_EQ(clock.wait(never), HUGE_VAL);
}
