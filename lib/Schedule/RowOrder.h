//===- RowOrder.h - The order of parts of rows ------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations in parts form segments, which end at collectives: a task is one
// part of a segment. Tasks are put in order as if they ran on a processor and a
// link: the next task is one whose operands are there, of those the furthest,
// so that the link is busy early.
//
// Example, a product, its all-reduce and what follows, in two parts:
//
//   product 0, start 0, product 1, start 1, await 0, follow 0, await 1, ...
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_SCHEDULE_ROWORDER_H
#define TP_LIB_SCHEDULE_ROWORDER_H

#include "RowCosts.h"

namespace tp {

class RowOrder {
public:
  /// Operations of which each part is written without a break.
  struct Segment {
    llvm::SmallVector<mlir::Operation *> ops;
    /// Products, and what needs their results.
    llvm::SmallPtrSet<mlir::Operation *, 8> afterProduct;
    unsigned parts = 1;
    PartCost cost; ///< of one part
  };
  using Visit = llvm::function_ref<void(const Segment &, unsigned part)>;

  RowOrder(const RowPlan &plan, const RowCosts &costs)
      : plan(plan), costs(costs), clock(costs.getClock()) {}

  /// Adds an operation, in the order of its block. One that the plan does not
  /// cut is a segment of one part.
  void add(mlir::Operation *op);
  /// True if `op`, or an operation in it, reads a value of the segments.
  bool isReadBy(mlir::Operation *op) const;
  /// Visits the parts of all segments in order, and forgets the segments.
  void run(Visit visit);

  /// When all that has run is done, and the work in it.
  double getEnd() const { return clock.getEnd(); }
  double getWork() const { return work; }

private:
  const RowPlan &plan;
  const RowCosts &costs;
  Clock clock;
  double work = 0;
  std::vector<Segment> segments;
  llvm::DenseMap<mlir::Operation *, unsigned> segmentOf;

  bool startsSegment(mlir::Operation *op, const Segment &last) const;
  PartCost getCost(mlir::Operation *op) const;
};

/// The times of a block as it is planned.
struct RowTimes {
  double total = 0;
  /// Seconds of the processor alone, as if it never waited.
  double work = 0;

  double getExposed() const { return total - work; }
};
RowTimes getRowTimes(mlir::Block &block, const RowPlan &plan,
                     const RowCosts &costs);

} // namespace tp

#endif // TP_LIB_SCHEDULE_ROWORDER_H
