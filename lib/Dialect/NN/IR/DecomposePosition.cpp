//===- DecomposePosition.cpp - Rotary embedding and look-up as linalg
//-------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations that read positions: the rotary table, the rotation, rows of a
// table.
//
//===----------------------------------------------------------------------===//

#include "QuantizedParts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tp::nn;

//===----------------------------------------------------------------------===//
// Rotary embedding
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Value>> RotaryTableOp::decompose(OpBuilder &builder) {
  Emitter emitter(builder, getLoc(), builder.getF32Type());
  Value frequencies =
      arith::ConstantOp::create(builder, getLoc(), getInvFreq());
  Loops d = emitter.loops(2);
  SmallVector<Operand> operands{{frequencies, {d[1]}}};
  if (getPositions())
    operands.push_back({getPositions(), {d[0]}});
  auto compute = [&](Value result, bool isCosine) {
    return emitter.map(
        typeOf(result), operands, [&](Scalar &e, ValueRange v) -> Value {
          Value position = getPositions() ? v[1] : e.index(0);
          if (getOffset())
            position = e.add(position, getOffset());
          if (position.getType().isIndex())
            position = e.cast(position, e.b.getI64Type());
          position = e.cast(position, e.wide);
          Value angle = e.mul(position, v[0]);
          Value wave = isCosine ? math::CosOp::create(e.b, angle).getResult()
                                : math::SinOp::create(e.b, angle).getResult();
          return e.mul(wave, getAttentionScaling().convertToDouble());
        });
  };
  return SmallVector<Value>{compute(getCos(), true), compute(getSin(), false)};
}

FailureOr<SmallVector<Value>> RotaryOp::decompose(OpBuilder &builder) {
  Emitter emitter(builder, getLoc(), typeOf(getInput()).getElementType());
  ArrayRef<int64_t> shape = shapeOf(getInput());
  int64_t r = shapeOf(getCos())[1];
  bool isPartial = 2 * r < shape[3];
  SmallVector<OpFoldResult> zeros(4, builder.getIndexAttr(0));
  SmallVector<OpFoldResult> ones(4, builder.getIndexAttr(1)), sizes;
  for (int64_t size : {shape[0], shape[1], shape[2], 2 * r})
    sizes.push_back(builder.getIndexAttr(size));
  Value input = getInput();
  if (isPartial)
    input = tensor::ExtractSliceOp::create(builder, getLoc(), input, zeros,
                                           sizes, ones);
  // Loops: b, s, heads, p, j; half p of the head, element j of it. The other
  // half is read at 1 - p.
  Value halves = emitter.split(input, 3, {2, r});
  Loops d = emitter.loops(5), other = d;
  other[3] = emitter.constant(1) - d[3];
  Value rotated =
      emitter.map(typeOf(halves),
                  {{halves, d},
                   {halves, other},
                   {getCos(), {d[1], d[4]}},
                   {getSin(), {d[1], d[4]}}},
                  [](Scalar &e, ValueRange v) -> Value {
                    Value isFirst = e.compare(CmpI::eq, e.index(3), 0);
                    Value sine = e.select(isFirst, e.neg(v[3]), v[3]);
                    return e.add(e.mul(v[0], v[2]), e.mul(v[1], sine));
                  });
  Value result = emitter.join(rotated, 3, 2);
  if (isPartial)
    result = tensor::InsertSliceOp::create(builder, getLoc(), result,
                                           getInput(), zeros, sizes, ones);
  return SmallVector<Value>{result};
}

//===----------------------------------------------------------------------===//
// Embedding
//===----------------------------------------------------------------------===//

Value tp::nn::buildLookUp(
    OpBuilder &builder, EmbeddingOp op,
    llvm::function_ref<Value(Scalar &, ArrayRef<Value>)> read) {
  RankedTensorType type = typeOf(op.getResult());
  Emitter emitter(builder, op.getLoc(), type.getElementType());
  unsigned rank = type.getRank();
  Loops rows(ArrayRef(emitter.loops(rank)).drop_back());
  int64_t numRows = shapeOf(op.getTable())[0];
  return emitter.map(type, {{op.getIds(), rows}},
                     [&](Scalar &e, ValueRange v) -> Value {
                       Type index = e.b.getIndexType();
                       Value row = e.cast(v[0], index);
                       if (op.getOffset())
                         row = e.sub(row, op.getOffset());
                       // As unsigned numbers, negative rows are large.
                       Value isHere = e.compare(CmpI::ult, row, numRows);
                       Value safe = e.select(isHere, row, 0);
                       Value element = read(e, {safe, e.index(rank - 1)});
                       Value zero = arith::ConstantOp::create(
                           e.b, e.b.getFloatAttr(type.getElementType(), 0));
                       return e.select(isHere, element, zero);
                     });
}

FailureOr<SmallVector<Value>> EmbeddingOp::decompose(OpBuilder &builder) {
  return SmallVector<Value>{buildLookUp(
      builder, *this, [&](Scalar &e, ArrayRef<Value> index) -> Value {
        return tensor::ExtractOp::create(e.b, getTable(), index);
      })};
}
