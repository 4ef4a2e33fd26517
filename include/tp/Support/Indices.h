//===- Indices.h - Loops over the indices of a tensor -----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream's StaticTileOffsetRange divides for every index; this loop counts.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SUPPORT_INDICES_H
#define TP_SUPPORT_INDICES_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace tp {

/// Visits every index of `shape` in row-major order, with its position in it.
inline void forEachIndex(
    llvm::ArrayRef<int64_t> shape,
    llvm::function_ref<void(llvm::MutableArrayRef<int64_t>, int64_t)> visit) {
  int64_t elements = 1;
  for (int64_t size : shape)
    elements *= size;
  llvm::SmallVector<int64_t> index(shape.size(), 0), copy;
  for (int64_t position = 0; position < elements; ++position) {
    copy = index; // the visitor may change it
    visit(copy, position);
    for (size_t dim = shape.size(); dim-- > 0;) {
      if (++index[dim] < shape[dim])
        break;
      index[dim] = 0;
    }
  }
}

} // namespace tp

#endif // TP_SUPPORT_INDICES_H
