//===- Combiner.h - How a reduction puts terms together ---------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loops of a reduction may be cut into lanes, threads or ranks only if its
// body is `out (+) term` where (+) is associative and commutative, has an
// identity, and the term depends on no output of the operation. Everything
// else is a recurrence, which runs in the order it is written in. Here is the
// one place that tells them apart.
//
// Example: `out - a * b` is a sum of the terms `-(a * b)`; `out * a` is a
// product, which is none in floats (0 * a * a is 0, a * a may be infinite); of
// `x + a, y + (x + a)` the second is a prefix sum and no reduction.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RULES_COMBINER_H
#define TP_RULES_COMBINER_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "tp/Sharding/Sharding.h"
#include "llvm/ADT/DenseSet.h"
#include <optional>

namespace tp {

/// How two partial results become one. Of i1, sums are exclusive ors, and the
/// signed maximum is the conjunction (true is -1).
enum class CombinerKind {
  Sum,         ///< addf, addi; in floats up to rounding
  Product,     ///< muli, not mulf
  Max,         ///< maximumf, maxsi
  MaxNum,      ///< maxnumf: NaN is its identity
  MaxUnsigned, ///< maxui
  Min,         ///< minimumf, minsi
  MinNum,      ///< minnumf
  MinUnsigned, ///< minui
  And,
  Or,
  Xor
};

struct Combiner {
  CombinerKind kind;
  /// Type of the accumulator; that of partial results may be wider.
  mlir::Type type;
  /// Some term is taken away rather than added.
  bool subtracts = false;
};

/// The values of the body of `op` that depend on an output, nested regions
/// included.
llvm::DenseSet<mlir::Value> getOutputDependents(mlir::linalg::LinalgOp op);

/// The combiner of the body of `op` for its result `output`; none if the result
/// is a recurrence (or does not change). With its accumulators replaced by the
/// identities of their combiners, a body yields its terms, if all of its
/// results have a combiner.
std::optional<Combiner> matchCombiner(mlir::linalg::LinalgOp op,
                                      unsigned output);

/// The combiners of all results of `op`; nothing if one of them has none.
std::optional<llvm::SmallVector<Combiner>>
matchCombiners(mlir::linalg::LinalgOp op);

/// The operands of the body's operations through which terms enter result
/// `output`, which has a combiner (both factors of a fused multiply-add). With
/// the identity in all of them, the body leaves the accumulator as it is.
llvm::SmallVector<mlir::OpOperand *> getTermOperands(mlir::linalg::LinalgOp op,
                                                     unsigned output);

/// The reduction of partial results on several ranks that does the same; none
/// if no collective does.
std::optional<ReductionKind> getReductionKind(const Combiner &combiner);

/// The element that `combiner` leaves every other unchanged with, as a constant
/// of `element` (the combiner's type or a wider float).
mlir::TypedAttr getIdentityElement(const Combiner &combiner,
                                   mlir::Type element);

/// `a (+) b` of scalars, vectors or tensors.
mlir::Value combinePartials(mlir::OpBuilder &builder, mlir::Location loc,
                            const Combiner &combiner, mlir::Value a,
                            mlir::Value b);

} // namespace tp

#endif // TP_RULES_COMBINER_H
