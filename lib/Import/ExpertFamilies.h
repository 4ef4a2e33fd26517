//===- ExpertFamilies.h - Families with a mixture of experts ----*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of the table of families whose feed-forward is a mixture of experts.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_IMPORT_EXPERTFAMILIES_H
#define TP_LIB_IMPORT_EXPERTFAMILIES_H

#include "tp/Import/Family.h"

namespace tp {

Family getMixtral();
Family getQwen2Moe();
Family getQwen3Moe();
Family getGraniteMoe();
/// With latent attention (LatentFamilies.cpp).
Family getDeepSeekV2();
Family getDeepSeekV3();

} // namespace tp

#endif // TP_LIB_IMPORT_EXPERTFAMILIES_H
