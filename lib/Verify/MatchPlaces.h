//===- MatchPlaces.h - Values of two programs by their places ---*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program made elsewhere has no value ids, but its operations say where they
// came from. That is enough to name the operation that differs, where it is
// known that something does; to say that all is well it is not.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_VERIFY_MATCHPLACES_H
#define TP_LIB_VERIFY_MATCHPLACES_H

#include "mlir/IR/BuiltinOps.h"

namespace tp {

/// Gives the operations of `program`, if none of it has an id, the ids of those
/// of `reference` with the same name and location, or the same location alone,
/// where both have equally many of them. Returns how many it gave.
int64_t matchPlaces(mlir::ModuleOp reference, mlir::ModuleOp program);

} // namespace tp

#endif // TP_LIB_VERIFY_MATCHPLACES_H
