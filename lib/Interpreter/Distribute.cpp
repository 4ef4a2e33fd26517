//===- Distribute.cpp - Global tensors to ranks and back ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rank's part is the box at its position along each dimension's axes.
//
//===----------------------------------------------------------------------===//

#include "tp/Interpreter/Distribute.h"

#include "Engine.h"

using namespace mlir;

namespace tp::interp {

namespace {
/// Where a rank's part lies in the global tensor.
struct Box {
  SmallVector<int64_t> offsets, sizes;

  Box(ArrayRef<int64_t> shape, ArrayRef<int64_t> local,
      const TensorSharding &sharding, const Mesh &mesh, int64_t rank) {
    for (auto [dim, size] : llvm::enumerate(shape)) {
      int64_t position = mesh.getIndexAlong(rank, sharding.dims[dim].axes);
      int64_t offset = std::min(position * local[dim], size);
      offsets.push_back(offset);
      sizes.push_back(std::min(local[dim], size - offset));
    }
  }
};
} // namespace

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
  SmallVector<SmallVector<int64_t>> offsets(numRanks);
  for (int64_t rank = 0; rank < numRanks; ++rank) {
    if (sharding.reduction == ReductionKind::Sum &&
        mesh.getIndexAlong(rank, sharding.partial) != 0) {
      parts.push_back(zero);
      continue;
    }
    Box box(global.getShape(), local, sharding, mesh, rank);
    int64_t same = 0;
    while (same < rank && offsets[same] != box.offsets)
      ++same;
    offsets[rank] = box.offsets;
    if (same < rank) {
      parts.push_back(parts[same]);
      continue;
    }
    Tensor part(local, global.getElementType());
    if (padding == PaddingFill::Poison)
      poison(part);
    part.copyBox(global, box.offsets, SmallVector<int64_t>(local.size(), 0),
                 box.sizes);
    parts.push_back(part);
  }
  return parts;
}

void forEachPart(const RankTensors &locals, ArrayRef<int64_t> globalShape,
                 const TensorSharding &sharding, const Mesh &mesh,
                 function_ref<void(const Tensor &, int64_t, ArrayRef<int64_t>,
                                   ArrayRef<int64_t>)>
                     visit) {
  SmallVector<int64_t> local = getLocalShape(globalShape, sharding);
  for (ArrayRef<int64_t> group : mesh.getGroups(sharding.partial)) {
    Tensor part = locals[group[0]];
    bool isShared = llvm::all_of(
        group, [&](int64_t rank) { return locals[rank].sharesWith(part); });
    if (group.size() > 1 &&
        !(isShared && sharding.reduction != ReductionKind::Sum))
      part = combine(locals, group, sharding.reduction);
    Box box(globalShape, local, sharding, mesh, group[0]);
    visit(part, group[0], box.offsets, box.sizes);
  }
}

Tensor assemble(const RankTensors &locals, ArrayRef<int64_t> globalShape,
                const TensorSharding &sharding, const Mesh &mesh) {
  Tensor global(globalShape, locals[0].getElementType());
  SmallVector<int64_t> zero(globalShape.size(), 0);
  SmallVector<SmallVector<int64_t>> seen;
  forEachPart(locals, globalShape, sharding, mesh,
              [&](const Tensor &part, int64_t, ArrayRef<int64_t> offsets,
                  ArrayRef<int64_t> sizes) {
                if (llvm::is_contained(seen, offsets))
                  return;
                seen.emplace_back(offsets);
                global.copyBox(part, zero, offsets, sizes);
              });
  return global;
}

} // namespace tp::interp
