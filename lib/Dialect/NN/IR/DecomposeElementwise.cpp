//===- DecomposeElementwise.cpp - Activations and dropout as linalg
//---------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computed in f32 (of f64 in f64) and rounded once.
//
//===----------------------------------------------------------------------===//

#include "Parts.h"
#include "Philox.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace tp::nn;

Value tp::nn::gelu(Scalar &e, Value x, GeluKind kind) {
  Value curve;
  if (kind == GeluKind::Erf) {
    curve = math::ErfOp::create(e.b, e.mul(x, 1 / std::sqrt(2.0)));
  } else {
    Value cube = e.mul(e.mul(x, x), x);
    Value inner = e.add(x, e.mul(cube, 0.044715));
    curve = math::TanhOp::create(
        e.b, e.mul(inner, std::sqrt(2 / llvm::numbers::pi)));
  }
  return e.mul(e.mul(x, 0.5), e.add(curve, 1));
}

Value tp::nn::silu(Scalar &e, Value x) {
  Value decay = e.exp(e.neg(x));
  return e.div(x, e.add(decay, 1));
}

/// The operation as a map of its elements.
static SmallVector<Value> mapElements(Operation *op, OpBuilder &builder,
                                      Body body) {
  Value input = op->getOperand(0);
  RankedTensorType type = typeOf(input);
  Emitter emitter(builder, op->getLoc(), type.getElementType());
  return {emitter.map(type, {{input, emitter.loops(type.getRank())}}, body)};
}

FailureOr<SmallVector<Value>> GeluOp::decompose(OpBuilder &builder) {
  return mapElements(*this, builder, [&](Scalar &e, ValueRange v) {
    return gelu(e, v[0], getKind());
  });
}

FailureOr<SmallVector<Value>> SiluOp::decompose(OpBuilder &builder) {
  return mapElements(*this, builder,
                     [](Scalar &e, ValueRange v) { return silu(e, v[0]); });
}

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Value>> DropoutOp::decompose(OpBuilder &builder) {
  RankedTensorType type = typeOf(getInput());
  Emitter emitter(builder, getLoc(), type.getElementType());
  SmallVector<int64_t> global(getGlobalShape().value_or(type.getShape()));
  double probability = getProbability().convertToDouble();
  SmallVector<Operand> operands{{getInput(), emitter.loops(type.getRank())},
                                {getSeed(), {}},
                                {getStep(), {}}};
  return SmallVector<Value>{
      emitter.map(type, operands, [&](Scalar &e, ValueRange v) -> Value {
        Type i32 = e.b.getI32Type(), i64 = e.b.getI64Type();
        Type index = e.b.getIndexType();
        // The element's linear position in the global tensor.
        Value element = e.integer(0, index);
        for (auto [dim, size] : llvm::enumerate(global)) {
          Value position = e.index(dim);
          if (!getOffsets().empty())
            position = e.add(position, getOffsets()[dim]);
          element = e.mul(element, size);
          element = e.add(element, position);
        }
        Philox philox{e};
        auto [elementHigh, elementLow] = philox.split(e.cast(element, i64));
        auto [keyHigh, keyLow] = philox.split(v[1]);
        // Counter: element, the layer in the upper half of its second word,
        // operation, step.
        Value second = elementHigh;
        if (getLayer()) {
          Value layer = e.cast(getLayer(), i32);
          layer = e.shiftLeft(layer, 16);
          second = philox.exclusiveOr(second, layer);
        }
        Value step = philox.split(v[2]).second;
        Value random =
            philox.run({elementLow, second, philox.word(getOpId()), step},
                       keyLow, keyHigh)[0];
        Value keep = e.compare(
            CmpI::uge, random,
            philox.word(static_cast<uint32_t>(probability * 4294967296.0)));
        Value scaled = e.mul(v[0], 1 / (1 - probability));
        return e.select(keep, scaled, 0);
      })};
}
