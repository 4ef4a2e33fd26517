//===- Heads.h - Cuts that must fall between heads --------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Head counts come from the attention operation, not from names: the
// projections that feed it are followed back to their weights.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_ANNOTATE_HEADS_H
#define TP_LIB_ANNOTATE_HEADS_H

#include "mlir/IR/BuiltinOps.h"
#include "tp/Sharding/Sharding.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace tp {

/// Gives the annotated weights of projections to and from every attention the
/// cheapest cut that leaves heads whole (HeadSplits.h): key and value
/// projections perhaps the leading sub-axis alone, so that neighbouring ranks
/// share heads. A cache that is a state without a sharding gets that of the
/// projection which fills it. A remark says where heads are padded. Emits an
/// error with the degrees that fit where none does, or, unless `allowsPadding`,
/// where more than half of the query heads would be padding. `fitted` gets the
/// weights, of which some ranks may have nothing.
mlir::LogicalResult fitHeads(mlir::ModuleOp module, const Mesh &mesh,
                             bool allowsPadding,
                             llvm::SmallPtrSetImpl<mlir::Operation *> &fitted);

} // namespace tp

#endif // TP_LIB_ANNOTATE_HEADS_H
