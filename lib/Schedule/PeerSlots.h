//===- PeerSlots.h - Memory of addends that peers read ----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The slots that tp-plan-buffers gives to the operands of tp.peers.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_SCHEDULE_PEERSLOTS_H
#define TP_LIB_SCHEDULE_PEERSLOTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/Dialect/TP/IR/TPOps.h"

namespace tp {

/// The operation that reads `value`, or a view of all of it, as the addend of
/// this rank; null if none does.
PeersOp findPeers(mlir::Value value);

/// The place of the addend of a `tp.peers`.
struct PeerSlot {
  PeersOp op;
  int64_t offset = 0;
};
struct PeerSlots {
  llvm::SmallVector<PeerSlot> sites;
  int64_t bytes = 0;
};

/// Gives all addends of `functions`, which run one after the other in any
/// order, a slot each, and inserts `tp.meet` behind the readers of those that
/// stand in their own way. Each operand's root is written in the block of its
/// `tp.peers`, for it alone.
PeerSlots assignPeerSlots(llvm::ArrayRef<mlir::func::FuncOp> functions,
                          int64_t alignment);

/// Fails where an operation writes bytes of a slot that a peer may still read.
mlir::LogicalResult
verifyPeerSlots(llvm::ArrayRef<mlir::func::FuncOp> functions);

} // namespace tp

#endif // TP_LIB_SCHEDULE_PEERSLOTS_H
