//===- ReshardSearchTest.cpp - Reshards past the minimal search -----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the minimal plan is not searched for, the plan is bounded: each kind of
// search is made to plan every pair of small shardings and compared with the
// minimal one. Random pairs on meshes of up to 12 axes and 4096 ranks must be
// planned within the budget, in legal steps that keep the value.
//
//===----------------------------------------------------------------------===//

#include "BruteForce.h"
#include "TestUtil.h"
#include "tp/Sharding/Simulate.h"
#include "gtest/gtest.h"
#include <random>

using namespace tp;
using namespace tp::test;
using llvm::ArrayRef;
using llvm::SmallVector;
using Search = ReshardPlan::Search;

namespace {

constexpr unsigned seed = 20261122;
/// Two searches of 40000 and what the last states look at beyond it.
constexpr int64_t mostWork = 100000;

int64_t product(ArrayRef<int64_t> sizes) {
  int64_t elements = 1;
  for (int64_t size : sizes)
    elements *= size;
  return elements;
}

/// Distinct values through the steps of `plan`, with rubbish in the padding.
void checkValues(const Mesh &mesh, ArrayRef<int64_t> shape,
                 const TensorSharding &from, const TensorSharding &to,
                 const ReshardPlan &plan) {
  std::vector<double> global(product(shape));
  for (auto [i, value] : llvm::enumerate(global))
    value = double(i + 1);
  constexpr double rubbish = 1e9;
  auto buffers = distribute<double>(global, shape, from, mesh, rubbish);
  const TensorSharding *before = &from;
  for (const ReshardStep &step : plan.steps) {
    buffers = applyStep(buffers, shape, *before, step, mesh, rubbish);
    before = &step.result;
  }
  ASSERT_FALSE(findReplicaMismatch(buffers, shape, to, mesh));
  ASSERT_EQ(assemble(buffers, shape, to, mesh), global);
}

/// Every step is well-formed, and what is received adds up.
void checkSteps(const Mesh &mesh, ArrayRef<int64_t> shape,
                const TensorSharding &from, const TensorSharding &to,
                const ReshardPlan &plan) {
  int64_t received = 0;
  const TensorSharding *before = &from;
  for (const ReshardStep &step : plan.steps) {
    ASSERT_EQ(verifySharding(shape, step.result, mesh), "");
    received += getElementsReceived(shape, *before, step, mesh);
    if (step.kind == ReshardStepKind::CollectivePermute) {
      ASSERT_EQ(step.pairs, getPermutePairs(*before, step.result, mesh));
      ASSERT_EQ(getLocalShape(shape, *before),
                getLocalShape(shape, step.result));
    }
    before = &step.result;
  }
  ASSERT_TRUE(sameLayout(shape, *before, to));
  ASSERT_EQ(received, plan.elementsReceived);
}

/// The smallest local tensor on the way.
int64_t getLeastSize(ArrayRef<int64_t> shape, const TensorSharding &from,
                     const ReshardPlan &plan) {
  int64_t least = product(getLocalShape(shape, from));
  for (const ReshardStep &step : plan.steps)
    least = std::min(least, product(getLocalShape(shape, step.result)));
  return least;
}

/// Two local tensors for the addends (in whole parts), and the tensor with the
/// dimensions that change made whole, padding included.
int64_t getWholeBound(ArrayRef<int64_t> shape, const TensorSharding &from,
                      const TensorSharding &to) {
  SmallVector<int64_t> whole = getLocalShape(shape, from);
  int64_t addends = getShardCount(from.partial),
          reduce = 2 * (product(whole) + addends);
  for (unsigned dim = 0; dim < shape.size(); ++dim)
    if (from.dims[dim] != to.dims[dim])
      whole[dim] *= getShardCount(from.dims[dim].axes);
  return reduce + product(whole);
}

/// A lower bound: what some rank must hold and does not.
int64_t getLack(const Mesh &mesh, ArrayRef<int64_t> shape,
                const TensorSharding &from, const TensorSharding &to) {
  int64_t most = 0;
  for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank) {
    int64_t needs = 1, has = 1;
    for (unsigned dim = 0; dim < shape.size(); ++dim) {
      auto [a, b] = getShardRange(shape[dim], from.dims[dim], rank, mesh);
      auto [c, d] = getShardRange(shape[dim], to.dims[dim], rank, mesh);
      needs *= d - c;
      has *= std::max<int64_t>(0, std::min(b, d) - std::max(a, c));
    }
    most = std::max(most, needs - has);
  }
  return most;
}

void checkBounds(const Mesh &mesh, ArrayRef<int64_t> shape,
                 ArrayRef<ReductionKind> kinds = ReductionKind::Sum) {
  SmallVector<SmallVector<int64_t>> ones(shape.size(), SmallVector<int64_t>{1});
  BruteForce judge(mesh, shape, ones, kinds);
  const auto &states = judge.getStates();
  for (const TensorSharding &from : states)
    for (const TensorSharding &to : states) {
      SCOPED_TRACE(toString(from, mesh) + " -> " + toString(to, mesh));
      ReshardPlan minimal = planReshard(shape, from, to, mesh);
      ASSERT_EQ(minimal.search, Search::Minimal);
      ReshardPlan bySize = planReshard(shape, from, to, mesh, Search::BySize);
      ReshardPlan whole =
          planReshard(shape, from, to, mesh, Search::Constructed);
      if (bySize.search == Search::Minimal) {
        ASSERT_EQ(bySize.elementsReceived, minimal.elementsReceived);
        ASSERT_EQ(bySize.getNumCalls(), minimal.getNumCalls());
      } else {
        ASSERT_EQ(bySize.search, Search::BySize);
        ASSERT_LE(bySize.elementsReceived,
                  minimal.elementsReceived + getLeastSize(shape, from, bySize));
      }
      ASSERT_LE(whole.elementsReceived, getWholeBound(shape, from, to));
      for (const ReshardPlan *plan : {&bySize, &whole}) {
        checkSteps(mesh, shape, from, to, *plan);
        if (from.reduction == to.reduction || !from.isPartial())
          checkValues(mesh, shape, from, to, *plan);
        if (testing::Test::HasFatalFailure())
          return;
      }
    }
}

/// A random axis in parts: primes in a random order, some of them together.
AxisList pickParts(std::mt19937 &random, unsigned axis, int64_t size) {
  SmallVector<int64_t> primes;
  for (int64_t prime = 2; prime <= size;) {
    if (size % prime == 0) {
      primes.push_back(prime);
      size /= prime;
    } else {
      ++prime;
    }
  }
  if (random() % 2)
    llvm::shuffle(primes.begin(), primes.end(), random);
  AxisList parts;
  unsigned joins = random() % 3;
  int64_t place = 1;
  for (int64_t prime : primes) {
    if (!parts.empty() && random() % 2 < joins)
      parts.back().size *= prime;
    else
      parts.push_back({axis, place, prime});
    place *= prime;
  }
  return parts;
}

TensorSharding pickSharding(std::mt19937 &random, ArrayRef<int64_t> shape,
                            const Mesh &mesh) {
  AxisList parts;
  for (unsigned axis = 0; axis < mesh.getNumAxes(); ++axis)
    parts.append(pickParts(random, axis, mesh.getAxis(axis).size));
  llvm::shuffle(parts.begin(), parts.end(), random);
  TensorSharding result = TensorSharding::replicated(shape.size());
  bool mayBePartial = random() % 3 == 0;
  for (const AxisRef &part : parts) {
    unsigned place = random() % (shape.size() * 4);
    if (place == 0)
      continue;
    if (place == 1 && mayBePartial)
      result.partial.push_back(part);
    else
      result.dims[place % shape.size()].axes.push_back(part);
  }
  result.reduction = ReductionKind(random() % 2);
  for (auto [dim, size] : llvm::zip_equal(result.dims, shape))
    if (random() % 8 == 0 && size % 4 == 0)
      dim.grain = 4;
  result.normalize(shape);
  return result;
}

Mesh pickMesh(std::mt19937 &random, int64_t ranks) {
  SmallVector<Mesh::Axis> axes;
  unsigned count = 1 + random() % 12;
  bool isTwos = random() % 3 == 0;
  while (axes.size() < count && ranks >= 2) {
    int64_t size = isTwos ? 2 : 2 + random() % (random() % 2 ? 5 : ranks);
    size = std::min(size, ranks);
    axes.push_back({"a" + std::to_string(axes.size()), size});
    ranks /= size;
  }
  return Mesh(axes);
}

SmallVector<int64_t> pickShape(std::mt19937 &random, int64_t most) {
  SmallVector<int64_t> shape(1 + random() % 4);
  for (int64_t &size : shape)
    size = random() % 2 ? most : 1 + random() % most;
  return shape;
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
    Mesh mesh = pickMesh(random, 32);
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
      if (testing::Test::HasFatalFailure())
        return;
    }
  }
}

TEST(ReshardSearch, RandomPairsOfLargeMeshesStayWithinTheBudget) {
  int64_t counts[3] = {};
  for (unsigned trial = 0; trial < 300; ++trial) {
    std::mt19937 random(seed + trial);
    Mesh mesh = pickMesh(random, 4096);
    SmallVector<int64_t> shape = pickShape(random, 4096);
    TensorSharding from = pickSharding(random, shape, mesh),
                   to = pickSharding(random, shape, mesh);
    SCOPED_TRACE("seed " + std::to_string(seed + trial) + ": " +
                 toString(from, mesh) + " -> " + toString(to, mesh));
    ReshardPlan plan = planReshard(shape, from, to, mesh);
    ++counts[unsigned(plan.search)];
    ASSERT_LE(plan.work, mostWork);
    checkSteps(mesh, shape, from, to, plan);
    if (!from.isPartial() && !to.isPartial())
      ASSERT_GE(plan.elementsReceived, getLack(mesh, shape, from, to));
    if (plan.search == Search::Constructed)
      ASSERT_LE(plan.elementsReceived, getWholeBound(shape, from, to));
    if (testing::Test::HasFatalFailure())
      return;
  }
  printf("minimal %lld, by size %lld, through the whole %lld\n",
         (long long)counts[0], (long long)counts[1], (long long)counts[2]);
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
    EXPECT_EQ(plan.steps[0].kind, ReshardStepKind::CollectivePermute);
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
