//===- BlockViews.h - Local values whose blocks are a dimension -*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rank's part of a dimension that is cut in blocks has a part of each of some
// blocks, all of one size. So the view of a tensor in which its blocks are a
// dimension is a view of the part, too: an expand_shape of the local value.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_PARTITION_BLOCKVIEWS_H
#define TP_LIB_PARTITION_BLOCKVIEWS_H

#include "mlir/IR/Builders.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Sharding/Reshard.h"

namespace tp {

/// Writes on `op`, which is none of the program's or has another body than it,
/// the rule that it has now. `shapes` has the factors of its tensors.
void setOwnRule(mlir::Operation *op, const ShardingRule &shapes);

/// A tensor and its view, in which each of the dimensions `split` is two.
struct BlockView {
  llvm::ArrayRef<unsigned> split;
  llvm::ArrayRef<int64_t> shape, viewShape;
};

/// The view of the local value of a tensor; `sharding` is that of the view.
mlir::Value expandBlocks(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value value, const BlockView &view,
                         ShardingAttr sharding, const Mesh &mesh);
/// The local value of the tensor of whose view this is the local value;
/// `sharding` is that of the tensor.
mlir::Value collapseBlocks(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value value, const BlockView &view,
                           ShardingAttr sharding, const Mesh &mesh);

} // namespace tp

#endif // TP_LIB_PARTITION_BLOCKVIEWS_H
