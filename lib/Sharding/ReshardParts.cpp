//===- ReshardParts.cpp - Axes of a reshard in parts of prime size --------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An axis is cut at the places where a sharding cuts it, and between them into
// primes, the smallest outermost.
//
//===----------------------------------------------------------------------===//

#include "ReshardParts.h"
#include <set>

using namespace tp;
using namespace tp::detail;
using llvm::ArrayRef;

static std::set<int64_t> getPlaces(ArrayRef<AxisRef> refs) {
  std::set<int64_t> places;
  for (const AxisRef &ref : refs)
    places.insert({ref.pre, ref.pre * ref.size});
  return places;
}

static bool doNest(const std::set<int64_t> &places) {
  int64_t last = 1;
  for (int64_t place : places) {
    if (place % last != 0)
      return false;
    last = place;
  }
  return true;
}

/// The part of `axis` within `refs`, in primes between the places.
static AxisList cutInPrimes(unsigned axis, const std::set<int64_t> &places,
                            ArrayRef<AxisRef> refs) {
  AxisList parts;
  int64_t place = 1;
  for (int64_t end : places) {
    bool isUsed = llvm::any_of(refs, [&](const AxisRef &ref) {
      return ref.pre <= place && end <= ref.pre * ref.size;
    });
    for (int64_t prime = 2; isUsed && place < end;) {
      int64_t rest = end / place;
      if (prime * prime > rest)
        prime = rest;
      if (rest % prime != 0) {
        ++prime;
        continue;
      }
      parts.push_back({axis, place, prime});
      place *= prime;
    }
    place = end;
  }
  return parts;
}

AxisParts::AxisParts(const TensorSharding &from, const TensorSharding &to,
                     const Mesh &mesh) {
  AxisList fromUsed = from.getUsedAxes(), toUsed = to.getUsedAxes();
  for (unsigned axis = 0; axis < mesh.getNumAxes(); ++axis) {
    auto isElsewhere = [&](const AxisRef &ref) {
      return ref.axis != axis || ref.size == 1;
    };
    AxisList a = fromUsed, b = toUsed, both;
    llvm::erase_if(a, isElsewhere);
    llvm::erase_if(b, isElsewhere);
    both.append(a);
    both.append(b);
    if (std::set<int64_t> places = getPlaces(both); doNest(places)) {
      AxisList parts = cutInPrimes(axis, places, both);
      source.append(parts);
      target.append(parts);
      continue;
    }
    AxisRef whole = mesh.getWhole(axis);
    a.push_back(whole);
    b.push_back(whole);
    source.append(cutInPrimes(axis, getPlaces(a), whole));
    target.append(cutInPrimes(axis, getPlaces(b), whole));
  }
}

AxisList AxisParts::split(ArrayRef<AxisRef> list, bool isTarget) const {
  AxisList parts;
  for (const AxisRef &ref : list)
    for (const AxisRef &part : getAll(isTarget))
      if (part.axis == ref.axis && part.pre >= ref.pre &&
          part.pre * part.size <= ref.pre * ref.size)
        parts.push_back(part);
  return parts;
}
