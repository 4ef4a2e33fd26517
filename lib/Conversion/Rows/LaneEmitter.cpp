//===- LaneEmitter.cpp - Scalar bodies as vector code ---------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See LaneEmitter.h. Addresses are LLVM pointers from the start: a kernel's
// tensors have static shapes, so an access is an affine expression of the
// loops' indices, whose step from lane to lane decides between a broadcast, a
// vector access and one access per lane.
//
//===----------------------------------------------------------------------===//

#include "tp/Conversion/Rows/LaneEmitter.h"
#include "tp/Conversion/Rows/KernelPlan.h"
#include "tp/Support/Bytes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/AffineExprVisitor.h"
#include "mlir/IR/Matchers.h"
#include <numeric>

using namespace mlir;
using namespace tp;

Value LaneEmitter::constantIndex(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

/// The largest access that a target has an instruction for, if it cares.
static constexpr uint64_t maxAccessBytes = 16;

namespace {
/// Index arithmetic of an affine expression.
struct AffineEmitter : AffineExprVisitor<AffineEmitter, Value> {
  LaneEmitter &emitter;
  ValueRange dims;
  AffineEmitter(LaneEmitter &emitter, ValueRange dims)
      : emitter(emitter), dims(dims) {}

  template <typename Op>
  Value binary(AffineBinaryOpExpr expr) {
    Value lhs = visit(expr.getLHS());
    Value rhs = visit(expr.getRHS());
    return Op::create(emitter.builder, emitter.loc, lhs, rhs);
  }
  Value visitAddExpr(AffineBinaryOpExpr expr) {
    return binary<arith::AddIOp>(expr);
  }
  Value visitMulExpr(AffineBinaryOpExpr expr) {
    return binary<arith::MulIOp>(expr);
  }
  // Signed forms with a positive divisor; the dividend may be negative.
  Value visitFloorDivExpr(AffineBinaryOpExpr expr) {
    return binary<arith::FloorDivSIOp>(expr);
  }
  Value visitCeilDivExpr(AffineBinaryOpExpr expr) {
    return binary<arith::CeilDivSIOp>(expr);
  }
  Value visitModExpr(AffineBinaryOpExpr expr) {
    Value lhs = visit(expr.getLHS());
    Value rhs = visit(expr.getRHS());
    Value quotient =
        arith::FloorDivSIOp::create(emitter.builder, emitter.loc, lhs, rhs);
    Value product =
        arith::MulIOp::create(emitter.builder, emitter.loc, quotient, rhs);
    return arith::SubIOp::create(emitter.builder, emitter.loc, lhs, product);
  }
  Value visitConstantExpr(AffineConstantExpr expr) {
    return emitter.constantIndex(expr.getValue());
  }
  Value visitDimExpr(AffineDimExpr expr) { return dims[expr.getPosition()]; }
  Value visitSymbolExpr(AffineSymbolExpr) { return nullptr; }
};
} // namespace

Value LaneEmitter::emitAffine(AffineExpr expr, ValueRange dims) {
  return AffineEmitter(*this, dims).visit(expr);
}

Type LaneEmitter::getVectorType(Type element) {
  return width == 1 ? element : Type(VectorType::get({width}, element));
}

LaneValue LaneEmitter::makeConsecutive(Value base) {
  if (width == 1)
    return {base, false, base};
  return {nullptr, true, base, phase ? 1 : width};
}

Value LaneEmitter::toVector(const LaneValue &lane) {
  if (width == 1)
    return lane.value;
  if (lane.value && lane.isVector)
    return lane.value;
  if (lane.isVector) {
    Value steps = vector::StepOp::create(
        builder, loc, cast<VectorType>(getVectorType(builder.getIndexType())));
    return arith::AddIOp::create(builder, loc, getVectorOf(lane.base), steps);
  }
  return getVectorOf(lane.value);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// The type that an element has in memory: booleans are bytes, and bf16 is bits
/// (targets without bf16 registers move values of that type through f32 and
/// round them with a library call).
static Type getStorageType(Type element) {
  if (element.isInteger(1))
    return IntegerType::get(element.getContext(), 8);
  if (element.isBF16())
    return IntegerType::get(element.getContext(), 16);
  return element;
}

static Type withElement(Type type, Type element) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.clone(element);
  return element;
}

/// A value as it is in memory, and back.
static Value toStorage(OpBuilder &builder, Location loc, Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  Type type = withElement(value.getType(), getStorageType(element));
  if (element.isInteger(1))
    return arith::ExtUIOp::create(builder, loc, type, value);
  if (element.isBF16())
    return arith::BitcastOp::create(builder, loc, type, value);
  return value;
}
static Value fromStorage(OpBuilder &builder, Location loc, Value value,
                         Type element) {
  Type type = withElement(value.getType(), element);
  if (element.isInteger(1))
    return arith::TruncIOp::create(builder, loc, type, value);
  if (element.isBF16())
    return arith::BitcastOp::create(builder, loc, type, value);
  return value;
}

Value LaneEmitter::getVectorOf(Value scalar) {
  if (width == 1)
    return scalar;
  Type element = scalar.getType();
  Value stored = toStorage(builder, loc, scalar);
  Value vector = vector::BroadcastOp::create(
      builder, loc, getVectorType(stored.getType()), stored);
  return fromStorage(builder, loc, vector, element);
}

Value LaneEmitter::getAddress(const TensorMemory &memory, Value offset) {
  Value cast =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), offset);
  return LLVM::GEPOp::create(builder, loc, memory.address.getType(),
                             getStorageType(memory.elementType), memory.address,
                             ArrayRef<LLVM::GEPArg>{cast});
}

Value LaneEmitter::loadStored(const TensorMemory &memory, Value offset) {
  Type storage = getStorageType(memory.elementType);
  return LLVM::LoadOp::create(builder, loc, storage, getAddress(memory, offset),
                              memory.alignment ? getElementBytes(storage) : 0);
}

Value LaneEmitter::loadScalar(const TensorMemory &memory, Value offset) {
  return fromStorage(builder, loc, loadStored(memory, offset),
                     memory.elementType);
}

LaneValue LaneEmitter::gather(const TensorMemory &memory,
                              ArrayRef<Value> elements) {
  Value value = vector::FromElementsOp::create(
      builder, loc,
      cast<VectorType>(getVectorType(getStorageType(memory.elementType))),
      elements);
  return {fromStorage(builder, loc, value, memory.elementType), true, nullptr};
}

AffineExpr LaneEmitter::getOffset(const TensorMemory &memory, AffineMap map) {
  AffineExpr offset = getAffineConstantExpr(0, map.getContext());
  for (auto [result, stride] :
       llvm::zip_equal(map.getResults(), memory.strides))
    offset = offset + result * stride;
  return simplifyAffineExpr(offset, map.getNumDims(), 0);
}

/// How far `expr` moves from one lane to the next; none if it depends.
static std::optional<int64_t> getLaneStride(AffineExpr expr, unsigned numDims,
                                            int64_t laneDim) {
  if (laneDim < 0 || !expr.isFunctionOfDim(laneDim))
    return 0;
  AffineExpr dim = getAffineDimExpr(laneDim, expr.getContext());
  AffineExpr step =
      simplifyAffineExpr(expr.replace(dim, dim + 1) - expr, numDims, 0);
  if (auto constant = dyn_cast<AffineConstantExpr>(step))
    return constant.getValue();
  return std::nullopt;
}

/// A number that the index `value` is a multiple of; 0 is one of all numbers.
static int64_t getKnownMultiple(Value value, unsigned depth = 0) {
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return number.abs().getSExtValue();
  Operation *op = value.getDefiningOp();
  auto operand = [&](unsigned i) {
    return getKnownMultiple(op->getOperand(i), depth + 1);
  };
  if (op && depth < 4) {
    if (isa<arith::MulIOp>(op))
      return operand(0) * operand(1);
    if (isa<arith::AddIOp, arith::SubIOp>(op))
      return std::gcd(operand(0), operand(1));
  }
  return 1;
}

unsigned LaneEmitter::getAlignment(const TensorMemory &memory, AffineExpr expr,
                                   ValueRange position, int64_t laneDim,
                                   ArrayRef<int64_t> multiples) {
  int64_t bytes = getElementBytes(getStorageType(memory.elementType));
  if (memory.alignment == 0)
    return bytes;
  MLIRContext *context = expr.getContext();
  SmallVector<AffineExpr> dims;
  unsigned numDims = position.size();
  for (unsigned i = 0; i < numDims; ++i) {
    int64_t multiple =
        multiples.empty() ? getKnownMultiple(position[i]) : multiples[i];
    if (int64_t(i) == laneDim)
      multiple = width;
    dims.push_back(getAffineDimExpr(i, context) * multiple);
  }
  if (phase && multiples.empty() && laneDim >= 0)
    dims[laneDim] = dims[laneDim] - phase.replaceDims(dims);
  AffineExpr scaled =
      simplifyAffineExpr(expr.replaceDims(dims), numDims, /*numSymbols=*/0);
  uint64_t known = std::gcd(uint64_t(scaled.getLargestKnownDivisor()) * bytes,
                            uint64_t(memory.alignment));
  return std::min<uint64_t>(maxAccessBytes, known & -known);
}

LaneValue LaneEmitter::load(const TensorMemory &memory, AffineExpr expr,
                            ValueRange dims, int64_t laneDim,
                            ArrayRef<int64_t> multiples) {
  std::optional<int64_t> stride = getLaneStride(expr, dims.size(), laneDim);
  if (width == 1 || stride == 0)
    return {loadScalar(memory, emitAffine(expr, dims)), false, nullptr};
  Type storage = getStorageType(memory.elementType);
  if (stride == 1) {
    Value value = LLVM::LoadOp::create(
        builder, loc, getVectorType(storage),
        getAddress(memory, emitAffine(expr, dims)),
        getAlignment(memory, expr, dims, laneDim, multiples));
    value = fromStorage(builder, loc, value, memory.elementType);
    return {value, true, nullptr};
  }
  SmallVector<Value> elements, position(dims.begin(), dims.end());
  for (int64_t i = 0; i < width; ++i) {
    position[laneDim] =
        arith::AddIOp::create(builder, loc, dims[laneDim], constantIndex(i));
    elements.push_back(loadStored(memory, emitAffine(expr, position)));
  }
  return gather(memory, elements);
}

void LaneEmitter::store(const LaneValue &lane, const TensorMemory &memory,
                        AffineExpr expr, ValueRange dims, int64_t laneDim) {
  std::optional<int64_t> stride = getLaneStride(expr, dims.size(), laneDim);
  if (width == 1) {
    LLVM::StoreOp::create(builder, loc, toStorage(builder, loc, lane.value),
                          getAddress(memory, emitAffine(expr, dims)));
    return;
  }
  Value value = toStorage(builder, loc, toVector(lane));
  if (stride == 1) {
    LLVM::StoreOp::create(builder, loc, value,
                          getAddress(memory, emitAffine(expr, dims)),
                          getAlignment(memory, expr, dims, laneDim, {}));
    return;
  }
  SmallVector<Value> position(dims.begin(), dims.end());
  for (int64_t i = 0; i < width; ++i) {
    if (laneDim >= 0)
      position[laneDim] =
          arith::AddIOp::create(builder, loc, dims[laneDim], constantIndex(i));
    Value element = vector::ExtractOp::create(builder, loc, value, i);
    LLVM::StoreOp::create(builder, loc, element,
                          getAddress(memory, emitAffine(expr, position)));
  }
}

LaneValue LaneEmitter::emitExtract(Operation *op, const TensorMemory &memory,
                                   ArrayRef<LaneValue> indices) {
  MLIRContext *context = op->getContext();
  AffineExpr offset = getAffineConstantExpr(0, context);
  SmallVector<Value> bases;
  SmallVector<int64_t> multiples;
  int64_t laneStride = 0;
  bool perLane = false;
  for (auto [position, index] : llvm::enumerate(indices)) {
    offset =
        offset + getAffineDimExpr(position, context) * memory.strides[position];
    if (index.isVector && !index.base)
      perLane = true;
    else if (index.isVector)
      laneStride += memory.strides[position];
    bases.push_back(index.base ? index.base : index.value);
    multiples.push_back(index.isVector ? index.multiple
                                       : getKnownMultiple(bases.back()));
  }
  if (width == 1 || (!perLane && laneStride == 0))
    return {loadScalar(memory, emitAffine(offset, bases)), false, nullptr};
  if (!perLane && laneStride == 1) {
    AffineExpr lane = getAffineDimExpr(indices.size(), context);
    bases.push_back(constantIndex(0));
    multiples.push_back(width);
    return load(memory, offset + lane, bases, indices.size(), multiples);
  }
  SmallVector<Value> elements;
  for (int64_t i = 0; i < width; ++i) {
    SmallVector<Value> position;
    for (const LaneValue &index : indices) {
      if (!index.isVector)
        position.push_back(index.value);
      else
        position.push_back(
            vector::ExtractOp::create(builder, loc, toVector(index), i));
    }
    elements.push_back(loadStored(memory, emitAffine(offset, position)));
  }
  return gather(memory, elements);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static bool isNarrowFloat(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isBF16() || element.isF16();
}

/// bf16 or f16 to f32.
Value LaneEmitter::widen(Value value) {
  Type wide = withElement(value.getType(), builder.getF32Type());
  if (!getElementTypeOrSelf(value.getType()).isBF16())
    return arith::ExtFOp::create(builder, loc, wide, value);
  Type i16 = withElement(value.getType(), builder.getIntegerType(16));
  Type i32 = withElement(value.getType(), builder.getI32Type());
  Value bits = arith::BitcastOp::create(builder, loc, i16, value);
  bits = arith::ExtUIOp::create(builder, loc, i32, bits);
  Value sixteen =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(i32));
  Value shift = arith::ConstantIntOp::create(builder, loc, 16, 32);
  if (auto vector = dyn_cast<VectorType>(i32))
    sixteen = vector::BroadcastOp::create(builder, loc, vector, shift);
  else
    sixteen = shift;
  bits = arith::ShLIOp::create(builder, loc, bits, sixteen);
  return arith::BitcastOp::create(builder, loc, wide, bits);
}

/// f32 to bf16 or f16, to nearest even. For bf16 in integers, which every
/// target does on vectors: add 0x7fff and the last bit kept, then drop 16 bits;
/// a NaN keeps its sign and becomes quiet.
Value LaneEmitter::narrow(Value value, Type element) {
  Type narrowType = withElement(value.getType(), element);
  if (!element.isBF16() || roundsToBf16)
    return arith::TruncFOp::create(builder, loc, narrowType, value);
  Type i32 = withElement(value.getType(), builder.getI32Type());
  Type i16 = withElement(value.getType(), builder.getIntegerType(16));
  auto constant = [&](int64_t number) -> Value {
    auto attr = builder.getI32IntegerAttr(number);
    if (auto vector = dyn_cast<VectorType>(i32))
      return arith::ConstantOp::create(builder, loc,
                                       DenseElementsAttr::get(vector, attr));
    return arith::ConstantOp::create(builder, loc, attr);
  };
  Value bits = arith::BitcastOp::create(builder, loc, i32, value);
  Value sixteen = constant(16);
  Value upper = arith::ShRUIOp::create(builder, loc, bits, sixteen);
  Value odd = arith::AndIOp::create(builder, loc, upper, constant(1));
  Value bias = arith::AddIOp::create(builder, loc, odd, constant(0x7fff));
  Value rounded = arith::AddIOp::create(builder, loc, bits, bias);
  rounded = arith::ShRUIOp::create(builder, loc, rounded, sixteen);
  Value quiet = arith::OrIOp::create(builder, loc, upper, constant(0x40));
  Value isNan = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO,
                                      value, value);
  Value chosen = arith::SelectOp::create(builder, loc, isNan, quiet, rounded);
  Value half = arith::TruncIOp::create(builder, loc, i16, chosen);
  return arith::BitcastOp::create(builder, loc, narrowType, half);
}

FailureOr<LaneValue>
LaneEmitter::emitElementwise(Operation *op, ArrayRef<LaneValue> operands) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 ||
      !op->hasTrait<OpTrait::Elementwise>())
    return op->emitOpError("expected an elementwise operation on scalars in "
                           "the body of a kernel");
  bool isVector =
      width != 1 && llvm::any_of(operands, [](const LaneValue &lane) {
        return lane.isVector;
      });
  SmallVector<Value> values;
  for (const LaneValue &lane : operands)
    values.push_back(isVector ? toVector(lane) : lane.value);
  Type result = op->getResult(0).getType();
  // Index arithmetic on consecutive lanes stays consecutive.
  Value base;
  int64_t multiple = 1;
  if (isVector && isa<arith::AddIOp, arith::SubIOp>(op) && result.isIndex() &&
      operands[0].isVector != operands[1].isVector) {
    const LaneValue &moving = operands[0].isVector ? operands[0] : operands[1];
    const LaneValue &fixed = operands[0].isVector ? operands[1] : operands[0];
    multiple = std::gcd(moving.multiple, getKnownMultiple(fixed.value));
    if (moving.base && isa<arith::AddIOp>(op))
      base = arith::AddIOp::create(builder, loc, moving.base, fixed.value);
    else if (operands[0].base && operands[0].isVector)
      base = arith::SubIOp::create(builder, loc, operands[0].base, fixed.value);
  }
  if (base)
    return LaneValue{nullptr, true, base, multiple};
  auto typed = [&](Type type) { return isVector ? getVectorType(type) : type; };
  if (auto ext = dyn_cast<arith::ExtFOp>(op);
      ext && isNarrowFloat(ext.getIn().getType()) && result.isF32())
    return LaneValue{widen(values[0]), isVector, nullptr};
  if (auto trunc = dyn_cast<arith::TruncFOp>(op);
      trunc && trunc.getIn().getType().isF32())
    return LaneValue{narrow(values[0], result), isVector, nullptr};
  // A choice between narrow floats is one between their bits: as floats it
  // would be made in f32 and rounded by a library call.
  if (isa<arith::SelectOp>(op) && isNarrowFloat(result)) {
    auto asBits = [&](Value value) {
      Type bits = withElement(value.getType(), builder.getIntegerType(16));
      return arith::BitcastOp::create(builder, loc, bits, value).getResult();
    };
    Value chosen = arith::SelectOp::create(
        builder, loc, values[0], asBits(values[1]), asBits(values[2]));
    Value value = arith::BitcastOp::create(builder, loc, typed(result), chosen);
    return LaneValue{value, isVector, nullptr};
  }
  bool movesBits = isa<arith::SelectOp, arith::BitcastOp>(op);
  Type computed = result;
  if (!movesBits) {
    for (Value &value : values)
      if (isNarrowFloat(value.getType()))
        value = widen(value);
    if (isNarrowFloat(result))
      computed = builder.getF32Type();
  }
  OperationState state(loc, op->getName(), values, {typed(computed)},
                       op->getAttrs());
  state.propertiesAttr = op->getPropertiesAsAttribute();
  Value value = builder.create(state)->getResult(0);
  if (computed != result)
    value = narrow(value, result);
  return LaneValue{value, isVector, nullptr};
}

LogicalResult
LaneEmitter::emitBody(Block &block, DenseMap<Value, LaneValue> &lanes,
                      ArrayRef<LaneValue> indices,
                      function_ref<FailureOr<TensorMemory>(Value)> findMemory,
                      ArrayRef<Operation *> skipped) {
  auto find = [&](Value value) -> LaneValue {
    auto found = lanes.find(value);
    // Constants and scalars from outside are the same for all lanes.
    return found == lanes.end() ? LaneValue{value, false, nullptr}
                                : found->second;
  };
  for (Operation &op : block.without_terminator()) {
    if (llvm::is_contained(skipped, &op))
      continue;
    if (auto index = dyn_cast<linalg::IndexOp>(op)) {
      lanes[index] = indices[index.getDim()];
      continue;
    }
    if (op.hasTrait<OpTrait::ConstantLike>()) {
      lanes[op.getResult(0)] = {builder.clone(op)->getResult(0), false,
                                nullptr};
      continue;
    }
    if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
      // A constant in every element, or nothing in particular.
      if (auto found = lanes.find(extract.getTensor()); found != lanes.end()) {
        LaneValue element = found->second;
        lanes[extract] = element;
        continue;
      }
      FailureOr<TensorMemory> memory = findMemory(extract.getTensor());
      if (failed(memory))
        return failure();
      SmallVector<LaneValue> at;
      for (Value index : extract.getIndices())
        at.push_back(find(index));
      lanes[extract] = emitExtract(&op, *memory, at);
      continue;
    }
    SmallVector<LaneValue> operands;
    for (Value operand : op.getOperands())
      operands.push_back(find(operand));
    FailureOr<LaneValue> lane = emitElementwise(&op, operands);
    if (failed(lane))
      return failure();
    lanes[op.getResult(0)] = *lane;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Value LaneEmitter::reduce(const Combiner &combiner, Value vector) {
  auto type = dyn_cast<VectorType>(vector.getType());
  if (!type)
    return vector;
  // Halves onto halves: the order is the same for every rank and target width.
  for (int64_t size = type.getDimSize(0); size > 1; size /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t i = 0; i < size / 2; ++i) {
      low.push_back(i);
      high.push_back(size / 2 + i);
    }
    Value a = vector::ShuffleOp::create(builder, loc, vector, vector, low);
    Value b = vector::ShuffleOp::create(builder, loc, vector, vector, high);
    vector = combinePartials(builder, loc, combiner, a, b);
  }
  return vector::ExtractOp::create(builder, loc, vector, 0);
}

Value LaneEmitter::getIdentity(const Combiner &combiner, Type type) {
  TypedAttr element = getIdentityElement(combiner, getElementTypeOrSelf(type));
  if (auto vector = dyn_cast<VectorType>(type))
    element = DenseElementsAttr::get(vector, Attribute(element));
  return arith::ConstantOp::create(builder, loc, element);
}
