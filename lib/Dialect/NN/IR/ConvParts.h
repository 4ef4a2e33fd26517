//===- ConvParts.h - What causal convolutions have in common ----*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nn.causal_conv, of whole sequences, and nn.paged_conv, of tokens in a step,
// differ in where the inputs of earlier positions are. What they make of these
// is here.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_DIALECT_NN_IR_CONVPARTS_H
#define TP_LIB_DIALECT_NN_IR_CONVPARTS_H

#include "PagedParts.h"

namespace tp::nn {

/// Expects input[., ., c], weight[c, 1, k], bias[c] (which may be null) and a
/// result like the input, all of one element type.
llvm::LogicalResult verifyConv(mlir::Operation *op, mlir::Value input,
                               mlir::Value weight, mlir::Value bias,
                               mlir::Value result);

/// The k entries of `weight` of the channel that `channel` names, and behind
/// them its bias, if there is one: operands of a loop nest.
llvm::SmallVector<Operand> listTaps(Emitter &emitter, mlir::Value weight,
                                    mlir::Value bias, mlir::AffineExpr channel);

/// The sum of the products of `taps`, the weight's entries, and inputs, plus
/// `bias` (which may be null). `inputAt` gives the input so many positions
/// back, in the wide type; the last entry meets the position itself.
mlir::Value sumTaps(Scalar &e, mlir::ValueRange taps, mlir::Value bias,
                    llvm::function_ref<mlir::Value(unsigned)> inputAt);

} // namespace tp::nn

#endif // TP_LIB_DIALECT_NN_IR_CONVPARTS_H
