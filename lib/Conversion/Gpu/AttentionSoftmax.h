//===- AttentionSoftmax.h - Softmax over keys that arrive in tiles -*- C++ -*-//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The online softmax of FlashAttention-2 (Dao, 2023, section 3.1; the
// recurrence is Milakov and Gimelshein, 2018). Of each row it keeps the
// greatest score m seen so far, the sum l of 2^(c (s - m)) over the keys seen,
// where c is the scale times log2(e), and the outputs o, the sum of these times
// the values. When a tile raises m to m', what was summed so far is too large
// by 2^(c (m' - m)); both l and o are divided by it:
//
//        scores 1, 3 | 5 (c = 1)
//        after the first tile    m = 3, l = 2^-2 + 2^0              = 1.25
//        after the second        m = 5, l = 1.25 * 2^-2 + 2^0       = 1.3125
//                                    which is 2^-4 + 2^-2 + 2^0
//
// The result is o / l, its log-sum-exp (c m + log2 l) * ln 2. A row that has
// seen no key has m = -inf; there 0 is subtracted instead, so that all its
// powers, and what multiplies what was summed before, are 2^-inf = 0.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CONVERSION_GPU_ATTENTIONSOFTMAX_H
#define TP_LIB_CONVERSION_GPU_ATTENTIONSOFTMAX_H

#include "AttentionProducts.h"

namespace tp {

/// A lane's state of its rows: two of each fragment, rows g and g + 8.
/// `greatest` is what the powers are of: a row's greatest score, or one that
/// later scores are not far above. The sum is of the lane's own keys until
/// finish().
struct SoftmaxState {
  llvm::SmallVector<mlir::Value> greatest, sum;
  Fragments outputs;

  /// In one list and back, for what loops carry.
  llvm::SmallVector<mlir::Value> flatten() const;
  void assign(mlir::ValueRange values);
};

class AttentionSoftmax {
public:
  using Value = mlir::Value;

  AttentionSoftmax(KernelEmitter &emitter, const AttentionShape &shape,
                   const AttentionTiles &tiles);

  /// The state before any key.
  SoftmaxState getInitial();
  /// Scales the scores for the masks and update(): the scores times c if the
  /// scale is not positive (then the greatest score is not that of the greatest
  /// product) or something is added to them, or capped and times log2(e); else
  /// unchanged.
  void scale(Fragments &scores);
  /// Adds a bias of `type` to scores that scale() gave. That of the lane's row
  /// g + `first` and its column 2t + `first` lies where `findLine` gives, and
  /// `findSkip` bytes (i64) behind.
  void addBias(Fragments &scores, mlir::Type type,
               llvm::function_ref<Value(int64_t first)> findLine,
               llvm::function_ref<Value(int64_t first)> findSkip);
  /// The derivatives of capped scores, which scale() gave, by those before.
  Fragments getSlopes(const Fragments &scaled);
  /// Takes a tile's scores into the state, but for the product with the values;
  /// returns the probabilities to multiply them with.
  Fragments update(SoftmaxState &state, const Fragments &scores);
  /// Adds up the lanes of each row.
  void finish(SoftmaxState &state);
  /// Takes in what another warp has of the same rows, both finished: `other`
  /// gives number i of its state in one list.
  void merge(SoftmaxState &state, llvm::function_ref<Value(int64_t i)> other);
  /// Takes a sink, which has no value, into each row of a state that is
  /// finished.
  void addSinks(SoftmaxState &state, llvm::ArrayRef<Value> sinks);
  /// A sink as scores are: over base 2.
  Value readSink(Value sinks, mlir::Type type, Value head);
  /// Divides the outputs by the sums and returns each row's log-sum-exp.
  llvm::SmallVector<Value> normalise(SoftmaxState &state);

  /// `greatest` times c, zero in place of -inf.
  Value getShift(Value greatest);
  /// 2^(c value - shift)
  Value getPower(Value value, Value shift);
  /// One over the sum, zero of no key; the log-sum-exp, -inf of no key.
  Value getInverse(Value sum);
  Value getLogarithm(Value sum, Value shift);

private:
  KernelEmitter &e;
  const AttentionTiles &tiles;
  double multiplier; ///< c
  double cap, ofCap; ///< soft cap (0: none), the scale in parts of it
  bool scalesScores; ///< by c, before anything else

  void rescale(SoftmaxState &state, size_t row, Value by);
  void followGreatest(SoftmaxState &state, const Fragments &scores);
};

} // namespace tp

#endif // TP_LIB_CONVERSION_GPU_ATTENTIONSOFTMAX_H
