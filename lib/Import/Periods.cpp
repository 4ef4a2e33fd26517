//===- Periods.cpp - Layers that repeat with a period ---------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The shortest path from the first layer to behind the last one. Layers are
// nodes; a loop leads over all that it rolls. Short paths are followed first,
// so that of a stack of equal layers one period is tried, and no deeper model
// makes longer ones worth a trial.
//
//===----------------------------------------------------------------------===//

#include "Periods.h"

#include <algorithm>
#include <compare>
#include <limits>
#include <set>
#include <utility>
#include <vector>

using namespace llvm;

namespace tp {

namespace {
/// In the order in which they count: layers written, pieces, and how many
/// layers there are from the first one of each piece on.
struct Cost {
  int64_t written, pieces, left;

  Cost with(int64_t period, int64_t layersLeft) const {
    return {written + period, pieces + 1, left + layersLeft};
  }
  auto operator<=>(const Cost &) const = default;
};

/// The best way to a layer, and the last piece of it.
struct Path {
  Cost cost = {std::numeric_limits<int64_t>::max(), 0, 0};
  Period last = {0, 1, 1};
};

/// A period to be tried at a layer, and the cost of the path with it.
struct Trial {
  Cost cost;
  int64_t first, period;

  auto operator<=>(const Trial &) const = default;
};
} // namespace

SmallVector<Period>
findPeriods(int64_t layers, function_ref<int64_t(int64_t, int64_t)> getCount) {
  std::vector<Path> paths(layers + 1);
  std::set<Trial> trials;
  auto reach = [&](int64_t layer, Cost cost, Period last) {
    if (cost >= paths[layer].cost)
      return;
    paths[layer] = {cost, last};
    trials.insert({cost.with(1, layers - layer), layer, 1});
  };
  reach(0, {0, 0, 0}, {0, 1, 1});
  while (trials.begin()->cost < paths[layers].cost) {
    auto [cost, first, period] = *trials.begin();
    trials.erase(trials.begin());
    Cost before = paths[first].cost;
    int64_t left = layers - first, most = left / 2;
    if (cost != before.with(period, left))
      continue; // a shorter way to this layer was found since
    if (period == 1)
      reach(first + 1, cost, {first, 1, 1});
    if (period <= most)
      if (int64_t count = getCount(first, period); count > 1)
        reach(first + period * count, cost, {first, period, count});
    if (period < most)
      trials.insert({before.with(period + 1, left), first, period + 1});
  }
  SmallVector<Period> cut;
  for (int64_t at = layers; at > 0; at = cut.back().first)
    cut.push_back(paths[at].last);
  std::reverse(cut.begin(), cut.end());
  return cut;
}

} // namespace tp
