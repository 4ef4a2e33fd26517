//===- Overlap.h - Whether collectives run beside work ----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The choice that schedule offers of what runs beside collectives.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SCHEDULE_OVERLAP_H
#define TP_SCHEDULE_OVERLAP_H

#include "llvm/Support/CommandLine.h"

namespace tp {

enum class Overlap { Auto, Off };

/// The values of an option that chooses one.
inline auto getOverlapValues() {
  return llvm::cl::values(
      clEnumValN(Overlap::Auto, "auto",
                 "what does not need their results, where that pays"),
      clEnumValN(Overlap::Off, "off",
                 "nothing: each ends before the next operation"));
}

} // namespace tp

#endif // TP_SCHEDULE_OVERLAP_H
