//===- JsonPlace.h - Where a value stands in a JSON text --------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// llvm::json keeps no places. An error that names its value by a path
// (`rules[2].dims[0]`) finds the line and column again by walking the text.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SUPPORT_JSONPLACE_H
#define TP_SUPPORT_JSONPLACE_H

#include "llvm/ADT/StringRef.h"

namespace tp {

/// Both count from 1, columns in bytes.
struct TextPlace {
  unsigned line = 1, column = 1;
};
TextPlace getTextPlace(llvm::StringRef text, size_t offset);

/// Returns where the value at `path` stands in `text`, which is valid JSON:
/// keys with dots between them and [indices]. For a path that leads nowhere it
/// is the place of its last part that is there.
TextPlace findJsonPlace(llvm::StringRef text, llvm::StringRef path);

/// The place in an error of llvm::json::parse, `[line:column, byte=offset]:
/// what`, which is taken from it.
TextPlace takeJsonErrorPlace(std::string &error);

} // namespace tp

#endif // TP_SUPPORT_JSONPLACE_H
