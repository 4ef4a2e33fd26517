//===- Quantize.cpp - All of nn.quantize and its scales -------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The verifiers, rules and decompositions of nn.quantize and
// nn.activation_scales. A scale of a row is a maximum, so the algebra knows
// what ranks owe each other that have parts of the row: the larger of their
// maxima, and nothing where groups are whole.
//
//===----------------------------------------------------------------------===//

#include "QuantizedParts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp;
using namespace tp::nn;

//===----------------------------------------------------------------------===//
// nn.activation_scales
//===----------------------------------------------------------------------===//

LogicalResult ActivationScalesOp::verify() {
  Type element = getElement();
  if (!element.isInteger(8) && !isa<Float8E4M3FNType, Float8E5M2Type>(element))
    return emitOpError()
           << "expected element to be i8, f8E4M3FN or f8E5M2, got " << element;
  if (failed(expectLastDimension(*this, "input", getInput())))
    return failure();
  int64_t group = getGroup();
  if (group < 0)
    return emitOpError() << "expected a group size of at least 0, got "
                         << group;
  if (std::optional<APFloat> bound = getBound();
      bound && !(bound->isFinite() && !bound->isNegative()))
    return emitOpError("expected bound to be a finite number of at least 0");
  SmallVector<int64_t> scales(shapeOf(getInput()));
  scales.back() = group ? llvm::divideCeil(scales.back(), group) : 1;
  return expectShape(*this, "result", getResult(), scales);
}

FailureOr<ShardingRule> ActivationScalesOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> input = shapeOf(getInput());
  Dims rows = addRows(rule, input.drop_back()), values = rows, scales = rows;
  int64_t size = input.back(), group = getGroup();
  bool isOne = group == 0 || group >= size;
  if (isOne) {
    unsigned k = rule.addFactor(size, FactorKind::Reduction, "k");
    rule.factors[k].reduction = ReductionKind::Max;
    values.push_back({k});
    scales.emplace_back();
  } else {
    addGroups(rule, {size}, {group}, values, scales);
  }
  addOperand(rule, values, Linearity::None);
  addResult(rule, scales);
  return rule;
}

/// A magnitude of zero is below no other, so that it is as good as minus
/// infinity among the terms of a maximum; where a result has it, it is zero.
SmallVector<PadState>
ActivationScalesOp::getPaddingStates(unsigned factor, ArrayRef<PadState> in) {
  if (!isZero(in[0]))
    return {PadState::Anything};
  FailureOr<ShardingRule> rule = getShardingRule();
  bool isReduced =
      succeeded(rule) && rule->factors[factor].kind == FactorKind::Reduction;
  return {isReduced ? PadState::NegInf : PadState::Zero};
}

/// Rows that zeros fill up to `size`.
static Value fillRows(Emitter &emitter, Value rows, int64_t size) {
  SmallVector<int64_t> shape(shapeOf(rows));
  int64_t present = shape.back();
  shape.back() = size;
  unsigned rank = shape.size();
  return emitter.map(emitter.wideType(shape), {}, [&](Scalar &e, ValueRange) {
    SmallVector<Value> index;
    for (unsigned d = 0; d < rank; ++d)
      index.push_back(e.index(d));
    Type type = e.b.getIndexType();
    Value isPresent = e.compare(CmpI::ult, index.back(), present);
    index.back() =
        arith::MinUIOp::create(e.b, index.back(), e.integer(present - 1, type));
    Value value =
        e.convert(tensor::ExtractOp::create(e.b, rows, index), e.wide);
    return e.select(isPresent, value, 0);
  });
}

FailureOr<SmallVector<Value>>
ActivationScalesOp::decompose(OpBuilder &builder) {
  Emitter emitter(builder, getLoc(), builder.getF32Type());
  ArrayRef<int64_t> input = shapeOf(getInput());
  unsigned rank = input.size();
  int64_t size = input.back(), group = getGroup();
  int64_t each = group == 0 ? size : std::min(group, size);
  RankedTensorType type = typeOf(getResult());
  double largest = getLargest(getElement());
  auto magnitude = [](Scalar &e, ValueRange v) -> Value { return e.abs(v[0]); };
  Loops d = emitter.loops(rank + 1);
  Loops scales(ArrayRef(d).drop_back());
  Value padded = getInput();
  if (size % each != 0)
    padded = fillRows(emitter, padded, llvm::alignTo(size, each));
  Value grouped =
      emitter.split(padded, rank - 1, {shapeOf(padded).back() / each, each});
  Value maxima = emitter.reduce(type, scales, rank + 1, Combine::Max,
                                {{grouped, d}}, magnitude);
  return SmallVector<Value>{emitter.map(
      type, {{maxima, emitter.loops(rank)}}, [&](Scalar &e, ValueRange v) {
        Value value = v[0];
        if (std::optional<APFloat> bound = getBound())
          value = e.min(value, bound->convertToDouble());
        return e.div(value, largest);
      })};
}

//===----------------------------------------------------------------------===//
// nn.quantize
//===----------------------------------------------------------------------===//

LogicalResult QuantizeOp::verify() {
  if (failed(expectShape(*this, "result", getResult(), shapeOf(getInput()))))
    return failure();
  return verifyQuantized(*this,
                         {SmallVector<int64_t>(shapeOf(getInput())),
                          typeOf(getResult()).getElementType(), getResult(),
                          getScales(), Value(), Value(), getGroup()});
}

FailureOr<ShardingRule> QuantizeOp::getShardingRule() {
  ShardingRule rule;
  Dims values, scales;
  addGroups(rule, shapeOf(getInput()), getGroup(), values, scales);
  addOperand(rule, values, Linearity::None);
  addOperand(rule, scales, Linearity::None);
  addResult(rule, values);
  return rule;
}

SmallVector<PadState> QuantizeOp::getPaddingStates(unsigned,
                                                   ArrayRef<PadState> in) {
  return {isZero(in[0]) ? PadState::Zero : PadState::Anything};
}

FailureOr<SmallVector<Value>> QuantizeOp::decompose(OpBuilder &builder) {
  Emitter emitter(builder, getLoc(), builder.getF32Type());
  return SmallVector<Value>{buildQuantized(emitter, *this)};
}
