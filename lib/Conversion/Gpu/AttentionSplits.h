//===- AttentionSplits.h - Blocks that share the keys of a row --*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A decoding step has one query over many keys: too few rows for the blocks of
// a card. Then several blocks take the same rows and a part of their tiles each
// ("Flash-Decoding", Dao et al., 2023). What they have, the greatest score, the
// sum of the powers and the outputs (AttentionSoftmax.h), goes to scratch, and
// a second kernel puts the parts of a row together. The launch in between is
// what orders them: no block waits for another, nothing has to be reset.
//
// How many blocks is static, which tiles each has is not: of n tiles that the
// rows see in this call, split s of S has those from n s / S to n (s + 1) / S.
// A split without a tile writes the neutral element (-inf, 0, zeros). With
// n = 5 and S = 3:
//
//        split 0: tile 0        split 1: tiles 1, 2        split 2: tiles 3, 4
//
// Scratch holds, for each row of each KV head and batch entry and each split,
// the outputs (a padded head of f32), and after all of these the pairs of
// greatest score and sum.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CONVERSION_GPU_ATTENTIONSPLITS_H
#define TP_LIB_CONVERSION_GPU_ATTENTIONSPLITS_H

#include "AttentionSoftmax.h"
#include "tp/Conversion/Kernels/GpuModule.h"

namespace tp {

class AttentionSplits {
public:
  using Value = mlir::Value;

  AttentionSplits(KernelEmitter &emitter, const AttentionShape &shape,
                  const AttentionTiles &tiles)
      : e(emitter), shape(shape), tiles(tiles) {}

  static int64_t getScratchBytes(const AttentionShape &shape,
                                 const AttentionTiles &tiles);

  /// Narrows the tiles [first, end) to those of `split`.
  void narrow(Value &first, Value &end, Value split);
  /// The address at which row `row` (of KV head `line` = batch entry * KV heads
  /// + head) has its first split's outputs and pair.
  Value getSums(Value scratch, Value line, Value row);
  Value getPairs(Value scratch, Value line, Value row);
  /// Writes what a warp has of the row of its first lane and of those below, if
  /// they are rows; `before` lie before the block's in scratch.
  void store(const SoftmaxState &state, AttentionProducts &products,
             Value scratch, Value line, Value firstRow, Value before,
             llvm::function_ref<Value(Value row)> isRow, Value split,
             Value lane);

private:
  KernelEmitter &e;
  const AttentionShape &shape;
  const AttentionTiles &tiles;

  /// Number of the row's first part.
  Value getPart(Value line, Value row);
};

/// Writes the second kernel. Its parameters are those of the first.
mlir::gpu::GPUFuncOp generateAttentionCombine(mlir::gpu::GPUModuleOp module,
                                              llvm::StringRef name,
                                              const AttentionShape &shape,
                                              const AttentionTiles &tiles,
                                              mlir::Location loc);

} // namespace tp

#endif // TP_LIB_CONVERSION_GPU_ATTENTIONSPLITS_H
