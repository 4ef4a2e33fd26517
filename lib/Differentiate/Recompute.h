//===- Recompute.h - What a derivative computes again -----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The derivative of a repeated layer reads values of the layer itself. Each is
// kept, which takes memory for all layers, or computed again from what is kept.
// Korthikanti et al., arXiv 2205.05198, call the choice in between selective.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_DIFFERENTIATE_RECOMPUTE_H
#define TP_LIB_DIFFERENTIATE_RECOMPUTE_H

#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Differentiate/Passes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace tp::differentiate {

/// Says which of the values that a layer's derivative reads are computed again.
class RecomputePlan {
public:
  /// `read` are values of the block `layer`.
  RecomputePlan(mlir::Block &layer, Recompute policy,
                const llvm::DenseSet<mlir::Value> &read);

  /// True if the operation that makes `value` is cloned into the derivative;
  /// otherwise it is kept.
  bool isComputedAgain(mlir::Value value);

private:
  /// True if `value` can be had from what is kept by operations that may be
  /// repeated. Arguments of the layer can: they are kept as they are.
  bool followsFromKept(mlir::Value value);

  mlir::Block &layer;
  Recompute policy;
  llvm::DenseSet<mlir::Value> kept;
  llvm::DenseMap<mlir::Value, bool> follows;
};

} // namespace tp::differentiate

#endif // TP_LIB_DIFFERENTIATE_RECOMPUTE_H
