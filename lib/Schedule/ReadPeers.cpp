//===- ReadPeers.cpp - Sums of addends where they lie ---------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Passes.td. The sum is an element-wise operation like any other: what it
// shares a kernel with is for tp-form-kernels to find.
//
//===----------------------------------------------------------------------===//

#include "tp/Cost/CostModel.h"
#include "tp/Dialect/NN/IR/Emitter.h"
#include "tp/Schedule/Buffers.h"
#include "tp/Schedule/Passes.h"
#include "tp/Schedule/RowKernels.h"
#include "tp/Support/Bytes.h"
#include "tprt/units.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace tp {
#define GEN_PASS_DEF_READPEERS
#include "tp/Schedule/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// Why the runtime must compute `op`; empty if a kernel may add up instead.
static std::string findObstacle(AllReduceOp op) {
  if (op.getReduction() != stringify(ReductionKind::Sum))
    return "it is a " + op.getReduction().str() + " and no sum";
  if (op.getInput().getDefiningOp<JoinOp>())
    return "it is one call for several";
  Type element = getElementTypeOrSelf(op.getType());
  if (!isa<Float32Type, BFloat16Type, Float16Type>(element) &&
      !element.isSignlessInteger(8) && !element.isSignlessInteger(32) &&
      !element.isSignlessInteger(64))
    return "its elements are no numbers of a kernel";
  if (cast<RankedTensorType>(op.getType()).getRank() == 0)
    return "it is one number";
  return "";
}

/// The sum in the group's order. Floats narrower than f32 are added in f32 and
/// rounded once.
static Value addUp(OpBuilder &builder, Location loc, ValueRange addends) {
  auto type = cast<RankedTensorType>(addends.front().getType());
  Type element = type.getElementType();
  bool isNarrow = isa<BFloat16Type, Float16Type>(element);
  auto emitter = nn::Emitter::inType(builder, loc,
                                     isNarrow ? builder.getF32Type() : element);
  Value sum = emitter.mapEach(type, addends, [](nn::Scalar &e, ValueRange v) {
    Value total = v.front();
    for (Value addend : v.drop_front())
      total = e.add(total, addend);
    return total;
  });
  sum.getDefiningOp()->setAttr(originAttrName, builder.getStringAttr("sum"));
  return sum;
}

namespace {
struct ReadPeersPass : tp::impl::ReadPeersBase<ReadPeersPass> {
  using ReadPeersBase::ReadPeersBase;

  void runOnOperation() override {
    if (form == SumForm::Library)
      return;
    bool readsPeers = target->getTraits().readsPeers;
    for (AllReduceOp op : collect()) {
      std::string reason = readsPeers
                               ? findObstacle(op)
                               : "kernels of " + target->getText().str() +
                                     " cannot read other ranks' memory";
      MeshOp mesh = lookupMesh(op, op.getMeshAttr());
      int64_t ranks =
          getGroupSize(cast<CollectiveOpInterface>(op.getOperation()),
                       mesh.getMesh().toMesh());
      if (reason.empty() && form == SumForm::Auto)
        reason = findLoss(op, ranks);
      if (reason.empty())
        replace(op, ranks);
      else
        op->setAttr(libraryAttrName, StringAttr::get(&getContext(), reason));
    }
  }

  SmallVector<AllReduceOp> collect() {
    SmallVector<AllReduceOp> found;
    getOperation().walk([&](AllReduceOp op) { found.push_back(op); });
    return found;
  }

  /// The reason that the cost model has against it.
  std::string findLoss(AllReduceOp op, int64_t ranks) {
    int64_t bytes = getTensorBytes(cast<RankedTensorType>(op.getType()));
    if (link &&
        CostModel(*link, lookupMesh(op, op.getMeshAttr()).getMesh().toMesh())
            .getSpan(op)
            .leavesNode())
      return "its ranks are on several nodes";
    if (op->hasAttr(partAttrName))
      return "its parts run beside products";
    if (mostBytes > 0 && bytes >= mostBytes)
      return "it has " + tprt::formatBytes(mostBytes) +
             " or more, and can run beside other work";
    SharedSum seconds = getSharedSum(ranks, bytes);
    if (seconds.peers <= seconds.library)
      return "";
    return "kernels of " + std::to_string(ranks) + " ranks that read " +
           tprt::formatBytes(bytes) + " of each would take " +
           tprt::formatSeconds(seconds.peers) + ", and a call takes " +
           tprt::formatSeconds(seconds.library);
  }

  void replace(AllReduceOp op, int64_t ranks) {
    OpBuilder builder(op);
    auto peers = PeersOp::create(
        builder, op.getLoc(), SmallVector<Type>(ranks, op.getType()),
        op.getInput(), op.getReductionAttr(), op.getMeshAttr(), op.getAxes(),
        op.getFromAttr(), op.getToAttr(), op.getLedgerAttr());
    peers->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    op.replaceAllUsesWith(addUp(builder, op.getLoc(), peers.getAddends()));
    op.erase();
    ++numPeer;
  }
};
} // namespace
