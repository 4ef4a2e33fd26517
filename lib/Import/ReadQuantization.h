//===- ReadQuantization.h - Reading quantization_config ---------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TP_LIB_IMPORT_READQUANTIZATION_H
#define TP_LIB_IMPORT_READQUANTIZATION_H

#include "JsonFile.h"
#include "tp/Import/ModelConfig.h"

namespace tp {

/// Reads `quantization_config` into `config.quantization`, or refuses by name
/// what is not supported, saying what would be.
/// What to do about a format that is not read.
inline constexpr llvm::StringLiteral quantizationAdvice =
    "convert the 16-bit checkpoint with llm-compressor (a scheme of W4A16, "
    "W8A16 or FP8), or use that one";

/// Reads `quantization_config`, if it is there.
void readQuantization(ObjectReader &reader, ModelConfig &config);

/// Reads hf_quant_config.json, if it is there and says that something is
/// quantised. Fails after emitting an error.
llvm::LogicalResult readQuantizationFile(mlir::MLIRContext *context,
                                         llvm::StringRef directory,
                                         ModelConfig &config);

/// Reads what ModelOpt writes: an object with `quant_algo`, of config.json or
/// of hf_quant_config.json.
void readModelOpt(ObjectReader &reader, QuantizationConfig &out);

/// Adds the names of a list to `names`.
void readModuleNames(ObjectReader &from, llvm::StringRef key,
                     ModuleNames::Style style, ModuleNames &names);

/// The form in which a `kv_cache_scheme` stores keys and values, for a message.
std::string describeCache(const llvm::json::Object &scheme);

} // namespace tp

#endif // TP_LIB_IMPORT_READQUANTIZATION_H
