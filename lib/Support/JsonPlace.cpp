//===- JsonPlace.cpp - Where a value stands in a JSON text ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cursor over text that the parser has accepted, so that it need not check
// anything.
//
//===----------------------------------------------------------------------===//

#include "tp/Support/JsonPlace.h"

using namespace tp;
using llvm::StringRef;

TextPlace tp::getTextPlace(StringRef text, size_t offset) {
  StringRef before = text.take_front(offset);
  size_t newline = before.rfind('\n');
  size_t start = newline == StringRef::npos ? 0 : newline + 1;
  return {unsigned(before.count('\n') + 1),
          unsigned(before.size() - start + 1)};
}

namespace {
class Cursor {
public:
  explicit Cursor(StringRef text) : text(text) { skipSpace(); }
  size_t getOffset() const { return at; }

  /// Steps to element `index` of the list here; false if there is none.
  bool enterList(size_t index) {
    if (!consume('['))
      return false;
    for (size_t i = 0; i < index; ++i) {
      skipValue();
      if (!consume(','))
        return false;
    }
    return peek() != ']';
  }
  /// Steps to the value of `key` in the object here, and notes where the key
  /// stands; false if there is none.
  bool enterObject(StringRef key, size_t &keyOffset) {
    if (!consume('{'))
      return false;
    while (peek() == '"') {
      size_t begin = at;
      skipValue();
      bool isIt = text.slice(begin + 1, at).starts_with((key + "\"").str());
      consume(':');
      if (isIt) {
        keyOffset = begin;
        return true;
      }
      skipValue();
      consume(',');
    }
    return false;
  }

private:
  char peek() const { return at < text.size() ? text[at] : '\0'; }
  void skipSpace() {
    at = std::min(text.find_first_not_of(" \t\r\n", at), text.size());
  }
  bool consume(char c) {
    if (peek() != c)
      return false;
    ++at;
    skipSpace();
    return true;
  }
  void skipString() {
    for (++at; at < text.size() && text[at] != '"'; ++at)
      if (text[at] == '\\')
        ++at;
    ++at;
  }
  /// A value, and the space behind it.
  void skipValue() {
    int depth = 0;
    do {
      char c = peek();
      if (c == '"') {
        skipString();
        continue;
      }
      depth += (c == '[' || c == '{') - (c == ']' || c == '}');
      ++at;
      // A number, or a word.
      if (depth == 0 && c != ']' && c != '}')
        at = std::min(text.find_first_of(",]} \t\r\n", at), text.size());
    } while (depth > 0 && at < text.size());
    skipSpace();
  }

  StringRef text;
  size_t at = 0;
};
} // namespace

TextPlace tp::findJsonPlace(StringRef text, StringRef path) {
  Cursor cursor(text);
  size_t found = cursor.getOffset();
  while (!path.empty()) {
    size_t index;
    if (path.consume_front("[")) {
      if (path.consumeInteger(10, index) || !path.consume_front("]") ||
          !cursor.enterList(index))
        break;
      found = cursor.getOffset();
    } else {
      path.consume_front(".");
      StringRef key =
          path.take_until([](char c) { return c == '.' || c == '['; });
      path = path.drop_front(key.size());
      if (!cursor.enterObject(key, found))
        break;
    }
  }
  return getTextPlace(text, found);
}

TextPlace tp::takeJsonErrorPlace(std::string &error) {
  TextPlace place;
  StringRef rest = error;
  if (rest.consume_front("[") && !rest.consumeInteger(10, place.line) &&
      rest.consume_front(":") && !rest.consumeInteger(10, place.column))
    error = rest.split("]: ").second.str();
  return place;
}
