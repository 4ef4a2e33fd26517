//===- Vjp.cpp - Who differentiates an operation --------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An operation with a derivative of its own is asked for it; others go by their
// dialect. Whatever is wanted and not given is an error, never a zero.
//
//===----------------------------------------------------------------------===//

#include "Vjp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Interfaces/ShardingInterface.h"

using namespace mlir;
using namespace tp;
using namespace tp::differentiate;

InFlightDiagnostic tp::differentiate::refuse(Operation *op) {
  return op->emitError()
         << "'" << op->getName()
         << "' has no derivative here: write it with operations that have one "
            "(docs/Differentiate.md), or implement buildVjp for it";
}

/// The derivatives of operations with a derivative of their own: by each float
/// operand, or an error.
static Contributions buildOwnVjp(OpBuilder &builder, const Request &request) {
  Contributions values = cast<DifferentiableOpInterface>(request.op)
                             .buildVjp(builder, request.cotangents);
  if (failed(values))
    return failure();
  for (auto [number, value] : llvm::enumerate(*values))
    if (request.wanted[number] && !value)
      return request.op->emitError()
             << "'" << request.op->getName()
             << "' has no derivative by operand " << number
             << ", which depends on a parameter";
  return values;
}

Contributions tp::differentiate::buildVjp(OpBuilder &builder,
                                          const Request &request) {
  Operation *op = request.op;
  if (isa<DifferentiableOpInterface>(op))
    return buildOwnVjp(builder, request);
  if (isa<ShardingConstraintOp>(op))
    return SmallVector<Value>{request.cotangents[0]};
  if (isa<linalg::LinalgOp>(op))
    return buildStructuredVjp(builder, request);
  if (isa<tensor::TensorDialect>(op->getDialect()))
    return buildTensorVjp(builder, request);
  if (isa<arith::ArithDialect, math::MathDialect>(op->getDialect()))
    return buildElementwiseVjp(builder, request);
  return refuse(op);
}
