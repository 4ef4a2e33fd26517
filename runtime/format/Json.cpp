//===- Json.cpp - untrusted JSON ------------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nlohmann-json keeps the last of two equal keys and recurses when it writes;
// both are caught here, by the parser's callback.
//
//===----------------------------------------------------------------------===//

#include "Json.h"

#include <set>

using namespace tprt;
using nlohmann::json;

Expected<json> tprt::parseJson(std::string_view text, int maxDepth) {
  using Event = json::parse_event_t;
  std::vector<std::set<std::string>> keys;
  auto callback = [&](int depth, Event event, json &value) {
    bool opens = event == Event::object_start || event == Event::array_start;
    if (opens && depth + 1 >= maxDepth)
      throw userError("JSON is nested ", maxDepth, " deep or more");
    if (event == Event::object_start)
      keys.emplace_back();
    else if (event == Event::object_end)
      keys.pop_back();
    else if (event == Event::key &&
             !keys.back().insert(value.get<std::string>()).second)
      throw userError("JSON names '", value.get<std::string>(), "' twice");
    return true;
  };
  try {
    return json::parse(text.begin(), text.end(), callback);
  } catch (const Status &refusal) {
    return refusal;
  } catch (const json::exception &e) {
    return userError("invalid JSON: ", e.what());
  }
}
