//===- StepCache.cpp - What a step keeps of earlier tokens ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations that mix positions, and their forms with a cache: attention writes
// keys and values into cells of pages and reads those of its row, a short
// convolution keeps the last inputs of every page, and linear attention its
// state behind every page (docs/Generation.md).
//
//===----------------------------------------------------------------------===//

#include "StepWriter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace tp {

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

static Value join(OpBuilder &builder, Location loc, Value value,
                  ArrayRef<ReassociationIndices> groups) {
  return tensor::CollapseShapeOp::create(builder, loc, value, groups);
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

/// Returns the type in which the cache holds what attention has as `element`.
static Type getCacheElement(const GenerateOptions &options, Type element) {
  MLIRContext *context = element.getContext();
  if (!options.cacheType)
    return element;
  switch (*options.cacheType) {
  case CacheType::F32:
    return Float32Type::get(context);
  case CacheType::BF16:
    return BFloat16Type::get(context);
  case CacheType::F16:
    return Float16Type::get(context);
  case CacheType::FP8:
  case CacheType::Int8:
    return IntegerType::get(context, 8);
  }
  llvm_unreachable("unknown type of a cache");
}

/// Returns the names and types of an operation's states, without the loops that
/// it is in.
static SmallVector<std::pair<StringRef, RankedTensorType>>
getStateTypes(Operation *op, const GenerateOptions &options,
              bool hasCellScales) {
  Type f32 = Float32Type::get(op->getContext());
  int64_t cells = options.getCells(), pages = options.getPages();
  if (auto attention = dyn_cast<nn::AttentionOp>(op)) {
    SmallVector<std::pair<StringRef, RankedTensorType>> types;
    auto add = [&](StringRef name, Value value) {
      auto type = cast<RankedTensorType>(value.getType());
      types.emplace_back(name,
                         RankedTensorType::get(
                             {cells, type.getDimSize(2), type.getDimSize(3)},
                             getCacheElement(options, type.getElementType())));
    };
    add("keys", attention.getKey());
    add("values", attention.getValue());
    if (options.isCacheQuantized() && hasCellScales)
      for (auto [name, value] :
           {std::pair("key_scales", attention.getKey()),
            std::pair("value_scales", attention.getValue())})
        types.emplace_back(
            name, RankedTensorType::get({cells, shapeOf(value)[2]}, f32));
    return types;
  }
  if (auto conv = dyn_cast<nn::CausalConvOp>(op)) {
    int64_t kept = std::min(shapeOf(conv.getWeight())[2] - 1, options.page);
    auto type = cast<RankedTensorType>(conv.getInput().getType());
    return {{"conv", type.clone({pages * kept, type.getDimSize(2), 1})}};
  }
  auto delta = cast<nn::GatedDeltaRuleOp>(op);
  ArrayRef<int64_t> key = shapeOf(delta.getKey()),
                    value = shapeOf(delta.getValue());
  return {{"linear_states",
           RankedTensorType::get({pages, value[2], key[3] * value[3]}, f32)}};
}

CacheStates chooseStates(func::FuncOp source, const TokenDims &dims,
                         const GenerateOptions &options, bool hasCellScales) {
  CacheStates states;
  llvm::StringMap<int64_t> numbers;
  source.walk<WalkOrder::PreOrder>([&](Operation *op) {
    const TokenOp *entry = dims.findOp(op);
    if (!entry || !entry->isMixing)
      return;
    for (auto [name, type] : getStateTypes(op, options, hasCellScales)) {
      SmallVector<int64_t> shape;
      for (auto loop = op->getParentOfType<RepeatOp>(); loop;
           loop = loop->getParentOfType<RepeatOp>())
        shape.insert(shape.begin(), loop.getCount());
      llvm::append_range(shape, type.getShape());
      int64_t number = numbers[name]++;
      states[op].push_back(
          {number == 0 ? name.str() : (name + "_" + Twine(number)).str(),
           type.clone(shape)});
    }
  });
  return states;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

Value StepWriter::writeQuantized(nn::AttentionOp op, Value rowsOf,
                                 unsigned which) {
  MLIRContext *context = builder.getContext();
  SmallVector<Value, 4> &own = pools[op];
  Type element = *options.cacheType == CacheType::Int8
                     ? Type(IntegerType::get(context, 8))
                     : Type(Float8E4M3FNType::get(context));
  Value scales = plan.hasCellScales
                     ? own[2 + which]
                     : plan.scales(builder, op, which, shapeOf(rowsOf)[1]);
  auto write = nn::QuantizedCacheWriteOp::create(
      builder, op.getLoc(), own[which].getType(),
      plan.hasCellScales ? scales.getType() : Type(), rowsOf, cells, own[which],
      scales, TypeAttr::get(element));
  own[which] = write.getResult();
  if (plan.hasCellScales)
    scales = own[2 + which] = write.getResultScales();
  return scales;
}

Value StepWriter::writeCells(nn::AttentionOp op, Value x, unsigned which) {
  Location loc = op.getLoc();
  Value rowsOf = join(builder, loc, x, {{0, 1}, {2}, {3}});
  if (options.isCacheQuantized())
    return writeQuantized(op, rowsOf, which);
  Value &pool = pools[op][which];
  auto type = cast<RankedTensorType>(rowsOf.getType());
  Type from = type.getElementType();
  Type to = cast<RankedTensorType>(pool.getType()).getElementType();
  if (from != to && !from.isF32())
    rowsOf = arith::ExtFOp::create(builder, loc,
                                   type.clone(builder.getF32Type()), rowsOf);
  if (from != to && !to.isF32())
    rowsOf = arith::TruncFOp::create(builder, loc, type.clone(to), rowsOf);
  pool = nn::CacheWriteOp::create(builder, loc, pool.getType(), rowsOf, cells,
                                  pool);
  return {};
}

/// Returns what is added to the scores of each position, [heads, P * page].
FailureOr<Value> StepWriter::getBias(nn::AttentionOp op) {
  Value bias = op.getBias();
  if (!bias)
    return Value();
  DimParts dims = getPlain(shapeOf(bias));
  dims[1].front().role = Role::Query;
  dims[2].front().role = Role::Key;
  // A sink has a score of its own.
  ignoresShifts = !op.getSinks();
  FailureOr<Value> placedBias = place(bias, dims);
  if (failed(placedBias))
    return failure();
  Value joined = join(builder, op.getLoc(), *placedBias, {{0, 1}, {2}});
  int64_t heads = shapeOf(op.getQuery())[2];
  auto type = cast<RankedTensorType>(joined.getType());
  if (type.getDimSize(0) == heads)
    return joined;
  // One for all heads.
  Location loc = op.getLoc();
  Value empty = tensor::EmptyOp::create(
      builder, loc, ArrayRef<int64_t>{heads, type.getDimSize(1)},
      type.getElementType());
  joined = join(builder, loc, joined, {{0, 1}});
  return linalg::BroadcastOp::create(builder, loc, joined, empty,
                                     ArrayRef<int64_t>{0})
      ->getResult(0);
}

LogicalResult StepWriter::writeAttention(nn::AttentionOp op) {
  FailureOr<Value> bias = getBias(op);
  if (failed(bias))
    return failure();
  Value sinks;
  if (op.getSinks()) {
    FailureOr<Value> copied = copy(op.getSinks());
    if (failed(copied))
      return failure();
    sinks = *copied;
  }
  if (Value mask = op.getMask(); mask && !isa<BlockArgument>(mask))
    return refuse(op) << "has a mask that is computed; tokens of a step are "
                         "not padded, so that an argument alone is left out";
  Value query = values.at(op.getQuery());
  Value keyScales = writeCells(op, values.at(op.getKey()), 0);
  Value valueScales = writeCells(op, values.at(op.getValue()), 1);
  SmallVector<Value, 4> &own = pools[op];
  TypeAttr element;
  if (auto write = own[0].getDefiningOp<nn::QuantizedCacheWriteOp>())
    element = write.getElementAttr();
  IntegerAttr window;
  if (op.getWindow() && int64_t(*op.getWindow()) < options.context)
    window = op.getWindowAttr();
  values[op.getResult()] = nn::PagedAttentionOp::create(
      builder, op.getLoc(),
      getType(op.getResult(), *plan.dims.find(op.getResult())), query, own[0],
      own[1], rows, positions, table, keyScales, valueScales, *bias, sinks,
      builder.getI64IntegerAttr(options.page), op.getScaleAttr(), window,
      op.getSoftCapAttr(), element);
  return success();
}

//===----------------------------------------------------------------------===//
// Convolutions and linear attention
//===----------------------------------------------------------------------===//

std::pair<Value, Value> StepWriter::getConvPlaces(int64_t earlier) {
  auto known = convPlaces.find(earlier);
  if (known != convPlaces.end())
    return known->second;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfter(lastPlaces);
  auto numbers = [&](ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getI32Type());
  };
  auto places = nn::ConvPlacesOp::create(
      builder, cells.getLoc(), numbers(tokens), numbers({tokens, earlier}),
      rows, positions, cells, table, builder.getI64IntegerAttr(options.page));
  lastPlaces = places;
  return convPlaces[earlier] = {places.getSlots(), places.getSources()};
}

LogicalResult StepWriter::writeConv(nn::CausalConvOp op) {
  Location loc = op.getLoc();
  FailureOr<Value> weight = copy(op.getWeight());
  FailureOr<Value> bias = op.getBias() ? copy(op.getBias()) : Value();
  if (failed(weight) || failed(bias))
    return failure();
  auto [slots, sources] = getConvPlaces(shapeOf(*weight)[2] - 1);
  Value &pool = pools[op].front();
  Value x = values.at(op.getInput());
  values[op.getResult()] = nn::PagedConvOp::create(
      builder, loc, x.getType(), x, *weight, pool, sources, *bias);
  Value rowsOf = join(builder, loc, x, {{0, 1}, {2}});
  auto type = cast<RankedTensorType>(rowsOf.getType());
  rowsOf = tensor::ExpandShapeOp::create(
      builder, loc, type.clone({type.getDimSize(0), type.getDimSize(1), 1}),
      rowsOf, SmallVector<ReassociationIndices>{{0}, {1, 2}});
  pool = nn::CacheWriteOp::create(builder, loc, pool.getType(), rowsOf, slots,
                                  pool);
  return success();
}

LogicalResult StepWriter::writeDelta(nn::GatedDeltaRuleOp op) {
  auto [slots, sources] = getConvPlaces(1);
  Value &pool = pools[op].front();
  auto at = [&](Value value) { return value ? values.at(value) : Value(); };
  Value value = at(op.getValue());
  auto paged = nn::PagedGatedDeltaRuleOp::create(
      builder, op.getLoc(), value.getType(), pool.getType(), at(op.getQuery()),
      at(op.getKey()), value, at(op.getDecay()), pool, slots, sources,
      at(op.getBeta()));
  values[op.getResult()] = paged.getResult();
  pool = paged.getNextPool();
  return success();
}

LogicalResult StepWriter::writeMixing(Operation *op) {
  if (auto attention = dyn_cast<nn::AttentionOp>(op))
    return writeAttention(attention);
  if (auto conv = dyn_cast<nn::CausalConvOp>(op))
    return writeConv(conv);
  return writeDelta(cast<nn::GatedDeltaRuleOp>(op));
}

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

Value StepWriter::keepTokens(Location loc, Value routing) {
  auto type = cast<RankedTensorType>(routing.getType());
  unsigned rank = type.getRank();
  AffineMap all = builder.getMultiDimIdentityMap(rank);
  // Routing is [1, T, experts], or [T, experts].
  AffineMap token = AffineMap::get(rank, 0, builder.getAffineDimExpr(rank - 2));
  SmallVector<utils::IteratorType> loopsOf(rank, utils::IteratorType::parallel);
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  return linalg::GenericOp::create(
             builder, loc, type, ValueRange{routing, rows}, empty,
             {all, token, all}, loopsOf,
             [&](OpBuilder &b, Location l, ValueRange args) {
               Value none = arith::ConstantIntOp::create(b, l, 0, 32);
               Value isToken = arith::CmpIOp::create(
                   b, l, arith::CmpIPredicate::sge, args[1], none);
               Value zero = arith::ConstantOp::create(
                   b, l, b.getZeroAttr(type.getElementType()));
               Value kept =
                   arith::SelectOp::create(b, l, isToken, args[0], zero);
               linalg::YieldOp::create(b, l, kept);
             })
      .getResult(0);
}

} // namespace tp
