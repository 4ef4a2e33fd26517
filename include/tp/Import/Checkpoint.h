//===- Checkpoint.h - Names, shapes and types of a checkpoint ---*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The headers of a checkpoint's safetensors files: enough to check a model's
// parameters against it without reading a weight. The headers come from
// strangers: lengths, offsets, shapes and file names are verified before they
// are believed.
//
//===----------------------------------------------------------------------===//

#ifndef TP_IMPORT_CHECKPOINT_H
#define TP_IMPORT_CHECKPOINT_H

#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

namespace tp {

/// One tensor as a safetensors header describes it.
struct CheckpointTensor {
  std::string dtype; ///< As in the file: "F32", "BF16", ...
  llvm::SmallVector<int64_t> shape;
  uint64_t begin = 0, end = 0; ///< Bytes from the start of the data.
  std::string file;            ///< The file's name in the directory.
};

/// The tensors of a checkpoint directory by name.
class Checkpoint {
public:
  /// Reads the headers of DIR/model.safetensors, or of the files that
  /// DIR/model.safetensors.index.json lists. Without either, the checkpoint is
  /// empty and `hasWeights` is false. Fails after emitting an error.
  static mlir::FailureOr<Checkpoint> open(mlir::MLIRContext *context,
                                          llvm::StringRef directory);

  bool hasWeights() const { return weights; }
  /// Null if the checkpoint has no tensor of that name.
  const CheckpointTensor *find(llvm::StringRef name) const;
  const llvm::StringMap<CheckpointTensor> &getTensors() const {
    return tensors;
  }

private:
  llvm::StringMap<CheckpointTensor> tensors;
  bool weights = false;
};

/// The tensors of one safetensors file. `data` is the file's first bytes, as
/// many as the header needs, `fileSize` its length. Returns what is wrong with
/// it, or an empty string.
std::string readSafetensorsHeader(llvm::StringRef data, uint64_t fileSize,
                                  llvm::StringMap<CheckpointTensor> &tensors);

} // namespace tp

#endif // TP_IMPORT_CHECKPOINT_H
