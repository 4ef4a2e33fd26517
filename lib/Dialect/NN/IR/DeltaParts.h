//===- DeltaParts.h - What forms of the gated delta rule share --*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nn.gated_delta_rule, its derivative and its form in a step differ in where
// states come from and go. How they are checked and cut, and the recurrence of
// one position, are here.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_DIALECT_NN_IR_DELTAPARTS_H
#define TP_LIB_DIALECT_NN_IR_DELTAPARTS_H

#include "Parts.h"

namespace tp::nn {

/// The operands [b, s, heads, ...] that all three have. `beta` may be null.
struct DeltaOperands {
  mlir::Value query, key, value, decay, beta;
};

/// Expects shapes that go together, and a whole number of value heads for each
/// key head.
llvm::LogicalResult verifyDelta(mlir::Operation *op, const DeltaOperands &in);

/// The factors of a rule, in the order in which they are added.
struct DeltaFactors {
  unsigned b, s, keys, group, d, e;

  DeltaFactors(ShardingRule &rule, const DeltaOperands &in);
  Dims keyDims() const { return {{b}, {s}, {keys}, {d}}; }
  Dims valueDims() const { return {{b}, {s}, {keys, group}, {e}}; }
  Dims headDims() const { return {{b}, {s}, {keys, group}}; }
  /// Adds query, key, value and decay.
  void addOperands(ShardingRule &rule) const;
};

/// Emits the recurrence position by position. Value heads are [key heads,
/// heads of each], g and r, so that states are [b, g, r, d, e].
class DeltaSteps {
public:
  DeltaSteps(Emitter &emitter, const DeltaOperands &in);

  /// A state of zeros.
  mlir::Value zero();
  /// exp(decay[t]) * state.
  mlir::Value decayState(mlir::Value state, int64_t t);
  /// Returns what the state recalls for the key of position t, [b, g, r, e]:
  /// the sum over d of decayed * key.
  mlir::Value recall(mlir::Value decayed, int64_t t);
  /// Returns what is stored with the key, [b, g, r, e]: beta * (value -
  /// recalled), or the value where there is no beta.
  mlir::Value correct(mlir::Value recalled, int64_t t);
  /// decayed + key * stored.
  mlir::Value store(mlir::Value decayed, mlir::Value stored, int64_t t);
  /// The result of position t, [b, g, r, e].
  mlir::Value read(mlir::Value state, int64_t t);
  /// The state behind position t, and the result there.
  std::pair<mlir::Value, mlir::Value> step(mlir::Value state, int64_t t);
  /// Values of each position, [b, g, r, ...], as one [b, s, heads, ...].
  mlir::Value join(llvm::ArrayRef<mlir::Value> each);

  /// Position t of an operand, at the loops of a state.
  Operand queryAt(int64_t t), keyAt(int64_t t), decayAt(int64_t t);

  Emitter &emitter;
  /// The operands, their value heads split into [key heads, heads of each].
  DeltaOperands in;
  mlir::RankedTensorType stateType, rowType;
  /// The loops b, g, r, d, e, and those of a row, and of a head.
  Loops loops, row, head;
};

/// Multiplications and additions for each element of a state: its decay, and
/// what is recalled, stored and read.
double getDeltaFlops(bool hasBeta);

} // namespace tp::nn

#endif // TP_LIB_DIALECT_NN_IR_DELTAPARTS_H
