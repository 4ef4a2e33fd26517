//===- ReshardSearch.cpp - Cheapest way through the reshard table ---------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// States, their order and the queue; ReshardRows.cpp says where the rows of the
// table lead. Whether a step works on padded layouts is one question, asked by
// isCutInParts: do the parts that it moves make up the coarser layout?
//
//===----------------------------------------------------------------------===//

#include "ReshardSearch.h"
#include "ReshardSteps.h"

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
  return divideUp(problem.sizes[dim] / grain, shards) * grain;
}

int64_t ReshardSearch::getLocalSize(const ReshardState &state,
                                    unsigned dim) const {
  return getLocalSize(dim, getCount(state.dims[dim]),
                      state.inToGrain >> dim & 1);
}

int64_t ReshardSearch::getLocalElements(const ReshardState &state) const {
  SmallVector<int64_t, 4> sizes;
  for (unsigned dim = 0; dim < state.dims.size(); ++dim)
    sizes.push_back(getLocalSize(state, dim));
  return getElements(sizes);
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
  int64_t together = multiply(part, parts);
  return together == whole ||
         (whole >= problem.sizes[dim] && together >= problem.sizes[dim]);
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

ReshardCost ReshardSearch::getNext(int parent, CollectiveKind kind,
                                   int64_t elements) const {
  ReshardCost cost = nodes[parent].cost;
  cost.elements = add(cost.elements, elements);
  cost.calls += !rowOf(kind).isLocal();
  cost.steps += 1;
  if (cost.steps <= ReshardCost::maxRows)
    cost.rows = cost.rows << ReshardCost::rowBits | static_cast<unsigned>(kind);
  return cost;
}

int64_t ReshardSearch::getRemaining(const ReshardState &state) const {
  // Reducing what must be reduced costs as much as holding the result.
  int64_t addends = getCount(state.partial);
  if (addends > 1 && ((problem.reductionsDiffer && !state.inToReduction) ||
                      wantedAddends % addends != 0))
    return wantedElements;
  SmallVector<int64_t, 4> has;
  for (auto [dim, most] : llvm::enumerate(wanted))
    has.push_back(std::min(getLocalSize(state, dim), most));
  return wantedElements - getElements(has);
}

ReshardCost ReshardSearch::getOrder(const Node &node) const {
  ReshardCost order = node.cost;
  if (bySize)
    order.elements = add(order.elements, node.remaining);
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
  int64_t remaining = bySize ? getRemaining(state) : 0;
  if (bySize && targetIndex >= 0 &&
      add(cost.elements, remaining) > nodes[targetIndex].cost.elements)
    return;
  std::string key = getKey(state);
  auto [it, isNew] = known.try_emplace(key, nodes.size());
  int index = it->second;
  if (isNew) {
    nodes.push_back(
        {std::move(state), cost, parent, isMove, std::move(move), remaining});
    if (key == targetKey)
      targetIndex = index;
  } else {
    Node &node = nodes[index];
    if (node.done || cost >= node.cost)
      return;
    node = {std::move(state), cost, parent, isMove, std::move(move), remaining};
  }
  queue.push({getOrder(nodes[index]), index});
}

void ReshardSearch::expand(int index) {
  expandRows(index);
  expandPermutes(index);
  if (problem.hasAliases)
    expandAliases(index);
}

std::optional<ReshardPath> ReshardSearch::run(ReshardState source,
                                              ReshardState target) {
  targetKey = getKey(target);
  wantedAddends = getCount(target.partial);
  for (unsigned dim = 0; dim < target.dims.size(); ++dim)
    wanted.push_back(std::min(getLocalSize(target, dim), problem.sizes[dim]));
  wantedElements = getElements(wanted);
  std::string key = getKey(source);
  known[key] = 0;
  int64_t remaining = bySize ? getRemaining(source) : 0;
  nodes.push_back({std::move(source), {}, -1, false, {}, remaining});
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
