//===- Lifetimes.h - How long tensors live in memory ------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor lives from the operation that makes it to the last that reads it or
// a view of it. The planner of buffers gives each life a place; what reorders
// operations asks here what that costs.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_SCHEDULE_LIFETIMES_H
#define TP_LIB_SCHEDULE_LIFETIMES_H

#include "tp/Dialect/TP/IR/TPOps.h"

namespace tp {

/// The positions of a block's operations.
using Numbers = llvm::DenseMap<mlir::Operation *, unsigned>;
Numbers numberOperations(mlir::Block &block);

/// True if the results of `op`, which is no tp.repeat, are tensors that it
/// writes.
bool needsMemory(mlir::Operation *op);

/// Position of the last use of `value` or a view of it, or `last` if that is
/// later. The operand of an asynchronous collective is in use until it is
/// awaited; `inPlace` is a collective that may overwrite it earlier.
unsigned getLastUse(mlir::Value value, mlir::Block &block,
                    const Numbers &number, unsigned last,
                    mlir::Operation *inPlace = nullptr);

/// The operand of a collective that may work in place, as nothing reads it
/// afterwards; null otherwise.
mlir::Value getInPlaceOperand(mlir::Operation *op, mlir::Block &block,
                              const Numbers &number);

/// Place that the use as a result of the function or of an iteration fixes;
/// null where the planner is free.
BufferAttr getFixedPlace(mlir::Value value);

/// The first operation of `block` that reads `value`, not counting views; these
/// are added to `views`, from the value outwards.
mlir::Operation *
findFirstReader(mlir::Value value, mlir::Block &block,
                llvm::SmallVectorImpl<mlir::Operation *> &views);

/// Bytes of the tensors that live at once, at most, while `block` runs in its
/// present order: what no plan of its buffers can be below. Tensors whose place
/// is fixed do not count.
int64_t getPeakBytes(mlir::Block &block);

} // namespace tp

#endif // TP_LIB_SCHEDULE_LIFETIMES_H
