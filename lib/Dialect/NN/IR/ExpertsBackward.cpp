//===- ExpertsBackward.cpp - All of nn.experts_backward -------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The verifier, rule, decomposition and library form of nn.experts_backward. As
// for nn.experts the rule is dense: cut by expert, the input's derivative is
// partial; by width, that of the routing weights too; by rows, those of the
// matrices.
//
//===----------------------------------------------------------------------===//

#include "ExpertParts.h"

using namespace mlir;
using namespace tp;
using namespace tp::nn;

LogicalResult ExpertsBackwardOp::verify() {
  if (failed(verifyExperts(*this, "cotangent", getCotangent())))
    return failure();
  auto isLike = [&](StringRef what, Value value, Value of, Type element) {
    return expect(*this, what, value, shapeOf(of), element);
  };
  Type wide = getF32(*this);
  if (getDBiases().size() != getBiases().size())
    return emitOpError() << "expected as many d_biases as biases, "
                         << getBiases().size() << ", got "
                         << getDBiases().size();
  for (auto [result, bias] : llvm::zip(getDBiases(), getBiases()))
    if (failed(isLike("d_biases", result, bias, wide)))
      return failure();
  return success(
      succeeded(isLike("d_input", getDInput(), getInput(),
                       typeOf(getInput()).getElementType())) &&
      succeeded(isLike("d_routing", getDRouting(), getRouting(), wide)) &&
      succeeded(isLike("d_gate", getDGate(), getGate(), wide)) &&
      succeeded(isLike("d_up", getDUp(), getUp(), wide)) &&
      succeeded(isLike("d_down", getDDown(), getDown(), wide)));
}

FailureOr<ShardingRule> ExpertsBackwardOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> input = shapeOf(getInput()), down = shapeOf(getDown());
  Dims rows = addRows(rule, input.drop_back());
  unsigned e = rule.addFactor(down[0], FactorKind::Parallel, "experts");
  unsigned f = rule.addFactor(down[2], FactorKind::Parallel, "width");
  unsigned k = rule.addFactor(input.back(), FactorKind::Whole, "k");
  unsigned n = rule.addFactor(down[1], FactorKind::Whole, "n");
  Dims inner{{e}, {f}, {k}}, outer{{e}, {n}, {f}};
  addOperand(rule, with(rows, n), Linearity::None);
  addOperand(rule, with(rows, k), Linearity::None);
  addOperand(rule, with(rows, e), Linearity::None);
  addOperand(rule, inner, Linearity::None);
  addOperand(rule, inner, Linearity::None);
  addOperand(rule, outer, Linearity::None);
  for (size_t i = 0; i < getBiases().size(); ++i)
    addOperand(rule, {{e}, {f}}, Linearity::None);
  if (getInside())
    addOperand(rule, {{f}}, Linearity::None);
  addResult(rule, with(rows, k));
  addResult(rule, with(rows, e));
  addResult(rule, inner);
  addResult(rule, inner);
  addResult(rule, outer);
  for (size_t i = 0; i < getBiases().size(); ++i)
    addResult(rule, {{e}, {f}});
  return rule;
}

SmallVector<PadState>
ExpertsBackwardOp::getPaddingStates(unsigned factor, ArrayRef<PadState> in) {
  // As of nn.experts: rows and experts without a weight give zeros.
  unsigned rows = typeOf(getInput()).getRank() - 1;
  bool zero = factor <= rows && isZero(in[2]);
  SmallVector<PadState> states(getNumResults(),
                               zero ? PadState::Zero : PadState::Anything);
  // Terms over the width: what the sides' derivatives are multiplied with is
  // gate and up; those of the routing weights have no other part.
  if (factor == rows + 1 && getInside() && isZero(in.back())) {
    states[1] = PadState::Zero;
    if (isZero(in[3]) && isZero(in[4]))
      states[0] = PadState::Zero;
  }
  return states;
}

std::optional<IntegerRange> ExpertsBackwardOp::getIntegerRange(OpOperand &) {
  return IntegerRange{2};
}

//===----------------------------------------------------------------------===//
// Meaning
//===----------------------------------------------------------------------===//

static Value product(Scalar &e, ValueRange v) { return e.mul(v[0], v[1]); }

namespace {
/// The definition, written down value by value. Loops: rows, expert, and the
/// positions `to` and `from`.
class Definition {
public:
  Definition(OpBuilder &builder, ExpertsBackwardOp op)
      : op(op),
        emitter(builder, op.getLoc(), typeOf(op.getInput()).getElementType()),
        rows(typeOf(op.getInput()).getRank() - 1), d(emitter.loops(rows + 3)),
        e(d[rows]), to(d[rows + 1]), from(d[rows + 2]) {}

  SmallVector<Value> build();

private:
  ExpertsBackwardOp op;
  Emitter emitter;
  unsigned rows;
  Loops d;
  AffineExpr e, to, from;
  /// [..., E, f]: the rounded product of both sides, and the derivatives by
  /// that and by the sides.
  Value inner, dInner, dGate, dUp;

  Loops at(std::initializer_list<AffineExpr> more) {
    Loops position(ArrayRef(d).take_front(rows));
    position.append(more);
    return position;
  }
  Operand routing() { return {op.getRouting(), at({e})}; }
  Value mapInside(RankedTensorType type, SmallVector<Operand> operands,
                  Body body) {
    return mapWidth(emitter, type, op.getInside(), std::move(operands), body);
  }
  void buildInner();
  Value sumOverRows(Value result, Value left, Value right, Loops rightAt);
  Value sumOverRows(Value result, Value side);
};
} // namespace

void Definition::buildInner() {
  RankedTensorType input = typeOf(op.getInput());
  SmallVector<int64_t> shape(input.getShape().drop_back());
  shape.append({shapeOf(op.getDown())[0], shapeOf(op.getDown())[2]});
  RankedTensorType wide = emitter.wideType(shape);
  auto multiply = [&](Value weight, Loops weightAt, Value x) {
    return emitter.reduce(wide, at({e, to}), rows + 3, Combine::Sum,
                          {{x, at({from})}, {weight, weightAt}}, product);
  };
  Value gate = multiply(op.getGate(), {e, to, from}, op.getInput());
  Value up = multiply(op.getUp(), {e, to, from}, op.getInput());
  gate = addBias(emitter, gate, getBias(op, 0));
  up = addBias(emitter, up, getBias(op, 1));
  dInner = multiply(op.getDown(), {e, from, to}, op.getCotangent());
  Gating gating = getGating(op);
  Loops same = emitter.loops(rows + 2), weightAt(ArrayRef(same).drop_back());
  if (op.getInside())
    dInner = mapInside(wide, {{dInner, same}},
                       [](Scalar &, ValueRange v) { return v[0]; });
  inner = mapInside(input.clone(shape), {{gate, same}, {up, same}},
                    [&](Scalar &s, ValueRange v) {
                      return buildGated(s.b, s.b.getLoc(), gating, v[0], v[1]);
                    });
  Operand weight{op.getRouting(), weightAt};
  auto bySide = [&](bool isUp) {
    return mapInside(
        wide, {weight, {dInner, same}, {gate, same}, {up, same}},
        [&](Scalar &s, ValueRange v) {
          auto [byGate, byUp] =
              buildGatedSlopes(s.b, s.b.getLoc(), gating, v[2], v[3]);
          Value slope = isUp ? byUp : byGate;
          return unlessZero(s, v[0], s.mul(s.mul(v[0], v[1]), slope));
        });
  };
  dGate = bySide(/*isUp=*/false);
  dUp = bySide(/*isUp=*/true);
}

/// The sum over rows of left[..., E, `to`] * right of the rows of an expert.
Value Definition::sumOverRows(Value result, Value left, Value right,
                              Loops rightAt) {
  return emitter.reduce(typeOf(result), {e, to, from}, rows + 3, Combine::Sum,
                        {routing(), {left, at({e, to})}, {right, rightAt}},
                        [](Scalar &s, ValueRange v) {
                          return unlessZero(s, v[0], s.mul(v[1], v[2]));
                        });
}

/// The sum over rows of side[..., E, f], of the rows of an expert.
Value Definition::sumOverRows(Value result, Value side) {
  Loops each = emitter.loops(rows + 2);
  Loops weightAt(ArrayRef(each).drop_back());
  return emitter.reduce(
      typeOf(result), Loops(ArrayRef(each).take_back(2)), rows + 2,
      Combine::Sum, {{op.getRouting(), weightAt}, {side, each}},
      [](Scalar &s, ValueRange v) { return unlessZero(s, v[0], v[1]); });
}

SmallVector<Value> Definition::build() {
  buildInner();
  // `to` is of the input, `from` of the width.
  Value dInput =
      emitter.reduce(typeOf(op.getDInput()), at({to}), rows + 3, Combine::Sum,
                     {routing(),
                      {dGate, at({e, from})},
                      {op.getGate(), {e, from, to}},
                      {dUp, at({e, from})},
                      {op.getUp(), {e, from, to}}},
                     [](Scalar &s, ValueRange v) {
                       Value sum = s.add(s.mul(v[1], v[2]), s.mul(v[3], v[4]));
                       return unlessZero(s, v[0], sum);
                     });
  Value dRouting =
      emitter.reduce(typeOf(op.getDRouting()), at({e}), rows + 2, Combine::Sum,
                     {routing(), {inner, at({e, to})}, {dInner, at({e, to})}},
                     [](Scalar &s, ValueRange v) {
                       return unlessZero(s, v[0], s.mul(v[1], v[2]));
                     });
  // `to` is of the width, `from` of the input.
  Value gate = sumOverRows(op.getDGate(), dGate, op.getInput(), at({from}));
  Value up = sumOverRows(op.getDUp(), dUp, op.getInput(), at({from}));
  Value down = emitter.reduce(
      typeOf(op.getDDown()), {e, to, from}, rows + 3, Combine::Sum,
      {routing(), {op.getCotangent(), at({to})}, {inner, at({e, from})}},
      [](Scalar &s, ValueRange v) {
        return unlessZero(s, v[0], s.mul(s.mul(v[0], v[1]), v[2]));
      });
  SmallVector<Value> results{dInput, dRouting, gate, up, down};
  for (auto [result, side] :
       llvm::zip(op.getDBiases(), SmallVector<Value>{dGate, dUp}))
    results.push_back(sumOverRows(result, side));
  return results;
}

FailureOr<SmallVector<Value>> ExpertsBackwardOp::decompose(OpBuilder &builder) {
  return Definition(builder, *this).build();
}

//===----------------------------------------------------------------------===//
// Library form
//===----------------------------------------------------------------------===//

/// A part of eight products of a row and an expert: six with k, of which two
/// are nn.experts' own, and two with n. Each lacks one of the factors.
double ExpertsBackwardOp::getFlopsPerPoint() {
  double k = shapeOf(getInput()).back(), n = shapeOf(getCotangent()).back();
  return getActive().convertToDouble() * (12 / n + 4 / k);
}

std::optional<LibraryDescription>
ExpertsBackwardOp::getLibraryDescription(const LibraryUse &) {
  return describeExperts(*this);
}

static Value getDBias(ExpertsBackwardOp op, unsigned index) {
  return op.getDBiases().empty() ? Value() : Value(op.getDBiases()[index]);
}

LibraryCall ExpertsBackwardOp::getLibraryCall(const LibraryUse &) {
  return abi::experts_backward(
      countRows(*this), getCotangent(), getInput(), getRouting(), getGate(),
      getUp(), getDown(), getBias(*this, 0), getBias(*this, 1), getInside(),
      getDInput(), getDRouting(), getDGate(), getDUp(), getDDown(),
      getDBias(*this, 0), getDBias(*this, 1));
}
