//===- ReshardSearch.h - Cheapest way through the reshard table -*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The planner's search, private to the library. A state is a sharding written
// in the few (sub-)axes that the two ends are made of; the edges are the rows
// of the table. Problems are tiny (one or two axes almost always: some ten
// states), so uniform-cost search with the target's cost as a bound is enough.
// Where it is not, states that differ only in which axes of one size they name
// count as one, and the search is guided by what a rank still lacks; what it
// leaves open is one permute. Both stop after a count of lists and states.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_SHARDING_RESHARDSEARCH_H
#define TP_LIB_SHARDING_RESHARDSEARCH_H

#include "tp/Sharding/Reshard.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include <bit>
#include <deque>
#include <optional>
#include <queue>

namespace tp::detail {

/// Positions in ReshardProblem::refs, in order, major first.
using RefList = llvm::SmallVector<uint8_t, 4>;
/// A set of them.
using RefSet = uint64_t;

inline RefSet toSet(llvm::ArrayRef<uint8_t> list) {
  RefSet set = 0;
  for (uint8_t i : list)
    set |= RefSet(1) << i;
  return set;
}

/// The search's constants: the two shardings and the tensor.
struct ReshardProblem {
  /// The (sub-)axes that may move; those that stand at the head of a dimension
  /// at both ends of an evenly cut tensor stay where they are and are left out.
  llvm::SmallVector<AxisRef, 4> refs;
  /// The refs that each one overlaps, itself included.
  llvm::SmallVector<RefSet, 4> conflicts;
  /// Refs of one class have one size and take each other's place; one that
  /// overlaps another is alone.
  llvm::SmallVector<uint8_t, 4> classes;
  /// The size of each dimension, without the part that the fixed axes cut.
  llvm::SmallVector<int64_t, 4> sizes;
  /// The grains of the two ends.
  llvm::SmallVector<int64_t, 4> fromGrains, toGrains;
  /// The axes that stay where they are.
  llvm::SmallVector<AxisList, 4> fixedAxes;
  AxisList fixedPartial;
  /// The addends of the two ends combine differently.
  bool reductionsDiffer = false;
  ReductionKind fromReduction = ReductionKind::Sum,
                toReduction = ReductionKind::Sum;
  /// Some axis is cut at places that do not nest, so that one list of axes can
  /// be written in several ways.
  bool hasAliases = false;
};

struct ReshardState {
  llvm::SmallVector<RefList, 4> dims;
  RefSet partial = 0;
  /// Dimensions cut in the target's grain rather than the source's, where that
  /// makes a difference.
  uint32_t inToGrain = 0;
  /// The addends combine as the target's do.
  bool inToReduction = false;
};

/// Lexicographic: elements, calls, steps, rows.
struct ReshardCost {
  int64_t elements = 0;
  unsigned calls = 0, steps = 0;
  /// The first rows taken: ordered by the table among sequences of one length.
  uint64_t rows = 0;
  static constexpr unsigned rowBits = std::bit_width(numCollectiveKinds - 1);
  static constexpr unsigned maxRows = 64 / rowBits;
  auto operator<=>(const ReshardCost &other) const = default;
};

/// A step without its shardings.
struct ReshardMove {
  CollectiveKind kind = CollectiveKind::Slice;
  RefList axes;
  int dim = -1, splitDim = -1;
};

/// Moves and the states that they lead to.
using ReshardPath = llvm::SmallVector<std::pair<ReshardMove, ReshardState>, 4>;

class ReshardSearch {
public:
  /// Lists and states looked at before a search gives up.
  static constexpr int64_t budget = 40000;

  /// `bySize`: states that differ in axes of one class are the same.
  ReshardSearch(const ReshardProblem &problem, bool bySize)
      : problem(problem), bySize(bySize) {}

  /// The cheapest path, by size to a state as good as the target; nothing if
  /// the budget does not reach.
  std::optional<ReshardPath> run(ReshardState source, ReshardState target);
  int64_t getWork() const { return work; }

private:
  struct Node {
    ReshardState state;
    ReshardCost cost;
    int parent;
    /// False for another writing of the parent's state.
    bool isMove;
    ReshardMove move;
    int64_t remaining;
    bool done = false;
  };
  using VisitList = llvm::function_ref<void(const RefList &)>;

  int64_t getCount(llvm::ArrayRef<uint8_t> list) const;
  int64_t getCount(RefSet set) const;
  int64_t getLocalSize(unsigned dim, int64_t shards, bool inToGrain) const;
  int64_t getLocalSize(const ReshardState &state, unsigned dim) const;
  int64_t getLocalElements(const ReshardState &state) const;
  RefSet getFree(const ReshardState &state) const;
  /// Every ordered list of distinct compatible refs out of `available` whose
  /// count divides `count`, any if that is 0; by size the first of each class.
  void forEachList(RefSet available, VisitList visit, int64_t count = 0);
  /// Give `state` a dimension cut by `list`, in the grain of either end, where
  /// the two make other local sizes, and hand each on.
  void forEachCut(const ReshardState &state, unsigned dim, const RefList &list,
                  llvm::function_ref<void(ReshardState &)> visit) const;
  bool isCutInParts(const ReshardState &coarse, const ReshardState &fine,
                    unsigned dim, int64_t parts) const;

  void expand(int index);
  void expandRows(int index);
  void give(int index, const ReshardState &taken, Holding from,
            const RefList &list, int dim);
  void expandPermutes(int index);
  void permuteDims(int index, unsigned dim, RefSet available,
                   ReshardState &state);
  void expandAliases(int index);
  void forEachAlias(llvm::ArrayRef<uint8_t> list, VisitList visit) const;
  void visit(int parent, ReshardState state, ReshardMove move,
             int64_t elements);
  void visit(int parent, ReshardState state, const ReshardCost &cost,
             bool isMove, ReshardMove move);
  std::string getKey(ReshardState &state) const;
  ReshardCost getNext(int parent, CollectiveKind kind, int64_t elements) const;
  /// Elements that some rank has yet to receive, whatever way is taken: the
  /// lower bound of an A* search.
  int64_t getRemaining(const ReshardState &state) const;
  /// The place in the queue: by size, what remains counts too.
  ReshardCost getOrder(const Node &node) const;
  bool isTooDear(const ReshardCost &cost) const {
    return targetIndex >= 0 && cost >= nodes[targetIndex].cost;
  }

  const ReshardProblem &problem;
  const bool bySize;
  int64_t work = 0;
  /// The elements that the fullest rank needs of each dimension, of all, and
  /// addends.
  llvm::SmallVector<int64_t, 4> wanted;
  int64_t wantedElements = 1, wantedAddends = 1;
  std::deque<Node> nodes;
  llvm::StringMap<int> known;
  using Entry = std::pair<ReshardCost, int>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue;
  std::string targetKey;
  int targetIndex = -1;
};

/// Make `path`, found by size, lead to `target`: its axes are renamed from some
/// point on, by a permute where it costs least, or by none if nothing that is
/// renamed is in use there. True if it added no permute.
bool renameTowards(const ReshardProblem &problem, const ReshardState &source,
                   const ReshardState &target, ReshardPath &path,
                   llvm::function_ref<int64_t(const ReshardState &)> getSize);

} // namespace tp::detail

#endif // TP_LIB_SHARDING_RESHARDSEARCH_H
