//===- Deriver.h - What every local value is, derived again -----*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The walk behind deriveStates: Derive.cpp has the frame (sources, steps,
// repeats, results), DeriveRule.cpp what follows from one operation's rule.
//
//===----------------------------------------------------------------------===//

#ifndef TP_PARTITION_DERIVER_H
#define TP_PARTITION_DERIVER_H

#include "Positions.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "tp/Partition/Derive.h"
#include <optional>

namespace tp {

/// `diag`, which speaks of `value`, with a note where that is made.
inline mlir::InFlightDiagnostic noteMade(mlir::InFlightDiagnostic diag,
                                         const llvm::Twine &what,
                                         mlir::Value value) {
  diag.attachNote(value.getLoc()) << what << " is made here";
  return diag;
}

class Deriver {
public:
  Deriver(const Mesh &mesh, LocalStates &states)
      : mesh(mesh), states(states), positions(mesh) {}

  mlir::LogicalResult run(mlir::FunctionOpInterface function);

private:
  mlir::LogicalResult block(mlir::Block &block);
  mlir::LogicalResult operation(mlir::Operation *op);
  mlir::LogicalResult withoutRule(mlir::Operation *op);
  mlir::LogicalResult compute(mlir::Operation *op, RuleAttr attr);
  /// How the factors are cut, from the operands that carry them and, for those
  /// of the results alone, as it is written there.
  mlir::LogicalResult deriveFactors(mlir::Operation *op,
                                    const ShardingRule &rule,
                                    FactorShardings &factors);
  /// Over which axes all results are partial, and how they combine.
  mlir::LogicalResult derivePartial(mlir::Operation *op,
                                    const ShardingRule &rule,
                                    const FactorShardings &factors,
                                    AxisList &partial, ReductionKind &kind);
  /// The axes that operands which pass their partial axes on make partial, and
  /// the last of them.
  struct PassedAxes {
    AxisList axes;
    std::optional<unsigned> operand;
  };
  /// Passes multilinear operands on, and checks that no other but those that
  /// count once is partial.
  mlir::LogicalResult passFactors(mlir::Operation *op, const ShardingRule &rule,
                                  llvm::ArrayRef<AxisRef> reduced,
                                  PassedAxes &passed);
  /// Passes operands on that count once.
  mlir::LogicalResult passOnce(mlir::Operation *op, const ShardingRule &rule,
                               const FactorShardings &factors,
                               ReductionKind kind, PassedAxes &passed);
  /// Operand `index` is not partial as what it is added to.
  mlir::InFlightDiagnostic expectAlike(mlir::Operation *op, unsigned index,
                                       const PassedAxes &passed,
                                       const TensorSharding &sharding);
  /// An error about an operand, with a note where that is made.
  static mlir::InFlightDiagnostic errorAt(mlir::Operation *op, unsigned index) {
    return noteMade(op->emitOpError() << "operand " << index << ": ",
                    "the operand", op->getOperand(index));
  }
  /// Positions that `op` reads are global, and nothing else that it
  /// reads depends on the rank.
  mlir::LogicalResult checkPositions(mlir::Operation *op,
                                     const ShardingRule &rule,
                                     const FactorShardings &factors);
  /// `value`, if it is no tensor, is the same on every rank.
  mlir::LogicalResult expectSame(mlir::Operation *op, const llvm::Twine &what,
                                 mlir::Value value);
  mlir::LogicalResult step(mlir::Operation *op);
  mlir::LogicalResult repeat(RepeatOp op);
  mlir::LogicalResult results(mlir::func::ReturnOp op);

  /// The sharding that is written on a value of (global) `shape`; an error at
  /// `op` if nothing is, or if no tensor of that shape can have it.
  mlir::FailureOr<TensorSharding> written(mlir::Operation *op,
                                          ShardingAttr attr,
                                          llvm::ArrayRef<int64_t> shape,
                                          const llvm::Twine &what);
  /// Record `state` for `value` after comparing with its type.
  mlir::LogicalResult define(mlir::Operation *op, mlir::Value value,
                             LocalState state);
  /// The value flows into a place that is written to be `want`.
  mlir::LogicalResult flows(mlir::Operation *op, const llvm::Twine &what,
                            mlir::Value value, const TensorSharding &want);
  /// True if a value with `state` is one with sharding `want`: the same, or a
  /// maximum that is complete along more axes than `want` asks.
  static bool isOneWith(const LocalState &state, const TensorSharding &want);
  /// True if an operand with `state` may stand for a partial `kind` over `axes`
  /// without a step: zeros for a sum, a complete value for a maximum.
  bool isImplicitlyPartial(mlir::Value value, const TensorSharding &sharding,
                           ReductionKind kind) const {
    return !sharding.isPartial() &&
           (kind != ReductionKind::Sum || isZeroTensor(value));
  }

  std::string text(const TensorSharding &sharding) const {
    return toString(sharding, mesh);
  }

  const Mesh &mesh;
  LocalStates &states;
  Positions positions;
  mlir::FunctionOpInterface function;
};

} // namespace tp

#endif // TP_PARTITION_DERIVER_H
