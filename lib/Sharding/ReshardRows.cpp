//===- ReshardRows.cpp - Where the rows of the reshard table lead ---------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The states that a step leads to and the elements that a rank receives for it.
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

/// Every row but permute takes a list of axes from somewhere and gives it to
/// somewhere else.
void ReshardSearch::expandRows(int index) {
  const ReshardState &state = nodes[index].state;
  // Axes that nothing uses. Local steps cost nothing but a step: none can help
  // if that is too dear.
  RefSet free = getFree(state);
  if (free && !isTooDear(getNext(index, collectiveRows[0].kind, 0)))
    forEachList(free, [&](const RefList &list) {
      give(index, state, Holding::Replicated, list, -1);
    });
  if (state.partial)
    forEachList(state.partial, [&](const RefList &list) {
      ReshardState taken = state;
      taken.partial &= ~toSet(list);
      give(index, taken, Holding::Partial, list, -1);
    });
  for (unsigned dim = 0; dim < state.dims.size(); ++dim) {
    ArrayRef<uint8_t> cut = state.dims[dim];
    for (size_t keep = 0; keep < cut.size(); ++keep) {
      RefList kept(cut.take_front(keep)), list(cut.drop_front(keep));
      forEachCut(state, dim, kept, [&](ReshardState &taken) {
        if (isCutInParts(taken, state, dim, getCount(list)))
          give(index, taken, Holding::Split, list, dim);
      });
    }
  }
}

/// The steps of the rows from `from`, where the state without the axes `list`
/// is `taken`; `dim` is the one that they were taken from.
void ReshardSearch::give(int index, const ReshardState &taken, Holding from,
                         const RefList &list, int dim) {
  const ReshardState &state = nodes[index].state;
  int64_t ranks = getCount(list);
  // The addends are a set: take each once, in order.
  bool isSet = from != Holding::Split && llvm::is_sorted(list);
  auto getReceived = [&](const CollectiveRow &row, const ReshardState &part) {
    return countReceived(row, getLocalElements(part), ranks);
  };
  for (const CollectiveRow &row : collectiveRows) {
    if (row.from != from)
      continue;
    ReshardMove move{row.kind, list, dim, -1};
    if (row.to == Holding::Replicated && (from == Holding::Split || isSet))
      visit(index, taken, move, getReceived(row, state));
    if (row.to == Holding::Partial && isSet) {
      ReshardState next = taken;
      next.inToReduction = state.partial ? state.inToReduction : true;
      next.partial |= toSet(list);
      visit(index, next, move, getReceived(row, state));
    }
    for (int to = 0; row.cuts() && to < int(taken.dims.size()); ++to) {
      if (to == dim)
        continue;
      (row.gathers() ? move.splitDim : move.dim) = to;
      RefList cut = taken.dims[to];
      cut.append(list);
      forEachCut(taken, to, cut, [&](ReshardState &next) {
        if (!isCutInParts(state, next, to, ranks))
          return;
        // A part is the local value with its other dimension cut.
        ReshardState part = state;
        part.dims[to] = next.dims[to];
        part.inToGrain =
            (part.inToGrain & ~(1u << to)) | (next.inToGrain & (1u << to));
        visit(index, next, move, getReceived(row, part));
      });
    }
  }
}

/// permute: any sharding with as many shards of every dimension and as many
/// addends.
void ReshardSearch::expandPermutes(int index) {
  const ReshardState &state = nodes[index].state;
  if (problem.refs.size() < 2 ||
      isTooDear(getNext(index, CollectiveKind::CollectivePermute,
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
      visit(index, state, {CollectiveKind::CollectivePermute, {}, -1, -1},
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
