//===- QuantizeWhileRead.h - --quantize ------------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A checkpoint of 16- or 32-bit weights is taken for the one that tp-quantize
// would make of it: the same recipe in config.json, the same tensors. The
// loader computes these from the tensors that there are.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_IMPORT_QUANTIZEWHILEREAD_H
#define TP_LIB_IMPORT_QUANTIZEWHILEREAD_H

#include "tp/Import/Checkpoint.h"
#include "tp/Import/ModelConfig.h"

namespace tp {

/// Returns true for one of tp-quantize's formats.
bool isQuantizedFormat(llvm::StringRef name);

/// Gives `config` the recipe of `format`, and `checkpoint` the tensors in the
/// place of weights. Fails after emitting an error if the checkpoint is
/// quantised, or has a weight of a layer that the format cannot stand for.
mlir::LogicalResult quantizeWhileRead(mlir::MLIRContext *context,
                                      ModelConfig &config,
                                      Checkpoint &checkpoint,
                                      llvm::StringRef format);

} // namespace tp

#endif // TP_LIB_IMPORT_QUANTIZEWHILEREAD_H
