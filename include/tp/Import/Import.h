//===- Import.h - From a checkpoint directory to model IR ---*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The import stage: a Hugging Face checkpoint directory becomes a one-device
// program on tensors, without shardings, its parameters named as in the
// checkpoint and its identical layers one tp.repeat. config.json alone is
// enough; where there are weights, their names, shapes and types are checked
// against it, and a parameter that is there under several names is compared.
//
//===----------------------------------------------------------------------===//

#ifndef TP_IMPORT_IMPORT_H
#define TP_IMPORT_IMPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "tp/Derive/GenerateOptions.h"
#include "tp/Derive/TrainOptions.h"
#include "tp/Import/ModelConfig.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tp {

/// The sizes and types that the program is compiled for. Absent options have
/// the model's values.
struct ImportOptions {
  int64_t batch = 1;
  /// Positions per sequence, ascending: one function for each, @main if there
  /// is one, else @seq_N. None: 128, or the model's limit if that is smaller.
  std::vector<int64_t> seqs;
  /// Default: the checkpoint's type, f32 if it does not say.
  std::optional<FloatKind> dtype;
  /// Only the first so many layers.
  std::optional<int64_t> layers;
  /// The head is a parameter of its own, whatever config.json says.
  bool untie = false;
  /// Patterns of tensors that the checkpoint is read without.
  std::vector<std::string> ignore;
  /// Activations stay as they are where the checkpoint's recipe quantises them.
  bool floatActivations = false;
  /// The format, one of tp-quantize's, that weights in 16 or 32 bits are
  /// quantised to while they are read; empty: none.
  std::string quantize;
  /// Logits of the last position (that the mask keeps) of each sequence alone.
  bool lastLogits = false;
  std::optional<GenerateRequest> generate;
  std::optional<TrainOptions> train;
};

/// The model of `directory` as a module with a function @main, or more. Emits
/// errors through the context and returns null if the checkpoint or the options
/// are not supported.
mlir::OwningOpRef<mlir::ModuleOp> importModel(mlir::MLIRContext *context,
                                              llvm::StringRef directory,
                                              const ImportOptions &options);

/// The same for a program: its parameters are read as if the checkpoint had no
/// tensor that a pattern matches. Fails, after emitting an error, if a pattern
/// matches no name of any parameter.
mlir::LogicalResult ignoreTensors(mlir::ModuleOp module,
                                  llvm::ArrayRef<std::string> patterns);

/// The patterns that importModel or ignoreTensors has noted in a program.
std::vector<std::string> getExcludedTensors(mlir::ModuleOp module);

/// The number of positions that a sequence may have.
struct SequenceLimits {
  /// As config.json says, or as `transformers` takes it where it does not.
  int64_t positions = 0;
  bool isStated = false; ///< config.json says it.
  /// The most that `--seq` and `--context` may be.
  int64_t longest = 0, longestGenerated = 0;
  /// Why `longest` is what it is, where an operation of the model has a bound
  /// of its own; else empty.
  std::string reason;
};

/// The limits of the model of `directory`, or nothing after an error.
std::optional<SequenceLimits> readSequenceLimits(mlir::MLIRContext *context,
                                                 llvm::StringRef directory);

} // namespace tp

#endif // TP_IMPORT_IMPORT_H
