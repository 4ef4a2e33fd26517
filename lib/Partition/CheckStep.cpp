//===- CheckStep.cpp - One collective against the reshard table -----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each collective of the per-rank program is one row of the reshard table. Here
// is what a row changes in a sharding, and nothing else may change: a
// collective over the wrong axis, or one too many, does not fit.
//
//===----------------------------------------------------------------------===//

#include "tp/Partition/Derive.h"
#include <map>

using namespace mlir;
using namespace tp;

namespace {
/// The comparison of one row; fields that a row does not change must be equal.
struct StepChecker {
  ArrayRef<int64_t> shape;
  const TensorSharding &from, &to;
  const Mesh &mesh;

  static AxisList joined(ArrayRef<AxisRef> a, ArrayRef<AxisRef> b) {
    AxisList list(a.begin(), a.end());
    list.append(b.begin(), b.end());
    return canonicalize(list);
  }
  static AxisList joinedSet(ArrayRef<AxisRef> a, ArrayRef<AxisRef> b) {
    AxisList list(a.begin(), a.end());
    list.append(b.begin(), b.end());
    llvm::sort(list);
    return canonicalize(list);
  }

  std::string quoted(ArrayRef<AxisRef> axes) const {
    return mesh.getName(axes);
  }

  /// All dimensions but `except` keep their layout.
  std::string sameDims(ArrayRef<int64_t> except) const {
    for (unsigned dim = 0; dim < shape.size(); ++dim)
      if (!llvm::is_contained(except, static_cast<int64_t>(dim)) &&
          (canonicalize(from.dims[dim].axes) !=
               canonicalize(to.dims[dim].axes) ||
           getLocalSize(shape[dim], from.dims[dim]) !=
               getLocalSize(shape[dim], to.dims[dim])))
        return "expected dimension " + std::to_string(dim) +
               " to stay as it is, got " + toString(from, mesh) + " to " +
               toString(to, mesh);
    return "";
  }

  /// Addends of both are combined alike.
  bool sameReduction() const {
    return !from.isPartial() || !to.isPartial() ||
           from.reduction == to.reduction;
  }

  std::string samePartial() const {
    if (joinedSet(from.partial, {}) == joinedSet(to.partial, {}) &&
        sameReduction())
      return "";
    return "expected what is partial to stay, got " + toString(from, mesh) +
           " to " + toString(to, mesh);
  }

  /// `whole` is `part` with `axes` taken out of what is partial.
  std::string removesPartial(ArrayRef<AxisRef> axes,
                             StringRef reduction) const {
    if (!overlap(to.partial, axes) && sameReduction() &&
        joinedSet(to.partial, axes) == joinedSet(from.partial, {}) &&
        (stringify(from.reduction) == reduction))
      return "";
    return "expected a partial " + reduction.str() + " over " + quoted(axes) +
           " that it finishes, got " + toString(from, mesh) + " to " +
           toString(to, mesh);
  }

  /// A value that is the same along `axes` becomes a sum over them too.
  std::string becomesPartial(ArrayRef<AxisRef> axes) const {
    if (!overlap(from.partial, axes) && sameReduction() &&
        to.reduction == ReductionKind::Sum &&
        joinedSet(from.partial, axes) == joinedSet(to.partial, {}))
      return "";
    return "expected a complete value that becomes a partial sum over " +
           quoted(axes) + ", got " + toString(from, mesh) + " to " +
           toString(to, mesh);
  }

  /// `source` has before what `target` must have after. Which addend of a sum a
  /// rank has is its own affair where the axes of the sum change.
  bool holds(int64_t source, int64_t target) const {
    auto same = [&](ArrayRef<AxisRef> a, ArrayRef<AxisRef> b) {
      return mesh.getIndexAlong(source, a) == mesh.getIndexAlong(target, b);
    };
    for (auto [before, after] : llvm::zip_equal(from.dims, to.dims))
      if (!same(before.axes, after.axes))
        return false;
    return joinedSet(from.partial, {}) != joinedSet(to.partial, {}) ||
           same(from.partial, from.partial);
  }

  /// The parts go from where they are to where they belong, within groups.
  std::string permutes(DenseIntElementsAttr pairs,
                       ArrayRef<AxisRef> axes) const {
    std::string steps = toString(from, mesh) + " to " + toString(to, mesh);
    bool sameCounts =
        getShardCount(from.partial) == getShardCount(to.partial) &&
        llvm::all_of(llvm::zip_equal(from.dims, to.dims), [](auto pair) {
          return getShardCount(std::get<0>(pair).axes) ==
                 getShardCount(std::get<1>(pair).axes);
        });
    if (!sameCounts || !sameReduction() ||
        getLocalShape(shape, from) != getLocalShape(shape, to))
      return "expected parts of one size, got " + steps;
    SmallVector<int64_t> want;
    for (auto [source, target] : getPermutePairs(from, to, mesh))
      want.append({source, target});
    if (!llvm::equal(want, pairs.getValues<int64_t>()))
      return "expected the pairs that lead from " + steps;
    // Each group moves its parts alike, by positions along the axes: the pair
    // that comes first says from where.
    std::map<int64_t, int64_t> sources;
    for (size_t i = 0; i < want.size(); i += 2)
      sources.try_emplace(mesh.getIndexAlong(want[i + 1], axes),
                          mesh.getIndexAlong(want[i], axes));
    for (ArrayRef<int64_t> group : mesh.getGroups(axes))
      for (auto [position, target] : llvm::enumerate(group))
        if (!holds(group[sources[position]], target))
          return "expected the parts to be exchanged within the groups along " +
                 quoted(axes) + ", got " + steps;
    return "";
  }

  /// `fine` cuts dimension `dim` of `coarse` further by `axes`, as minor ones.
  std::string cuts(int64_t dim, const DimSharding &coarse,
                   const DimSharding &fine, ArrayRef<AxisRef> axes) const {
    if (joined(coarse.axes, axes) != canonicalize(fine.axes))
      return "expected " + quoted(axes) +
             " to be the minor axes of dimension " + std::to_string(dim) +
             ", got " + toString(from, mesh) + " to " + toString(to, mesh);
    // Parts of parts must begin where the dimension is cut.
    int64_t parts = getShardCount(axes);
    int64_t coarseSize = getLocalSize(shape[dim], coarse);
    int64_t fineSize = getLocalSize(shape[dim], fine);
    if (getShardCount(coarse.axes) > 1 && coarseSize != fineSize * parts)
      return "expected parts of " + std::to_string(coarseSize) + " / " +
             std::to_string(parts) + " in dimension " + std::to_string(dim) +
             ", got " + std::to_string(fineSize);
    return "";
  }
};
} // namespace

/// The problem of a step of `row`; empty if there is none.
static std::string findProblem(ReshardStepOpInterface step,
                               const StepChecker &check,
                               ArrayRef<AxisRef> axes) {
  const CollectiveRow &row = step.getRow();
  if (row.permutes())
    return check.permutes(step.getRankPairs(), axes);
  int64_t gathered = step.getGatheredDim(), cut = step.getCutDim();
  const TensorSharding &from = check.from, &to = check.to;
  std::string problem;
  if (row.reduces())
    problem = check.removesPartial(axes, step.getReductionName());
  if (problem.empty() && row.gathers())
    problem =
        check.cuts(gathered, to.dims[gathered], from.dims[gathered], axes);
  if (problem.empty() && row.cuts())
    problem = check.cuts(cut, from.dims[cut], to.dims[cut], axes);
  if (problem.empty())
    problem = check.sameDims({gathered, cut});
  if (!problem.empty() || row.reduces())
    return problem;
  return row.to == Holding::Partial ? check.becomesPartial(axes)
                                    : check.samePartial();
}

std::string tp::checkStep(Operation *op, ArrayRef<int64_t> shape,
                          const TensorSharding &from, const TensorSharding &to,
                          const Mesh &mesh) {
  auto step = cast<ReshardStepOpInterface>(op);
  FailureOr<AxisList> axes =
      resolveAxes(step.getGroupAxes(), mesh, [&] { return op->emitError(); });
  std::string problem = findProblem(step, StepChecker{shape, from, to, mesh},
                                    succeeded(axes) ? *axes : AxisList());
  if (problem.empty())
    return problem;
  return ("row " + StringRef(step.getRow().id) + ": " + problem).str();
}
