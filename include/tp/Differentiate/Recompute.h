//===- Recompute.h - What a derivative computes again -----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The policies of `--recompute`, with their names for command lines.
//
//===----------------------------------------------------------------------===//

#ifndef TP_DIFFERENTIATE_RECOMPUTE_H
#define TP_DIFFERENTIATE_RECOMPUTE_H

#include "llvm/Support/CommandLine.h"

namespace tp {

/// How much a layer's derivative computes again: nothing, what follows from
/// kept values without a product or attention, or all but its carried values.
enum class Recompute { None, Selective, Full };

inline auto getRecomputeValues() {
  return llvm::cl::values(
      clEnumValN(Recompute::None, "none",
                 "nothing: all that the derivative reads is kept"),
      clEnumValN(Recompute::Selective, "selective",
                 "what follows from kept values by norms, element-wise "
                 "operations and reshapes"),
      clEnumValN(Recompute::Full, "full",
                 "all but the values that layers carry"));
}

} // namespace tp

#endif // TP_DIFFERENTIATE_RECOMPUTE_H
