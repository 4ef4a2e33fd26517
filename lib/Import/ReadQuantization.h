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
void readQuantization(ObjectReader &reader, ModelConfig &config);

} // namespace tp

#endif // TP_LIB_IMPORT_READQUANTIZATION_H
