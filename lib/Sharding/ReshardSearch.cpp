//===- ReshardSearch.cpp - Cheapest way through the reshard table ---------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function per group of rows of the table: which states a step leads to
// and how many elements a rank receives for it. Whether a step works on padded
// layouts is one question, asked by isCutInParts: do the parts that it moves
// make up the coarser layout?
//
//===----------------------------------------------------------------------===//

#include "ReshardSearch.h"

using namespace tp;
using namespace tp::detail;
using llvm::ArrayRef;
using llvm::SmallVector;

//===----------------------------------------------------------------------===//
// Arithmetic on states
//===----------------------------------------------------------------------===//

int64_t ReshardSearch::getCount(ArrayRef<uint8_t> list) const {
  int64_t count = 1;
  for (uint8_t i : list)
    count *= problem.refs[i].size;
  return count;
}

int64_t ReshardSearch::getCount(RefSet set) const {
  int64_t count = 1;
  for (; set; set &= set - 1)
    count *= problem.refs[llvm::countr_zero(set)].size;
  return count;
}

int64_t ReshardSearch::getLocalSize(unsigned dim, int64_t shards,
                                    bool inToGrain) const {
  int64_t grain = inToGrain ? problem.toGrains[dim] : problem.fromGrains[dim];
  int64_t grains = problem.sizes[dim] / grain;
  return (grains + shards - 1) / shards * grain;
}

int64_t ReshardSearch::getLocalSize(const ReshardState &state,
                                    unsigned dim) const {
  return getLocalSize(dim, getCount(state.dims[dim]),
                      state.inToGrain >> dim & 1);
}

int64_t ReshardSearch::getLocalElements(const ReshardState &state) const {
  int64_t elements = 1;
  for (unsigned dim = 0; dim < state.dims.size(); ++dim)
    elements *= getLocalSize(state, dim);
  return elements;
}

static RefSet toSet(ArrayRef<uint8_t> list) {
  RefSet set = 0;
  for (uint8_t i : list)
    set |= RefSet(1) << i;
  return set;
}

RefSet ReshardSearch::getFree(const ReshardState &state) const {
  RefSet used = state.partial, blocked = 0;
  for (const RefList &list : state.dims)
    used |= toSet(list);
  for (; used; used &= used - 1)
    blocked |= problem.conflicts[llvm::countr_zero(used)];
  return ((RefSet(1) << problem.refs.size()) - 1) & ~blocked;
}

void ReshardSearch::forEachList(RefSet available, VisitList visit,
                                int64_t count) {
  RefList list;
  auto extend = [&](auto &self, RefSet rest, int64_t count) -> void {
    RefSet met = 0;
    for (RefSet set = rest; set && work < budget; set &= set - 1) {
      unsigned i = llvm::countr_zero(set);
      RefSet bit = RefSet(1) << problem.classes[i];
      if (count % problem.refs[i].size != 0 || (bySize && (met & bit)))
        continue;
      met |= bit;
      ++work;
      list.push_back(i);
      visit(list);
      self(self, rest & ~problem.conflicts[i], count / problem.refs[i].size);
      list.pop_back();
    }
  };
  extend(extend, available, count);
}

bool ReshardSearch::isCutInParts(const ReshardState &coarse,
                                 const ReshardState &fine, unsigned dim,
                                 int64_t parts) const {
  int64_t whole = getLocalSize(coarse, dim), part = getLocalSize(fine, dim);
  // Either the parts make up every coarse shard, or all there is lies in the
  // first one (the dimension is whole, or all other shards are padding).
  return part * parts == whole ||
         (whole >= problem.sizes[dim] && part * parts >= problem.sizes[dim]);
}

void ReshardSearch::forEachCut(
    const ReshardState &state, unsigned dim, const RefList &list,
    llvm::function_ref<void(ReshardState &)> visit) const {
  int64_t shards = getCount(list);
  // Beneath a fixed axis a part that is not even would begin elsewhere.
  if (!problem.fixedAxes[dim].empty() && problem.sizes[dim] % shards != 0)
    return;
  ReshardState next = state;
  next.dims[dim] = list;
  next.inToGrain &= ~(1u << dim);
  visit(next);
  if (getLocalSize(dim, shards, false) == getLocalSize(dim, shards, true))
    return;
  next.inToGrain |= 1u << dim;
  visit(next);
}

//===----------------------------------------------------------------------===//
// Rows of the table
//===----------------------------------------------------------------------===//

/// keep-first and slice.
void ReshardSearch::expandLocal(int index) {
  const ReshardState &state = nodes[index].state;
  RefSet free = getFree(state);
  // Local steps cost nothing but a step: none can help if that is too dear.
  if (!free || isTooDear(getNext(index, ReshardStepKind::KeepFirst, 0)))
    return;
  forEachList(free, [&](const RefList &list) {
    // The partial axes are a set: take each once, in order.
    if (llvm::is_sorted(list)) {
      ReshardState next = state;
      next.inToReduction = state.partial ? state.inToReduction : true;
      next.partial |= toSet(list);
      visit(index, next, {ReshardStepKind::KeepFirst, list, -1, -1}, 0);
    }
    for (unsigned dim = 0; dim < state.dims.size(); ++dim) {
      RefList cut = state.dims[dim];
      cut.append(list);
      forEachCut(state, dim, cut, [&](ReshardState &next) {
        if (isCutInParts(state, next, dim, getCount(list)))
          visit(index, next, {ReshardStepKind::Slice, list, int(dim), -1}, 0);
      });
    }
  });
}

/// all-reduce and reduce-scatter.
void ReshardSearch::expandReductions(int index) {
  const ReshardState &state = nodes[index].state;
  if (!state.partial)
    return;
  forEachList(state.partial, [&](const RefList &list) {
    ReshardState reduced = state;
    reduced.partial &= ~toSet(list);
    int64_t ranks = getCount(list), elements = getLocalElements(state);
    if (llvm::is_sorted(list))
      visit(index, reduced, {ReshardStepKind::AllReduce, list, -1, -1},
            2 * (ranks - 1) * ((elements + ranks - 1) / ranks));
    for (unsigned dim = 0; dim < state.dims.size(); ++dim) {
      RefList cut = state.dims[dim];
      cut.append(list);
      forEachCut(reduced, dim, cut, [&](ReshardState &next) {
        if (isCutInParts(state, next, dim, ranks))
          visit(index, next,
                {ReshardStepKind::ReduceScatter, list, int(dim), -1},
                (ranks - 1) * getLocalElements(next));
      });
    }
  });
}

/// all-gather and all-to-all.
void ReshardSearch::expandGathers(int index) {
  const ReshardState &state = nodes[index].state;
  for (unsigned dim = 0; dim < state.dims.size(); ++dim) {
    ArrayRef<uint8_t> cut = state.dims[dim];
    for (size_t keep = 0; keep < cut.size(); ++keep) {
      RefList kept(cut.take_front(keep)), list(cut.drop_front(keep));
      int64_t ranks = getCount(list);
      forEachCut(state, dim, kept, [&](ReshardState &gathered) {
        if (!isCutInParts(gathered, state, dim, ranks))
          return;
        visit(index, gathered, {ReshardStepKind::AllGather, list, int(dim), -1},
              (ranks - 1) * getLocalElements(state));
        for (unsigned split = 0; split < state.dims.size(); ++split) {
          if (split == dim)
            continue;
          RefList both = state.dims[split];
          both.append(list);
          forEachCut(gathered, split, both, [&](ReshardState &next) {
            if (!isCutInParts(state, next, split, ranks))
              return;
            // A part is the local value with its split dimension cut.
            ReshardState part = state;
            part.dims[split] = next.dims[split];
            part.inToGrain = (part.inToGrain & ~(1u << split)) |
                             (next.inToGrain & (1u << split));
            visit(index, next,
                  {ReshardStepKind::AllToAll, list, int(dim), int(split)},
                  (ranks - 1) * getLocalElements(part));
          });
        }
      });
    }
  }
}

/// permute: any sharding with as many shards of every dimension and as many
/// addends.
void ReshardSearch::expandPermutes(int index) {
  const ReshardState &state = nodes[index].state;
  if (problem.refs.size() < 2 ||
      isTooDear(getNext(index, ReshardStepKind::CollectivePermute,
                        getLocalElements(state))))
    return;
  RefSet all = (RefSet(1) << problem.refs.size()) - 1;
  ReshardState next = state;
  permuteDims(index, 0, all, next);
}

void ReshardSearch::permuteDims(int index, unsigned dim, RefSet available,
                                ReshardState &state) {
  const ReshardState &before = nodes[index].state;
  int64_t wanted = dim < state.dims.size() ? getCount(before.dims[dim])
                                           : getCount(before.partial);
  auto choose = [&](const RefList &list) {
    if (getCount(list) != wanted)
      return;
    if (dim == state.dims.size()) {
      if (!llvm::is_sorted(list))
        return;
      state.partial = toSet(list);
      if (state.partial == before.partial && state.dims == before.dims)
        return;
      visit(index, state, {ReshardStepKind::CollectivePermute, {}, -1, -1},
            getLocalElements(before));
      return;
    }
    RefSet rest = available;
    for (uint8_t i : list)
      rest &= ~problem.conflicts[i];
    state.dims[dim] = list;
    permuteDims(index, dim + 1, rest, state);
  };
  if (wanted == 1)
    choose({});
  else
    forEachList(available, choose, wanted);
}

//===----------------------------------------------------------------------===//
// Axes cut at places that do not nest
//===----------------------------------------------------------------------===//

void ReshardSearch::forEachAlias(ArrayRef<uint8_t> list,
                                 VisitList visit) const {
  // Replace every run of one axis from `begin` to `end` by other runs.
  for (size_t first = 0; first < list.size(); ++first) {
    int64_t begin = problem.refs[list[first]].pre, end = begin;
    for (size_t last = first; last < list.size(); ++last) {
      const AxisRef &ref = problem.refs[list[last]];
      if (ref.axis != problem.refs[list[first]].axis || ref.pre != end)
        break;
      end = ref.pre * ref.size;
      RefList alias(list.take_front(first));
      auto extend = [&](auto &self, int64_t position) -> void {
        if (position == end) {
          RefList whole = alias;
          whole.append(list.begin() + last + 1, list.end());
          if (ArrayRef<uint8_t>(whole) != list)
            visit(whole);
          return;
        }
        for (auto [i, next] : llvm::enumerate(problem.refs)) {
          if (next.axis != ref.axis || next.pre != position ||
              end % (next.pre * next.size) != 0)
            continue;
          alias.push_back(i);
          self(self, next.pre * next.size);
          alias.pop_back();
        }
      };
      extend(extend, begin);
    }
  }
}

void ReshardSearch::expandAliases(int index) {
  const ReshardState &state = nodes[index].state;
  for (unsigned dim = 0; dim < state.dims.size(); ++dim)
    forEachAlias(state.dims[dim], [&](const RefList &alias) {
      ReshardState next = state;
      next.dims[dim] = alias;
      visit(index, next, nodes[index].cost, /*isMove=*/false, {});
    });
  RefList partial;
  for (RefSet set = state.partial; set; set &= set - 1)
    partial.push_back(llvm::countr_zero(set));
  // By axis and place: neighbours can be runs.
  llvm::sort(partial, [&](uint8_t a, uint8_t b) {
    return problem.refs[a] < problem.refs[b];
  });
  forEachAlias(partial, [&](const RefList &alias) {
    ReshardState next = state;
    next.partial = toSet(alias);
    visit(index, next, nodes[index].cost, /*isMove=*/false, {});
  });
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

std::string ReshardSearch::getKey(ReshardState &state) const {
  if (!state.partial || !problem.reductionsDiffer)
    state.inToReduction = false;
  std::string key;
  for (const RefList &list : state.dims) {
    for (uint8_t i : list)
      key.push_back(bySize ? problem.classes[i] : i);
    key.push_back('\xff');
  }
  auto append = [&](uint32_t bits) {
    for (int i = 0; i < 4; ++i)
      key.push_back(bits >> (8 * i) & 0xff);
  };
  if (bySize) {
    RefList partial;
    for (RefSet set = state.partial; set; set &= set - 1)
      partial.push_back(problem.classes[llvm::countr_zero(set)]);
    llvm::sort(partial);
    key.append(partial.begin(), partial.end());
    key.push_back('\xff');
  } else {
    append(state.partial);
    append(state.partial >> 32);
  }
  append(state.inToGrain);
  key.push_back(state.inToReduction);
  return key;
}

ReshardCost ReshardSearch::getNext(int parent, ReshardStepKind kind,
                                   int64_t elements) const {
  ReshardCost cost = nodes[parent].cost;
  cost.elements += elements;
  cost.calls += isCollective(kind);
  cost.steps += 1;
  if (cost.steps <= 21)
    cost.rows = cost.rows << 3 | static_cast<unsigned>(kind);
  return cost;
}

int64_t ReshardSearch::getLack(const ReshardState &state) const {
  // Reducing what must be reduced costs as much as holding the result.
  int64_t addends = getCount(state.partial);
  if (addends > 1 && ((problem.reductionsDiffer && !state.inToReduction) ||
                      wantedAddends % addends != 0))
    return wantedElements;
  int64_t has = 1;
  for (auto [dim, most] : llvm::enumerate(wanted))
    has *= std::min(getLocalSize(state, dim), most);
  return wantedElements - has;
}

ReshardCost ReshardSearch::getOrder(const Node &node) const {
  ReshardCost order = node.cost;
  if (bySize)
    order.elements += node.lack;
  return order;
}

void ReshardSearch::visit(int parent, ReshardState state, ReshardMove move,
                          int64_t elements) {
  ++work;
  ReshardCost cost = getNext(parent, move.kind, elements);
  visit(parent, std::move(state), cost, /*isMove=*/true, std::move(move));
}

void ReshardSearch::visit(int parent, ReshardState state,
                          const ReshardCost &cost, bool isMove,
                          ReshardMove move) {
  if (isTooDear(cost))
    return;
  int64_t lack = bySize ? getLack(state) : 0;
  if (bySize && targetIndex >= 0 &&
      cost.elements + lack > nodes[targetIndex].cost.elements)
    return;
  std::string key = getKey(state);
  auto [it, isNew] = known.try_emplace(key, nodes.size());
  int index = it->second;
  if (isNew) {
    nodes.push_back(
        {std::move(state), cost, parent, isMove, std::move(move), lack});
    if (key == targetKey)
      targetIndex = index;
  } else {
    Node &node = nodes[index];
    if (node.done || cost >= node.cost)
      return;
    node = {std::move(state), cost, parent, isMove, std::move(move), lack};
  }
  queue.push({getOrder(nodes[index]), index});
}

void ReshardSearch::expand(int index) {
  expandLocal(index);
  expandReductions(index);
  expandGathers(index);
  expandPermutes(index);
  if (problem.hasAliases)
    expandAliases(index);
}

std::optional<ReshardPath> ReshardSearch::run(ReshardState source,
                                              ReshardState target) {
  targetKey = getKey(target);
  wantedAddends = getCount(target.partial);
  for (unsigned dim = 0; dim < target.dims.size(); ++dim) {
    wanted.push_back(std::min(getLocalSize(target, dim), problem.sizes[dim]));
    wantedElements *= wanted.back();
  }
  std::string key = getKey(source);
  known[key] = 0;
  int64_t lack = bySize ? getLack(source) : 0;
  nodes.push_back({std::move(source), {}, -1, false, {}, lack});
  if (key == targetKey)
    targetIndex = 0;
  queue.push({getOrder(nodes[0]), 0});
  bool isFound = false;
  while (!queue.empty() && work < budget && !isFound) {
    auto [order, index] = queue.top();
    queue.pop();
    isFound = index == targetIndex;
    if (isFound || nodes[index].done || order > getOrder(nodes[index]))
      continue;
    nodes[index].done = true;
    expand(index);
  }
  if (!isFound)
    return std::nullopt;
  ReshardPath path;
  for (int index = targetIndex; nodes[index].parent >= 0;
       index = nodes[index].parent)
    if (nodes[index].isMove)
      path.push_back({nodes[index].move, nodes[index].state});
  return ReshardPath(path.rbegin(), path.rend());
}
