//===- RowCosts.h - What parts of rows cost ---------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The seconds of operations before kernels are formed, whole and in parts. A
// product is a kernel of its own. Operations between products become row
// kernels, in which only what a product, a collective or a loop makes or reads
// is in memory: their bytes are those.
//
// Without a profile, products and collectives count by their arithmetic and
// their bytes, in such units that the two take equally long in all.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_SCHEDULE_ROWCOSTS_H
#define TP_LIB_SCHEDULE_ROWCOSTS_H

#include "RowPlan.h"
#include "tp/Cost/CostModel.h"

namespace tp {

/// The time that one part of an operation takes on the processor or the link.
struct PartCost {
  double work = 0, link = 0;
};

class RowCosts {
public:
  /// Without a model: what is cut in `plan` takes equally long in all on the
  /// processor and on the link.
  explicit RowCosts(const RowPlan &plan);
  explicit RowCosts(const CostModel &model) : model(&model) {}

  /// The cost of one of `parts` equal parts of `op`, of which `cut` says which
  /// operands are in parts; null if it is whole.
  PartCost get(mlir::Operation *op, const OpParts *cut, unsigned parts) const;
  /// Returns a clock of the model's processor and link.
  Clock getClock() const {
    return model ? Clock(model->getProfile()) : Clock(1);
  }
  bool hasModel() const { return model; }

private:
  const CostModel *model = nullptr;
  double rate = 1;

  double getKernelSeconds(mlir::Operation *op, const OpParts *cut,
                          unsigned parts) const;
};

} // namespace tp

#endif // TP_LIB_SCHEDULE_ROWCOSTS_H
