//===- VerifyCollectives.cpp - tp-verify-collectives ----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contract at the end of the stage: a valid per-rank program within the
// communication that its author allowed.
//
//===----------------------------------------------------------------------===//

#include "tp/Collectives/Passes.h"
#include "tp/Ledger/Ledger.h"
#include "tp/Partition/Derive.h"
#include "tp/Resolve/Provenance.h"
#include "tp/Support/Bytes.h"

namespace tp {
#define GEN_PASS_DEF_VERIFYCOLLECTIVES
#include "tp/Collectives/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// "1 call of tp.all_reduce"
static std::string countCalls(int64_t count, StringRef kind) {
  std::string calls = std::to_string(count) + (count == 1 ? " call" : " calls");
  return kind == "any" ? calls + " of any collective"
                       : calls + " of tp." + kind.str();
}

/// How often `op` runs each time that the body of `scope` does.
static int64_t getRunsWithin(Operation *op, Operation *scope) {
  int64_t runs = 1;
  for (auto repeat = op->getParentOfType<RepeatOp>();
       repeat && repeat != scope && scope->isAncestor(repeat);
       repeat = repeat->getParentOfType<RepeatOp>())
    runs *= repeat.getCount();
  return runs;
}

static LogicalResult checkLimit(Operation *scope, CommLimitAttr limit,
                                ArrayRef<CollectiveOpInterface> collectives) {
  StringRef kind = limit.getKind().getValue();
  int64_t count = 0, bytes = 0;
  CollectiveOpInterface culprit;
  for (CollectiveOpInterface op : collectives) {
    if (kind != "any" && kind != StringRef(op.getRow().operation))
      continue;
    int64_t runs = getRunsWithin(op, scope);
    count += beginsCall(op) ? runs : 0;
    bytes += runs * getTensorBytes(getLogicalType(op));
    bool exceeds = (limit.getCount() >= 0 && count > limit.getCount()) ||
                   (limit.getBytes() >= 0 && bytes > limit.getBytes());
    if (exceeds && !culprit)
      culprit = op;
  }
  if (!culprit)
    return success();
  LedgerAttr entry = culprit.getLedgerEntry();
  InFlightDiagnostic diagnostic = culprit->emitOpError();
  // Locations in a file are printed before the text anyway.
  std::string place = toString(culprit->getLoc());
  if (!culprit->getLoc()->findInstanceOf<FileLineColLoc>() && !place.empty())
    diagnostic << "at " << place << " ";
  diagnostic << "exceeds the communication budget: expected ";
  bool isNone = limit.getCount() == 0;
  if (isNone)
    diagnostic << "no " << (kind == "any" ? "collective" : "tp." + kind.str());
  else if (limit.getCount() >= 0)
    diagnostic << "at most " << countCalls(limit.getCount(), kind);
  if (!isNone && limit.getBytes() >= 0)
    diagnostic << (limit.getCount() >= 0 ? " and " : "at most ")
               << limit.getBytes() << " bytes"
               << (limit.getCount() >= 0 ? std::string()
                                         : " of tp." + kind.str());
  diagnostic << ", got " << countCalls(count, kind) << " and " << bytes
             << " bytes; its cause is: " << entry.getCause().getValue();
  StringRef annotation = entry.getAnnotation().getValue();
  if (annotation != "none" && !annotation.empty())
    diagnostic << "; without the annotation '" << annotation
               << "' it is not needed";
  diagnostic.attachNote(scope->getLoc())
      << "the budget of this "
      << (isa<RepeatOp>(scope) ? "repeated layer" : "function") << " is "
      << scope->getAttr(TPDialect::getCommBudgetAttrName());
  return diagnostic;
}

static LogicalResult checkBudgets(ModuleOp module) {
  WalkResult walk = module.walk<WalkOrder::PreOrder>([&](Operation *scope) {
    auto budget = scope->getAttrOfType<CommBudgetAttr>(
        TPDialect::getCommBudgetAttrName());
    if (!budget)
      return WalkResult::advance();
    SmallVector<CollectiveOpInterface> collectives;
    scope->walk<WalkOrder::PreOrder>(
        [&](CollectiveOpInterface op) { collectives.push_back(op); });
    for (CommLimitAttr limit : budget.getLimits())
      if (failed(checkLimit(scope, limit, collectives)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

namespace {
struct VerifyCollectives : tp::impl::VerifyCollectivesBase<VerifyCollectives> {
  void runOnOperation() override {
    if (failed(verifyPartitioned(getOperation())) ||
        failed(checkBudgets(getOperation())))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
