//===- Tensor.cpp - Values of the interpreter -----------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Storage, rounding to the element type, and copies of boxes.
//
//===----------------------------------------------------------------------===//

#include "tp/Interpreter/Tensor.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/raw_ostream.h"
#include <bit>
#include <cmath>
#include <limits>

using namespace mlir;

namespace tp::interp {

std::optional<ElementType> getElementType(Type type) {
  type = getElementTypeOrSelf(type);
  if (type.isF64())
    return ElementType{ElementType::F64, 64};
  if (type.isF32())
    return ElementType{ElementType::F32, 32};
  if (type.isF16())
    return ElementType{ElementType::F16, 16};
  if (type.isBF16())
    return ElementType{ElementType::BF16, 16};
  if (isa<Float8E4M3FNType>(type))
    return ElementType{ElementType::E4M3, 8};
  if (isa<Float8E5M2Type>(type))
    return ElementType{ElementType::E5M2, 8};
  if (isa<Float4E2M1FNType>(type))
    return ElementType{ElementType::E2M1, 4};
  if (isa<Float8E8M0FNUType>(type))
    return ElementType{ElementType::E8M0, 8};
  if (type.isIndex())
    return ElementType{ElementType::Int, 64};
  if (auto integer = dyn_cast<IntegerType>(type))
    if (integer.isSignless() && integer.getWidth() <= 64 &&
        integer.getWidth() > 0)
      return ElementType{ElementType::Int, uint8_t(integer.getWidth())};
  return std::nullopt;
}

/// Round the 53-bit significand of `value` to `precision` bits, ties to even;
/// below `smallestNormal` to the grid of the subnormals; past `largest` to
/// infinity.
template <int precision>
static double roundToFormat(double value, double smallestNormal,
                            double largest) {
  if (!std::isfinite(value) || value == 0)
    return value;
  // Exact, as it is a power of two.
  double quantum = smallestNormal * (2.0 / (uint64_t(1) << precision));
  if (std::abs(value) < smallestNormal)
    return std::copysign(std::nearbyint(value / quantum) * quantum, value);
  uint64_t bits = std::bit_cast<uint64_t>(value);
  constexpr int shift = 53 - precision;
  uint64_t odd = (bits >> shift) & 1;
  bits += (uint64_t(1) << (shift - 1)) - 1 + odd;
  bits &= ~((uint64_t(1) << shift) - 1);
  double result = std::bit_cast<double>(bits);
  if (std::abs(result) > largest)
    return std::copysign(std::numeric_limits<double>::infinity(), value);
  return result;
}

static const llvm::fltSemantics &getSemantics(ElementType type) {
  switch (type.kind) {
  case ElementType::E4M3:
    return llvm::APFloat::Float8E4M3FN();
  case ElementType::E5M2:
    return llvm::APFloat::Float8E5M2();
  case ElementType::E2M1:
    return llvm::APFloat::Float4E2M1FN();
  case ElementType::E8M0:
    return llvm::APFloat::Float8E8M0FNU();
  default:
    llvm_unreachable("a float of at most eight bits");
  }
}

double roundToNarrow(ElementType type, double value) {
  if (type.kind == ElementType::BF16)
    return roundToFormat<8>(value, 0x1p-126, 0x1.FEp127);
  if (type.kind == ElementType::F16)
    return roundToFormat<11>(value, 0x1p-14, 65504.0);
  // There are no numbers below the powers of two.
  if (type.kind == ElementType::E8M0 && !(value > 0))
    return value == 0 ? 0x1p-127 : std::numeric_limits<double>::quiet_NaN();
  llvm::APFloat number(value);
  bool loses;
  number.convert(getSemantics(type), llvm::APFloat::rmNearestTiesToEven,
                 &loses);
  return number.convertToDouble();
}

uint64_t toNarrowBits(ElementType type, double value) {
  llvm::APFloat number(value);
  bool loses;
  number.convert(getSemantics(type), llvm::APFloat::rmNearestTiesToEven,
                 &loses);
  return number.bitcastToAPInt().getZExtValue();
}

double fromNarrowBits(ElementType type, uint64_t bits) {
  const llvm::fltSemantics &semantics = getSemantics(type);
  unsigned width = llvm::APFloat::getSizeInBits(semantics);
  return llvm::APFloat(semantics,
                       llvm::APInt(width, bits & ((1u << width) - 1)))
      .convertToDouble();
}

int64_t wrapTo(ElementType type, int64_t value) {
  if (type.width == 64)
    return value;
  if (type.width == 1)
    return value & 1;
  int shift = 64 - type.width;
  return int64_t(uint64_t(value) << shift) >> shift;
}

Tensor::Tensor(ArrayRef<int64_t> newShape, ElementType elementType)
    : shape(newShape), type(elementType), buffer(std::make_shared<Buffer>()) {
  numElements = 1;
  for (int64_t size : shape)
    numElements *= size;
  if (type.kind == ElementType::F64)
    buffer->doubles.resize(numElements);
  else if (type.isFloat())
    buffer->floats.resize(numElements);
  else
    buffer->ints.resize(numElements);
}

Tensor Tensor::scalarInt(int64_t value, ElementType type) {
  Tensor tensor(ArrayRef<int64_t>(), type);
  tensor.setInt(0, value);
  return tensor;
}

Tensor Tensor::scalarFloat(double value, ElementType type) {
  Tensor tensor(ArrayRef<int64_t>(), type);
  tensor.setFloat(0, value);
  return tensor;
}

int64_t Tensor::getByteSize() const {
  return numElements *
         (type.isFloat() && type.kind != ElementType::F64 ? 4 : 8);
}

SmallVector<int64_t> Tensor::getStrides() const {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t dim = int64_t(shape.size()) - 2; dim >= 0; --dim)
    strides[dim] = strides[dim + 1] * shape[dim + 1];
  return strides;
}

void Tensor::copyElement(int64_t i, const Tensor &from, int64_t j) {
  if (type.kind == ElementType::F64)
    buffer->doubles[i] = from.buffer->doubles[j];
  else if (type.isFloat())
    buffer->floats[i] = from.buffer->floats[j];
  else
    buffer->ints[i] = from.buffer->ints[j];
}

Tensor Tensor::clone() const {
  Tensor copy = *this;
  copy.buffer = std::make_shared<Buffer>(*buffer);
  return copy;
}

Tensor Tensor::reshaped(ArrayRef<int64_t> newShape) const {
  Tensor result = *this;
  result.shape.assign(newShape.begin(), newShape.end());
  return result;
}

void Tensor::copyBox(const Tensor &from, ArrayRef<int64_t> fromOffsets,
                     ArrayRef<int64_t> toOffsets, ArrayRef<int64_t> sizes,
                     ArrayRef<int64_t> fromSteps, ArrayRef<int64_t> toSteps) {
  int64_t rank = sizes.size();
  for (int64_t size : sizes)
    if (size <= 0)
      return;
  SmallVector<int64_t> fromStrides = from.getStrides();
  SmallVector<int64_t> toStrides = getStrides();
  int64_t source = 0, target = 0;
  for (int64_t dim = 0; dim < rank; ++dim) {
    source += fromOffsets[dim] * fromStrides[dim];
    target += toOffsets[dim] * toStrides[dim];
    if (!fromSteps.empty())
      fromStrides[dim] *= fromSteps[dim];
    if (!toSteps.empty())
      toStrides[dim] *= toSteps[dim];
  }
  if (rank == 0)
    return copyElement(0, from, 0);
  int64_t inner = sizes[rank - 1];
  int64_t fromStep = fromStrides[rank - 1], toStep = toStrides[rank - 1];
  auto copyRow = [&](auto *to, const auto *row) {
    for (int64_t i = 0; i < inner; ++i)
      to[i * toStep] = row[i * fromStep];
  };
  SmallVector<int64_t> index(rank, 0);
  while (true) {
    if (type.kind == ElementType::F64)
      copyRow(doubles() + target, from.doubles() + source);
    else if (type.isFloat())
      copyRow(floats() + target, from.floats() + source);
    else
      copyRow(ints() + target, from.ints() + source);
    int64_t dim = rank - 2;
    for (; dim >= 0; --dim) {
      source += fromStrides[dim];
      target += toStrides[dim];
      if (++index[dim] < sizes[dim])
        break;
      source -= fromStrides[dim] * sizes[dim];
      target -= toStrides[dim] * sizes[dim];
      index[dim] = 0;
    }
    if (dim < 0)
      return;
  }
}

Tensor packBytes(const Tensor &tensor) {
  ElementType type = tensor.getElementType();
  SmallVector<int64_t> shape(tensor.getShape());
  int64_t columns = shape.empty() ? 1 : shape.back();
  int64_t perByte = type.width == 4 ? 2 : 1;
  if (!shape.empty())
    shape.back() = (columns + perByte - 1) / perByte;
  Tensor bytes(shape, {ElementType::Int, 8});
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    uint64_t bits = type.isFloat() ? toNarrowBits(type, tensor.getFloat(i))
                                   : uint64_t(tensor.getInt(i));
    int64_t column = i % columns, row = i / columns;
    int64_t at = shape.empty() ? 0 : row * shape.back() + column / perByte;
    if (perByte == 2)
      bits = (bits & 15) << (column % 2 * 4);
    bytes.setInt(at, bytes.getInt(at) | int64_t(bits));
  }
  return bytes;
}

std::string formatIndex(ArrayRef<int64_t> shape, int64_t i) {
  SmallVector<int64_t> index(shape.size(), 0);
  for (int64_t dim = int64_t(shape.size()) - 1; dim >= 0; --dim) {
    int64_t size = std::max<int64_t>(shape[dim], 1);
    index[dim] = i % size;
    i /= size;
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "[";
  llvm::interleaveComma(index, os);
  os << "]";
  return text;
}

} // namespace tp::interp
