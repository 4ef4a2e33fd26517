//===- JoinCollectives.cpp - tp-join-collectives --------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The first pass of schedule: from here on a call of several collectives is one
// operation, which no other pass can tear apart.
//
//===----------------------------------------------------------------------===//

#include "tp/Dialect/TP/IR/Phase.h"
#include "tp/Schedule/Passes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Schedule/Views.h"

namespace tp {
#define GEN_PASS_DEF_JOINCOLLECTIVES
#include "tp/Schedule/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// The part of `joined` that begins at `offset`, as a view.
static Value getPart(OpBuilder &builder, Location loc, Value joined,
                     int64_t offset, RankedTensorType type) {
  int64_t size = type.getNumElements();
  auto flat = type.clone(ArrayRef<int64_t>{size});
  auto attr = [&](int64_t number) {
    return OpFoldResult(builder.getIndexAttr(number));
  };
  Value part = tensor::ExtractSliceOp::create(
      builder, loc, flat, joined, ArrayRef{attr(offset)}, ArrayRef{attr(size)},
      ArrayRef{attr(1)});
  if (type.getRank() == 0)
    return tensor::CollapseShapeOp::create(builder, loc, type, part,
                                           ArrayRef<ReassociationIndices>());
  if (type.getRank() == 1)
    return part;
  ReassociationIndices all;
  llvm::append_range(all, llvm::seq<int64_t>(0, type.getRank()));
  return tensor::ExpandShapeOp::create(builder, loc, type, part, ArrayRef{all});
}

/// True if all that `call` reduces are states that lie one behind the other, so
/// that it can be done there.
static bool isInPlace(ArrayRef<CollectiveOpInterface> call) {
  StateOp before;
  for (CollectiveOpInterface op : call) {
    StateOp state = getReplacedState(op->getOperand(0));
    if (!state || (before && !liesBehind(state, before)))
      return false;
    before = state;
  }
  return true;
}

static void join(ArrayRef<CollectiveOpInterface> call, bool inPlace) {
  CollectiveOpInterface first = call.front();
  OpBuilder builder(first);
  Location loc = first->getLoc();
  auto inputs = llvm::map_to_vector(
      call, [](CollectiveOpInterface op) { return op->getOperand(0); });
  auto joined = JoinOp::create(builder, loc, inputs, inPlace);
  StepAttrs attrs;
  attrs.reduction = first.getReductionName();
  attrs.mesh = first.getGroupMesh();
  attrs.axes = first.getGroupAxes();
  attrs.ledger = getCallEntry(call);
  Operation *one = createStep(builder, loc, first.getRow().kind,
                              joined.getType(), joined.getResult(), attrs);
  for (auto [op, offset] : llvm::zip(call, joined.getOffsets())) {
    Value result = op->getResult(0);
    result.replaceAllUsesWith(
        getPart(builder, op->getLoc(), one->getResult(0), offset,
                cast<RankedTensorType>(result.getType())));
  }
  for (CollectiveOpInterface op : call)
    op->erase();
}

namespace {
struct JoinCollectivesPass
    : tp::impl::JoinCollectivesBase<JoinCollectivesPass> {
  void runOnOperation() override {
    if (failed(expectPerRank(getOperation())))
      return signalPassFailure();
    SmallVector<SmallVector<CollectiveOpInterface>> calls;
    getOperation().walk([&](CollectiveOpInterface op) {
      if (beginsCall(op))
        calls.push_back(getCall(op));
    });
    for (ArrayRef<CollectiveOpInterface> call : calls) {
      if (call.size() < 2)
        continue;
      join(call, isInPlace(call));
      numJoined += call.size() - 1;
    }
  }
};
} // namespace
