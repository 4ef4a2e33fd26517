//===- Values.cpp - inputs cut, outputs put together ----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of tensors, row by row.
//
//===----------------------------------------------------------------------===//

#include "Values.h"

#include "../support/Region.h"
#include "../support/Simd.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace tprt;

namespace {

/// Calls `body` with each block that a rank has of a whole tensor, as a region
/// from the whole to the part.
void forEachRegion(const Value &value, const Mesh &mesh,
                   const std::vector<int64_t> &coordinates,
                   const std::function<void(const Region &)> &body) {
  std::vector<std::vector<DimRun>> dims;
  for (size_t d = 0; d < value.shape.size(); ++d)
    dims.push_back(runsOf(value.shape[d], value.localShape[d],
                          value.sharding[d], mesh, coordinates));
  forEachBlock(dims, [&](const std::vector<DimRun> &runs) {
    Region region;
    for (const DimRun &run : runs) {
      region.extents.push_back(run.length);
      region.fromStart.push_back(run.start);
      region.toStart.push_back(run.local);
    }
    body(region);
  });
}

/// The ones of each row of a mask [B, S] must be neighbours, and first where
/// nothing can be moved.
Status checkPadding(const Input &input, const TensorView &mask) {
  int64_t columns = mask.shape[1];
  for (int64_t row = 0; row < mask.shape[0]; ++row) {
    int64_t previous = 0;
    bool hasEnded = false;
    for (int64_t column = 0; column < columns; ++column) {
      int64_t value = readInteger(mask, row * columns + column).value_or(-1);
      if (value != 0 && value != 1)
        return userError("input '", input.name, "': expected 0 or 1, got ",
                         value, " at [", row, ", ", column, "]");
      if (column == 0 && value == 0 && !input.sequences)
        return userError("input '", input.name, "': row ", row,
                         " begins with 0: padding on the left is not "
                         "supported, put it on the right");
      hasEnded |= value == 0 && previous == 1;
      if (value == 1 && hasEnded)
        return userError("input '", input.name, "': row ", row,
                         " has a 1 after a 0 at column ", column,
                         input.sequences
                             ? ", and ones before: expected padding before all "
                               "tokens or behind them"
                             : ": expected padding on the right only");
      previous = value;
    }
    if (previous == 0 && !hasEnded)
      return userError("input '", input.name, "': row ", row,
                       " has no 1: expected at least one token");
  }
  return {};
}

/// True if that is the input's shape, or with fewer positions.
bool isShapeOf(const Input &input, Shape shape) {
  if (input.sequences && shape.size() >= 2 && shape[1] >= 1 &&
      shape[1] < input.shape[1])
    shape[1] = input.shape[1];
  return shape == input.shape;
}

} // namespace

Expected<InputValue> tprt::checkInput(const Input &input,
                                      const TensorView &value) {
  if (!isShapeOf(input, value.shape))
    return userError("input '", input.name, "': expected shape ",
                     formatShape(input.shape), " as compiled, ",
                     input.sequences ? "or fewer positions, got " : "got ",
                     formatShape(value.shape));
  InputValue result;
  result.shape = value.shape;
  if (value.type == fileTypeOf(input.type)) {
    result.given = value.bytes.data();
  } else {
    TPRT_ASSIGN(auto tensor,
                convertTensor(value, input.type, "input '" + input.name + "'"));
    result.copy = std::move(tensor.bytes);
  }
  TensorView own = value;
  if (!result.given)
    own = {fileTypeOf(input.type), value.shape, result.copy};
  if (input.range)
    for (int64_t i = 0; i < elementCount(value.shape); ++i) {
      int64_t x = readInteger(own, i).value_or(0);
      if (x < input.range->first || x >= input.range->second)
        return userError("input '", input.name, "': expected values in [",
                         input.range->first, ", ", input.range->second,
                         "), got ", x, " at element ", i);
    }
  if (input.rightPadded)
    TPRT_TRY(checkPadding(input, own));
  return result;
}

InputValue tprt::shiftTargets(const Input &input, const InputValue &labels) {
  constexpr int32_t kLow = -100, kHigh = -1; // -100, little end first
  int64_t size = typeBytes(input.type), columns = labels.shape[1];
  InputValue result;
  result.shape = labels.shape;
  result.isShifted = true;
  result.copy.assign(labels.data(), size_t(elementCount(labels.shape) * size));
  for (int64_t row = 0; row < labels.shape[0]; ++row) {
    char *at = result.copy.data() + row * columns * size;
    std::memmove(at, at + size, size_t((columns - 1) * size));
    char *last = at + (columns - 1) * size;
    std::memcpy(last, &kLow, sizeof(kLow));
    if (size == 8)
      std::memcpy(last + 4, &kHigh, sizeof(kHigh));
  }
  return result;
}

std::vector<int64_t> tprt::leftPadding(const Input &mask,
                                       const InputValue &value) {
  int64_t rows = value.shape[0], columns = value.shape[1];
  TensorView view{
      fileTypeOf(mask.type),
      value.shape,
      {value.data(), size_t(elementCount(value.shape) * typeBytes(mask.type))}};
  std::vector<int64_t> left(size_t(rows), 0);
  for (int64_t row = 0; row < rows; ++row)
    while (readInteger(view, row * columns + left[size_t(row)]) == 0)
      ++left[size_t(row)];
  bool isAny = std::any_of(left.begin(), left.end(),
                           [](int64_t count) { return count > 0; });
  return isAny ? left : std::vector<int64_t>();
}

std::string tprt::ones(tprt_type type, int64_t count) {
  int64_t size = typeBytes(type);
  std::string bytes(size_t(count * size), '\0');
  for (int64_t i = 0; i < count; ++i) {
    float one = 1;
    if (isFloat(type))
      simd().narrow(type, &one, bytes.data() + i * size, 1);
    else
      bytes[size_t(i * size)] = 1;
  }
  return bytes;
}

void tprt::distribute(const Input &input, const InputValue *value,
                      const Mesh &mesh, const std::vector<int64_t> &coordinates,
                      void *local) {
  int64_t size = typeBytes(input.type);
  char *out = static_cast<char *>(local);
  std::memset(out, 0, elementCount(input.localShape) * size);
  if (input.reduction == Reduction::Sum &&
      mesh.index(input.partial, coordinates) != 0)
    return;
  std::string filled;
  if (!value) {
    if (input.defaultValue != Input::Default::Ones)
      return;
    filled = ones(input.type, elementCount(input.localShape));
  }
  forEachRegion(input, mesh, coordinates, [&](const Region &region) {
    forEachRun(
        input.shape, input.localShape, region,
        [&](int64_t whole, int64_t part, int64_t count) {
          const char *from =
              value ? value->data() + whole * size : filled.data();
          std::memcpy(out + part * size, from, count * size);
        },
        kAlone);
  });
}

/// Reduces what the ranks that differ from `rank` on the partial axes have.
static std::string reduceShards(const Value &value, const Mesh &mesh,
                                const std::vector<const void *> &shards,
                                int64_t rank) {
  std::vector<const void *> parts;
  for (int64_t member : mesh.group(value.partial, rank))
    parts.push_back(shards[size_t(member)]);
  std::string complete(size_t(value.localBytes()), '\0');
  simd().reduce(value.type, value.reduction, parts.data(),
                int64_t(parts.size()), complete.data(),
                elementCount(value.localShape));
  return complete;
}

/// True if the elements are the same, bit by bit. Which NaN one is says
/// nothing.
static bool areSame(tprt_type type, const char *a, const char *b,
                    int64_t count) {
  if (std::memcmp(a, b, size_t(count * typeBytes(type))) == 0)
    return true;
  for (int64_t i = 0, size = typeBytes(type); i < count;
       ++i, a += size, b += size) {
    if (std::memcmp(a, b, size_t(size)) == 0)
      continue;
    float values[2];
    if (!isFloat(type))
      return false;
    simd().widen(type, a, &values[0], 1);
    simd().widen(type, b, &values[1], 1);
    if (!std::isnan(values[0]) || !std::isnan(values[1]))
      return false;
  }
  return true;
}

Status tprt::assemble(const Value &value, const Mesh &mesh,
                      const std::vector<const void *> &shards, tprt_type type,
                      char *to) {
  int64_t size = typeBytes(value.type), count = elementCount(value.shape);
  if (type != value.type) {
    std::string own(count * size, '\0');
    TPRT_TRY(assemble(value, mesh, shards, value.type, own.data()));
    simd().widen(value.type, own.data(), reinterpret_cast<float *>(to), count);
    return {};
  }
  // The first rank that holds a block writes it, the others are compared.
  std::map<Shape, int64_t> owners;
  for (size_t rank = 0; rank < shards.size(); ++rank) {
    std::vector<int64_t> coordinates = mesh.coordinates(int64_t(rank));
    if (mesh.index(value.partial, coordinates) != 0)
      continue;
    auto *local = static_cast<const char *>(shards[rank]);
    std::string complete;
    if (!value.partial.empty()) {
      complete = reduceShards(value, mesh, shards, int64_t(rank));
      local = complete.data();
    }
    int64_t differs = -1, other = -1;
    forEachRegion(value, mesh, coordinates, [&](const Region &region) {
      auto [owner, first] = owners.insert({region.fromStart, int64_t(rank)});
      forEachRun(
          value.shape, value.localShape, region,
          [&, isFirst = first](int64_t whole, int64_t part, int64_t count) {
            char *at = to + whole * size;
            const char *from = local + part * size;
            if (isFirst)
              std::memcpy(at, from, count * size);
            else if (differs < 0 && !areSame(value.type, at, from, count))
              differs = whole;
          },
          kAlone);
      if (differs >= 0 && other < 0)
        other = owner->second;
    });
    if (differs >= 0)
      return lostError("output '", value.name, "': rank ", rank,
                       " differs from rank ", other, " near element ", differs,
                       ", though both hold the same part");
  }
  return {};
}

void tprt::initialise(const State &state, const Mesh &mesh,
                      const std::vector<int64_t> &coordinates, void *local) {
  Input like;
  static_cast<Value &>(like) = state;
  like.defaultValue = state.initial;
  distribute(like, nullptr, mesh, coordinates, local);
}
