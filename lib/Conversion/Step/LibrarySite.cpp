//===- LibrarySite.cpp - A library's operation in the step ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See LibrarySite.h.
//
//===----------------------------------------------------------------------===//

#include "LibrarySite.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tp/Schedule/Epilogue.h"

using namespace mlir;
using namespace tp;

Value LibrarySite::getActual(Value value) const {
  if (!call)
    return value;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return call.getOperand(argument.getArgNumber());
  // What the epilogue makes of the operation's result takes its place.
  if (op->getNumResults() == 1)
    return call.getResult(0);
  Operation *end = op->getBlock()->getTerminator();
  for (OpOperand &returned : end->getOpOperands())
    if (returned.get() == value)
      return call.getResult(returned.getOperandNumber());
  return {};
}

ParameterOp LibrarySite::getPackedParameter() const {
  OpOperand *packed = op.getPackedOperand();
  return packed ? getActual(packed->get()).getDefiningOp<ParameterOp>()
                : ParameterOp();
}

SmallVector<Value> LibrarySite::getPlainOperands() const {
  OpOperand *packed = use.isPacked ? op.getPackedOperand() : nullptr;
  SmallVector<Value> operands;
  for (OpOperand &operand : op->getOpOperands())
    if (&operand != packed)
      operands.push_back(getActual(operand.get()));
  if (use.epilogue.residual)
    operands.push_back(getActual(use.epilogue.residual));
  return operands;
}

/// One operation of an epilogue, which reads `value`.
static LogicalResult readEpilogue(Operation *op, Value value,
                                  const EpilogueSet &known, LibrarySite &site,
                                  unsigned &step) {
  enum { Scaled = 1, Activated, Added } next;
  Epilogue &epilogue = site.use.epilogue;
  if (!llvm::is_contained(op->getOperands(), value))
    return op->emitOpError("expected to read what a GEMM computed before it");
  if (StringRef name = matchActivation(op, value); !name.empty()) {
    epilogue.activation = name;
    next = Activated;
  } else if (std::optional<Scale> scale = matchScale(op, value)) {
    std::optional<EpilogueSet> joins = site.op.getEpilogues(known);
    if (!joins || !joins->scale)
      return op->emitOpError("scales a GEMM: expected one ")
             << (known.scale ? "without a bias" : "of a target that scales");
    epilogue.scale = scale->factor;
    next = Scaled;
  } else if (isa<arith::AddFOp>(op) &&
             llvm::any_of(op->getOperands(), llvm::IsaPred<BlockArgument>)) {
    epilogue.residual = isa<BlockArgument>(op->getOperand(0))
                            ? op->getOperand(0)
                            : op->getOperand(1);
    next = Added;
  } else {
    return op->emitOpError("is not known in a GEMM");
  }
  if (next <= step)
    return op->emitOpError("expected scale, activation and sum of a GEMM in "
                           "this order, each at most once");
  step = next;
  return success();
}

/// Reads the body of a GEMM: a library's operation and what it does to the
/// result. The order in which a library does it is fixed.
static LogicalResult readBody(func::FuncOp callee, const EpilogueSet &known,
                              LibrarySite &site) {
  unsigned step = 0;
  Block &body = callee.getBody().front();
  Value value; // computed so far
  for (Operation &op : body.without_terminator()) {
    if (isa<arith::ConstantOp>(op))
      continue;
    if (site.op) {
      if (failed(readEpilogue(&op, value, known, site, step)))
        return failure();
    } else {
      site.op = dyn_cast<LibraryOpInterface>(op);
      if (!site.op)
        return op.emitOpError("expected an operation with a library form "
                              "first in a GEMM");
      if (!llvm::all_of(op.getOperands(), llvm::IsaPred<BlockArgument>))
        return op.emitOpError("expected to read arguments of its GEMM alone");
    }
    value = op.getResult(0);
  }
  if (!site.op)
    return callee.emitOpError("expected an operation with a library form in a "
                              "GEMM");
  Operation *end = body.getTerminator();
  if (end->getNumOperands() == 0 || end->getOperand(0) != value)
    return end->emitOpError("expected what a GEMM computes last");
  return success();
}

FailureOr<LibrarySite> tp::readLibrarySite(Operation *op,
                                           const Target &target) {
  LibrarySite site;
  if (auto call = dyn_cast<func::CallOp>(op)) {
    site.call = call;
    auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
        call, call.getCalleeAttr());
    if (failed(readBody(callee, target.getEpilogues(), site)))
      return failure();
  } else {
    site.op = cast<LibraryOpInterface>(op);
  }
  if (failed(site.op.verifyLibraryForm()))
    return failure();
  site.use.isPacked = site.getPackedParameter() != nullptr;
  StringRef function = site.op.getLibraryCall(site.use).name;
  if (!target.hasFunction(function))
    return site.op->emitOpError("is computed by '")
           << function << "', which target '" << target.getName()
           << "' has not: expected an operation with a function there, or "
              "another target";
  return site;
}
