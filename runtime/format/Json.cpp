//===- Json.cpp - untrusted JSON ------------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nlohmann-json keeps the last of two equal keys and recurses when it writes.
// Both are caught while the tree is built from the parser's events. (Its parser
// with a callback could do the same, but walks over all members of the parent
// at the end of each nested object.)
//
//===----------------------------------------------------------------------===//

#include "Json.h"

#include <algorithm>

using namespace tprt;
using nlohmann::json;

namespace {

/// An input iterator that leaves the parser's position in `*reached`.
struct Tracked {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char *;
  using reference = const char &;

  const char &operator*() const { return *at; }
  Tracked &operator++() {
    *reached = ++at;
    return *this;
  }
  bool operator==(const Tracked &other) const { return at == other.at; }
  bool operator!=(const Tracked &other) const { return at != other.at; }

  const char *at;
  const char **reached;
};

/// Builds the tree, or with `take` one of each member of the root. Functions
/// that the parser calls return whether it goes on; if not, `refusal` says why.
class Builder {
public:
  Builder(std::string_view text, int maxDepth, const TakeMember *take = nullptr)
      : text(text), maxDepth(size_t(maxDepth)), take(take) {}

  json root;
  Status refusal;

  bool parse() {
    Tracked begin{text.data(), &reached}, end = begin;
    // The parser takes it for the end, whatever follows.
    if (size_t zero = text.find('\0'); zero != text.npos) {
      reached = text.data() + zero;
      return refuse("has a zero byte");
    }
    end.at += text.size();
    return json::sax_parse(begin, end, this);
  }

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(int64_t value) { return add(value); }
  bool number_unsigned(uint64_t value) { return add(value); }
  bool number_float(double value, const std::string &) { return add(value); }
  bool string(std::string &value) { return add(std::move(value)); }
  bool binary(json::binary_t &) { return false; } // not in a text
  bool start_object(size_t) { return open(json::value_t::object); }
  bool start_array(size_t) { return open(json::value_t::array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string &name) {
    if (isTaken()) {
      taken = std::move(name);
      return true;
    }
    auto &object = parents.back()->get_ref<json::object_t &>();
    // Most files list their keys in order.
    size_t before = object.size();
    auto at = object.emplace_hint(object.end(), name, nullptr);
    member = &at->second;
    return object.size() != before || refuseTwice(name);
  }

  bool parse_error(size_t, const std::string &, const json::exception &error) {
    refusal = userError("invalid JSON: ", error.what());
    return false;
  }

private:
  template <typename... Parts>
  bool refuse(const Parts &...what) {
    auto before = text.substr(0, size_t(reached - text.data()));
    size_t line = size_t(std::count(before.begin(), before.end(), '\n')) + 1;
    size_t column = before.size() - (before.rfind('\n') + 1);
    refusal =
        userError("JSON ", what..., " (line ", line, ", column ", column, ")");
    return false;
  }
  bool refuseTwice(const std::string &name) {
    return refuse("names '", name, "' twice");
  }

  /// True if the innermost open value is the root whose members are taken.
  bool isTaken() const { return take && parents.size() == 1; }

  template <typename Value>
  bool add(Value &&value) {
    place(json(std::forward<Value>(value)));
    return finish();
  }

  /// Moves the value to its parent and returns it there.
  json &place(json value) {
    if (parents.empty() || isTaken())
      return (parents.empty() ? root : current) = std::move(value);
    if (parents.back()->is_object())
      return *member = std::move(value);
    auto &array = parents.back()->get_ref<json::array_t &>();
    return array.emplace_back(std::move(value));
  }

  bool open(json::value_t kind) {
    if (parents.size() + 1 >= maxDepth)
      return refuse("is nested ", maxDepth, " deep or more");
    if (take && parents.empty() && kind != json::value_t::object)
      return refuse("is not an object");
    parents.push_back(&place(json(kind)));
    return true;
  }

  bool close() {
    parents.pop_back();
    return finish();
  }

  /// A value is whole.
  bool finish() {
    if (take && parents.empty() && !root.is_object())
      return refuse("is not an object");
    if (!isTaken())
      return true;
    std::string name = taken;
    return (*take)(std::move(taken), std::move(current)) || refuseTwice(name);
  }

  std::string_view text;
  const char *reached = text.data(); ///< where the parser is
  size_t maxDepth;
  const TakeMember *take;
  std::vector<json *> parents; ///< open values, the outermost first
  json *member = nullptr;      ///< value of the last key of an object
  std::string taken;           ///< the last key of a root that is taken apart
  json current;                ///< its value
};

} // namespace

Expected<json> tprt::parseJson(std::string_view text, int maxDepth) {
  Builder builder(text, maxDepth);
  if (builder.parse())
    return std::move(builder.root);
  return builder.refusal;
}

Status tprt::parseMembers(std::string_view text, int maxDepth,
                          const TakeMember &take) {
  Builder builder(text, maxDepth, &take);
  return builder.parse() ? Status() : builder.refusal;
}
