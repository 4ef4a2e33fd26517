//===- Rewrite.cpp - What the passes on collectives share -----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Rewrite.h.
//
//===----------------------------------------------------------------------===//

#include "Rewrite.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "tp/Resolve/Resolve.h"
#include "tp/Support/Bytes.h"

using namespace mlir;
using namespace tp;

ShardingAttr PerRankFunction::getAttr(const TensorSharding &sharding) const {
  return ShardingAttr::get(symbol.getContext(), symbol, mesh, sharding);
}

LogicalResult tp::forEachFunction(
    ModuleOp module,
    llvm::function_ref<LogicalResult(PerRankFunction &)> rewrite) {
  MeshOp meshOp = getUniqueMesh(module);
  if (!meshOp)
    return module.emitError("expected the module to have exactly one tp.mesh");
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    PerRankFunction perRank;
    perRank.function = function;
    perRank.mesh = meshOp.getMesh().toMesh();
    perRank.symbol = FlatSymbolRefAttr::get(meshOp.getSymNameAttr());
    if (failed(deriveStates(function, perRank.mesh, perRank.states)) ||
        failed(rewrite(perRank)))
      return failure();
  }
  return success();
}

CollectiveOpInterface tp::getSumReduction(Value value) {
  auto collective = value.getDefiningOp<CollectiveOpInterface>();
  if (!collective || !collective.getRow().reduces() ||
      collective.getReductionName() != stringify(ReductionKind::Sum) ||
      !collective.getFromSharding() || !collective.getToSharding() ||
      !collective.getLedgerEntry())
    return {};
  return collective;
}

bool tp::areAlike(CollectiveOpInterface a, CollectiveOpInterface b) {
  return a->getName() == b->getName() && a.getGroupAxes() == b.getGroupAxes() &&
         a.getGroupMesh() == b.getGroupMesh() && a.getCutDim() == b.getCutDim();
}

AxisList tp::getStepAxes(ReshardStepOpInterface op, const Mesh &mesh) {
  FailureOr<AxisList> axes =
      resolveAxes(op.getGroupAxes(), mesh, [&] { return op->emitError(); });
  return succeeded(axes) ? canonicalize(*axes) : AxisList();
}

bool tp::isPlaceless(Operation *op, const ShardingRule &rule) {
  auto readsIndex = [](const Factor &factor) { return factor.readsIndex; };
  if (llvm::any_of(rule.factors, readsIndex) ||
      isa<OffsetSizeAndStrideOpInterface>(op) ||
      llvm::any_of(op->getOperandTypes(),
                   [](Type type) { return type.isIndex(); }))
    return false;
  for (auto [operand, tensor] : llvm::zip(op->getOperands(), rule.operands))
    if (isa<RankedTensorType>(operand.getType()) &&
        llvm::any_of(rule.results, [&](const TensorFactors &result) {
          return tensor.dims != result.dims;
        }))
      return false;
  // In a body, positions are computed from indices, whatever the rule says.
  return !op->walk([](linalg::IndexOp) {
              return WalkResult::interrupt();
            }).wasInterrupted();
}

bool tp::isLinearIn(Operation *op, ArrayRef<unsigned> partial,
                    ArrayRef<AxisRef> axes, bool isScatter,
                    const PerRankFunction &function) {
  auto attr = op->getAttrOfType<RuleAttr>(TPDialect::getRuleAttrName());
  if (!attr || op->getNumResults() != 1 || isa<ReshardStepOpInterface>(op))
    return false;
  const LocalState *result = function.getState(op->getResult(0));
  if (!result || (!isScatter && overlap(result->sharding.getUsedAxes(), axes)))
    return false;
  ShardingRule rule = attr.toRule();
  if (isScatter && !isPlaceless(op, rule))
    return false;
  unsigned numFactors = 0, numMultilinear = 0;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    const LocalState *state = function.getState(operand);
    if (!state)
      continue;
    if (index >= rule.operands.size())
      return false;
    bool isPartial = llvm::is_contained(partial, index);
    Linearity linearity = rule.linearity[index];
    if (linearity == Linearity::Multilinear)
      ++numFactors;
    if (!isPartial) {
      // What is added must count once; other tensors are factors or buffers.
      if (countsOnce(linearity) && !isZeroTensor(operand))
        return false;
      // A buffer that is overwritten: one of another size does as well.
      if (isScatter && operand.getDefiningOp<tensor::EmptyOp>())
        continue;
      if (isScatter || state->sharding.isPartial() ||
          overlap(state->sharding.getUsedAxes(), axes))
        return false;
      continue;
    }
    if (linearity == Linearity::Multilinear)
      ++numMultilinear;
    else if (linearity != Linearity::Additive)
      return false;
  }
  // A product counts once per rank unless one of its factors is partial.
  return numFactors == 0 || (numMultilinear == 1 && partial.size() == 1);
}

/// The buffers that `op` writes to, of the size that its result has now.
static void widenBuffers(Operation *op, LocalState result,
                         PerRankFunction &function) {
  result.sharding.partial.clear();
  result.sharding.normalize(result.shape);
  OpBuilder builder(op);
  for (OpOperand &operand : op->getOpOperands()) {
    auto empty = operand.get().getDefiningOp<tensor::EmptyOp>();
    if (!empty)
      continue;
    Value wide = builder.clone(*empty)->getResult(0);
    wide.setType(
        empty.getType().clone(getLocalShape(result.shape, result.sharding)));
    setSharding(wide, function.getAttr(result.sharding));
    function.states[wide] = result;
    operand.set(wide);
  }
}

Operation *tp::reduceAfter(Operation *op, ArrayRef<unsigned> partial,
                           LedgerAttr ledger, PerRankFunction &function) {
  const Mesh &mesh = function.mesh;
  CollectiveOpInterface first = getSumReduction(op->getOperand(partial[0]));
  AxisList axes = getStepAxes(first, mesh);
  IRMapping mapping;
  SmallVector<Operation *> reductions;
  for (unsigned index : partial) {
    CollectiveOpInterface reduction = getSumReduction(op->getOperand(index));
    mapping.map(reduction->getResult(0), reduction->getOperand(0));
    reductions.push_back(reduction);
  }
  Value oldResult = op->getResult(0);
  LocalState after = *function.getState(oldResult);
  LocalState before = after;
  if (int64_t cut = first.getCutDim(); cut >= 0)
    before.sharding.dims[cut] =
        first.getFromSharding().toSharding(mesh).dims[cut];
  before.sharding.partial.append(axes.begin(), axes.end());
  before.sharding.reduction = ReductionKind::Sum;
  before.sharding.normalize(before.shape);

  OpBuilder builder(op);
  Operation *moved = builder.clone(*op, mapping);
  Value sum = moved->getResult(0);
  auto type = cast<RankedTensorType>(oldResult.getType());
  sum.setType(type.clone(getLocalShape(before.shape, before.sharding)));
  setSharding(sum, function.getAttr(before.sharding));
  function.states[sum] = before;

  if (first.getCutDim() >= 0)
    widenBuffers(moved, before, function);

  Operation *reduction = builder.clone(*first.getOperation());
  reduction->setOperand(0, sum);
  reduction->getResult(0).setType(type);
  reduction->setAttr("from", function.getAttr(before.sharding));
  reduction->setAttr("to", function.getAttr(after.sharding));
  cast<CollectiveOpInterface>(reduction).setLedgerEntry(ledger);
  oldResult.replaceAllUsesWith(reduction->getResult(0));
  function.states[reduction->getResult(0)] = after;
  function.states.erase(oldResult);
  op->erase();
  for (Operation *old : reductions) {
    function.states.erase(old->getResult(0));
    old->erase();
  }
  return reduction;
}

LedgerAttr tp::withPass(LedgerAttr entry, StringRef pass) {
  MLIRContext *context = entry.getContext();
  return LedgerAttr::get(context, entry.getId(), entry.getCause(),
                         entry.getAnnotation(), StringAttr::get(context, pass));
}

LedgerAttr tp::joinEntries(LedgerAttr a, LedgerAttr b, StringRef pass) {
  MLIRContext *context = a.getContext();
  auto join = [&](StringAttr x, StringAttr y) {
    if (x == y)
      return x;
    return StringAttr::get(context, x.getValue() + "; and " + y.getValue());
  };
  return LedgerAttr::get(context, a.getId(), join(a.getCause(), b.getCause()),
                         join(a.getAnnotation(), b.getAnnotation()),
                         StringAttr::get(context, pass));
}

int64_t tp::getLocalBytes(Value value) {
  return getTensorBytes(cast<RankedTensorType>(value.getType()));
}
