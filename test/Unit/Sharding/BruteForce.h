//===- BruteForce.h - The judge of the reshard planner ----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Enumerates every sharding of a small tensor on a small mesh, finds out for
// every ordered pair which row of the reshard table leads from one to the
// other, by looking at the intervals that each rank holds, and runs Dijkstra's
// algorithm over the graph. It shares no code with the planner: axes are cut
// down to primes here, to the coarsest parts there; here every edge of the
// graph is written down, there states are made as they are met.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_UNIT_SHARDING_BRUTEFORCE_H
#define TP_TEST_UNIT_SHARDING_BRUTEFORCE_H

#include "tp/Sharding/Reshard.h"
#include <map>
#include <vector>

namespace tp::test {

/// Elements received, then collectives.
using JudgedCost = std::pair<int64_t, int64_t>;

class BruteForce {
public:
  /// `grains` lists the grains to cut each dimension in, `kinds` the reductions
  /// that partial values may have.
  BruteForce(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
             llvm::ArrayRef<llvm::SmallVector<int64_t>> grains,
             llvm::ArrayRef<ReductionKind> kinds);

  const std::vector<TensorSharding> &getStates() const { return states; }
  /// Cheapest way from state to state over the axes that the two name.
  JudgedCost getCost(unsigned from, unsigned to);

private:
  struct Edge {
    unsigned to;
    int64_t elements;
    int64_t calls;
  };
  /// The part that a rank holds of each dimension.
  struct Interval {
    int64_t begin, end;
  };

  void enumerate(llvm::ArrayRef<llvm::SmallVector<int64_t>> grains,
                 llvm::ArrayRef<ReductionKind> kinds);
  void connect(unsigned from, unsigned to);
  std::vector<AxisList> getAppended(const AxisList &before,
                                    const AxisList &after) const;
  bool isPieceAt(unsigned coarse, unsigned fine, unsigned dim,
                 const AxisList &axes) const;
  bool isAllowed(unsigned state, unsigned from, unsigned to) const;

  Mesh mesh;
  llvm::SmallVector<int64_t> shape;
  std::vector<TensorSharding> states;
  std::vector<llvm::SmallVector<int64_t>> localShapes;
  /// [state][rank][dim]
  std::vector<std::vector<std::vector<Interval>>> intervals;
  /// Every ordered list of disjoint prime sub-axes, canonical.
  std::vector<AxisList> lists;
  std::vector<std::vector<Edge>> edges;
  /// Distances from a state when only some states may be passed.
  std::map<std::pair<unsigned, std::vector<bool>>, std::vector<JudgedCost>>
      distances;
};

} // namespace tp::test

#endif // TP_TEST_UNIT_SHARDING_BRUTEFORCE_H
