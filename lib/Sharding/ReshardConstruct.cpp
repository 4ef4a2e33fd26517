//===- ReshardConstruct.cpp - A reshard without a search ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Axes are split into parts of prime size. Rows of the table see sizes only,
// so what counts is how often each prime cuts each dimension; one permute gives
// the parts their names. A dimension that some prime cuts less often than the
// target does is short of it. The steps: slice what is short by parts that the
// source leaves free; scatter addends where something is still short;
// all-reduce the rest; move parts to where one is short by all-to-alls;
// permute; gather what is too much.
//
// Why it is cheap. No step cuts a dimension by a prime more often than one of
// the ends does, so every cut of an evenly cut tensor is even and every row
// applies. After the slices and scatters no dimension is short of a prime, or
// all parts of it are in use: the local tensor is at most the target's, and no
// later step makes it larger than that. Only the scatters begin with more, and
// together receive less than the source's local tensor. A dimension that
// changes and is not cut evenly goes through the whole, behind the all-reduce;
// if there are several, each is cut again before the next where it can be.
//
//===----------------------------------------------------------------------===//

#include "ReshardConstruct.h"
#include "ReshardParts.h"
#include "ReshardSteps.h"
#include <numeric>
#include <set>

using namespace tp;
using namespace tp::detail;
using llvm::ArrayRef;
using llvm::SmallVector;

//===----------------------------------------------------------------------===//
// Setting up
//===----------------------------------------------------------------------===//

/// True if the parts of every cut that divides both cuts' least common multiple
/// make up the shards of every coarser one, with no more padding than elements.
static bool doCutsNest(int64_t size, const DimSharding &a,
                       const DimSharding &b) {
  if (getPadding(size, a) == 0 && getPadding(size, b) == 0)
    return true;
  if (a.grain != b.grain)
    return false;
  int64_t grains = size / a.grain,
          finest = std::lcm(getShardCount(a.axes), getShardCount(b.axes));
  if (multiply(divideUp(grains, finest), finest) / 2 > grains)
    return false;
  // The whole needs no padding: its parts may reach beyond it.
  for (int64_t cut = 2; cut < finest; ++cut)
    if (finest % cut == 0 &&
        divideUp(grains, finest) * (finest / cut) != divideUp(grains, cut))
      return false;
  return true;
}

Construction::DimKind Construction::classify(unsigned dim) const {
  const DimSharding &a = from.dims[dim], &b = to.dims[dim];
  bool isSameSize = getLocalSize(shape[dim], a) == getLocalSize(shape[dim], b);
  if (a.axes == b.axes && isSameSize)
    return DimKind::Unchanged;
  // A dimension with as many shards at both ends is never cut otherwise.
  bool isSameCount = getShardCount(a.axes) == getShardCount(b.axes);
  return (isSameSize && isSameCount) || doCutsNest(shape[dim], a, b)
             ? DimKind::Even
             : DimKind::Uneven;
}

void Construction::setUp() {
  AxisList fixed;
  SmallVector<AxisList, 4> moving;
  for (unsigned dim = 0; dim < shape.size(); ++dim) {
    kinds.push_back(classify(dim));
    AxisList a = cutter.split(from.dims[dim].axes, /*isTarget=*/false),
             b = cutter.split(to.dims[dim].axes, /*isTarget=*/true), head;
    if (kinds[dim] == DimKind::Unchanged)
      head = a;
    for (size_t i = 0; kinds[dim] == DimKind::Even &&
                       i < std::min(a.size(), b.size()) && a[i] == b[i];
         ++i)
      head.push_back(a[i]);
    fixed.append(head);
    moving.emplace_back(llvm::drop_begin(a, head.size()));
    wanted.emplace_back();
    if (kinds[dim] != DimKind::Unchanged)
      wanted.back() = AxisList(llvm::drop_begin(b, head.size()));
    fixedAxes.push_back(std::move(head));
  }
  AxisList partial = cutter.split(from.partial, /*isTarget=*/false),
           toPartial = cutter.split(to.partial, /*isTarget=*/true);
  if (from.reduction == to.reduction)
    for (const AxisRef &ref : toPartial)
      (llvm::is_contained(partial, ref) ? fixedPartial : wantedPartial)
          .push_back(ref);
  fixed.append(fixedPartial);

  auto isMoving = [&](const AxisRef &ref) {
    return !llvm::is_contained(fixed, ref);
  };
  llvm::copy_if(cutter.getAll(/*isTarget=*/false), std::back_inserter(names),
                isMoving);
  llvm::copy_if(cutter.getAll(/*isTarget=*/true),
                std::back_inserter(targetNames), isMoving);
  auto getParts = [&](ArrayRef<AxisRef> list) {
    PartList parts;
    for (const AxisRef &ref : list)
      if (isMoving(ref))
        parts.push_back(llvm::find(names, ref) - names.begin());
    return parts;
  };
  for (const AxisList &list : moving)
    now.dims.push_back(getParts(list));
  now.partial = getParts(partial);
  now.isSettled.assign(shape.size(), false);
  source = now;
}

//===----------------------------------------------------------------------===//
// Choosing the steps
//===----------------------------------------------------------------------===//

/// Take `parts` along: off the end of `dim` (or off the addends), onto the end
/// of `splitDim` (for a slice or scatter, of `dim`).
void Construction::add(CollectiveKind kind, PartList parts, int64_t dim,
                       int64_t splitDim) {
  const CollectiveRow &row = rowOf(kind);
  if (row.reduces())
    llvm::erase_if(now.partial,
                   [&](unsigned i) { return llvm::is_contained(parts, i); });
  if (row.gathers())
    now.dims[dim].pop_back_n(parts.size());
  if (row.cuts())
    now.dims[row.cutDim(dim, splitDim)].append(parts);
  moves.push_back({kind, std::move(parts), dim, splitDim, now});
}

PartList Construction::getFree() const {
  PartList free;
  for (unsigned i = 0; i < names.size(); ++i)
    if (!llvm::is_contained(now.partial, i) &&
        llvm::none_of(now.dims, [&](const PartList &list) {
          return llvm::is_contained(list, i);
        }))
      free.push_back(i);
  return free;
}

/// Addends but as many of each size as the target has under other names.
PartList Construction::getGoneAddends() const {
  AxisList stay = wantedPartial;
  PartList gone;
  for (unsigned part : now.partial) {
    auto ref = llvm::find_if(
        stay, [&](const AxisRef &ref) { return ref.size == names[part].size; });
    if (ref == stay.end())
      gone.push_back(part);
    else
      stay.erase(ref);
  }
  return gone;
}

int64_t Construction::getShort(unsigned dim, int64_t prime) const {
  if (kinds[dim] != DimKind::Even)
    return 0;
  auto isPrime = [&](const AxisRef &ref) { return ref.size == prime; };
  return llvm::count_if(wanted[dim], isPrime) -
         llvm::count_if(now.dims[dim],
                        [&](unsigned i) { return names[i].size == prime; });
}

/// Cut the dimensions that are short by free parts (a slice) or by addends (a
/// reduce-scatter): those that the target has there, in its order, then others.
void Construction::cutShortDims(CollectiveKind kind) {
  PartList pool = kind == CollectiveKind::Slice ? getFree() : getGoneAddends();
  SmallVector<PartList, 4> chosen(shape.size());
  auto choose = [&](unsigned dim, unsigned part) {
    int64_t size = names[part].size;
    if (getShort(dim, size) <= llvm::count_if(chosen[dim], [&](unsigned i) {
          return names[i].size == size;
        }))
      return;
    chosen[dim].push_back(part);
    pool.erase(llvm::find(pool, part));
  };
  for (unsigned dim = 0; dim < shape.size(); ++dim)
    for (const AxisRef &ref : wanted[dim]) {
      auto part =
          llvm::find_if(pool, [&](unsigned i) { return names[i] == ref; });
      if (part != pool.end())
        choose(dim, *part);
    }
  for (unsigned dim = 0; dim < shape.size(); ++dim)
    for (unsigned part : PartList(pool))
      choose(dim, part);
  for (auto [dim, parts] : llvm::enumerate(chosen))
    if (!parts.empty())
      add(kind, std::move(parts), dim);
}

void Construction::gatherRest() {
  for (unsigned dim = 0; dim < shape.size(); ++dim)
    if (kinds[dim] == DimKind::Even &&
        now.dims[dim].size() > wanted[dim].size())
      add(CollectiveKind::AllGather,
          PartList(llvm::drop_begin(now.dims[dim], wanted[dim].size())), dim);
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

void Construction::makeNewNames() {
  newNames.assign(names.size(), AxisRef());
  AxisList rest = targetNames;
  auto give = [&](unsigned part, const AxisRef &ref) {
    newNames[part] = ref;
    rest.erase(llvm::find(rest, ref));
  };
  for (auto [list, refs] : llvm::zip_equal(now.dims, wanted))
    for (auto [part, ref] : llvm::zip_equal(list, refs))
      give(part, ref);
  for (unsigned part : now.partial)
    give(part, *llvm::find_if(wantedPartial, [&](const AxisRef &ref) {
           return ref.size == names[part].size && llvm::is_contained(rest, ref);
         }));
  for (bool keep : {true, false})
    for (unsigned part = 0; part < names.size(); ++part) {
      auto ref = llvm::find_if(rest, [&](const AxisRef &ref) {
        return keep ? ref == names[part] : ref.size == names[part].size;
      });
      if (newNames[part].size == 1 && ref != rest.end())
        give(part, AxisRef(*ref));
    }
}

size_t Construction::placePermute() {
  for (auto [i, move] : llvm::enumerate(moves))
    if (move.kind == CollectiveKind::CollectivePermute)
      return i;
  size_t place = 0;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (size_t i = 0; i <= moves.size(); ++i) {
    const State &state = i ? moves[i - 1].after : source;
    TensorSharding sharding = getSharding(state, names);
    // Nothing that is in use changes its name.
    if (sharding == getSharding(state, newNames))
      return i;
    int64_t elements = getElements(getLocalShape(shape, sharding));
    if (elements < least) {
      least = elements;
      place = i;
    }
  }
  State state = place ? moves[place - 1].after : source;
  moves.insert(
      moves.begin() + place,
      {CollectiveKind::CollectivePermute, {}, -1, -1, std::move(state)});
  return place;
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

AxisList Construction::getAxes(ArrayRef<unsigned> parts,
                               ArrayRef<AxisRef> names) const {
  AxisList axes;
  for (unsigned part : parts)
    axes.push_back(names[part]);
  return axes;
}

TensorSharding Construction::getSharding(const State &state,
                                         ArrayRef<AxisRef> names) const {
  TensorSharding sharding = from;
  for (auto [i, dim] : llvm::enumerate(sharding.dims)) {
    if (state.isSettled[i])
      dim.grain = to.dims[i].grain;
    dim.axes = fixedAxes[i];
    dim.axes.append(getAxes(state.dims[i], names));
  }
  sharding.partial = fixedPartial;
  sharding.partial.append(getAxes(state.partial, names));
  sharding.normalize(shape);
  return sharding;
}

ReshardPlan Construction::makePlan(size_t firstNew) const {
  ReshardPlan plan;
  plan.search = ReshardPlan::Search::Constructed;
  TensorSharding before = from;
  auto take = [&](CollectiveKind kind, AxisList axes, int64_t dim,
                  int64_t splitDim, TensorSharding result) {
    if (sameLayout(shape, before, result))
      return;
    ReshardStep step;
    step.kind = kind;
    step.axes = std::move(axes);
    step.dim = dim;
    step.splitDim = splitDim;
    step.result = std::move(result);
    appendStep(plan, shape, before, std::move(step), names, mesh);
    before = plan.steps.back().result;
  };
  for (auto [i, move] : llvm::enumerate(moves)) {
    ArrayRef<AxisRef> named = i < firstNew ? names : newNames;
    take(move.kind, getAxes(move.parts, named), move.dim, move.splitDim,
         getSharding(move.after, named));
  }
  AxisList zeros, has = cutter.split(before.partial, /*isTarget=*/true);
  for (const AxisRef &ref : cutter.split(to.partial, /*isTarget=*/true))
    if (!llvm::is_contained(has, ref))
      zeros.push_back(ref);
  take(CollectiveKind::KeepFirst, zeros, -1, -1, to);
  return plan;
}

ReshardPlan Construction::run() {
  setUp();
  cutShortDims(CollectiveKind::Slice);
  cutShortDims(CollectiveKind::ReduceScatter);
  if (PartList gone = getGoneAddends(); !gone.empty())
    add(CollectiveKind::AllReduce, gone);
  settleUneven(/*isLast=*/false);
  moveParts();
  orderAsTarget();
  gatherRest();
  settleUneven(/*isLast=*/true);
  makeNewNames();
  return makePlan(placePermute());
}

ReshardPlan detail::constructReshard(ArrayRef<int64_t> shape,
                                     const TensorSharding &from,
                                     const TensorSharding &to,
                                     const Mesh &mesh) {
  return Construction(shape, from, to, mesh).run();
}
