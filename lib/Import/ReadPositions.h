//===- ReadPositions.h - Rotation and windows of a config ------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of reading config.json that has to do with positions, and the limits
// of sizes that all of its readers have in common.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_IMPORT_READPOSITIONS_H
#define TP_LIB_IMPORT_READPOSITIONS_H

#include "JsonFile.h"
#include "tp/Import/ModelConfig.h"

namespace tp {

inline constexpr int64_t maxSize = 1 << 30;
inline constexpr int64_t maxLayers = 10000;

/// Both spellings; where a file has both they must agree.
void readRope(ObjectReader &reader, const JsonFile &file,
              const ConfigKeys &keys, ModelConfig &config);

/// Reads which layers have the window: those that the family says, or as
/// `layer_types` lists them.
void readSlidingWindow(ObjectReader &reader, const ConfigKeys &keys,
                       ModelConfig &config);

/// Says that attention is what it seems to be for up to `length` positions,
/// and `reason`, a clause, why. The shortest such length counts.
void boundPositions(ModelConfig &config, int64_t length,
                    const llvm::Twine &reason);

} // namespace tp

#endif // TP_LIB_IMPORT_READPOSITIONS_H
