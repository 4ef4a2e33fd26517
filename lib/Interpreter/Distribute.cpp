//===- Distribute.cpp - Global tensors to ranks and back ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rank's part is the box at its position along each dimension's axes, or one
// for each block of a dimension that is cut in blocks.
//
//===----------------------------------------------------------------------===//

#include "tp/Interpreter/Distribute.h"

#include "Engine.h"

using namespace mlir;

namespace tp::interp {

namespace {
/// A box that a rank has of the global tensor.
struct Box {
  SmallVector<int64_t> offsets, local, sizes;
};
} // namespace

/// The boxes of a rank: one, unless dimensions are cut in blocks. A rank with
/// nothing but padding has none.
static SmallVector<Box, 1> getBoxes(ArrayRef<int64_t> shape,
                                    const TensorSharding &sharding,
                                    const Mesh &mesh, int64_t rank) {
  SmallVector<Box, 1> boxes(1);
  for (auto [size, dim] : llvm::zip_equal(shape, sharding.dims)) {
    SmallVector<Box, 1> next;
    for (const ShardRange &range : getShardRanges(size, dim, rank, mesh))
      for (Box box : boxes) {
        box.offsets.push_back(range.begin);
        box.local.push_back(range.local);
        box.sizes.push_back(range.end - range.begin);
        next.push_back(std::move(box));
      }
    boxes = std::move(next);
  }
  return boxes;
}

static void poison(Tensor &tensor) {
  for (int64_t i = 0; i < tensor.getNumElements(); ++i)
    if (tensor.getElementType().isFloat())
      tensor.setFloat(i, std::numeric_limits<double>::quiet_NaN());
    else
      tensor.setInt(i, -1);
}

RankTensors distribute(const Tensor &global, const TensorSharding &sharding,
                       const Mesh &mesh, PaddingFill padding) {
  int64_t numRanks = mesh.getNumRanks();
  if (sharding.isFullyReplicated())
    return RankTensors(numRanks, global);
  SmallVector<int64_t> local = getLocalShape(global.getShape(), sharding);
  RankTensors parts;
  Tensor zero(local, global.getElementType());
  // Offsets of each rank's first box; empty for a rank with only padding.
  SmallVector<std::optional<SmallVector<int64_t>>> begins(numRanks);
  for (int64_t rank = 0; rank < numRanks; ++rank) {
    if (sharding.reduction == ReductionKind::Sum &&
        mesh.getIndexAlong(rank, sharding.partial) != 0) {
      parts.push_back(zero);
      continue;
    }
    SmallVector<Box, 1> boxes =
        getBoxes(global.getShape(), sharding, mesh, rank);
    begins[rank] = boxes.empty() ? SmallVector<int64_t>() : boxes[0].offsets;
    int64_t same = 0;
    while (same < rank && begins[same] != begins[rank])
      ++same;
    if (same < rank) {
      parts.push_back(parts[same]);
      continue;
    }
    Tensor part(local, global.getElementType());
    if (padding == PaddingFill::Poison)
      poison(part);
    for (const Box &box : boxes)
      part.copyBox(global, box.offsets, box.local, box.sizes);
    parts.push_back(part);
  }
  return parts;
}

void forEachPart(const RankTensors &locals, ArrayRef<int64_t> globalShape,
                 const TensorSharding &sharding, const Mesh &mesh,
                 function_ref<void(const Tensor &, int64_t, ArrayRef<int64_t>,
                                   ArrayRef<int64_t>, ArrayRef<int64_t>)>
                     visit) {
  for (ArrayRef<int64_t> group : mesh.getGroups(sharding.partial)) {
    Tensor part = locals[group[0]];
    bool isShared = llvm::all_of(
        group, [&](int64_t rank) { return locals[rank].sharesWith(part); });
    if (group.size() > 1 &&
        !(isShared && sharding.reduction != ReductionKind::Sum))
      part = combine(locals, group, sharding.reduction);
    for (const Box &box : getBoxes(globalShape, sharding, mesh, group[0]))
      visit(part, group[0], box.offsets, box.local, box.sizes);
  }
}

Tensor assemble(const RankTensors &locals, ArrayRef<int64_t> globalShape,
                const TensorSharding &sharding, const Mesh &mesh) {
  Tensor global(globalShape, locals[0].getElementType());
  SmallVector<SmallVector<int64_t>> seen;
  forEachPart(locals, globalShape, sharding, mesh,
              [&](const Tensor &part, int64_t, ArrayRef<int64_t> offsets,
                  ArrayRef<int64_t> local, ArrayRef<int64_t> sizes) {
                if (llvm::is_contained(seen, offsets))
                  return;
                seen.emplace_back(offsets);
                global.copyBox(part, local, offsets, sizes);
              });
  return global;
}

} // namespace tp::interp
