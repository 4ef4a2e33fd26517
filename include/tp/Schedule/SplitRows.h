//===- SplitRows.h - Rows of a step in parts --------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The transformation of tp-split-rows, for the pass and for whoever chooses
// among several numbers of parts.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SCHEDULE_SPLITROWS_H
#define TP_SCHEDULE_SPLITROWS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp {

class CostModel;

struct RowSplit {
  /// Parts of the rows, from 2 to mostChunks.
  unsigned chunks = 2;
  /// Times the parts to put them in order; may be null.
  const CostModel *model = nullptr;
  /// Leaves whole the collectives of which the model predicts no gain.
  bool isSelective = false;
};

/// Computes the rows of `function` in parts, and notes of each collective that
/// stays whole the reason. Returns how many collectives are in parts.
unsigned splitRows(mlir::func::FuncOp function, const RowSplit &split);

/// Notes of each collective of `function` that cannot be in parts the reason,
/// and changes nothing else.
void noteWholeRows(mlir::func::FuncOp function, unsigned chunks);

} // namespace tp

#endif // TP_SCHEDULE_SPLITROWS_H
