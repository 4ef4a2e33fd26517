//===- BruteForce.cpp - The judge of the reshard planner ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See the header. A step is possible where the intervals that ranks hold say
// so; what it costs is written out once more from the table.
//
//===----------------------------------------------------------------------===//

#include "BruteForce.h"
#include <limits>
#include <queue>
#include <set>

using namespace tp;
using namespace tp::test;
using llvm::ArrayRef;
using llvm::SmallVector;

/// The axis as prime sub-axes, in every order of the primes.
static void forEachChain(unsigned axis, int64_t place, int64_t end,
                         AxisList &chain,
                         llvm::function_ref<void(const AxisList &)> visit) {
  if (place == end)
    return visit(chain);
  for (int64_t prime = 2; prime <= end / place; ++prime) {
    bool isPrime = true;
    for (int64_t divisor = 2; divisor < prime; ++divisor)
      isPrime &= prime % divisor != 0;
    if (!isPrime || end / place % prime != 0)
      continue;
    chain.push_back({axis, place, prime});
    forEachChain(axis, place * prime, end, chain, visit);
    chain.pop_back();
  }
}

BruteForce::BruteForce(const Mesh &mesh, ArrayRef<int64_t> shape,
                       ArrayRef<SmallVector<int64_t>> grains,
                       ArrayRef<ReductionKind> kinds)
    : mesh(mesh), shape(shape) {
  enumerate(grains, kinds);
  for (const TensorSharding &state : states) {
    localShapes.push_back(getLocalShape(shape, state));
    auto &ranks = intervals.emplace_back(mesh.getNumRanks());
    for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank)
      for (auto [dim, size] : llvm::enumerate(this->shape)) {
        int64_t local = localShapes.back()[dim];
        int64_t begin = mesh.getIndexAlong(rank, state.dims[dim].axes) * local;
        ranks[rank].push_back(
            {std::min(begin, size), std::min(begin + local, size)});
      }
  }
  edges.resize(states.size());
  for (unsigned from = 0; from < states.size(); ++from)
    for (unsigned to = 0; to < states.size(); ++to)
      if (from != to)
        connect(from, to);
}

void BruteForce::enumerate(ArrayRef<SmallVector<int64_t>> grains,
                           ArrayRef<ReductionKind> kinds) {
  // Every way of cutting all axes into primes.
  std::vector<AxisList> chains{{}};
  for (unsigned axis = 0; axis < mesh.getNumAxes(); ++axis) {
    std::vector<AxisList> longer;
    for (const AxisList &chain : chains) {
      AxisList extended = chain;
      forEachChain(axis, 1, mesh.getAxis(axis).size, extended,
                   [&](const AxisList &all) { longer.push_back(all); });
    }
    chains = std::move(longer);
  }
  std::set<std::string> seenStates, seenLists;
  for (const AxisList &parts : chains) {
    // Put each part at every place of every list in turn: lists 0..r-1 are the
    // dimensions, r the partial set, r + 1 those that replicate.
    unsigned rank = shape.size();
    std::vector<AxisList> places(rank + 2);
    auto put = [&](auto &self, size_t next) -> void {
      if (next < parts.size()) {
        for (AxisList &place : places)
          for (size_t at = 0; at <= place.size(); ++at) {
            place.insert(place.begin() + at, parts[next]);
            self(self, next + 1);
            place.erase(place.begin() + at);
          }
        return;
      }
      for (const AxisList &place : places)
        if (seenLists.insert(mesh.getName(canonicalize(place))).second)
          lists.push_back(canonicalize(place));
      auto cut = [&](auto &self, TensorSharding state, unsigned dim) -> void {
        if (dim < rank) {
          for (int64_t grain : grains[dim]) {
            state.dims[dim].axes = places[dim];
            state.dims[dim].grain = grain;
            self(self, state, dim + 1);
          }
          return;
        }
        state.partial = places[rank];
        for (ReductionKind kind : kinds) {
          state.reduction = kind;
          state.normalize(shape);
          // Grains that cut at the same places are one layout.
          TensorSharding cuts = state;
          for (auto [cut, size] : llvm::zip(cuts.dims, shape))
            cut.grain = getLocalSize(size, cut);
          if (seenStates.insert(toString(cuts, mesh)).second)
            states.push_back(state);
        }
      };
      cut(cut, TensorSharding::replicated(rank), 0);
    };
    put(put, 0);
  }
}

/// Every X such that `before` followed by X is `after`.
std::vector<AxisList> BruteForce::getAppended(const AxisList &before,
                                              const AxisList &after) const {
  std::vector<AxisList> found;
  for (const AxisList &list : lists) {
    if (list.empty() || overlap(before, list))
      continue;
    AxisList joined = before;
    joined.append(list);
    if (canonicalize(joined) == after)
      found.push_back(list);
  }
  return found;
}

static AxisList joinSets(AxisList a, const AxisList &b) {
  a.append(b);
  llvm::sort(a);
  return canonicalize(a);
}

/// True if each rank's interval in `fine` is the piece of the one in `coarse`
/// that begins at its place along `axes` times the size of a piece, and the
/// pieces of a group leave nothing of `coarse` out.
bool BruteForce::isPieceAt(unsigned coarse, unsigned fine, unsigned dim,
                           const AxisList &axes) const {
  int64_t piece = localShapes[fine][dim];
  for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank) {
    Interval whole = intervals[coarse][rank][dim],
             part = intervals[fine][rank][dim];
    if (part.begin == part.end)
      continue;
    if (part.begin != whole.begin + mesh.getIndexAlong(rank, axes) * piece ||
        part.end > whole.end)
      return false;
  }
  for (const auto &group : mesh.getGroups(axes)) {
    int64_t held = 0;
    for (int64_t rank : group)
      held += intervals[fine][rank][dim].end - intervals[fine][rank][dim].begin;
    Interval whole = intervals[coarse][group[0]][dim];
    if (held != whole.end - whole.begin)
      return false;
  }
  return true;
}

void BruteForce::connect(unsigned from, unsigned to) {
  const TensorSharding &a = states[from], &b = states[to];
  const auto &localA = localShapes[from], &localB = localShapes[to];
  auto product = [](ArrayRef<int64_t> sizes) {
    int64_t elements = 1;
    for (int64_t size : sizes)
      elements *= size;
    return elements;
  };
  auto connectBy = [&](int64_t elements, int64_t calls) {
    edges[from].push_back({to, elements, calls});
  };
  SmallVector<unsigned> changed;
  for (unsigned dim = 0; dim < shape.size(); ++dim)
    if (a.dims[dim] != b.dims[dim])
      changed.push_back(dim);
  bool sameKind = a.reduction == b.reduction;
  bool samePartial = a.partial == b.partial && sameKind;

  // permute
  bool sameCounts = localA == localB && (sameKind || a.partial.empty()) &&
                    getShardCount(a.partial) == getShardCount(b.partial);
  for (unsigned dim = 0; dim < shape.size(); ++dim)
    sameCounts &=
        getShardCount(a.dims[dim].axes) == getShardCount(b.dims[dim].axes);
  if (sameCounts)
    connectBy(product(localA), 1);

  for (const AxisList &axes : lists) {
    if (axes.empty())
      continue;
    int64_t n = getShardCount(axes);
    bool isReduced = !overlap(axes, b.partial) &&
                     joinSets(axes, b.partial) == a.partial &&
                     (sameKind || b.partial.empty());
    if (changed.empty()) {
      if (isReduced) // all-reduce
        connectBy(2 * (n - 1) * ((product(localA) + n - 1) / n), 1);
      if (!overlap(axes, a.partial) && joinSets(axes, a.partial) == b.partial &&
          (sameKind || a.partial.empty())) // keep-first
        connectBy(0, 0);
      continue;
    }
    auto isAppended = [&](const AxisList &before, const AxisList &after) {
      return llvm::is_contained(getAppended(before, after), axes);
    };
    if (changed.size() == 1) {
      unsigned dim = changed[0];
      const AxisList &cutA = a.dims[dim].axes, &cutB = b.dims[dim].axes;
      if ((samePartial || isReduced) && isAppended(cutA, cutB) &&
          isPieceAt(from, to, dim, axes)) {
        if (samePartial) // slice
          connectBy(0, 0);
        else // reduce-scatter
          connectBy((n - 1) * product(localB), 1);
      }
      if (samePartial && isAppended(cutB, cutA) &&
          isPieceAt(to, from, dim, axes)) // all-gather
        connectBy((n - 1) * product(localA), 1);
      continue;
    }
    if (changed.size() != 2 || !samePartial)
      continue;
    for (int i = 0; i < 2; ++i) { // all-to-all
      unsigned gather = changed[i], split = changed[1 - i];
      if (!isAppended(b.dims[gather].axes, a.dims[gather].axes) ||
          !isAppended(a.dims[split].axes, b.dims[split].axes) ||
          !isPieceAt(to, from, gather, axes) ||
          !isPieceAt(from, to, split, axes))
        continue;
      SmallVector<int64_t> part = localA;
      part[split] = localB[split];
      connectBy((n - 1) * product(part), 1);
    }
  }
}

/// True if `state` is cut only where one of the two ends is: axes at the same
/// places, dimensions in the same grains.
bool BruteForce::isAllowed(unsigned state, unsigned from, unsigned to) const {
  AxisList ends = states[from].getUsedAxes();
  ends.append(states[to].getUsedAxes());
  auto isPlace = [&](unsigned axis, int64_t place) {
    return llvm::any_of(ends, [&](const AxisRef &end) {
      return end.axis == axis &&
             (place == end.pre || place == end.pre * end.size);
    });
  };
  for (const AxisRef &ref : states[state].getUsedAxes()) {
    if (!isPlace(ref.axis, ref.pre) || !isPlace(ref.axis, ref.pre * ref.size))
      return false;
    for (int64_t digit = ref.pre; digit < ref.pre * ref.size; ++digit)
      if (llvm::none_of(ends, [&](const AxisRef &end) {
            return end.axis == ref.axis && end.pre <= digit &&
                   digit < end.pre * end.size;
          }))
        return false;
  }
  for (auto [dim, size] : llvm::enumerate(shape)) {
    DimSharding asFrom = states[state].dims[dim], asTo = asFrom;
    asFrom.grain = states[from].dims[dim].grain;
    asTo.grain = states[to].dims[dim].grain;
    if (localShapes[state][dim] != getLocalSize(size, asFrom) &&
        localShapes[state][dim] != getLocalSize(size, asTo))
      return false;
  }
  return true;
}

JudgedCost BruteForce::getCost(unsigned from, unsigned to) {
  std::vector<bool> allowed(states.size());
  for (unsigned state = 0; state < states.size(); ++state)
    allowed[state] = isAllowed(state, from, to);
  auto [it, isNew] = distances.try_emplace({from, allowed});
  std::vector<JudgedCost> &costs = it->second;
  if (!isNew)
    return costs[to];
  JudgedCost far{std::numeric_limits<int64_t>::max(), 0};
  costs.assign(states.size(), far);
  costs[from] = {0, 0};
  using Entry = std::pair<JudgedCost, unsigned>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue;
  queue.push({costs[from], from});
  while (!queue.empty()) {
    auto [cost, state] = queue.top();
    queue.pop();
    if (cost > costs[state])
      continue;
    for (const Edge &edge : edges[state]) {
      JudgedCost next{cost.first + edge.elements, cost.second + edge.calls};
      if (!allowed[edge.to] || next >= costs[edge.to])
        continue;
      costs[edge.to] = next;
      queue.push({next, edge.to});
    }
  }
  return costs[to];
}
