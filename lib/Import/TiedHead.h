//===- TiedHead.h - Whether the head is the table ---------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// config.json, or the family's default, may tie the head to the table of
// tokens while the checkpoint has a head with other values. Those are what was
// trained, so the head is a parameter of its own then, as it is in
// `transformers`.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_IMPORT_TIEDHEAD_H
#define TP_LIB_IMPORT_TIEDHEAD_H

#include "mlir/IR/BuiltinOps.h"
#include "tp/Import/Checkpoint.h"
#include "tp/Import/ModelConfig.h"

namespace tp {

/// The names of the table of tokens, and those of a head over the vocabulary,
/// of its weight or its bias; none for a model without one.
llvm::SmallVector<std::string> getTableNames(const ModelConfig &config);
llvm::SmallVector<std::string> getHeadNames(const ModelConfig &config,
                                            llvm::StringRef part = "weight");

/// Makes `config.tieEmbeddings` what holds for this checkpoint, whose tensors
/// are compared as `readType`, or what `untie` asks for. Warns where the files
/// and config.json differ and nobody has said so. Fails, after emitting an
/// error, if `untie` cannot be had.
mlir::LogicalResult settleTiedHead(mlir::Location loc, ModelConfig &config,
                                   const Checkpoint &checkpoint,
                                   const TensorPatterns &excluded, bool untie,
                                   FloatKind readType);

/// Writes tp.changed_config: checkpoints of this program are not tied.
void noteUntied(mlir::ModuleOp module);

} // namespace tp

#endif // TP_LIB_IMPORT_TIEDHEAD_H
