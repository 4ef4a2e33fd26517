//===- SentenceModules.h - What follows an encoder ---*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sentence-transformers checkpoint lists, in modules.json, what turns the
// encoder's last hidden state into one vector per sentence. The mean over the
// attention mask, the first or the last token, and division by the L2 norm are
// supported; every other module or pooling mode is refused by name.
//
//===----------------------------------------------------------------------===//

#ifndef TP_IMPORT_SENTENCEMODULES_H
#define TP_IMPORT_SENTENCEMODULES_H

#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace tp {

/// How a text's hidden states become its vector: the mean of those that the
/// mask keeps, the first, or the last that it keeps.
enum class Pooling { None, Mean, First, Last };

struct SentenceModules {
  Pooling pooling = Pooling::None;
  bool normalize = false; ///< Divide by the L2 norm.
};

/// Reads DIR/modules.json and the pooling module's config.json; nothing is set
/// if there is none. Fails after emitting an error.
mlir::FailureOr<SentenceModules> readSentenceModules(mlir::MLIRContext *context,
                                                     llvm::StringRef directory,
                                                     int64_t hiddenSize);

} // namespace tp

#endif // TP_IMPORT_SENTENCEMODULES_H
