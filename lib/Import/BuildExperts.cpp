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

#include "ModelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Dialect/NN/IR/NNOps.h"

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
  case Activation::ReLUSquared: // which the config's reader refuses
    break;
  }
  llvm_unreachable("unknown activation");
}

Value buildExperts(ModelBuilder &m, StringRef layer, Value x) {
  const ModelConfig &c = m.config;
  const ModelLayout &layout = c.layout;
  const ExpertsConfig &e = *c.experts;
  OpBuilder &b = m.builder;
  auto at = [&](StringRef part) { return (layer + "." + part).str(); };
  auto weight = [&](StringRef part, ArrayRef<int64_t> shape) {
    return m.parameter(m.namesOf(at(part) + ".weight"), shape);
  };
  SmallVector<int64_t> shape(ModelBuilder::shapeOf(x));
  shape.back() = e.count;
  auto type = RankedTensorType::get(shape, b.getF32Type());
  Location router = m.at(m.placeOf(at(layout.router)));
  Value logits = nn::LinearOp::create(
      b, router, type, x, weight(layout.router, {e.count, c.hiddenSize}),
      /*bias=*/Value());
  Value bias;
  if (!layout.routerBias.empty())
    bias = m.parameter(m.namesOf(at(layout.routerBias)), {e.count},
                       /*box=*/nullptr, b.getF32Type());
  auto flag = [&](bool isSet) { return isSet ? b.getUnitAttr() : UnitAttr(); };
  Value routing = nn::RouterOp::create(
      b, router, type, logits, bias, b.getI64IntegerAttr(e.perToken),
      flag(e.sigmoid), flag(e.normalizes), b.getF64FloatAttr(e.scale),
      b.getI64IntegerAttr(e.groups), b.getI64IntegerAttr(e.topGroups),
      b.getI64IntegerAttr(e.groupBest));
  routing = m.keepTokens(m.placeOf(at(layout.router)), routing);

  // Checkpoints may have a tensor for each expert, or those of all as one.
  auto matrix = [&](StringRef name, StringRef stackName,
                    ArrayRef<int64_t> shape, const ParameterBox *box) {
    SmallVector<Spelling, 2> spellings{
        {m.namesOf(at(name) + ".weight"), std::nullopt}};
    auto [stack, own] = name.split(".{e}");
    if (!own.empty())
      spellings.push_back({m.namesOf(at(stack) + "." + stackName), {}});
    if (box)
      spellings.back().box = *box;
    return m.weight(spellings, shape);
  };
  auto inner = [&](StringRef name, int64_t offset) {
    ParameterBox box{
        {e.count, 2 * e.width, c.hiddenSize}, {0, offset, 0}, {0, 1, 2}};
    bool isFused = !layout.expertGateUp.empty();
    return matrix(isFused ? layout.expertGateUp : name, "gate_up_proj",
                  {e.count, e.width, c.hiddenSize}, &box);
  };
  Value gate = inner(layout.expertGate, 0),
        up = inner(layout.expertUp, e.width);
  Value down = matrix(layout.expertDown, "down_proj",
                      {e.count, c.hiddenSize, e.width}, nullptr);
  return nn::ExpertsOp::create(
      b, m.at(m.placeOf(at(layout.feedForward) + ".experts")), x.getType(), x,
      routing, gate, up, down, /*inside=*/Value(),
      b.getStringAttr(getName(c.activation)),
      b.getF64FloatAttr(double(e.perToken) / double(e.count)),
      b.getI64IntegerAttr(e.perToken));
}

/// x[b, s, h] times 1 / (1 + exp(-logit[b, s])).
static Value multiplySigmoid(ModelBuilder &m, Location loc, Value x,
                             Value logit) {
  OpBuilder &b = m.builder;
  auto type = cast<RankedTensorType>(x.getType());
  AffineMap all = b.getMultiDimIdentityMap(3);
  SmallVector<AffineExpr> row{b.getAffineDimExpr(0), b.getAffineDimExpr(1)};
  SmallVector<utils::IteratorType> loops(3, utils::IteratorType::parallel);
  Value empty =
      tensor::EmptyOp::create(b, loc, type.getShape(), type.getElementType());
  return linalg::GenericOp::create(
             b, loc, type, ValueRange{x, logit}, empty,
             {all, AffineMap::get(3, 0, row, b.getContext()), all}, loops,
             [&](OpBuilder &body, Location at, ValueRange args) {
               Type f32 = body.getF32Type();
               bool isNarrow = !type.getElementType().isF32();
               Value value = args[0];
               if (isNarrow)
                 value = arith::ExtFOp::create(body, at, f32, value);
               Value one =
                   arith::ConstantOp::create(body, at, body.getF32FloatAttr(1));
               Value decay = math::ExpOp::create(
                   body, at, arith::NegFOp::create(body, at, args[1]));
               Value part = arith::DivFOp::create(
                   body, at, one, arith::AddFOp::create(body, at, one, decay));
               value = arith::MulFOp::create(body, at, value, part);
               if (isNarrow)
                 value = arith::TruncFOp::create(body, at,
                                                 type.getElementType(), value);
               linalg::YieldOp::create(body, at, value);
             })
      .getResult(0);
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
