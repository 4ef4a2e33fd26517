//===- LibrarySite.cpp - A library's operation in the step ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See LibrarySite.h.
//
//===----------------------------------------------------------------------===//

#include "LibrarySite.h"

#include "tp/Conversion/Step/LibraryFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tp/Schedule/Epilogue.h"

using namespace mlir;
using namespace tp;

Value LibrarySite::getActual(Value value) const {
  if (!call)
    return value;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return call.getOperand(argument.getArgNumber());
  // The epilogue's value takes the place of the operation's result.
  if (op->getNumResults() == 1)
    value = last;
  Operation *end = op->getBlock()->getTerminator();
  for (OpOperand &returned : end->getOpOperands())
    if (returned.get() == value)
      return call.getResult(returned.getOperandNumber());
  return {};
}

SmallVector<Value> LibrarySite::getOperands() const {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(getActual(operand));
  if (use.epilogue.residual)
    operands.push_back(getActual(use.epilogue.residual));
  return operands;
}

/// Reads the body of a GEMM: library's operations, each with what is done to
/// its result. The order in which a library does it is fixed.
static LogicalResult readBody(func::CallOp call, const EpilogueSet &known,
                              SmallVectorImpl<LibrarySite> &sites) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      call, call.getCalleeAttr());
  std::optional<EpilogueReader> reader;
  Block &body = callee.getBody().front();
  for (Operation &op : body.without_terminator()) {
    if (isa<arith::ConstantOp>(op))
      continue;
    if (auto library = dyn_cast<LibraryOpInterface>(op)) {
      if (!llvm::all_of(op.getOperands(), llvm::IsaPred<BlockArgument>))
        return op.emitOpError("expected to read arguments of its GEMM alone");
      sites.push_back({library, call});
      reader.emplace(library, known);
    } else if (sites.empty()) {
      return op.emitOpError("expected an operation with a library form "
                            "first in a GEMM");
    } else if (failed(reader->add(&op))) {
      return failure();
    }
    sites.back().use.epilogue = reader->epilogue;
    sites.back().last = reader->last;
  }
  if (sites.empty())
    return callee.emitOpError("expected an operation with a library form in a "
                              "GEMM");
  Operation *end = body.getTerminator();
  if (end->getNumOperands() < sites.size() ||
      !llvm::all_of(llvm::enumerate(sites), [&](auto site) {
        return end->getOperand(site.index()) == site.value().last;
      }))
    return end->emitOpError("expected what a GEMM computes last");
  return success();
}

static LogicalResult expectFunction(Operation *op, StringRef function,
                                    const Target &target) {
  if (target.hasFunction(function))
    return success();
  return op->emitOpError("is computed by '")
         << function << "', which target '" << target.getName()
         << "' has not: expected an operation with a function there, or "
            "another target";
}

/// The runtime must be able to compute in one call what one call is to compute.
static LogicalResult verifyJoined(ArrayRef<LibrarySite> sites,
                                  const Target &target) {
  auto getForm = [](const LibrarySite &site) {
    return site.op.getJoinedForm();
  };
  std::optional<JoinedForm> first = getForm(sites.front());
  for (const LibrarySite &site : sites) {
    std::optional<JoinedForm> form = getForm(site);
    if (!form || !first || form->slot != first->slot ||
        form->shared->get() != first->shared->get())
      return site.op->emitOpError(
          "is in a GEMM with others: expected operations that one call of the "
          "runtime computes, all of which read the same operand");
  }
  return expectFunction(sites.front().op, first->name, target);
}

FailureOr<SmallVector<LibrarySite>> tp::readLibrarySites(Operation *op,
                                                         const Target &target) {
  SmallVector<LibrarySite> sites;
  if (auto call = dyn_cast<func::CallOp>(op)) {
    if (failed(readBody(call, target.getEpilogues(), sites)) ||
        (sites.size() > 1 && failed(verifyJoined(sites, target))))
      return failure();
  } else {
    sites.push_back({cast<LibraryOpInterface>(op)});
  }
  for (LibrarySite &site : sites) {
    if (failed(site.op.verifyLibraryForm()))
      return failure();
    if (failed(expectFunction(site.op, site.op.getLibraryCall(site.use).name,
                              target)))
      return failure();
  }
  return sites;
}

LogicalResult tp::checkLibraryFunctions(ModuleOp scheduled,
                                        const Target &target) {
  WalkResult walked = scheduled.walk([&](LibraryOpInterface op) -> WalkResult {
    // Epilogues and joined calls are functions that schedule chose by what the
    // target has; each operation has one of its own.
    return expectFunction(op, op.getLibraryCall({}).name, target);
  });
  return failure(walked.wasInterrupted());
}
