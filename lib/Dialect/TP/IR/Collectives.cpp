//===- Collectives.cpp - Verifiers of the collectives -----------------------
//-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shapes and axes of the per-rank operations: every step is over axes of a mesh
// that exists, and its types are those that its groups make; and the operations
// of the rows of the reshard table.
//
//===----------------------------------------------------------------------===//

#include "Notes.h"
#include "tp/Dialect/TP/IR/TPOps.h"

#include "mlir/IR/Builders.h"
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

LogicalResult MeetOp::verifySymbolUses(SymbolTableCollection &) {
  return failure(failed(resolveGroup(*this, getMeshAttr(), getAxes())));
}

/// A result for each member of the group, all alike.
static LogicalResult checkAddends(Operation *op, int64_t members) {
  int64_t expected = isa<PeersOp>(op) ? members : 1;
  if (op->getNumResults() != expected)
    return op->emitOpError()
           << "expected a result for each of " << expected
           << " ranks of a group, got " << op->getNumResults();
  for (Type type : op->getResultTypes())
    if (isa<PeersOp>(op) && type != op->getOperand(0).getType())
      return op->emitOpError()
             << "expected addends of type " << op->getOperand(0).getType()
             << ", got " << type;
  return success();
}

/// Each rank is the target of one pair, and the source of any.
static LogicalResult checkPairs(Operation *op, DenseIntElementsAttr attr,
                                int64_t ranks) {
  ShapedType pairs = attr.getShapedType();
  if (pairs.getRank() != 2 || pairs.getDimSize(1) != 2 ||
      pairs.getDimSize(0) != ranks)
    return op->emitOpError()
           << "expected pairs of shape [" << ranks << ", 2], got " << pairs;
  SmallVector<bool> isTarget(ranks, false);
  SmallVector<int64_t> flat(attr.getValues<int64_t>());
  for (int64_t i = 0; i < ranks; ++i) {
    int64_t source = flat[2 * i], target = flat[2 * i + 1];
    if (source < 0 || source >= ranks || target < 0 || target >= ranks)
      return op->emitOpError() << "expected ranks below " << ranks << ", got ["
                               << source << ", " << target << "]";
    if (isTarget[target])
      return op->emitOpError() << "expected each rank to be a target once, got "
                               << target << " twice";
    isTarget[target] = true;
  }
  return success();
}

LogicalResult tp::detail::verifyStep(Operation *op) {
  auto step = cast<ReshardStepOpInterface>(op);
  const CollectiveRow &row = step.getRow();
  FailureOr<ResolvedGroup> group =
      resolveGroup(op, step.getGroupMesh(), step.getGroupAxes());
  if (failed(group) || failed(checkAddends(op, group->size)))
    return failure();
  auto from = cast<RankedTensorType>(op->getOperand(0).getType());
  auto to = cast<RankedTensorType>(op->getResult(0).getType());
  int64_t gathered = step.getGatheredDim(), cut = step.getCutDim();
  if ((row.cuts() && failed(checkDim(op, from, cut))) ||
      (row.gathers() && failed(checkDim(op, from, gathered))))
    return failure();
  // Parts that change places may differ in padding.
  auto changed = llvm::to_vector(llvm::seq<int64_t>(0, from.getRank()));
  if (!row.permutes())
    changed = {gathered, cut};
  if (failed(checkSameBut(op, from, to, changed)))
    return failure();
  if (row.reduces() && !symbolizeReductionKind(step.getReductionName()))
    return op->emitOpError() << "expected reduction sum, max or min, got "
                             << step.getReductionName();
  if (row.gathers() && gathered == cut)
    return op->emitOpError()
           << "expected two dimensions, got " << cut << " twice";
  if (row.cuts() && failed(checkPart(op, from.getDimSize(cut),
                                     to.getDimSize(cut), group->size)))
    return failure();
  if (row.gathers())
    return checkPart(op, to.getDimSize(gathered), from.getDimSize(gathered),
                     group->size);
  return row.permutes()
             ? checkPairs(op, step.getRankPairs(), group->mesh.getNumRanks())
             : success();
}

//===----------------------------------------------------------------------===//
// Operations of rows
//===----------------------------------------------------------------------===//

// Every row has its operation, and that is what the row says.
#define TP_CHECK_ROW(name, operation, ...)                                     \
  static_assert(name##Op::kind == CollectiveKind::name &&                      \
                name##Op::holdsBefore == rowOf(name##Op::kind).from &&         \
                name##Op::holdsAfter == rowOf(name##Op::kind).to);             \
  static_assert(std::string_view(name##Op::getOperationName()) ==              \
                "tp." #operation);
TPRT_COLLECTIVES(TP_CHECK_ROW)
#undef TP_CHECK_ROW

Operation *tp::createStep(OpBuilder &builder, Location loc, CollectiveKind kind,
                          Type type, Value input, const StepAttrs &attrs) {
  const CollectiveRow &row = rowOf(kind);
  OperationState state(loc, ("tp." + StringRef(row.operation)).str());
  state.addOperands(input);
  state.addTypes(type);
  state.addAttribute("mesh", attrs.mesh);
  state.addAttribute("axes", attrs.axes);
  if (row.reduces())
    state.addAttribute("reduction", attrs.reduction);
  if (row.gathers() && row.cuts()) {
    state.addAttribute("gather_dim",
                       builder.getI64IntegerAttr(attrs.gatheredDim));
    state.addAttribute("split_dim", builder.getI64IntegerAttr(attrs.cutDim));
  } else if (row.gathers() || row.cuts()) {
    int64_t dim = row.gathers() ? attrs.gatheredDim : attrs.cutDim;
    state.addAttribute("dim", builder.getI64IntegerAttr(dim));
  }
  if (row.permutes())
    state.addAttribute("pairs", attrs.pairs);
  if (attrs.from)
    state.addAttribute("from", attrs.from);
  if (attrs.to)
    state.addAttribute("to", attrs.to);
  if (attrs.ledger && !row.isLocal())
    state.addAttribute("ledger", attrs.ledger);
  return builder.create(state);
}
