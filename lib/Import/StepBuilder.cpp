//===- StepBuilder.cpp - What differs in a step of generation -------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A language model is emitted once for @main, on sequences from their first
// position, and once for each step, on tokens that go on with rows of a cache
// (docs/Generation.md). The families do not know which: they ask for tokens,
// positions, attention and logits here.
//
//===----------------------------------------------------------------------===//

#include "ModelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Import/ModelAttributes.h"

using namespace mlir;

namespace tp {

static Value join(OpBuilder &builder, Location loc, Value value,
                  ArrayRef<ReassociationIndices> groups) {
  return tensor::CollapseShapeOp::create(builder, loc, value, groups);
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

/// Returns the type of a cache of heads with so many elements; 0: of their
/// scales.
RankedTensorType ModelBuilder::getCacheType(int64_t layers, int64_t heads,
                                            int64_t size) const {
  const GenerateOptions &options = step->options;
  SmallVector<int64_t> shape{layers, options.getCells(), heads};
  if (size == 0)
    return RankedTensorType::get(shape, Float32Type::get(builder.getContext()));
  shape.push_back(size);
  return RankedTensorType::get(
      shape,
      options.isCacheQuantized()
          ? Type(IntegerType::get(builder.getContext(), 8))
          : getElementType(builder.getContext(), FloatKind(*options.cacheType)));
}

/// The inputs that convolutions of so many layers keep of every page
/// (nn.conv_places), in the type of the model: rounding them would change what
/// the plain program gives.
RankedTensorType ModelBuilder::getConvPoolType(int64_t layers,
                                               int64_t channels) const {
  const GenerateOptions &options = step->options;
  int64_t kept = std::min(config.conv->taps - 1, options.page);
  return type({layers, options.getPages() * kept, channels, 1});
}

/// The state of linear attention behind each page, of so many layers; always in
/// f32.
RankedTensorType ModelBuilder::getStatePoolType(int64_t layers) const {
  const LinearConfig &linear = *config.linear;
  return RankedTensorType::get({layers, step->options.getPages(),
                                linear.valueHeads, linear.getStateSize()},
                               Float32Type::get(builder.getContext()));
}

/// An argument that is the state `name`, which the first step declares.
Value ModelBuilder::addState(StringRef name, RankedTensorType type) {
  if (!module->lookupSymbol(name)) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module->getBody());
    StateOp::create(builder, at(name), name, type, ShardingAttr(),
                    /*ones=*/false, /*parameter=*/StringAttr(),
                    /*first=*/IntegerAttr(), ParameterSourceAttr(),
                    /*alternatives=*/ArrayAttr());
  }
  return addArgument(
      name, type,
      builder.getNamedAttr(TPDialect::getStateAttrName(),
                           FlatSymbolRefAttr::get(builder.getContext(), name)));
}

Value ModelBuilder::addNumbers(StringRef name, ArrayRef<int64_t> shape,
                               int64_t first, int64_t end) {
  return addArgument(
      name, RankedTensorType::get(shape, builder.getI32Type()),
      {builder.getNamedAttr(TPDialect::getNameAttrName(),
                            builder.getStringAttr(name)),
       builder.getNamedAttr(rangeAttrName,
                            builder.getDenseI64ArrayAttr({first, end}))});
}

/// A number for each row; one that is not given is `defaultValue`.
Value ModelBuilder::addSetting(StringRef name, Type type,
                               StringRef defaultValue) {
  auto text = [&](StringRef key, StringRef value) {
    return builder.getNamedAttr(key, builder.getStringAttr(value));
  };
  return addArgument(name, RankedTensorType::get({step->numRows}, type),
                     {text(TPDialect::getNameAttrName(), name),
                      text(defaultAttrName, defaultValue)});
}

void ModelBuilder::beginStep(const GenerateOptions &options, int64_t tokens) {
  begin("step_" + std::to_string(tokens));
  batch = 1;
  seq = tokens;
  step.emplace();
  step->options = options;
  step->numRows = options.getRows(tokens);
  step->hasRowScales = options.isCacheQuantized() &&
                       !readsCacheScales(config, checkpoint, *options.cacheType);
}

Value ModelBuilder::addTokens() {
  if (!step) {
    Value ids = addInput("input_ids", config.vocabSize, "");
    mask = addInput("attention_mask", 2, "ones");
    return ids;
  }
  const GenerateOptions &options = step->options;
  int64_t rows = step->numRows, pages = options.getPagesPerRow();
  Value ids = addNumbers("ids", {1, seq}, 0, config.vocabSize);
  step->starts = addNumbers("starts", {rows + 1}, 0, seq + 1);
  Value context = addNumbers("context", {rows}, 0, options.context);
  step->table = addNumbers("table", {rows, pages}, -1, options.rows * pages);
  addCaches();
  addPlaces(context);
  return ids;
}

/// The states of each layer that is written, stacked as often as it runs.
void ModelBuilder::addCaches() {
  int64_t number = 0;
  auto add = [&](StringRef kind, RankedTensorType type) {
    std::string name = kind.str();
    if (number > 0)
      name += "_" + std::to_string(number);
    step->caches.push_back({name, addState(name, type), Value()});
  };
  for (const LayerRun &run : runs)
    for (LayerKind kind : run.kinds) {
      if (!kind.mixes)
        continue;
      if (kind.convolves && config.linear) {
        const LinearConfig &linear = *config.linear;
        for (StringRef name : {"conv_queries", "conv_keys"})
          add(name, getConvPoolType(run.count, linear.getKeySize()));
        add("conv_values", getConvPoolType(run.count, linear.getValueSize()));
        add("linear_states", getStatePoolType(run.count));
      } else if (kind.convolves)
        add("conv", getConvPoolType(run.count, config.hiddenSize));
      else {
        HeadsConfig heads = config.getHeads(kind);
        const std::pair<StringRef, int64_t> kinds[] = {
            {"keys", heads.headDim},
            {"values", heads.valueDim},
            {"key_scales", 0},
            {"value_scales", 0}};
        for (auto [name, size] : ArrayRef(kinds).take_front(countCaches(kind)))
          add(name, getCacheType(run.count, heads.numKVHeads, size));
      }
      ++number;
    }
}

/// Adds the places of the tokens, and those where convolutions read and keep
/// inputs.
void ModelBuilder::addPlaces(Value context) {
  auto numbers = [&](ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getI32Type());
  };
  IntegerAttr page = builder.getI64IntegerAttr(step->options.page);
  Location loc = at("places");
  auto places = nn::TokenPlacesOp::create(
      builder, loc, numbers(seq), numbers(seq), numbers(seq), step->starts,
      context, step->table, page);
  step->rows = places.getRows();
  step->positions = places.getPositions();
  step->cells = places.getCells();
  if (!config.conv)
    return;
  auto find = [&](int64_t earlier) {
    return nn::ConvPlacesOp::create(
        builder, loc, numbers(seq), numbers({seq, earlier}), step->rows,
        step->positions, step->cells, step->table, page);
  };
  auto inputs = find(config.conv->taps - 1);
  step->slots = inputs.getSlots();
  step->sources = inputs.getSources();
  if (!config.linear)
    return;
  // A state is of one position, the last one.
  auto states = config.conv->taps == 2 ? inputs : find(1);
  step->stateSlots = states.getSlots();
  step->stateSources = states.getSources();
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

Value ModelBuilder::addLearnedPositions(StringRef path, Value x, Value table) {
  if (!step)
    return addPositions(path, x, firstRows(path, table));
  Value rows = step->positions;
  if (int64_t first = config.layout.firstPosition) {
    auto offset = builder.getI32IntegerAttr(first);
    auto type = cast<RankedTensorType>(rows.getType());
    rows = arith::AddIOp::create(
        builder, at(path), rows,
        arith::ConstantOp::create(builder, at(path),
                                  DenseElementsAttr::get(type, offset)));
  }
  return addPositions(path, x, embedding(path, rows, table));
}

std::pair<Value, Value> ModelBuilder::rotaryTable(StringRef path,
                                                  ArrayRef<float> frequencies,
                                                  double factor) {
  int64_t half = frequencies.size();
  Type f32 = builder.getF32Type();
  auto attr =
      DenseElementsAttr::get(RankedTensorType::get({half}, f32), frequencies);
  auto type = RankedTensorType::get({seq, half}, f32);
  auto op = nn::RotaryTableOp::create(
      builder, at(path), type, type, /*offset=*/Value(),
      step ? step->positions : Value(), attr, builder.getF64FloatAttr(factor));
  return {op.getCos(), op.getSin()};
}

/// Computed in f32 and rounded to the model's type, as queries are then
/// multiplied in that.
Value ModelBuilder::queryFactors(StringRef path) {
  double growth = config.rope.queryGrowth;
  if (growth == 0)
    return {};
  Location loc = at(path);
  int64_t length = config.rope.originalMaxPositions;
  auto emitFactor = [&](OpBuilder &b, Location l, ValueRange args) {
    Type i32 = b.getI32Type(), f32 = b.getF32Type();
    auto number = [&](double value) -> Value {
      return arith::ConstantOp::create(b, l, b.getF32FloatAttr(float(value)));
    };
    Value position = args.front();
    if (!step)
      position = arith::IndexCastOp::create(b, l, i32,
                                            linalg::IndexOp::create(b, l, 0));
    Value divisor = arith::ConstantIntOp::create(b, l, length, 32);
    Value lengths = arith::DivSIOp::create(b, l, position, divisor);
    lengths = arith::SIToFPOp::create(b, l, f32, lengths);
    Value log = math::LogOp::create(
        b, l, arith::AddFOp::create(b, l, number(1), lengths));
    Value factor = arith::AddFOp::create(
        b, l, number(1), arith::MulFOp::create(b, l, number(growth), log));
    if (!elementType.isF32())
      factor = arith::TruncFOp::create(b, l, elementType, factor);
    linalg::YieldOp::create(b, l, factor);
  };
  SmallVector<Value> inputs;
  if (step)
    inputs.push_back(step->positions);
  SmallVector<AffineMap> maps(step ? 2 : 1, builder.getMultiDimIdentityMap(1));
  Value empty = tensor::EmptyOp::create(builder, loc, {seq}, elementType);
  return linalg::GenericOp::create(builder, loc, type({seq}), inputs, empty,
                                   maps, {utils::IteratorType::parallel},
                                   emitFactor)
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

Value ModelBuilder::causalAttention(StringRef path, Value q, Value k, Value v,
                                    Value bias, Value sinks, bool slides) {
  return step ? pagedAttention(path, q, k, v, bias, sinks, slides)
              : attention(path, q, k, v, mask, bias, sinks, /*causal=*/true,
                          slides);
}

SmallVector<int64_t> ModelBuilder::getBiasShape() const {
  if (!step)
    return {config.numHeads, seq, seq};
  return {config.numHeads, shapeOf(step->table)[1] * step->options.page};
}

/// x[1, T, heads, d] in its cells of the layer's cache, in its type.
Value ModelBuilder::writeCache(StringRef path, Value x, unsigned which) {
  Location loc = at(path);
  Value rows = join(builder, loc, x, {{0, 1}, {2}, {3}});
  if (step->options.isCacheQuantized())
    return writeQuantized(path, rows, which);
  Value &pool = step->layerCaches[which];
  auto type = cast<RankedTensorType>(rows.getType());
  Type from = type.getElementType();
  Type to = cast<RankedTensorType>(pool.getType()).getElementType();
  if (from != to && !from.isF32())
    rows = arith::ExtFOp::create(builder, loc, type.clone(builder.getF32Type()),
                                 rows);
  if (from != to && !to.isF32())
    rows = arith::TruncFOp::create(builder, loc, type.clone(to), rows);
  pool = nn::CacheWriteOp::create(builder, loc, pool.getType(), rows,
                                  step->cells, pool);
  return {};
}

Value ModelBuilder::writeQuantized(StringRef path, Value rows, unsigned which) {
  MLIRContext *context = builder.getContext();
  Value &pool = step->layerCaches[which];
  Type element = step->options.cacheType == CacheType::Int8
                     ? Type(IntegerType::get(builder.getContext(), 8))
                     : Type(Float8E4M3FNType::get(context));
  Value scales = step->hasRowScales ? step->layerCaches[2 + which]
                                    : readCacheScales(which);
  auto write = nn::QuantizedCacheWriteOp::create(
      builder, at(path), pool.getType(),
      step->hasRowScales ? scales.getType() : Type(), rows, step->cells, pool,
      scales, TypeAttr::get(element));
  pool = write.getResult();
  if (step->hasRowScales)
    scales = step->layerCaches[2 + which] = write.getResultScales();
  return scales;
}

/// The names that tools give the scales of keys (0) or values (1), within the
/// module of attention.
static SmallVector<std::string> getScaleNames(unsigned which) {
  std::string letter = which == 0 ? "k" : "v", scale = letter + "_scale";
  return {"." + scale, ".attn." + scale, "." + letter + "_proj." + scale,
          "." + letter + "_proj.output_scale", ".kv_scale"};
}

bool readsCacheScales(const ModelConfig &config, const Checkpoint &checkpoint,
                      CacheType type) {
  // Of latent attention a checkpoint's scales are those of the latent values.
  if (type != CacheType::FP8 || config.latent)
    return false;
  return llvm::any_of(getScaleNames(0), [&](StringRef end) {
    std::string name = (config.layout.attention + end).str();
    return llvm::any_of(checkpoint.getTensors(), [&](const auto &entry) {
      return entry.first().ends_with(name);
    });
  });
}

/// The checkpoint's scales [1, heads], or [1, 1], of the layer's keys (0) or
/// values (1).
Value ModelBuilder::readCacheScales(unsigned which) {
  const ModelLayout &layout = config.layout;
  SmallVector<std::string> names;
  for (StringRef end : getScaleNames(which))
    llvm::append_range(names,
                       namesOf(layout.layer + "." + layout.attention + end));
  StringRef type = "F32";
  int64_t heads = 1;
  for (const std::string &name : names)
    if (const CheckpointTensor *tensor = find(name, {})) {
      type = tensor->dtype;
      for (int64_t size : tensor->shape)
        if (size != 1)
          heads = shapeOf(step->layerCaches[which])[1];
      break;
    }
  auto storage =
      StorageAttr::get(builder.getContext(), builder.getStringAttr(type), 0, 0,
                       ArrayRef<int64_t>(), 0, ArrayRef<int64_t>());
  return parameter(names, {1, heads}, nullptr, builder.getF32Type(), storage);
}

Value ModelBuilder::pagedAttention(StringRef path, Value q, Value k, Value v,
                                   Value bias, Value sinks, bool slides) {
  Value keyScales = writeCache(path, k, 0);
  Value valueScales = writeCache(path, v, 1);
  IntegerAttr window;
  if (slides && *config.slidingWindow < step->options.context)
    window = builder.getI64IntegerAttr(*config.slidingWindow);
  TypeAttr element;
  if (auto write =
          step->layerCaches[0].getDefiningOp<nn::QuantizedCacheWriteOp>())
    element = write.getElementAttr();
  SmallVector<int64_t> shape(shapeOf(q));
  shape.back() = shapeOf(v).back();
  return nn::PagedAttentionOp::create(
      builder, at(path), type(shape), q, step->layerCaches[0],
      step->layerCaches[1], step->rows, step->positions, step->table, keyScales,
      valueScales, bias, sinks, builder.getI64IntegerAttr(step->options.page),
      builder.getF64FloatAttr(config.attentionScale), window, getSoftCap(),
      element);
}

Value ModelBuilder::causalConv(StringRef path, Value x, Value weight,
                               Value bias, unsigned which) {
  Location loc = at(path);
  if (!step)
    return nn::CausalConvOp::create(builder, loc, x.getType(), x, weight, bias,
                                    /*reversed=*/UnitAttr());
  Value &pool = step->layerCaches[which];
  Value y = nn::PagedConvOp::create(builder, loc, x.getType(), x, weight, pool,
                                    step->sources, bias);
  Value rows = join(builder, loc, x, {{0, 1}, {2}});
  rows = splitLast(path, rows, {shapeOf(x).back(), 1});
  pool = nn::CacheWriteOp::create(builder, loc, pool.getType(), rows,
                                  step->slots, pool);
  return y;
}

Value ModelBuilder::deltaRule(StringRef path, Value q, Value k, Value v,
                              Value decay, Value beta) {
  Location loc = at(path);
  if (!step)
    return nn::GatedDeltaRuleOp::create(builder, loc, v.getType(), q, k, v,
                                        decay, beta);
  Value &pool = step->layerCaches.back();
  auto op = nn::PagedGatedDeltaRuleOp::create(
      builder, loc, v.getType(), pool.getType(), q, k, v, decay, pool,
      step->stateSlots, step->stateSources, beta);
  pool = op.getNextPool();
  return op.getResult();
}

/// values[1, T, n], in a step zero for tokens that are padding.
Value ModelBuilder::keepTokens(StringRef path, Value values) {
  if (!step)
    return values;
  Location loc = at(path);
  auto type = cast<RankedTensorType>(values.getType());
  AffineMap all = builder.getMultiDimIdentityMap(3);
  AffineMap token = AffineMap::get(3, 0, builder.getAffineDimExpr(1));
  SmallVector<utils::IteratorType> loops(3, utils::IteratorType::parallel);
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  return linalg::GenericOp::create(
             builder, loc, type, ValueRange{values, step->rows}, empty,
             {all, token, all}, loops,
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

//===----------------------------------------------------------------------===//
// Logits
//===----------------------------------------------------------------------===//

/// x[1, T, h] -> [1, R, h]: the last token of each row, zeros for a row that
/// has none. That is a look-up by number in a table of tokens.
Value ModelBuilder::lastRows(StringRef path, Value x) {
  Location loc = at(path);
  int64_t rows = step->numRows;
  auto type = RankedTensorType::get({1, rows}, builder.getI32Type());
  auto part = [&](int64_t from) -> Value {
    Value bounds = tensor::ExtractSliceOp::create(
        builder, loc, step->starts,
        ArrayRef<OpFoldResult>{builder.getIndexAttr(from)},
        ArrayRef<OpFoldResult>{builder.getIndexAttr(rows)},
        ArrayRef<OpFoldResult>{builder.getIndexAttr(1)});
    return tensor::ExpandShapeOp::create(
        builder, loc, type, bounds, SmallVector<ReassociationIndices>{{0, 1}});
  };
  auto splat = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(type, builder.getI32IntegerAttr(value)));
  };
  Value first = part(0), end = part(1), none = splat(-1);
  Value isEmpty =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, first, end);
  Value last = arith::AddIOp::create(builder, loc, end, none);
  last = arith::SelectOp::create(builder, loc, isEmpty, none, last);
  return embedding(path, last, join(builder, loc, x, {{0, 1}, {2}}));
}

Value ModelBuilder::selectPositions(StringRef path, Value hidden) {
  if (step)
    return lastRows(path, hidden);
  return lastLogits ? lastPosition(path, hidden, mask) : hidden;
}

NamedValues ModelBuilder::logits(StringRef path, Value hidden, Value head,
                                 Value bias) {
  auto finish = [&](Value logits) {
    return cap(path, scale(path, logits, config.logitScale), config.logitCap);
  };
  if (!step) {
    Value all = finish(linear(path, hidden, head, bias));
    return trains ? loss("loss", all) : NamedValues{{"logits", all}};
  }
  auto type = RankedTensorType::get({1, step->numRows, config.vocabSize},
                                    builder.getF32Type());
  Value logits =
      nn::LinearOp::create(builder, at(path), type, hidden, head, bias);
  logits = finish(join(builder, at(path), logits, {{0, 1}, {2}}));
  NamedValues outputs{{"logits", logits}};
  outputs.append(chooseTokens(path, logits));
  return outputs;
}

/// The token that follows in each row that is to have one, whose position is
/// not negative, and the logarithm of its probability.
NamedValues ModelBuilder::chooseTokens(StringRef path, Value logits) {
  int64_t rows = step->numRows;
  Type f32 = builder.getF32Type(), i32 = builder.getI32Type();
  Value positions =
      addNumbers("positions", {rows}, -1, step->options.context + 1);
  Value seeds = addSetting("seeds", builder.getI64Type());
  Value temperatures = addSetting("temperatures", f32);
  Value topK = addSetting("top_k", i32),
        topP = addSetting("top_p", f32, "ones");
  Value minP = addSetting("min_p", f32);
  auto sample = nn::SampleOp::create(
      builder, at(path), RankedTensorType::get({rows}, i32),
      RankedTensorType::get({rows}, f32), logits, positions, seeds,
      temperatures, topK, topP, minP);
  return {{"tokens", sample.getToken()}, {"logprobs", sample.getLogprob()}};
}

} // namespace tp
