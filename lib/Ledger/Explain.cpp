//===- Explain.cpp - tp-explain -------------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass that prints the ledger.
//
//===----------------------------------------------------------------------===//

#include "tp/Ledger/Ledger.h"
#include "tp/Ledger/Passes.h"

namespace tp {
#define GEN_PASS_DEF_EXPLAINLEDGER
#include "tp/Ledger/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

LogicalResult tp::explain(ModuleOp module, raw_ostream &stream,
                          ExplainFormat format) {
  FailureOr<LedgerReport> report = readLedger(module);
  if (failed(report))
    return failure();
  print(*report, stream, format);
  return success();
}

namespace {
struct ExplainLedger : tp::impl::ExplainLedgerBase<ExplainLedger> {
  using ExplainLedgerBase::ExplainLedgerBase;
  void runOnOperation() override {
    if (failed(explain(getOperation(), llvm::outs(),
                       json ? ExplainFormat::Json : ExplainFormat::Table)))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
