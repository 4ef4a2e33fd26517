//===- Views.h - Tensors that share memory ----------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reshapes and contiguous slices cost nothing: they are the memory of what they
// view, further on by some elements.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SCHEDULE_VIEWS_H
#define TP_SCHEDULE_VIEWS_H

#include "tp/Dialect/TP/IR/TPOps.h"

namespace tp {

/// True for an operation whose result is contiguous memory of its operand 0; of
/// states that are joined, memory that begins there.
bool isView(mlir::Operation *op);

/// A tensor whose memory is that of another tensor.
struct ViewedTensor {
  mlir::Value root;       ///< not made by a view
  int64_t byteOffset = 0; ///< into the root
};
ViewedTensor getViewedTensor(mlir::Value value);

/// Part of a tensor's memory: [begin, end).
struct Bytes {
  int64_t begin, end;
};
/// The place that `bytes` of the operand `use` of a view have in its result;
/// nothing if that views none of them.
std::optional<Bytes> getViewedBytes(mlir::OpOperand &use, Bytes bytes);

/// True if `state` is declared, and so lies in memory, right behind `before`.
bool liesBehind(StateOp state, StateOp before);

} // namespace tp

#endif // TP_SCHEDULE_VIEWS_H
