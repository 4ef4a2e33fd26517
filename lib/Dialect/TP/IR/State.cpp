//===- State.cpp - Tensors that live between steps ------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One type and one sharding for a state in the whole module: what each function
// says of it is held against the declaration.
//
//===----------------------------------------------------------------------===//

#include "Notes.h"

#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tp/Dialect/TP/IR/ParameterNames.h"

using namespace mlir;
using namespace tp;

StateOp tp::lookupState(Operation *from, FlatSymbolRefAttr symbol) {
  return SymbolTable::lookupNearestSymbolFrom<StateOp>(from, symbol);
}

FlatSymbolRefAttr tp::getArgState(Operation *function, unsigned index) {
  return cast<FunctionOpInterface>(function)
      .getArgAttrOfType<FlatSymbolRefAttr>(index,
                                           TPDialect::getStateAttrName());
}

FlatSymbolRefAttr tp::getResultState(Operation *function, unsigned index) {
  return cast<FunctionOpInterface>(function)
      .getResultAttrOfType<FlatSymbolRefAttr>(index,
                                              TPDialect::getStateAttrName());
}

StateOp tp::getReplacedState(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto function =
      argument
          ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp())
          : FunctionOpInterface();
  if (!function || !value.hasOneUse())
    return StateOp();
  FlatSymbolRefAttr symbol = getArgState(function, argument.getArgNumber());
  for (unsigned i = 0; symbol && i < function.getNumResults(); ++i)
    if (getResultState(function, i) == symbol)
      return lookupState(function, symbol);
  return StateOp();
}

RankedTensorType StateOp::getGlobalType() {
  auto global =
      (*this)->getAttrOfType<TypeAttr>(TPDialect::getGlobalTypeAttrName());
  return cast<RankedTensorType>(global ? global.getValue() : getType());
}

RankedTensorType StateOp::getParameterType() {
  RankedTensorType type = getGlobalType();
  return isStack() ? type.clone(type.getShape().drop_front()) : type;
}

/// Verifies what is said of the checkpoint, and that the state can take it.
static LogicalResult verifyParameter(StateOp op, RankedTensorType type) {
  auto list = op.getAlternativesAttr();
  if (!op.getParameter()) {
    if (op.getFirst() || op.getSourceAttr() || list)
      return op.emitOpError("expected `from`, `source` and `alternatives` "
                            "beside a parameter of the checkpoint alone");
    return success();
  }
  StringRef name = *op.getParameter();
  if (name.empty())
    return op.emitOpError("expected the parameter's name in the checkpoint");
  if (op.getOnes())
    return op.emitOpError()
           << "expected one initial value, got ones and '" << name << "'";
  if (!isa<FloatType>(type.getElementType()))
    return op.emitOpError() << "expected floats for the parameter '" << name
                            << "', got " << type;
  if (op.isStack() && type.getRank() == 0)
    return op.emitOpError()
           << "expected '" << name
           << "' for a tensor whose first dimension is the layers, got "
           << type;
  if (!op.isStack() && op.getFirst())
    return op.emitOpError()
           << "expected '" << name
           << "' to have '{i}', which stands for the layers from the one given";
  if (int64_t first = op.getFirst().value_or(0); first < 0)
    return op.emitOpError()
           << "expected a first layer of 0 or more, got " << first;
  for (Attribute other : list ? list.getValue() : ArrayRef<Attribute>())
    if (cast<StringAttr>(other).getValue().contains("{i}") != op.isStack())
      return op.emitOpError()
             << "expected '{i}' in '" << name << "' and in its alternative "
             << other << ", or in neither";
  ShardingAttr sharding = op.getShardingAttr();
  if (op.isStack() && sharding && !sharding.getDims().front().getAxes().empty())
    return op.emitOpError()
           << "expected dimension 0 not to be split, whose elements are the "
              "tensors that '"
           << name << "' stands for, got " << sharding;
  RankedTensorType parameter = op.getParameterType();
  if (failed(verifyTensorNames(op, name, list, parameter)))
    return failure();
  return verifySource(op, op.getSourceAttr(), parameter);
}

LogicalResult StateOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type || !type.hasStaticShape() || type.getNumElements() == 0)
    return emitOpError("expected a tensor of static shape with at least one "
                       "element, got ")
           << getType();
  if (ShardingAttr sharding = getShardingAttr())
    if (failed(verifyShardingOn(*this, sharding, type, "its sharding")))
      return failure();
  return verifyParameter(*this, type);
}

LogicalResult tp::verifyStateUse(Operation *op, unsigned index, bool isResult,
                                 NamedAttribute attribute, const Twine &where) {
  auto function = cast<FunctionOpInterface>(op);
  auto symbol = dyn_cast<FlatSymbolRefAttr>(attribute.getValue());
  StateOp state = symbol ? lookupState(op, symbol) : StateOp();
  if (!state)
    return op->emitOpError()
           << where << ": expected tp.state to name a tp.state, got "
           << attribute.getValue();
  auto note = [&](InFlightDiagnostic diag) -> LogicalResult {
    diag.attachNote(state.getLoc()) << "the state is declared here";
    return diag;
  };
  Type type = isResult ? function.getResultTypes()[index]
                       : function.getArgumentTypes()[index];
  if (type != state.getType())
    return note(op->emitOpError()
                << where << ": expected the type of " << symbol << ", "
                << state.getType() << ", got " << type);
  auto sharding = cast_or_null<ShardingAttr>(
      isResult ? function.getResultAttr(index, TPDialect::getShardingAttrName())
               : function.getArgAttr(index, TPDialect::getShardingAttrName()));
  if (sharding && state.getShardingAttr() &&
      sharding != state.getShardingAttr())
    return note(op->emitOpError()
                << where << ": expected the sharding of " << symbol << ", "
                << state.getShardingAttr() << ", got " << sharding);
  for (unsigned other = 0; other < index; ++other)
    if ((isResult ? getResultState(op, other) : getArgState(op, other)) ==
        symbol)
      return op->emitOpError()
             << where << ": expected one " << (isResult ? "result" : "argument")
             << " for " << symbol << ", which "
             << (isResult ? "result " : "argument ") << other << " is already";
  return success();
}
