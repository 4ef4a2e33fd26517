//===- Bytes.h - What a tensor takes in memory ---------------- -*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One count for the ledger, schedule and lower.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SUPPORT_BYTES_H
#define TP_SUPPORT_BYTES_H

#include "mlir/IR/BuiltinTypes.h"

namespace tp {

/// Bytes of one element in memory (booleans take one).
int64_t getElementBytes(mlir::Type type);
/// Bytes of a static tensor in memory. Elements of a few bits are packed, each
/// row in whole bytes.
int64_t getTensorBytes(mlir::RankedTensorType type);

} // namespace tp

#endif // TP_SUPPORT_BYTES_H
