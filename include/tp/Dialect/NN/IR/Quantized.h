//===- Quantized.h - Quantised tensors in memory ----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A quantised tensor lies in memory as bytes: each row (the last dimension)
// begins with a byte, and elements of four bits are two to a byte, the first in
// the low bits.
//
//===----------------------------------------------------------------------===//

#ifndef TP_DIALECT_NN_IR_QUANTIZED_H
#define TP_DIALECT_NN_IR_QUANTIZED_H

#include "tp/Dialect/NN/IR/NNOps.h"

namespace tp::nn {

/// Marks a product whose input holds only integers from -127 to 127, so that
/// bytes may be multiplied by bytes.
inline constexpr llvm::StringLiteral integerInputAttrName = "tp.integer_input";

/// Bytes of a row of `size` elements.
int64_t getRowBytes(mlir::Type element, int64_t size);

/// The type of a tensor's bytes: tensor<64x33xi4> gives tensor<64x17xi8>.
mlir::RankedTensorType getStorageType(mlir::RankedTensorType type);

/// Returns whether tensors of such elements are bytes once they are in memory.
bool isStoredInBytes(mlir::Type element);

/// A StoredWeight is one as it lies in memory: bytes of its elements, scales
/// and zero points of as many groups in a block (`packed` of
/// nn.quantized_linear).
struct StoredWeight {
  mlir::Value values, scales, zeros;
  int64_t packed = 0;
};

/// Returns what nn.dequantize makes of a weight in memory, by loops.
mlir::Value unpack(mlir::OpBuilder &builder, DequantizeOp op,
                   const StoredWeight &stored);

/// Returns how many groups of a weight have a block of scales that may stay
/// packed: all blocks are whole in a rank's part. 0: they may not. It is the
/// same of the three matrices of experts.
int64_t getPackedGroups(DequantizeOp op);

/// Removes the attribute `tp.packed_groups` from parameters that will not stay
/// packed; where `packs` is false, from all.
void settlePackedGroups(mlir::Operation *root, bool packs);

/// Replaces a look-up in the table that `op` makes of `stored` by loops that
/// dequantise the rows that are looked up alone.
mlir::Value lookUp(mlir::OpBuilder &builder, EmbeddingOp embedding,
                   DequantizeOp op, const StoredWeight &stored);

/// Returns whether each token, or all of them, have one scale.
bool hasTokenScales(QuantizeOp op);

/// The product of what `op`, which has such scales, makes of `linear`'s input:
/// elements are multiplied as numbers in bf16, which has the bits for all of
/// them, and the products are scaled.
mlir::Value multiplyElements(mlir::OpBuilder &builder, LinearOp linear,
                             QuantizeOp op);

/// Returns what nn.dequantize makes of `op` by its own scales and groups, as
/// loops that round each number.
mlir::Value round(mlir::OpBuilder &builder, QuantizeOp op);

} // namespace tp::nn

#endif // TP_DIALECT_NN_IR_QUANTIZED_H
