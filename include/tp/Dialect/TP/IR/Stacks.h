//===- Stacks.h - More stacks of a repeated layer ---------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A layer's value reaches another loop as a stack: a result of the first, a
// stacked operand of the second.
//
//===----------------------------------------------------------------------===//

#ifndef TP_DIALECT_TP_IR_STACKS_H
#define TP_DIALECT_TP_IR_STACKS_H

#include "tp/Dialect/TP/IR/TPOps.h"

namespace tp {

/// The type of a stack of `count` tensors of type `slice`.
mlir::RankedTensorType getStackType(mlir::Type slice, int64_t count);

/// `op` with `values` of its body as further stacked results, which are its
/// last. Uses, body and annotations move there; `op` is left without a body,
/// for the caller to erase.
RepeatOp stackResults(RepeatOp op, mlir::ValueRange values);

} // namespace tp

#endif // TP_DIALECT_TP_IR_STACKS_H
