//===- PagedParts.h - Finding cells of a paged cache ------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations on pages have this in common (Paged.cpp, PagedConv.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_DIALECT_NN_IR_PAGEDPARTS_H
#define TP_LIB_DIALECT_NN_IR_PAGEDPARTS_H

#include "Parts.h"

namespace tp::nn {

/// Expects a page to have a cell.
llvm::LogicalResult expectPage(mlir::Operation *op, int64_t page);

/// The number `value` as an index, unless it is not below `end` (as an unsigned
/// number, so that negative ones are not): then 0, and `isValid` is false.
/// `isValid` may be null: true so far.
mlir::Value clamp(Scalar &e, mlir::Value value, int64_t end,
                  mlir::Value &isValid);

/// The cell of `position` (an index that is not negative) of row `row`, 0 where
/// it has none or `isValid` is false already.
mlir::Value findCell(Scalar &e, mlir::Value table, int64_t page,
                     int64_t numPages, mlir::Value row, mlir::Value position,
                     mlir::Value &isValid);

/// Factors of a pool [cells, KV heads, head size].
struct CacheFactors {
  unsigned cells, heads, headSize;
};
/// The factors and the first three operands of what writes rows `input`
/// [tokens, KV heads, head size] into cells [tokens] of `pool`.
CacheFactors addCacheWrite(ShardingRule &rule, mlir::Value input,
                           mlir::Value pool);

} // namespace tp::nn

#endif // TP_LIB_DIALECT_NN_IR_PAGEDPARTS_H
