//===- ReshardTest.cpp - Every pair of shardings of small tensors ---------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The planner against the brute-force search on cost, and its steps against
// the values: source buffers with random addends and rubbish in the padding
// elements, taken through the steps, must assemble to the same global value
// with all copies equal. Then the cases that people ask for, as text.
//
//===----------------------------------------------------------------------===//

#include "BruteForce.h"
#include "Simulate.h"
#include "TestUtil.h"
#include "gtest/gtest.h"
#include <chrono>
#include <cstdlib>
#include <random>

using namespace tp;
using namespace tp::test;
using llvm::ArrayRef;
using llvm::SmallVector;
using Shape = SmallVector<int64_t>;

namespace {

constexpr unsigned seed = 20261121;

std::string describe(const Mesh &mesh, const ReshardStep &step) {
  std::string text(step.getRow().id);
  if (step.kind == CollectiveKind::AllToAll)
    text +=
        " " + std::to_string(step.dim) + "->" + std::to_string(step.splitDim);
  else if (step.dim >= 0)
    text += " " + std::to_string(step.dim);
  return text + " " + mesh.getName(step.axes);
}

std::string describe(const Mesh &mesh, const ReshardPlan &plan) {
  std::string text;
  for (const ReshardStep &step : plan.steps)
    text += (text.empty() ? "" : "; ") + describe(mesh, step);
  return text;
}

struct Totals {
  int64_t pairs = 0, padded = 0;
  int64_t rows[numCollectiveKinds] = {};
  double planning = 0;

  ~Totals() {
    printf("%lld pairs (%lld with padding), %.1f us a plan; rows:",
           (long long)pairs, (long long)padded, 1e6 * planning / pairs);
    for (unsigned i = 0; i < numCollectiveKinds; ++i)
      printf(" %s %lld", collectiveRows[i].id.data(), (long long)rows[i]);
    printf("\n");
  }
};

/// Take a value through the steps of `plan`.
void checkValues(const Mesh &mesh, ArrayRef<int64_t> shape,
                 const TensorSharding &from, const TensorSharding &to,
                 const ReshardPlan &plan, std::mt19937 &random) {
  int64_t elements = 1;
  for (int64_t size : shape)
    elements *= size;
  std::vector<int64_t> global(elements);
  for (int64_t i = 0; i < elements; ++i)
    global[i] = 100 + i;
  auto split = [&](int64_t value, llvm::MutableArrayRef<int64_t> addends) {
    int64_t last = random() % addends.size();
    for (int64_t &addend : addends)
      addend = from.reduction == ReductionKind::Sum
                   ? int64_t(random() % 50)
                   : value + (from.reduction == ReductionKind::Max ? -1 : 1) *
                                 int64_t(random() % 50);
    addends[last] = value;
    if (from.reduction == ReductionKind::Sum)
      for (size_t i = 0; i < addends.size(); ++i)
        addends[last] -= int64_t(i) == last ? 0 : addends[i];
  };
  constexpr int64_t rubbish = 1000003;
  RankBuffers<int64_t> buffers =
      distribute<int64_t>(global, shape, from, mesh, rubbish, split);
  const TensorSharding *before = &from;
  for (const ReshardStep &step : plan.steps) {
    ASSERT_EQ(verifySharding(shape, step.result, mesh), "");
    buffers = applyStep(buffers, shape, *before, step, mesh, rubbish);
    before = &step.result;
    int64_t local = 1;
    for (int64_t size : getLocalShape(shape, step.result))
      local *= size;
    for (const auto &buffer : buffers)
      ASSERT_EQ(int64_t(buffer.size()), local);
  }
  ASSERT_TRUE(sameLayout(shape, *before, to));
  ASSERT_FALSE(findReplicaMismatch(buffers, shape, to, mesh));
  ASSERT_EQ(assemble(buffers, shape, to, mesh), global);
}

/// Pairs of one mesh and shape that are checked: all of them, or a random few
/// of more. ALL_PAIRS=1 in the environment checks every pair.
constexpr size_t mostPairs = 2500;

void checkAllPairs(const Mesh &mesh, ArrayRef<int64_t> shape, Totals &totals,
                   ArrayRef<ReductionKind> kinds = ReductionKind::Sum,
                   ArrayRef<SmallVector<int64_t>> grains = {}) {
  std::mt19937 random(seed);
  SmallVector<SmallVector<int64_t>> ones(shape.size(), SmallVector<int64_t>{1});
  BruteForce judge(mesh, shape, grains.empty() ? ArrayRef(ones) : grains,
                   kinds);
  const auto &states = judge.getStates();
  size_t oneOf = std::getenv("ALL_PAIRS")
                     ? 1
                     : 1 + states.size() * states.size() / mostPairs;
  for (unsigned from = 0; from < states.size(); ++from)
    for (unsigned to = 0; to < states.size(); ++to) {
      if (random() % oneOf)
        continue;
      auto start = std::chrono::steady_clock::now();
      ReshardPlan plan = planReshard(shape, states[from], states[to], mesh);
      totals.planning += std::chrono::duration<double>(
                             std::chrono::steady_clock::now() - start)
                             .count();
      ++totals.pairs;
      for (unsigned dim = 0; dim < shape.size(); ++dim)
        if (getPadding(shape[dim], states[from].dims[dim]) ||
            getPadding(shape[dim], states[to].dims[dim])) {
          ++totals.padded;
          break;
        }
      for (const ReshardStep &step : plan.steps)
        ++totals.rows[unsigned(step.kind)];
      JudgedCost judged = judge.getCost(from, to);
      JudgedCost planned{plan.elementsReceived, plan.getNumCalls()};
      SCOPED_TRACE(toString(states[from], mesh) + " -> " +
                   toString(states[to], mesh) + ": " + describe(mesh, plan) +
                   " (seed " + std::to_string(seed) + ")");
      ASSERT_EQ(planned, judged);
      ASSERT_EQ(plan.steps.empty(), from == to);
      checkValues(mesh, shape, states[from], states[to], plan, random);
      if (testing::Test::HasFatalFailure())
        return;
    }
}

class AllPairs : public testing::Test {
protected:
  static Totals &totals() {
    static Totals all;
    return all;
  }
  void check(const Mesh &mesh, ArrayRef<SmallVector<int64_t>> shapes) {
    for (ArrayRef<int64_t> shape : shapes)
      checkAllPairs(mesh, shape, totals());
  }
};

} // namespace

TEST_F(AllPairs, OneAxis) {
  check(Mesh({{"x", 2}}), {{4}, {3}, {1}, {4, 6}, {3, 5}, {2, 3, 4}});
  check(Mesh({{"x", 3}}), {{6}, {4}, {6, 9}, {4, 5}});
}

TEST_F(AllPairs, SubAxes) {
  check(Mesh({{"x", 4}}),
        {{8}, {5}, {2}, {8, 4}, {5, 8}, {3, 7}, {2, 2}, {4, 8, 4}});
  check(Mesh({{"x", 8}}), {{16}, {11}, {8, 16}, {9, 8}});
}

TEST_F(AllPairs, SubAxesThatDoNotNest) {
  check(Mesh({{"x", 6}}), {{12}, {7}, {6, 12}, {5, 6}});
}

TEST_F(AllPairs, TwoAxes) {
  check(Mesh({{"x", 2}, {"y", 2}}),
        {{8}, {5}, {4, 8}, {5, 6}, {3, 7}, {1, 4}, {2, 4, 4}, {3, 4, 5}});
  check(Mesh({{"x", 2}, {"y", 3}}), {{12}, {7}, {6, 6}, {5, 7}});
  check(Mesh({{"x", 3}, {"y", 3}}), {{9, 9}, {5, 6}});
  check(Mesh({{"x", 2}, {"y", 4}}), {{8, 8}, {9, 16}, {5, 7}});
  check(Mesh({{"x", 4}, {"y", 2}}), {{8, 8}, {10, 6}});
}

TEST_F(AllPairs, DeviceOrder) {
  check(Mesh({{"x", 4}}, {2, 0, 3, 1}), {{8, 4}, {5, 3}});
  check(Mesh({{"x", 2}, {"y", 2}}, {3, 1, 0, 2}), {{4, 4}, {5, 3}});
  check(Mesh({{"x", 2}, {"y", 4}}, {7, 6, 5, 4, 0, 2, 1, 3}), {{8, 9}});
}

TEST_F(AllPairs, Reductions) {
  ReductionKind kinds[] = {ReductionKind::Sum, ReductionKind::Max,
                           ReductionKind::Min};
  checkAllPairs(Mesh({{"x", 2}, {"y", 2}}), {4, 3}, totals(), kinds);
  checkAllPairs(Mesh({{"x", 4}}), {5, 4}, totals(), kinds);
}

TEST_F(AllPairs, Grains) {
  SmallVector<int64_t> heads{1, 4}, widths{1, 2, 6}, plain{1};
  checkAllPairs(Mesh({{"x", 2}, {"y", 2}}), {12, 4}, totals(),
                ReductionKind::Sum, {heads, plain});
  checkAllPairs(Mesh({{"x", 4}}), {20, 6}, totals(), ReductionKind::Sum,
                {heads, plain});
  checkAllPairs(Mesh({{"x", 2}, {"y", 2}}), {12, 18}, totals(),
                ReductionKind::Sum, {heads, widths});
}

// On its own, so that it holds however the tests are divided among processes.
TEST_F(AllPairs, EveryRowIsUsed) {
  Totals covered;
  checkAllPairs(Mesh({{"x", 2}, {"y", 2}}), {5, 6}, covered);
  for (unsigned i = 0; i < numCollectiveKinds; ++i)
    EXPECT_GT(covered.rows[i], 0) << collectiveRows[i].id;
  EXPECT_GT(covered.padded, 0);
}
