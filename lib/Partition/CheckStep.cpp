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
#include "tp/Sharding/Reshard.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp;

bool tp::isReshardStep(Operation *op) {
  return isa<AllReduceOp, ReduceScatterOp, AllGatherOp, AllToAllOp,
             CollectivePermuteOp, BroadcastOp, SliceOp, KeepFirstOp>(op);
}

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

  std::string samePartial() const {
    if (joinedSet(from.partial, {}) == joinedSet(to.partial, {}))
      return "";
    return "expected what is partial to stay, got " + toString(from, mesh) +
           " to " + toString(to, mesh);
  }

  /// `whole` is `part` with `axes` taken out of what is partial.
  std::string removesPartial(ArrayRef<AxisRef> axes,
                             StringRef reduction) const {
    if (!overlap(to.partial, axes) &&
        joinedSet(to.partial, axes) == joinedSet(from.partial, {}) &&
        (stringify(from.reduction) == reduction))
      return "";
    return "expected a partial " + reduction.str() + " over " + quoted(axes) +
           " that it finishes, got " + toString(from, mesh) + " to " +
           toString(to, mesh);
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

static std::string firstOf(std::initializer_list<std::string> problems) {
  for (const std::string &problem : problems)
    if (!problem.empty())
      return problem;
  return "";
}

static std::string withRow(ReshardStepKind kind, std::string problem) {
  if (problem.empty())
    return problem;
  return "row " + getRowId(kind).str() + ": " + problem;
}

std::string tp::checkStep(Operation *op, ArrayRef<int64_t> shape,
                          const TensorSharding &from, const TensorSharding &to,
                          const Mesh &mesh) {
  auto axesOf = [&](AxisListAttr attr) {
    FailureOr<AxisList> axes =
        resolveAxes(attr, mesh, [&] { return op->emitError(); });
    return succeeded(axes) ? *axes : AxisList();
  };
  StepChecker check{shape, from, to, mesh};
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case<AllReduceOp>([&](AllReduceOp step) {
        return withRow(ReshardStepKind::AllReduce,
                       firstOf({check.removesPartial(axesOf(step.getAxes()),
                                                     step.getReduction()),
                                check.sameDims({})}));
      })
      .Case<ReduceScatterOp>([&](ReduceScatterOp step) {
        AxisList axes = axesOf(step.getAxes());
        int64_t dim = step.getDim();
        return withRow(
            ReshardStepKind::ReduceScatter,
            firstOf({check.removesPartial(axes, step.getReduction()),
                     check.cuts(dim, from.dims[dim], to.dims[dim], axes),
                     check.sameDims(dim)}));
      })
      .Case<AllGatherOp>([&](AllGatherOp step) {
        int64_t dim = step.getDim();
        return withRow(ReshardStepKind::AllGather,
                       firstOf({check.cuts(dim, to.dims[dim], from.dims[dim],
                                           axesOf(step.getAxes())),
                                check.sameDims(dim), check.samePartial()}));
      })
      .Case<AllToAllOp>([&](AllToAllOp step) {
        AxisList axes = axesOf(step.getAxes());
        int64_t split = step.getSplitDim(), gather = step.getGatherDim();
        return withRow(
            ReshardStepKind::AllToAll,
            firstOf(
                {check.cuts(gather, to.dims[gather], from.dims[gather], axes),
                 check.cuts(split, from.dims[split], to.dims[split], axes),
                 check.sameDims({split, gather}), check.samePartial()}));
      })
      .Case<SliceOp>([&](SliceOp step) {
        int64_t dim = step.getDim();
        return withRow(ReshardStepKind::Slice,
                       firstOf({check.cuts(dim, from.dims[dim], to.dims[dim],
                                           axesOf(step.getAxes())),
                                check.sameDims(dim), check.samePartial()}));
      })
      .Case<KeepFirstOp>([&](KeepFirstOp step) -> std::string {
        AxisList axes = axesOf(step.getAxes());
        std::string problem = check.sameDims({});
        if (problem.empty() && (overlap(from.partial, axes) ||
                                StepChecker::joinedSet(from.partial, axes) !=
                                    StepChecker::joinedSet(to.partial, {}) ||
                                to.reduction != ReductionKind::Sum))
          problem = "expected a whole value that becomes a partial sum over " +
                    mesh.getName(axes) + ", got " + toString(from, mesh) +
                    " to " + toString(to, mesh);
        return withRow(ReshardStepKind::KeepFirst, problem);
      })
      .Case<CollectivePermuteOp>([&](CollectivePermuteOp step) -> std::string {
        ReshardStepKind row = ReshardStepKind::CollectivePermute;
        if (getLocalShape(shape, from) != getLocalShape(shape, to) ||
            getShardCount(from.partial) != getShardCount(to.partial))
          return withRow(row, "expected parts of one size, got " +
                                  toString(from, mesh) + " to " +
                                  toString(to, mesh));
        auto pairs = getPermutePairs(from, to, mesh);
        SmallVector<int64_t> want;
        for (auto [source, target] : pairs)
          want.append({source, target});
        if (!llvm::equal(want, step.getPairs().getValues<int64_t>()))
          return withRow(row, "expected the pairs that lead from " +
                                  toString(from, mesh) + " to " +
                                  toString(to, mesh));
        return "";
      })
      .Case<BroadcastOp>([&](BroadcastOp) {
        return firstOf({check.sameDims({}), check.samePartial()});
      })
      .Default([](Operation *) { return "not a step of a reshard"; });
}
