//===- Padding.cpp - What padding lanes hold after nn operations
//------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For each factor, the contents of its padding lanes in the results from those
// in the operands. For a reduction factor the answer describes the terms that
// are reduced: the result does not carry the factor.
//
//===----------------------------------------------------------------------===//

#include "tp/Dialect/NN/IR/NNOps.h"

using namespace mlir;
using namespace tp;
using namespace tp::nn;

using States = SmallVector<PadState>;

static bool isZero(PadState state) { return state == PadState::Zero; }
/// Nothing that could turn a product with zero into something else.
static bool isFinite(PadState state) {
  return state == PadState::Zero || state == PadState::None;
}

/// Operations that map a zero to a zero and know nothing of other lanes.
static States keepZero(Operation *op, PadState input) {
  return States(op->getNumResults(),
                isZero(input) ? PadState::Zero : PadState::Anything);
}

States LinearOp::getPaddingStates(unsigned factor, ArrayRef<PadState> in) {
  // The products: zero where one side is zero and the other finite.
  bool zero =
      (isZero(in[0]) && isFinite(in[1])) || (isZero(in[1]) && isFinite(in[0]));
  // The bias joins the results, not the terms of the reduction.
  bool isReduction =
      factor == cast<RankedTensorType>(getInput().getType()).getRank();
  if (getBias() && !isReduction)
    zero &= isZero(in[2]);
  return {zero ? PadState::Zero : PadState::Anything};
}

States AttentionOp::getPaddingStates(unsigned, ArrayRef<PadState> in) {
  // Whatever the weights are, an average of zeros is zero; scores must be
  // finite for it.
  bool zero = isZero(in[2]) && isFinite(in[0]) && isFinite(in[1]);
  States states(getNumResults(), PadState::Anything);
  if (zero)
    states[0] = PadState::Zero;
  return states;
}

States RMSNormOp::getPaddingStates(unsigned, ArrayRef<PadState> in) {
  States states(getNumResults(), PadState::Anything);
  // A row of zeros over the root of epsilon.
  if (isZero(in[0]) && getEpsilon().isNonZero())
    states[0] = PadState::Zero;
  return states;
}

States LayerNormOp::getPaddingStates(unsigned, ArrayRef<PadState> in) {
  States states(getNumResults(), PadState::Anything);
  if (!isZero(in[0]) || !getEpsilon().isNonZero())
    return states;
  if (!getBias())
    states[0] = PadState::Zero;
  if (getMean())
    states[1] = PadState::Zero;
  return states;
}

States SoftmaxOp::getPaddingStates(unsigned, ArrayRef<PadState>) {
  return {PadState::Anything};
}

States RotaryTableOp::getPaddingStates(unsigned, ArrayRef<PadState>) {
  // The table goes on past the end: finite, but not zero.
  return {PadState::Anything, PadState::Anything};
}

States RotaryOp::getPaddingStates(unsigned, ArrayRef<PadState> in) {
  // Rotary tables are finite in their padding lanes too (cosines, sines).
  return keepZero(*this, in[0]);
}

States EmbeddingOp::getPaddingStates(unsigned factor, ArrayRef<PadState> in) {
  int64_t rows = cast<RankedTensorType>(getIds().getType()).getRank();
  // No id names a padding row, so that its term is zero whatever it holds.
  if (factor == rows)
    return {PadState::Zero};
  // Hidden lanes are the table's; rows for padding ids could be any.
  if (factor == rows + 1)
    return {in[1]};
  return {PadState::Anything};
}

States CrossEntropyOp::getPaddingStates(unsigned, ArrayRef<PadState>) {
  return States(getNumResults(), PadState::Anything);
}

States GeluOp::getPaddingStates(unsigned, ArrayRef<PadState> in) {
  return keepZero(*this, in[0]);
}

States SiluOp::getPaddingStates(unsigned, ArrayRef<PadState> in) {
  return keepZero(*this, in[0]);
}

States DropoutOp::getPaddingStates(unsigned, ArrayRef<PadState> in) {
  return keepZero(*this, in[0]);
}
