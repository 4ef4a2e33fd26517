//===- Barriers.cpp - Barriers and fences ---------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The block's barriers, whole or of some warps, and the warp's. A fence does
// nothing: host memory is ordered.
//
//===----------------------------------------------------------------------===//

#include "Intrinsics.h"
#include <bit>

using namespace tp::emulator;

static void sync(uint64_t *in, bool counted, bool aligned, Site site) {
  current->barrier(get<uint32_t>(in[0]), counted ? get<uint32_t>(in[1]) : 0,
                   aligned, /*waits=*/true, site);
}

TP_EMULATE(barrier_cta_sync_aligned_all) { sync(in, false, true, site); }
TP_EMULATE(barrier_cta_sync_aligned_count) { sync(in, true, true, site); }
TP_EMULATE(barrier_cta_sync_all) { sync(in, false, false, site); }
TP_EMULATE(barrier_cta_sync_count) { sync(in, true, false, site); }
TP_EMULATE(barrier_cta_arrive_aligned_count) {
  current->barrier(get<uint32_t>(in[0]), get<uint32_t>(in[1]), true, false,
                   site);
}
TP_EMULATE(barrier_cta_arrive_count) {
  current->barrier(get<uint32_t>(in[0]), get<uint32_t>(in[1]), false, false,
                   site);
}

TP_EMULATE(bar_warp_sync) {
  current->meet("bar.warp.sync", get<uint32_t>(in[0]), in, out, site, false,
                [](Launch &launch, Meeting &meeting, uint32_t lane, Site) {
                  if (lane == uint32_t(std::countr_zero(meeting.present)))
                    launch.orderLanes(meeting.present);
                });
}

TP_EMULATE(membar_cta) {}
TP_EMULATE(membar_gl) {}
TP_EMULATE(membar_sys) {}
