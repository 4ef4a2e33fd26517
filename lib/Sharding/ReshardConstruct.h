//===- ReshardConstruct.h - A reshard without a search ----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plan where no search reaches, private to the library. Steps are chosen by
// counting the primes that cut each dimension, so the work does not depend on
// how many orders of axes there are, and every step receives at most the larger
// of the two local tensors. docs/Sharding.md, "Searches", states the bound.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_SHARDING_RESHARDCONSTRUCT_H
#define TP_LIB_SHARDING_RESHARDCONSTRUCT_H

#include "ReshardParts.h"
#include "tp/Sharding/Reshard.h"
#include <map>
#include <optional>

namespace tp::detail {

/// Positions in Construction::names, in order.
using PartList = llvm::SmallVector<unsigned, 8>;

class Construction {
public:
  Construction(llvm::ArrayRef<int64_t> shape, const TensorSharding &from,
               const TensorSharding &to, const Mesh &mesh)
      : shape(shape), from(from), to(to), mesh(mesh), cutter(from, to, mesh) {}
  ReshardPlan run();

private:
  struct State {
    llvm::SmallVector<PartList, 4> dims;
    PartList partial;
    /// Uneven dimensions that are cut as the target's.
    llvm::SmallVector<bool, 4> isSettled;
  };

  struct Move {
    CollectiveKind kind;
    PartList parts;
    int64_t dim = -1, splitDim = -1;
    State after;
  };
  enum class DimKind { Unchanged, Even, Uneven };

  void setUp();
  DimKind classify(unsigned dim) const;
  void add(CollectiveKind kind, PartList parts, int64_t dim = -1,
           int64_t splitDim = -1);
  PartList getFree() const;
  PartList getGoneAddends() const;
  /// How often more the target cuts `dim` by `prime`.
  int64_t getShort(unsigned dim, int64_t prime) const;
  void cutShortDims(CollectiveKind kind);
  bool lacksParts(int64_t prime) const;
  std::optional<PartList> findCut(unsigned dim) const;
  void cutUneven();
  void settleUneven(bool isLast);
  void findTransfers();
  bool moveLast(unsigned dim, unsigned split);
  void bringToEnd(int64_t prime);
  void moveParts();
  void orderAsTarget();
  void gatherRest();
  /// The names from the last permute on.
  void makeNewNames();
  /// The first move that uses the new names; a permute may be added there.
  size_t placePermute();

  AxisList getAxes(llvm::ArrayRef<unsigned> parts,
                   llvm::ArrayRef<AxisRef> names) const;
  TensorSharding getSharding(const State &state,
                             llvm::ArrayRef<AxisRef> names) const;
  ReshardPlan makePlan(size_t firstNew) const;

  llvm::ArrayRef<int64_t> shape;
  const TensorSharding &from, &to;
  const Mesh &mesh;
  AxisParts cutter;
  llvm::SmallVector<DimKind, 4> kinds;
  /// The axes that head a dimension at both ends, and addends of both.
  llvm::SmallVector<AxisList, 4> fixedAxes;
  AxisList fixedPartial;
  /// The axes that the target has besides, in parts.
  llvm::SmallVector<AxisList, 4> wanted;
  /// Addends of the target alone, if they combine as the source's do.
  AxisList wantedPartial;
  /// The parts that move: as the source names them, as the target does in its
  /// own order, and as the target does in the order of the source's.
  AxisList names, targetNames, newNames;
  State source, now;
  llvm::SmallVector<Move, 8> moves;
  /// How often parts of each size are yet to go from one dimension to another.
  std::map<std::pair<unsigned, unsigned>, std::map<int64_t, int64_t>> transfers;
};

/// A plan from `from` to `to`, both closed and normalized, of bounded cost.
ReshardPlan constructReshard(llvm::ArrayRef<int64_t> shape,
                             const TensorSharding &from,
                             const TensorSharding &to, const Mesh &mesh);

} // namespace tp::detail

#endif // TP_LIB_SHARDING_RESHARDCONSTRUCT_H
