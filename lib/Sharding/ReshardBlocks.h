//===- ReshardBlocks.h - Dimensions that are cut in blocks ------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Views of tensors in which no dimension that changes is cut in blocks.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_SHARDING_RESHARDBLOCKS_H
#define TP_LIB_SHARDING_RESHARDBLOCKS_H

#include "tp/Sharding/Reshard.h"

namespace tp::detail {

/// Returns true if both are cut in the same blocks.
bool hasSameBlocks(const DimSharding &a, const DimSharding &b);

/// The views on which a reshard is planned, without their plans.
llvm::SmallVector<ReshardStage, 1> viewBlocks(llvm::ArrayRef<int64_t> shape,
                                              const TensorSharding &from,
                                              const TensorSharding &to);

} // namespace tp::detail

#endif // TP_LIB_SHARDING_RESHARDBLOCKS_H
