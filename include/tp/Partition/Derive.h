//===- Derive.h - What every local value is, derived again ------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Partition writes down what each value of the per-rank program is (split,
// replicated, partial). This takes arguments, parameters and what has no
// operands as written, derives the rest from the rules, operation by operation,
// and compares. The verifiers of per-rank IR, the collectives passes and the
// ledger's bound use it. With the passes that chose the shardings it shares the
// algebra of include/tp/Sharding, but not resolveFactors, which they ask what
// an operation needs.
//
// Example: linear x[b,s,k], w[n,k] with x split [{}, {}, {"tp"}] and w
// [{}, {"tp"}] gives a partial sum over "tp". An addition of it to a bias that
// every rank has is rejected: the bias would count once per rank.
//
//===----------------------------------------------------------------------===//

#ifndef TP_PARTITION_DERIVE_H
#define TP_PARTITION_DERIVE_H

#include "mlir/IR/BuiltinOps.h"
#include "tp/Dialect/TP/IR/TPOps.h"

namespace tp {

/// A value of the per-rank program as a part of a global one.
struct LocalState {
  /// The shape of the global value (without padding).
  llvm::SmallVector<int64_t> shape;
  TensorSharding sharding;
};

/// The states of all tensors of one function.
using LocalStates = llvm::DenseMap<mlir::Value, LocalState>;

/// Derive the states of all tensors in `function` (a func.func whose types are
/// local), comparing with what is written. Fails, after an error at the
/// operation, on the first difference: operands that disagree over a factor, a
/// partial value where the operation is not linear, an addition of a partial
/// and a complete value, a collective whose operand is not what it starts from
/// or that is not its row of the reshard table, a type that is not the local
/// one, a position or scalar that depends on the rank as it may not. That
/// `tp.rule` is the operation's own is not asked here, but of checkRule.
mlir::LogicalResult deriveStates(mlir::Operation *function, const Mesh &mesh,
                                 LocalStates &states);

/// The rule of a per-rank operation on global types, asked of a copy of it;
/// nothing, with the `reason`, if it has none. Of `shapes` the sizes of the
/// factors of each operand and result are read, which are the global shapes.
std::optional<ShardingRule> getGlobalRule(mlir::Operation *local,
                                          const ShardingRule &shapes,
                                          std::string &reason);

/// Why `tp.rule` on `op` is not the rule that `op` has; empty if it is. The
/// rule is asked of a copy of the operation with the global types that it says.
std::string checkRule(mlir::Operation *op);

/// All of the contract of tp-verify-partitioned.
mlir::LogicalResult verifyPartitioned(mlir::ModuleOp module);

/// True for a tensor all of whose elements are known to be zero: also a partial
/// sum of itself.
bool isZeroTensor(mlir::Value value);

/// For a ReshardStepOpInterface: why the operation does not lead from `from` to
/// `to` for a value of global `shape`, naming the row of the reshard table;
/// empty if it does.
std::string checkStep(mlir::Operation *op, llvm::ArrayRef<int64_t> shape,
                      const TensorSharding &from, const TensorSharding &to,
                      const Mesh &mesh);

} // namespace tp

#endif // TP_PARTITION_DERIVE_H
