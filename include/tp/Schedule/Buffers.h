//===- Buffers.h - What buffer planning writes on the IR --------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of the attributes by which tp-plan-buffers tells lower where everything
// is.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SCHEDULE_BUFFERS_H
#define TP_SCHEDULE_BUFFERS_H

#include "llvm/ADT/StringRef.h"

namespace tp {

/// On operations: ArrayAttr of BufferAttr, one per result; on tp.repeat the two
/// alternating places of each carried value, then one per stacked result.
inline constexpr llvm::StringLiteral buffersAttrName = "tp.buffers";
/// On functions: sizes of the two arenas in bytes.
inline constexpr llvm::StringLiteral arenaBytesAttrName = "tp.arena_bytes";
inline constexpr llvm::StringLiteral commBytesAttrName = "tp.comm_bytes";
/// On functions: the bytes at the start of the communication arena that are
/// slots of addends which other ranks read, the same in all functions. The
/// places in "comm" count from behind them; `tp.comm_bytes` has both.
inline constexpr llvm::StringLiteral slotBytesAttrName = "tp.slot_bytes";
/// A collective of a part of the rows says which part it is, and of how many
/// (tp.part); one that tp-split-rows leaves whole says why (tp.whole).
inline constexpr llvm::StringLiteral partAttrName = "tp.part";
inline constexpr llvm::StringLiteral wholeAttrName = "tp.whole";
/// A reduction that tp-read-peers leaves a call says why.
inline constexpr llvm::StringLiteral libraryAttrName = "tp.library";

} // namespace tp

#endif // TP_SCHEDULE_BUFFERS_H
