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

LogicalResult StateOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type || !type.hasStaticShape() || type.getNumElements() == 0)
    return emitOpError("expected a tensor of static shape with at least one "
                       "element, got ")
           << getType();
  if (ShardingAttr sharding = getShardingAttr()) {
    if (!sharding.getPartial().empty())
      return emitOpError("expected a state that is not partial: sum it before "
                         "it is kept");
    return verifyShardingOn(*this, sharding, type, "its sharding");
  }
  return success();
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
