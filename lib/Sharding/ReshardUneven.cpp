//===- ReshardUneven.cpp - Uneven dimensions of a constructed reshard -----===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of an unevenly cut dimension make up no coarser shards, only the
// whole. So it is gathered in one step and cut in another, by free parts of the
// target's sizes; their names come with the permute like all others.
//
//===----------------------------------------------------------------------===//

#include "ReshardConstruct.h"
#include "llvm/ADT/STLExtras.h"

using namespace tp;
using namespace tp::detail;

/// True if more parts are missing than dimensions that are cut too often have.
bool Construction::lacksParts(int64_t prime) const {
  int64_t missing = 0;
  for (unsigned dim = 0; dim < shape.size(); ++dim)
    missing += getShort(dim, prime);
  return missing > 0;
}

/// The parts for the target's cut of an uneven dimension, if they are free.
std::optional<PartList> Construction::findCut(unsigned dim) const {
  PartList free = getFree(), cut;
  for (const AxisRef &ref : wanted[dim]) {
    auto part =
        llvm::find_if(free, [&](unsigned i) { return names[i] == ref; });
    if (part == free.end())
      part = llvm::find_if(
          free, [&](unsigned i) { return names[i].size == ref.size; });
    if (part == free.end())
      return std::nullopt;
    cut.push_back(*part);
    free.erase(part);
  }
  return cut;
}

/// Cut uneven dimensions that are whole as the target does.
void Construction::cutUneven() {
  for (unsigned dim = 0; dim < shape.size(); ++dim) {
    if (kinds[dim] != DimKind::Uneven || now.isSettled[dim] ||
        !now.dims[dim].empty())
      continue;
    if (std::optional<PartList> cut = findCut(dim)) {
      now.isSettled[dim] = true;
      if (!cut->empty())
        add(CollectiveKind::Slice, *cut, dim);
    }
  }
}

/// Gather uneven dimensions one after the other, each cut again before the next
/// is gathered where that is possible. Those that stay whole wait for the end
/// unless their parts are needed.
void Construction::settleUneven(bool isLast) {
  cutUneven();
  for (unsigned dim = 0; dim < shape.size(); ++dim) {
    if (kinds[dim] != DimKind::Uneven || now.isSettled[dim] ||
        now.dims[dim].empty())
      continue;
    bool isNeeded = llvm::any_of(
        now.dims[dim], [&](unsigned i) { return lacksParts(names[i].size); });
    if (!isLast && !isNeeded && wanted[dim].empty())
      continue;
    add(CollectiveKind::AllGather, now.dims[dim], dim);
    cutUneven();
  }
  cutShortDims(CollectiveKind::Slice);
}
