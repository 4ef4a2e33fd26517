//===- GgufReading.h - tensors of a GGUF file -------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tensors that tprt/gguf.h lists, computed from the file's blocks while
// they are read.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TENSORS_GGUFREADING_H
#define TPRT_TENSORS_GGUFREADING_H

#include "CheckpointFiles.h"

namespace tprt {

/// The tensors of the GGUF file at `path`, which they keep open.
Expected<std::map<std::string, LocatedTensor>>
openGguf(const std::string &path);

} // namespace tprt

#endif // TPRT_TENSORS_GGUFREADING_H
