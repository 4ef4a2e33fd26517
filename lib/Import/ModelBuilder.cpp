//===- ModelBuilder.cpp - Emitting model IR -------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One method per building block of a transformer. What the nn dialect has no
// word for (positions added to a batch, pooling) is linalg on whole tensors,
// with sums in f32.
//
//===----------------------------------------------------------------------===//

#include "ModelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Dialect/NN/IR/Emitter.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/TP/IR/ModelAttributes.h"
#include "tp/Dialect/TP/IR/ParameterNames.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tprt/names.h"
#include <cmath>

using namespace mlir;

namespace tp {

Type getElementType(MLIRContext *context, FloatKind dtype) {
  switch (dtype) {
  case FloatKind::F32:
    return Float32Type::get(context);
  case FloatKind::BF16:
    return BFloat16Type::get(context);
  case FloatKind::F16:
    return Float16Type::get(context);
  }
  llvm_unreachable("unknown float kind");
}

ModelBuilder::ModelBuilder(MLIRContext *context, const ModelConfig &config,
                           const Checkpoint &checkpoint,
                           const ImportOptions &options, FloatKind dtype,
                           int64_t seq, ArrayRef<LayerRun> runs)
    : config(config), batch(options.batch), seq(seq),
      numLayers(runs.back().end()), trains(options.train.has_value()),
      drops(trains && options.train->dropout != TrainOptions::Dropout::Off),
      floatActivations(options.floatActivations),
      lastLogits(options.lastLogits), runs(runs), builder(context),
      checkpoint(checkpoint), elementType(getElementType(context, dtype)) {
  Location loc = NameLoc::get(builder.getStringAttr(config.architecture));
  module = ModuleOp::create(loc);
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

void ModelBuilder::begin(StringRef name) {
  builder.setInsertionPointToEnd(module->getBody());
  auto func = func::FuncOp::create(builder, module->getLoc(), name,
                                   builder.getFunctionType({}, {}));
  function = func;
  builder.setInsertionPointToEnd(func.addEntryBlock());
}

Value ModelBuilder::addArgument(StringRef name, RankedTensorType type,
                                ArrayRef<NamedAttribute> attrs) {
  auto func = cast<func::FuncOp>(function);
  unsigned index = func.getNumArguments();
  (void)func.insertArgument(index, type, builder.getDictionaryAttr(attrs),
                            at(name));
  return func.getArgument(index);
}

Value ModelBuilder::addInput(StringRef name, int64_t limit,
                             StringRef defaultValue, int64_t first) {
  SmallVector<NamedAttribute> attrs = {
      builder.getNamedAttr(TPDialect::getNameAttrName(),
                           builder.getStringAttr(name)),
      builder.getNamedAttr(rangeAttrName,
                           builder.getDenseI64ArrayAttr({first, limit}))};
  if (!defaultValue.empty())
    attrs.push_back(builder.getNamedAttr(defaultAttrName,
                                         builder.getStringAttr(defaultValue)));
  if (name == "attention_mask" && !config.layout.isEncoder)
    attrs.push_back(
        builder.getNamedAttr(rightPaddedAttrName, builder.getUnitAttr()));
  if (takesShorter())
    attrs.push_back(
        builder.getNamedAttr(sequencesAttrName, builder.getUnitAttr()));
  return addArgument(
      name, RankedTensorType::get({batch, seq}, builder.getI64Type()), attrs);
}

void ModelBuilder::end(ArrayRef<std::pair<StringRef, Value>> outputs) {
  auto func = cast<func::FuncOp>(function);
  SmallVector<Value> values;
  SmallVector<DictionaryAttr> attrs;
  auto add = [&](StringRef key, Attribute attr, Value value) {
    values.push_back(value);
    SmallVector<NamedAttribute> fields{builder.getNamedAttr(key, attr)};
    auto type = cast<RankedTensorType>(value.getType());
    if (takesShorter() && !lastLogits && type.getRank() == 3)
      fields.push_back(
          builder.getNamedAttr(sequencesAttrName, builder.getUnitAttr()));
    attrs.push_back(builder.getDictionaryAttr(fields));
  };
  for (auto [name, value] : outputs)
    add(TPDialect::getNameAttrName(), builder.getStringAttr(name), value);
  func::ReturnOp::create(builder, func.getLoc(), values);
  func.setFunctionType(builder.getFunctionType(func.getArgumentTypes(),
                                               TypeRange(ValueRange(values))));
  for (auto [index, dictionary] : llvm::enumerate(attrs))
    func.setResultAttrs(index, dictionary);
}

OwningOpRef<ModuleOp> ModelBuilder::finish(StringRef modelName,
                                           ArrayRef<std::string> ignored) {
  Operation *op = module->getOperation();
  op->setAttr(modelNameAttrName, builder.getStringAttr(modelName));
  op->setAttr(architectureAttrName, builder.getStringAttr(config.architecture));
  op->setAttr(modelTypeAttrName, builder.getStringAttr(config.modelType));
  if (!ignored.empty())
    op->setAttr(ignoredTensorsAttrName,
                builder.getStrArrayAttr(
                    SmallVector<StringRef>(ignored.begin(), ignored.end())));
  if (Attribute list = describeParts())
    op->setAttr(tensorPartsAttrName, list);
  return std::move(module);
}

//===----------------------------------------------------------------------===//
// Parameters and operations
//===----------------------------------------------------------------------===//

Location ModelBuilder::at(StringRef path) {
  return NameLoc::get(builder.getStringAttr(path));
}

std::string ModelBuilder::numbered(const Twine &name) const {
  return tprt::replaceLayerNumbers(
      name.str(), [&](const tprt::LayerNumber &) { return layerNumber; });
}

std::string ModelBuilder::oldNameOf(const Twine &name) const {
  std::string old = name.str();
  for (auto [now, before] : config.layout.oldNames)
    if (size_t at = old.find(now); at != std::string::npos)
      old.replace(at, now.size(), before);
  return old;
}

SmallVector<std::string> ModelBuilder::namesOf(const Twine &name) const {
  SmallVector<std::string> names;
  for (StringRef prefix : config.layout.prefixes)
    names.push_back(numbered(prefix + name));
  std::string old = oldNameOf(name);
  if (old != name.str())
    for (StringRef prefix : config.layout.prefixes)
      names.push_back(numbered(prefix + old));
  return names;
}

std::string ModelBuilder::placeOf(const Twine &name) const {
  return numbered(config.layout.prefixes.front() + name);
}

Value ModelBuilder::parameter(ArrayRef<std::string> names,
                              ArrayRef<int64_t> shape, const ParameterBox *box,
                              Type element, StorageAttr storage) {
  ParameterUse use;
  use.names.assign(names.begin(), names.end());
  use.shape.assign(box ? box->shape : SmallVector<int64_t>(shape));
  use.storage = storage;
  if (StringRef(use.names.front()).contains("{i}")) {
    use.first = firstIteration;
    use.count = numIterations;
  }
  auto found = llvm::find_if(use.names, [&](const std::string &name) {
    return checkpoint.find(
        getTensorNames(instantiate(name, use.first), use.shape).front());
  });
  if (found != use.names.end())
    std::rotate(use.names.begin(), found, found + 1);

  ParameterSourceAttr source;
  if (box)
    source =
        ParameterSourceAttr::get(builder.getContext(), box->shape, box->offsets,
                                 box->permutation, box->steps);
  ArrayAttr alternatives;
  if (use.names.size() > 1)
    alternatives = builder.getStrArrayAttr(
        SmallVector<StringRef>(use.names.begin() + 1, use.names.end()));
  StringRef name = use.names.front();
  auto type = RankedTensorType::get(shape, element ? element : elementType);
  auto op =
      ParameterOp::create(builder, at(name), type, name, source, alternatives);
  if (storage)
    op.setStorageAttr(storage);
  else if (Attribute init = getInit(name, shape.size()))
    op->setAttr(initAttrName, init);
  parameters.push_back(std::move(use));
  return op;
}

/// The initial values by which `transformers` begins to train, unless they are
/// what random weights are anyway: matrices of deviation 0.02, vectors of ones.
Attribute ModelBuilder::getInit(StringRef name, unsigned rank) {
  if (name.ends_with("bias") || name.ends_with("beta"))
    return builder.getStringAttr("zeros");
  if (rank < 2)
    return config.layout.norm == NormKind::RMSOnePlus
               ? builder.getStringAttr("zeros")
               : Attribute();
  double deviation = config.initializerRange;
  // As many as are added to the residual stream.
  if (config.modelType == "gpt2" && name.ends_with("c_proj.weight"))
    deviation /= std::sqrt(2.0 * double(numLayers));
  SmallVector<NamedAttribute> fields;
  if (deviation != 0.02)
    fields.push_back(
        builder.getNamedAttr("deviation", builder.getF64FloatAttr(deviation)));
  if (config.paddingRow &&
      name.ends_with((config.layout.words + ".weight").str()))
    fields.push_back(builder.getNamedAttr(
        "zero_row", builder.getI64IntegerAttr(*config.paddingRow)));
  return fields.empty() ? Attribute() : builder.getDictionaryAttr(fields);
}

Value ModelBuilder::linear(StringRef path, Value x, Value weight, Value bias) {
  SmallVector<int64_t> shape(shapeOf(x));
  shape.back() = shapeOf(weight).front();
  return nn::LinearOp::create(builder, at(path), type(shape), x, weight, bias);
}

Value ModelBuilder::norm(StringRef path, Value x, Value weight, Value bias,
                         std::optional<double> chosen) {
  Location loc = at(path);
  FloatAttr epsilon =
      builder.getF64FloatAttr(chosen.value_or(config.normEpsilon));
  NormKind kind = config.layout.norm;
  if (kind == NormKind::RMSOnePlus || kind == NormKind::LayerOnePlus)
    weight = add(path, weight, splat(path, weight.getType(), 1));
  if (kind != NormKind::RMS && kind != NormKind::RMSOnePlus)
    return nn::LayerNormOp::create(builder, loc, x.getType(),
                                   /*statistics=*/TypeRange{}, x, weight, bias,
                                   epsilon)
        .getResult();
  return nn::RMSNormOp::create(builder, loc, x.getType(), /*rstd=*/Type(), x,
                               weight, epsilon)
      .getResult();
}

Value ModelBuilder::normWithoutWeight(StringRef path, Value x) {
  return plainNorm(path, x, splat(path, type(shapeOf(x).take_back(1)), 1));
}

Value ModelBuilder::embedding(StringRef path, Value ids, Value table,
                              std::optional<int64_t> paddingRow) {
  SmallVector<int64_t> shape(shapeOf(ids));
  shape.push_back(shapeOf(table).back());
  Type element = cast<RankedTensorType>(table.getType()).getElementType();
  Value rows = nn::EmbeddingOp::create(
      builder, at(path), RankedTensorType::get(shape, element), ids, table,
      /*offset=*/Value(),
      paddingRow ? builder.getI64IntegerAttr(*paddingRow) : IntegerAttr());
  // A quantised table gives f32.
  if (rows.getType() == type(shape))
    return rows;
  return arith::TruncFOp::create(builder, at(path), type(shape), rows);
}

Value ModelBuilder::activation(StringRef path, Value x, Activation activation) {
  if (activation == Activation::SiLU)
    return nn::SiluOp::create(builder, at(path), x.getType(), x);
  if (activation == Activation::ReLU || activation == Activation::ReLUSquared) {
    Value zero = splat(path, x.getType(), 0);
    Value y = arith::MaximumFOp::create(builder, at(path), x, zero);
    return activation == Activation::ReLU ? y : mul(path, y, y);
  }
  auto kind = activation == Activation::GeluErf ? nn::GeluKind::Erf
                                                : nn::GeluKind::Tanh;
  return nn::GeluOp::create(builder, at(path), x.getType(), kind, x);
}

Value ModelBuilder::add(StringRef path, Value a, Value b) {
  return arith::AddFOp::create(builder, at(path), a, b);
}

Value ModelBuilder::mul(StringRef path, Value a, Value b) {
  return arith::MulFOp::create(builder, at(path), a, b);
}

Value ModelBuilder::plainNorm(StringRef path, Value x, Value weight) {
  return nn::RMSNormOp::create(builder, at(path), x.getType(), /*rstd=*/Type(),
                               x, weight,
                               builder.getF64FloatAttr(config.normEpsilon))
      .getResult();
}

Value ModelBuilder::splat(StringRef path, Type type, double value) {
  auto tensor = cast<RankedTensorType>(type);
  auto attr = builder.getFloatAttr(tensor.getElementType(), value);
  return arith::ConstantOp::create(builder, at(path),
                                   DenseElementsAttr::get(tensor, attr));
}

Value ModelBuilder::scale(StringRef path, Value x, double factor) {
  return factor == 1 ? x : mul(path, x, splat(path, x.getType(), factor));
}

Value ModelBuilder::cap(StringRef path, Value x, double limit) {
  if (limit == 0)
    return x;
  Value bounded =
      math::TanhOp::create(builder, at(path), scale(path, x, 1 / limit));
  return scale(path, bounded, limit);
}

Value ModelBuilder::normOfHeads(StringRef path, Value x, Value weight) {
  Location loc = at(path);
  ArrayRef<int64_t> shape = shapeOf(x);
  x = norm(path, x, splat(path, type(shape.back()), 1), Value());
  Value empty = tensor::EmptyOp::create(builder, loc, shape, elementType);
  Value weights = linalg::BroadcastOp::create(builder, loc, weight, empty,
                                              ArrayRef<int64_t>{0, 1})
                      ->getResult(0);
  return mul(path, x, weights);
}

Value ModelBuilder::addPositions(StringRef path, Value x, Value rows) {
  auto emitter = nn::Emitter::inType(builder, at(path), elementType);
  nn::Loops d = emitter.loops(3);
  return emitter.map(
      type(shapeOf(x)), {{x, d}, {rows, {d[1], d[2]}}},
      [](nn::Scalar &e, ValueRange v) { return e.add(v[0], v[1]); });
}

Value ModelBuilder::separatePairs(StringRef path, Value x, int64_t size) {
  Location loc = at(path);
  int64_t whole = shapeOf(x).back();
  if (size < whole)
    return concat(path, separatePairs(path, slice(path, x, 3, 0, size), size),
                  slice(path, x, 3, size, whole - size));
  Value pairs = splitLast(path, x, {size / 2, 2});
  SmallVector<int64_t> shape(shapeOf(pairs));
  std::swap(shape[3], shape[4]);
  Value empty = tensor::EmptyOp::create(builder, loc, shape, elementType);
  Value halves = linalg::TransposeOp::create(builder, loc, pairs, empty,
                                             ArrayRef<int64_t>{0, 1, 2, 4, 3})
                     ->getResult(0);
  return joinDims(path, halves, 3);
}

Value ModelBuilder::scalePositions(StringRef path, Value x, Value factors) {
  Location loc = at(path);
  Value empty = tensor::EmptyOp::create(builder, loc, shapeOf(x), elementType);
  Value each = linalg::BroadcastOp::create(builder, loc, factors, empty,
                                           ArrayRef<int64_t>{0, 2, 3})
                   ->getResult(0);
  return mul(path, x, each);
}

Value ModelBuilder::firstRows(StringRef path, Value table) {
  return slice(path, table, 0, config.layout.firstPosition, seq);
}

Value ModelBuilder::slice(StringRef path, Value x, unsigned dim, int64_t offset,
                          int64_t count) {
  ArrayRef<int64_t> shape = shapeOf(x);
  if (shape[dim] == count)
    return x;
  SmallVector<OpFoldResult> offsets(shape.size(), builder.getIndexAttr(0)),
      strides(shape.size(), builder.getIndexAttr(1)),
      sizes = getAsIndexOpFoldResult(builder.getContext(), shape);
  offsets[dim] = builder.getIndexAttr(offset);
  sizes[dim] = builder.getIndexAttr(count);
  return tensor::ExtractSliceOp::create(builder, at(path), x, offsets, sizes,
                                        strides);
}

Value ModelBuilder::concat(StringRef path, Value a, Value b) {
  int64_t last = shapeOf(a).size() - 1;
  return tensor::ConcatOp::create(builder, at(path), last, ValueRange{a, b});
}

Value ModelBuilder::repeatHead(StringRef path, Value x, int64_t heads) {
  Location loc = at(path);
  Value rows = joinDims(path, x, 2);
  SmallVector<int64_t> shape(shapeOf(x));
  shape[2] = heads;
  Value empty = tensor::EmptyOp::create(builder, loc, shape, elementType);
  return linalg::BroadcastOp::create(builder, loc, rows, empty,
                                     ArrayRef<int64_t>{2})
      ->getResult(0);
}

Value ModelBuilder::splitLast(StringRef path, Value x,
                              ArrayRef<int64_t> sizes) {
  return nn::Emitter(builder, at(path), elementType)
      .split(x, shapeOf(x).size() - 1, sizes);
}

Value ModelBuilder::joinDims(StringRef path, Value x, unsigned first) {
  return nn::Emitter(builder, at(path), elementType).join(x, first, 2);
}

Value ModelBuilder::splitHeads(StringRef path, Value x, int64_t heads) {
  return splitLast(path, x, {heads, shapeOf(x).back() / heads});
}

Value ModelBuilder::mergeHeads(StringRef path, Value x) {
  return joinDims(path, x, 2);
}

Value ModelBuilder::attention(StringRef path, Value q, Value k, Value v,
                              Value mask, Value bias, Value sinks, bool causal,
                              bool slides) {
  IntegerAttr window;
  if (slides && config.getReach() < seq)
    window = builder.getI64IntegerAttr(*config.slidingWindow);
  SmallVector<int64_t> shape(shapeOf(q));
  shape.back() = shapeOf(v).back();
  return nn::AttentionOp::create(
             builder, at(path), type(shape), /*lse=*/Type(), q, k, v, mask,
             bias, sinks, builder.getF64FloatAttr(config.attentionScale),
             causal ? builder.getUnitAttr() : UnitAttr(), window, getSoftCap())
      .getResult();
}

FloatAttr ModelBuilder::getSoftCap() {
  if (config.attentionCap == 0)
    return {};
  return builder.getF64FloatAttr(config.attentionCap);
}

/// The number of the layer at a place of the run, in each of its iterations.
static std::string getLayerNumber(const LayerRun &run, int64_t place) {
  int64_t period = run.kinds.size();
  return period == 1 ? "{i}"
                     : tprt::writeLayerNumber(period, run.first + place);
}

Value ModelBuilder::repeatLayers(
    StringRef layer, Value x,
    llvm::function_ref<Value(Value, LayerKind)> body) {
  for (const LayerRun &run : runs) {
    int64_t period = run.kinds.size();
    // The numbers of several layers are written from the first one on.
    firstIteration = period == 1 ? run.first : 0;
    numIterations = run.count;
    layerNumber = period == 1 ? "{i}"
                              : getLayerNumber(run, 0) + ".." +
                                    getLayerNumber(run, period - 1);
    auto repeat =
        RepeatOp::create(builder, at(placeOf(layer)), run.count, ValueRange{x},
                         ValueRange(), TypeRange(), firstIteration);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(repeat.getBodyBlock());
    Value next = repeat.getCarriedArgs().front();
    for (auto [place, kind] : llvm::enumerate(run.kinds)) {
      layerNumber = getLayerNumber(run, place);
      next = body(next, kind);
    }
    YieldOp::create(builder, repeat.getLoc(), next);
    x = repeat.getCarriedResults().front();
  }
  return x;
}

//===----------------------------------------------------------------------===//
// Positions and pooling
//===----------------------------------------------------------------------===//

Value ModelBuilder::countKept(Location loc, Value mask) {
  nn::Emitter emitter(builder, loc, elementType);
  nn::Loops d = emitter.loops(2);
  return emitter.reduce(emitter.wideType({batch}), {d[0]}, 2, nn::Combine::Sum,
                        {{mask, d}}, [](nn::Scalar &e, ValueRange v) {
                          return e.toFloat(e.compare(nn::CmpI::ne, v[0], 0));
                        });
}

Value ModelBuilder::countedPositions(StringRef path, Value ids,
                                     int64_t padding) {
  nn::Emitter emitter(builder, at(path), elementType);
  auto isText = [padding](nn::Scalar &e, Value id) {
    return e.compare(nn::CmpI::ne, id, padding);
  };
  // The number of tokens up to each place, itself included.
  nn::Loops d = emitter.loops(3), all = emitter.loops(2);
  Value counts =
      emitter.reduce(emitter.wideType({batch, seq}), all, 3, nn::Combine::Sum,
                     {{ids, {d[0], d[2]}}}, [&](nn::Scalar &e, ValueRange v) {
                       Value isBefore =
                           e.compare(nn::CmpI::ule, e.index(2), e.index(1));
                       return e.toFloat(e.both(isBefore, isText(e, v[0])));
                     });
  Type i64 = builder.getI64Type();
  return emitter.map(RankedTensorType::get({batch, seq}, i64),
                     {{ids, all}, {counts, all}},
                     [&](nn::Scalar &e, ValueRange v) {
                       Value row = e.add(e.cast(v[1], i64), padding);
                       return e.select(isText(e, v[0]), row, padding);
                     });
}

Value ModelBuilder::lastPosition(StringRef path, Value x, Value mask) {
  Location loc = at(path);
  int64_t hidden = shapeOf(x)[2];
  nn::Emitter emitter(builder, loc, elementType);
  nn::Loops d = emitter.loops(3);
  // One term of the sum is not zero, so it is exact.
  Value last = emitter.reduce(
      type({batch, hidden}), {d[0], d[2]}, 3, nn::Combine::Sum,
      {{x, d}, {countKept(loc, mask), {d[0]}}},
      [](nn::Scalar &e, ValueRange v) {
        Value next = e.toFloat(e.add(e.index(1), 1));
        return e.select(e.compare(nn::CmpF::OEQ, next, v[1]), v[0], 0);
      });
  return emitter.split(last, 1, {1, hidden});
}

Value ModelBuilder::meanPool(StringRef path, Value x, Value mask) {
  Location loc = at(path);
  int64_t hidden = shapeOf(x)[2];
  nn::Emitter emitter(builder, loc, elementType);
  nn::Loops d = emitter.loops(3), row = emitter.loops(2);
  Value count = countKept(loc, mask);
  Value sum = emitter.reduce(
      emitter.wideType({batch, hidden}), {d[0], d[2]}, 3, nn::Combine::Sum,
      {{x, d}, {mask, {d[0], d[1]}}}, [](nn::Scalar &e, ValueRange v) {
        return e.select(e.compare(nn::CmpI::ne, v[1], 0), v[0], 0);
      });
  // A row without any kept position gives zeros.
  return emitter.map(type({batch, hidden}), {{sum, row}, {count, {row[0]}}},
                     [](nn::Scalar &e, ValueRange v) {
                       return e.div(v[0], e.max(v[1], 1e-9));
                     });
}

Value ModelBuilder::l2Normalize(StringRef path, Value x) {
  nn::Emitter emitter(builder, at(path), elementType);
  nn::Loops d = emitter.loops(2);
  Value squares = emitter.reduce(
      emitter.wideType({batch}), {d[0]}, 2, nn::Combine::Sum, {{x, d}},
      [](nn::Scalar &e, ValueRange v) { return e.mul(v[0], v[0]); });
  return emitter.map(type(shapeOf(x)), {{x, d}, {squares, {d[0]}}},
                     [](nn::Scalar &e, ValueRange v) {
                       Value norm = math::SqrtOp::create(e.b, v[1]);
                       return e.div(v[0], e.max(norm, 1e-12));
                     });
}

} // namespace tp
