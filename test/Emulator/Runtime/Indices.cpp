//===- Indices.cpp - Special registers ------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The numbers of a thread and its block.
//
//===----------------------------------------------------------------------===//

#include "Intrinsics.h"

using namespace tp::emulator;

#define TP_REGISTER(name, value)                                               \
  TP_EMULATE(read_ptx_sreg_##name) { put<uint32_t>(out[0], value); }

TP_REGISTER(tid_x, current->thread().index[0])
TP_REGISTER(tid_y, current->thread().index[1])
TP_REGISTER(tid_z, current->thread().index[2])
TP_REGISTER(ntid_x, current->block.x)
TP_REGISTER(ntid_y, current->block.y)
TP_REGISTER(ntid_z, current->block.z)
TP_REGISTER(ctaid_x, current->blockIndex[0])
TP_REGISTER(ctaid_y, current->blockIndex[1])
TP_REGISTER(ctaid_z, current->blockIndex[2])
TP_REGISTER(nctaid_x, current->grid.x)
TP_REGISTER(nctaid_y, current->grid.y)
TP_REGISTER(nctaid_z, current->grid.z)
TP_REGISTER(laneid, current->lane())
TP_REGISTER(warpid, current->warp())
TP_REGISTER(warpsize, warpSize)
TP_REGISTER(lanemask_eq, 1u << current->lane())
TP_REGISTER(lanemask_lt, (1u << current->lane()) - 1)
TP_REGISTER(lanemask_le, (2u << current->lane()) - 1)
TP_REGISTER(lanemask_gt, ~((2u << current->lane()) - 1))
TP_REGISTER(lanemask_ge, ~((1u << current->lane()) - 1))
