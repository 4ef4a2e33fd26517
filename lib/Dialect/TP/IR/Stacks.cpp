//===- Stacks.cpp - More stacks of a repeated layer -----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The number of results of an operation is fixed, so that a loop with more of
// them is another one that takes over the body.
//
//===----------------------------------------------------------------------===//

#include "tp/Dialect/TP/IR/Stacks.h"

using namespace mlir;
using namespace tp;

RankedTensorType tp::getStackType(Type slice, int64_t count) {
  auto type = cast<RankedTensorType>(slice);
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin(), count);
  return type.clone(shape);
}

RepeatOp tp::stackResults(RepeatOp op, ValueRange values) {
  SmallVector<Type> types(op.getStackedResults().getTypes());
  for (Value value : values)
    types.push_back(getStackType(value.getType(), op.getCount()));
  OpBuilder before(op);
  auto wide = RepeatOp::create(before, op.getLoc(), op.getCount(),
                               op.getInits(), op.getStacked(), types,
                               op.getFirstIndex(), op.getReverse());
  wide->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  StringRef name = TPDialect::getShardingsAttrName();
  if (auto list = op->getAttrOfType<ArrayAttr>(name)) {
    SmallVector<Attribute> shardings(list.getValue());
    shardings.resize(wide->getNumResults(), before.getUnitAttr());
    wide->setAttr(name, before.getArrayAttr(shardings));
  }
  wide.getBody().takeBody(op.getBody());
  wide.getYield()->insertOperands(wide.getYield()->getNumOperands(), values);
  op->replaceAllUsesWith(wide.getResults().take_front(op->getNumResults()));
  return wide;
}
