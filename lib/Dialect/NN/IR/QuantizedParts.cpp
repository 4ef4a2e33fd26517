//===- QuantizedParts.cpp - What quantised elements mean ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See QuantizedParts.h.
//
//===----------------------------------------------------------------------===//

#include "QuantizedParts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Dialect/TP/IR/ParameterNames.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace tp;
using namespace tp::nn;

int64_t tp::nn::getRowBytes(Type element, int64_t size) {
  return llvm::divideCeil(size * element.getIntOrFloatBitWidth(), 8);
}

RankedTensorType tp::nn::getStorageType(RankedTensorType type) {
  SmallVector<int64_t> shape(type.getShape());
  if (!shape.empty())
    shape.back() = getRowBytes(type.getElementType(), shape.back());
  return RankedTensorType::get(shape, IntegerType::get(type.getContext(), 8));
}

bool tp::nn::isStoredInBytes(Type element) {
  unsigned bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 64;
  return (bits < 8 && bits > 1) || (bits == 8 && isa<FloatType>(element));
}

/// The packed groups of one weight, whoever reads it.
static int64_t getOwnPackedGroups(DequantizeOp op) {
  int64_t packed = 0;
  for (Value numbers : {op.getScales(), op.getZeros()}) {
    if (!numbers)
      continue;
    auto parameter = numbers.getDefiningOp<ParameterOp>();
    auto groups =
        parameter ? parameter->getAttrOfType<IntegerAttr>(packedGroupsAttrName)
                  : IntegerAttr();
    bool isWhole = groups && !op.getGroups() && !parameter.getSource() &&
                   parameter.getStorage() &&
                   parameter.getStorage()->getRepeat().empty() &&
                   shapeOf(numbers).back() % groups.getInt() == 0 &&
                   (!packed || packed == groups.getInt());
    if (!isWhole)
      return 0;
    packed = groups.getInt();
  }
  return packed;
}

int64_t tp::nn::getPackedGroups(DequantizeOp op) {
  int64_t packed = getOwnPackedGroups(op);
  for (Operation *user : op->getUsers())
    if (auto experts = dyn_cast<ExpertsOp>(user))
      for (Value matrix :
           {experts.getGate(), experts.getUp(), experts.getDown()}) {
        auto other = matrix.getDefiningOp<DequantizeOp>();
        if (!other || getOwnPackedGroups(other) != packed)
          return 0;
      }
  return packed;
}

void tp::nn::settlePackedGroups(Operation *root, bool packs) {
  SmallVector<ParameterOp> dropped;
  root->walk([&](ParameterOp op) {
    bool stays = packs && llvm::all_of(op->getUsers(), [](Operation *user) {
                   auto weight = dyn_cast<DequantizeOp>(user);
                   return weight && getPackedGroups(weight) != 0;
                 });
    if (op->hasAttr(packedGroupsAttrName) && !stays)
      dropped.push_back(op);
  });
  for (ParameterOp op : dropped)
    op->removeAttr(packedGroupsAttrName);
}

static QuantizedTensor getStored(DequantizeOp op, const StoredWeight &stored) {
  QuantizedTensor tensor = getQuantized(op);
  tensor.values = stored.values;
  tensor.scales = stored.scales;
  tensor.zeros = stored.zeros;
  tensor.packed = stored.packed;
  return tensor;
}

Value tp::nn::unpack(OpBuilder &builder, DequantizeOp op,
                     const StoredWeight &stored) {
  QuantizedTensor tensor = getStored(op, stored);
  Emitter emitter(builder, op.getLoc(), builder.getF32Type());
  return buildDequantized(emitter, tensor);
}

Value tp::nn::round(OpBuilder &builder, QuantizeOp op) {
  Emitter emitter(builder, op.getLoc(), builder.getF32Type());
  return buildRounded(emitter, op);
}

QuantizedTensor tp::nn::getQuantized(DequantizeOp op) {
  RankedTensorType type = typeOf(op.getValues());
  return {SmallVector<int64_t>(type.getShape()),
          type.getElementType(),
          op.getValues(),
          op.getScales(),
          op.getZeros(),
          op.getGroups(),
          op.getGroup(),
          /*packed=*/0};
}

QuantizedTensor tp::nn::getQuantized(QuantizedLinearOp op) {
  return {{shapeOf(op.getValues())[0], shapeOf(op.getInput()).back()},
          op.getElement(),
          op.getValues(),
          op.getScales(),
          op.getZeros(),
          op.getGroups(),
          op.getGroup(),
          int64_t(op.getPacked())};
}

void tp::nn::addGroups(ShardingRule &rule, ArrayRef<int64_t> shape,
                       ArrayRef<int64_t> group, Dims &values, Dims &scales) {
  for (auto [d, size, count] : llvm::enumerate(shape, group)) {
    std::string name = "d" + std::to_string(d);
    if (count <= 1 || count >= size) {
      values.push_back({rule.addFactor(size, FactorKind::Parallel, name)});
      scales.push_back({});
      // One group that is all of the dimension is whole.
      if (count == 1)
        scales.back() = values.back();
      else if (count != 0)
        rule.factors.back().kind = FactorKind::Whole;
      continue;
    }
    int64_t number = llvm::divideCeil(size, count);
    if (size % count != 0) {
      // No cut keeps groups whole, and ranks alike.
      values.push_back({rule.addFactor(size, FactorKind::Whole, name)});
      scales.push_back({rule.addFactor(number, FactorKind::Whole, "groups")});
      continue;
    }
    unsigned groups = rule.addFactor(number, FactorKind::Parallel, "groups");
    values.push_back(
        {groups, rule.addFactor(count, FactorKind::Whole, "group")});
    scales.push_back({groups});
  }
}

void tp::nn::addWhole(ShardingRule &rule, Value operand) {
  Dims dims;
  for (int64_t size : shapeOf(operand))
    dims.push_back({rule.addFactor(size, FactorKind::Whole)});
  addOperand(rule, dims, Linearity::None);
}

LogicalResult tp::nn::verifyQuantized(Operation *op,
                                      const QuantizedTensor &tensor) {
  size_t rank = tensor.shape.size();
  if (tensor.group.size() != rank)
    return op->emitOpError() << "expected a group size for each of " << rank
                             << " dimensions, got " << tensor.group.size();
  if (failed(expectRank(op, "scales", tensor.scales, int64_t(rank))))
    return failure();
  SmallVector<int64_t> scales;
  for (auto [size, group] : llvm::zip(tensor.shape, tensor.group)) {
    if (group < 0)
      return op->emitOpError()
             << "expected group sizes of at least 0, got " << group;
    scales.push_back(group ? llvm::divideCeil(size, group) : 1);
  }
  if (tensor.groups) {
    if (rank == 0 || tensor.group.back() != 0)
      return op->emitOpError("expected group 0 in the last dimension, whose "
                             "groups are an operand");
    if (failed(expectShape(op, "groups", tensor.groups, tensor.shape.back())))
      return failure();
    scales.back() = shapeOf(tensor.scales).back();
  }
  if (tensor.packed) {
    bool isWhole = tensor.packed > 0 && !tensor.groups && rank > 0 &&
                   scales.back() % tensor.packed == 0;
    if (!isWhole)
      return op->emitOpError() << "expected groups in whole blocks of "
                               << tensor.packed << ", got " << scales.back();
    scales.back() = scales.back() / tensor.packed * (tensor.packed + 2);
    for (Value one : {tensor.scales, tensor.zeros})
      if (one && !typeOf(one).getElementType().isInteger(8))
        return op->emitOpError()
               << "expected packed scales and zeros of type i8, got "
               << typeOf(one).getElementType();
  }
  if (failed(expectShape(op, "scales", tensor.scales, scales)))
    return failure();
  if (tensor.zeros && !tensor.element.isInteger())
    return op->emitOpError()
           << "expected no zeros beside values of element type "
           << tensor.element;
  return tensor.zeros ? expectShape(op, "zeros", tensor.zeros, scales)
                      : success();
}

//===----------------------------------------------------------------------===//
// Numbers of bytes
//===----------------------------------------------------------------------===//

/// Bits of an f32 as a number.
static Value toFloat(Scalar &e, Value bits) { return e.bits(bits, e.wide); }

/// A float of eight bits with so many of mantissa. The magnitudes above
/// `infinity` are no numbers; without infinities the last one alone is none.
static Value decodeFloat(Scalar &e, Value byte, unsigned mantissa, int bias,
                         std::optional<int64_t> infinity) {
  Type i32 = e.b.getI32Type();
  auto number = [&](int64_t value) { return e.integer(value, i32); };
  Value bits = arith::ExtUIOp::create(e.b, i32, byte);
  Value magnitude = e.both(bits, 0x7F);
  Value shifted = e.shiftLeft(magnitude, 23 - int64_t(mantissa));
  Value normal = toFloat(e, e.add(shifted, int64_t(127 - bias) << 23));
  Value small = e.mul(e.cast(magnitude, e.wide),
                      std::ldexp(1.0, 1 - bias - int(mantissa)));
  auto compare = [&](arith::CmpIPredicate predicate, int64_t with) {
    return e.compare(predicate, magnitude, with);
  };
  Value value =
      e.select(compare(CmpI::slt, int64_t(1) << mantissa), small, normal);
  if (infinity)
    value = e.select(compare(CmpI::eq, *infinity),
                     toFloat(e, number(0x7F800000)), value);
  value = e.select(compare(CmpI::sgt, infinity ? *infinity : 0x7E),
                   toFloat(e, number(0x7FC00000)), value);
  Value isNegative = e.compare(CmpI::ugt, bits, 0x7F);
  return e.select(isNegative, e.neg(value), value);
}

/// A float of four bits, two of them exponent and one mantissa.
static Value decodeE2M1(Scalar &e, Value nibble) {
  Type i32 = e.b.getI32Type();
  Value bits = e.cast(nibble, i32);
  Value magnitude = e.both(bits, 7);
  // 0 0.5 1 1.5 2 3 4 6, twice each in four bits: 0 1 2 3 4 6 8 12.
  Value twice = e.shiftLeft(magnitude, 2);
  Value table = e.integer(0xC8643210, i32);
  Value number32 = e.both(e.shiftRight(table, twice), 15);
  Value value = e.mul(e.cast(number32, e.wide), 0.5);
  Value isNegative = e.compare(CmpI::slt, bits, 0);
  return e.select(isNegative, e.neg(value), value);
}

/// 2^(byte - 127), of a byte of f8E8M0FNU; 255 is no number.
static Value decodeE8M0(Scalar &e, Value byte) {
  Type i32 = e.b.getI32Type();
  auto number = [&](int64_t value) { return e.integer(value, i32); };
  Value bits = arith::ExtUIOp::create(e.b, i32, byte);
  auto isByte = [&](int64_t value) { return e.compare(CmpI::eq, bits, value); };
  // The least is below the normal numbers of f32.
  Value shifted = e.shiftLeft(bits, 23);
  shifted = e.select(isByte(0), number(1 << 22), shifted);
  return toFloat(e, e.select(isByte(255), number(0x7FC00000), shifted));
}

/// The element at `position` of its row, whose byte is `byte`.
static Value decode(Scalar &e, Value byte, Type element, Value position) {
  Type f32 = e.wide;
  if (element.getIntOrFloatBitWidth() == 4) {
    Value four = e.integer(4, byte.getType());
    Value one = e.integer(1, position.getType());
    Value isHigh = e.compare(CmpI::eq, e.both(position, one), one);
    Value low = e.shiftLeft(byte, four);
    Value nibble =
        arith::ShRSIOp::create(e.b, e.select(isHigh, byte, low), four);
    if (isa<Float4E2M1FNType>(element))
      return decodeE2M1(e, nibble);
    return e.cast(nibble, f32);
  }
  if (isa<Float8E4M3FNType>(element))
    return decodeFloat(e, byte, 3, 7, /*infinity=*/std::nullopt);
  if (isa<Float8E5M2Type>(element))
    return decodeFloat(e, byte, 2, 15, /*infinity=*/0x7C);
  return e.cast(byte, f32);
}

Value tp::nn::decodeByte(Scalar &e, Value byte, Type element) {
  return decode(e, byte, element, /*position=*/Value());
}

//===----------------------------------------------------------------------===//
// The tensor
//===----------------------------------------------------------------------===//

/// The position of an element's scale.
static SmallVector<Value> getGroupOf(Scalar &e, ArrayRef<int64_t> groups,
                                     ArrayRef<Value> index) {
  Type type = e.b.getIndexType();
  SmallVector<Value> position;
  for (auto [i, group] : llvm::zip(index, groups)) {
    if (group == 1)
      position.push_back(i);
    else if (group == 0)
      position.push_back(e.integer(0, type));
    else
      position.push_back(e.quotient(i, group));
  }
  return position;
}

/// Reads the element at `index` of bytes in memory, as a number.
static Value readElement(Scalar &e, const QuantizedTensor &tensor,
                         ArrayRef<Value> index) {
  SmallVector<Value> at(index);
  if (tensor.element.getIntOrFloatBitWidth() == 4)
    at.back() = e.quotient(at.back(), 2);
  Value byte = tensor::ExtractOp::create(e.b, tensor.values, at);
  return decode(e, byte, tensor.element, index.back());
}

/// Reads the number of the last position of `group` from blocks of so many: the
/// block's f16 times the group's byte.
static Value readPacked(Scalar &e, Value blocks, int64_t packed,
                        ArrayRef<Value> group) {
  Type type = e.b.getIndexType(), i16 = e.b.getI16Type();
  Value count = e.integer(packed, type);
  Value block = e.quotient(group.back(), count);
  Value inBlock = e.remainder(group.back(), count);
  Value first = e.mul(block, packed + 2);
  auto read = [&](Value offset) -> Value {
    SmallVector<Value> at(group);
    at.back() = e.add(first, offset);
    return tensor::ExtractOp::create(e.b, blocks, at);
  };
  Value low = arith::ExtUIOp::create(e.b, i16, read(e.integer(0, type)));
  Value high = arith::ExtUIOp::create(e.b, i16, read(e.integer(1, type)));
  high = e.shiftLeft(high, 8);
  Value factor = e.bits(e.either(low, high), e.b.getF16Type());
  Value code = read(e.add(inBlock, 2));
  return e.mul(e.convert(factor, e.wide), e.cast(code, e.wide));
}

/// Applies scale and minimum of blocks; where the scale is zero, the minimum is
/// what is left.
static Value scalePacked(Scalar &e, const QuantizedTensor &tensor,
                         ArrayRef<Value> group, Value value) {
  Value scale = readPacked(e, tensor.scales, tensor.packed, group);
  if (!tensor.zeros)
    return e.mul(value, scale);
  Value least = readPacked(e, tensor.zeros, tensor.packed, group);
  double middle = tensor.element.isInteger(4) ? 8 : 0;
  Value isZero = e.compare(CmpF::OEQ, scale, 0);
  Value divisor = e.select(isZero, e.number(1), scale);
  Value zero = e.sub(e.div(least, divisor), middle);
  return e.select(isZero, e.sub(e.number(0), least),
                  e.mul(e.sub(value, zero), scale));
}

/// Applies the zero point and the scale of the element at `index`.
static Value scaleElement(Scalar &e, const QuantizedTensor &tensor,
                          ArrayRef<Value> index, Value value) {
  SmallVector<Value> group = getGroupOf(e, tensor.group, index);
  if (tensor.groups)
    group.back() = e.cast(
        tensor::ExtractOp::create(e.b, tensor.groups, ValueRange{index.back()}),
        e.b.getIndexType());
  if (tensor.packed)
    return scalePacked(e, tensor, group, value);
  auto read = [&](Value from) {
    return tensor::ExtractOp::create(e.b, from, group).getResult();
  };
  if (tensor.zeros)
    value = e.sub(value, e.cast(read(tensor.zeros), e.wide));
  Value scale = read(tensor.scales);
  return e.mul(value, scale.getType().isInteger(8) ? decodeE8M0(e, scale)
                                                   : e.cast(scale, e.wide));
}

Value tp::nn::buildDequantized(Emitter &emitter,
                               const QuantizedTensor &tensor) {
  unsigned rank = tensor.shape.size();
  bool isStored = typeOf(tensor.values).getElementType() != tensor.element;
  SmallVector<Operand> operands;
  if (!isStored)
    operands.push_back({tensor.values, emitter.loops(rank)});
  auto type = RankedTensorType::get(tensor.shape, emitter.builder.getF32Type());
  return emitter.map(type, operands, [&](Scalar &e, ValueRange v) {
    SmallVector<Value> index = e.indices(rank);
    Value value =
        isStored ? readElement(e, tensor, index) : e.cast(v.front(), e.wide);
    return scaleElement(e, tensor, index, value);
  });
}

Value tp::nn::lookUp(OpBuilder &builder, EmbeddingOp embedding, DequantizeOp op,
                     const StoredWeight &stored) {
  QuantizedTensor table = getStored(op, stored);
  return buildLookUp(builder, embedding, [&](Scalar &e, ArrayRef<Value> index) {
    return scaleElement(e, table, index, readElement(e, table, index));
  });
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

double tp::nn::getLargest(Type element) {
  return element.isInteger(8)           ? 127
         : isa<Float8E5M2Type>(element) ? 57344
                                        : 448;
}

/// The nearest number of a float type with so many bits of mantissa, whose
/// normal numbers begin at 2^`least`; `value` is no larger than its largest.
static Value roundToFloat(Scalar &e, Value value, int mantissa, int least) {
  Type i32 = e.b.getI32Type(), f32 = e.wide;
  // The power of two below the magnitude, and the step between neighbours.
  Value bits = e.bits(value, i32);
  Value power = e.bits(e.both(bits, 0x7F800000), f32);
  power = e.max(power, std::ldexp(1.0, least));
  Value step = e.mul(power, std::ldexp(1.0, -mantissa));
  return e.mul(math::RoundEvenOp::create(e.b, e.div(value, step)), step);
}

/// `value` / `scale`, rounded to a number of `element`.
static Value roundTo(Scalar &e, Value value, Value scale, Type element) {
  Value zero = e.number(0), largest = e.number(getLargest(element));
  Value smallest = e.number(-getLargest(element));
  Value isZero = e.compare(CmpF::OEQ, scale, zero);
  value = e.div(value, e.select(isZero, e.number(1), scale));
  value = e.min(e.max(value, smallest), largest);
  if (element.isInteger(8))
    value = math::RoundEvenOp::create(e.b, value);
  else if (isa<Float8E5M2Type>(element))
    value = roundToFloat(e, value, 2, -14);
  else
    value = roundToFloat(e, value, 3, -6);
  return e.select(isZero, zero, value);
}

/// The byte of a number of f8E4M3FN. Between a power of two and the next one
/// there are eight steps, and as many below the least power: so eight for each
/// power, and the steps from zero, are the code.
static Value encodeE4M3(Scalar &e, Value number) {
  Type i32 = e.b.getI32Type(), f32 = e.wide;
  Value bits = e.bits(number, i32);
  Value power = e.both(bits, 0x7F800000);
  power = e.max(power, 121 << 23);
  Value step = e.mul(e.bits(power, f32), std::ldexp(1.0, -3));
  Value isNumber = e.compare(CmpF::ORD, number, number);
  Value steps = e.select(isNumber, e.div(number, step), 0);
  steps = e.cast(e.abs(steps), i32);
  Value powers =
      arith::ShRSIOp::create(e.b, e.sub(power, 121 << 23), e.integer(20, i32));
  Value code = e.select(isNumber, e.add(powers, steps), 0x7F);
  Value sign =
      e.both(arith::ShRSIOp::create(e.b, bits, e.integer(24, i32)), 0x80);
  return e.cast(e.either(code, sign), e.b.getI8Type());
}

Value tp::nn::encodeByte(Scalar &e, Value value, Value scale, Type element) {
  Value number = roundTo(e, value, scale, element);
  if (element.isInteger(8))
    return e.cast(number, element);
  return encodeE4M3(e, number);
}

/// `makeResult` of the rounded numbers and their scales.
static Value
mapRounded(Emitter &emitter, QuantizeOp op, RankedTensorType type,
           llvm::function_ref<Value(Scalar &, Value, Value)> makeResult) {
  unsigned rank = type.getRank();
  Type element = typeOf(op.getResult()).getElementType();
  return emitter.map(
      type, {{op.getInput(), emitter.loops(rank)}},
      [&](Scalar &e, ValueRange v) {
        SmallVector<Value> index = e.indices(rank);
        Value scale = tensor::ExtractOp::create(
            e.b, op.getScales(), getGroupOf(e, op.getGroup(), index));
        return makeResult(e, roundTo(e, v[0], scale, element), scale);
      });
}

bool tp::nn::hasTokenScales(QuantizeOp op) { return op.getGroup().back() == 0; }

Value tp::nn::multiplyElements(OpBuilder &builder, LinearOp linear,
                               QuantizeOp op) {
  Emitter emitter(builder, linear.getLoc(), builder.getF32Type());
  RankedTensorType result = typeOf(linear.getResult());
  Value elements = mapRounded(
      emitter, op,
      RankedTensorType::get(shapeOf(op.getInput()), builder.getBF16Type()),
      [](Scalar &, Value value, Value) { return value; });
  auto products = LinearOp::create(
      builder, linear.getLoc(), emitter.wideType(result.getShape()), elements,
      linear.getWeight(), /*bias=*/Value());
  if (typeOf(op.getResult()).getElementType().isInteger(8))
    products->setAttr(integerInputAttrName, builder.getUnitAttr());
  unsigned rank = result.getRank();
  SmallVector<Operand> operands{{products.getResult(), emitter.loops(rank)}};
  if (linear.getBias())
    operands.push_back({linear.getBias(), {emitter.loops(rank).back()}});
  return emitter.map(result, operands, [&](Scalar &e, ValueRange v) {
    SmallVector<Value> index = e.indices(rank);
    Value scale = tensor::ExtractOp::create(
        e.b, op.getScales(), getGroupOf(e, op.getGroup(), index));
    Value value = e.mul(v[0], scale);
    return v.size() > 1 ? e.add(value, v[1]) : value;
  });
}

Value tp::nn::buildRounded(Emitter &emitter, QuantizeOp op) {
  return mapRounded(
      emitter, op, RankedTensorType::get(shapeOf(op.getInput()), emitter.wide),
      [](Scalar &e, Value value, Value scale) { return e.mul(value, scale); });
}

Value tp::nn::buildQuantized(Emitter &emitter, QuantizeOp op) {
  RankedTensorType type = typeOf(op.getResult());
  return mapRounded(emitter, op, type,
                    [&](Scalar &e, Value value, Value) -> Value {
                      Type element = type.getElementType();
                      if (element.isInteger())
                        return e.cast(value, element);
                      return e.cast(value, element);
                    });
}
