//===- Parts.h - What the operations' files share ---------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How verifiers say what they expect, how rules are put together, and
// statistics that an operation's definition computes and its derivative needs
// again.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_DIALECT_NN_IR_PARTS_H
#define TP_LIB_DIALECT_NN_IR_PARTS_H

#include "tp/Dialect/NN/IR/Emitter.h"
#include "tp/Dialect/NN/IR/NNOps.h"

namespace tp::nn {

//===----------------------------------------------------------------------===//
// Verifiers: an error that names the operand `what`, with a note where it is
// made
//===----------------------------------------------------------------------===//

llvm::LogicalResult expectShape(mlir::Operation *op, llvm::StringRef what,
                                mlir::Value value,
                                llvm::ArrayRef<int64_t> expected);
llvm::LogicalResult expectElement(mlir::Operation *op, llvm::StringRef what,
                                  mlir::Value value, mlir::Type expected);
llvm::LogicalResult expect(mlir::Operation *op, llvm::StringRef what,
                           mlir::Value value, llvm::ArrayRef<int64_t> shape,
                           mlir::Type element);
llvm::LogicalResult expectRank(mlir::Operation *op, llvm::StringRef what,
                               mlir::Value value, int64_t expected);
llvm::LogicalResult expectLastDimension(mlir::Operation *op,
                                        llvm::StringRef what,
                                        mlir::Value value);
mlir::Type getF32(mlir::Operation *op);
/// `row`, if there is one, is a row of the table that the ids look up: one of
/// `numRows`, or of a larger table where there is an offset.
llvm::LogicalResult expectPaddingRow(mlir::Operation *op,
                                     std::optional<int64_t> row,
                                     mlir::Value ids, int64_t numRows,
                                     mlir::Value offset);

//===----------------------------------------------------------------------===//
// Rules: a tensor as the factors of each of its dimensions; padding
//===----------------------------------------------------------------------===//

using Dims = llvm::SmallVector<llvm::SmallVector<unsigned, 2>, 4>;

/// A parallel factor for each of the dimensions before the last; two of them
/// are called b and s.
Dims addRows(ShardingRule &rule, llvm::ArrayRef<int64_t> sizes);
Dims with(Dims dims, unsigned factor);
void addOperand(ShardingRule &rule, Dims dims, Linearity linearity);
void addResult(ShardingRule &rule, Dims dims);

inline bool isZero(PadState state) { return state == PadState::Zero; }

/// `offset` (may be null) plus where this rank's part of `factor` begins.
mlir::Value addOffset(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value offset, const LocalContext &context,
                      unsigned factor);

//===----------------------------------------------------------------------===//
// Statistics
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Activations of one element
//===----------------------------------------------------------------------===//

mlir::Value gelu(Scalar &e, mlir::Value x, GeluKind kind);
mlir::Value silu(Scalar &e, mlir::Value x);
/// Their derivatives.
mlir::Value geluSlope(Scalar &e, mlir::Value x, GeluKind kind);
mlir::Value siluSlope(Scalar &e, mlir::Value x);

} // namespace tp::nn

#endif // TP_LIB_DIALECT_NN_IR_PARTS_H
