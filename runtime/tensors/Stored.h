//===- Stored.h - quantised parameters from checkpoints ---------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rank's block of a quantised tensor, from the words of the file that hold it
// to bytes as the products read them (tprt/quantized.h). The compiler has the
// same arithmetic in #tp.storage.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TENSORS_STORED_H
#define TPRT_TENSORS_STORED_H

#include "CheckpointFiles.h"

namespace tprt {

/// An instance of a parameter with storage, and the source of its elements.
struct StoredSource {
  const Parameter &parameter;
  std::string name;
  /// A stack has one for each position; null: they are made up from `seed`.
  const std::vector<LocatedTensor> *tensors;
  uint64_t seed;
};

/// As Weights::load. No more of the files is read than the words that hold the
/// block. An error where a number does not fit, or a scale is not finite.
Expected<int64_t> loadStored(const StoredSource &source, const Mesh &mesh,
                             const std::vector<int64_t> &coordinates,
                             void *target, int64_t first, int64_t rows);

} // namespace tprt

#endif // TPRT_TENSORS_STORED_H
