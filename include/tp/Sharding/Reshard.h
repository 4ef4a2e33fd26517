//===- Reshard.h - From one sharding to another -----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Resharding is a typed lattice with one minimal sequence of collectives per
// case: fewest elements received per rank, then fewest calls, then fewest
// steps, then the order of the table. The table is the specification;
// docs/Sharding.md explains it, each row's id is used in the verifier of
// partitioned IR and in a test, and a brute-force search over the same
// primitives is the judge.
//
//   id              from -> to                 step                received
//   keep-first      replicated -> partial      local               0
//   slice           replicated -> split        local               0
//   all-reduce      partial -> replicated      all_reduce          2 (N-1)/N D
//   reduce-scatter  partial -> split           reduce_scatter      (N-1)/N D
//   all-gather      split -> replicated        all_gather          (N-1)/N D
//   all-to-all      split on a -> split on b   all_to_all          (N-1)/N^2 D
//   permute         other axis, other order    collective_permute  D
//
// N ranks in a group; D the elements of the group's value as one rank sees it
// (for permute: the local ones), padding included. The rows are written once,
// in tprt/collectives.h, which the runtime shares.
//
// Padding. The local shape at every point is getLocalShape of the sharding
// there. A step moves parts of one size: all_gather concatenates its N parts
// and keeps the leading elements that the result has; slice and reduce_scatter
// extend the dimension with padding (zeros for a slice) to N parts and keep the
// one at the rank's position; all_to_all does both. So parts must begin where
// the dimension is cut: [{"x", "y"}] -> [{"x"}] of 5 over 2 x 2 is no
// all_gather (the parts of 2 do not make up the parts of 3): the dimension is
// gathered and cut again.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SHARDING_RESHARD_H
#define TP_SHARDING_RESHARD_H

#include "tp/Sharding/Sharding.h"
#include "tprt/collectives.h"

namespace tp {

using tprt::CollectiveKind;
using tprt::CollectiveRow;
using tprt::collectiveRows;
using tprt::findRow;
using tprt::Holding;
using tprt::numCollectiveKinds;
using tprt::rowOf;

/// One row of the table on one value.
struct ReshardStep {
  CollectiveKind kind;
  /// The (sub-)axes the step runs over; its groups are mesh.getGroups(axes). In
  /// a slice, reduce_scatter or all_to_all they become the minor axes of the
  /// dimension in this order; in all_gather and all_to_all they were the minor
  /// axes of the gathered one. For collective_permute: the axes along which
  /// anything moves.
  AxisList axes;
  /// The dimension that is cut or gathered; where one is gathered and another
  /// cut, the one gathered.
  int64_t dim = -1;
  /// The other of the two.
  int64_t splitDim = -1;
  ReductionKind reduction = ReductionKind::Sum;
  /// For collective_permute: (source, target) ranks in the order of the
  /// targets, a permutation; ranks that keep their data are listed with
  /// themselves.
  llvm::SmallVector<std::pair<int64_t, int64_t>, 0> pairs;
  /// The sharding after the step: closed and normalized.
  TensorSharding result;

  const CollectiveRow &getRow() const { return rowOf(kind); }
  /// The dimension whose parts are put together, or that is cut; -1: none.
  int64_t getGatheredDim() const { return getRow().gatheredDim(dim); }
  int64_t getCutDim() const { return getRow().cutDim(dim, splitDim); }
};

struct ReshardPlan {
  llvm::SmallVector<ReshardStep, 2> steps;
  /// Elements received per rank (the largest over the ranks), of the local
  /// padded shapes: the sum of getElementsReceived of the steps.
  int64_t elementsReceived = 0;
  /// How the plan was found, and so how much dearer it may be than the minimal
  /// one; see docs/Sharding.md, "Searches".
  enum class Search {
    /// It is the minimal one.
    Minimal,
    /// At most one permute of the tensor dearer, where it is smallest on its
    /// way.
    BySize,
    /// Not searched for. Of an evenly cut tensor each step receives at most
    /// the larger of the two local ones, and the steps are few; dimensions
    /// that change and are cut unevenly are gathered between.
    Constructed,
  };
  Search search = Search::Minimal;
  /// Lists and states that the search looked at: bounded, whatever the mesh.
  int64_t work = 0;

  /// Steps that communicate.
  unsigned getNumCalls() const;
};

/// The minimal sequence from `from` to `to` for a tensor of `shape` (logical),
/// or one that ReshardPlan::search describes where the search would be too
/// long. `first` is the search to begin with: tests compare one with another.
/// Both must verify on `mesh`. Steps run only over (sub-)axes that one of the
/// two names (a constructed plan: over the whole of an axis that they cut at
/// places that do not nest): other copies take no part. Partial
/// values of different reductions are turned into each other only through the
/// complete value. Deterministic. A plan without steps means the same layout.
/// If the blocks of a dimension change, steps are on views of the tensor: see
/// planReshardStages.
ReshardPlan
planReshard(llvm::ArrayRef<int64_t> shape, const TensorSharding &from,
            const TensorSharding &to, const Mesh &mesh,
            ReshardPlan::Search first = ReshardPlan::Search::Minimal);

/// A part of a reshard, on a view of the tensor in which the dimensions `split`
/// are two each, their blocks and what is in one.
struct ReshardStage {
  llvm::SmallVector<unsigned, 1> split;
  llvm::SmallVector<int64_t> shape;
  TensorSharding from, to;
  ReshardPlan plan;
};
/// planReshard with the views that its steps are on. One stage, whose view is
/// the tensor itself, unless the blocks of a dimension change.
llvm::SmallVector<ReshardStage, 1>
planReshardStages(llvm::ArrayRef<int64_t> shape, const TensorSharding &from,
                  const TensorSharding &to, const Mesh &mesh);

/// The sharding of the tensor behind a stage.
TensorSharding joinView(const ReshardStage &stage,
                        llvm::ArrayRef<int64_t> shape);
/// The view in which dimension `dim`, cut in blocks, is two; `from` and `to`
/// are both the view of `sharding`.
ReshardStage splitBlocks(llvm::ArrayRef<int64_t> shape,
                         const TensorSharding &sharding, unsigned dim);

/// Elements that one rank receives in `step` when the value had `from`: the
/// last column of the table, with parts rounded up to whole elements.
int64_t getElementsReceived(llvm::ArrayRef<int64_t> shape,
                            const TensorSharding &from, const ReshardStep &step,
                            const Mesh &mesh);

/// For collective_permute: who sends to whom so that every rank gets what `to`
/// gives it; ranks that have it already keep it. `from` and `to` must have the
/// same local shape, numbers of shards and number of addends.
llvm::SmallVector<std::pair<int64_t, int64_t>, 0>
getPermutePairs(const TensorSharding &from, const TensorSharding &to,
                const Mesh &mesh);

} // namespace tp

#endif // TP_SHARDING_RESHARD_H
