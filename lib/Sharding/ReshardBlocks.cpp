//===- ReshardBlocks.cpp - Dimensions that are cut in blocks --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dimension of n elements in blocks of b is the two dimensions [n / b, b],
// each of them cut as a whole. So a reshard that changes such a dimension is
// planned on that view; where the other end is cut at places that the view does
// not know, the dimension is whole in between.
//
// Example: 28 heads in blocks of 7 by 4, to whole: [4 {"tp":(1)4}, 7
// {"tp":(4)2}] is gathered along both.
//
//===----------------------------------------------------------------------===//

#include "ReshardBlocks.h"
#include "llvm/ADT/STLExtras.h"

using namespace tp;
using namespace tp::detail;
using llvm::ArrayRef;
using llvm::SmallVector;

/// The cuts of [size / block, block] that are the cut of the dimension.
static std::optional<std::pair<DimSharding, DimSharding>>
split(int64_t size, int64_t block, const DimSharding &dim) {
  AxisList axes = canonicalize(dim.axes);
  int64_t shards = getShardCount(axes);
  if (axes.empty())
    return std::make_pair(DimSharding(), DimSharding());
  if (dim.block == block) {
    auto parts = splitLeading(axes, dim.outer);
    return std::make_pair(DimSharding{canonicalize(parts->first)},
                          DimSharding{canonicalize(parts->second), dim.grain});
  }
  if (dim.hasBlocks())
    return std::nullopt;
  if (dim.grain % block == 0)
    return std::make_pair(DimSharding{axes, dim.grain / block}, DimSharding());
  if (size / block % shards == 0)
    return std::make_pair(DimSharding{axes}, DimSharding());
  return std::nullopt;
}

bool tp::detail::hasSameBlocks(const DimSharding &a, const DimSharding &b) {
  return a.hasBlocks() && a.block == b.block && a.outer == b.outer &&
         a.grain == b.grain && canonicalize(a.axes) == canonicalize(b.axes);
}

/// The view of a tensor in which dimensions whose blocks change are two; false
/// where one end does not fit it.
static bool view(ArrayRef<int64_t> shape, const TensorSharding &from,
                 const TensorSharding &to, ReshardStage &stage) {
  auto rest = [](const TensorSharding &sharding) {
    TensorSharding result = sharding;
    result.dims.clear();
    return result;
  };
  stage.from = rest(from);
  stage.to = rest(to);
  for (auto [d, size] : llvm::enumerate(shape)) {
    const DimSharding &a = from.dims[d], &b = to.dims[d];
    bool isSame = hasSameBlocks(a, b);
    int64_t block = std::max(a.block, b.block);
    if (block == 0 || isSame) {
      stage.shape.push_back(size);
      stage.from.dims.push_back(a);
      stage.to.dims.push_back(b);
      continue;
    }
    auto before = split(size, block, a), after = split(size, block, b);
    if (!before || !after)
      return false;
    stage.split.push_back(d);
    stage.shape.append({size / block, block});
    stage.from.dims.append({before->first, before->second});
    stage.to.dims.append({after->first, after->second});
  }
  return true;
}

/// `sharding` with dimensions whole that are cut in blocks, and otherwise than
/// in `other`.
static TensorSharding gatherBlocks(const TensorSharding &sharding,
                                   const TensorSharding &other) {
  TensorSharding result = sharding;
  for (auto [dim, wanted] : llvm::zip_equal(result.dims, other.dims))
    if ((dim.hasBlocks() || wanted.hasBlocks()) && !hasSameBlocks(dim, wanted))
      dim = DimSharding();
  return result;
}

SmallVector<ReshardStage, 1> tp::detail::viewBlocks(ArrayRef<int64_t> shape,
                                                    const TensorSharding &from,
                                                    const TensorSharding &to) {
  SmallVector<ReshardStage, 1> stages;
  auto add = [&](const TensorSharding &before, const TensorSharding &after) {
    return view(shape, before, after, stages.emplace_back());
  };
  // Views are made of sums: a maximum is completed before.
  TensorSharding complete = from;
  bool isMaximum = from.isPartial() && from.reduction != ReductionKind::Sum;
  bool changes = gatherBlocks(from, to).dims != from.dims ||
                 gatherBlocks(to, from).dims != to.dims;
  if (isMaximum && changes) {
    complete.partial.clear();
    complete.reduction = ReductionKind::Sum;
    add(from, complete);
  }
  // A maximum is made after the views.
  TensorSharding last = to;
  isMaximum = to.isPartial() && to.reduction != ReductionKind::Sum;
  if (isMaximum && changes) {
    last.partial.clear();
    last.reduction = ReductionKind::Sum;
  }
  if (!add(complete, last)) {
    stages.pop_back();
    TensorSharding between = gatherBlocks(complete, last);
    add(complete, between);
    add(between, last);
  }
  if (isMaximum && changes)
    add(last, to);
  return stages;
}

/// The cut of a dimension whose blocks and what is in one are cut so.
static DimSharding join(const DimSharding &blocks, const DimSharding &inner,
                        int64_t block) {
  if (inner.axes.empty())
    return {blocks.axes, blocks.axes.empty() ? 1 : blocks.grain * block};
  DimSharding dim{blocks.axes, inner.grain, false, block,
                  getShardCount(blocks.axes)};
  dim.axes.append(inner.axes);
  return dim;
}

TensorSharding tp::joinView(const ReshardStage &stage,
                            ArrayRef<int64_t> shape) {
  TensorSharding sharding = stage.to;
  sharding.dims.clear();
  unsigned next = 0;
  for (unsigned d = 0; d < shape.size(); ++d) {
    if (!llvm::is_contained(stage.split, d)) {
      sharding.dims.push_back(stage.to.dims[next++]);
      continue;
    }
    sharding.dims.push_back(join(stage.to.dims[next], stage.to.dims[next + 1],
                                 stage.shape[next + 1]));
    next += 2;
  }
  sharding.normalize(shape);
  return sharding;
}

ReshardStage tp::splitBlocks(ArrayRef<int64_t> shape,
                             const TensorSharding &sharding, unsigned dim) {
  TensorSharding whole = sharding;
  whole.dims[dim] = DimSharding();
  ReshardStage stage = viewBlocks(shape, sharding, whole).front();
  stage.from.normalize(stage.shape);
  stage.to = stage.from;
  return stage;
}
