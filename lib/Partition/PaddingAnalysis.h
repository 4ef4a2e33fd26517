//===- PaddingAnalysis.h - What padding holds, and masks --------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows the contents of padding through a program on global types with
// its reshards inserted, and says which operands must be masked before an
// operation that would count it. Example: y = exp(x) summed over a
// dimension of 10 in 4 parts of 3: the last rank has two elements exp(0) = 1,
// so y is masked with zeros before the sum.
//
//===----------------------------------------------------------------------===//

#ifndef TP_PARTITION_PADDINGANALYSIS_H
#define TP_PARTITION_PADDINGANALYSIS_H

#include "OpAnalysis.h"
#include "PaddingMask.h"
#include "tp/Sharding/Padding.h"
#include "tp/Sharding/Reshard.h"

namespace tp {

class PaddingAnalysis {
public:
  explicit PaddingAnalysis(const Mesh &mesh) : mesh(mesh) {}

  /// Analyse the body of a function. The padding of arguments and parameters
  /// are zero. Fails, after an error, where padding cannot be made harmless.
  mlir::LogicalResult run(mlir::Block &body);
  /// The masks due on an operand.
  llvm::ArrayRef<Mask> getMasks(mlir::OpOperand &operand) const {
    auto found = masks.find(&operand);
    return found == masks.end() ? llvm::ArrayRef<Mask>() : found->second;
  }
  /// The factors whose padding the per-rank form of `op` must leave out.
  llvm::ArrayRef<unsigned> getGuardedFactors(mlir::Operation *op) const {
    auto found = guarded.find(op);
    return found == guarded.end() ? llvm::ArrayRef<unsigned>() : found->second;
  }

private:
  using States = llvm::SmallVector<PadState>;

  mlir::LogicalResult block(mlir::Block &block);
  mlir::LogicalResult operation(mlir::Operation *op);
  /// One padded factor of an operation: its masks and guards, and what its
  /// padding holds in the results.
  mlir::LogicalResult factor(mlir::Operation *op, const OpAnalysis &analysis,
                             unsigned factor);
  /// The state of the padding of dimension `dim` of an operand, wherever it is
  /// in its other dimensions.
  PadState getOperandState(mlir::Value value, unsigned dim);
  mlir::LogicalResult repeat(RepeatOp op);
  States reshard(ReshardOp op);
  /// Zero in every padded dimension of `value`.
  States zeros(mlir::Value value);

  const Mesh &mesh;
  llvm::DenseMap<mlir::Value, States> states;
  llvm::DenseMap<mlir::OpOperand *, llvm::SmallVector<Mask, 1>> masks;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<unsigned, 1>> guarded;
};

} // namespace tp

#endif // TP_PARTITION_PADDINGANALYSIS_H
