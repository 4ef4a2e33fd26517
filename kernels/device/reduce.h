//===- reduce.h - Reductions of a warp and of a block -----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Butterflies of shuffles in a warp, shared memory between warps. The order is
// fixed and the same for all threads, which therefore get the same bits.
// `combine(a, b)` must not depend on the order of its operands.
//
//===----------------------------------------------------------------------===//

#ifndef TP_KERNELS_DEVICE_REDUCE_H
#define TP_KERNELS_DEVICE_REDUCE_H

#include "primitives.h"

/// The most warps of a block.
inline constexpr int kMostWarps = 1024 / kWarp;

/// `value` combined over groups of `size` neighbouring lanes, a power of two.
template <typename T, typename Combine>
__device__ inline T reduceWarp(T value, int size, Combine combine) {
#pragma unroll
  for (int mask = size / 2; mask > 0; mask /= 2)
    value = combine(value, shuffleXor(value, mask));
  return value;
}

/// `value` combined over all threads of the block, with one barrier. `none`
/// changes nothing that it is combined with. `partials` is shared memory, which
/// no thread may be reading any more.
template <typename T, typename Combine>
__device__ inline T reduceBlock(T value, T none, T (&partials)[kMostWarps],
                                Combine combine) {
  const int warps = launch::threads() / kWarp;
  value = reduceWarp(value, kWarp, combine);
  if (lane() == 0)
    partials[warp()] = value;
  __syncthreads();
  int copies = 1; // each group of so many lanes reads all partials
  while (copies < warps)
    copies *= 2;
  int from = lane() & (copies - 1);
  value = from < warps ? partials[from] : none;
  return reduceWarp(value, copies, combine);
}

#endif // TP_KERNELS_DEVICE_REDUCE_H
