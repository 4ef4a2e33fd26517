//===- RealTokens.h - What depends on a padding mask alone ----*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step has no padding, so that a padding mask is one everywhere. What a
// program computes from it alone, such as positions that are counted by its
// running sum, or a bias of these positions, is then a constant.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_DERIVE_REALTOKENS_H
#define TP_LIB_DERIVE_REALTOKENS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace tp {

/// RealTokens evaluates values of a forward program for masks of ones.
class RealTokens {
public:
  explicit RealTokens(mlir::func::FuncOp source);

  /// Returns whether `value` is an argument that an nn.attention reads as its
  /// padding mask.
  bool isMask(mlir::Value value) const { return masks.contains(value); }
  /// Returns the elements that `value` has where all tokens are real; null if
  /// it depends on something else than masks and constants, or on no mask, or
  /// has a part that cannot be folded.
  mlir::DenseElementsAttr fold(mlir::Value value);

private:
  /// Elements that have been computed, or null, by value.
  using Folded = llvm::DenseMap<mlir::Value, mlir::DenseElementsAttr>;
  bool dependsOnMasksAlone(mlir::Value value) const;
  mlir::DenseElementsAttr evaluate(mlir::Value value);
  mlir::DenseElementsAttr evaluateLoops(mlir::linalg::LinalgOp op);

  llvm::DenseSet<mlir::Value> masks;
  Folded folded;
};

} // namespace tp

#endif // TP_LIB_DERIVE_REALTOKENS_H
