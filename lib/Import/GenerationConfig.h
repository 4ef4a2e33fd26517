//===- GenerationConfig.h - generation_config.json ---*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The settings by which a checkpoint wants its tokens chosen. Each key is a
// default of requests, is refused, or is ignored for a reason that users are
// told: docs/Generation.md has the table.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_IMPORT_GENERATIONCONFIG_H
#define TP_LIB_IMPORT_GENERATIONCONFIG_H

#include "mlir/IR/Location.h"
#include "mlir/Support/LLVM.h"
#include "tp/Import/ModelConfig.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tp {

struct GenerationConfig {
  /// The name of the file that the defaults are from.
  std::string file;
  /// Parameters of requests that do not say otherwise, by the file's keys.
  llvm::json::Object defaults;
  /// Keys that do not count, each with the reason.
  std::vector<std::string> ignored;
  /// Tokens at which an answer ends, of this file and config.json.
  std::set<int64_t> stopIds;
};

/// Reads what `choice` names: a file, a directory that has one, or "none";
/// without a choice generation_config.json of `directory` or, where there is
/// none, the keys of the same names in config.json, as transformers does.
/// Emits every error it finds, at the key, and the reasons as remarks.
mlir::FailureOr<GenerationConfig>
readGenerationConfig(mlir::MLIRContext *context, llvm::StringRef directory,
                     const ModelConfig &config,
                     const std::optional<std::string> &choice);

} // namespace tp

#endif // TP_LIB_IMPORT_GENERATIONCONFIG_H
