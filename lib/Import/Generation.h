//===- Generation.h - The steps of generation ---*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steps that a model gets, and their description for an engine.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_IMPORT_GENERATION_H
#define TP_LIB_IMPORT_GENERATION_H

#include "mlir/IR/BuiltinOps.h"
#include "tp/Import/Import.h"
#include "tp/Import/ModelConfig.h"
#include "llvm/ADT/SmallVector.h"

namespace tp {

/// The most positions that a text which is generated may have, and the words
/// that introduce the number in a message.
struct PositionLimit {
  int64_t most;
  llvm::StringRef what;
};
PositionLimit getGeneratedLimit(const ModelConfig &config);

/// Says beside an error what to write in config.json, if anything, for
/// sequences of `length` positions.
void adviseOnLength(mlir::InFlightDiagnostic &diag, const ModelConfig &config,
                    int64_t length);

/// The request, with the context, which is checked against the model's limit,
/// and the type of the cache. It has the type of the program unless another is
/// asked for.
mlir::FailureOr<GenerateRequest>
chooseGeneration(mlir::Location loc, const ModelConfig &config,
                 const GenerateRequest &request, FloatKind dtype);

/// Writes generationAttrName, with what generation_config.json says. What is
/// known of the steps is added when they are derived.
mlir::LogicalResult noteGeneration(mlir::ModuleOp module,
                                   llvm::StringRef directory,
                                   const ModelConfig &config,
                                   const GenerateRequest &request);

} // namespace tp

#endif // TP_LIB_IMPORT_GENERATION_H
