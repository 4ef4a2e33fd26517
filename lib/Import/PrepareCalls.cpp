//===- PrepareCalls.cpp - Keep what functions say of their values ---------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The inliner drops the attributes of the arguments and results of a function
// and those of the call. A sharding among them is a promise to the user, so it
// becomes an operation, which is inlined with the body.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/Import/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace tp {
#define GEN_PASS_DEF_PREPARECALLS
#include "tp/Import/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// Errors if a private function, of which nothing is left once its calls are
/// inlined, says more of a value than a name and a sharding.
static LogicalResult checkAttributes(func::FuncOp function, StringRef kind,
                                     unsigned index, ArrayAttr all) {
  if (!all)
    return success();
  for (NamedAttribute attribute : cast<DictionaryAttr>(all[index])) {
    StringRef name = attribute.getName();
    if (!name.starts_with("tp.") || name == TPDialect::getNameAttrName() ||
        name == TPDialect::getShardingAttrName())
      continue;
    return function.emitOpError()
           << kind << " " << index << " has " << name
           << ", which is lost when the calls of a private function are "
              "inlined: give it to the function that calls it";
  }
  return success();
}

/// Replaces the value's other uses by a constraint of it.
static void constrain(OpBuilder &builder, Value value, ShardingAttr sharding) {
  auto constraint = ShardingConstraintOp::create(
      builder, value.getLoc(), value.getType(), value, sharding);
  value.replaceAllUsesExcept(constraint.getResult(), constraint);
}

/// Arguments are constrained at the start of the body, results before they are
/// returned.
static void constrainFunction(func::FuncOp function) {
  StringRef name = TPDialect::getShardingAttrName();
  OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
  for (BlockArgument argument : function.getArguments())
    if (auto sharding = function.getArgAttrOfType<ShardingAttr>(
            argument.getArgNumber(), name))
      constrain(builder, argument, sharding);
  function.walk([&](func::ReturnOp ret) {
    builder.setInsertionPoint(ret);
    for (OpOperand &operand : ret->getOpOperands())
      if (auto sharding = function.getResultAttrOfType<ShardingAttr>(
              operand.getOperandNumber(), name))
        operand.set(ShardingConstraintOp::create(builder, ret.getLoc(),
                                                 operand.get().getType(),
                                                 operand.get(), sharding));
  });
}

static void constrainResults(func::CallOp call) {
  OpBuilder builder(call.getContext());
  builder.setInsertionPointAfter(call);
  for (Value result : call.getResults())
    if (ShardingAttr sharding = getSharding(result))
      constrain(builder, result, sharding);
  call->removeAttr(TPDialect::getShardingsAttrName());
}

namespace {
struct PrepareCallsPass : public tp::impl::PrepareCallsBase<PrepareCallsPass> {
  using PrepareCallsBase::PrepareCallsBase;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    // A function may have many calls, and is changed once.
    llvm::SetVector<func::FuncOp> called;
    SmallVector<func::CallOp> calls;
    getOperation().walk([&](func::CallOp call) {
      auto function = symbols.lookup<func::FuncOp>(call.getCallee());
      if (!function || function.isExternal())
        return;
      called.insert(function);
      calls.push_back(call);
    });
    for (func::FuncOp function : called) {
      if (function.isPrivate() && failed(check(function)))
        return signalPassFailure();
      constrainFunction(function);
    }
    for (func::CallOp call : calls)
      constrainResults(call);
  }

  static LogicalResult check(func::FuncOp function) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (failed(checkAttributes(function, "argument", i,
                                 function.getArgAttrsAttr())))
        return failure();
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (failed(checkAttributes(function, "result", i,
                                 function.getResAttrsAttr())))
        return failure();
    return success();
  }
};
} // namespace
