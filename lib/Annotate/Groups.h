//===- Groups.h - Cuts that must fall between groups ------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TP_LIB_ANNOTATE_GROUPS_H
#define TP_LIB_ANNOTATE_GROUPS_H

#include "mlir/IR/BuiltinOps.h"
#include "tp/Sharding/Mesh.h"

namespace tp {

/// Makes the cuts of quantised weights fall between the groups that share a
/// scale, with the last ranks' share padded where the groups do not divide. An
/// error, with the degrees that fit, where there are fewer groups than ranks.
mlir::LogicalResult fitGroups(mlir::ModuleOp module, const Mesh &mesh);

} // namespace tp

#endif // TP_LIB_ANNOTATE_GROUPS_H
