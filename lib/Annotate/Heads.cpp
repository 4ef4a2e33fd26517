//===- Heads.cpp - Cuts that must fall between heads ----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// N ranks cut nkv key and value heads a ways and the query heads of each b
// ways, N = a b (HeadSplits.h). Rows of query projections are blocks, one for
// each KV head, of which the first a shards have some each and the rest parts
// of each; rows of key and value projections are cut by the leading factor a of
// the axis alone, so that N / a neighbouring ranks hold copies. Of all a and b
// the cheapest are taken; where some heads are padding a remark says which
// these are. More ranks than query heads are refused before anything is
// compiled.
//
// Examples on "tp": 32 query and 8 KV heads on 16 ranks: q_proj stays [{"tp"},
// {}], k_proj and v_proj become [{"tp":(1)8}, {}]. 28 and 4 heads of 128 on 8:
// q_proj becomes [{"tp" grain 128 block 896 by 4}, {}], k_proj [{"tp":(1)4},
// {}]. 40 and 10 on 4: [{"tp" grain 512}, {}] and [{"tp" grain 128}, {}].
//
//===----------------------------------------------------------------------===//

#include "Heads.h"
#include "HeadSplits.h"
#include "Weights.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Operation.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Resolve/Provenance.h"
#include "llvm/ADT/SetVector.h"
#include <set>

using namespace mlir;
using namespace tp;

namespace {
/// An attention's operands, and of one to a cache the pools that its keys and
/// values, and scales of these, are written to.
struct AttentionHeads {
  Operation *op;
  Value query, key, value, result;
  int64_t queries, keys;
  SmallVector<Value, 2> keyPools, valuePools;
  Value sinks;
};

/// The weights behind one operand of an attention; that of a norm is
/// [heads, head size].
struct HeadProjection {
  Operation *weight = nullptr, *bias = nullptr, *norm = nullptr;
};

class HeadFitter {
public:
  HeadFitter(const Mesh &mesh, bool allowsPadding,
             llvm::SmallPtrSetImpl<Operation *> &fitted)
      : mesh(mesh), allowsPadding(allowsPadding), fitted(fitted) {}

  /// Cuts what feeds `op`, if it is an attention, and what it feeds.
  LogicalResult fit(Operation *op);
  /// The same for linear attention. Comes first, as convolutions before it are
  /// cut between heads.
  LogicalResult fitRecurrence(Operation *op);

private:
  /// Says once for each kind of heads how they are shared, if some are padding.
  void report(Operation *op, HeadCounts heads, ArrayRef<HeadSplit> splits);

  /// The cuts of heads over `axes`, of query and of KV heads. An error if there
  /// are none.
  FailureOr<std::pair<DimSharding, DimSharding>>
  chooseCuts(Operation *op, HeadCounts heads, const AxisList &axes);
  /// Cuts dimension `dim` of the weight, which has `numHeads` parts, as the
  /// heads are cut; leaves what has no annotation.
  void setCut(Operation *weight, unsigned dim, int64_t numHeads,
              const DimSharding &cut);

  const Mesh &mesh;
  bool allowsPadding;
  llvm::SmallPtrSetImpl<Operation *> &fitted;
  /// Query heads, KV heads and degrees that were reported.
  std::set<std::tuple<int64_t, int64_t, int64_t>> reported;
};
} // namespace

/// The rows that were written to a pool, and what they were written to.
static void findWrite(Value pool, Value &rows, SmallVectorImpl<Value> &pools) {
  if (auto write = pool.getDefiningOp<nn::CacheWriteOp>()) {
    rows = write.getInput();
    pools.push_back(write.getPool());
  } else if (auto write = pool.getDefiningOp<nn::QuantizedCacheWriteOp>()) {
    rows = write.getInput();
    pools.push_back(write.getPool());
    if (write.getResultScales())
      pools.push_back(write.getScales());
  }
}

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
                          {},
                          plain.getSinks()};
  }
  auto paged = dyn_cast<nn::PagedAttentionOp>(op);
  if (!paged)
    return std::nullopt;
  Value query = paged.getQuery(), keys = paged.getKeys();
  AttentionHeads heads{op,
                       query,
                       {},
                       {},
                       paged.getResult(),
                       sizeOf(query, 2),
                       sizeOf(keys, 1),
                       {},
                       {},
                       paged.getSinks()};
  findWrite(keys, heads.key, heads.keyPools);
  findWrite(paged.getValues(), heads.value, heads.valuePools);
  return heads;
}

/// The operands that are put together in each head, element by element or as
/// parts of it; one of these comes from the linear layer, and others, as the
/// angles of a rotation that is written out, may be the same for all heads.
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

//===----------------------------------------------------------------------===//
// Degrees
//===----------------------------------------------------------------------===//

static InFlightDiagnostic startError(Operation *op, HeadCounts heads,
                                     int64_t degree) {
  std::string where = toString(op->getLoc());
  InFlightDiagnostic diag = op->emitOpError();
  if (!where.empty())
    diag << "at " << where << ": ";
  diag << "degree " << degree << " does not fit " << heads.queries << " "
       << heads.query << "s and " << heads.keys << " " << heads.keysTogether
       << ": ";
  return diag;
}

static LogicalResult refuse(Operation *op, HeadCounts heads, int64_t degree,
                            bool allowsPadding) {
  InFlightDiagnostic diag = startError(op, heads, degree);
  auto splits = listHeadSplits(heads, degree);
  if (!splits.empty())
    diag << "at best " << describe(heads, splits.front())
         << "; --allow-padding compiles it";
  else
    diag << "some ranks would have none";
  diag << "; degrees that fit: ";
  SmallVector<int64_t> degrees;
  for (int64_t d = 1; d <= heads.queries; ++d) {
    auto others = listHeadSplits(heads, d);
    if (!others.empty() &&
        (allowsPadding || !isWasteful(heads, others.front())))
      degrees.push_back(d);
  }
  llvm::interleaveComma(degrees, diag);
  return diag;
}

void HeadFitter::report(Operation *op, HeadCounts heads,
                        ArrayRef<HeadSplit> splits) {
  const HeadSplit &best = splits.front();
  bool isEven = best.getPaddedQueries() == heads.queries &&
                best.outer * best.keys == heads.keys;
  if (isEven ||
      !reported.insert({heads.queries, heads.keys, best.getDegree()}).second)
    return;
  InFlightDiagnostic diag = emitRemark(op->getLoc());
  diag << heads.queries << " " << heads.query << "s and " << heads.keys << " "
       << heads.keysTogether << " over " << best.getDegree()
       << " ranks: " << describe(heads, best);
  auto others = splits.drop_front().take_front(2);
  diag << (others.empty() ? "" : "; next best: ");
  llvm::interleave(
      others, [&](const HeadSplit &split) { diag << describe(heads, split); },
      [&] { diag << "; "; });
}

//===----------------------------------------------------------------------===//
// Cuts
//===----------------------------------------------------------------------===//

void HeadFitter::setCut(Operation *weight, unsigned dim, int64_t numHeads,
                        const DimSharding &cut) {
  ShardingAttr attr = getWeightSharding(weight);
  if (!attr)
    return;
  TensorSharding sharding = attr.toSharding(mesh);
  ArrayRef<int64_t> shape = getWeightType(weight).getShape();
  if (dim >= sharding.dims.size() || sharding.dims[dim].axes.empty() ||
      shape[dim] % numHeads != 0)
    return;
  int64_t size = shape[dim] / numHeads;
  DimSharding &own = sharding.dims[dim];
  fitted.insert(weight);
  own = {cut.axes, cut.grain * size, own.open, cut.block * size, cut.outer};
  sharding.normalize(shape);
  // A norm with a row for each head, of which some ranks have none, follows
  // from what it is the norm of.
  if (own.grain == 1 && getShardCount(own.axes) > shape[dim])
    own = {{}, 1, /*open=*/true};
  setWeightSharding(weight, ShardingAttr::get(attr.getContext(), attr.getMesh(),
                                              mesh, sharding));
}

/// Heads of a cache lie where the rows of the projection that fills it do.
static void shardCache(Value pool, Operation *weight, const Mesh &mesh) {
  StateOp state = findState(pool);
  ShardingAttr attr = getWeightSharding(weight);
  if (!state || !attr || state.getShardingAttr())
    return;
  // [cells, heads, head size], or [cells, heads], perhaps of all layers.
  int64_t rank = cast<RankedTensorType>(state.getType()).getRank();
  int64_t own = cast<RankedTensorType>(pool.getType()).getRank();
  TensorSharding sharding = TensorSharding::replicated(rank);
  sharding.dims[rank - own + 1].axes = attr.toSharding(mesh).dims[0].axes;
  state.setShardingAttr(
      ShardingAttr::get(attr.getContext(), attr.getMesh(), mesh, sharding));
}

/// The axes that cut the heads: those of the weight that has most of them.
static AxisList findAxes(ArrayRef<HeadProjection> projections,
                         Operation *output, const Mesh &mesh) {
  AxisList axes;
  auto take = [&](Operation *weight, unsigned dim) {
    ShardingAttr attr = getWeightSharding(weight);
    if (!attr || attr.getDims().size() <= dim)
      return;
    AxisList own = canonicalize(attr.toSharding(mesh).dims[dim].axes);
    if (getShardCount(own) > getShardCount(axes))
      axes = own;
  };
  take(output, 1);
  for (const HeadProjection &projection : projections)
    take(projection.weight, 0);
  return axes;
}

FailureOr<std::pair<DimSharding, DimSharding>>
HeadFitter::chooseCuts(Operation *op, HeadCounts heads, const AxisList &axes) {
  int64_t degree = getShardCount(axes);
  SmallVector<HeadSplit> splits = listHeadSplits(heads, degree);
  // Axes are cut where their sizes allow.
  llvm::erase_if(splits, [&](const HeadSplit &split) {
    return !splitLeading(axes, split.outer);
  });
  if (splits.empty() || (!allowsPadding && isWasteful(heads, splits.front())))
    return refuse(op, heads, degree, allowsPadding);
  report(op, heads, splits);
  const HeadSplit &best = splits.front();
  AxisList leading = canonicalize(splitLeading(axes, best.outer)->first);
  return std::pair{DimSharding{axes, 1, false, heads.getGroup(), best.outer},
                   DimSharding{leading}};
}

//===----------------------------------------------------------------------===//
// Linear attention
//===----------------------------------------------------------------------===//

namespace {
/// The operands of a gated delta rule, and of one in a step its pool.
struct DeltaHeads {
  SmallVector<Value, 3> keys, values;
  Value result, pool;
  HeadCounts counts;
};
} // namespace

static std::optional<DeltaHeads> getDelta(Operation *op) {
  auto describe = [](auto rule, Value pool) {
    auto numHeads = [](Value value) {
      return cast<RankedTensorType>(value.getType()).getDimSize(2);
    };
    HeadCounts counts{numHeads(rule.getValue()), numHeads(rule.getKey()),
                      "value head", "key head", "key heads"};
    DeltaHeads heads{{rule.getQuery(), rule.getKey()},
                     {rule.getValue(), rule.getDecay()},
                     rule.getResult(),
                     pool,
                     counts};
    if (Value beta = rule.getBeta())
      heads.values.push_back(beta);
    return heads;
  };
  if (auto rule = dyn_cast<nn::GatedDeltaRuleOp>(op))
    return describe(rule, Value());
  if (auto rule = dyn_cast<nn::PagedGatedDeltaRuleOp>(op))
    return describe(rule, rule.getPool());
  return std::nullopt;
}

namespace {
/// Collects the weights that make heads of one kind (of linear layers and
/// convolutions, and vectors that loops on the way read), and the pools that
/// their convolutions read in a step.
struct HeadSources {
  llvm::SmallSetVector<Operation *, 8> weights;
  SmallVector<Value, 2> pools;

  void add(Value weight) {
    if (Operation *found = weight ? findWeight(weight) : nullptr)
      weights.insert(found);
  }
  /// Adds what `value` is made with.
  void addBehind(Value value);
};
} // namespace

void HeadSources::addBehind(Value value) {
  while (Operation *op = value ? value.getDefiningOp() : nullptr) {
    if (findWeight(value))
      return add(value);
    if (auto linear = dyn_cast<nn::LinearOp>(op)) {
      add(linear.getWeight());
      return add(linear.getBias());
    }
    if (auto conv = dyn_cast<nn::CausalConvOp>(op)) {
      add(conv.getWeight());
      add(conv.getBias());
    } else if (auto conv = dyn_cast<nn::PagedConvOp>(op)) {
      add(conv.getWeight());
      add(conv.getBias());
      pools.push_back(conv.getPool());
    } else if (OperandRange parts = getParts(op); !parts.empty()) {
      for (Value part : parts)
        addBehind(part);
      return;
    }
    bool isOpaque = op->getNumRegions() != 0 && !isa<linalg::TransposeOp>(op);
    if (op->getNumResults() != 1 || op->getNumOperands() == 0 || isOpaque ||
        !isa<RankedTensorType>(op->getOperand(0).getType()))
      return;
    value = op->getOperand(0);
  }
}

/// Forward through what leaves the heads where they are: adds what the result
/// is multiplied by, and returns the weight of the output projection, null if
/// there is none.
static Operation *addGates(Value value, HeadSources &sources) {
  while (value.hasOneUse()) {
    Operation *user = *value.user_begin();
    if (auto linear = dyn_cast<nn::LinearOp>(user))
      return linear.getInput() == value ? findWeight(linear.getWeight())
                                        : nullptr;
    OperandRange parts = getParts(user);
    if (user->getNumResults() != 1 ||
        (user->getNumRegions() != 0 && parts.empty()))
      return nullptr;
    if (isa<arith::MulFOp>(user))
      parts = user->getOperands();
    for (Value operand : parts)
      if (operand != value)
        sources.addBehind(operand);
    value = user->getResult(0);
  }
  return nullptr;
}

/// Cuts a pool [slots, channels, ...], perhaps of all layers, whose channels
/// are those of so many heads, as the heads are cut.
static void shardPool(Value pool, int64_t numHeads, const DimSharding &cut,
                      FlatSymbolRefAttr meshName, const Mesh &mesh) {
  StateOp state = findState(pool);
  if (!state || state.getShardingAttr())
    return;
  ArrayRef<int64_t> shape = cast<RankedTensorType>(state.getType()).getShape();
  int64_t own = cast<RankedTensorType>(pool.getType()).getRank();
  int64_t dim = int64_t(shape.size()) - own + 1, size = shape[dim] / numHeads;
  TensorSharding sharding = TensorSharding::replicated(shape.size());
  sharding.dims[dim] = {cut.axes, cut.grain * size, cut.open, cut.block * size,
                        cut.outer};
  sharding.normalize(shape);
  state.setShardingAttr(
      ShardingAttr::get(state.getContext(), meshName, mesh, sharding));
}

LogicalResult HeadFitter::fitRecurrence(Operation *op) {
  std::optional<DeltaHeads> heads = getDelta(op);
  if (!heads)
    return success();
  HeadSources keys, values;
  for (Value value : heads->keys)
    keys.addBehind(value);
  for (Value value : heads->values)
    values.addBehind(value);
  Operation *output = addGates(heads->result, values);
  SmallVector<HeadProjection> projections;
  for (Operation *weight : values.weights)
    projections.push_back({weight});
  AxisList axes = findAxes(projections, output, mesh);
  auto cuts = chooseCuts(op, heads->counts, axes);
  if (failed(cuts))
    return failure();
  auto [valueCut, keyCut] = *cuts;
  int64_t numValues = heads->counts.queries, numKeys = heads->counts.keys;
  for (Operation *weight : values.weights)
    setCut(weight, 0, numValues, valueCut);
  setCut(output, 1, numValues, valueCut);
  // A weight that holds rows of both is laid out by key heads.
  for (Operation *weight : keys.weights)
    setCut(weight, 0, numKeys, keyCut);
  ShardingAttr attr = getWeightSharding(output);
  if (!heads->pool || !attr)
    return success();
  values.pools.push_back(heads->pool);
  for (Value pool : values.pools)
    shardPool(pool, numValues, valueCut, attr.getMesh(), mesh);
  for (Value pool : keys.pools)
    shardPool(pool, numKeys, keyCut, attr.getMesh(), mesh);
  return success();
}

LogicalResult HeadFitter::fit(Operation *op) {
  // The pool of a convolution lies as the channels of its weight do.
  if (auto conv = dyn_cast<nn::PagedConvOp>(op))
    shardCache(conv.getPool(), findWeight(conv.getWeight()), mesh);
  std::optional<AttentionHeads> found = getAttention(op);
  if (!found)
    return success();
  HeadCounts heads{found->queries, found->keys};
  HeadProjection query = findProjection(found->query),
                 key = findProjection(found->key),
                 value = findProjection(found->value);
  Operation *output = findOutputWeight(found->result);
  AxisList axes = findAxes({query, key, value}, output, mesh);
  auto cuts = chooseCuts(op, heads, axes);
  if (failed(cuts))
    return failure();
  auto [queries, keys] = *cuts;
  for (Operation *weight : {query.weight, query.bias, query.norm})
    setCut(weight, 0, heads.queries, queries);
  setCut(output, 1, heads.queries, queries);
  if (Value sinks = found->sinks)
    setCut(findWeight(sinks), 0, heads.queries, queries);
  for (const HeadProjection &projection : {key, value})
    for (Operation *weight :
         {projection.weight, projection.bias, projection.norm})
      setCut(weight, 0, heads.keys, keys);
  for (Value pool : found->keyPools)
    shardCache(pool, key.weight, mesh);
  for (Value pool : found->valuePools)
    shardCache(pool, value.weight, mesh);
  return success();
}

LogicalResult tp::fitHeads(ModuleOp module, const Mesh &mesh,
                           bool allowsPadding,
                           llvm::SmallPtrSetImpl<Operation *> &fitted) {
  HeadFitter fitter(mesh, allowsPadding, fitted);
  WalkResult result = module.walk(
      [&](Operation *op) { return WalkResult(fitter.fitRecurrence(op)); });
  if (!result.wasInterrupted())
    result =
        module.walk([&](Operation *op) { return WalkResult(fitter.fit(op)); });
  return failure(result.wasInterrupted());
}
