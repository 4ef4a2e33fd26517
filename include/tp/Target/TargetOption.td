//===- TargetOption.td - Passes that ask a target ---------*- tablegen -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The option of passes whose result depends on the target.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TARGET_TARGETOPTION_TD
#define TP_TARGET_TARGETOPTION_TD

include "mlir/Pass/PassBase.td"

def TP_TargetOption : Option<"target", "target", "::tp::TargetHandle",
  "::tp::TargetHandle()", "what to make code for, as tp-compile takes it">;

#endif // TP_TARGET_TARGETOPTION_TD
