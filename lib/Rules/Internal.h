//===- Internal.h - Rules by family of operations ---------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each family of upstream operations answers the three questions of Rules.h in
// a file of its own; Rules.cpp asks the one that knows the operation.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RULES_INTERNAL_H
#define TP_RULES_INTERNAL_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "tp/Rules/Rules.h"

namespace tp {

using LocalValues = mlir::FailureOr<llvm::SmallVector<mlir::Value>>;
using PadStates = llvm::SmallVector<PadState>;

/// A family's answers for one operation.
struct RuleProvider {
  mlir::FailureOr<ShardingRule> (*getRule)(mlir::Operation *) = nullptr;
  LocalValues (*buildLocal)(mlir::Operation *, mlir::OpBuilder &,
                            mlir::ValueRange, mlir::TypeRange,
                            const LocalContext &) = nullptr;
  PadStates (*getPaddingStates)(mlir::Operation *, unsigned,
                                llvm::ArrayRef<PadState>) = nullptr;
  /// True if the per-rank form must leave the padding of a factor out of
  /// its body; null if it has none.
  bool (*needsBodyGuard)(mlir::Operation *, unsigned,
                         llvm::ArrayRef<PadState>) = nullptr;
  explicit operator bool() const { return getRule; }
};

/// Structured linalg operations (LinalgRules.cpp).
RuleProvider getLinalgRules(mlir::Operation *op);
/// arith and math on tensors, constants, scalar code (ElementwiseRules.cpp).
RuleProvider getElementwiseRules(mlir::Operation *op);
/// tensor, and the identities of tp (TensorRules.cpp).
RuleProvider getTensorRules(mlir::Operation *op);

/// The shape of a tensor; empty for anything else.
llvm::ArrayRef<int64_t> getShape(mlir::Value value);
/// Fails, with an error on `op`, unless all its tensors are static.
mlir::LogicalResult expectStatic(mlir::Operation *op);
/// One parallel factor per dimension of `shape`, called d0, d1, ...
TensorFactors addDims(ShardingRule &rule, llvm::ArrayRef<int64_t> shape,
                      FactorKind kind = FactorKind::Parallel);

/// The operation cloned with local operands and types, and the constants that
/// its regions use from outside with it.
LocalValues cloneWithConstants(mlir::Operation *op, mlir::OpBuilder &builder,
                               mlir::ValueRange operands,
                               mlir::TypeRange resultTypes,
                               const LocalContext &context);
/// Fails, with an error on `op`, if its regions use a value from outside that
/// is not a constant.
mlir::LogicalResult expectNoCaptures(mlir::Operation *op);
/// Zero where all tensor operands that carry the factor are zero.
PadStates keepStates(mlir::Operation *op, unsigned factor,
                     llvm::ArrayRef<PadState> operands);

} // namespace tp

#endif // TP_RULES_INTERNAL_H
