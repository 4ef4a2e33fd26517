//===- GenerationKeys.h - keys of generation_config.json ---*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every key that transformers' GenerationConfig has, and what becomes of it
// here.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_IMPORT_GENERATIONKEYS_H
#define TP_LIB_IMPORT_GENERATIONKEYS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

namespace tp {

enum class KeyUse {
  Honoured, ///< A default of requests.
  Silent,   ///< It says nothing about an answer.
  Ignored,  ///< It changes nothing here, for `reason`.
  Refused,  ///< It asks for `reason`, which is not supported.
  Sampled   ///< Likewise, of draws alone.
};

struct GenerationKey {
  llvm::StringLiteral name;
  KeyUse use;
  llvm::StringLiteral reason = "";
  /// The number that changes nothing; null, false, and what is empty never do.
  double neutral = 0;

  /// True if the value changes nothing.
  bool isNeutral(const llvm::json::Value &value) const;
};

/// Null for what transformers does not know.
const GenerationKey *findGenerationKey(llvm::StringRef name);

/// All keys.
llvm::ArrayRef<GenerationKey> getGenerationKeys();

} // namespace tp

#endif // TP_LIB_IMPORT_GENERATIONKEYS_H
