//===- Tokens.h - what a program is trained on ------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of token ids in a file, read when they are wanted, in the order of a
// seed. The order is a function of the position alone, so that the position is
// all that a checkpoint keeps of it, and no list of rows is in memory.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TRAINING_TOKENS_H
#define TPRT_TRAINING_TOKENS_H

#include "../tensors/Tensor.h"

namespace tprt::training {

class TokenFile {
public:
  /// `path`: .npy, or .safetensors with one tensor or one named `tokens`, of
  /// any integer type: rows [n, length + 1], or one stream that is cut into
  /// such rows. A tensor `labels` beside it, of the same shape, says which
  /// tokens are to be predicted: those that are not are -100 in it, each at its
  /// own place, as in `transformers`. Other tensors are refused, and ids at or
  /// above `vocabulary` when they are read.
  static Expected<TokenFile> open(const std::string &path, int64_t length,
                                  int64_t vocabulary);

  int64_t rows() const { return count; }
  /// Tokens at the end of a stream that fill no row.
  int64_t left() const { return leftOver; }
  /// Writes the tokens of a row but the last, and for each the class at its
  /// position: the token that follows, or -100.
  Status read(int64_t row, int32_t *ids, int32_t *targets) const;

private:
  Expected<std::vector<int32_t>> readRow(const TensorPlace &place, int64_t row,
                                         bool isLabels) const;

  InputFile file;
  std::string path;
  TensorPlace tokens;
  std::optional<TensorPlace> labels;
  int64_t length, vocabulary, count, leftOver = 0;
};

/// The `position`-th row of an endless sequence that has each of `rows` rows
/// once in each pass over them: in their own order, or shuffled anew in each.
int64_t rowAt(int64_t position, int64_t rows, bool isShuffled, uint64_t seed);

} // namespace tprt::training

#endif // TPRT_TRAINING_TOKENS_H
