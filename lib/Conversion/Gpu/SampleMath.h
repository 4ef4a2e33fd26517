//===- SampleMath.h - Scores of tokens in f64 -------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the draw of a token is computed with on a device: logarithm and
// exponential in f64, for which there is no instruction, Philox, and the score
// of a token, as nn.sample_records and nn.sample_pick define it. The host's
// library rounds its logarithms otherwise, by a unit in the last place of f64:
// two scores that near are not met.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CONVERSION_GPU_SAMPLEMATH_H
#define TP_LIB_CONVERSION_GPU_SAMPLEMATH_H

#include "KernelEmitter.h"

namespace tp {

/// How a row draws. `scale` (f64) is 1 where it is not at random.
struct RowDraw {
  mlir::Value position, seed, temperature, isRandom, scale;
};

/// A token that may be drawn: its score (f64), its number (i32), its logit
/// (f32). None has the number `noToken`.
struct DrawnToken {
  mlir::Value score, token, logit;
};
inline constexpr int64_t noToken = 0x7fffffff;

class SampleMath {
public:
  using Value = mlir::Value;

  explicit SampleMath(KernelEmitter &emitter)
      : e(emitter), f64(emitter.builder.getF64Type()) {}

  Value number(double value);
  Value widen(Value value);
  Value narrow(Value value);
  Value add(Value a, Value b) { return e.addf(a, b); }
  Value sub(Value a, Value b);
  Value mul(Value a, Value b) { return e.mulf(a, b); }
  Value div(Value a, Value b);
  /// Of a normal number above zero.
  Value log(Value x);
  /// Of a number that is not above zero by more than roundings are.
  Value exp(Value x);
  /// Whether a number of f32 is neither an infinity nor no number.
  Value isFinite(Value x);
  Value greatest(Value a, Value b); ///< of f32; no number if one is none

  /// Element `row` of [rows] tensors: positions i32, seeds i64, temperatures.
  RowDraw readDraw(Value row, Value positions, Value seeds, Value temperatures);
  /// What the draw takes the largest of, for a finite logit (f32).
  Value getScore(Value logit, Value token, const RowDraw &draw);
  DrawnToken getNone();
  /// The one of larger score, of equals that of the lower number.
  DrawnToken getBetter(const DrawnToken &a, const DrawnToken &b);

private:
  KernelEmitter &e;
  mlir::Type f64;

  Value bits(uint64_t value);
  Value exclusiveOr(Value a, Value b);
  Value getWord(Value token, const RowDraw &draw);
};

} // namespace tp

#endif // TP_LIB_CONVERSION_GPU_SAMPLEMATH_H
