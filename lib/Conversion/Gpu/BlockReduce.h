//===- BlockReduce.h - One value from all threads of a row ------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads of a warp exchange values by shuffles, warps by shared memory. The
// order is the same in every run, and every thread gets the same bits.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CONVERSION_GPU_BLOCKREDUCE_H
#define TP_LIB_CONVERSION_GPU_BLOCKREDUCE_H

#include "mlir/IR/Builders.h"

namespace tp {

/// Combines two lists of values, number by number or as a whole.
using Combine = llvm::function_ref<llvm::SmallVector<mlir::Value>(
    llvm::ArrayRef<mlir::Value>, llvm::ArrayRef<mlir::Value>)>;

/// `values` combined over each group of `size` (a power of two up to 32)
/// neighbouring threads of the warp, on each of them.
llvm::SmallVector<mlir::Value> reduceInWarp(mlir::OpBuilder &builder,
                                            mlir::Location loc,
                                            llvm::ArrayRef<mlir::Value> values,
                                            int64_t size, Combine combine);

/// A value that warps hand to each other.
struct WarpPartial {
  mlir::Value value;    ///< the same on each thread of a warp
  mlir::Value identity; ///< what combining leaves unchanged
};

/// Combines `partials` over the `warps` warps of a block by way of shared
/// memory at `shared` (an address in space 3; eight bytes for each warp of each
/// partial), with one barrier.
llvm::SmallVector<mlir::Value> reduceWarps(mlir::OpBuilder &builder,
                                           mlir::Location loc,
                                           llvm::ArrayRef<WarpPartial> partials,
                                           int64_t warps, mlir::Value thread,
                                           mlir::Value shared, Combine combine);

} // namespace tp

#endif // TP_LIB_CONVERSION_GPU_BLOCKREDUCE_H
