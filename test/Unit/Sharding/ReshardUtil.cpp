//===- ReshardUtil.cpp - Random reshards and what a plan must keep --------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step is a row of the table if the axis lists before and after it differ by
// its own axes in its own dimensions, and the parts make up the whole.
//
//===----------------------------------------------------------------------===//

#include "ReshardUtil.h"
#include "Simulate.h"
#include "gtest/gtest.h"
#include <numeric>
#include <set>

using namespace tp;
using namespace tp::test;
using llvm::ArrayRef;
using llvm::SmallVector;

int64_t test::product(ArrayRef<int64_t> sizes) {
  int64_t elements = 1;
  for (int64_t size : sizes)
    elements *= size;
  return elements;
}

void test::checkValues(const Mesh &mesh, ArrayRef<int64_t> shape,
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

/// True if `fine` is cut in parts that make up `coarse`, or its first shard.
static void checkParts(int64_t size, const DimSharding &coarse,
                       const DimSharding &fine, ArrayRef<AxisRef> axes) {
  AxisList both = coarse.axes;
  both.append(axes.begin(), axes.end());
  ASSERT_EQ(canonicalize(both), fine.axes);
  int64_t whole = getLocalSize(size, coarse),
          parts = getLocalSize(size, fine) * getShardCount(axes);
  ASSERT_TRUE(parts == whole || (whole >= size && parts >= size));
}

static void checkRow(const Mesh &mesh, ArrayRef<int64_t> shape,
                     const TensorSharding &before, const ReshardStep &step) {
  const TensorSharding &after = step.result;
  const CollectiveRow &row = step.getRow();
  int64_t coarser = step.getGatheredDim(), finer = step.getCutDim();
  if (row.permutes()) {
    ASSERT_EQ(step.pairs, getPermutePairs(before, after, mesh));
    ASSERT_EQ(getLocalShape(shape, before), getLocalShape(shape, after));
    for (auto [a, b] : llvm::zip_equal(before.dims, after.dims))
      ASSERT_EQ(getShardCount(a.axes), getShardCount(b.axes));
    ASSERT_EQ(getShardCount(before.partial), getShardCount(after.partial));
    return;
  }
  TensorSharding x = before, y = after;
  if (row.from == Holding::Replicated)
    ASSERT_FALSE(overlap(step.axes, before.getUsedAxes()));
  if (row.to == Holding::Partial)
    x.partial.append(step.axes);
  if (row.reduces()) {
    y.partial.append(step.axes);
    ASSERT_TRUE(!after.isPartial() || after.reduction == before.reduction);
  }
  x.normalize(shape);
  y.normalize(shape);
  ASSERT_EQ(x.partial, y.partial);
  for (int64_t dim = 0; dim < int64_t(shape.size()); ++dim) {
    if (dim == finer)
      checkParts(shape[dim], before.dims[dim], after.dims[dim], step.axes);
    else if (dim == coarser)
      checkParts(shape[dim], after.dims[dim], before.dims[dim], step.axes);
    else
      ASSERT_EQ(before.dims[dim], after.dims[dim]);
  }
}

void test::checkSteps(const Mesh &mesh, ArrayRef<int64_t> shape,
                      const TensorSharding &from, const TensorSharding &to,
                      const ReshardPlan &plan) {
  int64_t received = 0;
  const TensorSharding *before = &from;
  for (const ReshardStep &step : plan.steps) {
    ASSERT_EQ(verifySharding(shape, step.result, mesh), "");
    // Counts stop at the largest number.
    if (__builtin_add_overflow(received,
                               getElementsReceived(shape, *before, step, mesh),
                               &received))
      received = std::numeric_limits<int64_t>::max();
    checkRow(mesh, shape, *before, step);
    if (testing::Test::HasFatalFailure())
      return;
    before = &step.result;
  }
  ASSERT_TRUE(sameLayout(shape, *before, to));
  ASSERT_EQ(received, plan.elementsReceived);
}

int64_t test::getRemaining(const Mesh &mesh, ArrayRef<int64_t> shape,
                           const TensorSharding &from,
                           const TensorSharding &to) {
  int64_t most = 0;
  for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank) {
    int64_t needs = 1, has = 1;
    for (unsigned dim = 0; dim < shape.size(); ++dim) {
      auto before = getShardRanges(shape[dim], from.dims[dim], rank, mesh);
      auto after = getShardRanges(shape[dim], to.dims[dim], rank, mesh);
      int64_t wanted = 0, common = 0;
      for (const ShardRange &a : after) {
        wanted += a.end - a.begin;
        for (const ShardRange &b : before)
          common += std::max<int64_t>(0, std::min(a.end, b.end) -
                                             std::max(a.begin, b.begin));
      }
      needs *= wanted;
      has *= common;
    }
    most = std::max(most, needs - has);
  }
  return most;
}

static int64_t countPrimes(const TensorSharding &a, const TensorSharding &b) {
  std::set<int64_t> primes;
  for (const TensorSharding *sharding : {&a, &b})
    for (const AxisRef &ref : sharding->getUsedAxes())
      for (int64_t prime = 2, rest = ref.size; rest > 1; ++prime)
        for (; rest % prime == 0; rest /= prime)
          primes.insert(prime);
  return primes.size();
}

void test::checkConstructed(const Mesh &mesh, ArrayRef<int64_t> shape,
                            const TensorSharding &from,
                            const TensorSharding &to, const ReshardPlan &plan) {
  int64_t rank = shape.size(), primes = countPrimes(from, to), largest = 1;
  bool isEven = true;
  for (auto [size, a, b] : llvm::zip_equal(shape, from.dims, to.dims)) {
    int64_t before = getLocalSize(size, a), after = getLocalSize(size, b);
    bool isSame = a.axes == b.axes && before == after;
    isSame |= getShardCount(a.axes) == getShardCount(b.axes) && before == after;
    bool isEvenDim = isSame || (!getPadding(size, a) && !getPadding(size, b));
    isEven &= isEvenDim;
    largest *= isEvenDim
                   ? std::max(before, after)
                   : size + std::max(getPadding(size, a), getPadding(size, b));
  }
  // Every step receives at most that, an all-reduce twice.
  const TensorSharding *before = &from;
  for (const ReshardStep &step : plan.steps) {
    int64_t most = largest;
    if (step.getRow().ring == tprt::Ring::Twice)
      most = 2 * (largest + getShardCount(step.axes));
    ASSERT_LE(getElementsReceived(shape, *before, step, mesh), most);
    before = &step.result;
  }
  int64_t factor = primes <= 1 ? rank + 1 : primes * rank + 2;
  ASSERT_LE(plan.getNumCalls(), factor + 3 * rank + 1);
  if (!isEven)
    return;
  int64_t target = product(getLocalShape(shape, to)), addends = 0;
  if (from.isPartial())
    addends = product(getLocalShape(shape, from)) +
              2 * (target + getShardCount(from.partial));
  ASSERT_LE(plan.elementsReceived, factor * target + addends);
}

/// A random axis in parts: primes in a random order, some of them together.
static AxisList pickParts(std::mt19937 &random, unsigned axis, int64_t size) {
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

TensorSharding test::pickSharding(std::mt19937 &random, ArrayRef<int64_t> shape,
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

Mesh test::pickMesh(std::mt19937 &random, int64_t ranks, bool isTwos) {
  SmallVector<Mesh::Axis> axes;
  unsigned count = 1 + random() % 12;
  while (axes.size() < count && ranks >= 2) {
    int64_t size = isTwos ? 2 : 2 + random() % (random() % 2 ? 5 : ranks);
    size = std::min(size, ranks);
    axes.push_back({"a" + std::to_string(axes.size()), size});
    ranks /= size;
  }
  return Mesh(axes);
}

SmallVector<int64_t> test::pickShape(std::mt19937 &random, int64_t most) {
  SmallVector<int64_t> shape(1 + random() % 4);
  for (int64_t &size : shape)
    size = random() % 2 ? most : 1 + random() % most;
  return shape;
}

SmallVector<int64_t> test::getEvenShape(const TensorSharding &from,
                                        const TensorSharding &to) {
  SmallVector<int64_t> shape;
  for (auto [a, b] : llvm::zip_equal(from.dims, to.dims))
    shape.push_back(std::lcm(getShardCount(a.axes), getShardCount(b.axes)));
  return shape;
}
