//===- Training.h - What a program that trains is imported with -*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of --train that are import's: docs/Training.md.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_IMPORT_TRAINING_H
#define TP_LIB_IMPORT_TRAINING_H

#include "ModelBuilder.h"

namespace tp {

/// Fails, after an error at `loc`, if the model cannot be trained so; warns of
/// what has no effect.
mlir::LogicalResult checkTraining(mlir::Location loc, const ModelConfig &config,
                                  FloatKind dtype, const TrainOptions &options);

} // namespace tp

#endif // TP_LIB_IMPORT_TRAINING_H
