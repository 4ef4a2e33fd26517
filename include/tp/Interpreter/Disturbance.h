//===- Disturbance.h - Round otherwise than defined -------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two correct programs differ where they round: an operation's result by some
// units in its last place, a sum by units of the sum of its terms' magnitudes
// (the order and the cuts of the sum are free), a 16-bit sum by where it is
// rounded at all. A disturbed run makes such changes on purpose, wherever the
// exact value is not representable, and shows what they come to. What is exact
// stays exact.
//
//===----------------------------------------------------------------------===//

#ifndef TP_INTERPRETER_DISTURBANCE_H
#define TP_INTERPRETER_DISTURBANCE_H

#include "tp/Interpreter/Tensor.h"

namespace tp::interp {

struct Disturbance {
  enum Direction : uint8_t {
    None,
    /// A random sign, and the same with all signs turned.
    Random,
    Opposite,
    /// Towards +infinity, -infinity, away from zero and towards it.
    Up,
    Down,
    Away,
    Toward,
    /// Up and down in turn.
    Alternating
  };
  Direction direction = None;
  uint64_t seed = 0;
  /// The largest change, in units of the last place.
  double units = 4;
  /// Sums of 16 bits are kept in double and rounded once.
  bool wideAccumulators = false;
  /// Sums that are read in 16 bits are those of ranks, each of which rounds its
  /// addend to them.
  bool narrowAddends = false;
};

/// The changes of one run, in the order in which they are made.
class Disturber {
public:
  explicit Disturber(const Disturbance &disturbance)
      : disturbance(disturbance), state(disturbance.seed) {}

  bool isActive() const { return disturbance.direction != Disturbance::None; }
  /// The next change of a number with the sign of `value`, in units of the last
  /// place. Drawn for every number, changed or not, so that a run and its
  /// opposite stay in step.
  double next(double value);
  /// `values`, the results of an operation before they are rounded to `type`,
  /// changed unless they are exact (`canBeExact`: the operation is correctly
  /// rounded in any program).
  void disturb(ElementType type, llvm::MutableArrayRef<double> values,
               bool canBeExact);
  /// `values` = x + y: like sums of two terms, which may be added up in another
  /// order with others. A difference that cancels has the error of its terms.
  void disturbAdditions(ElementType type, llvm::MutableArrayRef<double> values,
                        const double *x, const double *y);
  /// Sums are read in this type (none: in their own), so that each rank may
  /// have rounded its addend to it.
  void setReader(std::optional<ElementType> type) { reader = type; }
  /// The sum `value` of `length` terms, whose magnitudes add up to `magnitude`
  /// and which are multiples of 2^`lowestBit`.
  double disturbSum(ElementType type, double value, double magnitude,
                    int64_t length, int lowestBit);

private:
  double disturbOne(ElementType type, double value, bool canBeExact);
  double disturbAddition(ElementType type, double value, double x, double y);
  double add(double value, double change) const;

  Disturbance disturbance;
  uint64_t state;
  std::optional<ElementType> reader;
  bool isOdd = false;
};

/// The unit in the last place of numbers of magnitude `magnitude`.
double getUnit(ElementType type, double magnitude);
/// The largest p such that `value` is a multiple of 2^p; INT_MAX for zero.
int getLowestBit(double value);

} // namespace tp::interp

#endif // TP_INTERPRETER_DISTURBANCE_H
