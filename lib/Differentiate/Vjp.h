//===- Vjp.h - Derivatives of single operations -----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector-Jacobian products of operations that are not ours. Each builds, from
// the cotangents of an operation's results (the loss's derivatives by them),
// those of its operands: contributions, which whoever asked adds up.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_DIFFERENTIATE_VJP_H
#define TP_LIB_DIFFERENTIATE_VJP_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tp::differentiate {

/// The request to an operation: the cotangents of its results (null: none), of
/// which operands the derivative is wanted, and of which not rounded to 16
/// bits, if that can be had. All functions return one value for each operand,
/// null where there is no contribution, or fail after an error at the
/// operation.
struct Request {
  mlir::Operation *op;
  llvm::SmallVector<mlir::Value> cotangents;
  llvm::SmallVector<bool> wanted, wide;
};
using Contributions = mlir::FailureOr<llvm::SmallVector<mlir::Value>>;

/// True if values of the type have a derivative: floats and tensors of them.
bool isDifferentiable(mlir::Type type);

/// `value` in each element of `type`, a float or a tensor of floats.
mlir::Value makeConstant(mlir::ImplicitLocOpBuilder &builder, mlir::Type type,
                         double value);
/// `value`, a float or a tensor of floats, in the float type `element`.
mlir::Value convert(mlir::ImplicitLocOpBuilder &builder, mlir::Value value,
                    mlir::Type element);

/// "'math.foo' has no derivative ...", with what to do about it.
mlir::InFlightDiagnostic refuse(mlir::Operation *op);

/// Operations of arith and math, on scalars and on tensors.
Contributions buildElementwiseVjp(mlir::OpBuilder &builder,
                                  const Request &request);
/// Operations of tensor.
Contributions buildTensorVjp(mlir::OpBuilder &builder, const Request &request);
/// linalg.generic and what can be written as one.
Contributions buildStructuredVjp(mlir::OpBuilder &builder,
                                 const Request &request);
/// The derivative of any operation but tp.repeat.
Contributions buildVjp(mlir::OpBuilder &builder, const Request &request);

} // namespace tp::differentiate

#endif // TP_LIB_DIFFERENTIATE_VJP_H
