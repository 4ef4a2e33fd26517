//===- Heads.h - Cuts that must fall between heads --------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Head counts come from the attention operation, not from names: the
// projections that feed it are followed back to their weights.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_ANNOTATE_HEADS_H
#define TP_LIB_ANNOTATE_HEADS_H

#include "mlir/IR/BuiltinOps.h"
#include "tp/Sharding/Sharding.h"

namespace tp {

/// Check every attention whose projections' weights are annotated, and cut the
/// annotations of key and value projections with fewer heads than ranks down to
/// the leading sub-axis that the heads allow, so that neighbouring ranks share
/// a head. A cache that is a state without a sharding gets that of the
/// projection which fills it. Emits an error with the degrees that fit where
/// the heads do not.
mlir::LogicalResult fitHeads(mlir::ModuleOp module, const Mesh &mesh);

} // namespace tp

#endif // TP_LIB_ANNOTATE_HEADS_H
