//===- LinalgBody.h - Bodies of structured operations -----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rule (LinalgRules.cpp), the padding (LinalgPadding.cpp) and the per-rank
// form (LinalgLocal.cpp) of a linalg operation share this.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RULES_LINALGBODY_H
#define TP_RULES_LINALGBODY_H

#include "Internal.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

namespace tp {

/// The values of a body in order, each with what `transfer` makes of it from
/// what it made of the operands and of the values that the operation's regions
/// use. `outside` reads values from outside the body.
template <typename T>
llvm::DenseMap<mlir::Value, T> interpretBody(
    mlir::Block &body, llvm::ArrayRef<T> inputs,
    llvm::function_ref<T(mlir::Value)> outside,
    llvm::function_ref<T(mlir::Operation *, llvm::ArrayRef<T>)> transfer) {
  llvm::DenseMap<mlir::Value, T> values;
  auto get = [&](mlir::Value value) {
    auto it = values.find(value);
    return it != values.end() ? it->second : outside(value);
  };
  for (auto [argument, input] : llvm::zip_equal(body.getArguments(), inputs))
    values[argument] = input;
  for (mlir::Operation &op : body.without_terminator()) {
    llvm::SetVector<mlir::Value> captures;
    mlir::getUsedValuesDefinedAbove(op.getRegions(), captures);
    llvm::SmallVector<T> operands;
    for (mlir::Value operand : op.getOperands())
      operands.push_back(get(operand));
    for (mlir::Value capture : captures)
      operands.push_back(get(capture));
    T result = transfer(&op, operands);
    for (mlir::Value value : op.getResults())
      values[value] = result;
  }
  for (mlir::Value operand : body.getTerminator()->getOperands())
    if (!values.contains(operand))
      values[operand] = outside(operand);
  return values;
}

/// The reduction that all results share; nothing if one is another or none.
std::optional<ReductionKind> getReductionKind(mlir::linalg::LinalgOp op);

/// See getPaddingStates.
PadStates getLinalgStates(mlir::Operation *op, unsigned factor,
                          llvm::ArrayRef<PadState> states);
/// True if the body applies an operation that is not defined on every number to
/// the padding of `factor`.
bool needsBodyGuard(mlir::Operation *op, unsigned factor,
                    llvm::ArrayRef<PadState> states);
/// See buildLocal. In the padding of guarded factors, the terms of a reduction
/// are its identity and operations that are not defined everywhere see a safe
/// number.
LocalValues buildLocalLinalg(mlir::Operation *op, mlir::OpBuilder &builder,
                             mlir::ValueRange operands,
                             mlir::TypeRange resultTypes,
                             const LocalContext &context);

} // namespace tp

#endif // TP_RULES_LINALGBODY_H
