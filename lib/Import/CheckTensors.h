//===- CheckTensors.h - A program's parameters and a checkpoint -*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every parameter must be in the checkpoint with its shape, nothing may be left
// over, and of a parameter that is there under several names all must hold the
// same values: which of them was meant is not for a compiler to guess.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_IMPORT_CHECKTENSORS_H
#define TP_LIB_IMPORT_CHECKTENSORS_H

#include "ModelBuilder.h"

namespace tp {

/// The tensors that a program asks of a checkpoint.
struct TensorRequest {
  llvm::ArrayRef<ParameterUse> parameters;
  /// Tensors that hold parts of the same parameters.
  llvm::ArrayRef<TensorPart> parts;
  /// Patterns of tensors that may be there unused.
  llvm::ArrayRef<std::string> ignored;
  /// Tensors that the checkpoint is read without, for messages.
  const TensorPatterns &excluded;
  /// The type that values are compared in.
  FloatKind readType;
  /// The names of the head and of the table of tokens, if config.json does not
  /// tie the two.
  std::string head = "", table = "";
};

/// Emits an error for each kind of thing that is wrong.
mlir::LogicalResult checkTensors(mlir::MLIRContext *context,
                                 const Checkpoint &checkpoint,
                                 const TensorRequest &request);

/// Adds all names that a parameter may have.
void addNames(const ParameterUse &use, llvm::StringSet<> &names);

/// An error if a pattern matches none of the names, which are the checkpoint's
/// or, without weights, those that the program knows.
mlir::LogicalResult checkMatches(mlir::Location loc,
                                 const TensorPatterns &excluded,
                                 const llvm::StringSet<> &names,
                                 bool hasWeights);

/// Writes tp.excluded_tensors.
void noteExcluded(mlir::ModuleOp module, const TensorPatterns &excluded);

} // namespace tp

#endif // TP_LIB_IMPORT_CHECKTENSORS_H
