//===- BuildExperts.cpp - A mixture of experts ----------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The router's logits and bias are in f32 whatever the model's type, for
// experts that tie in 16 bits are other experts. The matrices of all experts
// are one parameter each, which a checkpoint holds as a tensor for each expert
// or as one for all.
//
//===----------------------------------------------------------------------===//

#include "LayerParts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Dialect/NN/IR/Emitter.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/TP/IR/ModelAttributes.h"
#include <cmath>

using namespace mlir;

namespace tp {

/// The activation's name in nn.experts.
static StringRef getName(Activation activation) {
  switch (activation) {
  case Activation::SiLU:
    return "silu";
  case Activation::GeluErf:
    return "gelu_erf";
  case Activation::GeluTanh:
    return "gelu_tanh";
  case Activation::ReLU:
    return "relu";
  case Activation::ReLUSquared: // without a gate: the product of relu(u) and u
    return "relu";
  }
  llvm_unreachable("unknown activation");
}

namespace {
/// Builds the experts of the layer at `layer`.
struct ExpertsBuilder {
  ModelBuilder &m;
  StringRef layer;
  const ModelConfig &c = m.config;
  const ModelLayout &layout = m.config.layout;
  const ExpertsConfig &e = *m.config.experts;
  OpBuilder &b = m.builder;

  std::string at(StringRef part) const { return (layer + "." + part).str(); }
  UnitAttr flag(bool isSet) const {
    return isSet ? b.getUnitAttr() : UnitAttr();
  }
  FloatAttr number(double value) const { return b.getF64FloatAttr(value); }
  /// The name of a tensor of all experts, beside their paths.
  std::string stackOf(StringRef name, StringRef stack) const {
    return at(name.split(".{e}").first) + "." + stack.str();
  }

  Value row(StringRef name, int64_t size) const;
  Value route(Value x) const;
  Value projectLatent(StringRef name, Value x, int64_t outputs) const;
  Spelling spellStack(StringRef name, StringRef stack, int64_t outputs,
                      int64_t inputs, int64_t part) const;
  SmallVector<Spelling, 2> spell(StringRef name, StringRef stack,
                                 int64_t outputs, int64_t inputs,
                                 int64_t part) const;
  Value matrix(StringRef name, StringRef stack, int64_t outputs, int64_t inputs,
               int64_t part = -1) const;
  Value roundInput(Value x, ArrayRef<Spelling> gate, int64_t inputs) const;
  Value bias(StringRef name, int64_t part) const;
  Value addDownBias(Value y, Value routing) const;
  Value build(Value x, Value choice) const;
};
} // namespace

/// A row of factors.
Value ExpertsBuilder::row(StringRef name, int64_t size) const {
  Value factors = m.parameter(m.namesOf(at(name)), {size});
  factors.getDefiningOp()->setAttr(initAttrName, b.getStringAttr("ones"));
  return factors;
}

/// How much each token uses each expert.
Value ExpertsBuilder::route(Value x) const {
  SmallVector<int64_t> shape(ModelBuilder::shapeOf(x));
  shape.back() = e.count;
  auto type = RankedTensorType::get(shape, b.getF32Type());
  std::string path = at(layout.router), place = m.placeOf(path);
  if (!layout.routerScale.empty()) {
    std::string scale = m.placeOf(at(layout.routerScale));
    x = scaleRows(m, scale, m.normWithoutWeight(scale, x),
                  row(layout.routerScale, c.hiddenSize));
    x = m.scale(scale, x, 1 / std::sqrt(double(c.hiddenSize)));
  }
  Value weight =
      m.parameter(m.namesOf(path + ".weight"), {e.count, c.hiddenSize});
  Value bias, choiceBias;
  if (layout.hasRouterBias)
    bias = m.parameter(m.namesOf(path + ".bias"), {e.count});
  Location loc = m.at(place);
  Value logits = nn::LinearOp::create(b, loc, type, x, weight, bias);
  if (!layout.routerBias.empty()) {
    SmallVector<int64_t> shape(layout.routerBiasIsRow ? 1 : 0, 1);
    shape.push_back(e.count);
    choiceBias = m.parameter(m.namesOf(at(layout.routerBias)), shape,
                             /*box=*/nullptr, b.getF32Type());
    if (layout.routerBiasIsRow)
      choiceBias = tensor::CollapseShapeOp::create(
          b, loc, choiceBias, SmallVector<ReassociationIndices>{{0, 1}});
  }
  Value routing = nn::RouterOp::create(
      b, loc, type, logits, choiceBias, b.getI64IntegerAttr(e.perToken),
      flag(e.sigmoid), flag(e.normalizes), number(e.scale),
      b.getI64IntegerAttr(e.groups), b.getI64IntegerAttr(e.topGroups),
      b.getI64IntegerAttr(e.groupBest), number(e.epsilon));
  if (!layout.expertScale.empty())
    routing = scaleRows(m, m.placeOf(at(layout.expertScale)), routing,
                        row(layout.expertScale, e.count), b.getF32Type());
  return routing;
}

/// A stack of all experts' matrices, or part 0 (gate) or 1 (up) of one of both.
Spelling ExpertsBuilder::spellStack(StringRef name, StringRef stack,
                                    int64_t outputs, int64_t inputs,
                                    int64_t part) const {
  Spelling spelling{m.namesOf(stackOf(name, stack)), std::nullopt};
  int64_t total = part < 0 ? outputs : 2 * outputs;
  bool isSwapped = !layout.expertsAreStacks;
  for (const std::string &one : spelling.names) {
    const CheckpointTensor *tensor =
        layout.stacksMayBeSwapped ? m.find(one, {}) : nullptr;
    isSwapped |= tensor && ArrayRef(tensor->shape) ==
                               ArrayRef<int64_t>{e.count, total, inputs};
  }
  if (isSwapped && part < 0)
    return spelling;
  size_t rows = isSwapped ? 1 : 2;
  ParameterBox box{{e.count, inputs, total}, {0, 0, 0}, {0, 2, 1}};
  if (isSwapped)
    box = {{e.count, total, inputs}, {0, 0, 0}, {0, 1, 2}};
  if (part > 0)
    box.offsets[rows] = layout.expertsAlternate ? 1 : outputs;
  if (part >= 0 && layout.expertsAlternate) {
    box.steps.assign(3, 1);
    box.steps[rows] = 2;
  }
  spelling.box = box;
  return spelling;
}

/// How files have the matrices [experts, outputs, inputs]: a tensor for each
/// expert, or those of all as one. `stack` is the latter's name.
SmallVector<Spelling, 2> ExpertsBuilder::spell(StringRef name, StringRef stack,
                                               int64_t outputs, int64_t inputs,
                                               int64_t part) const {
  SmallVector<Spelling, 2> spellings{
      {m.namesOf(at(name) + ".weight"), std::nullopt}};
  if (part >= 0 && !layout.expertGateUp.empty()) {
    ParameterBox box{
        {e.count, 2 * outputs, inputs}, {0, part * outputs, 0}, {0, 1, 2}};
    spellings = {{m.namesOf(at(layout.expertGateUp) + ".weight"), box}};
  } else if (name.contains(".{e}")) {
    spellings.push_back(spellStack(name, stack, outputs, inputs, part));
  }
  if (layout.expertsAreStacks)
    std::swap(spellings[0], spellings[1]);
  // Biases of experts that have a tensor each are of no known name.
  if (layout.expertsHaveBias)
    spellings.pop_back();
  return spellings;
}

Value ExpertsBuilder::matrix(StringRef name, StringRef stack, int64_t outputs,
                             int64_t inputs, int64_t part) const {
  return m.weight(spell(name, stack, outputs, inputs, part),
                  {e.count, outputs, inputs});
}

/// Returns what gate and up read by the recipe. A scale that is found at
/// run time is that of the token, and so one for all experts.
Value ExpertsBuilder::roundInput(Value x, ArrayRef<Spelling> gate,
                                 int64_t inputs) const {
  SmallVector<int64_t> shape{e.count, e.width, inputs};
  std::string place = m.placeOf(at(layout.feedForward) + ".experts");
  Value rounded = m.roundInput(place, x, gate, shape);
  if (rounded.getType() == x.getType())
    return rounded;
  return arith::TruncFOp::create(b, m.at(place), x.getType(), rounded);
}

/// The bias of gate (part 0) or up (part 1), [experts, width], in f32.
Value ExpertsBuilder::bias(StringRef name, int64_t part) const {
  bool alternates = layout.expertsAlternate;
  ParameterBox box{
      {e.count, 2 * e.width}, {0, alternates ? part : part * e.width}, {0, 1}};
  if (alternates)
    box.steps = {1, 2};
  return m.parameter(m.namesOf(stackOf(name, "gate_up_proj_bias")),
                     {e.count, e.width}, &box, b.getF32Type());
}

/// y[b, s, n] plus the biases of the experts, each times its weight.
Value ExpertsBuilder::addDownBias(Value y, Value routing) const {
  std::string path = stackOf(layout.expertDown, "down_proj_bias");
  Value bias = m.parameter(m.namesOf(path), {e.count, c.hiddenSize},
                           /*box=*/nullptr, b.getF32Type());
  Location loc = m.at(m.placeOf(path));
  auto type = cast<RankedTensorType>(y.getType());
  Value sum = nn::MatmulOp::create(b, loc, type.clone(b.getF32Type()), routing,
                                   bias, /*transposed=*/UnitAttr());
  if (!type.getElementType().isF32())
    sum = arith::TruncFOp::create(b, loc, type, sum);
  return arith::AddFOp::create(b, loc, y, sum);
}

/// Projects to or from what experts read and give.
Value ExpertsBuilder::projectLatent(StringRef name, Value x,
                                    int64_t outputs) const {
  if (!e.latentSize)
    return x;
  return project(m, at(name), x, outputs, c.feedForwardBias);
}

Value ExpertsBuilder::build(Value x, Value choice) const {
  Value routing = route(choice);
  int64_t hidden = e.latentSize ? e.latentSize : c.hiddenSize;
  x = projectLatent(layout.expertsIn, x, hidden);
  Value gate, up;
  bool isShared = c.activation == Activation::ReLUSquared;
  if (isShared) {
    gate = up = matrix(layout.expertUp, "up_proj", e.width, hidden);
  } else {
    gate = matrix(layout.expertGate, "gate_up_proj", e.width, hidden, 0);
    up = matrix(layout.expertUp, "gate_up_proj", e.width, hidden, 1);
  }
  x = roundInput(
      x,
      isShared ? spell(layout.expertUp, "up_proj", e.width, hidden, -1)
               : spell(layout.expertGate, "gate_up_proj", e.width, hidden, 0),
      hidden);
  Value down = matrix(layout.expertDown, "down_proj", hidden, e.width);
  SmallVector<Value> biases;
  if (layout.expertsHaveBias)
    biases = {bias(layout.expertGate, 0), bias(layout.expertUp, 1)};
  Value y = nn::ExpertsOp::create(
      b, m.at(m.placeOf(at(layout.feedForward) + ".experts")), x.getType(), x,
      routing, gate, up, down, biases, /*inside=*/Value(),
      b.getStringAttr(getName(c.activation)),
      number(double(e.perToken) / double(e.count)),
      b.getI64IntegerAttr(e.perToken), number(e.alpha),
      e.limit == 0 ? FloatAttr() : number(e.limit), number(e.upOffset),
      flag(e.scalesInput));
  y = projectLatent(layout.expertsOut, y, c.hiddenSize);
  return layout.expertsHaveBias ? addDownBias(y, routing) : y;
}

Value buildExperts(ModelBuilder &m, StringRef layer, Value x, Value choice) {
  return ExpertsBuilder{m, layer}.build(x, choice);
}

/// x[b, s, h] times 1 / (1 + exp(-logit[b, s])).
static Value multiplySigmoid(ModelBuilder &m, Location loc, Value x,
                             Value logit) {
  nn::Emitter emitter(m.builder, loc, m.builder.getF32Type());
  nn::Loops d = emitter.loops(3);
  return emitter.map(
      nn::typeOf(x), {{x, d}, {logit, {d[0], d[1]}}},
      [](nn::Scalar &e, ValueRange v) { return e.mul(v[0], e.sigmoid(v[1])); });
}

Value buildSharedGate(ModelBuilder &m, StringRef layer, Value x, Value shared) {
  std::string path = (layer + "." + m.config.layout.sharedExpertGate).str();
  Location loc = m.at(m.placeOf(path));
  Value weight =
      m.parameter(m.namesOf(path + ".weight"), {1, m.config.hiddenSize});
  SmallVector<int64_t> shape(ModelBuilder::shapeOf(x));
  shape.back() = 1;
  Value logit = nn::LinearOp::create(
      m.builder, loc, RankedTensorType::get(shape, m.builder.getF32Type()), x,
      weight, /*bias=*/Value());
  SmallVector<ReassociationIndices> groups{{0}, {1, 2}};
  logit = tensor::CollapseShapeOp::create(m.builder, loc, logit, groups);
  return multiplySigmoid(m, loc, shared, logit);
}

} // namespace tp
