//===- HopperAttention.h - Launches of attention_sm90.cu --------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The attentions that have a kernel of their own on sm_90, and how it is
// launched (kernels/device/attention_sm90.cu).
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CONVERSION_GPU_HOPPERATTENTION_H
#define TP_LIB_CONVERSION_GPU_HOPPERATTENTION_H

#include "AttentionTiles.h"
#include "tp/Conversion/Kernels/GpuModule.h"

namespace tp {

/// Three tensor maps of each block of the largest grid.
inline constexpr int64_t hopperAttentionScratchBytes = 132 * 3 * 128;

/// True if the kernel takes the attention: 16-bit heads of at most 128 elements
/// and no bias, enough rows for its tiles.
bool hasHopperAttention(const AttentionShape &shape,
                        const AttentionTiles &tiles);

/// The kernel, if there is one.
KernelImage getHopperAttention(const AttentionShape &shape,
                               mlir::MLIRContext *context);

} // namespace tp

#endif // TP_LIB_CONVERSION_GPU_HOPPERATTENTION_H
