//===- Padding.cpp - What the padding of a value holds --------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of padding states and which reductions each leaves alone. The
// states form a flat lattice: None below everything, Anything above.
//
//===----------------------------------------------------------------------===//

#include "tp/Sharding/Padding.h"

using namespace tp;

PadState tp::join(PadState a, PadState b) {
  if (a == b || b == PadState::None)
    return a;
  return a == PadState::None ? b : PadState::Anything;
}

PadState tp::getNeutralState(ReductionKind kind) {
  switch (kind) {
  case ReductionKind::Sum:
    return PadState::Zero;
  case ReductionKind::Max:
    return PadState::NegInf;
  case ReductionKind::Min:
    return PadState::PosInf;
  }
  llvm_unreachable("unknown reduction");
}

bool tp::isHarmless(PadState state, ReductionKind kind) {
  return state == PadState::None || state == getNeutralState(kind);
}
