//===- Canonicalize.cpp - Simpler forms of nn operations
//--------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Offsets of zero are none, and a dropout that keeps everything is its input.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "tp/Dialect/NN/IR/NNOps.h"

using namespace mlir;
using namespace tp::nn;

/// Drop the optional offset where it is zero: nothing else has to change.
template <typename Op>
static LogicalResult dropZeroOffset(Op op, PatternRewriter &rewriter) {
  if (!op.getOffset() || !matchPattern(op.getOffset(), m_Zero()))
    return failure();
  rewriter.modifyOpInPlace(op, [&] { op.getOffsetMutable().clear(); });
  return success();
}

LogicalResult RotaryTableOp::canonicalize(RotaryTableOp op,
                                          PatternRewriter &rewriter) {
  return dropZeroOffset(op, rewriter);
}

LogicalResult EmbeddingOp::canonicalize(EmbeddingOp op,
                                        PatternRewriter &rewriter) {
  if (failed(dropZeroOffset(op, rewriter)))
    return failure();
  // The table is the first part of a larger one, whose row is in another part.
  std::optional<int64_t> row = op.getPaddingRow();
  if (row && *row >= cast<ShapedType>(op.getTable().getType()).getDimSize(0))
    rewriter.modifyOpInPlace(op, [&] { op.removePaddingRowAttr(); });
  return success();
}

OpFoldResult DropoutOp::fold(FoldAdaptor) {
  return getProbability().isZero() ? getInput() : OpFoldResult();
}
