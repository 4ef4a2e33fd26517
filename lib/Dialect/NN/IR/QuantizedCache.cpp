//===- QuantizedCache.cpp - All of nn.quantized_cache_write ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys and values as bytes, each row of a head with a scale of its own or all
// of them with given ones. Scales follow the KV heads wherever these are cut,
// so ranks owe each other nothing.
//
//===----------------------------------------------------------------------===//

#include "CacheParts.h"
#include "PagedParts.h"
#include "QuantizedParts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Interfaces/LibraryCalls.h"

using namespace mlir;
using namespace tp;
using namespace tp::nn;

LogicalResult tp::nn::verifyCacheElement(Operation *op, Type element) {
  if (element.isInteger(8) || isa<Float8E4M3FNType>(element))
    return success();
  return op->emitOpError() << "expected element to be i8 or f8E4M3FN, got "
                           << element;
}

LogicalResult QuantizedCacheWriteOp::verify() {
  if (failed(expectRank(*this, "input", getInput(), 3)) ||
      failed(expectRank(*this, "pool", getPool(), 3)) ||
      failed(expectRank(*this, "scales", getScales(), 2)) ||
      failed(verifyCacheElement(*this, getElement())))
    return failure();
  if (typeOf(getInput()).getElementType().isF64())
    return emitOpError("expected input of at most 32 bits, got 'f64'");
  ArrayRef<int64_t> pool = shapeOf(getPool());
  SmallVector<int64_t> input(pool);
  input[0] = shapeOf(getInput())[0];
  if (failed(expectShape(*this, "input", getInput(), input)) ||
      failed(expectShape(*this, "cells", getCells(), {input[0]})) ||
      failed(expectShape(*this, "result", getResult(), pool)))
    return failure();
  SmallVector<int64_t> scales{pool[0], pool[1]};
  if (Value made = getResultScales()) {
    if (failed(expectShape(*this, "scales", getScales(), scales)))
      return failure();
    return expectShape(*this, "result_scales", made, scales);
  }
  if (!isa<Float8E4M3FNType>(getElement()))
    return emitOpError() << "expected a second result, the scales of each row, "
                            "beside elements of type "
                         << getElement();
  bool isOne = shapeOf(getScales())[1] == 1;
  return expectShape(*this, "scales", getScales(), {1, isOne ? 1 : pool[1]});
}

FailureOr<ShardingRule> QuantizedCacheWriteOp::getShardingRule() {
  ShardingRule rule;
  auto [c, g, d] = addCacheWrite(rule, getInput(), getPool());
  addOperand(rule, getScaleDims(getScales(), shapeOf(getPool()), c, g),
             Linearity::None);
  addResult(rule, {{c}, {g}, {d}});
  if (getResultScales())
    addResult(rule, {{c}, {g}});
  return rule;
}

SmallVector<PadState>
QuantizedCacheWriteOp::getPaddingStates(unsigned, ArrayRef<PadState> in) {
  // Zeros have the scale 0 and, whatever a given scale is, zeros as elements.
  bool zero = isZero(in[0]) && isZero(in[2]);
  SmallVector<PadState> states{zero ? PadState::Zero : PadState::Anything};
  if (getResultScales())
    states.push_back(isZero(in[0]) && isZero(in[3]) ? PadState::Zero
                                                    : PadState::Anything);
  return states;
}

FailureOr<SmallVector<Value>>
QuantizedCacheWriteOp::decompose(OpBuilder &builder) {
  Emitter emitter(builder, getLoc(), builder.getF32Type());
  Loops d = emitter.loops(3), heads(ArrayRef(d).take_front(2));
  RankedTensorType input = typeOf(getInput());
  SmallVector<Operand> operands{{getInput(), d}};
  Value scales;
  if (getResultScales()) {
    RankedTensorType type = emitter.wideType(input.getShape().drop_back());
    Value largest = emitter.reduce(
        type, heads, 3, Combine::Max, {{getInput(), d}},
        [](Scalar &e, ValueRange v) -> Value { return e.abs(v[0]); });
    scales =
        emitter.map(type, {{largest, heads}}, [&](Scalar &e, ValueRange v) {
          return e.div(v[0], getLargest(getElement()));
        });
    operands.push_back({scales, heads});
  } else {
    bool isOne = shapeOf(getScales())[1] == 1;
    AffineExpr zero = emitter.constant(0);
    operands.push_back({getScales(), {zero, isOne ? zero : d[1]}});
  }
  Value bytes = emitter.map(input.clone(builder.getI8Type()), operands,
                            [&](Scalar &e, ValueRange v) {
                              return encodeByte(e, v[0], v[1], getElement());
                            });
  SmallVector<Value> results{
      buildCacheWrite(emitter, bytes, getCells(), getPool())};
  if (getResultScales())
    results.push_back(
        buildCacheWrite(emitter, scales, getCells(), getScales()));
  return results;
}

std::optional<IntegerRange>
QuantizedCacheWriteOp::getIntegerRange(OpOperand &operand) {
  if (operand.get() != getCells())
    return std::nullopt;
  return IntegerRange{shapeOf(getPool())[0]};
}

OpOperand *QuantizedCacheWriteOp::getReplacedOperand(unsigned result) {
  return result == 0 ? &getPoolMutable() : &getScalesMutable();
}

LibraryCall QuantizedCacheWriteOp::getLibraryCall(const LibraryUse &) {
  ArrayRef<int64_t> pool = shapeOf(getPool());
  Type input = typeOf(getInput()).getElementType();
  int64_t type = input.isF32()    ? TPRT_F32
                 : input.isBF16() ? TPRT_BF16
                                  : TPRT_F16;
  int64_t element = getElement().isInteger(8) ? TPRT_CACHE_I8 : TPRT_CACHE_E4M3;
  return abi::quantized_cache_write(
      shapeOf(getInput())[0], pool[1], pool[2], pool[0],
      shapeOf(getScales())[1], type, element, getInput(), getCells(), getPool(),
      getScales(), getResult(), getResultScales());
}
