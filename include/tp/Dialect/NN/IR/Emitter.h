//===- Emitter.h - Short forms for building linalg --------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Import, decompositions, derivatives and schedule write linalg.generic with
// loops over named positions, an expression for each element, and reductions
// over the loops that the result does not have.
//
// Example, the sum of squares of rows of x[b, s, h]:
//
//   Loops d = emitter.loops(3);
//   emitter.reduce(type, {d[0], d[1]}, 3, Combine::Sum, {{x, d}},
//                  [](Scalar &e, ValueRange v) { return e.mul(v[0], v[0]); });
//
//===----------------------------------------------------------------------===//

#ifndef TP_DIALECT_NN_IR_EMITTER_H
#define TP_DIALECT_NN_IR_EMITTER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <optional>
#include <type_traits>

namespace tp::nn {

using CmpF = mlir::arith::CmpFPredicate;
using CmpI = mlir::arith::CmpIPredicate;

/// The second operand of an operation: a value, or a number, which becomes a
/// constant of the first operand's type.
class Term {
public:
  template <typename T>
    requires std::is_convertible_v<T, mlir::Value>
  Term(T value) : value(value) {}
  template <typename T>
    requires std::is_integral_v<T>
  Term(T integer) : integer(integer), number(double(integer)) {}
  Term(double number) : number(number) {}

private:
  friend class Scalar;
  mlir::Value value;
  std::optional<int64_t> integer;
  double number = 0;
};

/// Arithmetic within a body, or on whole tensors, element by element. Floats
/// that enter a body are widened to the type that statistics have. Integers are
/// signed.
class Scalar {
public:
  Scalar(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type wide)
      : b(loc, builder), wide(wide) {}

  mlir::ImplicitLocOpBuilder b;
  mlir::Type wide;

  mlir::Value number(double value);
  mlir::Value integer(int64_t value, mlir::Type type);
  mlir::Value index(unsigned loop);
  /// The indices of the first `count` loops.
  llvm::SmallVector<mlir::Value> indices(unsigned count);
  /// Floats or integers.
  mlir::Value add(mlir::Value x, Term y);
  mlir::Value sub(mlir::Value x, Term y);
  mlir::Value mul(mlir::Value x, Term y);
  mlir::Value max(mlir::Value x, Term y);
  mlir::Value min(mlir::Value x, Term y);
  mlir::Value compare(CmpF predicate, mlir::Value x, Term y);
  mlir::Value compare(CmpI predicate, mlir::Value x, Term y);
  mlir::Value select(mlir::Value condition, mlir::Value x, Term y);
  /// Floats.
  mlir::Value div(mlir::Value x, Term y);
  mlir::Value neg(mlir::Value x);
  mlir::Value abs(mlir::Value x);
  mlir::Value exp(mlir::Value x);
  mlir::Value log(mlir::Value x);
  mlir::Value sigmoid(mlir::Value x);
  /// Integers that are not negative.
  mlir::Value quotient(mlir::Value x, Term y);
  mlir::Value remainder(mlir::Value x, Term y);
  /// Integers, bit by bit.
  mlir::Value both(mlir::Value x, Term y);
  mlir::Value either(mlir::Value x, Term y);
  mlir::Value shiftLeft(mlir::Value x, Term y);
  mlir::Value shiftRight(mlir::Value x, Term y);
  /// The same bits as another type.
  mlir::Value bits(mlir::Value x, mlir::Type type);
  /// Between float types; the value itself if they are the same, or if it is an
  /// integer.
  mlir::Value convert(mlir::Value x, mlir::Type type);
  /// Between any types: integers are signed, but for booleans.
  mlir::Value cast(mlir::Value x, mlir::Type type);
  /// An integer as a number of the wide type.
  mlir::Value toFloat(mlir::Value x) { return cast(x, wide); }

private:
  mlir::Value get(const Term &term, mlir::Value like);
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

  /// Computes elements in their own type.
  static Emitter inType(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Type element);

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
  /// The same of operands that have the result's shape.
  mlir::Value mapEach(mlir::RankedTensorType type, mlir::ValueRange operands,
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

#endif // TP_DIALECT_NN_IR_EMITTER_H
