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

#include "mlir/Analysis/CallGraph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/Dialect/TP/IR/Phase.h"
#include "tp/Import/Passes.h"
#include "llvm/ADT/SCCIterator.h"
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

/// Errors at a call of what has no body.
static LogicalResult expectBody(func::CallOp call, func::FuncOp function) {
  if (!function.isExternal())
    return success();
  InFlightDiagnostic diag =
      call.emitOpError("cannot be inlined, as all calls are before sharding: ")
      << call.getCalleeAttr() << " has no body; define it in this module";
  diag.attachNote(function.getLoc()) << "declared here";
  return diag;
}

/// Operations that a program may have once its calls are inlined.
static constexpr int64_t maxOperations = int64_t(1) << 24;

/// Errors if a function calls itself, perhaps by way of others, or calls come
/// to more operations than memory would hold.
static LogicalResult expectInlinable(ModuleOp module,
                                     const SymbolTable &symbols) {
  const CallGraph graph(module);
  llvm::DenseMap<Operation *, int64_t> sizes;
  // Callees come before their callers.
  for (auto component = llvm::scc_begin(&graph); !component.isAtEnd();
       ++component) {
    const CallGraphNode *node = component->front();
    if (node->isExternal())
      continue;
    Operation *function = node->getCallableRegion()->getParentOp();
    if (component.hasCycle()) {
      // The first of them in the module.
      for (const CallGraphNode *other : *component)
        if (Operation *op = other->getCallableRegion()->getParentOp();
            op->isBeforeInBlock(function))
          function = op;
      return function->emitOpError(
          "calls itself, directly or by way of others: recursion cannot be "
          "inlined, as all calls are before sharding; write layers that repeat "
          "as tp.repeat");
    }
    int64_t size = 0;
    function->walk([&](Operation *op) {
      auto call = dyn_cast<func::CallOp>(op);
      size += call ? sizes.lookup(symbols.lookup(call.getCallee())) : 1;
      size = std::min(size, maxOperations);
    });
    sizes[function] = size;
    if (size == maxOperations)
      return function->emitOpError("expected at most ")
             << maxOperations
             << " operations once its calls are inlined; write layers that "
                "repeat as tp.repeat";
  }
  return success();
}

namespace {
struct PrepareCallsPass : public tp::impl::PrepareCallsBase<PrepareCallsPass> {
  using PrepareCallsBase::PrepareCallsBase;

  void runOnOperation() override {
    if (failed(expectGlobal(getOperation())))
      return signalPassFailure();
    SymbolTable symbols(getOperation());
    // A function may have many calls, and is changed once.
    llvm::SetVector<func::FuncOp> called;
    SmallVector<func::CallOp> calls;
    WalkResult walk = getOperation().walk([&](func::CallOp call) {
      auto function = symbols.lookup<func::FuncOp>(call.getCallee());
      if (function && failed(expectBody(call, function)))
        return WalkResult::interrupt();
      if (function) {
        called.insert(function);
        calls.push_back(call);
      }
      return WalkResult::advance();
    });
    if (walk.wasInterrupted() ||
        failed(expectInlinable(getOperation(), symbols)))
      return signalPassFailure();
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
