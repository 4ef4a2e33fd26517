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
#include "llvm/ADT/StringSet.h"

namespace tp {
#define GEN_PASS_DEF_VERIFYCOLLECTIVES
#include "tp/Collectives/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// How often `op` runs each time that the body of `scope` does.
static int64_t getRunsWithin(Operation *op, Operation *scope) {
  int64_t runs = 1;
  for (auto repeat = op->getParentOfType<RepeatOp>();
       repeat && repeat != scope && scope->isAncestor(repeat);
       repeat = repeat->getParentOfType<RepeatOp>())
    runs *= repeat.getCount();
  return runs;
}

namespace {
/// The budget of a function or a repeated layer.
class BudgetCheck {
public:
  BudgetCheck(Operation *scope, CommBudgetAttr budget);
  LogicalResult run();

private:
  LogicalResult check(CommLimitAttr limit, bool isListed);
  InFlightDiagnostic begin(CollectiveOpInterface culprit);
  void expect(InFlightDiagnostic &diagnostic, CommLimitAttr limit);
  void explain(InFlightDiagnostic &diagnostic, CollectiveOpInterface culprit,
               bool isListed);

  static StringRef kindOf(CollectiveOpInterface op) {
    return op.getRow().operation;
  }
  bool isFor(CommLimitAttr limit, CollectiveOpInterface op) const {
    StringRef kind = limit.getKind().getValue();
    return kind == "any" ? !listed.contains(kindOf(op)) : kind == kindOf(op);
  }
  /// "tp.all_reduce", "any collective", or "any other collective" in a list.
  std::string name(CommLimitAttr limit) const {
    StringRef kind = limit.getKind().getValue();
    if (kind != "any")
      return "tp." + kind.str();
    return listed.empty() ? "any collective" : "any other collective";
  }
  /// "1 call of tp.all_reduce"
  std::string countCalls(int64_t count, CommLimitAttr limit) const {
    return std::to_string(count) + (count == 1 ? " call of " : " calls of ") +
           name(limit);
  }

  Operation *scope;
  CommBudgetAttr budget;
  /// The kinds with a limit of their own; `any` is for the others.
  llvm::StringSet<> listed;
  SmallVector<CollectiveOpInterface> collectives;
};
} // namespace

BudgetCheck::BudgetCheck(Operation *scope, CommBudgetAttr budget)
    : scope(scope), budget(budget) {
  for (CommLimitAttr limit : budget.getLimits())
    if (limit.getKind().getValue() != "any")
      listed.insert(limit.getKind().getValue());
  scope->walk<WalkOrder::PreOrder>(
      [&](CollectiveOpInterface op) { collectives.push_back(op); });
}

InFlightDiagnostic BudgetCheck::begin(CollectiveOpInterface culprit) {
  InFlightDiagnostic diagnostic = culprit->emitOpError();
  // Locations in a file are printed before the text anyway.
  std::string place = toString(culprit->getLoc());
  if (!culprit->getLoc()->findInstanceOf<FileLineColLoc>() && !place.empty())
    diagnostic << "at " << place << " ";
  diagnostic << "exceeds the communication budget: expected ";
  return diagnostic;
}

void BudgetCheck::expect(InFlightDiagnostic &diagnostic, CommLimitAttr limit) {
  if (limit.getCount() == 0) {
    std::string all = name(limit);
    StringRef what = all;
    what.consume_front("any ");
    diagnostic << "no " << what;
    return;
  }
  if (limit.getCount() > 0)
    diagnostic << "at most " << countCalls(limit.getCount(), limit);
  if (limit.getBytes() < 0)
    return;
  if (limit.getCount() > 0)
    diagnostic << " and " << limit.getBytes() << " bytes";
  else
    diagnostic << "at most " << limit.getBytes() << " bytes of " << name(limit);
}

void BudgetCheck::explain(InFlightDiagnostic &diagnostic,
                          CollectiveOpInterface culprit, bool isListed) {
  LedgerAttr entry = culprit.getLedgerEntry();
  diagnostic << "; its cause is: " << entry.getCause().getValue();
  StringRef annotation = entry.getAnnotation().getValue();
  if (annotation != "none" && !annotation.empty())
    diagnostic << "; without the annotation '" << annotation
               << "' it is not needed";
  Diagnostic &note = diagnostic.attachNote(scope->getLoc());
  note << "the budget of this "
       << (isa<RepeatOp>(scope) ? "repeated layer" : "function") << " is "
       << budget;
  if (!isListed)
    note << ", which forbids what it does not list; '" << kindOf(culprit)
         << " unlimited' in it, or 'any unlimited' for all others, allows it";
}

LogicalResult BudgetCheck::check(CommLimitAttr limit, bool isListed) {
  int64_t count = 0, bytes = 0;
  CollectiveOpInterface culprit;
  for (CollectiveOpInterface op : collectives) {
    if (!isFor(limit, op))
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
  InFlightDiagnostic diagnostic = begin(culprit);
  expect(diagnostic, limit);
  diagnostic << ", got " << countCalls(count, limit) << " and " << bytes
             << " bytes";
  explain(diagnostic, culprit, isListed);
  return diagnostic;
}

LogicalResult BudgetCheck::run() {
  bool hasAny = false;
  for (CommLimitAttr limit : budget.getLimits()) {
    hasAny |= limit.getKind().getValue() == "any";
    if (failed(check(limit, /*isListed=*/true)))
      return failure();
  }
  if (hasAny)
    return success();
  // A kind that is not listed is forbidden, each kind by its own name.
  for (CollectiveOpInterface op : collectives) {
    if (listed.contains(kindOf(op)))
      continue;
    auto none = CommLimitAttr::get(
        scope->getContext(), StringAttr::get(scope->getContext(), kindOf(op)),
        0, 0);
    if (failed(check(none, /*isListed=*/false)))
      return failure();
  }
  return success();
}

static LogicalResult checkBudgets(ModuleOp module) {
  WalkResult walk = module.walk<WalkOrder::PreOrder>([&](Operation *scope) {
    auto budget = scope->getAttrOfType<CommBudgetAttr>(
        TPDialect::getCommBudgetAttrName());
    if (!budget)
      return WalkResult::advance();
    return WalkResult(BudgetCheck(scope, budget).run());
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
