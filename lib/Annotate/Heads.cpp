//===- Heads.cpp - Cuts that must fall between heads ----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With N ranks on nq query heads, N must divide nq; with nkv key and value
// heads, N must divide nkv or nkv divide N, and in the second case each of the
// N/nkv neighbouring ranks with queries of one group holds a copy of its head:
// rank r has KV head floor(r nkv / N), which is the leading factor nkv of the
// axis. Other degrees are refused before anything is compiled.
//
// Example, 32 query and 8 KV heads at "tp" = 16: q_proj stays [{"tp"}, {}],
// k_proj and v_proj become [{"tp":(1)8}, {}].
//
//===----------------------------------------------------------------------===//

#include "Heads.h"
#include "mlir/IR/Operation.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Resolve/Provenance.h"

using namespace mlir;
using namespace tp;

/// The parameters behind one operand of an attention.
struct HeadProjection {
  ParameterOp weight, bias;
};

static ParameterOp getParameter(Value value) {
  return value ? value.getDefiningOp<ParameterOp>() : ParameterOp();
}

/// Back through what leaves the heads where they are (reshapes, rotary
/// embedding, norms of heads, casts) to the linear layer.
static HeadProjection findProjection(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto linear = dyn_cast<nn::LinearOp>(op))
      return {getParameter(linear.getWeight()), getParameter(linear.getBias())};
    if (op->getNumResults() != 1 || op->getNumOperands() == 0 ||
        op->getNumRegions() != 0 ||
        !isa<RankedTensorType>(op->getOperand(0).getType()))
      return {};
    value = op->getOperand(0);
  }
  return {};
}

/// Forward through what leaves the heads where they are to the weight of the
/// output projection; null if there is none.
static ParameterOp findOutputWeight(Value value) {
  while (value.hasOneUse()) {
    Operation *user = *value.user_begin();
    if (auto linear = dyn_cast<nn::LinearOp>(user))
      return linear.getInput() == value ? getParameter(linear.getWeight())
                                        : ParameterOp();
    if (user->getNumResults() != 1 || user->getNumRegions() != 0 ||
        user->getOperand(0) != value)
      return {};
    value = user->getResult(0);
  }
  return {};
}

static bool fits(int64_t degree, int64_t queries, int64_t keys) {
  return queries % degree == 0 && (keys % degree == 0 || degree % keys == 0);
}

static LogicalResult refuse(nn::AttentionOp op, int64_t degree, int64_t queries,
                            int64_t keys) {
  std::string where = toString(op.getLoc());
  InFlightDiagnostic diag = op.emitOpError();
  if (!where.empty())
    diag << "at " << where << ": ";
  diag << "degree " << degree << " does not fit " << queries
       << " query heads and " << keys << " key/value heads: ";
  if (queries % degree != 0)
    diag << degree << " does not divide " << queries;
  else
    diag << "neither of " << degree << " and " << keys << " divides the other";
  diag << "; degrees that fit: ";
  SmallVector<int64_t> degrees;
  for (int64_t d = 1; d <= queries; ++d)
    if (fits(d, queries, keys))
      degrees.push_back(d);
  llvm::interleaveComma(degrees, diag);
  return diag;
}

/// Cut dimension 0 of the parameter's annotation down to `count` shards.
static void shorten(ParameterOp parameter, int64_t count, const Mesh &mesh) {
  if (!parameter)
    return;
  ShardingAttr attr = getSharding(parameter.getResult());
  if (!attr)
    return;
  TensorSharding sharding = attr.toSharding(mesh);
  if (sharding.dims.empty() || getShardCount(sharding.dims[0].axes) <= count)
    return;
  auto parts = splitLeading(sharding.dims[0].axes, count);
  if (!parts)
    return;
  sharding.dims[0].axes = canonicalize(parts->first);
  setSharding(
      parameter.getResult(),
      ShardingAttr::get(attr.getContext(), attr.getMesh(), mesh, sharding));
}

LogicalResult tp::fitHeads(ModuleOp module, const Mesh &mesh) {
  WalkResult result = module.walk([&](nn::AttentionOp op) {
    HeadProjection projections[] = {findProjection(op.getQuery()),
                                    findProjection(op.getKey()),
                                    findProjection(op.getValue())};
    int64_t degree = 1;
    if (ParameterOp weight = findOutputWeight(op.getResult()))
      if (ShardingAttr attr = getSharding(weight.getResult()))
        degree = getShardCount(attr.toSharding(mesh).dims[1].axes);
    for (HeadProjection &projection : projections) {
      if (!projection.weight)
        continue;
      if (ShardingAttr attr = getSharding(projection.weight.getResult())) {
        TensorSharding sharding = attr.toSharding(mesh);
        degree = std::max(degree, getShardCount(sharding.dims[0].axes));
      }
    }
    auto heads = [](Value value) {
      return cast<RankedTensorType>(value.getType()).getDimSize(2);
    };
    int64_t queries = heads(op.getQuery()), keys = heads(op.getKey());
    if (!fits(degree, queries, keys)) {
      (void)refuse(op, degree, queries, keys);
      return WalkResult::interrupt();
    }
    if (degree > keys)
      for (unsigned i : {1, 2}) {
        shorten(projections[i].weight, keys, mesh);
        shorten(projections[i].bias, keys, mesh);
      }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
