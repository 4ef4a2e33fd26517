//===- Frame.cpp - Meshes and shardings by seed ---------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The generators of programs share this.
//
//===----------------------------------------------------------------------===//

#include "Frame.h"

using namespace mlir;

namespace tp::fuzz {

Frame::Frame(MLIRContext *context, uint64_t seed)
    : context(context), random(seed), rare(~seed), builder(context),
      loc(UnknownLoc::get(context)) {}

Frame::Shape Frame::shapeOf(Value value) {
  return Shape(cast<RankedTensorType>(value.getType()).getShape());
}

void Frame::makeMesh() {
  SmallVector<Mesh::Axis> axes;
  if (chance(55))
    axes.push_back({"tp", pick({1, 2, 2, 3, 4, 4, 5, 6, 8})});
  else
    switch (below(4)) {
    case 0:
      axes = {{"dp", 2}, {"tp", 2}};
      break;
    case 1:
      axes = {{"dp", 2}, {"tp", 4}};
      break;
    case 2:
      axes = {{"dp", 2}, {"tp", 3}};
      break;
    default:
      axes = {{"dp", 4}, {"tp", 2}};
    }
  int64_t ranks = 1;
  for (const Mesh::Axis &axis : axes)
    ranks *= axis.size;
  SmallVector<int64_t> order;
  if (chance(30)) {
    for (int64_t i = 0; i < ranks; ++i)
      order.insert(order.begin() + below(i + 1), i);
  }
  makeMesh(axes, order);
}

void Frame::makeMesh(ArrayRef<Mesh::Axis> axes, ArrayRef<int64_t> order) {
  SmallVector<MeshAxisAttr> attributes;
  for (const Mesh::Axis &axis : axes)
    attributes.push_back(MeshAxisAttr::get(
        context, builder.getStringAttr(axis.name), axis.size));
  mesh = Mesh(axes, order);
  auto op = MeshOp::create(builder, loc, builder.getStringAttr("mesh"),
                           MeshAttr::get(context, attributes, order));
  meshSymbol = FlatSymbolRefAttr::get(op.getSymNameAttr());
}

/// Cuts the dimension in blocks of some divisor of its size, by some of its
/// shards.
void Frame::cutBlocks(int64_t size, DimSharding &dim) {
  SmallVector<int64_t> blocks, outers;
  for (int64_t i = 2; i < size; ++i)
    if (size % i == 0)
      blocks.push_back(i);
  int64_t shards = getShardCount(dim.axes);
  for (int64_t i = 1; i < shards; ++i)
    if (shards % i == 0 && splitLeading(canonicalize(dim.axes), i))
      outers.push_back(i);
  if (blocks.empty() || outers.empty())
    return;
  dim.block = blocks[below(blocks.size())];
  dim.outer = outers[below(outers.size())];
}

ShardingAttr Frame::someSharding(ArrayRef<int64_t> shape, bool full) {
  if (shape.empty())
    return ShardingAttr();
  for (int attempt = 0; attempt < 4; ++attempt) {
    // The pieces to hand out: axes, or the two factors of one.
    AxisList pieces;
    for (unsigned axis = 0; axis < mesh.getNumAxes(); ++axis) {
      int64_t size = mesh.getAxis(axis).size;
      bool composite = size == 4 || size == 6 || size == 8;
      if (!composite || !chance(35)) {
        pieces.push_back(mesh.getWhole(axis));
        continue;
      }
      pieces.push_back({axis, 1, 2});
      pieces.push_back({axis, 2, size / 2});
    }
    TensorSharding sharding = TensorSharding::replicated(shape.size());
    for (const AxisRef &piece : pieces)
      if (chance(65))
        sharding.dims[below(shape.size())].axes.push_back(piece);
    for (auto [size, dim] : llvm::zip_equal(shape, sharding.dims)) {
      dim.open = chance(30);
      if (!dim.axes.empty() && chance(15))
        cutBlocks(size, dim);
    }
    sharding.normalize(shape);
    bool fits = verifySharding(shape, sharding, mesh).empty();
    for (auto [size, dim] : llvm::zip(shape, sharding.dims))
      fits &= !full || getShardCount(dim.axes) <= size;
    if (fits)
      return ShardingAttr::get(context, meshSymbol, mesh, sharding);
  }
  return ShardingAttr();
}

ShardingAttr Frame::replicated(int64_t rank) {
  return ShardingAttr::get(context, meshSymbol, mesh,
                           TensorSharding::replicated(rank));
}

} // namespace tp::fuzz
