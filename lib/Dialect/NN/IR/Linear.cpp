//===- Linear.cpp - All of nn.linear
//----------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The verifier, rule, decomposition, derivative and library form, a GEMM, of
// nn.linear. The sum accumulates in f32 (f64 in f64) and is rounded once. The
// conjugate collectives of tensor parallelism are consequences of the rules of
// the derivative's contractions: dX sums over the split n, dW over split rows.
//
//===----------------------------------------------------------------------===//

#include "Parts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tp/Interfaces/LibraryCalls.h"

using namespace mlir;
using namespace tp;
using namespace tp::nn;

LogicalResult LinearOp::verify() {
  RankedTensorType input = typeOf(getInput());
  if (failed(expectLastDimension(*this, "input", getInput())) ||
      failed(expectLastDimension(*this, "result", getResult())))
    return failure();
  int64_t n = typeOf(getResult()).getShape().back();
  SmallVector<int64_t> result(input.getShape());
  result.back() = n;
  if (failed(expectShape(*this, "weight", getWeight(),
                         {n, input.getShape().back()})) ||
      failed(expectShape(*this, "result", getResult(), result)))
    return failure();
  // The numbers of a quantised weight are f32, whatever the input's type.
  if (!typeOf(getWeight()).getElementType().isF32() &&
      failed(
          expectElement(*this, "weight", getWeight(), input.getElementType())))
    return failure();
  Type element = typeOf(getResult()).getElementType();
  bool isWide = input.getElementType().isF32(); // what was quantised, too
  if (element != input.getElementType() && element != getF32(*this) && !isWide)
    return emitOpError() << "expected result of element type "
                         << input.getElementType() << " or f32, got "
                         << element;
  if (!getBias())
    return success();
  Type bias = typeOf(getBias()).getElementType();
  if (bias != element && bias != input.getElementType())
    return emitOpError() << "expected bias of the operands' element type, "
                         << input.getElementType() << ", or the result's, "
                         << element << ", got " << bias;
  return expect(*this, "bias", getBias(), {n}, bias);
}

FailureOr<ShardingRule> LinearOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> input = shapeOf(getInput());
  Dims rows = addRows(rule, input.drop_back());
  unsigned n =
      rule.addFactor(shapeOf(getWeight())[0], FactorKind::Parallel, "n");
  unsigned k = rule.addFactor(input.back(), FactorKind::Reduction, "k");
  addOperand(rule, with(rows, k), Linearity::Multilinear);
  addOperand(rule, {{n}, {k}}, Linearity::Multilinear);
  if (getBias())
    addOperand(rule, {{n}}, Linearity::Additive);
  addResult(rule, with(rows, n));
  return rule;
}

SmallVector<PadState> LinearOp::getPaddingStates(unsigned factor,
                                                 ArrayRef<PadState> in) {
  // The terms: zero if both sides are. A row of zeros times a row that does not
  // carry the factor is not, for that may hold an infinity.
  bool isReduction =
      factor == cast<RankedTensorType>(getInput().getType()).getRank();
  return {isReduction && isZero(in[0]) && isZero(in[1]) ? PadState::Zero
                                                        : PadState::Anything};
}

static Value product(Scalar &e, ValueRange v) { return e.mul(v[0], v[1]); }

FailureOr<SmallVector<Value>> LinearOp::decompose(OpBuilder &builder) {
  Emitter emitter(builder, getLoc(), typeOf(getInput()).getElementType());
  unsigned rank = typeOf(getInput()).getRank();
  // Loops: rows, n, k.
  Loops d = emitter.loops(rank + 1);
  Loops input(ArrayRef(d).take_front(rank - 1)),
      result(ArrayRef(d).drop_back());
  input.push_back(d[rank]);
  SmallVector<Operand> operands{{getInput(), input},
                                {getWeight(), {d[rank - 1], d[rank]}}};
  RankedTensorType type = typeOf(getResult());
  if (!getBias())
    return SmallVector<Value>{emitter.reduce(type, result, rank + 1,
                                             Combine::Sum, operands, product)};
  Value sum = emitter.reduce(emitter.wideType(type.getShape()), result,
                             rank + 1, Combine::Sum, operands, product);
  return SmallVector<Value>{
      emitter.map(type, {{sum, result}, {getBias(), {d[rank - 1]}}},
                  [](Scalar &e, ValueRange v) { return e.add(v[0], v[1]); })};
}

FailureOr<SmallVector<Value>> LinearOp::buildVjp(OpBuilder &builder,
                                                 ValueRange cotangents) {
  RankedTensorType type = typeOf(getInput());
  Emitter emitter(builder, getLoc(), type.getElementType());
  unsigned rank = type.getRank();
  // Loops: rows, n, k.
  Loops d = emitter.loops(rank + 1);
  AffineExpr n = d[rank - 1], k = d[rank];
  Loops input(ArrayRef(d).take_front(rank - 1)), result = input;
  input.push_back(k);
  result.push_back(n);
  Operand cotangent{cotangents[0], result};
  Value dInput = emitter.reduce(type, input, rank + 1, Combine::Sum,
                                {cotangent, {getWeight(), {n, k}}}, product);
  Value dWeight =
      emitter.reduce(typeOf(getWeight()), {n, k}, rank + 1, Combine::Sum,
                     {cotangent, {getInput(), input}}, product);
  SmallVector<Value> gradients{dInput, dWeight};
  if (getBias())
    gradients.push_back(
        emitter.reduce(typeOf(getBias()), {emitter.loops(rank).back()}, rank,
                       Combine::Sum, {{cotangents[0], emitter.loops(rank)}},
                       [](Scalar &, ValueRange v) { return v[0]; }));
  return gradients;
}

//===----------------------------------------------------------------------===//
// Library form
//===----------------------------------------------------------------------===//

/// The product, a factor for it where there is no bias (which is added behind
/// the factor), an activation and a sum.
std::optional<EpilogueSet> LinearOp::getEpilogues(const EpilogueSet &known) {
  EpilogueSet epilogues = known;
  epilogues.scale &= !getBias();
  return epilogues;
}

OpOperand *LinearOp::getPackedOperand() { return &getWeightMutable(); }

/// Products of the same rows: queries, keys and values; gate and up.
std::optional<JoinedForm> LinearOp::getJoinedForm() {
  return JoinedForm{&getInputMutable(), abi::gemms.slot, abi::gemms.name};
}

double LinearOp::getFlopsPerPoint() { return 2; }

LogicalResult LinearOp::verifyLibraryForm() {
  Type input = typeOf(getInput()).getElementType();
  if (failed(expectElement(*this, "weight", getWeight(), input)))
    return failure();
  return typeOf(getResult()).getElementType().isF32()
             ? success()
             : expectElement(*this, "result", getResult(), input);
}

static int64_t getRows(LinearOp op) {
  return typeOf(op.getInput()).getNumElements() / shapeOf(op.getWeight())[1];
}

std::optional<LibraryDescription>
LinearOp::getLibraryDescription(const LibraryUse &use) {
  auto nameOf = [](Value value) {
    return getTypeName(typeOf(value).getElementType());
  };
  llvm::json::Object fields{
      {"n", shapeOf(getWeight())[0]},
      {"k", shapeOf(getWeight())[1]},
      {"x_type", nameOf(getInput())},
      {"w_type", nameOf(getWeight())},
      {"y_type", nameOf(getResult())},
      {"bias", getBias() != nullptr},
      {"bias_type", getBias() ? nameOf(getBias()) : "f32"},
      {"activation", use.epilogue.activation},
      {"residual", use.epilogue.residual != nullptr}};
  if (use.epilogue.scale != 1)
    fields["scale"] = use.epilogue.scale;
  return LibraryDescription{
      "gemms", std::move(fields), {{"m", getRows(*this)}}};
}

LibraryCall LinearOp::getLibraryCall(const LibraryUse &use) {
  ArrayRef<int64_t> weight = shapeOf(getWeight());
  return abi::gemm(getRows(*this), getInput(), weight[1], getWeightMutable(),
                   getBias(), use.epilogue.residual, getResult(), weight[0]);
}
