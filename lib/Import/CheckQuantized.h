//===- CheckQuantized.h - Quantised checkpoints, as a whole -----*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TP_LIB_IMPORT_CHECKQUANTIZED_H
#define TP_LIB_IMPORT_CHECKQUANTIZED_H

#include "tp/Import/Checkpoint.h"
#include "tp/Import/Import.h"
#include "tp/Import/ModelConfig.h"

namespace tp {

/// Refuses what a quantised checkpoint cannot be used for, and notes in
/// `config` which of the first `layers` are quantised alike. Emits errors.
mlir::LogicalResult settleQuantization(mlir::Location loc, ModelConfig &config,
                                       const Checkpoint &checkpoint,
                                       const ImportOptions &options,
                                       int64_t layers);

/// Patterns of tensors that the checkpoint has beside those that are read, and
/// that change no number of the program. Fails, after emitting an error, if one
/// of them does.
mlir::FailureOr<llvm::SmallVector<std::string>>
getUnreadQuantized(mlir::Location loc, const ModelConfig &config,
                   const Checkpoint &checkpoint, const ImportOptions &options);

/// The method whose files say what is quantised, and how, the table of tokens
/// included.
inline constexpr llvm::StringLiteral ggufMethod = "gguf";

/// Finds out from the tensors of a GGUF file which layers are quantised, and
/// how. Fails after emitting an error where there is no such file.
llvm::LogicalResult settleGguf(mlir::Location loc, ModelConfig &config,
                               const Checkpoint &checkpoint);

} // namespace tp

#endif // TP_LIB_IMPORT_CHECKQUANTIZED_H
