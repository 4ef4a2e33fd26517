//===- LaneEmitter.h - Scalar bodies as vector code -------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits the body of a linalg.generic for a number of neighbouring positions
// ("lanes") of its innermost loop. A value is uniform (one scalar for all
// lanes) or has a vector of its own per lane; index values remember that they
// count upwards by one, so that reading a tensor at them is one vector load.
// Narrow floats are computed in f32 and rounded after every operation, as the
// types say; nothing here calls a function.
//
//===----------------------------------------------------------------------===//

#ifndef TP_CONVERSION_ROWS_LANEEMITTER_H
#define TP_CONVERSION_ROWS_LANEEMITTER_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "tp/Rules/Combiner.h"
#include "llvm/ADT/DenseMap.h"

namespace tp {

/// A value that all lanes hold.
struct LaneValue {
  mlir::Value value;
  bool isVector = false;
  /// Index of lane 0 if lane i holds base + i; null otherwise.
  mlir::Value base;
  /// A number that `base` is known to be a multiple of.
  int64_t multiple = 1;
};

/// Memory that a tensor lives in: an address, and the strides in elements by
/// which its dimensions move it (0 for the rows of a one-row buffer).
struct TensorMemory {
  mlir::Value address;
  llvm::SmallVector<int64_t> strides;
  mlir::Type elementType;
  /// Bytes that the address is known to be a multiple of, where vectors along
  /// `laneDim` begin at multiples of their width; 0: accesses are aligned to
  /// an element alone.
  int64_t alignment = 0;
};

class LaneEmitter {
public:
  LaneEmitter(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  mlir::OpBuilder &builder;
  mlir::Location loc;
  /// Number of lanes; 1 makes scalar code.
  int64_t width = 1;
  /// If set, vectors do not begin at multiples of their width along the lanes'
  /// dimension d, but where d plus this expression of the others is one.
  mlir::AffineExpr phase;
  /// The target rounds f32 to bf16 in one instruction.
  bool roundsToBf16 = false;

  mlir::Value constantIndex(int64_t value);
  /// `expr` (no symbols) of index values.
  mlir::Value emitAffine(mlir::AffineExpr expr, mlir::ValueRange dims);
  /// Index value as lanes that count upwards from `base`.
  LaneValue makeConsecutive(mlir::Value base);
  /// The vector (for width 1, the scalar) of a lane value.
  mlir::Value toVector(const LaneValue &lane);
  mlir::Value getVectorOf(mlir::Value scalar);
  mlir::Type getVectorType(mlir::Type element);

  /// Reads and writes at the element offset expression `expr` of `dims`;
  /// `laneDim` (-1: none) is the dimension in which lanes are neighbours.
  /// `multiples`, if given, are numbers that the dimensions are multiples of.
  LaneValue load(const TensorMemory &memory, mlir::AffineExpr expr,
                 mlir::ValueRange dims, int64_t laneDim,
                 llvm::ArrayRef<int64_t> multiples = {});
  void store(const LaneValue &lane, const TensorMemory &memory,
             mlir::AffineExpr expr, mlir::ValueRange dims, int64_t laneDim);
  /// Linear offset of `map`'s results in `memory`.
  static mlir::AffineExpr getOffset(const TensorMemory &memory,
                                    mlir::AffineMap map);

  /// Emits `block` with its arguments already in `lanes`; `indices` are the
  /// loops' index values by domain dimension; `findMemory` knows where a tensor
  /// read by tensor.extract is. Fills in `lanes` for every value of the block.
  /// Leaves out the operations of `skipped`.
  mlir::LogicalResult emitBody(
      mlir::Block &block, llvm::DenseMap<mlir::Value, LaneValue> &lanes,
      llvm::ArrayRef<LaneValue> indices,
      llvm::function_ref<mlir::FailureOr<TensorMemory>(mlir::Value)> findMemory,
      llvm::ArrayRef<mlir::Operation *> skipped = {});

  /// One operation of one result on lanes; scalar if all operands are uniform.
  mlir::FailureOr<LaneValue>
  emitElementwise(mlir::Operation *op, llvm::ArrayRef<LaneValue> operands);

  /// All lanes combined.
  mlir::Value reduce(const Combiner &combiner, mlir::Value vector);
  /// The identity of `combiner` in every lane of `type`.
  mlir::Value getIdentity(const Combiner &combiner, mlir::Type type);

  /// A value of bf16 or f16 as f32, and back, rounded to nearest even.
  mlir::Value widen(mlir::Value value);
  mlir::Value narrow(mlir::Value value, mlir::Type element);

private:
  /// An element as it is in memory, and as a value; lanes of elements.
  mlir::Value loadStored(const TensorMemory &memory, mlir::Value offset);
  LaneValue gather(const TensorMemory &memory,
                   llvm::ArrayRef<mlir::Value> elements);
  mlir::Value loadScalar(const TensorMemory &memory, mlir::Value offset);
  LaneValue emitExtract(mlir::Operation *op, const TensorMemory &memory,
                        llvm::ArrayRef<LaneValue> indices);
  mlir::Value getAddress(const TensorMemory &memory, mlir::Value offset);
  /// The alignment of a vector at `expr`.
  unsigned getAlignment(const TensorMemory &memory, mlir::AffineExpr expr,
                        mlir::ValueRange dims, int64_t laneDim,
                        llvm::ArrayRef<int64_t> multiples);
};

} // namespace tp

#endif // TP_CONVERSION_ROWS_LANEEMITTER_H
