//===- Positions.h - What scalars know of the rank --------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tp.rank may enter the elements of a tensor in one way only: as the offset
// that makes a local position a global one. So scalars are followed as sums of
// positions along axes, loop indices and what is the same on every rank.
//
// Example: a loop over 8 positions that "tp" cuts in parts of 4. The local
// linalg.index differs from rank to rank, and so does tp.rank ["tp"] * 4; their
// sum is the global position, which is as good as a constant. tp.rank ["tp"] *
// 2 added to it is neither, and no tensor may be made from it.
//
//===----------------------------------------------------------------------===//

#ifndef TP_PARTITION_POSITIONS_H
#define TP_PARTITION_POSITIONS_H

#include "mlir/IR/Operation.h"
#include "tp/Sharding/Mesh.h"
#include "llvm/ADT/DenseMap.h"
#include <map>

namespace tp {

/// How the positions of one loop are cut: rank r holds those from
/// `getIndexAlong(r, axes) * localSize` on.
struct LoopCut {
  AxisList axes;
  int64_t localSize = 1;
};

/// A scalar: what is the same on every rank, plus multiples of coordinates of
/// the rank and of local loop indices.
struct RankForm {
  /// By prime factor of an axis.
  std::map<AxisRef, int64_t> digits;
  std::map<unsigned, int64_t> loops;
  /// Its value, where that is a constant.
  std::optional<int64_t> number;
  /// Axes on which it depends in another way.
  AxisList others;

  bool dependsOnRank() const { return !digits.empty() || !others.empty(); }
};

class Positions {
public:
  explicit Positions(const Mesh &mesh) : mesh(mesh) {}

  /// Follow `op`, scalar code on the level of a function or of tp.repeat.
  void evaluate(mlir::Operation *op);
  /// The form of a value that was followed; any other is the same on every
  /// rank.
  RankForm get(mlir::Value value) const;
  bool isSameOnAllRanks(mlir::Value value) const {
    return !get(value).dependsOnRank();
  }
  /// Why `offset` (null: none) does not begin a part cut so; empty if it does.
  std::string checkOffset(mlir::Value offset, const LoopCut &cut) const;
  /// Why what the regions of `op` compute is not the same wherever it is
  /// computed; empty if it is. `cuts` are those of its loops (of a structured
  /// operation) or of its positions (block arguments of tensor.pad).
  std::string checkRegions(mlir::Operation *op,
                           llvm::ArrayRef<LoopCut> cuts) const;

private:
  RankForm getOffset(const LoopCut &cut) const;
  void addDigits(RankForm &form, llvm::ArrayRef<AxisRef> axes,
                 int64_t times) const;
  std::string describe(const RankForm &form) const;

  const Mesh &mesh;
  llvm::DenseMap<mlir::Value, RankForm> forms;
};

} // namespace tp

#endif // TP_PARTITION_POSITIONS_H
