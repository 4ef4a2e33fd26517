//===- CompareTensors.h - Whether two tensors are one -----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A checkpoint may hold a parameter under several names: a tied head beside its
// table, a fused projection beside its parts. One of them is read, so all that
// are there must hold the same values. This file compares them, from the files
// and piece by piece; the runtime has its own (runtime/tensors/Spellings.h),
// because a program may be run with other files than it was compiled from.
//
//===----------------------------------------------------------------------===//

#ifndef TP_IMPORT_COMPARETENSORS_H
#define TP_IMPORT_COMPARETENSORS_H

#include "tp/Import/Checkpoint.h"
#include "tp/Import/ModelConfig.h"
#include <memory>

namespace tp {

/// A box of a checkpoint's tensor.
struct TensorBox {
  const CheckpointTensor *tensor;
  /// The tensor's, perhaps with ones in front or its first dimension as two.
  llvm::SmallVector<int64_t> shape;
  /// The index in the tensor of the box's first element.
  llvm::SmallVector<int64_t> offsets;
};

/// Compares tensors of one directory, whose files it opens once.
class TensorComparer {
public:
  explicit TensorComparer(llvm::StringRef directory) : directory(directory) {}

  /// True if two boxes of `sizes`, which must lie within their tensors, hold
  /// the same values once they are read as `type`. Other types than f32, bf16
  /// and f16 are equal if their bytes are. Stops at the first difference. Fails
  /// if a file cannot be read.
  llvm::Expected<bool> areEqual(const TensorBox &a, const TensorBox &b,
                                llvm::ArrayRef<int64_t> sizes, FloatKind type);
  /// The same of whole tensors; those of other shapes differ.
  llvm::Expected<bool> areEqual(const CheckpointTensor &a,
                                const CheckpointTensor &b, FloatKind type);

private:
  llvm::Expected<bool> isPieceEqual(const CheckpointTensor &a, int64_t aElement,
                                    const CheckpointTensor &b, int64_t bElement,
                                    int64_t count, FloatKind type);
  llvm::Error read(const CheckpointTensor &tensor, int64_t element,
                   int64_t count, llvm::SmallVectorImpl<char> &bytes);

  std::string directory;
  llvm::StringMap<std::unique_ptr<CheckpointFile>> files;
};

} // namespace tp

#endif // TP_IMPORT_COMPARETENSORS_H
