//===- VerifyPartitioned.cpp - tp-verify-partitioned ----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contract at the end of partition: every local value is what its sharding
// says, and every collective is in the ledger once: neighbours with one id are
// one call.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/Partition/Derive.h"
#include "tp/Partition/Passes.h"

namespace tp {
#define GEN_PASS_DEF_VERIFYPARTITIONED
#include "tp/Partition/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// States were derived from the rules that are written: they must be right.
static LogicalResult verifyRules(func::FuncOp function) {
  WalkResult walk = function.walk([](Operation *op) {
    if (!op->hasAttr(TPDialect::getRuleAttrName()))
      return WalkResult::advance();
    std::string problem = checkRule(op);
    if (problem.empty())
      return WalkResult::advance();
    op->emitOpError() << problem;
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

/// `op` and the collectives before it that are one call with it can be one.
static WalkResult verifyCall(CollectiveOpInterface op) {
  for (CollectiveOpInterface other : getCall(op)) {
    if (other == op)
      break;
    bool isApart = op->getOperand(0).getDefiningOp() != other;
    if (isApart && areOfOneKind(op, other))
      continue;
    InFlightDiagnostic diagnostic =
        op->emitOpError()
        << "expected what is one call by its id in the ledger to be "
           "all-reduces of one kind, axes and element type, none of another's "
           "result";
    diagnostic.attachNote(other->getLoc()) << "the call has this one";
    return WalkResult::interrupt();
  }
  return WalkResult::advance();
}

LogicalResult tp::verifyPartitioned(ModuleOp module) {
  MeshOp meshOp = getUniqueMesh(module);
  if (!meshOp)
    return module.emitError("expected the module to have exactly one tp.mesh");
  Mesh mesh = meshOp.getMesh().toMesh();
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    LocalStates states;
    if (failed(deriveStates(function, mesh, states)) ||
        failed(verifyRules(function)))
      return failure();
  }
  DenseMap<int64_t, Operation *> ids;
  WalkResult walk = module.walk([&](CollectiveOpInterface op) {
    LedgerAttr entry = op.getLedgerEntry();
    if (!entry) {
      op->emitOpError("expected an entry in the ledger, got none");
      return WalkResult::interrupt();
    }
    auto [place, inserted] = ids.try_emplace(entry.getId(), op);
    if (inserted)
      return WalkResult::advance();
    if (!beginsCall(op)) {
      place->second = op;
      return verifyCall(op);
    }
    InFlightDiagnostic diagnostic =
        op->emitOpError() << "expected an id of its own in the ledger, got "
                          << entry.getId() << " twice";
    diagnostic.attachNote(place->second->getLoc()) << "it is used here";
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

namespace {
struct VerifyPartitioned : tp::impl::VerifyPartitionedBase<VerifyPartitioned> {
  void runOnOperation() override {
    if (failed(verifyPartitioned(getOperation())))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
