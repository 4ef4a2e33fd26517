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

namespace tp {

/// True if no place of `text` has more than `maxDepth` brackets open. Brackets
/// in strings do not count; the text need not be valid JSON.
bool isJsonNestingAtMost(llvm::StringRef text, unsigned maxDepth);

} // namespace tp

#endif // TP_SUPPORT_JSONNESTING_H
