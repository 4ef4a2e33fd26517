//===- ShardingInterface.cpp - Operations that can be sharded ----------------
//-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Partition tells this to an operation that builds its per-rank form.
//
//===----------------------------------------------------------------------===//

#include "tp/Interfaces/ShardingInterface.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tp/Dialect/TP/IR/TPOps.h"

using namespace mlir;
using namespace tp;

#include "tp/Interfaces/ShardingInterface.cpp.inc"

int64_t LocalContext::getLocalSize(unsigned factor) const {
  return ::tp::getLocalSize(rule.factors[factor].size,
                            getFactorCut(rule, factors, factor));
}

Value LocalContext::getOffset(OpBuilder &builder, Location loc,
                              unsigned factor) const {
  if (!isSharded(factor))
    return arith::ConstantIndexOp::create(builder, loc, 0);
  Value rank = RankOp::create(
      builder, loc, builder.getIndexType(), meshSymbol,
      getAxisListAttr(builder.getContext(), mesh, factors.axes[factor]));
  Value size =
      arith::ConstantIndexOp::create(builder, loc, getLocalSize(factor));
  return arith::MulIOp::create(builder, loc, rank, size);
}

SmallVector<Value> tp::cloneLocal(Operation *op, OpBuilder &builder,
                                  ValueRange operands, TypeRange resultTypes) {
  // Not through a mapping of values: one global value may have two local
  // forms, x and its transpose in a product of x with itself.
  Operation *clone = builder.clone(*op);
  clone->setOperands(operands);
  clone->removeAttr(TPDialect::getShardingsAttrName());
  for (auto [result, type] : llvm::zip_equal(clone->getResults(), resultTypes))
    result.setType(type);
  return SmallVector<Value>(clone->getResults());
}
