//===- BodyAnalysis.h - What scalar code does with its inputs ----*- C++
//-*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two abstract readings of scalar arithmetic, whether in the body of a linalg
// operation or as element-wise operations on tensors: as a sum of products of
// inputs (which inputs may be partial sums) and as contents of a padding lane.
//
// Example: `out + a * b` reads as the terms {out}, {a, b}: out is additive, a
// and b are multilinear. With a padding lane of a = 0 and b finite, the lane of
// `a * b` holds 0, and a reduction of it ignores the padding.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RULES_BODYANALYSIS_H
#define TP_RULES_BODYANALYSIS_H

#include "mlir/IR/Operation.h"
#include "tp/Sharding/Padding.h"
#include "tp/Sharding/Rule.h"
#include "llvm/ADT/SmallBitVector.h"

namespace tp {

/// One addend: the product of `linear` inputs, scaled by a function of the
/// `other` inputs.
struct Term {
  llvm::SmallBitVector linear, other;
};

/// A value as a sum of terms.
using Form = llvm::SmallVector<Term, 4>;

/// Input `index` of `size`, as it is.
Form getInputForm(unsigned index, unsigned size);
/// The form of a value that depends on no input: nothing if it is zero.
Form getConstantForm(mlir::Value value, unsigned size);
/// The form of `op`'s result from those of its operands.
Form transferForm(mlir::Operation *op, llvm::ArrayRef<Form> operands,
                  unsigned size);
/// How each of `size` inputs enters the sum of `terms`.
llvm::SmallVector<Linearity, 4> classify(llvm::ArrayRef<Term> terms,
                                         unsigned size);

/// What one padding lane holds.
struct Lane {
  enum Kind {
    /// Exactly `value`.
    Known,
    /// A finite number.
    Finite,
    Unknown,
  } kind = Unknown;
  double value = 0;

  static Lane known(double value) { return {Known, value}; }
  static Lane finite() { return {Finite, 0}; }
  bool is(double number) const { return kind == Known && value == number; }
  bool operator==(const Lane &other) const {
    return kind == other.kind && (kind != Known || value == other.value);
  }
};

Lane toLane(PadState state);
PadState toPadState(Lane lane);
/// A value that every lane shares: its number if it is a constant.
Lane getSharedLane(mlir::Value value);
/// The lane of `op`'s result from those of its operands.
Lane transferLane(mlir::Operation *op, llvm::ArrayRef<Lane> operands);

} // namespace tp

#endif // TP_RULES_BODYANALYSIS_H
