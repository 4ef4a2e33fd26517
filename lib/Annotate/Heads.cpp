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
#include "Weights.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
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

/// The weights behind one operand of an attention; that of a norm is
/// [heads, head size].
struct HeadProjection {
  Operation *weight = nullptr, *bias = nullptr, *norm = nullptr;
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

/// What is put together in each head, element by element or as parts of it; of
/// these one comes from the linear layer, and others, as the angles of a
/// rotation that is written out, may be the same for all heads.
static OperandRange getParts(Operation *op) {
  if (auto concat = dyn_cast<tensor::ConcatOp>(op))
    return concat.getInputs();
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    if (generic.getNumParallelLoops() == generic.getNumLoops())
      return generic.getInputs();
  return op->getOperands().take_front(0);
}

/// Back through what leaves the heads where they are (reshapes, rotary
/// embedding, norms of heads, casts, pairs that are taken apart) to the linear
/// layer.
static HeadProjection findProjection(Value value) {
  HeadProjection found;
  while (Operation *op = value ? value.getDefiningOp() : nullptr) {
    if (auto linear = dyn_cast<nn::LinearOp>(op)) {
      found.weight = findWeight(linear.getWeight());
      found.bias = findWeight(linear.getBias());
      return found;
    }
    if (OperandRange parts = getParts(op); !parts.empty()) {
      for (Value part : parts)
        if (HeadProjection of = findProjection(part); of.weight) {
          found.weight = of.weight;
          found.bias = of.bias;
          if (of.norm)
            found.norm = of.norm;
          break;
        }
      return found;
    }
    if (auto product = dyn_cast<arith::MulFOp>(op))
      if (auto each = product.getRhs().getDefiningOp<linalg::BroadcastOp>())
        found.norm = findWeight(each.getInput());
    bool isOpaque = op->getNumRegions() != 0 && !isa<linalg::TransposeOp>(op);
    if (op->getNumResults() != 1 || op->getNumOperands() == 0 || isOpaque ||
        !isa<RankedTensorType>(op->getOperand(0).getType()))
      return {};
    value = op->getOperand(0);
  }
  return {};
}

/// Forward through what leaves the heads where they are to the weight of the
/// output projection; null if there is none.
static Operation *findOutputWeight(Value value) {
  while (value.hasOneUse()) {
    Operation *user = *value.user_begin();
    if (auto linear = dyn_cast<nn::LinearOp>(user))
      return linear.getInput() == value ? findWeight(linear.getWeight())
                                        : nullptr;
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

/// Cut dimension 0 of the weight's annotation down to `count` shards.
static void shorten(Operation *weight, int64_t count, const Mesh &mesh) {
  ShardingAttr attr = getWeightSharding(weight);
  if (!attr)
    return;
  TensorSharding sharding = attr.toSharding(mesh);
  if (sharding.dims.empty() || getShardCount(sharding.dims[0].axes) <= count)
    return;
  auto parts = splitLeading(sharding.dims[0].axes, count);
  if (!parts)
    return;
  sharding.dims[0].axes = canonicalize(parts->first);
  setWeightSharding(weight, ShardingAttr::get(attr.getContext(), attr.getMesh(),
                                              mesh, sharding));
}

/// Heads of a cache lie where the rows of the projection that fills it do.
static void shardCache(Value pool, Operation *weight, const Mesh &mesh) {
  StateOp state = findState(pool);
  ShardingAttr attr = getWeightSharding(weight);
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
    if (ShardingAttr attr = getWeightSharding(findOutputWeight(heads->result)))
      degree = getShardCount(attr.toSharding(mesh).dims[1].axes);
    for (HeadProjection projection : {query, key, value})
      if (ShardingAttr attr = getWeightSharding(projection.weight)) {
        TensorSharding sharding = attr.toSharding(mesh);
        degree = std::max(degree, getShardCount(sharding.dims[0].axes));
      }
    if (!fits(degree, heads->queries, heads->keys)) {
      (void)refuse(op, degree, heads->queries, heads->keys);
      return WalkResult::interrupt();
    }
    if (degree > heads->keys)
      for (HeadProjection projection : {key, value}) {
        shorten(projection.weight, heads->keys, mesh);
        shorten(projection.bias, heads->keys, mesh);
        shorten(projection.norm, heads->keys, mesh);
      }
    shardCache(heads->keyPool, key.weight, mesh);
    shardCache(heads->valuePool, value.weight, mesh);
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
