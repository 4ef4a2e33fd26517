//===- Matmul.cpp - All of nn.matmul --------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The verifier, rule, decomposition, derivative and library form of nn.matmul,
// a GEMM that reads its operands as they lie. These are the products of a
// backward: of nn.linear by its input, y w, and by its weight, yᵀ x, a sum over
// rows. The latter may be added to what there is already, in its place.
//
//===----------------------------------------------------------------------===//

#include "Parts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tp/Interfaces/LibraryCalls.h"

using namespace mlir;
using namespace tp;
using namespace tp::nn;

LogicalResult MatmulOp::verify() {
  RankedTensorType input = typeOf(getInput());
  if (failed(expectLastDimension(*this, "input", getInput())) ||
      failed(expectLastDimension(*this, "weight", getWeight())))
    return failure();
  int64_t n = shapeOf(getWeight()).back();
  SmallVector<int64_t> weight{input.getShape().back(), n};
  SmallVector<int64_t> result(input.getShape());
  result.back() = n;
  if (getTransposed())
    std::swap(weight, result);
  if (failed(expectShape(*this, "weight", getWeight(), weight)) ||
      failed(expectShape(*this, "result", getResult(), result)))
    return failure();
  Type narrow = typeOf(getWeight()).getElementType(), wide = getF32(*this);
  auto isNarrowOrWide = [&](StringRef what, Value value) -> LogicalResult {
    Type element = typeOf(value).getElementType();
    if (element == narrow || element == wide)
      return success();
    return emitOpError() << "expected " << what << " of element type " << narrow
                         << " or f32, got " << element;
  };
  return success(succeeded(isNarrowOrWide("input", getInput())) &&
                 succeeded(isNarrowOrWide("result", getResult())));
}

FailureOr<ShardingRule> MatmulOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> input = shapeOf(getInput());
  Dims rows = addRows(rule, input.drop_back());
  unsigned n =
      rule.addFactor(shapeOf(getWeight()).back(), FactorKind::Parallel, "n");
  unsigned k = rule.addFactor(
      input.back(),
      getTransposed() ? FactorKind::Parallel : FactorKind::Reduction, "k");
  if (getTransposed())
    for (const auto &row : rows)
      rule.factors[row[0]].kind = FactorKind::Reduction;
  addOperand(rule, with(rows, k), Linearity::Multilinear);
  addOperand(rule, getTransposed() ? with(rows, n) : Dims{{k}, {n}},
             Linearity::Multilinear);
  addResult(rule, getTransposed() ? Dims{{k}, {n}} : with(rows, n));
  return rule;
}

SmallVector<PadState> MatmulOp::getPaddingStates(unsigned factor,
                                                 ArrayRef<PadState> in) {
  // As of nn.linear: the terms of a sum are zero if both sides are.
  unsigned rows = typeOf(getInput()).getRank() - 1;
  bool isReduction = getTransposed() ? factor < rows : factor == rows + 1;
  return {isReduction && isZero(in[0]) && isZero(in[1]) ? PadState::Zero
                                                        : PadState::Anything};
}

namespace {
/// The loops, rows first, then n and k, and where each tensor has them.
struct Places {
  Loops input, weight, result;
  unsigned count;

  Places(Emitter &emitter, MatmulOp op)
      : count(typeOf(op.getInput()).getRank() + 1) {
    Loops d = emitter.loops(count);
    AffineExpr n = d[count - 2], k = d[count - 1];
    input.assign(d.begin(), d.end() - 2);
    result = input;
    input.push_back(k);
    result.push_back(n);
    weight = {k, n};
    if (op.getTransposed())
      std::swap(weight, result);
  }
};
} // namespace

static Value product(Scalar &e, ValueRange v) { return e.mul(v[0], v[1]); }

FailureOr<SmallVector<Value>> MatmulOp::decompose(OpBuilder &builder) {
  Emitter emitter(builder, getLoc(), typeOf(getWeight()).getElementType());
  Places at(emitter, *this);
  return SmallVector<Value>{emitter.reduce(
      typeOf(getResult()), at.result, at.count, Combine::Sum,
      {{getInput(), at.input}, {getWeight(), at.weight}}, product)};
}

FailureOr<SmallVector<Value>> MatmulOp::buildVjp(OpBuilder &builder,
                                                 ValueRange cotangents) {
  Emitter emitter(builder, getLoc(), typeOf(getWeight()).getElementType());
  Places at(emitter, *this);
  Operand cotangent{cotangents[0], at.result};
  return SmallVector<Value>{
      emitter.reduce(typeOf(getInput()), at.input, at.count, Combine::Sum,
                     {cotangent, {getWeight(), at.weight}}, product),
      emitter.reduce(typeOf(getWeight()), at.weight, at.count, Combine::Sum,
                     {cotangent, {getInput(), at.input}}, product)};
}

//===----------------------------------------------------------------------===//
// Library form
//===----------------------------------------------------------------------===//

/// Nothing that the loops around do as well; but a gradient is added to those
/// before it where it lies.
std::optional<EpilogueSet> MatmulOp::getEpilogues(const EpilogueSet &known) {
  EpilogueSet epilogues;
  epilogues.residual = known.residual || getTransposed();
  return epilogues;
}

double MatmulOp::getFlopsPerPoint() { return 2; }

/// Rows of the result.
static int64_t getRows(MatmulOp op) {
  return ShapedType::getNumElements(shapeOf(op.getResult()).drop_back());
}

/// The length of the sums.
static int64_t getDepth(MatmulOp op) {
  return ShapedType::getNumElements(shapeOf(op.getWeight()).drop_back());
}

std::optional<LibraryDescription>
MatmulOp::getLibraryDescription(const LibraryUse &use) {
  auto nameOf = [](Value value) {
    return getTypeName(typeOf(value).getElementType());
  };
  llvm::json::Object fields{{"n", shapeOf(getWeight()).back()},
                            {"k", getDepth(*this)},
                            {"x_type", nameOf(getInput())},
                            {"w_type", nameOf(getWeight())},
                            {"y_type", nameOf(getResult())},
                            {"bias", false},
                            {"activation", use.epilogue.activation},
                            {"residual", use.epilogue.residual != nullptr},
                            {"w_layout", "kn"},
                            {"x_layout", getTransposed() ? "km" : "mk"}};
  if (use.epilogue.scale != 1)
    fields["scale"] = use.epilogue.scale;
  return LibraryDescription{
      "gemms", std::move(fields), {{"m", getRows(*this)}}};
}

LibraryCall MatmulOp::getLibraryCall(const LibraryUse &use) {
  return abi::gemm(getRows(*this), getInput(), shapeOf(getInput()).back(),
                   getWeight(), nullptr, use.epilogue.residual, getResult(),
                   shapeOf(getWeight()).back());
}
