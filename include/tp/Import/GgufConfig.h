//===- GgufConfig.h - config.json of a GGUF file ----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A GGUF file is a checkpoint of its own: its metadata say what config.json of
// a directory says.
//
//===----------------------------------------------------------------------===//

#ifndef TP_IMPORT_GGUFCONFIG_H
#define TP_IMPORT_GGUFCONFIG_H

#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

namespace tp {

/// Returns whether the file at `path` begins as a GGUF file does.
bool isGgufFile(llvm::StringRef path);

/// Returns whether `path` is a checkpoint: a directory, or a GGUF file.
bool isCheckpoint(llvm::StringRef path);

/// Returns what the metadata of the GGUF file at `path` say as config.json of
/// `transformers` says it. Metadata of its architecture that nothing here reads
/// are an error, for they may change results.
mlir::FailureOr<llvm::json::Object> readGgufConfig(mlir::MLIRContext *context,
                                                   llvm::StringRef path);

} // namespace tp

#endif // TP_IMPORT_GGUFCONFIG_H
