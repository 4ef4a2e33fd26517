//===- Reshard.cpp - From one sharding to another -------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sets up the search for the cheapest path and writes its answer as steps. The
// (sub-)axes of the search are the coarsest in which both ends can be written:
// "tp" = 32 against "tp":(1)8 is (1)8 and (8)4. Axes that head a dimension at
// both ends of an evenly cut tensor separate groups of ranks that have nothing
// to tell each other, and are left out: most calls are about a single axis.
//
//===----------------------------------------------------------------------===//

#include "tp/Sharding/Reshard.h"
#include "ReshardSearch.h"
#include <algorithm>
#include <vector>

using namespace tp;
using namespace tp::detail;
using llvm::ArrayRef;
using llvm::SmallVector;

llvm::StringRef tp::getRowId(ReshardStepKind kind) {
  switch (kind) {
  case ReshardStepKind::KeepFirst:
    return "keep-first";
  case ReshardStepKind::Slice:
    return "slice";
  case ReshardStepKind::AllReduce:
    return "all-reduce";
  case ReshardStepKind::ReduceScatter:
    return "reduce-scatter";
  case ReshardStepKind::AllGather:
    return "all-gather";
  case ReshardStepKind::AllToAll:
    return "all-to-all";
  case ReshardStepKind::CollectivePermute:
    return "permute";
  }
  llvm_unreachable("unknown row");
}

bool tp::isCollective(ReshardStepKind kind) {
  return kind != ReshardStepKind::KeepFirst && kind != ReshardStepKind::Slice;
}

unsigned ReshardPlan::getNumCalls() const {
  return llvm::count_if(
      steps, [](const ReshardStep &step) { return isCollective(step.kind); });
}

//===----------------------------------------------------------------------===//
// Single steps
//===----------------------------------------------------------------------===//

int64_t tp::getElementsReceived(ArrayRef<int64_t> shape,
                                const TensorSharding &from,
                                const ReshardStep &step, const Mesh &mesh) {
  auto product = [](ArrayRef<int64_t> sizes) {
    int64_t elements = 1;
    for (int64_t size : sizes)
      elements *= size;
    return elements;
  };
  SmallVector<int64_t> before = getLocalShape(shape, from);
  SmallVector<int64_t> after = getLocalShape(shape, step.result);
  int64_t ranks = getShardCount(step.axes);
  switch (step.kind) {
  case ReshardStepKind::KeepFirst:
  case ReshardStepKind::Slice:
    return 0;
  case ReshardStepKind::AllReduce:
    return 2 * (ranks - 1) * ((product(before) + ranks - 1) / ranks);
  case ReshardStepKind::ReduceScatter:
    return (ranks - 1) * product(after);
  case ReshardStepKind::AllGather:
    return (ranks - 1) * product(before);
  case ReshardStepKind::AllToAll:
    before[step.splitDim] = after[step.splitDim];
    return (ranks - 1) * product(before);
  case ReshardStepKind::CollectivePermute:
    return product(before);
  }
  llvm_unreachable("unknown row");
}

/// What `rank` holds as one number: its shard of every dimension and which
/// addend. Partial axes that both ends have count first, so that they match
/// where they can.
static int64_t getHolding(const TensorSharding &sharding,
                          ArrayRef<AxisRef> partial, int64_t rank,
                          const Mesh &mesh) {
  AxisList all;
  for (const DimSharding &dim : sharding.dims)
    all.append(dim.axes);
  all.append(partial.begin(), partial.end());
  return mesh.getIndexAlong(rank, all);
}

SmallVector<std::pair<int64_t, int64_t>, 0>
tp::getPermutePairs(const TensorSharding &from, const TensorSharding &to,
                    const Mesh &mesh) {
  AxisList fromPartial, toPartial;
  for (const AxisRef &ref : from.partial)
    if (llvm::is_contained(to.partial, ref))
      fromPartial.push_back(ref);
  toPartial = fromPartial;
  for (const AxisRef &ref : from.partial)
    if (!llvm::is_contained(to.partial, ref))
      fromPartial.push_back(ref);
  for (const AxisRef &ref : to.partial)
    if (!llvm::is_contained(from.partial, ref))
      toPartial.push_back(ref);

  int64_t ranks = mesh.getNumRanks();
  SmallVector<std::pair<int64_t, int64_t>, 0> pairs;
  // What is held or wanted, and by whom.
  std::vector<std::pair<int64_t, int64_t>> spare, wanting;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    int64_t has = getHolding(from, fromPartial, rank, mesh);
    int64_t wants = getHolding(to, toPartial, rank, mesh);
    if (has == wants) {
      pairs.push_back({rank, rank});
      continue;
    }
    spare.push_back({has, rank});
    wanting.push_back({wants, rank});
  }
  llvm::sort(spare);
  llvm::sort(wanting);
  for (auto [source, target] : llvm::zip_equal(spare, wanting))
    pairs.push_back({source.second, target.second});
  llvm::sort(pairs, [](auto &a, auto &b) { return a.second < b.second; });
  return pairs;
}

//===----------------------------------------------------------------------===//
// Setting up the search
//===----------------------------------------------------------------------===//

namespace {

class Planner {
public:
  Planner(ArrayRef<int64_t> shape, TensorSharding fromSharding,
          TensorSharding toSharding, const Mesh &mesh)
      : shape(shape), from(std::move(fromSharding)), to(std::move(toSharding)),
        mesh(mesh) {}
  ReshardPlan run(ReshardPlan::Search first);

private:
  /// As many as a RefSet can tell apart, and one for what is past the end.
  static constexpr size_t maxRefs = 63;
  /// Dimensions that ReshardState::inToGrain can tell apart.
  static constexpr size_t maxDims = 32;

  void collectRefs();
  RefList decompose(ArrayRef<AxisRef> list) const;
  void fixCommonAxes();
  bool isEven(const TensorSharding &sharding) const;
  ReshardState getState(const TensorSharding &sharding) const;
  AxisList getAxes(ArrayRef<uint8_t> list) const;
  TensorSharding getSharding(const ReshardState &state) const;
  AxisList getMovedAxes(const ReshardStep &step) const;
  void makeClasses();
  ReshardPlan planThroughWhole() const;
  ReshardPlan makePlan(ArrayRef<std::pair<ReshardMove, ReshardState>> path);

  ArrayRef<int64_t> shape;
  TensorSharding from, to;
  const Mesh &mesh;
  ReshardProblem problem;
};

} // namespace

/// The steps from one place where an axis is cut to the next within it.
void Planner::collectRefs() {
  AxisList used = from.getUsedAxes();
  used.append(to.getUsedAxes());
  llvm::sort(used);
  for (unsigned axis = 0; axis < mesh.getNumAxes(); ++axis) {
    SmallVector<int64_t> places;
    for (const AxisRef &ref : used)
      if (ref.axis == axis && ref.size > 1)
        places.append({ref.pre, ref.pre * ref.size});
    llvm::sort(places);
    places.erase(llvm::unique(places), places.end());
    for (size_t i = 0; i < places.size(); ++i)
      for (size_t j = i + 1; j < places.size(); ++j) {
        int64_t begin = places[i], end = places[j];
        auto isBetween = [&](int64_t place) {
          return place > begin && place < end && place % begin == 0 &&
                 end % place == 0;
        };
        // Used as a whole: no gap between the axes that reach across it.
        int64_t covered = begin;
        for (const AxisRef &ref : used)
          if (ref.axis == axis && ref.pre <= covered)
            covered = std::max(covered, ref.pre * ref.size);
        if (end % begin == 0 && llvm::none_of(places, isBetween) &&
            covered >= end)
          problem.refs.push_back({axis, begin, end / begin});
      }
  }
  if (problem.refs.size() >= maxRefs)
    return;
  for (const AxisRef &ref : problem.refs) {
    RefSet set = 0;
    for (auto [i, other] : llvm::enumerate(problem.refs))
      if (ref.overlaps(other))
        set |= RefSet(1) << i;
    problem.conflicts.push_back(set);
    problem.hasAliases |= llvm::popcount(set) > 1;
  }
}

RefList Planner::decompose(ArrayRef<AxisRef> list) const {
  RefList result;
  for (const AxisRef &ref : list)
    for (int64_t place = ref.pre; place != ref.pre * ref.size;) {
      auto next = llvm::find_if(problem.refs, [&](const AxisRef &part) {
        return part.axis == ref.axis && part.pre == place &&
               ref.pre * ref.size % (part.pre * part.size) == 0;
      });
      assert(next != problem.refs.end() && "an axis without its parts");
      result.push_back(next - problem.refs.begin());
      place = next->pre * next->size;
    }
  return result;
}

AxisList Planner::getAxes(ArrayRef<uint8_t> list) const {
  AxisList axes;
  for (uint8_t i : list)
    axes.push_back(problem.refs[i]);
  return axes;
}

bool Planner::isEven(const TensorSharding &sharding) const {
  for (auto [size, dim] : llvm::zip_equal(shape, sharding.dims))
    if (getPadding(size, dim) != 0)
      return false;
  return true;
}

/// Leave out what heads a dimension at both ends, and addends at both ends.
void Planner::fixCommonAxes() {
  problem.sizes.assign(shape.begin(), shape.end());
  problem.fixedAxes.resize(shape.size());
  if (problem.hasAliases || !isEven(from) || !isEven(to))
    return;
  RefSet fixed = 0;
  for (unsigned dim = 0; dim < shape.size(); ++dim) {
    RefList a = decompose(from.dims[dim].axes),
            b = decompose(to.dims[dim].axes);
    for (auto [x, y] : llvm::zip(a, b)) {
      if (x != y)
        break;
      fixed |= RefSet(1) << x;
      problem.fixedAxes[dim].push_back(problem.refs[x]);
    }
    problem.sizes[dim] /= getShardCount(problem.fixedAxes[dim]);
  }
  if (from.reduction == to.reduction) {
    RefList b = decompose(to.partial);
    for (uint8_t x : decompose(from.partial))
      if (llvm::is_contained(b, x)) {
        fixed |= RefSet(1) << x;
        problem.fixedPartial.push_back(problem.refs[x]);
      }
  }
  SmallVector<AxisRef, 4> moving;
  SmallVector<RefSet, 4> conflicts;
  for (auto [i, ref] : llvm::enumerate(problem.refs))
    if (!(fixed >> i & 1)) {
      conflicts.push_back(RefSet(1) << moving.size());
      moving.push_back(ref);
    }
  problem.refs = std::move(moving);
  problem.conflicts = std::move(conflicts);
}

ReshardState Planner::getState(const TensorSharding &sharding) const {
  ReshardState state;
  auto isFixed = [&](const AxisRef &ref, const AxisList &fixed) {
    return llvm::is_contained(fixed, ref);
  };
  auto getMoving = [&](const AxisList &list, const AxisList &fixed) {
    // Fixed parts were cut out of the same axes: skip them piece by piece.
    AxisList moving;
    for (AxisRef rest : list)
      while (rest.size > 1) {
        auto piece = llvm::find_if(fixed, [&](const AxisRef &ref) {
          return ref.axis == rest.axis && ref.pre == rest.pre;
        });
        if (piece == fixed.end())
          piece = llvm::find_if(problem.refs, [&](const AxisRef &ref) {
            return ref.axis == rest.axis && ref.pre == rest.pre &&
                   rest.size % ref.size == 0;
          });
        if (!isFixed(*piece, fixed))
          moving.push_back(*piece);
        rest = {rest.axis, rest.pre * piece->size, rest.size / piece->size};
      }
    return decompose(moving);
  };
  for (auto [d, dim] : llvm::enumerate(sharding.dims))
    state.dims.push_back(getMoving(dim.axes, problem.fixedAxes[d]));
  for (uint8_t i : getMoving(sharding.partial, problem.fixedPartial))
    state.partial |= RefSet(1) << i;
  return state;
}

TensorSharding Planner::getSharding(const ReshardState &state) const {
  TensorSharding sharding = TensorSharding::replicated(shape.size());
  for (auto [d, dim] : llvm::enumerate(sharding.dims)) {
    dim.axes = problem.fixedAxes[d];
    dim.axes.append(getAxes(state.dims[d]));
    dim.grain =
        state.inToGrain >> d & 1 ? problem.toGrains[d] : problem.fromGrains[d];
  }
  sharding.partial = problem.fixedPartial;
  for (RefSet set = state.partial; set; set &= set - 1)
    sharding.partial.push_back(problem.refs[llvm::countr_zero(set)]);
  sharding.reduction = state.inToReduction ? to.reduction : from.reduction;
  sharding.normalize(shape);
  return sharding;
}

/// The axes along which some pair of a permutation differs.
AxisList Planner::getMovedAxes(const ReshardStep &step) const {
  AxisList axes;
  for (const AxisRef &ref : problem.refs)
    if (llvm::any_of(step.pairs,
                     [&](auto &pair) {
                       return mesh.getIndexAlong(pair.first, ref) !=
                              mesh.getIndexAlong(pair.second, ref);
                     }) &&
        !overlap(ref, axes))
      axes.push_back(ref);
  return canonicalize(axes);
}

void Planner::makeClasses() {
  auto isAlone = [&](size_t i) {
    return llvm::popcount(problem.conflicts[i]) > 1;
  };
  for (size_t i = 0; i < problem.refs.size(); ++i) {
    size_t first = 0;
    while (first < i && (isAlone(first) || isAlone(i) ||
                         problem.refs[first].size != problem.refs[i].size))
      ++first;
    problem.classes.push_back(first);
  }
}

/// Reduce the addends that do not stay, make the dimensions that change whole,
/// slice them, and let the addends that are new begin with zeros.
ReshardPlan Planner::planThroughWhole() const {
  ReshardPlan plan;
  plan.search = ReshardPlan::Search::ThroughWhole;
  TensorSharding now = from;
  auto take = [&](ReshardStepKind kind, AxisList axes, int64_t dim,
                  const TensorSharding &next) {
    ReshardStep step;
    step.kind = kind;
    step.axes = std::move(axes);
    step.dim = dim;
    step.reduction =
        kind == ReshardStepKind::KeepFirst ? next.reduction : now.reduction;
    step.result = next;
    step.result.normalize(shape);
    plan.elementsReceived += getElementsReceived(shape, now, step, mesh);
    now = step.result;
    plan.steps.push_back(std::move(step));
  };
  auto takeOut = [](ArrayRef<AxisRef> list, ArrayRef<AxisRef> other) {
    AxisList rest;
    for (const AxisRef &ref : list)
      if (!llvm::is_contained(other, ref))
        rest.push_back(ref);
    return rest;
  };
  bool sameKind = from.reduction == to.reduction;
  AxisList gone = sameKind ? takeOut(from.partial, to.partial) : from.partial;
  if (!gone.empty()) {
    TensorSharding next = now;
    next.partial = takeOut(from.partial, gone);
    take(ReshardStepKind::AllReduce, gone, -1, next);
  }
  SmallVector<size_t, 4> changed;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    if (from.dims[dim].axes != to.dims[dim].axes ||
        getLocalSize(shape[dim], from.dims[dim]) !=
            getLocalSize(shape[dim], to.dims[dim]))
      changed.push_back(dim);
  for (size_t dim : changed) {
    TensorSharding next = now;
    next.dims[dim] = {};
    if (!from.dims[dim].axes.empty())
      take(ReshardStepKind::AllGather, from.dims[dim].axes, dim, next);
  }
  for (size_t dim : changed) {
    TensorSharding next = now;
    next.dims[dim] = to.dims[dim];
    if (!to.dims[dim].axes.empty())
      take(ReshardStepKind::Slice, to.dims[dim].axes, dim, next);
  }
  AxisList come = takeOut(to.partial, now.partial);
  if (!come.empty())
    take(ReshardStepKind::KeepFirst, come, -1, to);
  return plan;
}

ReshardPlan Planner::run(ReshardPlan::Search first) {
  collectRefs();
  if (first == ReshardPlan::Search::ThroughWhole ||
      problem.refs.size() >= maxRefs || shape.size() > maxDims)
    return planThroughWhole();
  fixCommonAxes();
  makeClasses();
  bool isFixed = !llvm::all_of(
      problem.fixedAxes, [](const AxisList &list) { return list.empty(); });
  for (unsigned d = 0; d < shape.size(); ++d) {
    problem.fromGrains.push_back(isFixed ? 1 : from.dims[d].grain);
    problem.toGrains.push_back(isFixed ? 1 : to.dims[d].grain);
  }
  problem.fromReduction = from.reduction;
  problem.toReduction = to.reduction;
  problem.reductionsDiffer = from.reduction != to.reduction;

  ReshardState source = getState(from), target = getState(to);
  target.inToReduction = true;
  for (unsigned d = 0; d < shape.size(); ++d)
    if (getLocalSize(shape[d], to.dims[d]) !=
        getLocalSize(shape[d],
                     DimSharding{to.dims[d].axes, from.dims[d].grain, false}))
      target.inToGrain |= 1u << d;

  ReshardSearch exact(problem, /*bySize=*/false);
  std::optional<ReshardPath> path;
  if (first == ReshardPlan::Search::Minimal)
    path = exact.run(source, target);
  int64_t work = exact.getWork();
  auto search = ReshardPlan::Search::Minimal;
  if (!path) {
    ReshardSearch bySize(problem, /*bySize=*/true);
    path = bySize.run(source, target);
    work += bySize.getWork();
    auto getSize = [&](const ReshardState &state) {
      int64_t elements = 1;
      for (int64_t size : getLocalShape(shape, getSharding(state)))
        elements *= size;
      return elements;
    };
    if (path && !renameTowards(problem, source, target, *path, getSize))
      search = ReshardPlan::Search::BySize;
  }
  ReshardPlan plan = path ? makePlan(*path) : planThroughWhole();
  if (path)
    plan.search = search;
  plan.work = work;
  return plan;
}

/// A path of the search as steps.
ReshardPlan
Planner::makePlan(ArrayRef<std::pair<ReshardMove, ReshardState>> path) {
  ReshardPlan plan;
  TensorSharding before = from;
  for (auto &[move, state] : path) {
    ReshardStep step;
    step.kind = move.kind;
    step.axes = canonicalize(getAxes(move.axes));
    step.dim = move.dim;
    step.splitDim = move.splitDim;
    step.result = getSharding(state);
    step.reduction = move.kind == ReshardStepKind::KeepFirst
                         ? step.result.reduction
                         : before.reduction;
    if (move.kind == ReshardStepKind::CollectivePermute) {
      step.pairs = getPermutePairs(before, step.result, mesh);
      step.axes = getMovedAxes(step);
    }
    plan.elementsReceived += getElementsReceived(shape, before, step, mesh);
    before = step.result;
    plan.steps.push_back(std::move(step));
  }
  return plan;
}

ReshardPlan tp::planReshard(ArrayRef<int64_t> shape, const TensorSharding &from,
                            const TensorSharding &to, const Mesh &mesh,
                            ReshardPlan::Search first) {
  if (sameLayout(shape, from, to))
    return {};
  TensorSharding source = from.closed(), target = to.closed();
  source.normalize(shape);
  target.normalize(shape);
  ReshardPlan plan =
      Planner(shape, std::move(source), std::move(target), mesh).run(first);
  // The same layout as the last step's, in the words of the caller.
  if (!plan.steps.empty())
    plan.steps.back().result = to;
  return plan;
}

int64_t tp::getReshardElements(ArrayRef<int64_t> shape,
                               const TensorSharding &from,
                               const TensorSharding &to, const Mesh &mesh) {
  return planReshard(shape, from, to, mesh).elementsReceived;
}
