//===- ReshardTransfers.cpp - All-to-alls of a constructed reshard --------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moves parts from dimensions that are cut too often to those that are short of
// them. An all-to-all takes the last parts of a dimension, so a permute may
// have to bring them there. Example: a dimension cut by 2 and then 3 that is to
// give away the 2: permute to 3 and then 2, and move the 2.
//
//===----------------------------------------------------------------------===//

#include "ReshardConstruct.h"
#include "llvm/ADT/STLExtras.h"
#include <set>

using namespace tp;
using namespace tp::detail;
using llvm::ArrayRef;
using llvm::SmallVector;

void Construction::findTransfers() {
  std::set<int64_t> primes;
  for (const AxisRef &ref : names)
    primes.insert(ref.size);
  for (int64_t prime : primes) {
    SmallVector<int64_t> missing;
    for (unsigned dim = 0; dim < shape.size(); ++dim)
      missing.push_back(getShort(dim, prime));
    for (unsigned dim = 0; dim < shape.size(); ++dim)
      for (unsigned split = 0; split < shape.size(); ++split) {
        int64_t count = std::min(-missing[dim], missing[split]);
        if (count <= 0)
          continue;
        missing[dim] += count;
        missing[split] -= count;
        transfers[{dim, split}][prime] = count;
      }
  }
}

/// All-to-all with as many of the last parts of `dim` as make up transfers to
/// `split`, whole ones; false if there are none.
bool Construction::moveLast(unsigned dim, unsigned split) {
  auto open = transfers.find({dim, split});
  if (open == transfers.end())
    return false;
  ArrayRef<unsigned> list = now.dims[dim];
  std::map<int64_t, int64_t> rest = open->second, best;
  size_t count = 0;
  for (size_t i = 1; i <= list.size(); ++i) {
    int64_t prime = names[list[list.size() - i]].size;
    auto left = rest.find(prime);
    if (left == rest.end() || left->second == 0)
      break;
    --left->second;
    // Transfers are either done or untouched.
    if (llvm::all_of(rest, [&](auto &entry) {
          return entry.second == 0 ||
                 entry.second == open->second.at(entry.first);
        })) {
      count = i;
      best = rest;
    }
  }
  if (count == 0)
    return false;
  open->second.clear();
  for (auto [prime, left] : best)
    if (left > 0)
      open->second[prime] = left;
  if (open->second.empty())
    transfers.erase(open);
  add(CollectiveKind::AllToAll, PartList(list.take_back(count)), dim, split);
  return true;
}

/// A permute after which each dimension ends with the parts that it gives away,
/// those of size `prime` last.
void Construction::bringToEnd(int64_t prime) {
  for (unsigned dim = 0; dim < shape.size(); ++dim) {
    PartList rest = now.dims[dim], others, last;
    for (unsigned split = 0; split < shape.size(); ++split) {
      auto open = transfers.find({dim, split});
      if (open == transfers.end())
        continue;
      PartList ofPrime;
      for (auto [size, count] : open->second)
        for (int64_t i = 0; i < count; ++i) {
          auto part = llvm::find_if(
              rest, [&](unsigned part) { return names[part].size == size; });
          (size == prime ? ofPrime : others).push_back(*part);
          rest.erase(part);
        }
      last.insert(last.begin(), ofPrime.begin(), ofPrime.end());
    }
    rest.append(others);
    rest.append(last);
    now.dims[dim] = std::move(rest);
  }
  add(CollectiveKind::CollectivePermute, {});
}

/// All-to-alls from dimensions that a prime cuts too often to those that are
/// short of it. Of one prime there are fewer transfers than dimensions, as each
/// settles one of the two, and no dimension both gives and takes: after a
/// permute all of them can be done, so there are no more permutes than primes.
void Construction::moveParts() {
  findTransfers();
  auto moveAll = [&] {
    bool isAny = false;
    for (unsigned dim = 0; dim < shape.size(); ++dim)
      for (unsigned split = 0; split < shape.size(); ++split)
        isAny |= moveLast(dim, split);
    return isAny;
  };
  while (true) {
    while (moveAll())
      ;
    if (transfers.empty())
      return;
    int64_t prime = transfers.begin()->second.begin()->first;
    bringToEnd(prime);
    for (unsigned dim = 0; dim < shape.size(); ++dim)
      for (unsigned split = 0; split < shape.size(); ++split)
        if (auto open = transfers.find({dim, split});
            open != transfers.end() && open->second.count(prime))
          moveLast(dim, split);
  }
}

/// A permute, if need be, after which each dimension begins with parts of the
/// sizes that the target has.
void Construction::orderAsTarget() {
  bool isOrdered = true;
  SmallVector<PartList, 4> ordered(shape.size());
  for (auto [dim, list] : llvm::enumerate(ordered)) {
    PartList rest = now.dims[dim];
    // An uneven dimension is cut in one go, in the target's order.
    if (kinds[dim] == DimKind::Uneven) {
      list = rest;
      continue;
    }
    for (auto [i, ref] : llvm::enumerate(wanted[dim])) {
      isOrdered &= names[now.dims[dim][i]].size == ref.size;
      auto part = llvm::find_if(
          rest, [&](unsigned part) { return names[part].size == ref.size; });
      list.push_back(*part);
      rest.erase(part);
    }
    list.append(rest);
  }
  if (isOrdered)
    return;
  now.dims = std::move(ordered);
  add(CollectiveKind::CollectivePermute, {});
}
