//===- CompareTensors.cpp - Whether two tensors are one -------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Equal bytes of one type need no conversion. Elsewhere elements are widened to
// f32 and, where these differ, rounded to the type that the program reads.
//
//===----------------------------------------------------------------------===//

#include "tp/Import/CompareTensors.h"

#include "tp/Support/Indices.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Path.h"
#include <bit>
#include <cmath>

using namespace mlir;

namespace tp {

/// Elements that are read at a time.
static constexpr int64_t pieceElements = int64_t(1) << 18;

static const llvm::fltSemantics &getSemantics(FloatKind kind) {
  switch (kind) {
  case FloatKind::F32:
    return llvm::APFloat::IEEEsingle();
  case FloatKind::BF16:
    return llvm::APFloat::BFloat();
  case FloatKind::F16:
    return llvm::APFloat::IEEEhalf();
  }
  llvm_unreachable("unknown float kind");
}

static std::optional<FloatKind> getFloatKind(StringRef dtype) {
  if (dtype == "F32")
    return FloatKind::F32;
  if (dtype == "BF16")
    return FloatKind::BF16;
  if (dtype == "F16")
    return FloatKind::F16;
  return std::nullopt;
}

/// Expects a tensor that has elements.
static int64_t getElementBytes(const CheckpointTensor &tensor) {
  int64_t count = 1;
  for (int64_t size : tensor.shape)
    count *= size;
  return int64_t(tensor.end - tensor.begin) / count;
}

static float widen(FloatKind kind, const char *at) {
  namespace le = llvm::support::endian;
  if (kind == FloatKind::F32)
    return std::bit_cast<float>(le::read32le(at));
  uint16_t bits = le::read16le(at);
  if (kind == FloatKind::BF16)
    return std::bit_cast<float>(uint32_t(bits) << 16);
  static const std::vector<float> halves = [] {
    std::vector<float> values(size_t(1) << 16);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = llvm::APFloat(llvm::APFloat::IEEEhalf(), llvm::APInt(16, i))
                      .convertToDouble();
    return values;
  }();
  return halves[bits];
}

static float round(float value, FloatKind kind) {
  llvm::APFloat rounded(value);
  bool losesInfo;
  rounded.convert(getSemantics(kind), llvm::APFloat::rmNearestTiesToEven,
                  &losesInfo);
  rounded.convert(llvm::APFloat::IEEEsingle(),
                  llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return rounded.convertToFloat();
}

/// Zeros of both signs are one value, and so are all NaNs.
static bool isSame(float a, float b, FloatKind kind) {
  if (a == b || (std::isnan(a) && std::isnan(b)))
    return true;
  return kind != FloatKind::F32 && round(a, kind) == round(b, kind);
}

llvm::Error TensorComparer::read(const CheckpointTensor &tensor,
                                 int64_t element, int64_t count,
                                 SmallVectorImpl<char> &bytes) {
  std::unique_ptr<CheckpointFile> &file = files[tensor.file];
  if (!file) {
    SmallString<128> path(directory);
    llvm::sys::path::append(path, tensor.file);
    llvm::Expected<CheckpointFile> opened = CheckpointFile::open(path);
    if (!opened)
      return opened.takeError();
    file = std::make_unique<CheckpointFile>(std::move(*opened));
  }
  int64_t size = getElementBytes(tensor);
  bytes.resize_for_overwrite(size_t(count * size));
  return file->read(tensor.begin + element * size, bytes);
}

/// Counts the last dimensions that are whole on both sides, so that their
/// elements follow each other.
static size_t countWhole(const TensorBox &a, const TensorBox &b,
                         ArrayRef<int64_t> sizes) {
  size_t count = 0;
  while (count < sizes.size()) {
    size_t dim = sizes.size() - 1 - count;
    if (a.shape[dim] != sizes[dim] || b.shape[dim] != sizes[dim])
      break;
    ++count;
  }
  return count;
}

/// The number of the element at `index` of the box.
static int64_t locate(const TensorBox &box, ArrayRef<int64_t> index) {
  int64_t element = 0;
  for (size_t dim = 0; dim < box.shape.size(); ++dim)
    element = element * box.shape[dim] + box.offsets[dim] +
              (dim < index.size() ? index[dim] : 0);
  return element;
}

llvm::Expected<bool>
TensorComparer::isPieceEqual(const CheckpointTensor &a, int64_t aElement,
                             const CheckpointTensor &b, int64_t bElement,
                             int64_t count, FloatKind type) {
  SmallVector<char> left, right;
  if (llvm::Error error = read(a, aElement, count, left))
    return std::move(error);
  if (llvm::Error error = read(b, bElement, count, right))
    return std::move(error);
  if (a.dtype == b.dtype && left == right)
    return true;
  std::optional<FloatKind> aKind = getFloatKind(a.dtype),
                           bKind = getFloatKind(b.dtype);
  if (!aKind || !bKind)
    return false;
  int64_t aBytes = getElementBytes(a), bBytes = getElementBytes(b);
  for (int64_t i = 0; i < count; ++i)
    if (!isSame(widen(*aKind, &left[i * aBytes]),
                widen(*bKind, &right[i * bBytes]), type))
      return false;
  return true;
}

llvm::Expected<bool> TensorComparer::areEqual(const TensorBox &a,
                                              const TensorBox &b,
                                              ArrayRef<int64_t> sizes,
                                              FloatKind type) {
  // Runs of elements that follow each other in both: the whole dimensions, and
  // the one before them.
  size_t outer = sizes.size() - countWhole(a, b, sizes);
  outer -= outer > 0;
  int64_t run = 1;
  for (int64_t size : sizes.drop_front(outer))
    run *= size;
  // True until a piece differs or cannot be read.
  llvm::Expected<bool> equal = true;
  forEachIndex(sizes.take_front(outer), [&](MutableArrayRef<int64_t> index,
                                            int64_t) {
    for (int64_t done = 0; equal && *equal && done < run; done += pieceElements)
      equal = isPieceEqual(*a.tensor, locate(a, index) + done, *b.tensor,
                           locate(b, index) + done,
                           std::min(pieceElements, run - done), type);
  });
  return equal;
}

llvm::Expected<bool> TensorComparer::areEqual(const CheckpointTensor &a,
                                              const CheckpointTensor &b,
                                              FloatKind type) {
  if (a.shape != b.shape)
    return false;
  SmallVector<int64_t> zeros(a.shape.size(), 0);
  return areEqual({&a, a.shape, zeros}, {&b, b.shape, zeros}, a.shape, type);
}

} // namespace tp
