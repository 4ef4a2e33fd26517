//===- Mesh.cpp - Logical meshes of devices and references to their axes --===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Coordinates are mixed-radix digits of the linear grid position, the last
// axis fastest; a sub-axis is a run of digits inside one axis, that is a
// stride and a size. Everything here is arithmetic on those digits.
//
//===----------------------------------------------------------------------===//

#include "tp/Sharding/Mesh.h"
#include <algorithm>
#include <cassert>

using namespace tp;
using llvm::ArrayRef;
using llvm::SmallVector;

bool AxisRef::operator<(const AxisRef &other) const {
  return std::tie(axis, pre, size) <
         std::tie(other.axis, other.pre, other.size);
}

bool AxisRef::overlaps(const AxisRef &other) const {
  if (axis != other.axis || size == 1 || other.size == 1)
    return false;
  const AxisRef &major = pre <= other.pre ? *this : other;
  const AxisRef &minor = pre <= other.pre ? other : *this;
  // Disjoint only if the minor one starts at or after the end of the major one
  // on a boundary of it: the halves and the thirds of 6 do not go together.
  return minor.pre % (major.pre * major.size) != 0;
}

Mesh::Mesh(ArrayRef<Axis> axes, ArrayRef<int64_t> deviceOrder)
    : axes(axes.begin(), axes.end()),
      deviceOrder(deviceOrder.begin(), deviceOrder.end()) {
  gridPosition.resize(deviceOrder.size());
  for (auto [position, rank] : llvm::enumerate(deviceOrder)) {
    assert(rank >= 0 && rank < int64_t(deviceOrder.size()) &&
           "device order must be a permutation");
    gridPosition[rank] = position;
  }
  assert(
      (deviceOrder.empty() || int64_t(deviceOrder.size()) == getNumRanks()) &&
      "device order must name every rank once");
}

std::optional<unsigned> Mesh::findAxis(llvm::StringRef name) const {
  for (auto [i, axis] : llvm::enumerate(axes))
    if (axis.name == name)
      return i;
  return std::nullopt;
}

int64_t Mesh::getNumRanks() const {
  int64_t count = 1;
  for (const Axis &axis : axes)
    count *= axis.size;
  return count;
}

SmallVector<int64_t> Mesh::getCoordinates(int64_t rank) const {
  int64_t position = deviceOrder.empty() ? rank : gridPosition[rank];
  SmallVector<int64_t> coordinates(axes.size());
  for (size_t i = axes.size(); i-- > 0;) {
    coordinates[i] = position % axes[i].size;
    position /= axes[i].size;
  }
  return coordinates;
}

int64_t Mesh::getRank(ArrayRef<int64_t> coordinates) const {
  int64_t position = 0;
  for (auto [axis, coordinate] : llvm::zip_equal(axes, coordinates))
    position = position * axis.size + coordinate;
  return deviceOrder.empty() ? position : deviceOrder[position];
}

int64_t Mesh::getIndexAlong(int64_t rank, ArrayRef<AxisRef> list) const {
  SmallVector<int64_t> coordinates = getCoordinates(rank);
  int64_t index = 0;
  for (const AxisRef &ref : list) {
    int64_t stride = axes[ref.axis].size / (ref.pre * ref.size);
    index = index * ref.size + coordinates[ref.axis] / stride % ref.size;
  }
  return index;
}

SmallVector<SmallVector<int64_t>>
Mesh::getGroups(ArrayRef<AxisRef> list) const {
  int64_t numRanks = getNumRanks(), groupSize = getShardCount(list);
  SmallVector<SmallVector<int64_t>> groups;
  for (int64_t position = 0; position < numRanks; ++position) {
    int64_t first = deviceOrder.empty() ? position : deviceOrder[position];
    // The member at position 0 along the list opens the group; in grid order
    // it is the first one met.
    if (getIndexAlong(first, list) != 0)
      continue;
    SmallVector<int64_t> &group = groups.emplace_back();
    SmallVector<int64_t> base = getCoordinates(first);
    for (int64_t index = 0; index < groupSize; ++index) {
      SmallVector<int64_t> coordinates = base;
      int64_t rest = index;
      for (const AxisRef &ref : llvm::reverse(list)) {
        int64_t stride = axes[ref.axis].size / (ref.pre * ref.size);
        coordinates[ref.axis] += rest % ref.size * stride;
        rest /= ref.size;
      }
      group.push_back(getRank(coordinates));
    }
  }
  return groups;
}

std::string Mesh::getName(const AxisRef &ref) const {
  std::string name = "\"" + axes[ref.axis].name + "\"";
  if (ref != getWhole(ref.axis))
    name += ":(" + std::to_string(ref.pre) + ")" + std::to_string(ref.size);
  return name;
}

std::string Mesh::getName(ArrayRef<AxisRef> list) const {
  std::string names;
  for (const AxisRef &ref : list)
    names += (names.empty() ? "" : ", ") + getName(ref);
  return names;
}

int64_t tp::getShardCount(ArrayRef<AxisRef> list) {
  int64_t count = 1;
  for (const AxisRef &ref : list)
    count *= ref.size;
  return count;
}

AxisList tp::canonicalize(ArrayRef<AxisRef> list) {
  AxisList result;
  for (const AxisRef &ref : list) {
    if (ref.size == 1)
      continue;
    if (!result.empty() && result.back().axis == ref.axis &&
        ref.pre == result.back().pre * result.back().size)
      result.back().size *= ref.size;
    else
      result.push_back(ref);
  }
  return result;
}

bool tp::overlap(ArrayRef<AxisRef> a, ArrayRef<AxisRef> b) {
  return llvm::any_of(a, [&](const AxisRef &x) {
    return llvm::any_of(b, [&](const AxisRef &y) { return x.overlaps(y); });
  });
}

std::optional<std::pair<AxisList, AxisList>>
tp::splitLeading(ArrayRef<AxisRef> list, int64_t count) {
  AxisList leading, rest;
  for (const AxisRef &ref : list) {
    if (count == 1) {
      rest.push_back(ref);
    } else if (count % ref.size == 0) {
      leading.push_back(ref);
      count /= ref.size;
    } else if (ref.size % count == 0) {
      leading.push_back({ref.axis, ref.pre, count});
      rest.push_back({ref.axis, ref.pre * count, ref.size / count});
      count = 1;
    } else {
      return std::nullopt;
    }
  }
  if (count != 1)
    return std::nullopt;
  return std::make_pair(leading, rest);
}

bool tp::isPrefix(ArrayRef<AxisRef> prefix, ArrayRef<AxisRef> list) {
  AxisList wanted = canonicalize(prefix);
  auto parts = splitLeading(canonicalize(list), getShardCount(wanted));
  return parts && canonicalize(parts->first) == wanted;
}
