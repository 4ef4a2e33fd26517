//===- Tensor.h - Values of the interpreter ---------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dense row-major tensor or scalar as the interpreter holds it: floats of up
// to 32 bits in `float`, f64 in `double`, integers and index sign-extended in
// `int64_t`. The element type says how results are rounded. Copies share the
// elements; whoever fills a tensor does so before sharing it.
//
//===----------------------------------------------------------------------===//

#ifndef TP_INTERPRETER_TENSOR_H
#define TP_INTERPRETER_TENSOR_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tp::interp {

/// How an element is rounded or wrapped. Floats of eight bits and fewer are
/// f8E4M3FN, f8E5M2, f4E2M1FN and f8E8M0FNU.
struct ElementType {
  enum Kind : uint8_t { F64, F32, F16, BF16, Int, E4M3, E5M2, E2M1, E8M0 };
  Kind kind = F32;
  /// Bits; index is an Int of 64.
  uint8_t width = 32;

  bool isFloat() const { return kind != Int; }
  bool operator==(const ElementType &other) const = default;
};

/// The element type of a scalar or shaped type; none if it is no float that
/// ElementType has, no signless integer of up to 64 and not index.
std::optional<ElementType> getElementType(mlir::Type type);

/// `value` rounded to nearest even in the type's format of at most 16 bits
/// (overflow to infinity, or to what the format has instead; subnormals kept).
double roundToNarrow(ElementType type, double value);
/// The number that a float of at most eight bits is.
double fromNarrowBits(ElementType type, uint64_t bits);
/// The bits of a number that such a float can be.
uint64_t toNarrowBits(ElementType type, double value);
inline double roundTo(ElementType type, double value) {
  switch (type.kind) {
  case ElementType::F32:
    return double(float(value));
  case ElementType::F64:
  case ElementType::Int:
    return value;
  default:
    return roundToNarrow(type, value);
  }
}
/// `value` wrapped to the type's width and sign-extended; an i1 is 0 or 1.
int64_t wrapTo(ElementType type, int64_t value);

/// Unit in the last place of 1 in the type's format: 2^-23 for f32.
inline double getEpsilon(ElementType type) {
  constexpr double epsilons[] = {0x1p-52, 0x1p-23, 0x1p-10, 0x1p-7, 0,
                                 0x1p-3,  0x1p-2,  0x1p-1,  1};
  return epsilons[type.kind];
}

class Tensor {
public:
  Tensor() = default;
  /// Zeros.
  Tensor(llvm::ArrayRef<int64_t> shape, ElementType type);
  static Tensor scalarInt(int64_t value,
                          ElementType type = {ElementType::Int, 64});
  static Tensor scalarFloat(double value, ElementType type);

  bool isNull() const { return !buffer; }
  llvm::ArrayRef<int64_t> getShape() const { return shape; }
  int64_t getRank() const { return shape.size(); }
  int64_t getNumElements() const { return numElements; }
  ElementType getElementType() const { return type; }
  int64_t getByteSize() const;
  /// Strides in elements, row-major.
  llvm::SmallVector<int64_t> getStrides() const;

  /// Exactly one of these is not null for a tensor with elements.
  const float *floats() const { return buffer->floats.data(); }
  const double *doubles() const { return buffer->doubles.data(); }
  const int64_t *ints() const { return buffer->ints.data(); }
  float *floats() { return buffer->floats.data(); }
  double *doubles() { return buffer->doubles.data(); }
  int64_t *ints() { return buffer->ints.data(); }

  double getFloat(int64_t i) const {
    return type.kind == ElementType::F64 ? buffer->doubles[i]
                                         : buffer->floats[i];
  }
  int64_t getInt(int64_t i) const { return buffer->ints[i]; }
  /// The element as a number, whatever its type.
  double getNumber(int64_t i) const {
    return type.isFloat() ? getFloat(i) : double(getInt(i));
  }
  /// Rounds to the element type.
  void setFloat(int64_t i, double value) {
    if (type.kind == ElementType::F64)
      buffer->doubles[i] = value;
    else
      buffer->floats[i] = float(roundTo(type, value));
  }
  void setInt(int64_t i, int64_t value) {
    buffer->ints[i] = wrapTo(type, value);
  }
  /// Copy one element of a tensor of the same element type.
  void copyElement(int64_t i, const Tensor &from, int64_t j);

  /// Same elements in the same memory.
  bool sharesWith(const Tensor &other) const { return buffer == other.buffer; }
  /// A copy with its own memory.
  Tensor clone() const;
  /// The same elements under another shape of as many elements.
  Tensor reshaped(llvm::ArrayRef<int64_t> newShape) const;
  /// Copy the box of `sizes` at `fromOffsets` (step `fromSteps`, ones if empty)
  /// of `from` to `toOffsets` (step `toSteps`) of this tensor. The boxes must
  /// lie within both; ranks and element types are the same.
  void copyBox(const Tensor &from, llvm::ArrayRef<int64_t> fromOffsets,
               llvm::ArrayRef<int64_t> toOffsets, llvm::ArrayRef<int64_t> sizes,
               llvm::ArrayRef<int64_t> fromSteps = {},
               llvm::ArrayRef<int64_t> toSteps = {});

private:
  struct Buffer {
    std::vector<float> floats;
    std::vector<double> doubles;
    std::vector<int64_t> ints;
  };
  llvm::SmallVector<int64_t, 4> shape;
  int64_t numElements = 0;
  ElementType type;
  std::shared_ptr<Buffer> buffer;
};

/// The elements of at most eight bits as they lie in memory: bytes, each row of
/// whole ones, two elements of four bits in one with the first in the low bits.
Tensor packBytes(const Tensor &tensor);

/// "[0, 3, 2]" for the element at linear position `i` of a tensor of `shape`.
std::string formatIndex(llvm::ArrayRef<int64_t> shape, int64_t i);

} // namespace tp::interp

#endif // TP_INTERPRETER_TENSOR_H
