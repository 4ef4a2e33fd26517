//===- Json.h - untrusted JSON ----------------------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses JSON that a stranger may have written: bounded nesting, no duplicate
// keys, valid UTF-8, and a message instead of an exception.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_FORMAT_JSON_H
#define TPRT_FORMAT_JSON_H

#include "tprt/status.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <string_view>

namespace tprt {

/// Parses the text. Nesting of `maxDepth` or more is refused.
Expected<nlohmann::json> parseJson(std::string_view text, int maxDepth);

/// Parses an object and hands over each member as soon as it is read, so that a
/// long object never exists as a whole. `take` returns whether the name is new,
/// and may throw, which ends the parsing. Time and memory are linear in the
/// text, beside what `take` needs.
using TakeMember = std::function<bool(std::string name, nlohmann::json value)>;
Status parseMembers(std::string_view text, int maxDepth,
                    const TakeMember &take);

} // namespace tprt

#endif // TPRT_FORMAT_JSON_H
