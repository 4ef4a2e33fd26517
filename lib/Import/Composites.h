//===- Composites.h - Models of text and more -------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The config.json of a model of text and more: what is its text's, and what is
// not.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_IMPORT_COMPOSITES_H
#define TP_LIB_IMPORT_COMPOSITES_H

#include "JsonFile.h"
#include "tp/Import/Family.h"

namespace tp {

/// The row for the file's model_type; null if it is not in the table.
const Composite *findComposite(ObjectReader &whole);

/// The object of the file that describes the text, with what it leaves to the
/// whole and to its defaults. Nothing, after an error, if there is none.
std::optional<llvm::json::Object> readText(ObjectReader &whole,
                                           const Composite &composite);

/// A remark that says what of the model is imported: the text, of family
/// `textType`.
void noteComposite(ObjectReader &whole, const Composite &composite,
                   llvm::StringRef textType);

} // namespace tp

#endif // TP_LIB_IMPORT_COMPOSITES_H
