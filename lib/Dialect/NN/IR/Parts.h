//===- Parts.h - What decompositions and derivatives share -------*- C++
//-*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statistics and probabilities that an operation's definition computes and its
// derivative needs again.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_DIALECT_NN_IR_PARTS_H
#define TP_LIB_DIALECT_NN_IR_PARTS_H

#include "Emitter.h"
#include "tp/Dialect/NN/IR/NNOps.h"

namespace tp::nn {

/// Sum or maximum over the last dimension, in the wide type.
mlir::Value reduceRows(Emitter &emitter, Combine combine,
                       llvm::ArrayRef<Operand> operands, mlir::Value shaped,
                       Body body);

/// 1 / sqrt(mean(x²) + epsilon) of each row.
mlir::Value computeRmsRstd(Emitter &emitter, RMSNormOp op);
/// Mean and 1 / sqrt(var + epsilon) of each row.
std::pair<mlir::Value, mlir::Value> computeMeanRstd(Emitter &emitter,
                                                    LayerNormOp op);
/// log(sum(exp(x))) of each row of the logits.
mlir::Value computeLse(Emitter &emitter, CrossEntropyOp op);

/// Attention as [b, s, g, r, t] over KV heads g and the queries r of each.
struct AttentionParts {
  /// [b, s, g, r, d] views of query and result-shaped values.
  mlir::Value query;
  /// exp(score - max), zero where a key is not seen: [b, s, g, r, t].
  mlir::Value weights;
  /// Sum of the weights and the maximum that they are relative to:
  /// [b, s, g, r]. A query that sees no key has the sum 0 and the maximum 0.
  mlir::Value sum, max;
};
AttentionParts computeAttention(Emitter &emitter, AttentionOp op);
/// `value`[b, s, hq, ...] as [b, s, g, r, ...].
mlir::Value splitHeads(Emitter &emitter, AttentionOp op, mlir::Value value);

} // namespace tp::nn

#endif // TP_LIB_DIALECT_NN_IR_PARTS_H
