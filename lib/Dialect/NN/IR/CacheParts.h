//===- CacheParts.h - What writing to a cache has in common -----*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Caches of floats and of quantised elements are written cell by cell in the
// same way: the number of a row's cell is an operand.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_DIALECT_NN_IR_CACHEPARTS_H
#define TP_LIB_DIALECT_NN_IR_CACHEPARTS_H

#include "tp/Dialect/NN/IR/Emitter.h"

namespace tp::nn {

/// pool[C, ...] with row t of rows[T, ...] in cell cells[t], unless that is
/// outside 0 .. C; of several rows with one cell the last stays. The element
/// types of rows and pool are the same.
mlir::Value buildCacheWrite(Emitter &emitter, mlir::Value rows,
                            mlir::Value cells, mlir::Value pool);

} // namespace tp::nn

#endif // TP_LIB_DIALECT_NN_IR_CACHEPARTS_H
