//===- RowPlan.h - What of a block is computed in parts ---------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cut begins at a collective and is carried on to whatever can be computed in
// parts, up to operations that need all rows. The body of tp.repeat is planned
// before the block around it: a carried value that its body reads and yields in
// parts is one carried value for each part.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_SCHEDULE_ROWPLAN_H
#define TP_LIB_SCHEDULE_ROWPLAN_H

#include "RowCuts.h"
#include <memory>

namespace tp {

class CostModel;

struct RowPlan {
  /// The operations of the block that are computed in parts.
  llvm::DenseMap<mlir::Operation *, OpParts> ops;
  /// The values that then exist in parts: results of those operations, carried
  /// arguments of the block, and results of its loops.
  llvm::DenseMap<mlir::Value, Cut> values;
  /// One of each loop in the block, which may cut nothing.
  llvm::DenseMap<mlir::Operation *, std::shared_ptr<RowPlan>> loops;
  /// Why a collective of the block or of its loops is not cut.
  llvm::DenseMap<mlir::Operation *, std::string> reasons;

  bool cutsAnything() const {
    return !ops.empty() || llvm::any_of(loops, [](const auto &inner) {
      return inner.second->cutsAnything();
    });
  }
  /// True if `value` exists in the parts that `part` asks for.
  bool has(mlir::Value value, const OperandPart &part) const {
    auto found = values.find(value);
    return found != values.end() && !part.isPrefix && found->second == part.cut;
  }
};

/// Plans `block` with its collectives in `chunks` parts, or in as many as the
/// first dimension of more than one position has: all that can be or, by a
/// model, those where that saves time.
std::shared_ptr<RowPlan> planRows(mlir::Block &block, unsigned chunks,
                                  const CostModel *model = nullptr);

/// Writes the parts of `plan` in place of its operations, in an order in which
/// a part's collective stands beside the products of other parts. Returns how
/// many collectives are cut.
unsigned writeParts(mlir::Block &block, RowPlan &plan,
                    const CostModel *model = nullptr);

} // namespace tp

#endif // TP_LIB_SCHEDULE_ROWPLAN_H
