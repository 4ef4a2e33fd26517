//===- tprt/names.h - Names with a number for each layer --------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One name stands for a tensor of each iteration of a loop over layers. `{i}`
// is the iteration, and `{2*{i}+1}` a number that follows from it, where an
// iteration has several layers. Compiler and runtime read names with this.
//
// Example: "layers.{2*{i}+1}.w" of iterations 0, 1, 2 is "layers.1.w",
// "layers.3.w", "layers.5.w".
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_NAMES_H
#define TPRT_NAMES_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tprt {

/// The place of a number in a name, [begin, end), and its value: scale *
/// iteration + offset.
struct LayerNumber {
  size_t begin, end;
  int64_t scale = 1, offset = 0;

  int64_t of(int64_t iteration) const { return scale * iteration + offset; }
};

/// The text of a number: `{i}`, `{2*{i}}`, `{{i}+1}` or `{2*{i}+1}`.
inline std::string writeLayerNumber(int64_t scale, int64_t offset) {
  std::string text = "{i}";
  if (scale == 1 && offset == 0)
    return text;
  if (scale != 1)
    text = std::to_string(scale) + "*" + text;
  if (offset != 0)
    text += "+" + std::to_string(offset);
  return "{" + text + "}";
}

/// The first one that begins at `from` or behind it.
inline std::optional<LayerNumber> findLayerNumber(std::string_view name,
                                                  size_t from = 0) {
  size_t at = name.find("{i}", from);
  if (at == std::string_view::npos)
    return std::nullopt;
  LayerNumber plain{at, at + 3}, number = plain;
  auto isDigit = [&](size_t i) {
    return i < name.size() && name[i] >= '0' && name[i] <= '9';
  };
  // More digits than any number of layers has.
  constexpr size_t maxDigits = 9;
  auto read = [&](size_t begin, size_t end) {
    int64_t value = 0;
    for (size_t i = begin; i < end; ++i)
      value = 10 * value + (name[i] - '0');
    return value;
  };
  if (at > from && name[at - 1] == '*') {
    size_t digits = at - 1;
    while (digits > from && isDigit(digits - 1))
      --digits;
    if (digits == at - 1 || at - 1 - digits > maxDigits)
      return plain;
    number.scale = read(digits, at - 1);
    number.begin = digits;
  }
  if (number.end < name.size() && name[number.end] == '+') {
    size_t begin = number.end + 1, digits = begin;
    while (isDigit(digits))
      ++digits;
    if (digits == begin || digits - begin > maxDigits)
      return plain;
    number.offset = read(begin, digits);
    number.end = digits;
  }
  bool isWhole = number.begin > from && name[number.begin - 1] == '{' &&
                 number.end < name.size() && name[number.end] == '}';
  // As it would be written, so that a tensor has one name.
  if (!isWhole ||
      name.substr(number.begin - 1, number.end + 2 - number.begin) !=
          writeLayerNumber(number.scale, number.offset))
    return plain;
  --number.begin, ++number.end;
  return number;
}

/// `name` with `write(number)` in the place of each number.
template <typename Write>
std::string replaceLayerNumbers(std::string_view name, Write write) {
  std::string text;
  size_t done = 0;
  while (std::optional<LayerNumber> number = findLayerNumber(name, done)) {
    text += name.substr(done, number->begin - done);
    text += write(*number);
    done = number->end;
  }
  return text += name.substr(done);
}

/// The name of one iteration's tensor, for a name with or without a number.
inline std::string nameOfLayer(std::string_view name, int64_t iteration) {
  return replaceLayerNumbers(name, [&](const LayerNumber &number) {
    return std::to_string(number.of(iteration));
  });
}

} // namespace tprt

#endif // TPRT_NAMES_H
