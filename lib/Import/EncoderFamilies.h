//===- EncoderFamilies.h - Families of encoders -----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of the table of families whose tokens attend to all others.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_IMPORT_ENCODERFAMILIES_H
#define TP_LIB_IMPORT_ENCODERFAMILIES_H

#include "tp/Import/Family.h"

namespace tp {

Family getBert();
/// Encoders with rotary positions (RotaryEncoders.cpp). GTE is "gte", or "new"
/// as the code beside its first checkpoints calls it.
Family getModernBert();
Family getNomicBert();
Family getGte(llvm::StringRef modelType);
Family getJinaV3();
/// RoBERTa and what is built as it is, by its name in class names.
Family getRoberta(llvm::StringRef modelType, llvm::StringRef name);
Family getDistilBert();
Family getMPNet();
Family getElectra();
Family getAlbert();

} // namespace tp

#endif // TP_LIB_IMPORT_ENCODERFAMILIES_H
