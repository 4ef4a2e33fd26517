//===- Lanes.h - What scalar code makes of padding lanes --------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An abstract reading of scalar arithmetic on one padding lane: a number, some
// finite number, or nothing known. Nothing is assumed of logical values: 0 · w
// is zero only if w is known to be finite, for 0 · inf is no number. And which
// operations may not be run on a lane at all: a division by its zero traps, and
// what converts an infinity or looks up a position is not defined.
//
// Example: with a lane of a = 0 and b = 0, a · b holds 0; with b = exp(a) it
// holds 1; a / b may not be run if they are integers.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RULES_LANES_H
#define TP_RULES_LANES_H

#include "mlir/IR/Operation.h"
#include "tp/Sharding/Padding.h"
#include <optional>

namespace tp {

/// What one padding lane holds.
struct Lane {
  enum Kind {
    /// Exactly `value`, up to the sign of a zero.
    Known,
    /// A finite number; all integers are.
    Finite,
    Unknown,
  } kind = Unknown;
  double value = 0;

  static Lane known(double value) { return {Known, value}; }
  static Lane finite() { return {Finite, 0}; }
  bool is(double number) const { return kind == Known && value == number; }
  bool isFinite() const;
  bool operator==(const Lane &other) const {
    return kind == other.kind && (kind != Known || value == other.value);
  }
};

/// A lane of a value of `type` in `state`; PadState::None, of a value that has
/// no such lanes, says nothing about its numbers.
Lane toLane(PadState state, mlir::Type type);
PadState toPadState(Lane lane);
/// A value that every lane shares: its number if it is a constant.
Lane getSharedLane(mlir::Value value);
/// The lane of `op`'s results from those of its operands.
Lane transferLane(mlir::Operation *op, llvm::ArrayRef<Lane> operands);

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
/// lane of it.
bool isSafe(PartialOperand partial, Lane lane);

} // namespace tp

#endif // TP_RULES_LANES_H
