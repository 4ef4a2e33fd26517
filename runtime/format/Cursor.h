//===- Cursor.h - values of a JSON text, with the way to them ---*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Typed reading of JSON. What is wrong is thrown, with the path to it, up to
// readJson().
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_FORMAT_CURSOR_H
#define TPRT_FORMAT_CURSOR_H

#include "Json.h"
#include "Manifest.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace tprt {

inline constexpr int64_t kMaxSize = int64_t(1)
                                    << 40; // of a dimension, of bytes
inline constexpr int64_t kMaxElements = int64_t(1) << 48;
inline constexpr int64_t kMaxRanks = 1 << 16;
inline constexpr int64_t kMaxCount = 1 << 20;

struct SchemaError {
  std::string message;
};

/// A value in the JSON and the path to it.
class Cursor {
public:
  Cursor(const nlohmann::json &value, std::string path)
      : value(value), path(std::move(path)) {}

  template <typename... Parts>
  [[noreturn]] void fail(Parts &&...parts) const {
    throw SchemaError{path + ": " + detail::join(parts...)};
  }

  /// True if an object has the key, which it may have.
  bool has(const char *key) const {
    if (!value.is_object())
      fail("expected an object, got ", value.type_name());
    known.emplace_back(key);
    return value.contains(key);
  }
  /// The value of a key that an object must have.
  Cursor operator[](const char *key) const {
    if (!has(key))
      fail("missing key '", key, "'");
    return {value[key], path + "." + key};
  }
  /// When all has been read: the object has no keys but those asked for.
  void end() const {
    for (const auto &item : value.items())
      if (std::find(known.begin(), known.end(), item.key()) == known.end())
        fail("unknown key '", item.key(), "'");
  }

  bool isList() const { return value.is_array(); }
  std::vector<Cursor> list() const {
    if (!value.is_array())
      fail("expected a list, got ", value.type_name());
    if (value.size() > size_t(kMaxCount))
      fail("expected at most ", kMaxCount, " items, got ", value.size());
    std::vector<Cursor> items;
    items.reserve(value.size());
    for (size_t i = 0; i < value.size(); ++i)
      items.emplace_back(value[i], path + "[" + std::to_string(i) + "]");
    return items;
  }
  /// A list of `count`, which messages write as `form`: [x, y, z].
  std::vector<Cursor> list(size_t count, const char *form) const {
    std::vector<Cursor> items = list();
    if (items.size() != count)
      fail("expected ", form, ", got ", items.size(), " items");
    return items;
  }
  /// The values of an object, each of them a `what`, with their keys.
  std::vector<std::pair<std::string, Cursor>> items(const char *what) const {
    if (!value.is_object())
      fail("expected an object, got ", value.type_name());
    std::vector<std::pair<std::string, Cursor>> items;
    items.reserve(value.size());
    for (const auto &item : value.items())
      items.push_back(
          {item.key(), {item.value(), itemPath(path, what, item.key())}});
    return items;
  }
  /// The path of such a value of an object that is not at hand as a whole.
  static std::string itemPath(const std::string &path, const char *what,
                              const std::string &key) {
    return path + ": " + what + " '" + key + "'";
  }

  std::string string() const {
    if (!value.is_string())
      fail("expected a string, got ", value.type_name());
    return value.get<std::string>();
  }

  bool boolean() const {
    if (!value.is_boolean())
      fail("expected a boolean, got ", value.type_name());
    return value.get<bool>();
  }

  double number() const {
    if (!value.is_number())
      fail("expected a number, got ", value.type_name());
    return value.get<double>();
  }

  std::string text() const { return value.dump(); }

  /// An integer in [low, high].
  int64_t integer(int64_t low = INT64_MIN, int64_t high = INT64_MAX) const {
    if (!value.is_number_integer())
      fail("expected an integer, got ", value.dump());
    if (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX)
      fail("integer ", value.dump(), " is too large");
    int64_t number = value.get<int64_t>();
    if (number < low || number > high)
      fail("expected an integer in [", low, ", ", high, "], got ", number);
    return number;
  }

  int64_t size() const { return integer(1, kMaxSize); }
  int64_t bytes() const { return integer(0, kMaxSize); }

  /// One of the listed words; returns its position.
  size_t word(const std::vector<std::string_view> &words) const {
    std::string text = string();
    auto found = std::find(words.begin(), words.end(), text);
    if (found != words.end())
      return size_t(found - words.begin());
    std::string all;
    for (std::string_view candidate : words)
      all += detail::join(all.empty() ? "'" : ", '", candidate, "'");
    fail("expected one of ", all, ", got '", text, "'");
  }

  tprt_type type() const {
    std::string text = string();
    if (auto type = parseType(text))
      return *type;
    fail("unknown element type '", text, "'");
  }

  tprt_type floatType() const {
    tprt_type result = type();
    if (!isFloat(result))
      fail("expected a float type, got ", typeName(result));
    return result;
  }

  Shape shape(int64_t low = 1) const {
    Shape shape;
    int64_t count = 1;
    for (const Cursor &item : list()) {
      shape.push_back(item.integer(low, kMaxSize));
      if (__builtin_mul_overflow(count, std::max<int64_t>(shape.back(), 1),
                                 &count) ||
          count > kMaxElements)
        fail("too many elements");
    }
    if (shape.size() > 8)
      fail("expected at most 8 dimensions, got ", shape.size());
    return shape;
  }

  /// Reads a shape of up to 32 dimensions of any size, as files have them, and
  /// returns how many bytes elements of `size` take in it.
  int64_t tensorBytes(Shape &shape, int64_t size) const {
    std::vector<Cursor> items = list();
    if (items.size() > 32)
      fail("expected at most 32 dimensions, got ", items.size());
    for (const Cursor &item : items) {
      shape.push_back(item.integer(0));
      if (__builtin_mul_overflow(size, shape.back(), &size))
        fail("its bytes overflow");
    }
    return size;
  }

  /// The numbers below `count` in any order; `items` are what there are of
  /// them, `item` is what one is.
  Shape permutation(int64_t count, const char *items, const char *item) const {
    std::vector<Cursor> numbers = list();
    if (int64_t(numbers.size()) != count)
      fail("expected ", count, " ", items, ", got ", numbers.size());
    Shape result;
    std::vector<bool> seen(size_t(count), false);
    for (const Cursor &number : numbers) {
      result.push_back(number.integer(0, count - 1));
      if (seen[size_t(result.back())])
        number.fail(item, " ", result.back(), " occurs twice");
      seen[size_t(result.back())] = true;
    }
    return result;
  }

  std::vector<std::string> strings() const {
    std::vector<std::string> result;
    for (const Cursor &item : list())
      result.push_back(item.string());
    return result;
  }

private:
  const nlohmann::json &value;
  std::string path;
  mutable std::vector<std::string> known; ///< keys that were asked for
};

/// Returns the Expected that `read` makes, or the error that a cursor throws in
/// it. `path` is for errors of the JSON library.
template <typename Read>
auto catchSchemaError(const std::string &path, Read read) -> decltype(read()) {
  try {
    return read();
  } catch (const SchemaError &error) {
    return userError(error.message);
  } catch (const nlohmann::json::exception &error) {
    return userError(path, ": ", error.what());
  }
}

/// Returns what `read` makes of the JSON at `path`, or the error that it
/// throws.
template <typename Read>
auto readJson(const nlohmann::json &value, const std::string &path, Read read)
    -> Expected<decltype(read(Cursor(value, path)))> {
  using Result = Expected<decltype(read(Cursor(value, path)))>;
  return catchSchemaError(
      path, [&]() -> Result { return read(Cursor(value, path)); });
}

} // namespace tprt

#endif // TPRT_FORMAT_CURSOR_H
