//===- Rules.h - Sharding rules of any operation ----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One entry point for the rule, the per-rank form and the padding of an
// operation, whoever defines it: operations of ours say so themselves through
// ShardingRuleOpInterface, structured linalg operations get theirs from their
// indexing maps and body, and operations of tensor, arith and math from the
// cases in lib/Rules. Adding an upstream operation means adding a case there.
//
// Example: a linalg.generic with maps (m, k), (n, k) -> (m, n), iterators
// parallel, parallel, reduction and body `yield out + a * b` has the rule
// a[m, k], b[n, k], out[m, n] -> [m, n] with k a sum; a and b are multilinear
// and out additive, so that a sharded k makes the result partial and out counts
// once.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RULES_RULES_H
#define TP_RULES_RULES_H

#include "tp/Interfaces/ShardingInterface.h"

namespace tp {

/// The rule of `op` for its (global) types: one entry per operand and result;
/// operands that are not tensors have no dimensions. Emits an error on the
/// operation if it has no rule. tp.repeat, func.func, func.return and tp.yield
/// are the business of the passes, which know regions and calls.
mlir::FailureOr<ShardingRule> getShardingRule(mlir::Operation *op);

/// True if what `result` holds may follow from operand `operand` of its
/// operation. A structured operation may make one result of its operands and
/// another of none: the zero that an update leaves of what it read.
bool dependsOn(mlir::OpResult result, unsigned operand);

/// The operation on this rank, built at `builder`'s insertion point: `operands`
/// and `resultTypes` are local. Emits an error if it cannot be built.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
buildLocal(mlir::Operation *op, mlir::OpBuilder &builder,
           mlir::ValueRange operands, mlir::TypeRange resultTypes,
           const LocalContext &context);

/// The state of the padding of `factor` in each result, given what it holds in
/// each operand (PadState::None where an operand does not carry the factor: it
/// holds logical values, of which nothing is assumed). For a reduction factor:
/// what the terms of each result's reduction hold there; isHarmless(state,
/// reduction) says whether they count.
llvm::SmallVector<PadState> getPaddingStates(mlir::Operation *op,
                                             unsigned factor,
                                             llvm::ArrayRef<PadState> operands);

/// A change of an operation that makes the padding of one factor harmless to
/// it.
struct PaddingGuard {
  /// One per operand: the number that its padding must be overwritten with.
  llvm::SmallVector<std::optional<int64_t>> masks;
  /// The per-rank form must leave the padding out of its body.
  bool inBody = false;
};

/// The change that is due before the padding of `factor`, which holds
/// `operands`, neither count in a reduction nor are divided by, converted or
/// looked up. Harmless is a property of all of a term: operands are masked, as
/// few as possible, only where that makes every term exactly zero; else the
/// body leaves them out. Empty if `op` has no body of its own and no masks
/// help.
std::optional<PaddingGuard> getPaddingGuard(mlir::Operation *op,
                                            const ShardingRule &rule,
                                            unsigned factor,
                                            llvm::ArrayRef<PadState> operands);
/// The states of the operands after the masks of `guard`.
llvm::SmallVector<PadState> applyMasks(const PaddingGuard &guard,
                                       llvm::ArrayRef<PadState> operands);

/// A rule for people: `b, s, n parallel; k sum | [b, s, k] multilinear, ...`.
std::string toString(const ShardingRule &rule);

} // namespace tp

#endif // TP_RULES_RULES_H
