//===- SplitSampling.cpp - tp-split-sampling ------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A token is chosen from a small record of each shard of the vocabulary instead
// of from gathered logits. The blocks that records are made of are the shards
// that propagation settled on, so that making them moves nothing.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/TP/IR/Phase.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Propagate/Passes.h"
#include "tp/Resolve/Provenance.h"
#include "tprt/abi.h"

namespace tp {
#define GEN_PASS_DEF_SPLITSAMPLING
#include "tp/Propagate/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// [0, count), each block on the rank that has it.
static Value numberBlocks(OpBuilder &builder, Location loc, int64_t count) {
  auto numbers = llvm::to_vector(llvm::seq<int32_t>(0, count));
  auto type = RankedTensorType::get({count}, builder.getI32Type());
  return arith::ConstantOp::create(
      builder, loc, DenseIntElementsAttr::get(type, ArrayRef(numbers)));
}

static void split(nn::SampleOp op, MeshOp meshOp) {
  Mesh mesh = meshOp.getMesh().toMesh();
  auto symbol = FlatSymbolRefAttr::get(meshOp.getSymNameAttr());
  auto write = [&](Value value, ArrayRef<AxisList> dims) {
    TensorSharding sharding = TensorSharding::replicated(dims.size());
    for (auto [dim, axes] : llvm::zip_equal(sharding.dims, dims))
      dim.axes = axes;
    setSharding(value, ShardingAttr::get(op.getContext(), symbol, mesh,
                                         std::move(sharding)));
  };
  TensorSharding logits = getSharding(op.getLogits()).toSharding(mesh);
  AxisList rows = getSharding(op.getToken()).toSharding(mesh).dims[0].axes;
  AxisList vocabulary = logits.dims[1].axes;
  ArrayRef<int64_t> shape = op.getLogits().getType().getShape();
  int64_t count = getShardCount(vocabulary);

  OpBuilder builder(op);
  Value blocks = numberBlocks(builder, op.getLoc(), count);
  write(blocks, {vocabulary});
  auto records = nn::SampleRecordsOp::create(
      builder, op.getLoc(),
      op.getLogits().getType().clone({count, shape[0], TPRT_RECORD_WORDS}),
      op.getLogits(), blocks, op.getPositions(), op.getSeed(),
      op.getTemperature(), shape[1]);
  write(records.getRecords(), {vocabulary, rows, {}});
  SmallVector<Because> because;
  for (Because entry : getBecause(op.getLogits()))
    if (entry.dim) {
      entry.dim = 1 - *entry.dim;
      because.push_back(std::move(entry));
    }
  setBecause(records.getRecords(), because);
  auto pick = nn::SamplePickOp::create(
      builder, op.getLoc(), op.getToken().getType(), op.getLogprob().getType(),
      records.getRecords(), op.getPositions(), op.getSeed(),
      op.getTemperature(), op.getTopK(), op.getTopP(), op.getMinP());
  pick->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op.replaceAllUsesWith(pick);
  op.erase();
}

namespace {
struct SplitSampling : tp::impl::SplitSamplingBase<SplitSampling> {
  void runOnOperation() override {
    if (failed(expectGlobal(getOperation())))
      return signalPassFailure();
    MeshOp mesh = getUniqueMesh(getOperation());
    SmallVector<nn::SampleOp> ops;
    getOperation().walk([&](nn::SampleOp op) { ops.push_back(op); });
    for (nn::SampleOp op : ops) {
      if (!mesh || !getSharding(op.getLogits()) ||
          !getSharding(op.getToken())) {
        op.emitOpError("expected shardings of its operands and results: run "
                       "tp-propagate first");
        return signalPassFailure();
      }
      split(op, mesh);
    }
  }
};
} // namespace
