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
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Import/ModelAttributes.h"
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
                           int64_t seq, int64_t numLayers)
    : config(config), batch(options.batch), seq(seq), numLayers(numLayers),
      lastLogits(options.lastLogits), trains(options.train.has_value()),
      drops(trains && options.train->dropout != TrainOptions::Dropout::Off),
      builder(context), checkpoint(checkpoint),
      elementType(getElementType(context, dtype)) {
  Location loc = NameLoc::get(builder.getStringAttr(config.architecture));
  module = ModuleOp::create(loc);
}

std::string nameOfLayer(StringRef name, int64_t layer) {
  auto [before, after] = name.split("{i}");
  if (before.size() == name.size())
    return name.str();
  return (before + Twine(layer) + after).str();
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
  if (name == "attention_mask" && config.family != ModelFamily::Bert)
    attrs.push_back(
        builder.getNamedAttr(rightPaddedAttrName, builder.getUnitAttr()));
  return addArgument(
      name, RankedTensorType::get({batch, seq}, builder.getI64Type()), attrs);
}

void ModelBuilder::end(ArrayRef<std::pair<StringRef, Value>> outputs) {
  auto func = cast<func::FuncOp>(function);
  SmallVector<Value> values;
  SmallVector<DictionaryAttr> attrs;
  auto add = [&](StringRef key, Attribute attr, Value value) {
    values.push_back(value);
    attrs.push_back(builder.getDictionaryAttr(builder.getNamedAttr(key, attr)));
  };
  for (auto [name, value] : outputs)
    add(TPDialect::getNameAttrName(), builder.getStringAttr(name), value);
  if (trains)
    attrs.front() = builder.getDictionaryAttr(
        {builder.getNamedAttr(TPDialect::getNameAttrName(),
                              builder.getStringAttr(outputs.front().first)),
         builder.getNamedAttr(TPDialect::getLossAttrName(),
                              builder.getUnitAttr())});
  if (step)
    for (auto [name, value] : {std::pair(keysName, step->newKeys),
                               std::pair(valuesName, step->newValues)})
      add(TPDialect::getStateAttrName(),
          FlatSymbolRefAttr::get(builder.getContext(), name), value);
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
  return std::move(module);
}

//===----------------------------------------------------------------------===//
// Parameters and operations
//===----------------------------------------------------------------------===//

Location ModelBuilder::at(StringRef path) {
  return NameLoc::get(builder.getStringAttr(path));
}

Value ModelBuilder::parameter(ArrayRef<std::string> names,
                              ArrayRef<int64_t> shape,
                              const ParameterBox *box) {
  ParameterUse use;
  use.names.assign(names.begin(), names.end());
  use.shape.assign(box ? box->shape : SmallVector<int64_t>(shape));
  auto found = llvm::find_if(use.names, [&](const std::string &name) {
    return checkpoint.find(nameOfLayer(name, 0));
  });
  if (found != use.names.end())
    std::rotate(use.names.begin(), found, found + 1);

  ParameterSourceAttr source;
  if (box)
    source = ParameterSourceAttr::get(builder.getContext(), box->shape,
                                      box->offsets, box->permutation);
  ArrayAttr alternatives;
  if (use.names.size() > 1)
    alternatives = builder.getStrArrayAttr(
        SmallVector<StringRef>(use.names.begin() + 1, use.names.end()));
  StringRef name = use.names.front();
  auto op = ParameterOp::create(builder, at(name), type(shape), name, source,
                                alternatives);
  if (Attribute init = getInit(name, shape.size()))
    op->setAttr(initAttrName, init);
  parameters.push_back(std::move(use));
  return op;
}

/// What `transformers` begins to train with, where it is not what random
/// weights are anyway: matrices of deviation 0.02, vectors of ones.
Attribute ModelBuilder::getInit(StringRef name, unsigned rank) {
  if (name.ends_with("bias") || name.ends_with("beta"))
    return builder.getStringAttr("zeros");
  if (rank < 2)
    return {};
  double deviation = config.initializerRange;
  // As many as are added to the residual stream.
  if (config.family == ModelFamily::GPT2 && name.ends_with("c_proj.weight"))
    deviation /= std::sqrt(2.0 * double(numLayers));
  SmallVector<NamedAttribute> fields;
  if (deviation != 0.02)
    fields.push_back(
        builder.getNamedAttr("deviation", builder.getF64FloatAttr(deviation)));
  if (config.paddingRow && (name.ends_with("embed_tokens.weight") ||
                            name.ends_with("word_embeddings.weight")))
    fields.push_back(builder.getNamedAttr(
        "zero_row", builder.getI64IntegerAttr(*config.paddingRow)));
  return fields.empty() ? Attribute() : builder.getDictionaryAttr(fields);
}

Value ModelBuilder::linear(StringRef path, Value x, Value weight, Value bias) {
  SmallVector<int64_t> shape(shapeOf(x));
  shape.back() = shapeOf(weight).front();
  return nn::LinearOp::create(builder, at(path), type(shape), x, weight, bias);
}

Value ModelBuilder::rmsNorm(StringRef path, Value x, Value weight) {
  return nn::RMSNormOp::create(builder, at(path), x.getType(), /*rstd=*/Type(),
                               x, weight,
                               builder.getF64FloatAttr(config.normEpsilon))
      .getResult();
}

Value ModelBuilder::layerNorm(StringRef path, Value x, Value weight,
                              Value bias) {
  return nn::LayerNormOp::create(builder, at(path), x.getType(),
                                 /*statistics=*/TypeRange{}, x, weight, bias,
                                 builder.getF64FloatAttr(config.normEpsilon))
      .getResult();
}

Value ModelBuilder::embedding(StringRef path, Value ids, Value table) {
  SmallVector<int64_t> shape(shapeOf(ids));
  shape.push_back(shapeOf(table).back());
  return nn::EmbeddingOp::create(builder, at(path), type(shape), ids, table,
                                 /*offset=*/Value());
}

Value ModelBuilder::activation(StringRef path, Value x) {
  if (config.activation == Activation::SiLU)
    return nn::SiluOp::create(builder, at(path), x.getType(), x);
  if (config.activation == Activation::ReLU) {
    auto zeros = cast<TypedAttr>(builder.getZeroAttr(x.getType()));
    Value zero = arith::ConstantOp::create(builder, at(path), zeros);
    return arith::MaximumFOp::create(builder, at(path), x, zero);
  }
  auto kind = config.activation == Activation::GeluErf ? nn::GeluKind::Erf
                                                       : nn::GeluKind::Tanh;
  return nn::GeluOp::create(builder, at(path), x.getType(), kind, x);
}

Value ModelBuilder::add(StringRef path, Value a, Value b) {
  return arith::AddFOp::create(builder, at(path), a, b);
}

Value ModelBuilder::mul(StringRef path, Value a, Value b) {
  return arith::MulFOp::create(builder, at(path), a, b);
}

/// The map from (b, s, h) to the named dimensions.
static AffineMap mapOf(MLIRContext *context, unsigned rank,
                       ArrayRef<unsigned> dims) {
  SmallVector<AffineExpr> exprs;
  for (unsigned dim : dims)
    exprs.push_back(getAffineDimExpr(dim, context));
  return AffineMap::get(rank, 0, exprs, context);
}

static constexpr auto parallel = utils::IteratorType::parallel;
static constexpr auto reduction = utils::IteratorType::reduction;

Value ModelBuilder::addPositions(StringRef path, Value x, Value rows) {
  MLIRContext *context = builder.getContext();
  Location loc = at(path);
  Value empty = tensor::EmptyOp::create(builder, loc, shapeOf(x), elementType);
  return linalg::GenericOp::create(
             builder, loc, x.getType(), ValueRange{x, rows}, empty,
             {mapOf(context, 3, {0, 1, 2}), mapOf(context, 3, {1, 2}),
              mapOf(context, 3, {0, 1, 2})},
             {parallel, parallel, parallel},
             [](OpBuilder &b, Location l, ValueRange args) {
               Value sum = arith::AddFOp::create(b, l, args[0], args[1]);
               linalg::YieldOp::create(b, l, sum);
             })
      .getResult(0);
}

Value ModelBuilder::firstRows(StringRef path, Value table) {
  ArrayRef<int64_t> shape = shapeOf(table);
  if (shape[0] == seq)
    return table;
  SmallVector<OpFoldResult> offsets(2, builder.getIndexAttr(0)),
      strides(2, builder.getIndexAttr(1)),
      sizes = {builder.getIndexAttr(seq), builder.getIndexAttr(shape[1])};
  return tensor::ExtractSliceOp::create(builder, at(path), table, offsets,
                                        sizes, strides);
}

static SmallVector<ReassociationIndices> getHeadGroups() {
  return {{0}, {1}, {2, 3}};
}

Value ModelBuilder::splitHeads(StringRef path, Value x, int64_t heads) {
  ArrayRef<int64_t> shape = shapeOf(x);
  return tensor::ExpandShapeOp::create(
      builder, at(path), type({shape[0], shape[1], heads, shape[2] / heads}), x,
      getHeadGroups());
}

Value ModelBuilder::mergeHeads(StringRef path, Value x) {
  ArrayRef<int64_t> shape = shapeOf(x);
  return tensor::CollapseShapeOp::create(
      builder, at(path), type({shape[0], shape[1], shape[2] * shape[3]}), x,
      getHeadGroups());
}

double ModelBuilder::getScale() const {
  return config.scaleScores ? 1 / std::sqrt(double(config.headDim)) : 1.0;
}

Value ModelBuilder::attention(StringRef path, Value q, Value k, Value v,
                              Value mask, bool causal) {
  IntegerAttr window;
  if (config.slidingWindow && *config.slidingWindow < seq &&
      config.slides.front())
    window = builder.getI64IntegerAttr(*config.slidingWindow);
  return nn::AttentionOp::create(
             builder, at(path), q.getType(), /*lse=*/Type(), q, k, v, mask,
             builder.getF64FloatAttr(getScale()),
             causal ? builder.getUnitAttr() : UnitAttr(), window)
      .getResult();
}

Value ModelBuilder::repeatLayers(StringRef path, Value x,
                                 llvm::function_ref<Value(Value)> body) {
  SmallVector<Value> stacked;
  if (step)
    stacked = {step->keys, step->values};
  auto repeat = RepeatOp::create(builder, at(path), numLayers, ValueRange{x},
                                 stacked, TypeRange(ValueRange(stacked)));
  if (step) {
    step->layerKeys = repeat.getStackedArgs()[0];
    step->layerValues = repeat.getStackedArgs()[1];
    step->newKeys = repeat.getStackedResults()[0];
    step->newValues = repeat.getStackedResults()[1];
  }
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(repeat.getBodyBlock());
  SmallVector<Value> next{body(repeat.getCarriedArgs().front())};
  if (step)
    next.append({step->layerKeys, step->layerValues});
  YieldOp::create(builder, at(path), next);
  return repeat.getCarriedResults().front();
}

//===----------------------------------------------------------------------===//
// Positions and pooling
//===----------------------------------------------------------------------===//

Value ModelBuilder::filled(Location loc, TypedAttr value,
                           ArrayRef<int64_t> shape) {
  Value scalar = arith::ConstantOp::create(builder, loc, value);
  Value empty = tensor::EmptyOp::create(builder, loc, shape, scalar.getType());
  return linalg::FillOp::create(builder, loc, scalar, empty).getResult(0);
}

Value ModelBuilder::countKept(Location loc, Value mask) {
  MLIRContext *context = builder.getContext();
  Value zeros = filled(loc, builder.getF32FloatAttr(0), {batch});
  return linalg::GenericOp::create(
             builder, loc, zeros.getType(), mask, zeros,
             {mapOf(context, 2, {0, 1}), mapOf(context, 2, {0})},
             {parallel, reduction},
             [](OpBuilder &b, Location l, ValueRange args) {
               Value zero = arith::ConstantIntOp::create(b, l, 0, 64);
               Value keep = arith::CmpIOp::create(
                   b, l, arith::CmpIPredicate::ne, args[0], zero);
               Value one = arith::UIToFPOp::create(b, l, b.getF32Type(), keep);
               Value sum = arith::AddFOp::create(b, l, args[1], one);
               linalg::YieldOp::create(b, l, sum);
             })
      .getResult(0);
}

Value ModelBuilder::sumAll(Location loc, Value value,
                           llvm::function_ref<Value(OpBuilder &, Value)> term) {
  MLIRContext *context = builder.getContext();
  Value zero = filled(loc, builder.getF32FloatAttr(0), {});
  return linalg::GenericOp::create(
             builder, loc, zero.getType(), value, zero,
             {mapOf(context, 2, {0, 1}), mapOf(context, 2, {})},
             {reduction, reduction},
             [&](OpBuilder &b, Location l, ValueRange args) {
               Value sum =
                   arith::AddFOp::create(b, l, args[1], term(b, args[0]));
               linalg::YieldOp::create(b, l, sum);
             })
      .getResult(0);
}

NamedValues ModelBuilder::loss(StringRef path, Value logits) {
  /// The label of a position that does not count, as PyTorch has it.
  constexpr int64_t ignored = -100;
  Location loc = at(path);
  Value labels = addInput("labels", config.vocabSize, "", ignored);
  auto type = RankedTensorType::get({batch, seq}, builder.getF32Type());
  Value losses = nn::CrossEntropyOp::create(builder, loc, type, /*lse=*/Type(),
                                            logits, labels)
                     .getLoss();
  Value sum = sumAll(loc, losses, [](OpBuilder &, Value loss) { return loss; });
  Value tokens = sumAll(loc, labels, [&](OpBuilder &b, Value label) -> Value {
    Value end = arith::ConstantIntOp::create(b, loc, config.vocabSize, 64);
    // As unsigned numbers, negative ones are beyond all classes.
    Value counts =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, label, end);
    return arith::UIToFPOp::create(b, loc, b.getF32Type(), counts);
  });
  return {{"loss_sum", sum}, {"tokens", tokens}};
}

Value ModelBuilder::lastPosition(StringRef path, Value x, Value mask) {
  MLIRContext *context = builder.getContext();
  Location loc = at(path);
  int64_t hidden = shapeOf(x)[2];
  Value count = countKept(loc, mask);
  Value zeros = filled(loc, cast<TypedAttr>(builder.getZeroAttr(elementType)),
                       {batch, hidden});
  // One term of the sum is not zero, so it is exact in any type.
  Value last =
      linalg::GenericOp::create(
          builder, loc, zeros.getType(), ValueRange{x, count}, zeros,
          {mapOf(context, 3, {0, 1, 2}), mapOf(context, 3, {0}),
           mapOf(context, 3, {0, 2})},
          {parallel, reduction, parallel},
          [&](OpBuilder &b, Location l, ValueRange args) {
            Value position = linalg::IndexOp::create(b, l, 1);
            Value next = arith::AddIOp::create(
                b, l, position, arith::ConstantIndexOp::create(b, l, 1));
            Value number = arith::SIToFPOp::create(
                b, l, b.getF32Type(),
                arith::IndexCastOp::create(b, l, b.getI64Type(), next));
            Value isLast = arith::CmpFOp::create(
                b, l, arith::CmpFPredicate::OEQ, number, args[1]);
            Value zero = arith::ConstantOp::create(
                b, l, cast<TypedAttr>(b.getZeroAttr(elementType)));
            Value term = arith::SelectOp::create(b, l, isLast, args[0], zero);
            Value sum = arith::AddFOp::create(b, l, args[2], term);
            linalg::YieldOp::create(b, l, sum);
          })
          .getResult(0);
  return tensor::ExpandShapeOp::create(
      builder, loc, type({batch, 1, hidden}), last,
      SmallVector<ReassociationIndices>{{0}, {1, 2}});
}

/// The value as f32, and back to the element type.
static Value widen(OpBuilder &b, Location loc, Value value) {
  if (value.getType().isF32())
    return value;
  return arith::ExtFOp::create(b, loc, b.getF32Type(), value);
}
static Value narrow(OpBuilder &b, Location loc, Value value, Type type) {
  if (type.isF32())
    return value;
  return arith::TruncFOp::create(b, loc, type, value);
}
static Value constantF32(OpBuilder &b, Location loc, float value) {
  return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
}

Value ModelBuilder::meanPool(StringRef path, Value x, Value mask) {
  MLIRContext *context = builder.getContext();
  Location loc = at(path);
  int64_t hidden = shapeOf(x)[2];
  Value count = countKept(loc, mask);
  Value zeros = filled(loc, builder.getF32FloatAttr(0), {batch, hidden});
  Value sum = linalg::GenericOp::create(
                  builder, loc, zeros.getType(), ValueRange{x, mask}, zeros,
                  {mapOf(context, 3, {0, 1, 2}), mapOf(context, 3, {0, 1}),
                   mapOf(context, 3, {0, 2})},
                  {parallel, reduction, parallel},
                  [](OpBuilder &b, Location l, ValueRange args) {
                    Value zero = arith::ConstantIntOp::create(b, l, 0, 64);
                    Value keep = arith::CmpIOp::create(
                        b, l, arith::CmpIPredicate::ne, args[1], zero);
                    Value term = arith::SelectOp::create(
                        b, l, keep, widen(b, l, args[0]), constantF32(b, l, 0));
                    Value next = arith::AddFOp::create(b, l, args[2], term);
                    linalg::YieldOp::create(b, l, next);
                  })
                  .getResult(0);
  Value empty =
      tensor::EmptyOp::create(builder, loc, {batch, hidden}, elementType);
  return linalg::GenericOp::create(
             builder, loc, empty.getType(), ValueRange{sum, count}, empty,
             {mapOf(context, 2, {0, 1}), mapOf(context, 2, {0}),
              mapOf(context, 2, {0, 1})},
             {parallel, parallel},
             [&](OpBuilder &b, Location l, ValueRange args) {
               // A row without any kept position gives zeros.
               Value divisor = arith::MaximumFOp::create(
                   b, l, args[1], constantF32(b, l, 1e-9f));
               Value mean = arith::DivFOp::create(b, l, args[0], divisor);
               linalg::YieldOp::create(b, l, narrow(b, l, mean, elementType));
             })
      .getResult(0);
}

Value ModelBuilder::l2Normalize(StringRef path, Value x) {
  MLIRContext *context = builder.getContext();
  Location loc = at(path);
  Value zeros = filled(loc, builder.getF32FloatAttr(0), {batch});
  Value squares = linalg::GenericOp::create(
                      builder, loc, zeros.getType(), x, zeros,
                      {mapOf(context, 2, {0, 1}), mapOf(context, 2, {0})},
                      {parallel, reduction},
                      [](OpBuilder &b, Location l, ValueRange args) {
                        Value wide = widen(b, l, args[0]);
                        Value square = arith::MulFOp::create(b, l, wide, wide);
                        Value sum =
                            arith::AddFOp::create(b, l, args[1], square);
                        linalg::YieldOp::create(b, l, sum);
                      })
                      .getResult(0);
  Value empty = tensor::EmptyOp::create(builder, loc, shapeOf(x), elementType);
  return linalg::GenericOp::create(
             builder, loc, x.getType(), ValueRange{x, squares}, empty,
             {mapOf(context, 2, {0, 1}), mapOf(context, 2, {0}),
              mapOf(context, 2, {0, 1})},
             {parallel, parallel},
             [&](OpBuilder &b, Location l, ValueRange args) {
               Value norm = math::SqrtOp::create(b, l, args[1]);
               Value divisor = arith::MaximumFOp::create(
                   b, l, norm, constantF32(b, l, 1e-12f));
               Value scaled =
                   arith::DivFOp::create(b, l, widen(b, l, args[0]), divisor);
               linalg::YieldOp::create(b, l, narrow(b, l, scaled, elementType));
             })
      .getResult(0);
}

} // namespace tp
