//===- QuantizedReading.h - weights quantised while read --------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A checkpoint of 16- or 32-bit weights as the checkpoint that tp-quantize
// would make of it, byte for byte: tensors that no file has are computed, some
// rows at a time, from the one that they stand for.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TENSORS_QUANTIZEDREADING_H
#define TPRT_TENSORS_QUANTIZEDREADING_H

#include "CheckpointFiles.h"

namespace tprt {

/// Replaces each weight that a quantised parameter of the program needs, and
/// that the files have as floats, by the tensors of the manifest's format. An
/// error names a weight that the format has no tensors for.
Status quantizeTensors(const Manifest &manifest,
                       std::map<std::string, LocatedTensor> &tensors);

} // namespace tprt

#endif // TPRT_TENSORS_QUANTIZEDREADING_H
