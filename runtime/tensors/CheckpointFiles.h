//===- CheckpointFiles.h - the tensors of a checkpoint ----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tensors of a checkpoint's safetensors files by name. A model.safetensors
// has all of them. Where there is an index instead, it decides: a tensor counts
// in the file that the index names for it, and one that it does not list is not
// read.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TENSORS_CHECKPOINTFILES_H
#define TPRT_TENSORS_CHECKPOINTFILES_H

#include "Tensor.h"

#include <memory>

namespace tprt {

/// A tensor that no file has.
class ComputedTensor {
public:
  virtual ~ComputedTensor() = default;
  /// As LocatedTensor::read. Threads may call it at once.
  virtual Status read(int64_t offset, void *data, int64_t bytes) const = 0;
};

/// A tensor of a checkpoint.
struct LocatedTensor {
  TensorPlace place;
  std::string name, path;
  std::shared_ptr<const InputFile> file;
  std::shared_ptr<const ComputedTensor> computed = nullptr; ///< or null
  /// The name of the tensor that this is another form of; empty: it is none.
  std::string formOf = {};

  /// Reads `bytes` from `offset` on. An error names the tensor.
  Status read(int64_t offset, void *data, int64_t bytes) const;
};

struct CheckpointFiles {
  std::map<std::string, LocatedTensor> tensors;
  /// For people: tensors of the files that are not read. Empty: none.
  std::string note;

  /// A directory with model.safetensors, model.safetensors.index.json or
  /// model.gguf, or a .safetensors or .gguf file.
  static Expected<CheckpointFiles> open(const std::string &spec);
  /// Adds the tensors of one more file; an error if it has one of those there.
  Status add(const std::string &path);
};

/// `'a', 'b' and 7 more`.
std::string nameSome(const std::vector<std::string> &names);

} // namespace tprt

#endif // TPRT_TENSORS_CHECKPOINTFILES_H
