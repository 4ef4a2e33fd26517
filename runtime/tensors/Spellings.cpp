//===- Spellings.cpp - tensors that stand for one parameter ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Spellings.h"

#include "../support/Simd.h"
#include "tprt/names.h"

#include <algorithm>
#include <cmath>

using namespace tprt;

std::string tprt::patternOf(const std::string &name) {
  std::string text =
      replaceLayerNumbers(name, [](const LayerNumber &) { return "*"; });
  for (size_t at; (at = text.find("{e}")) != std::string::npos;)
    text.replace(at, 3, "*");
  return text;
}

namespace {

/// Elements that are read at a time.
constexpr int64_t kPiece = 1 << 18;

/// The elements of a box that follow each other in both tensors of a pair: the
/// last dimensions that are whole, and the one before them.
int64_t runLength(const SamePair &pair) {
  int64_t run = 1;
  for (size_t d = pair.sizes.size(); d-- > 0;) {
    run *= pair.sizes[d];
    if (pair.a.shape[d] != pair.sizes[d] || pair.b.shape[d] != pair.sizes[d])
      break;
  }
  return run;
}

/// The position of element `index` of the box in its tensor.
int64_t locate(const TensorBox &box, const Shape &sizes, int64_t index) {
  int64_t element = 0, stride = 1;
  for (size_t d = sizes.size(); d-- > 0; index /= sizes[d]) {
    element += (box.offsets[d] + index % sizes[d]) * stride;
    stride *= box.shape[d];
  }
  return element;
}

/// One side of a comparison, piece by piece.
class Reader {
public:
  explicit Reader(const TensorBox &box)
      : box(box), type(*floatTypeOf(box.tensor.place.type)) {}

  Status read(int64_t element, int64_t count) {
    int64_t size = typeBytes(type);
    bytes.resize(size_t(count * size));
    return box.tensor.read(element * size, bytes.data(), count * size);
  }
  const float *widened() {
    int64_t count = int64_t(bytes.size()) / typeBytes(type);
    values.resize(size_t(count));
    simd().widen(type, bytes.data(), values.data(), count);
    return values.data();
  }

  const TensorBox &box;
  const tprt_type type;
  std::string bytes;

private:
  std::vector<float> values;
};

float rounded(float value, tprt_type type) {
  char narrow[4];
  simd().narrow(type, &value, narrow, 1);
  simd().widen(type, narrow, &value, 1);
  return value;
}

bool isSame(float a, float b, tprt_type type) {
  if (a == b || (std::isnan(a) && std::isnan(b)))
    return true;
  return type != TPRT_F32 && rounded(a, type) == rounded(b, type);
}

bool areSame(Reader &a, Reader &b, int64_t count, tprt_type type) {
  if (a.type == b.type && a.bytes == b.bytes)
    return true;
  const float *left = a.widened(), *right = b.widened();
  for (int64_t i = 0; i < count; ++i)
    if (!isSame(left[i], right[i], type))
      return false;
  return true;
}

} // namespace

Status tprt::compareShare(const SamePair &pair, int64_t share, int64_t shares) {
  int64_t count = elementCount(pair.sizes), run = runLength(pair);
  // Without an overflow, for there are fewer than 2^48 elements.
  int64_t begin = count / shares * share + std::min(share, count % shares);
  int64_t end = begin + count / shares + (share < count % shares);
  Reader a(pair.a), b(pair.b);
  while (begin < end) {
    int64_t piece = std::min({kPiece, end - begin, run - begin % run});
    TPRT_TRY(a.read(locate(pair.a, pair.sizes, begin), piece));
    TPRT_TRY(b.read(locate(pair.b, pair.sizes, begin), piece));
    if (!areSame(a, b, piece, pair.type))
      return userError(
          "tensors '", pair.a.tensor.name, "' of '", pair.a.tensor.path,
          "' and '", pair.b.tensor.name, "' of '", pair.b.tensor.path,
          "' stand for the same parameter of the program but hold different "
          "values: compile it again with --ignore ",
          pair.a.pattern, " or --ignore ", pair.b.pattern,
          ", whichever is not to be read, or with --untie if they are a table "
          "of tokens and the head");
    begin += piece;
  }
  return {};
}
