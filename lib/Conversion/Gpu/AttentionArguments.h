//===- AttentionArguments.h - What attention's kernels are told -*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parameters of a kernel of attention, and of the one that puts its parts
// together: the arguments of `attention` or `paged_attention` in tprt/abi.h
// after `id`, in that order, without those that the kernel knows, and where
// keys are split the address of scratch.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CONVERSION_GPU_ATTENTIONARGUMENTS_H
#define TP_LIB_CONVERSION_GPU_ATTENTIONARGUMENTS_H

#include "AttentionTiles.h"
#include "KernelEmitter.h"

namespace tp {

/// Addresses in global memory, strides and lengths as i64. What a shape has no
/// use for is null.
struct AttentionArguments {
  mlir::Value query, queryStride, key, keyStride, value, valueStride, mask,
      bias, sinks, keyLength, queryOffset, output, outputStride, logSumExp,
      scratch;
  mlir::Value rows, positions, table; ///< over pages

  static llvm::SmallVector<mlir::Type> getTypes(mlir::OpBuilder &builder,
                                                const AttentionShape &shape,
                                                const AttentionTiles &tiles);
  static AttentionArguments read(KernelEmitter &emitter,
                                 const AttentionShape &shape,
                                 const AttentionTiles &tiles,
                                 llvm::ArrayRef<mlir::BlockArgument> arguments);
};

} // namespace tp

#endif // TP_LIB_CONVERSION_GPU_ATTENTIONARGUMENTS_H
