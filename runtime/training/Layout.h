//===- Layout.h - a checkpoint's tensors out of states ----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The way of Weights::load backwards: layers leave their stacks, permutations
// are undone, the parts of a fused tensor come together. One tensor at a time,
// so that no process holds the model.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TRAINING_LAYOUT_H
#define TPRT_TRAINING_LAYOUT_H

#include "Steps.h"

namespace tprt::training {

/// A tensor of the checkpoint, made of states.
struct LaidOut {
  struct Part {
    int64_t state, parameter, instance;
    int64_t position; ///< of a stack's first dimension; -1: all of it
  };
  std::string name;
  TensorPlace place; ///< type, shape and bytes
  std::vector<Part> parts;
  const Weights::Located *input = nullptr; ///< what it was; null: nobody knows
};
using Layout = std::vector<LaidOut>;

/// All tensors that the input has, in its types; of weights that were made up,
/// those of the program. An error if of one of these only a part is known.
Expected<Layout> weightLayout(const Steps &steps);
/// The gradients in the places of their weights, as f32.
Expected<Layout> gradientLayout(const Steps &steps);

/// Appends the tensors, all values divided by `divisor`.
Status write(Steps &steps, const Layout &layout, float divisor,
             OutputFile &file);

/// States that a run that goes on needs beside the checkpoint's tensors.
std::vector<int64_t> statesToKeep(const Steps &steps, const Layout &layout);
/// Writes them to a file of their own.
Status writeStates(Steps &steps, const std::vector<int64_t> &states,
                   const std::string &path);

} // namespace tprt::training

#endif // TPRT_TRAINING_LAYOUT_H
