//===- AttentionKernel.h - Attention on a device ----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes a kernel for one attention: softmax(scale * q k^T + mask) v without
// the matrix of scores, after FlashAttention-2 (Dao, 2023). A block has some
// rows (queries of all heads that share a KV head) of one batch entry. It
// copies their queries to shared memory, then walks over the tiles of keys that
// they see; for each
//
//   1. wait until the tile has arrived, for all threads; start the copy of the
//      next one to the other of two stages;
//   2. scores = queries * keys^T              (AttentionProducts)
//   3. scores of hidden keys become -inf      (AttentionMasks)
//   4. scores become probabilities, what is summed so far is rescaled
//                                             (AttentionSoftmax)
//   5. outputs += probabilities * values      (AttentionProducts)
//
// and in the end divides the outputs by the sums of the probabilities. One
// barrier per tile is enough: at it, all have finished with the stage that is
// filled next. Warps that share rows but not keys (AttentionTiles) exchange
// their sums through shared memory after the last tile. Over pages, tokens and
// keys are found by number first (AttentionPages).
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CONVERSION_GPU_ATTENTIONKERNEL_H
#define TP_LIB_CONVERSION_GPU_ATTENTIONKERNEL_H

#include "AttentionTiles.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace tp {

/// Writes the kernel into `module`. Its parameters are AttentionArguments; with
/// splits it leaves parts in scratch for the kernel of
/// generateAttentionCombine.
mlir::gpu::GPUFuncOp generateAttention(mlir::gpu::GPUModuleOp module,
                                       llvm::StringRef name,
                                       const AttentionShape &shape,
                                       const AttentionTiles &tiles,
                                       mlir::Location loc);

} // namespace tp

#endif // TP_LIB_CONVERSION_GPU_ATTENTIONKERNEL_H
