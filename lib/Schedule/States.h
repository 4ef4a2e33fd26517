//===- States.h - Updates of states in their own memory ---------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The successor of a state lies where its old value lies. So whatever reads the
// old value does so before the operation that writes the successor, or is that
// operation and reads each element where it writes it.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_SCHEDULE_STATES_H
#define TP_LIB_SCHEDULE_STATES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/Dialect/TP/IR/TPOps.h"

namespace tp {

/// A state, or one layer's slice of it, that a block replaces.
struct StateUpdate {
  mlir::FlatSymbolRefAttr state;
  /// An argument of the block.
  mlir::Value old;
  /// The use in the terminator.
  mlir::OpOperand *successor;
};

/// The updates that `block` makes: of a function, those of arguments that have
/// a result; of a tp.repeat, those of the slices of such a state that is
/// stacked through it.
llvm::SmallVector<StateUpdate> getStateUpdates(mlir::Block &block);

/// The first operation after `op` in its block that reads `value` or a view of
/// it; null if there is none.
mlir::Operation *findReaderAfter(mlir::Value value, mlir::Operation *op);

/// True if `op`, or an operation in it, reads `value` or a view of it.
bool readsValue(mlir::Operation *op, mlir::Value value);

/// True if `op`, which reads `update.old` and makes its successor, reads every
/// element where it writes it, at once.
bool readsInPlace(mlir::Operation *op, const StateUpdate &update);

/// Put every operation that writes a successor behind those that read the old
/// value. An error names the reader that cannot be before it.
mlir::LogicalResult orderUpdates(mlir::Block &block);

} // namespace tp

#endif // TP_LIB_SCHEDULE_STATES_H
