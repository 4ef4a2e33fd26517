//===- Json.cpp - untrusted JSON ------------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nlohmann-json keeps the last of two equal keys and recurses when it writes;
// both are caught here: keys by the parser's callback, depth by a scan.
//
//===----------------------------------------------------------------------===//

#include "Json.h"

#include <set>

using namespace tprt;
using nlohmann::json;

/// The deepest nesting of brackets outside of strings.
static int nesting(std::string_view text) {
  int depth = 0, deepest = 0;
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
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return deepest;
}

Expected<json> tprt::parseJson(std::string_view text, int maxDepth) {
  if (nesting(text) >= maxDepth)
    return userError("JSON is nested ", maxDepth, " deep or more");
  std::vector<std::set<std::string>> keys;
  std::string duplicate;
  auto callback = [&](int, json::parse_event_t event, json &value) {
    switch (event) {
    case json::parse_event_t::object_start:
      keys.emplace_back();
      break;
    case json::parse_event_t::object_end:
      keys.pop_back();
      break;
    case json::parse_event_t::key:
      if (!keys.back().insert(value.get<std::string>()).second &&
          duplicate.empty())
        duplicate = value.get<std::string>();
      break;
    default:
      break;
    }
    return true;
  };
  try {
    json parsed = json::parse(text.begin(), text.end(), callback);
    if (!duplicate.empty())
      return userError("JSON names '", duplicate, "' twice");
    return parsed;
  } catch (const json::exception &e) {
    return userError("invalid JSON: ", e.what());
  }
}
