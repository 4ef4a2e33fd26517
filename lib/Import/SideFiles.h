//===- SideFiles.h - Files beside config.json -------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file beside config.json may say that the weights are not what config.json
// and the tensors' names say. Such files are refused by name, before anything
// is sized or compiled. What concerns texts alone (a sentence's prompt, where
// it is cut off) is no part of a program, and a remark says so.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_IMPORT_SIDEFILES_H
#define TP_LIB_IMPORT_SIDEFILES_H

#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"

namespace tp {

/// Fails after emitting an error if a file of `directory` says that there is an
/// adapter or that the weights are quantised.
llvm::LogicalResult checkSideFiles(mlir::MLIRContext *context,
                                   llvm::StringRef directory);

/// Reads sentence_bert_config.json and config_sentence_transformers.json, where
/// there are any. Fails after emitting an error if they change the model.
llvm::LogicalResult readSentenceSettings(mlir::MLIRContext *context,
                                         llvm::StringRef directory);

} // namespace tp

#endif // TP_LIB_IMPORT_SIDEFILES_H
