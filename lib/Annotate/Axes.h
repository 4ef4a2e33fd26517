//===- Axes.h - Axes that cut nothing ---------------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks along an axis that no sharding names all do the same: nobody asks for
// that, but by mistake.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_ANNOTATE_AXES_H
#define TP_LIB_ANNOTATE_AXES_H

#include "Plan.h"
#include "tp/Dialect/TP/IR/TPOps.h"

namespace tp {

/// An error at the mesh if the annotated program names one of its axes nowhere,
/// and the plan is not the one that replicates everything; a warning if the
/// program is taken as it is annotated.
mlir::LogicalResult checkAxes(MeshOp mesh, const Plan &plan);

} // namespace tp

#endif // TP_LIB_ANNOTATE_AXES_H
