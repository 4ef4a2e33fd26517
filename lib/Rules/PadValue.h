//===- PadValue.h - What scalar code makes of padding -----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An abstract reading of scalar arithmetic on a padding element: a number, some
// finite number, or nothing known. Nothing is assumed of logical values: 0 · w
// is zero only if w is known to be finite, for 0 · inf is no number. And which
// operations may not be run on one at all: a division by its zero traps, and
// what converts an infinity or looks up a position is not defined.
//
// Example: with padding of a = 0 and b = 0, a · b holds 0; with b = exp(a) it
// holds 1; a / b may not be run if they are integers.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RULES_PADVALUE_H
#define TP_RULES_PADVALUE_H

#include "mlir/IR/Operation.h"
#include "tp/Sharding/Padding.h"
#include <optional>

namespace tp {

/// The value of a padding element.
struct PadValue {
  enum Kind {
    /// Exactly `value`, up to the sign of a zero.
    Known,
    /// A finite number; all integers are.
    Finite,
    Unknown,
  } kind = Unknown;
  double value = 0;

  static PadValue known(double value) { return {Known, value}; }
  static PadValue finite() { return {Finite, 0}; }
  bool is(double number) const { return kind == Known && value == number; }
  bool isFinite() const;
  bool operator==(const PadValue &other) const {
    return kind == other.kind && (kind != Known || value == other.value);
  }
};

/// Padding of a value of `type` in `state`; PadState::None, of a value that has
/// no padding, says nothing about its numbers.
PadValue toPadValue(PadState state, mlir::Type type);
PadState toPadState(PadValue pad);
/// A value that all elements share: its number if it is a constant.
PadValue getSharedPadValue(mlir::Value value);
/// The padding of `op`'s results from that of its operands.
PadValue transferPadValue(mlir::Operation *op,
                          llvm::ArrayRef<PadValue> operands);

/// An operand for which an operation is not defined on every number, and a
/// number for which it is.
struct PartialOperand {
  unsigned index;
  int64_t safe;
};
/// The operands of an integer division or remainder (one is safe), a shift, a
/// conversion from floats to integers or positions looked up (zero).
llvm::SmallVector<PartialOperand, 1> getPartialOperands(mlir::Operation *op);
/// True if an operation whose operand must be as in `partial` is defined on a
/// padding element of it.
bool isSafe(PartialOperand partial, PadValue pad);

} // namespace tp

#endif // TP_RULES_PADVALUE_H
