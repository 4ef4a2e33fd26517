//===- BlockViews.cpp - Local values whose blocks are a dimension ---------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two reshapes, each with its sharding and its rule.
//
//===----------------------------------------------------------------------===//

#include "BlockViews.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Partition/Derive.h"

using namespace mlir;
using namespace tp;

void tp::setOwnRule(Operation *op, const ShardingRule &shapes) {
  std::string reason;
  std::optional<ShardingRule> rule = getGlobalRule(op, shapes, reason);
  assert(rule && "a form of an operation with a rule has one");
  op->setAttr(TPDialect::getRuleAttrName(),
              RuleAttr::get(op->getContext(), *rule));
}

/// The dimensions of the view that each of the tensor is.
static SmallVector<ReassociationIndices> getGroups(const BlockView &view) {
  SmallVector<ReassociationIndices> groups;
  int64_t next = 0;
  for (unsigned d = 0; d < view.shape.size(); ++d) {
    groups.push_back({next++});
    if (llvm::is_contained(view.split, d))
      groups.back().push_back(next++);
  }
  return groups;
}

/// One operation between the tensor and its view, which gives `shape`, with the
/// rule that both have.
template <typename ReshapeOp>
static Value reshape(OpBuilder &builder, Location loc, Value value,
                     const BlockView &view, ArrayRef<int64_t> shape,
                     ShardingAttr sharding, const Mesh &mesh) {
  SmallVector<ReassociationIndices> groups = getGroups(view);
  Type type = cast<RankedTensorType>(value.getType())
                  .clone(getLocalShape(shape, sharding.toSharding(mesh)));
  auto op = ReshapeOp::create(builder, loc, type, value, groups);
  ShardingRule shapes;
  TensorFactors narrow, wide;
  for (int64_t size : view.viewShape)
    wide.dims.push_back({shapes.addFactor(size)});
  for (const ReassociationIndices &group : groups) {
    narrow.dims.emplace_back();
    for (int64_t dim : group)
      llvm::append_range(narrow.dims.back(), wide.dims[dim]);
  }
  bool isExpansion = std::is_same_v<ReshapeOp, tensor::ExpandShapeOp>;
  shapes.operands = {isExpansion ? narrow : wide};
  shapes.results = {isExpansion ? wide : narrow};
  setSharding(op.getResult(), sharding);
  setOwnRule(op, shapes);
  return op.getResult();
}

Value tp::expandBlocks(OpBuilder &builder, Location loc, Value value,
                       const BlockView &view, ShardingAttr sharding,
                       const Mesh &mesh) {
  return reshape<tensor::ExpandShapeOp>(builder, loc, value, view,
                                        view.viewShape, sharding, mesh);
}

Value tp::collapseBlocks(OpBuilder &builder, Location loc, Value value,
                         const BlockView &view, ShardingAttr sharding,
                         const Mesh &mesh) {
  return reshape<tensor::CollapseShapeOp>(builder, loc, value, view, view.shape,
                                          sharding, mesh);
}
