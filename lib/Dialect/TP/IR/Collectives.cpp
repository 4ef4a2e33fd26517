//===- Collectives.cpp - Verifiers of the collectives -----------------------
//-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shapes and axes of the per-rank operations: every collective is over axes of
// a mesh that exists, and its types are those that its groups make.
//
//===----------------------------------------------------------------------===//

#include "Notes.h"
#include "tp/Dialect/TP/IR/TPOps.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace tp;

/// The resolved mesh and axes of a per-rank operation.
struct ResolvedGroup {
  Mesh mesh;
  AxisList axes;
  int64_t size = 1;
};

static FailureOr<ResolvedGroup>
resolveGroup(Operation *op, FlatSymbolRefAttr symbol, AxisListAttr axes) {
  MeshOp mesh = lookupMesh(op, symbol);
  if (!mesh)
    return op->emitOpError()
           << "expected " << symbol << " to be a tp.mesh, got no such mesh";
  ResolvedGroup group;
  group.mesh = mesh.getMesh().toMesh();
  FailureOr<AxisList> resolved = resolveAxes(
      axes, group.mesh, [&] { return noteMesh(op->emitOpError(), mesh); });
  if (failed(resolved))
    return failure();
  for (auto [index, a] : llvm::enumerate(*resolved))
    for (const AxisRef &b : ArrayRef<AxisRef>(*resolved).drop_front(index + 1))
      if (a.overlaps(b))
        return op->emitOpError()
               << "expected distinct axes, got " << group.mesh.getName(a)
               << " and " << group.mesh.getName(b);
  group.axes = *resolved;
  group.size = getShardCount(group.axes);
  return group;
}

static LogicalResult checkDim(Operation *op, RankedTensorType type,
                              int64_t dim) {
  if (dim < 0 || dim >= type.getRank())
    return op->emitOpError()
           << "expected a dimension of " << type << ", got " << dim;
  return success();
}

/// All dimensions but `except` must agree, and the element type.
static LogicalResult checkSameBut(Operation *op, RankedTensorType from,
                                  RankedTensorType to,
                                  ArrayRef<int64_t> except) {
  if (from.getElementType() != to.getElementType() ||
      from.getRank() != to.getRank())
    return op->emitOpError() << "expected the element type and rank of " << from
                             << ", got " << to;
  for (int64_t dim = 0; dim < from.getRank(); ++dim)
    if (!llvm::is_contained(except, dim) &&
        from.getDimSize(dim) != to.getDimSize(dim))
      return op->emitOpError()
             << "expected dimension " << dim << " to stay "
             << from.getDimSize(dim) << ", got " << to.getDimSize(dim);
  return success();
}

/// `part` must be able to be one of `group` equal parts of `whole`, the last of
/// which are padded.
static LogicalResult checkPart(Operation *op, int64_t whole, int64_t part,
                               int64_t group) {
  if (part * group < whole)
    return op->emitOpError()
           << "expected " << group << " parts to hold a dimension of " << whole
           << ", got parts of " << part;
  return success();
}

LogicalResult RankOp::verifySymbolUses(SymbolTableCollection &) {
  return failure(failed(resolveGroup(*this, getMeshAttr(), getAxes())));
}

LogicalResult AllReduceOp::verify() {
  auto type = cast<RankedTensorType>(getInput().getType());
  if (failed(resolveGroup(*this, getMeshAttr(), getAxes())))
    return failure();
  if (!symbolizeReductionKind(getReduction()))
    return emitOpError() << "expected reduction sum, max or min, got "
                         << getReductionAttr();
  return checkSameBut(*this, type, cast<RankedTensorType>(getType()), {});
}

LogicalResult ReduceScatterOp::verify() {
  auto from = cast<RankedTensorType>(getInput().getType());
  auto to = cast<RankedTensorType>(getType());
  FailureOr<ResolvedGroup> group =
      resolveGroup(*this, getMeshAttr(), getAxes());
  int64_t dim = getDim();
  if (failed(group) || failed(checkDim(*this, from, dim)) ||
      failed(checkSameBut(*this, from, to, dim)))
    return failure();
  if (!symbolizeReductionKind(getReduction()))
    return emitOpError() << "expected reduction sum, max or min, got "
                         << getReductionAttr();
  return checkPart(*this, from.getDimSize(dim), to.getDimSize(dim),
                   group->size);
}

LogicalResult AllGatherOp::verify() {
  auto from = cast<RankedTensorType>(getInput().getType());
  auto to = cast<RankedTensorType>(getType());
  FailureOr<ResolvedGroup> group =
      resolveGroup(*this, getMeshAttr(), getAxes());
  int64_t dim = getDim();
  if (failed(group) || failed(checkDim(*this, from, dim)) ||
      failed(checkSameBut(*this, from, to, dim)))
    return failure();
  return checkPart(*this, to.getDimSize(dim), from.getDimSize(dim),
                   group->size);
}

LogicalResult AllToAllOp::verify() {
  auto from = cast<RankedTensorType>(getInput().getType());
  auto to = cast<RankedTensorType>(getType());
  FailureOr<ResolvedGroup> group =
      resolveGroup(*this, getMeshAttr(), getAxes());
  int64_t split = getSplitDim(), gather = getGatherDim();
  if (failed(group) || failed(checkDim(*this, from, split)) ||
      failed(checkDim(*this, from, gather)) ||
      failed(checkSameBut(*this, from, to, {split, gather})))
    return failure();
  if (split == gather)
    return emitOpError() << "expected two dimensions, got " << split
                         << " twice";
  if (failed(checkPart(*this, from.getDimSize(split), to.getDimSize(split),
                       group->size)))
    return failure();
  return checkPart(*this, to.getDimSize(gather), from.getDimSize(gather),
                   group->size);
}

LogicalResult CollectivePermuteOp::verify() {
  FailureOr<ResolvedGroup> group =
      resolveGroup(*this, getMeshAttr(), getAxes());
  if (failed(group))
    return failure();
  auto from = cast<RankedTensorType>(getInput().getType());
  auto to = cast<RankedTensorType>(getType());
  if (from.getElementType() != to.getElementType() ||
      from.getRank() != to.getRank())
    return emitOpError() << "expected the element type and rank of " << from
                         << ", got " << to;
  int64_t ranks = group->mesh.getNumRanks();
  ShapedType pairs = getPairs().getShapedType();
  if (pairs.getRank() != 2 || pairs.getDimSize(1) != 2 ||
      pairs.getDimSize(0) != ranks)
    return emitOpError() << "expected pairs of shape [" << ranks << ", 2], got "
                         << pairs;
  SmallVector<bool> isSource(ranks, false), isTarget(ranks, false);
  SmallVector<int64_t> flat(getPairs().getValues<int64_t>());
  for (int64_t i = 0; i < ranks; ++i) {
    int64_t source = flat[2 * i], target = flat[2 * i + 1];
    if (source < 0 || source >= ranks || target < 0 || target >= ranks)
      return emitOpError() << "expected ranks below " << ranks << ", got ["
                           << source << ", " << target << "]";
    if (isTarget[target])
      return emitOpError() << "expected each rank to be a target once, got "
                           << target << " twice";
    isTarget[target] = isSource[source] = true;
  }
  return success();
}

LogicalResult BroadcastOp::verify() {
  if (failed(resolveGroup(*this, getMeshAttr(), getAxes())))
    return failure();
  return checkSameBut(*this, cast<RankedTensorType>(getInput().getType()),
                      cast<RankedTensorType>(getType()), {});
}

LogicalResult SliceOp::verify() {
  auto from = cast<RankedTensorType>(getInput().getType());
  auto to = cast<RankedTensorType>(getType());
  FailureOr<ResolvedGroup> group =
      resolveGroup(*this, getMeshAttr(), getAxes());
  int64_t dim = getDim();
  if (failed(group) || failed(checkDim(*this, from, dim)) ||
      failed(checkSameBut(*this, from, to, dim)))
    return failure();
  return checkPart(*this, from.getDimSize(dim), to.getDimSize(dim),
                   group->size);
}

LogicalResult KeepFirstOp::verify() {
  return failure(failed(resolveGroup(*this, getMeshAttr(), getAxes())));
}
