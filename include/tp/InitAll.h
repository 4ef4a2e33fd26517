//===- InitAll.h - Registration of dialects and passes ----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything a tool must register to read, transform and test IR.
//
//===----------------------------------------------------------------------===//

#ifndef TP_INITALL_H
#define TP_INITALL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace tp {

/// The table of targets (tp/Target/Target.h).
void registerAllTargets();

/// The tp and nn dialects, the upstream dialects that programs use, and the
/// interfaces' implementations; the targets too.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Our passes and pipelines, and the upstream passes that tests need.
void registerAllPasses();

} // namespace tp

#endif // TP_INITALL_H
