//===- MeshText.cpp - Meshes as users write them --------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See MeshText.h.
//
//===----------------------------------------------------------------------===//

#include "tp/Annotate/MeshText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace tp;

std::string tp::parseMeshText(llvm::StringRef text,
                              llvm::SmallVectorImpl<MeshTextAxis> &axes) {
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',');
  for (llvm::StringRef part : parts) {
    auto [name, number] = part.split('=');
    name = name.trim();
    int64_t size;
    bool isName =
        !name.empty() && !llvm::isDigit(name.front()) &&
        llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
    if (!isName || number.trim().getAsInteger(10, size) || size < 1)
      return ("expected axes and sizes such as dp=2,tp=4, got '" + part + "'")
          .str();
    axes.push_back({name, size});
  }
  return "";
}
