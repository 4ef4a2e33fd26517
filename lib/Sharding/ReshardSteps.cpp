//===- ReshardSteps.cpp - Rows of the reshard table, one by one -----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The name of a single step, what it receives and sends to whom, and how it is
// put at the end of a plan: the same for plans searched for and constructed.
//
//===----------------------------------------------------------------------===//

#include "ReshardSteps.h"
#include <algorithm>
#include <vector>

using namespace tp;
using namespace tp::detail;
using llvm::ArrayRef;
using llvm::SmallVector;

unsigned ReshardPlan::getNumCalls() const {
  return llvm::count_if(
      steps, [](const ReshardStep &step) { return !step.getRow().isLocal(); });
}

int64_t tp::getElementsReceived(ArrayRef<int64_t> shape,
                                const TensorSharding &from,
                                const ReshardStep &step, const Mesh &mesh) {
  SmallVector<int64_t> part = getLocalShape(shape, from);
  if (int64_t cut = step.getCutDim(); cut >= 0)
    part[cut] = getLocalSize(shape[cut], step.result.dims[cut]);
  return countReceived(step.getRow(), getElements(part),
                       getShardCount(step.axes));
}

int64_t detail::countReceived(const CollectiveRow &row, int64_t part,
                              int64_t ranks) {
  if (!row.gathers() && !row.cuts())
    part = divideUp(part, row.pieces(ranks));
  return multiply(row.hops(ranks), part);
}

/// The holding of `rank` as one number: its shard of every dimension and which
/// addend. Partial axes that both ends have count first, so that they match
/// where they can.
static int64_t getHolding(const TensorSharding &sharding,
                          ArrayRef<AxisRef> partial, int64_t rank,
                          const Mesh &mesh) {
  AxisList all;
  for (const DimSharding &dim : sharding.dims)
    all.append(dim.axes);
  all.append(partial.begin(), partial.end());
  return mesh.getIndexAlong(rank, all);
}

SmallVector<std::pair<int64_t, int64_t>, 0>
tp::getPermutePairs(const TensorSharding &from, const TensorSharding &to,
                    const Mesh &mesh) {
  AxisList fromPartial, toPartial;
  for (const AxisRef &ref : from.partial)
    if (llvm::is_contained(to.partial, ref))
      fromPartial.push_back(ref);
  toPartial = fromPartial;
  for (const AxisRef &ref : from.partial)
    if (!llvm::is_contained(to.partial, ref))
      fromPartial.push_back(ref);
  for (const AxisRef &ref : to.partial)
    if (!llvm::is_contained(from.partial, ref))
      toPartial.push_back(ref);

  int64_t ranks = mesh.getNumRanks();
  SmallVector<std::pair<int64_t, int64_t>, 0> pairs;
  // The holdings that are spare or wanted, and by whom.
  std::vector<std::pair<int64_t, int64_t>> spare, wanting;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    int64_t has = getHolding(from, fromPartial, rank, mesh);
    int64_t wants = getHolding(to, toPartial, rank, mesh);
    if (has == wants) {
      pairs.push_back({rank, rank});
      continue;
    }
    spare.push_back({has, rank});
    wanting.push_back({wants, rank});
  }
  llvm::sort(spare);
  llvm::sort(wanting);
  for (auto [source, target] : llvm::zip_equal(spare, wanting))
    pairs.push_back({source.second, target.second});
  llvm::sort(pairs, [](auto &a, auto &b) { return a.second < b.second; });
  return pairs;
}

/// The axes along which some pair of a permutation differs.
static AxisList getMovedAxes(const ReshardStep &step, ArrayRef<AxisRef> refs,
                             const Mesh &mesh) {
  AxisList axes;
  for (const AxisRef &ref : refs)
    if (llvm::any_of(step.pairs,
                     [&](auto &pair) {
                       return mesh.getIndexAlong(pair.first, ref) !=
                              mesh.getIndexAlong(pair.second, ref);
                     }) &&
        !overlap(ref, axes))
      axes.push_back(ref);
  return canonicalize(axes);
}

void detail::appendStep(ReshardPlan &plan, ArrayRef<int64_t> shape,
                        const TensorSharding &before, ReshardStep step,
                        ArrayRef<AxisRef> refs, const Mesh &mesh) {
  step.axes = canonicalize(step.axes);
  step.result.normalize(shape);
  step.reduction = step.getRow().to == Holding::Partial ? step.result.reduction
                                                        : before.reduction;
  if (step.getRow().permutes()) {
    step.pairs = getPermutePairs(before, step.result, mesh);
    step.axes = getMovedAxes(step, refs, mesh);
  }
  plan.elementsReceived = detail::add(
      plan.elementsReceived, getElementsReceived(shape, before, step, mesh));
  plan.steps.push_back(std::move(step));
}
