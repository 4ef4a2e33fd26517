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
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Operation.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Resolve/Provenance.h"

using namespace mlir;
using namespace tp;

namespace {
/// An attention's operands, and of one to a cache the pools that its keys and
/// values are written to.
struct AttentionHeads {
  Operation *op;
  Value query, key, value, result;
  int64_t queries, keys;
  Value keyPool, valuePool;
};

/// The parameters behind one operand of an attention.
struct HeadProjection {
  ParameterOp weight, bias;
};
} // namespace

static std::optional<AttentionHeads> getAttention(Operation *op) {
  auto sizeOf = [](Value value, unsigned dim) {
    return cast<RankedTensorType>(value.getType()).getDimSize(dim);
  };
  if (auto plain = dyn_cast<nn::AttentionOp>(op)) {
    Value query = plain.getQuery(), key = plain.getKey();
    return AttentionHeads{op,
                          query,
                          key,
                          plain.getValue(),
                          plain.getResult(),
                          sizeOf(query, 2),
                          sizeOf(key, 2),
                          {},
                          {}};
  }
  auto paged = dyn_cast<nn::PagedAttentionOp>(op);
  if (!paged)
    return std::nullopt;
  Value query = paged.getQuery(), keys = paged.getKeys();
  AttentionHeads heads{
      op, query, {}, {}, paged.getResult(), sizeOf(query, 2), sizeOf(keys, 1),
      {}, {}};
  if (auto write = keys.getDefiningOp<nn::CacheWriteOp>()) {
    heads.key = write.getInput();
    heads.keyPool = write.getPool();
  }
  if (auto write = paged.getValues().getDefiningOp<nn::CacheWriteOp>()) {
    heads.value = write.getInput();
    heads.valuePool = write.getPool();
  }
  return heads;
}

static ParameterOp getParameter(Value value) {
  return value ? value.getDefiningOp<ParameterOp>() : ParameterOp();
}

/// Back through what leaves the heads where they are (reshapes, rotary
/// embedding, norms of heads, casts) to the linear layer.
static HeadProjection findProjection(Value value) {
  while (Operation *op = value ? value.getDefiningOp() : nullptr) {
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

static LogicalResult refuse(Operation *op, int64_t degree, int64_t queries,
                            int64_t keys) {
  std::string where = toString(op->getLoc());
  InFlightDiagnostic diag = op->emitOpError();
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

/// The state whose element, or layer, `pool` is; null if it is none.
static StateOp findState(Value pool) {
  auto argument = dyn_cast_or_null<BlockArgument>(pool);
  while (argument) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto function = dyn_cast<func::FuncOp>(parent)) {
      FlatSymbolRefAttr symbol = getArgState(function, argument.getArgNumber());
      return symbol ? lookupState(function, symbol) : StateOp();
    }
    auto repeat = dyn_cast<RepeatOp>(parent);
    if (!repeat || !llvm::is_contained(repeat.getStackedArgs(), argument))
      return {};
    unsigned index =
        argument.getArgNumber() - 1 - unsigned(repeat.getInits().size());
    argument = dyn_cast<BlockArgument>(repeat.getStacked()[index]);
  }
  return {};
}

/// Heads of a cache lie where the rows of the projection that fills it do.
static void shardCache(Value pool, ParameterOp weight, const Mesh &mesh) {
  StateOp state = findState(pool);
  ShardingAttr attr = weight ? getSharding(weight.getResult()) : ShardingAttr();
  if (!state || !attr || state.getShardingAttr())
    return;
  // [cells, heads, head size], perhaps of all layers.
  int64_t rank = cast<RankedTensorType>(state.getType()).getRank();
  TensorSharding sharding = TensorSharding::replicated(rank);
  sharding.dims[rank - 2].axes = attr.toSharding(mesh).dims[0].axes;
  state.setShardingAttr(
      ShardingAttr::get(attr.getContext(), attr.getMesh(), mesh, sharding));
}

LogicalResult tp::fitHeads(ModuleOp module, const Mesh &mesh) {
  WalkResult result = module.walk([&](Operation *op) {
    std::optional<AttentionHeads> heads = getAttention(op);
    if (!heads)
      return WalkResult::advance();
    HeadProjection query = findProjection(heads->query),
                   key = findProjection(heads->key),
                   value = findProjection(heads->value);
    int64_t degree = 1;
    if (ParameterOp weight = findOutputWeight(heads->result))
      if (ShardingAttr attr = getSharding(weight.getResult()))
        degree = getShardCount(attr.toSharding(mesh).dims[1].axes);
    for (HeadProjection projection : {query, key, value}) {
      if (!projection.weight)
        continue;
      if (ShardingAttr attr = getSharding(projection.weight.getResult())) {
        TensorSharding sharding = attr.toSharding(mesh);
        degree = std::max(degree, getShardCount(sharding.dims[0].axes));
      }
    }
    if (!fits(degree, heads->queries, heads->keys)) {
      (void)refuse(op, degree, heads->queries, heads->keys);
      return WalkResult::interrupt();
    }
    if (degree > heads->keys)
      for (HeadProjection projection : {key, value}) {
        shorten(projection.weight, heads->keys, mesh);
        shorten(projection.bias, heads->keys, mesh);
      }
    shardCache(heads->keyPool, key.weight, mesh);
    shardCache(heads->valuePool, value.weight, mesh);
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
