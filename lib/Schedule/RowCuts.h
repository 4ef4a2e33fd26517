//===- RowCuts.h - Tensors and operations in parts of rows ------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One device may compute an operation a part of its rows at a time wherever the
// operation's sharding rule lets ranks share them, and where the operation says
// so itself (getPartForm). This is the algebra of such parts; tp-split-rows
// decides what is cut and in which order the parts are computed.
//
// Example: rows [0, 8) in two parts are [0, 4) and [4, 8). A gather over two
// ranks puts the first parts of both ranks together, which are rows 0 to 3 and
// 8 to 11 of the 16: a cut of two blocks, [0, 4) and [4, 8) of each.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_SCHEDULE_ROWCUTS_H
#define TP_LIB_SCHEDULE_ROWCUTS_H

#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Interfaces/ShardingInterface.h"

namespace tp {

/// The parts of a dimension, or of a factor: of each of `blocks` equal blocks
/// that it consists of, part i has positions bounds[i] to bounds[i + 1].
struct Cut {
  unsigned dim = 0;
  int64_t blocks = 1;
  llvm::SmallVector<int64_t, 4> bounds;

  bool operator==(const Cut &other) const = default;
  unsigned getNumParts() const { return bounds.size() - 1; }
  /// Positions of the dimension in part `part`.
  int64_t getSize(unsigned part) const {
    return blocks * (bounds[part + 1] - bounds[part]);
  }
};

/// `size` positions of `dim` in `parts` parts that differ by one at most.
Cut getEvenCut(unsigned dim, int64_t size, unsigned parts);

/// The type of a part of a tensor.
mlir::RankedTensorType getPartType(mlir::Value value, const Cut &cut,
                                   unsigned part);

/// The part of an operand that an operation reads to compute one part.
struct OperandPart {
  Cut cut;
  /// All from the first position to the end of the part.
  bool isPrefix = false;
};

/// An operation that is computed in parts.
struct OpParts {
  /// One per operand; nothing where each part reads all of it.
  llvm::SmallVector<std::optional<OperandPart>> operands;
  llvm::SmallVector<Cut, 2> results;
  /// The factor that is cut, and its rule; a collective has none.
  std::optional<unsigned> factor;
  ShardingRule rule;
};

/// Returns the parts in which `op` is computed if `value`, one of its operands
/// or results, is cut in this way. Nothing if it cannot be; emits no error.
std::optional<OpParts> getOpParts(mlir::Operation *op, mlir::Value value,
                                  const Cut &cut);

/// True if a library multiplies here: what takes as long as a collective.
bool isProduct(mlir::Operation *op);

/// The part of `whole`, which is a view where its rows lie together.
mlir::Value buildPart(mlir::OpBuilder &builder, mlir::Value whole,
                      const OperandPart &operand, unsigned part);
/// All parts as one tensor of type `type`.
mlir::Value buildWhole(mlir::OpBuilder &builder, mlir::RankedTensorType type,
                       mlir::ValueRange parts, const Cut &cut);

} // namespace tp

#endif // TP_LIB_SCHEDULE_ROWCUTS_H
