//===- InitDialects.h - Registration of dialects ----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration for every tool that reads IR. It links no pass, so that a tool
// that runs its own pipeline has that alone.
//
//===----------------------------------------------------------------------===//

#ifndef TP_INITDIALECTS_H
#define TP_INITDIALECTS_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace tp {

/// The table of targets (tp/Target/Target.h).
void registerAllTargets();

/// The tp and nn dialects, the upstream dialects that programs use, and the
/// interfaces' implementations; the targets too.
void registerAllDialects(mlir::DialectRegistry &registry);

} // namespace tp

#endif // TP_INITDIALECTS_H
