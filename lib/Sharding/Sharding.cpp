//===- Sharding.cpp - How one tensor is spread over a mesh ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Local sizes, well-formedness and the printed form of shardings. A layout is
// known by its axis lists and its local sizes: a grain matters only where it
// makes the local size another one.
//
//===----------------------------------------------------------------------===//

#include "tp/Sharding/Sharding.h"
#include <algorithm>
#include <limits>

using namespace tp;
using llvm::ArrayRef;
using llvm::SmallVector;

llvm::StringRef tp::stringify(ReductionKind kind) {
  switch (kind) {
  case ReductionKind::Sum:
    return "sum";
  case ReductionKind::Max:
    return "max";
  case ReductionKind::Min:
    return "min";
  }
  llvm_unreachable("unknown reduction");
}

std::optional<ReductionKind> tp::symbolizeReductionKind(llvm::StringRef text) {
  for (ReductionKind kind :
       {ReductionKind::Sum, ReductionKind::Max, ReductionKind::Min})
    if (text == stringify(kind))
      return kind;
  return std::nullopt;
}

TensorSharding TensorSharding::replicated(unsigned rank, bool open) {
  TensorSharding sharding;
  sharding.dims.resize(rank);
  for (DimSharding &dim : sharding.dims)
    dim.open = open;
  return sharding;
}

bool TensorSharding::isFullyReplicated() const {
  return canonicalize(partial).empty() &&
         llvm::all_of(dims, [](const DimSharding &dim) {
           return canonicalize(dim.axes).empty();
         });
}

bool TensorSharding::isOpen() const {
  return llvm::any_of(dims, [](const DimSharding &dim) { return dim.open; });
}

AxisList TensorSharding::getUsedAxes() const {
  AxisList used;
  for (const DimSharding &dim : dims)
    used.append(dim.axes);
  used.append(partial);
  return used;
}

TensorSharding TensorSharding::closed() const {
  TensorSharding result = *this;
  for (DimSharding &dim : result.dims)
    dim.open = false;
  return result;
}

bool TensorSharding::sameLayout(const TensorSharding &other) const {
  return closed() == other.closed();
}

/// The partial axes are a set: order by place in the mesh.
static AxisList canonicalizeSet(ArrayRef<AxisRef> list) {
  AxisList sorted(list);
  llvm::sort(sorted);
  return canonicalize(sorted);
}

/// Blocks that are cut as the whole dimension would be are not stated.
static void normalizeBlocks(DimSharding &dim, int64_t size) {
  if (!dim.hasBlocks())
    return;
  int64_t blocks = size / dim.block, inner = dim.getInner();
  bool isWhole = blocks == 1 && dim.outer == 1, isUncut = inner == 1;
  bool isEven = blocks == dim.outer && dim.block / dim.grain % inner == 0;
  if (!isWhole && !isUncut && !isEven)
    return;
  if (isUncut)
    dim.grain = dim.block;
  dim.block = 0;
  dim.outer = 1;
}

void TensorSharding::normalize(ArrayRef<int64_t> shape) {
  for (auto [dim, size] : llvm::zip_equal(dims, shape)) {
    dim.axes = canonicalize(dim.axes);
    normalizeBlocks(dim, size);
    DimSharding plain = dim;
    plain.grain = 1;
    if (getLocalSize(size, plain) == getLocalSize(size, dim))
      dim.grain = 1;
  }
  partial = canonicalizeSet(partial);
  if (partial.empty())
    reduction = ReductionKind::Sum;
}

llvm::hash_code tp::hash_value(const DimSharding &dim) {
  return llvm::hash_combine(
      llvm::hash_combine_range(dim.axes.begin(), dim.axes.end()), dim.grain,
      dim.open, dim.block, dim.outer);
}

llvm::hash_code tp::hash_value(const TensorSharding &sharding) {
  return llvm::hash_combine(
      llvm::hash_combine_range(sharding.dims.begin(), sharding.dims.end()),
      llvm::hash_combine_range(sharding.partial.begin(),
                               sharding.partial.end()),
      static_cast<uint32_t>(sharding.reduction));
}

/// The longest of `shards` shards of whole grains.
static int64_t cutSize(int64_t size, int64_t grain, int64_t shards) {
  int64_t grains = size / grain;
  return (grains / shards + (grains % shards != 0)) * grain;
}

int64_t tp::getLocalSize(int64_t size, const DimSharding &dim) {
  if (!dim.hasBlocks())
    return cutSize(size, dim.grain, getShardCount(dim.axes));
  return cutSize(size / dim.block, 1, dim.outer) *
         cutSize(dim.block, dim.grain, dim.getInner());
}

SmallVector<int64_t> tp::getLocalShape(ArrayRef<int64_t> shape,
                                       const TensorSharding &sharding) {
  SmallVector<int64_t> local;
  for (auto [size, dim] : llvm::zip_equal(shape, sharding.dims))
    local.push_back(getLocalSize(size, dim));
  return local;
}

int64_t tp::getPadding(int64_t size, const DimSharding &dim) {
  // Up to the largest number: a coarse grain may reach far beyond the size.
  int64_t held;
  if (__builtin_mul_overflow(getLocalSize(size, dim), getShardCount(dim.axes),
                             &held))
    held = std::numeric_limits<int64_t>::max();
  return held - size;
}

SmallVector<ShardRange, 1>
tp::getShardRanges(int64_t size, const DimSharding &dim, int64_t index) {
  SmallVector<ShardRange, 1> ranges;
  int64_t inner = dim.hasBlocks() ? dim.getInner() : getShardCount(dim.axes);
  int64_t block = dim.hasBlocks() ? dim.block : size;
  int64_t count = cutSize(size / std::max<int64_t>(block, 1), 1, dim.outer);
  int64_t part = cutSize(block, dim.grain, inner);
  int64_t first = index / inner * count, within = index % inner * part;
  int64_t length = std::clamp<int64_t>(block - within, 0, part);
  for (int64_t i = 0; i < count && length > 0; ++i)
    if (int64_t begin = (first + i) * block + within; begin < size)
      ranges.push_back({begin, begin + length, i * part});
  return ranges;
}

SmallVector<ShardRange, 1> tp::getShardRanges(int64_t size,
                                              const DimSharding &dim,
                                              int64_t rank, const Mesh &mesh) {
  return getShardRanges(size, dim, mesh.getIndexAlong(rank, dim.axes));
}

std::optional<int64_t> tp::getLogicalPosition(int64_t size,
                                              const DimSharding &dim,
                                              int64_t index, int64_t local) {
  for (const ShardRange &range : getShardRanges(size, dim, index))
    if (local >= range.local && local < range.local + range.end - range.begin)
      return range.begin + local - range.local;
  return std::nullopt;
}

bool tp::sameLayout(ArrayRef<int64_t> shape, const TensorSharding &a,
                    const TensorSharding &b) {
  if (getLocalShape(shape, a) != getLocalShape(shape, b))
    return false;
  TensorSharding x = a.closed(), y = b.closed();
  x.normalize(shape);
  y.normalize(shape);
  for (auto [dx, dy] : llvm::zip_equal(x.dims, y.dims))
    if (dx.axes != dy.axes || dx.block != dy.block || dx.outer != dy.outer)
      return false;
  return x.partial == y.partial && x.reduction == y.reduction;
}

/// Why a dimension of `size` elements cannot be cut so; empty if it can.
static std::string verifyCut(int64_t size, const DimSharding &dim,
                             const std::string &where) {
  if (dim.grain < 1 || size % dim.grain != 0)
    return "expected a grain that divides the size " + std::to_string(size) +
           where + ", got " + std::to_string(dim.grain);
  if (!dim.hasBlocks())
    return "";
  if (dim.block < 1 || size % dim.block != 0 || dim.block % dim.grain != 0)
    return "expected blocks that divide the size " + std::to_string(size) +
           where + " and are multiples of the grain " +
           std::to_string(dim.grain) + ", got " + std::to_string(dim.block);
  if (dim.outer < 1 || !splitLeading(canonicalize(dim.axes), dim.outer))
    return "expected the blocks" + where +
           " to be cut by leading axes, of which no number has " +
           std::to_string(dim.outer) + " shards";
  return "";
}

std::string tp::verifySharding(ArrayRef<int64_t> shape,
                               const TensorSharding &sharding,
                               const Mesh &mesh) {
  if (shape.size() != sharding.dims.size())
    return "expected a sharding of " + std::to_string(shape.size()) +
           " dimensions, got " + std::to_string(sharding.dims.size());
  AxisList used = sharding.getUsedAxes();
  for (const AxisRef &ref : used) {
    if (ref.axis >= mesh.getNumAxes())
      return "expected an axis of the mesh, which has " +
             std::to_string(mesh.getNumAxes()) + ", got axis number " +
             std::to_string(ref.axis);
    int64_t axisSize = mesh.getAxis(ref.axis).size;
    if (ref.pre < 1 || ref.size < 1 || axisSize % (ref.pre * ref.size) != 0)
      return "expected a sub-axis (p)s where p times s divides " +
             std::to_string(axisSize) + ", the size of the axis, got " +
             mesh.getName(ref);
  }
  for (size_t i = 0; i < used.size(); ++i)
    for (size_t j = i + 1; j < used.size(); ++j) {
      if (used[i] == used[j] && used[i].size > 1)
        return "axis " + mesh.getName(used[i]) + " is used twice";
      if (used[i].overlaps(used[j]))
        return "axes " + mesh.getName(used[i]) + " and " +
               mesh.getName(used[j]) + " overlap";
    }
  for (auto [i, dim] : llvm::enumerate(sharding.dims)) {
    std::string why =
        verifyCut(shape[i], dim, " of dimension " + std::to_string(i));
    if (!why.empty())
      return why;
  }
  return "";
}

std::string tp::toString(const TensorSharding &sharding, const Mesh &mesh) {
  std::string text = "[";
  for (auto [i, dim] : llvm::enumerate(sharding.dims)) {
    text += i ? ", {" : "{";
    text += mesh.getName(dim.axes);
    if (dim.grain != 1)
      text +=
          (dim.axes.empty() ? "grain " : " grain ") + std::to_string(dim.grain);
    if (dim.hasBlocks())
      text += " block " + std::to_string(dim.block) + " by " +
              std::to_string(dim.outer);
    if (dim.open)
      text += dim.axes.empty() && dim.grain == 1 ? "?" : ", ?";
    text += "}";
  }
  text += "]";
  if (sharding.isPartial())
    text += ", partial " + stringify(sharding.reduction).str() + " {" +
            mesh.getName(sharding.partial) + "}";
  return text;
}
