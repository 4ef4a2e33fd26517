//===- SumForm.h - How ranks that share memory add up -----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The choice that schedule offers of the form of all-reduces.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SCHEDULE_SUMFORM_H
#define TP_SCHEDULE_SUMFORM_H

#include "llvm/Support/CommandLine.h"

namespace tp {

/// The choice of `--all-reduce`.
enum class SumForm {
  /// The form that the cost model says is faster.
  Auto,
  /// The kernel that needs a sum reads the addends of all ranks.
  Peer,
  /// Every all-reduce is a call of the runtime.
  Library,
};

inline auto getSumFormValues() {
  return llvm::cl::values(
      clEnumValN(SumForm::Auto, "auto", "by the cost model"),
      clEnumValN(SumForm::Peer, "peer",
                 "kernels read the addends of all ranks"),
      clEnumValN(SumForm::Library, "library", "calls of the runtime"));
}

} // namespace tp

#endif // TP_SCHEDULE_SUMFORM_H
