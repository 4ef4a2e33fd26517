//===- MarkExperts.cpp - tp-mark-experts ----------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tells experts whose width is cut unevenly which of it is there. No mask of an
// operand could: what their second product sums is made inside of them. So they
// are given a one for each position, cut as the width is, whose padding is
// masked with zero as any other, and a zero leaves a position out.
//
//===----------------------------------------------------------------------===//

#include "OpAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/TP/IR/Phase.h"
#include "tp/Partition/Passes.h"

namespace tp {
#define GEN_PASS_DEF_MARKEXPERTS
#include "tp/Partition/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// Marks `op` if its width is padded on some rank.
template <typename Op>
static LogicalResult mark(Op op, const Mesh &mesh, FlatSymbolRefAttr symbol) {
  FailureOr<OpAnalysis> analysis = analyzeOp(op, mesh);
  if (failed(analysis))
    return failure();
  // The last dimension of the last matrix.
  unsigned down = op.getDownMutable().getOperandNumber();
  int64_t width = op.getDown().getType().getDimSize(2);
  DimSharding cut = analysis->getRequired(down).dims[2];
  if (op.getInside() || getPadding(width, cut) == 0)
    return success();
  OpBuilder builder(op);
  auto type = RankedTensorType::get({width}, builder.getI32Type());
  Value ones = arith::ConstantOp::create(
      builder, op.getLoc(),
      SplatElementsAttr::get(type, builder.getI32IntegerAttr(1)));
  TensorSharding sharding = TensorSharding::replicated(1);
  sharding.dims[0] = cut;
  setSharding(ones, ShardingAttr::get(op.getContext(), symbol, mesh, sharding));
  op.getInsideMutable().assign(ones);
  return success();
}

namespace {
struct MarkExperts : tp::impl::MarkExpertsBase<MarkExperts> {
  void runOnOperation() override {
    MeshOp meshOp = getMeshToPartition(getOperation());
    if (!meshOp || failed(expectGlobal(getOperation())))
      return signalPassFailure();
    Mesh mesh = meshOp.getMesh().toMesh();
    auto symbol = FlatSymbolRefAttr::get(meshOp.getSymNameAttr());
    WalkResult marked = getOperation().walk([&](Operation *op) {
      LogicalResult result = success();
      if (auto experts = dyn_cast<nn::ExpertsOp>(op))
        result = mark(experts, mesh, symbol);
      else if (auto backward = dyn_cast<nn::ExpertsBackwardOp>(op))
        result = mark(backward, mesh, symbol);
      return WalkResult(result);
    });
    if (marked.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
