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

#include <string_view>

namespace tprt {

/// Parses the text. Nesting of `maxDepth` or more is refused.
Expected<nlohmann::json> parseJson(std::string_view text, int maxDepth);

} // namespace tprt

#endif // TPRT_FORMAT_JSON_H
