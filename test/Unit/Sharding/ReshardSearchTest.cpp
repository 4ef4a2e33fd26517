//===- ReshardSearchTest.cpp - Reshards past the minimal search -----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// If the minimal plan is not searched for, the plan is bounded: each kind of
// search is made to plan every pair of small shardings, in legal steps that
// keep the value, and compared with the minimal one.
//
//===----------------------------------------------------------------------===//

#include "BruteForce.h"
#include "ReshardUtil.h"
#include "TestUtil.h"
#include "gtest/gtest.h"
#include <cstdlib>

using namespace tp;
using namespace tp::test;
using llvm::ArrayRef;
using llvm::SmallVector;
using Search = ReshardPlan::Search;

namespace {

constexpr unsigned seed = reshardSeed;
/// Two searches of 40000 and what the last states look at beyond it.
constexpr int64_t mostWork = 100000;

/// The smallest local tensor on the way.
int64_t getLeastSize(ArrayRef<int64_t> shape, const TensorSharding &from,
                     const ReshardPlan &plan) {
  int64_t least = product(getLocalShape(shape, from));
  for (const ReshardStep &step : plan.steps)
    least = std::min(least, product(getLocalShape(shape, step.result)));
  return least;
}

void checkBounds(const Mesh &mesh, ArrayRef<int64_t> shape,
                 ArrayRef<ReductionKind> kinds = ReductionKind::Sum) {
  SmallVector<SmallVector<int64_t>> ones(shape.size(), SmallVector<int64_t>{1});
  BruteForce judge(mesh, shape, ones, kinds);
  const auto &states = judge.getStates();
  // A random few of many pairs, or all with ALL_PAIRS=1 in the environment.
  constexpr size_t mostPairs = 2000;
  size_t oneOf = std::getenv("ALL_PAIRS")
                     ? 1
                     : 1 + states.size() * states.size() / mostPairs;
  std::mt19937 random(seed);
  for (const TensorSharding &from : states)
    for (const TensorSharding &to : states) {
      if (random() % oneOf)
        continue;
      SCOPED_TRACE(toString(from, mesh) + " -> " + toString(to, mesh));
      ReshardPlan minimal = planReshard(shape, from, to, mesh);
      ASSERT_EQ(minimal.search, Search::Minimal);
      ReshardPlan bySize = planReshard(shape, from, to, mesh, Search::BySize);
      ReshardPlan built =
          planReshard(shape, from, to, mesh, Search::Constructed);
      if (bySize.search == Search::Minimal) {
        ASSERT_EQ(bySize.elementsReceived, minimal.elementsReceived);
        ASSERT_EQ(bySize.getNumCalls(), minimal.getNumCalls());
      } else {
        ASSERT_EQ(bySize.search, Search::BySize);
        ASSERT_LE(bySize.elementsReceived,
                  minimal.elementsReceived + getLeastSize(shape, from, bySize));
      }
      checkConstructed(mesh, shape, from, to, built);
      for (const ReshardPlan *plan : {&bySize, &built}) {
        checkSteps(mesh, shape, from, to, *plan);
        if (from.reduction == to.reduction || !from.isPartial())
          checkValues(mesh, shape, from, to, *plan);
        if (testing::Test::HasFatalFailure())
          return;
      }
    }
}

} // namespace

TEST(ReshardSearch, BoundsOfSmallMeshes) {
  Mesh four({{"x", 4}}), six({{"x", 6}}), twos({{"x", 2}, {"y", 2}}),
      mixed({{"x", 2}, {"y", 3}});
  for (const Mesh &mesh : {four, six, twos, mixed})
    for (const SmallVector<int64_t> &shape :
         std::vector<SmallVector<int64_t>>{{12}, {5}, {4, 6}, {5, 7}})
      checkBounds(mesh, shape);
  checkBounds(Mesh({{"x", 2}, {"y", 4}}), {8, 8});
  checkBounds(twos, {4, 3}, {ReductionKind::Sum, ReductionKind::Max});
}

TEST(ReshardSearch, RandomPairsOfSmallMeshesKeepTheValue) {
  for (unsigned trial = 0; trial < 400; ++trial) {
    std::mt19937 random(seed + trial);
    Mesh mesh = pickMesh(random, 32, trial % 3 == 0);
    SmallVector<int64_t> shape = pickShape(random, 6);
    TensorSharding from = pickSharding(random, shape, mesh),
                   to = pickSharding(random, shape, mesh);
    SCOPED_TRACE("seed " + std::to_string(seed + trial) + ": " +
                 toString(from, mesh) + " -> " + toString(to, mesh));
    for (Search first :
         {Search::Minimal, Search::BySize, Search::Constructed}) {
      ReshardPlan plan = planReshard(shape, from, to, mesh, first);
      checkSteps(mesh, shape, from, to, plan);
      checkValues(mesh, shape, from, to, plan);
      if (first == Search::Constructed)
        checkConstructed(mesh, shape, from, to, plan);
      if (testing::Test::HasFatalFailure())
        return;
    }
  }
}

// Two orders of eight axes of 2 on two dimensions, and twelve.
TEST(ReshardSearch, OrdersOfManyAxes) {
  for (unsigned count : {8u, 12u}) {
    SmallVector<Mesh::Axis> axes;
    for (unsigned i = 0; i < count; ++i)
      axes.push_back({"a" + std::to_string(i), 2});
    Mesh mesh(axes);
    TensorSharding from = TensorSharding::replicated(2), to = from;
    for (unsigned i = 0; i < count; ++i) {
      from.dims[i % 2].axes.push_back(mesh.getWhole(i));
      to.dims[i % 2].axes.push_back(mesh.getWhole(count - 1 - i));
    }
    ReshardPlan plan = planReshard({4096, 4096}, from, to, mesh);
    ASSERT_EQ(plan.steps.size(), 1u);
    EXPECT_EQ(plan.steps[0].kind, CollectiveKind::CollectivePermute);
    EXPECT_LE(plan.work, mostWork);
  }
}

// One axis of 4096 in twelve parts, in the other order.
TEST(ReshardSearch, SubAxesOfOneAxis) {
  Mesh mesh({{"x", 4096}});
  TensorSharding from = sharding({cut({mesh.getWhole(0)})}),
                 to = TensorSharding::replicated(1);
  for (int64_t place = 2048; place >= 1; place /= 2)
    to.dims[0].axes.push_back({0, place, 2});
  ReshardPlan plan = planReshard({8192}, from, to, mesh);
  ASSERT_EQ(plan.steps.size(), 1u);
  EXPECT_EQ(plan.elementsReceived, 2);
}

// 2^84 elements: products stop at the largest number.
TEST(ReshardSearch, ElementsBeyondTheLargestNumber) {
  Mesh mesh({{"x", 4}, {"y", 4}});
  AxisRef x = mesh.getWhole(0), y = mesh.getWhole(1);
  TensorSharding from = sharding({cut({x}), cut({}), cut({y})}),
                 to = sharding({cut({}), cut({y}), cut({})});
  SmallVector<int64_t> shape(3, int64_t(1) << 28);
  for (Search first : {Search::Minimal, Search::BySize, Search::Constructed}) {
    ReshardPlan plan = planReshard(shape, from, to, mesh, first);
    checkSteps(mesh, shape, from, to, plan);
    EXPECT_EQ(plan.elementsReceived, std::numeric_limits<int64_t>::max());
  }
  // One grain of 2^62 on four ranks.
  int64_t size = int64_t(1) << 62;
  EXPECT_EQ(getPadding(size, {{x}, size, false}),
            std::numeric_limits<int64_t>::max() - size);
}
