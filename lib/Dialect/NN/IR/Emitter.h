//===- Emitter.h - Short forms for building linalg --------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What decompositions and derivatives are written with: loops over named
// positions, an expression for each element, reductions over the loops that the
// result does not have.
//
// Example, the sum of squares of rows of x[b, s, h]:
//
//   Loops d = emitter.loops(3);
//   emitter.reduce(type, {d[0], d[1]}, 3, Combine::Sum, {{x, d}},
//                  [](Scalar &e, ValueRange v) { return e.mul(v[0], v[0]); });
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_DIALECT_NN_IR_EMITTER_H
#define TP_LIB_DIALECT_NN_IR_EMITTER_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tp::nn {

/// Scalar arithmetic within a body. Floats that enter it are widened to the
/// type that statistics have.
class Scalar {
public:
  Scalar(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type wide)
      : b(loc, builder), wide(wide) {}

  mlir::ImplicitLocOpBuilder b;
  mlir::Type wide;

  mlir::Value number(double value);
  mlir::Value integer(int64_t value, mlir::Type type);
  mlir::Value index(unsigned loop);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  mlir::Value div(mlir::Value x, mlir::Value y);
  mlir::Value exp(mlir::Value x);
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);
  /// Between float types; the value itself if they are the same.
  mlir::Value convert(mlir::Value x, mlir::Type type);
};

using Loops = llvm::SmallVector<mlir::AffineExpr, 6>;

/// A tensor (or scalar: no positions) and where each element is read.
struct Operand {
  mlir::Value value;
  Loops position;
};

enum class Combine { Sum, Max };

/// The operands' elements, floats widened, in; one value, in the wide type or
/// the result's, out.
using Body = llvm::function_ref<mlir::Value(Scalar &, mlir::ValueRange)>;

class Emitter {
public:
  /// Statistics and accumulations are in f32, of f64 in f64.
  Emitter(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type element);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Type wide;

  Loops loops(unsigned count);
  mlir::AffineExpr constant(int64_t value);
  mlir::RankedTensorType wideType(llvm::ArrayRef<int64_t> shape);

  /// One element of `type` at each of its positions; the loops are the result's
  /// dimensions. The value is rounded once.
  mlir::Value map(mlir::RankedTensorType type, llvm::ArrayRef<Operand> operands,
                  Body body);
  /// Combined over the loops that `position` lacks, of `numLoops`; the
  /// accumulation is in the wide type, the result rounded to `type` once.
  mlir::Value reduce(mlir::RankedTensorType type, Loops position,
                     unsigned numLoops, Combine combine,
                     llvm::ArrayRef<Operand> operands, Body body);
  /// Split dimension `dim` into `sizes`, or join as many.
  mlir::Value split(mlir::Value value, unsigned dim,
                    llvm::ArrayRef<int64_t> sizes);
  mlir::Value join(mlir::Value value, unsigned dim, unsigned count);

private:
  mlir::Value generic(mlir::RankedTensorType type, Loops position,
                      unsigned numLoops, std::optional<Combine> combine,
                      llvm::ArrayRef<Operand> operands, Body body);
};

/// The type of a tensor value, its shape and its element type.
inline mlir::RankedTensorType typeOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
  return typeOf(value).getShape();
}

} // namespace tp::nn

#endif // TP_LIB_DIALECT_NN_IR_EMITTER_H
