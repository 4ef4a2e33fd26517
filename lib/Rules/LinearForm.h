//===- LinearForm.h - Scalar code as a sum of products ----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads scalar arithmetic, in the body of a linalg operation or element by
// element on tensors, as a sum of products of its inputs, and says from that
// which inputs may be partial sums. Examples:
//
//   out + a * b       terms {out}, {a, b}: out additive, a and b multilinear
//   x + tanh(x) * h   terms {x}, {h; depends on x}: nothing may be partial
//   a * b + a         terms {a, b}, {a}: nothing may be partial
//   a * infinity      terms {; depends on a}: parts of a may have other signs
//
// The law: inputs may be partial together only if every term carries exactly
// one of them, once, and none of them is used in any other way.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RULES_LINEARFORM_H
#define TP_RULES_LINEARFORM_H

#include "mlir/IR/Operation.h"
#include "tp/Sharding/Rule.h"
#include "llvm/ADT/SmallBitVector.h"

namespace tp {

/// One addend: the product of `linear` inputs, scaled by a function of the
/// `other` inputs.
struct Term {
  llvm::SmallBitVector linear, other;
  /// Not of a constant with infinities.
  bool isFinite = true;
};

/// A value as a sum of terms.
using Form = llvm::SmallVector<Term, 4>;

/// Input `index` of `size`, which is `value`, as it is.
Form getInputForm(mlir::Value value, unsigned index, unsigned size);
/// The form of a value that depends on no input: nothing if it is zero.
Form getConstantForm(mlir::Value value, unsigned size);
/// The form of `op`'s results from those of its operands, followed by those of
/// the values that its regions use from outside.
Form transferForm(mlir::Operation *op, llvm::ArrayRef<Form> operands,
                  unsigned size);
/// How each of `size` inputs enters the sum of `terms`.
llvm::SmallVector<Linearity, 4> classify(llvm::ArrayRef<Term> terms,
                                         unsigned size);

} // namespace tp

#endif // TP_RULES_LINEARFORM_H
