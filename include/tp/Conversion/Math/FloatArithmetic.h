//===- FloatArithmetic.h - Builds arithmetic on f32 -------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The vocabulary of the expansions of math functions: the same calls build
// operations on numbers and on vectors of them.
//
//===----------------------------------------------------------------------===//

#ifndef TP_CONVERSION_MATH_FLOATARITHMETIC_H
#define TP_CONVERSION_MATH_FLOATARITHMETIC_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/PatternMatch.h"

namespace tp {

inline bool isF32(mlir::Type type) {
  return mlir::getElementTypeOrSelf(type).isF32();
}

/// Arithmetic on f32, scalars or vectors as `type` is one.
struct Arithmetic {
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Type type;

  mlir::Type like(mlir::Type element) const {
    auto vector = llvm::dyn_cast<mlir::VectorType>(type);
    return vector ? vector.clone(element) : element;
  }
  mlir::Value constant(mlir::TypedAttr value) const {
    auto vector = llvm::dyn_cast<mlir::VectorType>(like(value.getType()));
    if (vector)
      value = mlir::DenseElementsAttr::get(vector, mlir::Attribute(value));
    return mlir::arith::ConstantOp::create(builder, loc, value);
  }
  mlir::Value number(double value) const {
    return constant(builder.getF32FloatAttr(value));
  }
  mlir::Value integer(int32_t value) const {
    return constant(builder.getI32IntegerAttr(value));
  }
  mlir::Value wideInteger(int64_t value) const {
    return constant(builder.getI64IntegerAttr(value));
  }
  template <typename Op>
  mlir::Value make(mlir::Value a, mlir::Value b) const {
    return Op::create(builder, loc, a, b);
  }
  /// To a type with elements like `element`.
  template <typename Op>
  mlir::Value cast(mlir::Type element, mlir::Value a) const {
    return Op::create(builder, loc, like(element), a);
  }
  mlir::Value add(mlir::Value a, mlir::Value b) const {
    return mlir::arith::AddFOp::create(builder, loc, a, b);
  }
  mlir::Value sub(mlir::Value a, mlir::Value b) const {
    return mlir::arith::SubFOp::create(builder, loc, a, b);
  }
  mlir::Value mul(mlir::Value a, mlir::Value b) const {
    return mlir::arith::MulFOp::create(builder, loc, a, b);
  }
  /// Rounded once, on every target: an instruction of x86-64-v3 and of devices.
  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c) const {
    return mlir::LLVM::FMAOp::create(builder, loc, a, b, c);
  }
  mlir::Value select(mlir::Value condition, mlir::Value a,
                     mlir::Value b) const {
    return mlir::arith::SelectOp::create(builder, loc, condition, a, b);
  }
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, mlir::Value a,
                      mlir::Value b) const {
    return mlir::arith::CmpFOp::create(builder, loc, predicate, a, b);
  }
  /// Coefficients from the highest power down.
  mlir::Value polynomial(mlir::Value x,
                         llvm::ArrayRef<double> coefficients) const {
    mlir::Value result = number(coefficients.front());
    for (double coefficient : coefficients.drop_front())
      result = fma(result, x, number(coefficient));
    return result;
  }
};

/// Sine and cosine (ExpandSine.cpp). What is rare is done to the lanes of a
/// vector in a loop, or else to one after the other.
void populateSinePatterns(mlir::RewritePatternSet &patterns,
                          bool loopsOverLanes);

} // namespace tp

#endif // TP_CONVERSION_MATH_FLOATARITHMETIC_H
