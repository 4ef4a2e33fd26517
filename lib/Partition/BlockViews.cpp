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

/// The factors of the tensor and of the view.
static std::pair<TensorFactors, TensorFactors>
addFactors(ShardingRule &shapes, const BlockView &view) {
  TensorFactors narrow, wide;
  for (int64_t size : view.viewShape)
    wide.dims.push_back({shapes.addFactor(size)});
  for (const ReassociationIndices &group : getGroups(view)) {
    narrow.dims.emplace_back();
    for (int64_t dim : group)
      llvm::append_range(narrow.dims.back(), wide.dims[dim]);
  }
  return {narrow, wide};
}

Value tp::expandBlocks(OpBuilder &builder, Location loc, Value value,
                       const BlockView &view, ShardingAttr sharding,
                       const Mesh &mesh) {
  Type type =
      cast<RankedTensorType>(value.getType())
          .clone(getLocalShape(view.viewShape, sharding.toSharding(mesh)));
  auto op =
      tensor::ExpandShapeOp::create(builder, loc, type, value, getGroups(view));
  ShardingRule shapes;
  auto [narrow, wide] = addFactors(shapes, view);
  shapes.operands = {narrow};
  shapes.results = {wide};
  setSharding(op.getResult(), sharding);
  setOwnRule(op, shapes);
  return op.getResult();
}

Value tp::collapseBlocks(OpBuilder &builder, Location loc, Value value,
                         const BlockView &view, ShardingAttr sharding,
                         const Mesh &mesh) {
  Type type = cast<RankedTensorType>(value.getType())
                  .clone(getLocalShape(view.shape, sharding.toSharding(mesh)));
  auto op = tensor::CollapseShapeOp::create(builder, loc, type, value,
                                            getGroups(view));
  ShardingRule shapes;
  auto [narrow, wide] = addFactors(shapes, view);
  shapes.operands = {wide};
  shapes.results = {narrow};
  setSharding(op.getResult(), sharding);
  setOwnRule(op, shapes);
  return op.getResult();
}
