//===- TrainOptions.h - What a training step is for -------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The options that `--train` and those beside it set: docs/Training.md.
//
//===----------------------------------------------------------------------===//

#ifndef TP_DERIVE_TRAINOPTIONS_H
#define TP_DERIVE_TRAINOPTIONS_H

#include <string>

namespace tp {

/// A step of training.
struct TrainOptions {
  /// "adamw" or "sgd".
  std::string optimizer;
  /// The most that the gradient's norm may be; 0: any.
  double clip = 0;
  /// Whether sgd has momentum.
  bool momentum = false;
  /// The mesh axis that cuts what the optimizer keeps; empty: none.
  std::string shardOptimizer;
  /// How much there is of the dropout that config.json asks for: none, all, or
  /// all but attention's.
  enum class Dropout { Off, On, Residual } dropout = Dropout::Off;
};

} // namespace tp

#endif // TP_DERIVE_TRAINOPTIONS_H
