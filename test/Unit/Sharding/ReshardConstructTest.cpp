//===- ReshardConstructTest.cpp - Reshards that no search reaches ---------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pairs drawn at random on meshes of up to 12 axes and 4096 ranks: planned
// within the budget, in legal steps, within the bound. On evenly cut tensors
// the constructed plan is also compared with the minimum where it is known, and
// with what some rank must receive: half of its result unless steps are local.
//
//===----------------------------------------------------------------------===//

#include "ReshardUtil.h"
#include "TestUtil.h"
#include "gtest/gtest.h"
#include <chrono>

using namespace tp;
using namespace tp::test;
using llvm::SmallVector;
using Search = ReshardPlan::Search;

namespace {

/// Two searches of 40000 and what the last states look at beyond it.
constexpr int64_t mostWork = 100000;

struct Pair {
  Mesh mesh;
  SmallVector<int64_t> shape;
  TensorSharding from, to;

  Pair(unsigned seed, int64_t ranks, int64_t size, bool isTwos, bool isEven) {
    std::mt19937 random(seed);
    mesh = pickMesh(random, ranks, isTwos);
    shape = pickShape(random, size);
    from = pickSharding(random, shape, mesh);
    to = pickSharding(random, shape, mesh);
    if (!isEven)
      return;
    shape = getEvenShape(from, to);
    for (TensorSharding *sharding : {&from, &to}) {
      for (DimSharding &dim : sharding->dims)
        dim.grain = 1;
      sharding->normalize(shape);
    }
  }
  std::string getText(unsigned seed) const {
    return "seed " + std::to_string(seed) + ": " + toString(from, mesh) +
           " -> " + toString(to, mesh);
  }
  int64_t getTargetSize() const { return product(getLocalShape(shape, to)); }
};

/// True if all places at which the two cut an axis nest.
bool doCutsNest(const Pair &pair) {
  AxisList all = pair.from.getUsedAxes();
  all.append(pair.to.getUsedAxes());
  for (const AxisRef &a : all)
    for (const AxisRef &b : all)
      for (int64_t x : {a.pre, a.pre * a.size})
        for (int64_t y : {b.pre, b.pre * b.size})
          if (a.axis == b.axis && x < y && y % x != 0)
            return false;
  return true;
}

void planRandomPairs(bool isTwos, bool isEven, unsigned trials) {
  int64_t counts[3] = {};
  double worst = 0, slowest = 0;
  for (unsigned trial = 0; trial < trials; ++trial) {
    unsigned seed = reshardSeed + trial;
    Pair pair(seed, 4096, 4096, isTwos, isEven);
    auto &[mesh, shape, from, to] = pair;
    SCOPED_TRACE(pair.getText(seed));
    auto start = std::chrono::steady_clock::now();
    ReshardPlan plan = planReshard(shape, from, to, mesh);
    std::chrono::duration<double, std::milli> time =
        std::chrono::steady_clock::now() - start;
    slowest = std::max(slowest, time.count());
    ++counts[unsigned(plan.search)];
    ASSERT_LE(plan.work, mostWork);
    // Remembered or planned anew, it is the same.
    ReshardPlan again = planReshard(shape, from, to, mesh);
    ASSERT_EQ(again.elementsReceived, plan.elementsReceived);
    ASSERT_EQ(again.steps.size(), plan.steps.size());
    for (auto [x, y] : llvm::zip_equal(plan.steps, again.steps))
      ASSERT_TRUE(x.kind == y.kind && x.result == y.result);
    checkSteps(mesh, shape, from, to, plan);
    if (plan.search == Search::Constructed)
      checkConstructed(mesh, shape, from, to, plan);
    if (testing::Test::HasFatalFailure())
      return;
    if (from.isPartial() || to.isPartial())
      continue;
    int64_t remaining = getRemaining(mesh, shape, from, to);
    ASSERT_GE(plan.elementsReceived, remaining);
    ASSERT_TRUE(remaining > 0 || plan.getNumCalls() == 0 || !isEven);
    if (isEven && remaining > 0 && doCutsNest(pair))
      ASSERT_GE(2 * remaining, pair.getTargetSize());
    if (plan.search == Search::Constructed && remaining > 0)
      worst = std::max(worst, double(plan.elementsReceived) / remaining);
  }
  printf("minimal %lld, by size %lld, constructed %lld (at most %.1f times the "
         "lower bound), slowest %.0f ms\n",
         (long long)counts[0], (long long)counts[1], (long long)counts[2],
         worst, slowest);
}

} // namespace

TEST(ReshardConstruct, RandomPairsOfLargeMeshes) {
  planRandomPairs(/*isTwos=*/false, /*isEven=*/false, 150);
  planRandomPairs(/*isTwos=*/true, /*isEven=*/false, 150);
}

TEST(ReshardConstruct, RandomEvenPairsOfLargeMeshes) {
  planRandomPairs(/*isTwos=*/false, /*isEven=*/true, 150);
  planRandomPairs(/*isTwos=*/true, /*isEven=*/true, 150);
}

// The search keeps parts together that neither end cuts apart, so a plan made
// of primes may even be cheaper than its minimum.
TEST(ReshardConstruct, RandomPairsAgainstTheMinimum) {
  for (bool isTwos : {false, true}) {
    double worst = 0;
    int64_t dearer = 0, known = 0;
    for (unsigned trial = 0; trial < 300; ++trial) {
      unsigned seed = reshardSeed + trial;
      Pair pair(seed, 64, 64, isTwos, /*isEven=*/true);
      auto &[mesh, shape, from, to] = pair;
      SCOPED_TRACE(pair.getText(seed));
      ReshardPlan built =
          planReshard(shape, from, to, mesh, Search::Constructed);
      checkSteps(mesh, shape, from, to, built);
      checkConstructed(mesh, shape, from, to, built);
      if (trial % 10 == 0)
        checkValues(mesh, shape, from, to, built);
      if (testing::Test::HasFatalFailure())
        return;
      ReshardPlan best = planReshard(shape, from, to, mesh);
      if (best.search != Search::Minimal)
        continue;
      ++known;
      dearer += built.elementsReceived > best.elementsReceived;
      ASSERT_TRUE(best.elementsReceived > 0 || built.elementsReceived == 0);
      if (best.elementsReceived > 0)
        worst = std::max(worst, double(built.elementsReceived) /
                                    best.elementsReceived);
    }
    printf("dearer than the minimum %lld of %lld, at most %.2f times\n",
           (long long)dearer, (long long)known, worst);
  }
}

// The part to move is not last: a permute brings it there, and gives the names.
TEST(ReshardConstruct, BringsPartsToTheEnd) {
  Mesh mesh({{"x", 2}, {"y", 3}});
  AxisRef x = mesh.getWhole(0), y = mesh.getWhole(1);
  TensorSharding from = sharding({cut({x, y}), cut({})}),
                 to = sharding({cut({y}), cut({x})});
  ReshardPlan plan = planReshard({6, 6}, from, to, mesh, Search::Constructed);
  ASSERT_EQ(plan.steps.size(), 2u);
  EXPECT_EQ(plan.steps[0].kind, CollectiveKind::CollectivePermute);
  EXPECT_EQ(plan.steps[0].result, sharding({cut({y, x}), cut({})}));
  EXPECT_EQ(plan.steps[1].kind, CollectiveKind::AllToAll);
  EXPECT_EQ(plan.elementsReceived, 6 + 3);
}

// Addends under other names are permuted, not reduced.
TEST(ReshardConstruct, RenamesAddends) {
  Mesh mesh({{"x", 2}, {"y", 2}});
  TensorSharding from = sharding({cut({mesh.getWhole(1)})}),
                 to = sharding({cut({mesh.getWhole(0)})});
  from.partial = {mesh.getWhole(0)};
  to.partial = {mesh.getWhole(1)};
  ReshardPlan plan = planReshard({4}, from, to, mesh, Search::Constructed);
  ASSERT_EQ(plan.steps.size(), 1u);
  EXPECT_EQ(plan.steps[0].kind, CollectiveKind::CollectivePermute);
}

// A plan does not depend on how many orders of axes there are.
TEST(ReshardConstruct, ManyDimensionsAndAxes) {
  SmallVector<Mesh::Axis> axes;
  for (unsigned i = 0; i < 12; ++i)
    axes.push_back({"a" + std::to_string(i), 2});
  Mesh mesh(axes);
  TensorSharding from = TensorSharding::replicated(40), to = from;
  for (unsigned i = 0; i < 12; ++i) {
    from.dims[i].axes = {mesh.getWhole(i)};
    to.dims[39 - i].axes = {mesh.getWhole(i)};
  }
  SmallVector<int64_t> shape(40, 2);
  ReshardPlan plan = planReshard(shape, from, to, mesh);
  EXPECT_EQ(plan.search, Search::Constructed);
  checkSteps(mesh, shape, from, to, plan);
  checkConstructed(mesh, shape, from, to, plan);
}
