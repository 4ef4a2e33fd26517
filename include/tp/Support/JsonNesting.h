//===- JsonNesting.h - Is JSON safe to parse --------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// llvm::json parses recursively: text nested deeply enough overflows its stack.
// Everything that reads JSON which the user or a download supplies asks here
// first.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SUPPORT_JSONNESTING_H
#define TP_SUPPORT_JSONNESTING_H

#include "llvm/ADT/StringRef.h"
#include <optional>

namespace tp {

/// True if no place of `text` has more than `maxDepth` brackets open. Brackets
/// in strings do not count; the text need not be valid JSON.
bool isJsonNestingAtMost(llvm::StringRef text, unsigned maxDepth);

/// A key that stands twice in one object, with different values. Parsers keep
/// one of them silently.
struct RepeatedKey {
  size_t offset;       ///< where the second one begins in the text
  llvm::StringRef key; ///< as it is written, without its quotes
};

/// The first such key of `text`, which must be valid JSON, if there is one. The
/// function calls itself once for each level of nesting.
std::optional<RepeatedKey> findRepeatedKey(llvm::StringRef text);

} // namespace tp

#endif // TP_SUPPORT_JSONNESTING_H
