//===- AttentionBackwardKernel.h - Derivative of attention ------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the two kernels of an nn.attention_backward, after FlashAttention-2
// (Dao, 2023): no matrix of scores, the probabilities are computed again from
// the log-sum-exp. One has blocks of queries and walks over the keys that they
// see, the other blocks of keys and walks over the queries that see them, so
// that each result is the sum of one block, in a fixed order, and no two blocks
// add to one place. Both do the same with a tile, rows being what the block
// has and columns what it walks over:
//
//                       rows               columns           results
//        by queries     query, cotangent   key, value        dq = ds key
//        by keys        key, value         query, cotangent  dk = ds query,
//                                                            dv = p cotangent
//
//   1. wait until the tile has arrived; start the copy of the next one;
//   2. p = 2^(scores - lse), of scores = first rows * first columns^T
//   3. ds = p (second rows * second columns^T - delta) * scale; without the
//      scale it is the derivative by a bias of the scores, which the blocks of
//      queries write, with zeros for what they do not walk over
//   4. results += ds * first columns, p * second columns
//
// with the products, masks and copies of attention itself. Where the sums of dk
// and dv together would not fit a thread's registers, blocks make one of them.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CONVERSION_GPU_ATTENTIONBACKWARDKERNEL_H
#define TP_LIB_CONVERSION_GPU_ATTENTIONBACKWARDKERNEL_H

#include "AttentionTiles.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace tp {

/// Writes the kernels into `module`: `byQueries`, then `byKeys`. Their
/// parameters are the arguments of `attention_backward` in tprt/abi.h after
/// `id`.
void generateAttentionBackward(mlir::gpu::GPUModuleOp module,
                               llvm::StringRef byQueries,
                               llvm::StringRef byKeys,
                               const AttentionShape &shape, mlir::Location loc);

} // namespace tp

#endif // TP_LIB_CONVERSION_GPU_ATTENTIONBACKWARDKERNEL_H
