//===- ElementwiseRules.cpp - Rules of arith and math
//-----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element-wise operations on tensors, constants (each rank takes its part) and
// scalar code, which every rank runs alike.
//
//===----------------------------------------------------------------------===//

#include "Internal.h"
#include "LinearForm.h"
#include "PadValue.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tp;

static bool isTensor(Value value) {
  return isa<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Element-wise
//===----------------------------------------------------------------------===//

static FailureOr<ShardingRule> getRule(Operation *op) {
  if (failed(expectStatic(op)))
    return failure();
  ShardingRule rule;
  TensorFactors dims = addDims(rule, getShape(op->getResult(0)));
  unsigned size = op->getNumOperands();
  SmallVector<Form> inputs;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    rule.operands.push_back(isTensor(operand) ? dims : TensorFactors());
    // A scalar is the same on every rank; partial values are tensors.
    inputs.push_back(isTensor(operand) ? getInputForm(operand, i, size)
                                       : getConstantForm(operand, size));
  }
  rule.results.assign(op->getNumResults(), dims);
  rule.linearity = classify(transferForm(op, inputs, size), size);
  return rule;
}

static LocalValues clone(Operation *op, OpBuilder &builder, ValueRange operands,
                         TypeRange resultTypes, const LocalContext &) {
  return cloneLocal(op, builder, operands, resultTypes);
}

static PadStates getElementwiseStates(Operation *op, unsigned,
                                      ArrayRef<PadState> states) {
  SmallVector<PadValue> operands;
  for (auto [state, operand] : llvm::zip_equal(states, op->getOperands()))
    operands.push_back(isTensor(operand) ? toPadValue(state, operand.getType())
                                         : getSharedPadValue(operand));
  return PadStates(op->getNumResults(),
                   toPadState(transferPadValue(op, operands)));
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static FailureOr<ShardingRule> getConstantRule(Operation *op) {
  ShardingRule rule;
  if (failed(expectStatic(op)))
    return failure();
  if (!isa<DenseElementsAttr>(cast<arith::ConstantOp>(op).getValue()))
    return op->emitOpError(
        "expected its elements in the program as dense<...>, "
        "got sparse ones or a resource");
  rule.results.push_back(addDims(rule, getShape(op->getResult(0))));
  return rule;
}

static LocalValues buildLocalConstant(Operation *op, OpBuilder &builder,
                                      ValueRange, TypeRange resultTypes,
                                      const LocalContext &context) {
  auto value = cast<ElementsAttr>(cast<arith::ConstantOp>(op).getValue());
  auto local = cast<RankedTensorType>(resultTypes[0]);
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (dense && dense.isSplat())
    return SmallVector<Value>{arith::ConstantOp::create(
        builder, op->getLoc(), dense.resizeSplat(local))};
  Value whole = arith::ConstantOp::create(builder, op->getLoc(), value);
  const TensorFactors &tensor = context.getRule().results[0];
  SmallVector<int64_t> shape(getShape(whole));
  for (auto [dim, factors] : llvm::enumerate(tensor.dims)) {
    if (!context.isSharded(factors.front()))
      continue;
    shape[dim] = local.getDimSize(dim);
    whole = SliceOp::create(
        builder, op->getLoc(), local.clone(shape), whole,
        builder.getI64IntegerAttr(dim), context.getMeshSymbol(),
        getAxisListAttr(builder.getContext(), context.getMesh(),
                        context.getFactorShardings().axes[factors.front()]),
        /*from=*/ShardingAttr(), /*to=*/ShardingAttr());
  }
  return SmallVector<Value>{whole};
}

static PadStates getConstantStates(Operation *op, unsigned,
                                   ArrayRef<PadState>) {
  auto dense =
      dyn_cast<DenseElementsAttr>(cast<arith::ConstantOp>(op).getValue());
  // A slice of a constant is padded with zeros; a splat is splat everywhere.
  if (!dense || !dense.isSplat())
    return {PadState::Zero};
  return {toPadState(getSharedPadValue(op->getResult(0)))};
}

//===----------------------------------------------------------------------===//
// Scalar code
//===----------------------------------------------------------------------===//

static FailureOr<ShardingRule> getScalarRule(Operation *op) {
  ShardingRule rule;
  rule.operands.resize(op->getNumOperands());
  rule.results.resize(op->getNumResults());
  rule.linearity.assign(op->getNumOperands(), Linearity::None);
  return rule;
}

/// No tensors in it, no regions and no effects.
static bool isScalarCode(Operation *op) {
  return op->getNumRegions() == 0 && isPure(op) &&
         !op->hasTrait<OpTrait::IsTerminator>() &&
         llvm::all_of(op->getOperandTypes(),
                      [](Type type) { return type.isIntOrIndexOrFloat(); }) &&
         llvm::all_of(op->getResultTypes(),
                      [](Type type) { return type.isIntOrIndexOrFloat(); });
}

RuleProvider tp::getElementwiseRules(Operation *op) {
  if (isScalarCode(op))
    return {getScalarRule, clone, getElementwiseStates};
  if (op->getNumResults() != 1 || !isTensor(op->getResult(0)))
    return {};
  if (isa<arith::ConstantOp>(op))
    return {getConstantRule, buildLocalConstant, getConstantStates};
  if (OpTrait::hasElementwiseMappableTraits(op))
    return {getRule, clone, getElementwiseStates};
  return {};
}
