//===- Sequences.h - sequences shorter than compiled ------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An entry is compiled for B sequences of S positions. Callers may give fewer
// positions, and pad on the left: what they give is moved so that each sequence
// begins at position 0 and is followed by zeros, of the mask too, and results
// are moved back. That is exact: a token's position is the number of tokens
// before it, and no token sees what the mask hides.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TENSORS_SEQUENCES_H
#define TPRT_TENSORS_SEQUENCES_H

#include "Values.h"

namespace tprt {

using NamedShapes = std::vector<std::pair<std::string_view, Shape>>;
using InputValues = std::vector<std::optional<InputValue>>;

/// How what a caller gave lies in the positions of an entry.
struct SequenceFit {
  int64_t positions = 0;     ///< that the caller gave; 0: the entry has none
  std::vector<int64_t> left; ///< by sequence, those before its first token;
                             ///< empty: none has any

  /// True if values are taken and given as they are.
  bool isPlain(const Entry &entry) const {
    return positions == entry.positions && left.empty();
  }
};

/// Chooses, among the entries that are compiled for sequences, the one for the
/// fewest positions that has room for these inputs; else the first. An error
/// that lists the lengths there are if none has.
Expected<int64_t> chooseEntry(const std::vector<Entry> &entries,
                              const NamedShapes &inputs);

/// The fit of inputs of these shapes, all of one number of positions, or of
/// such values (null: not given), which may pad on the left.
Expected<SequenceFit> fitSequences(const Entry &entry,
                                   const NamedShapes &inputs);
Expected<SequenceFit> fitSequences(const Entry &entry,
                                   const InputValues &values);

/// The values as the entry reads them, given those that checkInput has passed.
InputValues moveIn(const Entry &entry, const SequenceFit &fit,
                   const InputValues &values);
/// The shape of an output for the caller, and its elements, of so many bytes
/// each, from the whole output's. Positions of padding on the left are zero.
Shape shapeFor(const Output &output, const SequenceFit &fit);
void moveOut(const Output &output, const SequenceFit &fit, const char *from,
             int64_t size, char *to);

} // namespace tprt

#endif // TPRT_TENSORS_SEQUENCES_H
