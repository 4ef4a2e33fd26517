//===- CausalConv.cpp - All of nn.causal_conv -----------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The verifier, rule, decomposition and derivative of nn.causal_conv. With k =
// 3 and one channel, inputs a b c d and weight u v w give w a, v a + w b, u a +
// v b + w c, u b + v c + w d. By the input the derivative is the same
// convolution the other way around; by entry j of the weight it is the sum of
// products of the cotangent and the input that the entry meets.
//
//===----------------------------------------------------------------------===//

#include "ConvParts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tp;
using namespace tp::nn;

LogicalResult tp::nn::verifyConv(Operation *op, Value input, Value weight,
                                 Value bias, Value result) {
  if (failed(expectRank(op, "input", input, 3)) ||
      failed(expectRank(op, "weight", weight, 3)))
    return failure();
  RankedTensorType type = typeOf(input);
  int64_t channels = type.getDimSize(2), taps = shapeOf(weight)[2];
  Type element = type.getElementType();
  if (failed(expect(op, "weight", weight, {channels, 1, taps}, element)) ||
      failed(expect(op, "result", result, type.getShape(), element)))
    return failure();
  return bias ? expect(op, "bias", bias, {channels}, element) : success();
}

SmallVector<Operand> tp::nn::listTaps(Emitter &emitter, Value weight,
                                      Value bias, AffineExpr channel) {
  SmallVector<Operand> operands;
  for (int64_t tap = 0, taps = shapeOf(weight)[2]; tap < taps; ++tap)
    operands.push_back(
        {weight, {channel, emitter.constant(0), emitter.constant(tap)}});
  if (bias)
    operands.push_back({bias, {channel}});
  return operands;
}

Value tp::nn::sumTaps(Scalar &e, ValueRange taps, Value bias,
                      llvm::function_ref<Value(unsigned)> inputAt) {
  Value sum;
  // The earliest position first.
  for (unsigned back = taps.size(); back-- > 0;) {
    Value term = e.mul(taps[taps.size() - 1 - back], inputAt(back));
    sum = sum ? e.add(sum, term) : term;
  }
  return bias ? e.add(sum, bias) : sum;
}

LogicalResult CausalConvOp::verify() {
  return verifyConv(*this, getInput(), getWeight(), getBias(), getResult());
}

FailureOr<ShardingRule> CausalConvOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> input = shapeOf(getInput());
  unsigned b = rule.addFactor(input[0], FactorKind::Parallel, "b");
  unsigned s = rule.addFactor(input[1], FactorKind::Whole, "s");
  unsigned c = rule.addFactor(input[2], FactorKind::Parallel, "channels");
  unsigned one = rule.addFactor(1, FactorKind::Whole, "one");
  unsigned k = rule.addFactor(shapeOf(getWeight())[2], FactorKind::Whole, "k");
  addOperand(rule, {{b}, {s}, {c}}, Linearity::Multilinear);
  addOperand(rule, {{c}, {one}, {k}}, Linearity::Multilinear);
  if (getBias())
    addOperand(rule, {{c}}, Linearity::Additive);
  addResult(rule, {{b}, {s}, {c}});
  return rule;
}

SmallVector<PadState> CausalConvOp::getPaddingStates(unsigned,
                                                     ArrayRef<PadState> in) {
  // Zeros times a weight that does not carry the factor are not zero, for that
  // may hold an infinity.
  bool zero = llvm::all_of(in, isZero);
  return {zero ? PadState::Zero : PadState::Anything};
}

FailureOr<SmallVector<Value>> CausalConvOp::decompose(OpBuilder &builder) {
  RankedTensorType type = typeOf(getResult());
  Emitter emitter(builder, getLoc(), type.getElementType());
  Loops d = emitter.loops(3);
  int64_t taps = shapeOf(getWeight())[2], length = type.getDimSize(1);
  auto compute = [&](Scalar &e, ValueRange v) {
    Type index = e.b.getIndexType();
    auto inputAt = [&](unsigned back) {
      Value distance = e.integer(back, index), at = e.index(1);
      at = getReversed() ? e.add(at, distance) : e.sub(at, distance);
      Value inBounds, safe = clamp(e, at, length, inBounds);
      Value x = tensor::ExtractOp::create(
          e.b, getInput(), ValueRange{e.index(0), safe, e.index(2)});
      return e.select(inBounds, e.convert(x, e.wide), 0);
    };
    return sumTaps(e, v.take_front(taps), getBias() ? v.back() : Value(),
                   inputAt);
  };
  return SmallVector<Value>{emitter.map(
      type, listTaps(emitter, getWeight(), getBias(), d[2]), compute)};
}

/// Zeros before the sequence, or behind it, so that every position has as many
/// neighbours as the weight has entries.
static Value padSequence(OpBuilder &builder, Location loc, Value input,
                         int64_t before, int64_t behind) {
  RankedTensorType type = typeOf(input);
  SmallVector<int64_t> shape(type.getShape()), low{0, before, 0},
      high{0, behind, 0};
  shape[1] += before + behind;
  Value zero = arith::ConstantOp::create(
      builder, loc, builder.getFloatAttr(type.getElementType(), 0));
  return tensor::PadOp::create(
      builder, loc, type.clone(shape), input,
      getAsIndexOpFoldResult(builder.getContext(), low),
      getAsIndexOpFoldResult(builder.getContext(), high), zero);
}

FailureOr<SmallVector<Value>> CausalConvOp::buildVjp(OpBuilder &builder,
                                                     ValueRange cotangents) {
  RankedTensorType weight = typeOf(getWeight());
  Emitter emitter(builder, getLoc(), weight.getElementType());
  Value cotangent = cotangents[0];
  auto dInput = CausalConvOp::create(
      builder, getLoc(), getInput().getType(), cotangent, getWeight(),
      /*bias=*/Value(), getReversed() ? UnitAttr() : builder.getUnitAttr());
  int64_t channels = weight.getDimSize(0), taps = weight.getDimSize(2);
  bool reversed = getReversed();
  // One zero more than is read: a loop that is read as it stands, without an
  // offset, would have to be as long as the padded input.
  Value padded = padSequence(builder, getLoc(), getInput(), reversed ? 1 : taps,
                             reversed ? taps - 1 : 0);
  Loops d = emitter.loops(3);
  SmallVector<Value> entries;
  for (int64_t tap = 0; tap < taps; ++tap) {
    // Position i of the padded input is i - k of the input, or i - 1.
    AffineExpr at = d[1] + (reversed ? taps - tap : tap + 1);
    Value entry = emitter.reduce(
        weight.clone({channels}), {d[2]}, 3, Combine::Sum,
        {{cotangent, d}, {padded, {d[0], at, d[2]}}},
        [](Scalar &e, ValueRange v) { return e.mul(v[0], v[1]); });
    entries.push_back(emitter.split(entry, 0, {channels, 1, 1}));
  }
  Value dWeight = entries.front();
  if (taps > 1)
    dWeight = tensor::ConcatOp::create(builder, getLoc(), 2, entries);
  SmallVector<Value> gradients{dInput, dWeight};
  if (getBias())
    gradients.push_back(emitter.reduce(
        typeOf(getBias()), {d[2]}, 3, Combine::Sum, {{cotangent, d}},
        [](Scalar &, ValueRange v) { return v[0]; }));
  return gradients;
}
