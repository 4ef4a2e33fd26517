//===- Padding.h - What the padding of a value holds ------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// If a size does not divide, the last shards have padding past the logical end.
// Whether that is harmless depends on what it holds: zeros vanish in a sum,
// -inf in a maximum, and everything is harmless in a parallel dimension whose
// padding is stripped at the end. Partition follows these states through the
// program and masks a value only where its padding would be counted.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SHARDING_PADDING_H
#define TP_SHARDING_PADDING_H

#include "tp/Sharding/Sharding.h"

namespace tp {

/// Contents of the padding of one dimension.
enum class PadState : uint8_t {
  /// The dimension is not padded.
  None,
  Zero,
  NegInf,
  PosInf,
  /// Finite or not, nothing is known.
  Anything,
};
/// The state that is known where either may hold: `None` is below all,
/// `Anything` above.
PadState join(PadState a, PadState b);
/// The state that a reduction of this kind ignores.
PadState getNeutralState(ReductionKind kind);
/// True if padding in `state` leaves a reduction of `kind` unchanged.
bool isHarmless(PadState state, ReductionKind kind);

} // namespace tp

#endif // TP_SHARDING_PADDING_H
