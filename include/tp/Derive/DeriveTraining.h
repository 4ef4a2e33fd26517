//===- DeriveTraining.h - Training from a forward program -------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The transformation of tp-derive-training, for the pass and for the importer.
//
//===----------------------------------------------------------------------===//

#ifndef TP_DERIVE_DERIVETRAINING_H
#define TP_DERIVE_DERIVETRAINING_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "tp/Derive/TrainOptions.h"

namespace tp {

/// Makes `source`, a forward program on one device, one that returns
/// `loss_sum`, which is differentiated, and `tokens`, what it is divided by,
/// and nothing else; and has the module ask for a training step by tp.training.
///
/// The loss of logits [..., classes] is their cross-entropy with a new argument
/// `targets` i64[...], in which numbers that are no class, such as -100, do not
/// count. A sole result f32[] is a loss itself, and counts as one token. Emits
/// an error if there is neither.
mlir::LogicalResult deriveTraining(mlir::func::FuncOp source,
                                   const TrainOptions &options);

/// tp-derive-training with what was asked for.
std::unique_ptr<mlir::Pass> createDeriveTraining(const TrainOptions &options);

} // namespace tp

#endif // TP_DERIVE_DERIVETRAINING_H
