//===- Spellings.h - tensors that stand for one parameter -------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A checkpoint may hold a parameter under two names, or as a tensor of its own
// and as a part of another. One of them is read, so both must hold the same
// values. The compiler has compared those of the checkpoint that it was given
// (include/tp/Import/CompareTensors.h); this one may be another.
//
// The ranks share the work: each compares as large a part of every pair.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TENSORS_SPELLINGS_H
#define TPRT_TENSORS_SPELLINGS_H

#include "CheckpointFiles.h"

namespace tprt {

/// A box of a tensor of the checkpoint.
struct TensorBox {
  LocatedTensor tensor;
  Shape shape;         ///< the tensor's, perhaps with more dimensions in front
  Shape offsets;       ///< where the box begins
  std::string pattern; ///< the name, as tp-compile's --ignore takes it
};

/// Two boxes of `sizes` that must hold the same values, read as `type`.
struct SamePair {
  TensorBox a, b;
  Shape sizes;
  tprt_type type;
};

/// A name of a parameter with a star for each number of a layer or expert.
std::string patternOf(const std::string &name);

/// An error that names both if they differ in share number `share` of `shares`.
/// Zeros of both signs are equal, and NaNs are. Reads no more than a piece of
/// either at a time, and nothing behind the first difference.
Status compareShare(const SamePair &pair, int64_t share, int64_t shares);

} // namespace tprt

#endif // TPRT_TENSORS_SPELLINGS_H
