//===- NotFinite.h - weights that are no numbers ----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A checkpoint whose training diverged, or that was damaged, holds NaN or
// infinity, and so do all results of it. Nothing looks for them while weights
// are loaded: a run whose results are not finite asks here for the cause.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TENSORS_NOTFINITE_H
#define TPRT_TENSORS_NOTFINITE_H

#include "CheckpointFiles.h"

namespace tprt {

/// The values of a tensor that are not finite.
struct NotFinite {
  int64_t nans = 0, infinities = 0;
  bool any() const { return nans + infinities > 0; }
};

/// Adds up those of `count` elements of that type; integers have none.
void countNotFinite(FileType type, const char *bytes, int64_t count,
                    NotFinite &counts);

/// Names the first of the tensors that hold NaN or infinity, with how many and
/// in which file; empty if none does. Reads a piece at a time, and nothing
/// behind the last that it names.
Expected<std::string>
describeNotFinite(const std::vector<LocatedTensor> &tensors);

} // namespace tprt

#endif // TPRT_TENSORS_NOTFINITE_H
