//===- Bytes.cpp - What a tensor takes in memory --------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Bytes.h.
//
//===----------------------------------------------------------------------===//

#include "tp/Support/Bytes.h"

#include "llvm/Support/MathExtras.h"

int64_t tp::getElementBytes(mlir::Type type) {
  if (type.isIndex())
    return 8;
  return llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
}

int64_t tp::getTensorBytes(mlir::RankedTensorType type) {
  mlir::Type element = type.getElementType();
  unsigned bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 8;
  if (bits >= 8 || bits == 1 || type.getRank() == 0)
    return type.getNumElements() * getElementBytes(element);
  int64_t row = type.getShape().back();
  return row == 0 ? 0
                  : type.getNumElements() / row *
                        int64_t(llvm::divideCeil(row * bits, 8));
}
