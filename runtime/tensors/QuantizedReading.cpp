//===- QuantizedReading.cpp - weights quantised while read ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arithmetic is that of python/tp_mlir/quantize/_formats.py, operation by
// operation in the same precision, so that bytes are equal. What is read at a
// time is a row or as many of its groups as are asked for; only the scales of
// blocks of rows, a number for 16384 weights, are kept.
//
//===----------------------------------------------------------------------===//

#include "QuantizedReading.h"

#include "../support/QuantizedWeight.h"
#include "../support/Simd.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>

using namespace tprt;

namespace {

enum class Kind { Integers, Rows, Blocks, Powers };

struct Format {
  const char *name;
  Kind kind;
  int64_t bits, group; ///< group: inputs that share a scale; 0: all
};

constexpr int64_t kBlock = 128;
constexpr Format kFormats[] = {{"int4-g128", Kind::Integers, 4, 128},
                               {"int4-g32", Kind::Integers, 4, 32},
                               {"int8", Kind::Integers, 8, 0},
                               {"fp8-block", Kind::Blocks, 8, kBlock},
                               {"fp8-channel", Kind::Rows, 8, 0},
                               {"mxfp4", Kind::Powers, 4, 32}};

int64_t divideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// The magnitudes of e2m1.
constexpr float kE2M1[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};

/// The nibble nearest to x, ties to even.
uint8_t encodeE2M1(float x) {
  float size = std::min(std::fabs(x), 6.0f);
  int best = 0;
  for (int code = 1; code < 8; ++code) {
    float middle = (kE2M1[code - 1] + kE2M1[code]) / 2;
    if (size > middle || (size == middle && code % 2 == 0))
      best = code;
  }
  return uint8_t(best | (std::signbit(x) ? 8 : 0));
}

/// A group of 32 under 2^exponent: its nibbles, and the sum of squared errors
/// in the order in which numpy adds 32 numbers.
double tryExponent(const float *x, int exponent, uint8_t *nibbles) {
  double scale = std::ldexp(1.0, exponent), sums[8];
  for (int i = 0; i < 32; ++i) {
    nibbles[i] = encodeE2M1(float(double(x[i]) / scale));
    double value = double(kE2M1[nibbles[i] & 7]) * scale;
    double error = (nibbles[i] & 8 ? -value : value) - double(x[i]);
    sums[i % 8] = i < 8 ? error * error : sums[i % 8] + error * error;
  }
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
         ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

/// The exponent plus 127 of a group of 32, and its nibbles: of the power of two
/// that the largest magnitude asks for and the next, the one with the smaller
/// error.
uint8_t encodePowers(const float *x, uint8_t *nibbles) {
  float largest = 0;
  for (int i = 0; i < 32; ++i)
    largest = std::max(largest, std::fabs(x[i]));
  int exponent;
  std::frexp(largest, &exponent);
  int least = std::clamp(exponent - 3, -127, 126);
  uint8_t high[32];
  double error = tryExponent(x, least, nibbles);
  if (tryExponent(x, least + 1, high) < error) {
    std::copy_n(high, 32, nibbles);
    ++least;
  }
  return uint8_t(least + 127);
}

/// One weight [n, k] and the tensors that stand for it.
class Quantizer {
public:
  Quantizer(const Format &format, LocatedTensor source)
      : format(format), source(std::move(source)),
        type(*floatTypeOf(this->source.place.type)),
        n(this->source.place.shape[0]), k(this->source.place.shape[1]),
        flags(std::make_unique<std::once_flag[]>(size_t(divideUp(n, kBlock)))),
        blockScales(size_t(divideUp(n, kBlock))),
        blockStatus(size_t(divideUp(n, kBlock))) {}

  /// The tensors, without what computes them.
  std::vector<LocatedTensor> parts() const;
  /// Reads bytes [begin, end) of a row of the tensor that has the scales, or of
  /// that which has the elements.
  Status readRow(bool isScales, int64_t row, int64_t begin, int64_t end,
                 char *out) const;

private:
  Status readInputs(int64_t row, int64_t begin, int64_t end,
                    std::vector<float> &out) const;
  Status readBlocks(int64_t blockRow) const;
  int64_t scaleBytes() const {
    return format.kind == Kind::Powers     ? 1
           : format.kind == Kind::Integers ? typeBytes(type)
                                           : 4;
  }
  float integerScale(const float *x, int64_t count, char *stored) const;
  Status integers(bool isScales, int64_t row, int64_t begin, int64_t end,
                  char *out) const;
  Status bytes(bool isScales, int64_t row, int64_t begin, int64_t end,
               char *out) const;
  Status powers(bool isScales, int64_t row, int64_t begin, int64_t end,
                char *out) const;

  const Format &format;
  LocatedTensor source;
  tprt_type type;
  int64_t n, k;
  /// Scales of each row of blocks, once they are known.
  std::unique_ptr<std::once_flag[]> flags;
  mutable std::vector<std::vector<float>> blockScales;
  mutable std::vector<Status> blockStatus;
};

/// One of the tensors.
class QuantizedPart final : public ComputedTensor {
public:
  QuantizedPart(std::shared_ptr<const Quantizer> quantizer, bool isScales,
                int64_t rowBytes)
      : quantizer(std::move(quantizer)), isScales(isScales),
        rowBytes(rowBytes) {}

  Status read(int64_t offset, void *data, int64_t bytes) const override {
    char *out = static_cast<char *>(data);
    while (bytes > 0) {
      int64_t row = offset / rowBytes, begin = offset % rowBytes;
      int64_t end = std::min(rowBytes, begin + bytes);
      TPRT_TRY(quantizer->readRow(isScales, row, begin, end, out));
      out += end - begin;
      offset += end - begin;
      bytes -= end - begin;
    }
    return {};
  }

private:
  std::shared_ptr<const Quantizer> quantizer;
  bool isScales;
  int64_t rowBytes;
};

} // namespace

std::vector<LocatedTensor> Quantizer::parts() const {
  std::string module = source.name.substr(0, source.name.rfind('.'));
  int64_t groups = format.group ? divideUp(k, format.group) : 1;
  auto make = [&](const char *name, FileType fileType, int64_t rows,
                  int64_t columns) {
    LocatedTensor tensor = source;
    tensor.name = module + "." + name;
    int64_t bytes = rows * columns * fileTypeBytes(fileType);
    tensor.place = {fileType, {rows, columns}, 0, bytes};
    return tensor;
  };
  switch (format.kind) {
  case Kind::Integers:
    return {
        make("weight_packed", FileType::I32, n, divideUp(k * format.bits, 32)),
        make("weight_scale", source.place.type, n, groups)};
  case Kind::Powers:
    return {make("weight_packed", FileType::U8, n, k / 2),
            make("weight_scale", FileType::U8, n, groups)};
  case Kind::Rows:
    return {make("weight", FileType::F8_E4M3, n, k),
            make("weight_scale", FileType::F32, n, 1)};
  case Kind::Blocks:
    break;
  }
  return {make("weight", FileType::F8_E4M3, n, k),
          make("weight_scale", FileType::F32, divideUp(n, kBlock), groups)};
}

Status Quantizer::readInputs(int64_t row, int64_t begin, int64_t end,
                             std::vector<float> &out) const {
  std::vector<char> raw(size_t((end - begin) * typeBytes(type)));
  out.resize(size_t(end - begin));
  TPRT_TRY(source.read((row * k + begin) * typeBytes(type), raw.data(),
                       int64_t(raw.size())));
  simd().widen(type, raw.data(), out.data(), end - begin);
  for (float value : out)
    if (!std::isfinite(value))
      return userError("'", source.path, "': tensor '", source.name,
                       "': expected finite weights to quantise, got ", value,
                       " in row ", row);
  return {};
}

Status Quantizer::readRow(bool isScales, int64_t row, int64_t begin,
                          int64_t end, char *out) const {
  switch (format.kind) {
  case Kind::Integers:
    return integers(isScales, row, begin, end, out);
  case Kind::Powers:
    return powers(isScales, row, begin, end, out);
  case Kind::Rows:
  case Kind::Blocks:
    break;
  }
  return bytes(isScales, row, begin, end, out);
}

/// The scale of a group as it is stored.
float Quantizer::integerScale(const float *x, int64_t count,
                              char *stored) const {
  float largest = 0, scale;
  for (int64_t i = 0; i < count; ++i)
    largest = std::max(largest, std::fabs(x[i]));
  scale = largest / (format.bits == 4 ? 7.5f : 127.5f);
  simd().narrow(type, &scale, stored, 1);
  simd().widen(type, stored, &scale, 1);
  return scale;
}

Status Quantizer::integers(bool isScales, int64_t row, int64_t begin,
                           int64_t end, char *out) const {
  int64_t group = format.group ? format.group : k, perWord = 32 / format.bits;
  int64_t first = 0, last = k; // inputs of whole groups
  if (format.group && isScales) {
    first = begin / scaleBytes() * group;
    last = std::min(k, divideUp(end, scaleBytes()) * group);
  } else if (format.group) {
    first = begin / 4 * perWord / group * group;
    last = std::min(k, divideUp(divideUp(end, 4) * perWord, group) * group);
  }
  std::vector<float> x;
  TPRT_TRY(readInputs(row, first, last, x));
  const float least = format.bits == 4 ? -8 : -128;
  std::vector<char> scales(size_t(divideUp(last - first, group) * 4));
  std::vector<uint32_t> words(size_t(divideUp(last - first, perWord)));
  for (int64_t at = 0; at < last - first; at += group) {
    int64_t count = std::min(group, last - first - at);
    float scale =
        integerScale(&x[at], count, &scales[size_t(at / group * scaleBytes())]);
    for (int64_t i = at; !isScales && i < at + count; ++i) {
      float code = scale == 0 ? 0 : std::nearbyint(x[i] / scale);
      code = std::clamp(code, least, -least - 1) - least;
      words[i / perWord] |= uint32_t(code) << i % perWord * format.bits;
    }
  }
  const char *from =
      isScales ? scales.data() : reinterpret_cast<const char *>(words.data());
  int64_t skipped =
      isScales ? first / group * scaleBytes() : first / perWord * 4;
  std::memcpy(out, from + begin - skipped, end - begin);
  return {};
}

/// Finds the scales of a row of blocks.
Status Quantizer::readBlocks(int64_t blockRow) const {
  auto find = [&]() -> Status {
    std::vector<float> &scales = blockScales[blockRow], x;
    scales.assign(size_t(divideUp(k, kBlock)), 0);
    int64_t end = std::min(n, (blockRow + 1) * kBlock);
    for (int64_t row = blockRow * kBlock; row < end; ++row) {
      TPRT_TRY(readInputs(row, 0, k, x));
      for (int64_t i = 0; i < k; ++i)
        scales[i / kBlock] = std::max(scales[i / kBlock], std::fabs(x[i]));
    }
    for (float &scale : scales)
      scale /= 448.0f;
    return {};
  };
  std::call_once(flags[blockRow], [&] { blockStatus[blockRow] = find(); });
  return blockStatus[blockRow];
}

Status Quantizer::bytes(bool isScales, int64_t row, int64_t begin, int64_t end,
                        char *out) const {
  bool isBlock = format.kind == Kind::Blocks;
  std::vector<float> x, own;
  if (isBlock)
    TPRT_TRY(readBlocks(isScales ? row : row / kBlock));
  if (!isBlock || !isScales)
    TPRT_TRY(readInputs(row, isBlock ? begin : 0, isBlock ? end : k, x));
  if (!isBlock)
    own = {simd().byteScale(QuantizedType::E4M3, x.data(), k)};
  const std::vector<float> &scales =
      isBlock ? blockScales[isScales ? row : row / kBlock] : own;
  if (isScales) {
    std::memcpy(out, reinterpret_cast<const char *>(scales.data()) + begin,
                end - begin);
    return {};
  }
  int64_t each = isBlock ? kBlock : k;
  for (int64_t at = begin, next; at < end; at = next) {
    next = std::min(end, (at / each + 1) * each);
    simd().narrowBytes(QuantizedType::E4M3, &x[isBlock ? at - begin : at],
                       scales[at / each], out + at - begin, next - at);
  }
  return {};
}

Status Quantizer::powers(bool isScales, int64_t row, int64_t begin, int64_t end,
                         char *out) const {
  int64_t groupBytes = isScales ? 1 : 16;
  int64_t first = begin / groupBytes, last = divideUp(end, groupBytes);
  std::vector<float> x;
  TPRT_TRY(readInputs(row, first * 32, last * 32, x));
  std::vector<char> made;
  for (int64_t g = 0; g < last - first; ++g) {
    uint8_t nibbles[32], scale = encodePowers(&x[g * 32], nibbles);
    if (isScales)
      made.push_back(char(scale));
    for (int i = 0; !isScales && i < 32; i += 2)
      made.push_back(char(nibbles[i] | nibbles[i + 1] << 4));
  }
  std::memcpy(out, made.data() + begin - first * groupBytes, end - begin);
  return {};
}

/// Adds the tensors of one weight in its place.
static Status replace(const Format &format, const LocatedTensor &weight,
                      std::map<std::string, LocatedTensor> &tensors) {
  int64_t k = weight.place.shape[1];
  bool needsWhole =
      format.kind == Kind::Integers || format.kind == Kind::Powers;
  if (needsWhole && format.group && k % format.group != 0)
    return userError("'", weight.path, "': tensor '", weight.name, "' has ", k,
                     " inputs: expected inputs in multiples of ", format.group,
                     ", the size of a group of ", format.name);
  auto quantizer = std::make_shared<const Quantizer>(format, weight);
  tensors.erase(weight.name);
  bool isScales = false;
  for (LocatedTensor &part : quantizer->parts()) {
    int64_t rowBytes = part.place.bytes / part.place.shape[0];
    part.computed =
        std::make_shared<const QuantizedPart>(quantizer, isScales, rowBytes);
    isScales = true;
    tensors[part.name] = std::move(part);
  }
  return {};
}

Status tprt::quantizeTensors(const Manifest &manifest,
                             std::map<std::string, LocatedTensor> &tensors) {
  const Format *format = std::find_if(
      std::begin(kFormats), std::end(kFormats),
      [&](const Format &one) { return manifest.quantize == one.name; });
  if (format == std::end(kFormats))
    return internalError("format '", manifest.quantize, "' is unknown");
  std::set<std::string> weights;
  auto note = [&](const std::string &name) {
    for (const char *end : {".weight_packed", ".weight_scale", ".weight"})
      if (name.ends_with(end))
        weights.insert(name.substr(0, name.rfind('.')) + ".weight");
  };
  for (const Parameter &p : manifest.parameters)
    for (int64_t i = 0; p.storage && i < p.count; ++i)
      for (size_t a = 0; a < p.names.size(); ++a)
        for (const std::string &name : p.tensorsOf(a, i))
          note(name);
  for (const std::string &name : weights) {
    auto found = tensors.find(name);
    if (found == tensors.end())
      continue;
    LocatedTensor weight = found->second;
    if (floatTypeOf(weight.place.type) && weight.place.shape.size() == 2 &&
        weight.place.bytes > 0)
      TPRT_TRY(replace(*format, weight, tensors));
  }
  return {};
}
