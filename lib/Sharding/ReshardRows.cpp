//===- ReshardRows.cpp - Where the rows of the reshard table lead ---------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function per group of rows of the table: which states a step leads to
// and how many elements a rank receives for it.
//
//===----------------------------------------------------------------------===//

#include "ReshardSearch.h"
#include "ReshardSteps.h"

using namespace tp;
using namespace tp::detail;
using llvm::ArrayRef;
using llvm::SmallVector;

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
            multiply(2 * (ranks - 1), divideUp(elements, ranks)));
    for (unsigned dim = 0; dim < state.dims.size(); ++dim) {
      RefList cut = state.dims[dim];
      cut.append(list);
      forEachCut(reduced, dim, cut, [&](ReshardState &next) {
        if (isCutInParts(state, next, dim, ranks))
          visit(index, next,
                {ReshardStepKind::ReduceScatter, list, int(dim), -1},
                multiply(ranks - 1, getLocalElements(next)));
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
              multiply(ranks - 1, getLocalElements(state)));
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
                  multiply(ranks - 1, getLocalElements(part)));
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
