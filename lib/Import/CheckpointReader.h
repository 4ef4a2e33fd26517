//===- CheckpointReader.h - Files for the runtime's parsers -----*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_IMPORT_CHECKPOINTREADER_H
#define TP_LIB_IMPORT_CHECKPOINTREADER_H

#include "tp/Import/Checkpoint.h"
#include "tprt/safetensors.h"

namespace tp {

/// Returns a function that reads bytes of the file, which must outlive it, for
/// the runtime's parsers.
tprt::ReadBytes getReader(const CheckpointFile &file);

} // namespace tp

#endif // TP_LIB_IMPORT_CHECKPOINTREADER_H
