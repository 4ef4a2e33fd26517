//===- Dequantize.cpp - All of nn.dequantize and its product --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The verifiers, rules and decompositions, and the library form of the product.
// The rule says where a group may be cut, which is nowhere: a dimension of the
// values is the groups, which the scales carry, times the positions of a group,
// which are whole. So every scale is where its group is.
//
//===----------------------------------------------------------------------===//

#include "QuantizedParts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tp/Interfaces/LibraryCalls.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp;
using namespace tp::nn;

//===----------------------------------------------------------------------===//
// nn.dequantize
//===----------------------------------------------------------------------===//

LogicalResult DequantizeOp::verify() {
  if (failed(expectShape(*this, "result", getResult(), shapeOf(getValues()))))
    return failure();
  return verifyQuantized(*this, getQuantized(*this));
}

FailureOr<ShardingRule> DequantizeOp::getShardingRule() {
  ShardingRule rule;
  Dims values, scales;
  addGroups(rule, shapeOf(getValues()), getGroup(), values, scales);
  if (getGroups())
    scales.back() = {rule.addFactor(shapeOf(getScales()).back(),
                                    FactorKind::Whole, "groups")};
  addOperand(rule, values, Linearity::None);
  addOperand(rule, scales, Linearity::None);
  if (getZeros())
    addOperand(rule, scales, Linearity::None);
  if (getGroups())
    addOperand(rule, {values.back()}, Linearity::None);
  addResult(rule, values);
  return rule;
}

/// Scales are finite: the loader refuses others. So a value of padding that is
/// its zero point stands for zero.
SmallVector<PadState> DequantizeOp::getPaddingStates(unsigned,
                                                     ArrayRef<PadState> in) {
  bool isZeroPoint = !getZeros() || isZero(in[2]);
  return {isZero(in[0]) && isZeroPoint ? PadState::Zero : PadState::Anything};
}

std::optional<IntegerRange> DequantizeOp::getIntegerRange(OpOperand &operand) {
  if (operand.get() != getGroups())
    return std::nullopt;
  return IntegerRange{shapeOf(getScales()).back()};
}

FailureOr<SmallVector<Value>> DequantizeOp::decompose(OpBuilder &builder) {
  Emitter emitter(builder, getLoc(), builder.getF32Type());
  return SmallVector<Value>{buildDequantized(emitter, getQuantized(*this))};
}

//===----------------------------------------------------------------------===//
// nn.quantized_linear
//===----------------------------------------------------------------------===//

LogicalResult QuantizedLinearOp::verify() {
  Type element = getElement();
  if (!element.isInteger(4) && !element.isInteger(8) &&
      !isa<Float8E4M3FNType, Float8E5M2Type, Float4E2M1FNType>(element))
    return emitOpError() << "expected elements of type i4, i8, f8E4M3FN, "
                            "f8E5M2 or f4E2M1FN, got "
                         << element;
  if (failed(expectLastDimension(*this, "input", getInput())) ||
      failed(expectRank(*this, "values", getValues(), 2)))
    return failure();
  QuantizedTensor weight = getQuantized(*this);
  SmallVector<int64_t> result(shapeOf(getInput()));
  result.back() = weight.shape[0];
  if (failed(expectShape(
          *this, "values", getValues(),
          {weight.shape[0], getRowBytes(element, weight.shape[1])})) ||
      failed(expectShape(*this, "result", getResult(), result)) ||
      failed(verifyQuantized(*this, weight)))
    return failure();
  return getBias() ? expectShape(*this, "bias", getBias(), weight.shape[0])
                   : success();
}

FailureOr<ShardingRule> QuantizedLinearOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> input = shapeOf(getInput()), values = shapeOf(getValues());
  Dims rows = addRows(rule, input.drop_back());
  unsigned n = rule.addFactor(values[0], FactorKind::Parallel, "n");
  unsigned k = rule.addFactor(input.back(), FactorKind::Reduction, "k");
  addOperand(rule, with(rows, k), Linearity::Multilinear);
  // It is made once the program is cut: what is asked for is its work.
  for (Value operand : getOperands().drop_front())
    addWhole(rule, operand);
  addResult(rule, with(rows, n));
  return rule;
}

SmallVector<PadState> QuantizedLinearOp::getPaddingStates(unsigned,
                                                          ArrayRef<PadState>) {
  return {PadState::Anything};
}

FailureOr<SmallVector<Value>> QuantizedLinearOp::decompose(OpBuilder &builder) {
  Emitter emitter(builder, getLoc(), builder.getF32Type());
  Value weight = buildDequantized(emitter, getQuantized(*this));
  auto linear = LinearOp::create(builder, getLoc(), getResult().getType(),
                                 getInput(), weight, getBias());
  auto values = linear.decompose(builder);
  linear.erase();
  return values;
}

//===----------------------------------------------------------------------===//
// Library form
//===----------------------------------------------------------------------===//

std::optional<EpilogueSet>
QuantizedLinearOp::getEpilogues(const EpilogueSet &known) {
  EpilogueSet epilogues = known;
  epilogues.scale &= !getBias();
  return epilogues;
}

double QuantizedLinearOp::getFlopsPerPoint() { return 2; }

StringRef tp::nn::getQuantizedName(Type type) {
  if (type.isInteger(4))
    return "i4";
  if (type.isInteger(8))
    return "i8";
  if (isa<Float8E4M3FNType>(type))
    return "e4m3";
  if (isa<Float8E5M2Type>(type))
    return "e5m2";
  if (isa<Float4E2M1FNType>(type))
    return "e2m1";
  return "e8m0";
}

llvm::json::Object tp::nn::describeQuantized(Type element, Value scales,
                                             Value zeros,
                                             ArrayRef<int64_t> group,
                                             int64_t packed) {
  Type scale = typeOf(scales).getElementType();
  std::string name = scale.isInteger(8) ? "e8m0" : getTypeName(scale);
  llvm::json::Object fields{
      {"type", getQuantizedName(element)},
      {"scale_type", name.empty() ? getQuantizedName(scale).str() : name},
      {"group", llvm::json::Array(group)},
      {"groups", shapeOf(scales).back()}};
  if (packed) {
    // The type of a group's number in f32.
    fields["scale_type"] = "f32";
    fields["groups"] = shapeOf(scales).back() / (packed + 2) * packed;
    fields["packed"] = packed;
    if (zeros)
      fields["zeros"] = "f32";
    return fields;
  }
  if (zeros && typeOf(zeros).getElementType().isF32())
    fields["zeros"] = "f32";
  return fields;
}

static int64_t getRows(QuantizedLinearOp op) {
  ArrayRef<int64_t> input = shapeOf(op.getInput());
  return typeOf(op.getInput()).getNumElements() / input.back();
}

std::optional<LibraryDescription>
QuantizedLinearOp::getLibraryDescription(const LibraryUse &use) {
  auto nameOf = [](Value value) {
    return getTypeName(typeOf(value).getElementType());
  };
  llvm::json::Object quantized = describeQuantized(
      getElement(), getScales(), getZeros(), getGroup(), getPacked());
  if ((*this)->hasAttr(integerInputAttrName))
    quantized["integers"] = true;
  llvm::json::Object fields{
      {"n", shapeOf(getValues())[0]},
      {"k", shapeOf(getInput()).back()},
      {"x_type", nameOf(getInput())},
      {"w_type", nameOf(getInput())},
      {"y_type", nameOf(getResult())},
      {"bias", getBias() != nullptr},
      {"bias_type", getBias() ? nameOf(getBias()) : "f32"},
      {"activation", use.epilogue.activation},
      {"residual", use.epilogue.residual != nullptr},
      {"quantized", std::move(quantized)}};
  if (use.epilogue.scale != 1)
    fields["scale"] = use.epilogue.scale;
  return LibraryDescription{
      "gemms", std::move(fields), {{"m", getRows(*this)}}};
}

LibraryCall QuantizedLinearOp::getLibraryCall(const LibraryUse &use) {
  return abi::quantized_gemm(
      getRows(*this), getInput(), shapeOf(getInput()).back(), getValues(),
      getScales(), getZeros(), getGroups(), /*outer_scale=*/Value(), getBias(),
      use.epilogue.residual, getResult(), shapeOf(getValues())[0]);
}
