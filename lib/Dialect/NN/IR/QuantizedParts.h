//===- QuantizedParts.h - What quantised elements mean ----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The definition of nn.dequantize on elements of their own types, which the
// interpreter executes, and on the bytes that they are stored in, which is what
// lowering needs: upstream neither stores four bits in four nor converts floats
// of eight bits on a processor.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_DIALECT_NN_IR_QUANTIZEDPARTS_H
#define TP_LIB_DIALECT_NN_IR_QUANTIZEDPARTS_H

#include "Parts.h"
#include "tp/Dialect/NN/IR/Quantized.h"
#include "llvm/Support/JSON.h"

namespace tp::nn {

/// A quantised tensor of element type `element` and logical shape `shape`;
/// `values` are those elements, or their bytes (see nn.quantized_linear).
struct QuantizedTensor {
  llvm::SmallVector<int64_t> shape;
  mlir::Type element;
  mlir::Value values, scales, zeros, groups;
  llvm::ArrayRef<int64_t> group;
  int64_t packed = 0; ///< groups of a block of scales; 0: there are no blocks
};

QuantizedTensor getQuantized(DequantizeOp op);
QuantizedTensor getQuantized(QuantizedLinearOp op);

/// Adds the factors of a tensor of `shape` whose groups share a scale: those of
/// its dimensions go to `values`, those that the scales have to `scales`.
void addGroups(ShardingRule &rule, llvm::ArrayRef<int64_t> shape,
               llvm::ArrayRef<int64_t> group, Dims &values, Dims &scales);

/// Adds an operand that is not cut.
void addWhole(ShardingRule &rule, mlir::Value operand);

/// The rows of a table that ids name, zeros for ids that are not there; `read`
/// gives the element at an index of the table.
mlir::Value buildLookUp(
    mlir::OpBuilder &builder, EmbeddingOp op,
    llvm::function_ref<mlir::Value(Scalar &, llvm::ArrayRef<mlir::Value>)>
        read);

/// Scales, zeros and groups must fit the shape.
llvm::LogicalResult verifyQuantized(mlir::Operation *op,
                                    const QuantizedTensor &tensor);

/// An element type as the manifest says it.
llvm::StringRef getQuantizedName(mlir::Type type);

/// A matrix as the manifest says it.
llvm::json::Object describeQuantized(mlir::Type element, mlir::Value scales,
                                     mlir::Value zeros,
                                     llvm::ArrayRef<int64_t> group,
                                     int64_t packed);

/// The largest number of an element type that activations are quantised to.
double getLargest(mlir::Type element);

/// nn.dequantize of nn.quantize, f32, without the elements between.
mlir::Value buildRounded(Emitter &emitter, QuantizeOp op);
/// The elements of nn.quantize.
mlir::Value buildQuantized(Emitter &emitter, QuantizeOp op);

/// The byte of the element nearest to `value` / `scale`, f32: see nn.quantize.
mlir::Value encodeByte(Scalar &e, mlir::Value value, mlir::Value scale,
                       mlir::Type element);
/// The number of an element of eight bits, f32.
mlir::Value decodeByte(Scalar &e, mlir::Value byte, mlir::Type element);

//===----------------------------------------------------------------------===//
// Caches
//===----------------------------------------------------------------------===//

/// The elements that a cache may have.
llvm::LogicalResult verifyCacheElement(mlir::Operation *op, mlir::Type element);

/// The factors of scales [cells, heads] of a pool, either of which may be 1.
Dims getScaleDims(mlir::Value scales, llvm::ArrayRef<int64_t> pool,
                  unsigned cells, unsigned heads);

/// The tensor's numbers, f32.
mlir::Value buildDequantized(Emitter &emitter, const QuantizedTensor &tensor);

} // namespace tp::nn

#endif // TP_LIB_DIALECT_NN_IR_QUANTIZEDPARTS_H
