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
#include "ReshardBlocks.h"
#include "ReshardConstruct.h"
#include "ReshardMemo.h"
#include "ReshardSearch.h"
#include "ReshardSteps.h"
#include <algorithm>
#include <limits>

using namespace tp;
using namespace tp::detail;
using llvm::ArrayRef;
using llvm::SmallVector;

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
  void makeClasses();
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

ReshardPlan Planner::run(ReshardPlan::Search first) {
  collectRefs();
  if (first == ReshardPlan::Search::Constructed ||
      problem.refs.size() >= maxRefs || shape.size() > maxDims)
    return constructReshard(shape, from, to, mesh);
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
      return getElements(getLocalShape(shape, getSharding(state)));
    };
    if (path && !renameTowards(problem, source, target, *path, getSize))
      search = ReshardPlan::Search::BySize;
  }
  ReshardPlan plan =
      path ? makePlan(*path) : constructReshard(shape, from, to, mesh);
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
    step.axes = getAxes(move.axes);
    step.dim = move.dim;
    step.splitDim = move.splitDim;
    step.result = getSharding(state);
    appendStep(plan, shape, before, std::move(step), problem.refs, mesh);
    before = plan.steps.back().result;
  }
  return plan;
}

/// The plans of all views, one behind the other.
static ReshardPlan planViews(ArrayRef<int64_t> shape,
                             const TensorSharding &from,
                             const TensorSharding &to, const Mesh &mesh) {
  ReshardPlan all;
  for (ReshardStage &stage : planReshardStages(shape, from, to, mesh)) {
    all.steps.append(stage.plan.steps);
    if (__builtin_add_overflow(all.elementsReceived,
                               stage.plan.elementsReceived,
                               &all.elementsReceived))
      all.elementsReceived = std::numeric_limits<int64_t>::max();
    all.search = std::max(all.search, stage.plan.search);
    all.work += stage.plan.work;
  }
  return all;
}

/// Leaves these dimensions.
static void takeDims(TensorSharding &sharding, ArrayRef<unsigned> dims) {
  SmallVector<DimSharding, 4> taken;
  for (unsigned d : dims)
    taken.push_back(sharding.dims[d]);
  sharding.dims = std::move(taken);
}

/// Makes the plan of the dimensions `moving` one of all, of which the others
/// stay as in `whole` and make everything `times` as large.
static void putBack(ReshardPlan &plan, const TensorSharding &whole,
                    ArrayRef<unsigned> moving, int64_t times) {
  if (__builtin_mul_overflow(plan.elementsReceived, times,
                             &plan.elementsReceived))
    plan.elementsReceived = std::numeric_limits<int64_t>::max();
  for (ReshardStep &step : plan.steps) {
    for (int64_t *dim : {&step.dim, &step.splitDim})
      if (*dim >= 0)
        *dim = moving[*dim];
    SmallVector<DimSharding, 4> dims = whole.closed().dims;
    for (auto [index, d] : llvm::enumerate(moving))
      dims[d] = step.result.dims[index];
    step.result.dims = std::move(dims);
  }
}

ReshardPlan tp::planReshard(ArrayRef<int64_t> shape, const TensorSharding &from,
                            const TensorSharding &to, const Mesh &mesh,
                            ReshardPlan::Search first) {
  if (sameLayout(shape, from, to))
    return {};
  TensorSharding source = from.closed(), target = to.closed();
  source.normalize(shape);
  target.normalize(shape);
  // Dimensions that stay cut in the same blocks have no part in it, but that
  // there is as many times as much to receive.
  SmallVector<int64_t> sizes;
  SmallVector<unsigned, 4> moving;
  int64_t times = 1;
  for (unsigned d = 0; d < shape.size(); ++d) {
    const DimSharding &a = source.dims[d], &b = target.dims[d];
    if (hasSameBlocks(a, b)) {
      times *= getLocalSize(shape[d], a);
      continue;
    }
    if (a.hasBlocks() || b.hasBlocks())
      return planViews(shape, from, to, mesh);
    sizes.push_back(shape[d]);
    moving.push_back(d);
  }
  takeDims(source, moving);
  takeDims(target, moving);
  static thread_local ReshardMemo memo;
  bool isUsual = first == ReshardPlan::Search::Minimal;
  ReshardPlan plan;
  if (const ReshardPlan *known =
          isUsual ? memo.find(sizes, source, target, mesh) : nullptr) {
    plan = *known;
  } else {
    plan = Planner(sizes, source, target, mesh).run(first);
    if (isUsual)
      memo.add(sizes, source, target, mesh, plan);
  }
  if (moving.size() != shape.size())
    putBack(plan, from, moving, times);
  // The same layout as the last step's, in the words of the caller.
  if (!plan.steps.empty())
    plan.steps.back().result = to;
  return plan;
}

SmallVector<ReshardStage, 1> tp::planReshardStages(ArrayRef<int64_t> shape,
                                                   const TensorSharding &from,
                                                   const TensorSharding &to,
                                                   const Mesh &mesh) {
  SmallVector<ReshardStage, 1> stages = viewBlocks(shape, from, to);
  for (ReshardStage &stage : stages) {
    stage.from.normalize(stage.shape);
    stage.to.normalize(stage.shape);
    stage.plan = planReshard(stage.shape, stage.from, stage.to, mesh);
  }
  return stages;
}
