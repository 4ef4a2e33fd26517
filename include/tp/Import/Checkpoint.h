//===- Checkpoint.h - Names, shapes and types of a checkpoint ---*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The headers of a checkpoint's safetensors files: enough to check a model's
// parameters against it without reading a weight. The headers are read by the
// runtime's parser (tprt/safetensors.h), which trusts nothing in them.
//
//===----------------------------------------------------------------------===//

#ifndef TP_IMPORT_CHECKPOINT_H
#define TP_IMPORT_CHECKPOINT_H

#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"
#include "tp/Support/Glob.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace tp {

/// One tensor as a safetensors header describes it.
struct CheckpointTensor {
  std::string dtype; ///< As in the file: "F32", "BF16", ...
  llvm::SmallVector<int64_t> shape;
  uint64_t begin = 0, end = 0; ///< Its bytes in the file.
  std::string file;            ///< The file's name in the directory.
};

/// A file that is read piece by piece, and never mapped: what somebody cuts
/// short meanwhile is an error, where a page of it would be a signal.
class CheckpointFile {
public:
  static llvm::Expected<CheckpointFile> open(llvm::StringRef path);
  CheckpointFile(CheckpointFile &&other)
      : path(std::move(other.path)), size(other.size),
        file(std::exchange(other.file, llvm::sys::fs::kInvalidFile)) {}
  CheckpointFile &operator=(CheckpointFile &&) = delete;
  ~CheckpointFile();

  llvm::StringRef getPath() const { return path; }
  /// When it was opened.
  uint64_t getSize() const { return size; }
  /// The `to.size()` bytes at `offset`.
  llvm::Error read(uint64_t offset, llvm::MutableArrayRef<char> to) const;

private:
  CheckpointFile() = default;

  std::string path;
  uint64_t size = 0;
  llvm::sys::fs::file_t file = llvm::sys::fs::kInvalidFile;
};

/// Patterns on whole names of tensors.
class TensorPatterns {
public:
  /// Fails after emitting an error that begins with `option`, whose value the
  /// patterns are.
  static mlir::FailureOr<TensorPatterns>
  parse(mlir::MLIRContext *context, llvm::StringRef option,
        llvm::ArrayRef<std::string> patterns);

  bool match(llvm::StringRef name) const;
  /// The patterns that match none of the names.
  llvm::SmallVector<std::string>
  getUnmatched(const llvm::StringSet<> &names) const;
  llvm::ArrayRef<Glob> getGlobs() const { return globs; }

private:
  llvm::SmallVector<Glob> globs;
};

/// The tensors of a checkpoint directory by name.
class Checkpoint {
public:
  /// Reads the headers of DIR/model.safetensors, or, where that is not there,
  /// of the files that DIR/model.safetensors.index.json lists. The index says
  /// which file's tensor counts; a remark names those that it does not list,
  /// which are not read. Another remark says which is read if both are there
  /// and name different files.
  /// Without either, the checkpoint is empty and `hasWeights` is false. Fails
  /// after emitting an error.
  static mlir::FailureOr<Checkpoint> open(mlir::MLIRContext *context,
                                          llvm::StringRef directory);

  bool hasWeights() const { return weights; }
  llvm::StringRef getDirectory() const { return directory; }
  /// Null if the checkpoint has no tensor of that name.
  const CheckpointTensor *find(llvm::StringRef name) const;
  const llvm::StringMap<CheckpointTensor> &getTensors() const {
    return tensors;
  }

  /// Puts tensors, by name, in the place of one.
  void replace(llvm::StringRef name,
               llvm::ArrayRef<std::pair<std::string, CheckpointTensor>> by);

  /// Forgets the tensors that a pattern matches, as if the files did not have
  /// them.
  void exclude(const TensorPatterns &patterns);

private:
  mlir::LogicalResult readIndex(mlir::MLIRContext *context,
                                llvm::StringRef path);

  std::string directory;
  llvm::StringMap<CheckpointTensor> tensors;
  bool weights = false;
};

} // namespace tp

#endif // TP_IMPORT_CHECKPOINT_H
