//===- TrainOptions.h - What a training step is for -------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `--train` asks for: docs/Training.md.
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
  /// Of sgd.
  bool momentum = false;
  /// The mesh axis that cuts what the optimizer keeps; empty: none.
  std::string shardOptimizer;
  /// What a checkpoint's config.json asks for: nothing of it, all, or all but
  /// attention's.
  enum class Dropout { Off, On, Residual } dropout = Dropout::Off;
};

} // namespace tp

#endif // TP_DERIVE_TRAINOPTIONS_H
