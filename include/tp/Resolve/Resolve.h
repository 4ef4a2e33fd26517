//===- Resolve.h - What an operation needs of its operands ------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Propagation writes a sharding on every value; this says what follows from
// them for one operation: how its factors are cut, what each operand must be
// resharded to before the per-rank operation can run, and what that operation
// then gives. Propagation and partition both ask here, so they cannot disagree.
//
// Example, y = linear(x, w, bias) with w [{}, {"tp"}], y partial {"tp"}: the
// factor k is cut by "tp"; x must be [{}, {}, {"tp"}], and bias, which must
// count once, [{}] partial {"tp"} (from a replicated one: keep-first).
//
//===----------------------------------------------------------------------===//

#ifndef TP_RESOLVE_RESOLVE_H
#define TP_RESOLVE_RESOLVE_H

#include "tp/Sharding/Rule.h"

namespace tp {

/// One operation with the shardings of its results settled.
struct ResolvedOp {
  /// Parallel factors are cut as the results are; reduction factors as the
  /// operands are, restricted to axes over which the results are partial.
  FactorShardings factors;
  /// The axes over which all results are partial, and how they combine; a
  /// result that lacks a parallel factor is besides (getProducedSharding).
  AxisList partial;
  ReductionKind reduction = ReductionKind::Sum;
  /// For each operand, the axes over which it must be partial: what passes
  /// through it (one Multilinear operand, or all Additive ones), and for
  /// operands that count once the axes of the reduction. Planning to there from
  /// a replicated operand is keep-first.
  llvm::SmallVector<AxisList, 4> operandPartial;
};

/// The axes of `list` that `without` does not cover, axes cut into sub-axes
/// where need be.
AxisList subtractAxes(llvm::ArrayRef<AxisRef> list,
                      llvm::ArrayRef<AxisRef> without);
/// True if `all` covers `list`.
bool containsAxes(llvm::ArrayRef<AxisRef> all, llvm::ArrayRef<AxisRef> list);

/// How `rule` is cut when its operands and results have these shardings (those
/// that propagation wrote; one per operand and result, of rank 0 for what is no
/// ranked tensor). Never fails: cuts that would leave a tensor without a
/// contiguous layout are dropped, and what the operation then gives may differ
/// from the result's sharding: see getProducedSharding.
ResolvedOp
resolveFactors(const ShardingRule &rule,
               llvm::ArrayRef<TensorSharding> operandShardings,
               llvm::ArrayRef<TensorSharding> resultShardings,
               llvm::ArrayRef<llvm::SmallVector<int64_t>> operandShapes,
               llvm::ArrayRef<llvm::SmallVector<int64_t>> resultShapes);

/// The sharding that operand `index` must have, closed and normalized: equal
/// (by sameLayout) to the one it has if nothing is to be done.
TensorSharding getRequiredOperandSharding(const ShardingRule &rule,
                                          unsigned index,
                                          const ResolvedOp &resolved,
                                          llvm::ArrayRef<int64_t> shape);

/// The sharding that the operation gives result `index`. After tp-propagate it
/// is the one written on the result.
TensorSharding getProducedSharding(const ShardingRule &rule, unsigned index,
                                   const ResolvedOp &resolved,
                                   llvm::ArrayRef<int64_t> shape);

/// Drop cuts, the most minor factors first, until every tensor of the rule has
/// a layout and every factor may be cut so.
void makeExpressible(const ShardingRule &rule,
                     llvm::ArrayRef<llvm::SmallVector<int64_t>> operandShapes,
                     llvm::ArrayRef<llvm::SmallVector<int64_t>> resultShapes,
                     FactorShardings &factors);

} // namespace tp

#endif // TP_RESOLVE_RESOLVE_H
