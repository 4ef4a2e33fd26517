//===- Padding.cpp - What padding holds after nn operations
//------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For each factor, the contents of its padding in the results from those
// in the operands. For a reduction factor the answer describes the terms that
// are reduced: the result does not carry the factor.
//
//===----------------------------------------------------------------------===//

#include "Parts.h"

using namespace mlir;
using namespace tp;
using namespace tp::nn;

using States = SmallVector<PadState>;

static States knowNothing(Operation *op) {
  return States(op->getNumResults(), PadState::Anything);
}

/// Operations that map a zero to a zero and know nothing of other padding.
static States keepZero(Operation *op, PadState input) {
  return States(op->getNumResults(),
                isZero(input) ? PadState::Zero : PadState::Anything);
}

States RMSNormOp::getPaddingStates(unsigned, ArrayRef<PadState>) {
  return knowNothing(*this);
}

States LayerNormOp::getPaddingStates(unsigned, ArrayRef<PadState> in) {
  States states = knowNothing(*this);
  if (isZero(in[0]) && getMean())
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
  bool zero = llvm::all_of(in, isZero);
  return {zero ? PadState::Zero : PadState::Anything};
}

States EmbeddingOp::getPaddingStates(unsigned factor, ArrayRef<PadState> in) {
  int64_t rows = cast<RankedTensorType>(getIds().getType()).getRank();
  // An id past the logical vocabulary names a padding row.
  if (factor == rows)
    return {in[1]};
  // Padding of the hidden size is the table's, or zero for an id that names no
  // row.
  if (factor == rows + 1)
    return keepZero(*this, in[1]);
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
