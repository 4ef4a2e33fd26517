//===- Kept.h - What a plan keeps for a derivative --------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Differentiate decides what of a layer is kept without knowing what a
// collective costs. Rules with "kept" change that: a value that the derivative
// would compute again, and gather again, is kept as the rule cuts it.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_ANNOTATE_KEPT_H
#define TP_LIB_ANNOTATE_KEPT_H

#include "tp/Dialect/TP/IR/TPOps.h"

namespace tp {

/// Keep what `isWanted` of the values that a layer's derivative computes again:
/// each becomes a stack, and the operation that repeated it goes.
void keepValues(mlir::ModuleOp module,
                llvm::function_ref<bool(mlir::OpResult)> isWanted);

/// The value of the layer, if `stack` is kept: a stacked result that the loop
/// in the other direction reads. Statistics, which are further results, are
/// none.
mlir::OpResult getKeptValue(mlir::OpResult stack);

} // namespace tp

#endif // TP_LIB_ANNOTATE_KEPT_H
