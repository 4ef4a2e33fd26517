//===- JsonNesting.cpp - Is JSON safe to parse ----------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A scan over the characters that knows strings and their escapes.
//
//===----------------------------------------------------------------------===//

#include "tp/Support/JsonNesting.h"

#include "llvm/ADT/StringMap.h"

bool tp::isJsonNestingAtMost(llvm::StringRef text, unsigned maxDepth) {
  unsigned depth = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (inString) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        inString = false;
    } else if (c == '"') {
      inString = true;
    } else if (c == '[' || c == '{') {
      if (++depth > maxDepth)
        return false;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return true;
}

namespace {
/// Walks over valid JSON, value by value.
class KeyScanner {
public:
  explicit KeyScanner(llvm::StringRef text) : text(text) {}

  std::optional<tp::RepeatedKey> found;

  /// Moves behind the value that begins here, or ends with `found`.
  void skipValue() {
    skipBlanks();
    char c = peek();
    if (c == '"') {
      takeString();
    } else if (c == '{' || c == '[') {
      skipMembers(c == '{');
    } else {
      at = text.find_first_of(",]} \t\r\n", at);
    }
  }

private:
  char peek() const { return at < text.size() ? text[at] : '\0'; }
  void skipBlanks() { at = text.find_first_not_of(" \t\r\n", at); }

  /// The text between the quotes.
  llvm::StringRef takeString() {
    size_t begin = ++at;
    while (at < text.size() && text[at] != '"')
      at += text[at] == '\\' ? 2 : 1;
    return text.slice(begin, at++);
  }

  void skipMembers(bool isObject) {
    llvm::StringMap<llvm::StringRef> values;
    for (++at, skipBlanks(); at < text.size(); skipBlanks()) {
      if (peek() == ',') {
        ++at;
        continue;
      }
      if (peek() == '}' || peek() == ']') {
        ++at;
        return;
      }
      size_t begin = at;
      llvm::StringRef key;
      if (isObject) {
        key = takeString();
        at = text.find(':', at) + 1;
        skipBlanks();
      }
      size_t value = at;
      skipValue();
      if (found)
        return;
      auto [entry, isNew] = values.try_emplace(key, text.slice(value, at));
      if (isObject && !isNew && entry->second != text.slice(value, at)) {
        found = {begin, key};
        return;
      }
    }
  }

  llvm::StringRef text;
  size_t at = 0;
};
} // namespace

std::optional<tp::RepeatedKey> tp::findRepeatedKey(llvm::StringRef text) {
  KeyScanner scanner(text);
  scanner.skipValue();
  return scanner.found;
}
