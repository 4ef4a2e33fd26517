//===- ReshardRename.cpp - Other axes of one size in a reshard path -------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A path found by size ends in the target's shape with other axes of the same
// sizes. Rows of the table see sizes only, so the path may name other axes from
// any point on: a permute takes the value there from the old names to the new.
// Example: [{"a"}, {}] to [{}, {"b"}] by an all-to-all over "a" ends in [{},
// {"a"}]; a permute to "b" before or after it does the rest.
//
//===----------------------------------------------------------------------===//

#include "ReshardSearch.h"

using namespace tp;
using namespace tp::detail;
using llvm::SmallVector;

/// The new name of each ref: what `state` uses becomes what `target` uses, and
/// what either leaves open stays as it is where it can.
static SmallVector<uint8_t> getNames(const ReshardProblem &problem,
                                     const ReshardState &state,
                                     const ReshardState &target) {
  unsigned count = problem.refs.size();
  constexpr uint8_t none = 0xff;
  SmallVector<uint8_t> names(count, none);
  RefSet taken = 0;
  auto name = [&](unsigned from, unsigned to) {
    names[from] = to;
    taken |= RefSet(1) << to;
  };
  for (auto [list, wanted] : llvm::zip_equal(state.dims, target.dims))
    for (auto [from, to] : llvm::zip_equal(list, wanted))
      name(from, to);
  RefSet all = (RefSet(1) << count) - 1;
  // The addends first, then the rest.
  for (auto [froms, tos] :
       {std::pair(state.partial, target.partial), std::pair(all, all)})
    for (bool keep : {true, false})
      for (unsigned from = 0; from < count; ++from)
        for (unsigned to = 0; to < count && names[from] == none; ++to)
          if ((froms >> from & 1) && (tos & ~taken) >> to & 1 &&
              problem.classes[from] == problem.classes[to] &&
              (!keep || from == to))
            name(from, to);
  return names;
}

static ReshardState rename(const ReshardState &state,
                           llvm::ArrayRef<uint8_t> names) {
  ReshardState result = state;
  for (RefList &list : result.dims)
    for (uint8_t &ref : list)
      ref = names[ref];
  result.partial = 0;
  for (RefSet set = state.partial; set; set &= set - 1)
    result.partial |= RefSet(1) << names[llvm::countr_zero(set)];
  return result;
}

bool detail::renameTowards(
    const ReshardProblem &problem, const ReshardState &source,
    const ReshardState &target, ReshardPath &path,
    llvm::function_ref<int64_t(const ReshardState &)> getSize) {
  SmallVector<uint8_t> names =
      getNames(problem, path.empty() ? source : path.back().second, target);
  // The states before `start` keep their names.
  size_t start = 0;
  bool isFree = false;
  int64_t least = getSize(source);
  const ReshardState *state = &source;
  for (size_t i = 0; i <= path.size() && !isFree; ++i) {
    bool isPermute = i > 0 && rowOf(path[i - 1].first.kind).permutes();
    if (i > 0)
      state = &path[i - 1].second;
    ReshardState renamed = rename(*state, names);
    isFree = isPermute ||
             (renamed.dims == state->dims && renamed.partial == state->partial);
    if (isFree || getSize(*state) < least) {
      least = getSize(*state);
      start = i;
    }
  }
  ReshardState before = start ? path[start - 1].second : source;
  for (size_t i = start; i < path.size(); ++i) {
    for (uint8_t &ref : path[i].first.axes)
      ref = names[ref];
    // Addends are a set, written in order.
    const CollectiveRow &row = rowOf(path[i].first.kind);
    if (!row.gathers() && !row.cuts())
      llvm::sort(path[i].first.axes);
    path[i].second = rename(path[i].second, names);
  }
  if (isFree && start > 0)
    path[start - 1].second = rename(before, names);
  if (!isFree)
    path.insert(path.begin() + start,
                {{CollectiveKind::CollectivePermute, {}, -1, -1},
                 rename(before, names)});
  return isFree;
}
