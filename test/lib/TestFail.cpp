//===- TestFail.cpp - A pass that fails -----------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tools' behaviour when a pass fails can only be tested with one that does.
//
//===----------------------------------------------------------------------===//

#include "TestPasses.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace {
struct FailPass : PassWrapper<FailPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FailPass)

  StringRef getArgument() const final { return "test-tp-fail"; }
  StringRef getDescription() const final { return "fail"; }
  void runOnOperation() override {
    getOperation().emitError("failed, because it was told to");
    signalPassFailure();
  }
};
} // namespace

void tp::test::registerFailPass() { PassRegistration<FailPass>(); }
