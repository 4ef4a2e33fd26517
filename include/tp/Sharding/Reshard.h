//===- Reshard.h - From one sharding to another with the fewest bytes ---*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Resharding is a typed lattice with one minimal sequence of collectives per
// case: fewest bytes received per rank, then fewest calls, then the order of
// the table. The table is the specification; docs/Sharding.md prints it, each
// row's id is used in the verifier of partitioned IR and in a test, and a
// brute-force search over the same primitives is the judge.
//
//   id                    from -> to                          step
//   keep-first            replicated -> partial               free (others zero)
//   slice                 replicated -> split                 free
//   all-reduce            partial -> replicated               all_reduce
//   reduce-scatter        partial -> split                    reduce_scatter
//   all-gather            split -> replicated                 all_gather
//   all-to-all            split on a -> split on b            all_to_all
//   permute               other axis order, other axis        collective_permute
//
//===----------------------------------------------------------------------===//

#ifndef TP_SHARDING_RESHARD_H
#define TP_SHARDING_RESHARD_H

#include "tp/Sharding/Sharding.h"

namespace tp {

/// A row of the reshard table, and the primitive that carries it out.
enum class ReshardStepKind {
  KeepFirst,
  Slice,
  AllReduce,
  ReduceScatter,
  AllGather,
  AllToAll,
  CollectivePermute,
};
/// The row's id as in the table above.
llvm::StringRef getRowId(ReshardStepKind kind);

struct ReshardStep {
  ReshardStepKind kind;
  /// The (sub-)axes the step runs over; its groups are mesh.getGroups(axes).
  AxisList axes;
  /// The dimension that is sliced, scattered or gathered; for all_to_all the
  /// one gathered.
  int64_t dim = -1;
  /// For all_to_all: the dimension that is split.
  int64_t splitDim = -1;
  ReductionKind reduction = ReductionKind::Sum;
  /// For collective_permute: (source, target) ranks, sources and targets each
  /// distinct; ranks that keep their data are listed with themselves.
  llvm::SmallVector<std::pair<int64_t, int64_t>, 0> pairs;
  /// The sharding after the step.
  TensorSharding result;
};

struct ReshardPlan {
  llvm::SmallVector<ReshardStep, 2> steps;
  /// Elements received per rank (the largest over the ranks), of the local
  /// padded shapes.
  int64_t elementsReceived = 0;
};

/// The minimal sequence from `from` to `to` for a tensor of `shape` (logical).
/// Both must verify on `mesh`. Partial values of different reductions cannot be
/// turned into each other except through the whole value. Padded layouts:
/// where `from` and `to` pad a dimension differently, the steps' local shapes
/// follow getLocalShape of each step's result.
ReshardPlan planReshard(llvm::ArrayRef<int64_t> shape,
                        const TensorSharding &from, const TensorSharding &to,
                        const Mesh &mesh);

/// Elements that one rank receives in `step` when the value had `from`.
int64_t getElementsReceived(llvm::ArrayRef<int64_t> shape,
                            const TensorSharding &from, const ReshardStep &step,
                            const Mesh &mesh);

} // namespace tp

#endif // TP_SHARDING_RESHARD_H
