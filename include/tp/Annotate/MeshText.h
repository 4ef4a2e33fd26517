//===- MeshText.h - Meshes as users write them ------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// "dp=2,tp=4": axes and sizes, outermost first.
//
//===----------------------------------------------------------------------===//

#ifndef TP_ANNOTATE_MESHTEXT_H
#define TP_ANNOTATE_MESHTEXT_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace tp {

struct MeshTextAxis {
  llvm::StringRef name; ///< in the text
  int64_t size;
};

/// Reads `text`; returns what is wrong with it, empty if nothing is.
std::string parseMeshText(llvm::StringRef text,
                          llvm::SmallVectorImpl<MeshTextAxis> &axes);

} // namespace tp

#endif // TP_ANNOTATE_MESHTEXT_H
