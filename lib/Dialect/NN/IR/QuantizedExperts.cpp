//===- QuantizedExperts.cpp - All of nn.quantized_experts -----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The verifier, decomposition and library form of nn.quantized_experts. It is
// made once the program is cut, from nn.experts and three nn.dequantize.
//
//===----------------------------------------------------------------------===//

#include "ExpertParts.h"
#include "QuantizedParts.h"
#include "tp/Interfaces/LibraryCalls.h"
#include <cmath>

using namespace mlir;
using namespace tp;
using namespace tp::nn;

/// Matrix i of gate, up and down.
static QuantizedTensor getMatrix(QuantizedExpertsOp op, unsigned i) {
  ArrayRef<int64_t> gate = shapeOf(op.getValues()[0]),
                    down = shapeOf(op.getValues()[2]);
  int64_t k = shapeOf(op.getInput()).back();
  return {i < 2 ? SmallVector<int64_t>{gate[0], gate[1], k}
                : SmallVector<int64_t>{gate[0], down[1], gate[1]},
          op.getElement(),
          op.getValues()[i],
          op.getScales()[i],
          op.getZeros().empty() ? Value() : op.getZeros()[i],
          Value(),
          i < 2 ? op.getGroup() : op.getDownGroup(),
          int64_t(op.getPacked())};
}

LogicalResult QuantizedExpertsOp::verify() {
  if (getValues().size() != 3 || getScales().size() != 3 ||
      (!getZeros().empty() && getZeros().size() != 3))
    return emitOpError() << "expected values and scales, and zeros or none, of "
                            "gate, up and down, got "
                         << getValues().size() << ", " << getScales().size()
                         << " and " << getZeros().size();
  for (Value values : getValues())
    if (failed(expectRank(*this, "values", values, 3)))
      return failure();
  for (unsigned i = 0; i < 3; ++i) {
    QuantizedTensor matrix = getMatrix(*this, i);
    SmallVector<int64_t> bytes(matrix.shape);
    bytes.back() = getRowBytes(getElement(), bytes.back());
    if (failed(expectShape(*this, "values", matrix.values, bytes)) ||
        failed(verifyQuantized(*this, matrix)))
      return failure();
  }
  SmallVector<int64_t> routing(shapeOf(getInput())), result = routing;
  routing.back() = shapeOf(getValues()[0])[0];
  result.back() = shapeOf(getValues()[2])[1];
  if (failed(expectShape(*this, "routing", getRouting(), routing)) ||
      failed(expectShape(*this, "result", getResult(), result)))
    return failure();
  ArrayRef<int64_t> width = shapeOf(getValues()[0]).take_front(2);
  if (failed(verifyGating(*this, width)))
    return failure();
  return getInside() ? expectShape(*this, "inside", getInside(), width[1])
                     : success();
}

FailureOr<ShardingRule> QuantizedExpertsOp::getShardingRule() {
  // The rule gives the work, by the factors of nn.experts.
  ShardingRule rule;
  ArrayRef<int64_t> input = shapeOf(getInput()), down = shapeOf(getValues()[2]);
  Dims rows = addRows(rule, input.drop_back());
  rule.addFactor(down[0], FactorKind::Reduction, "experts");
  rule.addFactor(shapeOf(getValues()[0])[1], FactorKind::Reduction, "width");
  unsigned k = rule.addFactor(input.back(), FactorKind::Reduction, "k");
  unsigned n = rule.addFactor(down[1], FactorKind::Parallel, "n");
  addOperand(rule, with(rows, k), Linearity::None);
  for (Value operand : getOperands().drop_front())
    addWhole(rule, operand);
  addResult(rule, with(rows, n));
  return rule;
}

SmallVector<PadState> QuantizedExpertsOp::getPaddingStates(unsigned,
                                                           ArrayRef<PadState>) {
  return {PadState::Anything};
}

FailureOr<SmallVector<Value>>
QuantizedExpertsOp::decompose(OpBuilder &builder) {
  Emitter emitter(builder, getLoc(), builder.getF32Type());
  SmallVector<Value> matrices;
  for (unsigned i = 0; i < 3; ++i)
    matrices.push_back(buildDequantized(emitter, getMatrix(*this, i)));
  auto experts = ExpertsOp::create(
      builder, getLoc(), getResult().getType(), getInput(), getRouting(),
      matrices[0], matrices[1], matrices[2], getBiases(), getInside(),
      getActivationAttr(), getActiveAttr(), getTopKAttr(), getAlphaAttr(),
      getLimitAttr(), getUpOffsetAttr(), getScalesInputAttr());
  auto values = experts.decompose(builder);
  experts.erase();
  return values;
}

//===----------------------------------------------------------------------===//
// Library form
//===----------------------------------------------------------------------===//

double QuantizedExpertsOp::getFlopsPerPoint() {
  double k = shapeOf(getInput()).back(), n = shapeOf(getResult()).back();
  return getActive().convertToDouble() * (4 / n + 2 / k);
}

double QuantizedExpertsOp::getReadPart(OpOperand &operand) {
  unsigned index = operand.getOperandNumber();
  bool isSmall = llvm::is_contained(getBiases(), operand.get()) ||
                 operand.get() == getInside();
  if (index < 2 || isSmall)
    return 1;
  return 1 - std::pow(1 - getActive().convertToDouble(), countRows(*this));
}

std::optional<LibraryDescription>
QuantizedExpertsOp::getLibraryDescription(const LibraryUse &) {
  ArrayRef<int64_t> down = shapeOf(getValues()[2]);
  RankedTensorType input = typeOf(getInput());
  auto describe = [&](unsigned i, ArrayRef<int64_t> group) {
    return describeQuantized(getElement(), getScales()[i],
                             getZeros().empty() ? Value() : getZeros()[i],
                             group.drop_front(), getPacked());
  };
  llvm::json::Object fields{{"experts", down[0]},
                            {"k", input.getShape().back()},
                            {"f", shapeOf(getValues()[0])[1]},
                            {"n", down[1]},
                            {"type", getTypeName(input.getElementType())},
                            {"activation", getActivation()},
                            {"quantized", describe(0, getGroup())},
                            {"quantized_down", describe(2, getDownGroup())}};
  describeGating(*this, fields);
  return LibraryDescription{
      "experts", std::move(fields), {{"rows", countRows(*this)}}};
}

LibraryCall QuantizedExpertsOp::getLibraryCall(const LibraryUse &) {
  auto zeros = [&](unsigned i) {
    return getZeros().empty() ? Value() : getZeros()[i];
  };
  ValueRange values = getValues(), scales = getScales();
  return abi::quantized_experts(
      countRows(*this), getInput(), getRouting(), values[0], scales[0],
      zeros(0), values[1], scales[1], zeros(1), values[2], scales[2], zeros(2),
      getBias(*this, 0), getBias(*this, 1), getInside(), getResult());
}
