//===- Cost.h - What collectives cost on a ring -----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bytes that one rank sends for a collective, in the model that
// `--explain` prints and compares with the analytic bound, and the time on a
// link of given latency and bandwidth. D is the logical tensor of one call as
// one group sees it: the gathered, reduced or exchanged tensor in full.
//
// Example: hidden 4096, 2048 tokens, 2 bytes: D = 16 MiB; an all-reduce over 8
// ranks sends 2 * 7 / 8 * D = 28 MiB from each.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SHARDING_COST_H
#define TP_SHARDING_COST_H

#include "tprt/collectives.h"

namespace tp {

using tprt::CollectiveKind;

/// Bytes that one rank sends in a ring of `ranks`, rounded up:
///   all_reduce                2 (N-1)/N D
///   all_gather                  (N-1)/N D    D: the gathered tensor
///   reduce_scatter              (N-1)/N D    D: the tensor before the scatter
///   all_to_all                  (N-1)/N D/N  D: the tensor of the whole group
///   collective_permute          D            D: what one rank holds
/// Nothing is sent in a group of one, nor by the local rows.
int64_t getTraffic(CollectiveKind kind, int64_t bytes, int64_t ranks);

/// Messages one after the other in the ring: 2 (N-1) for all_reduce, N-1 for
/// the others, 1 for collective_permute.
int64_t getRingHops(CollectiveKind kind, int64_t ranks);

} // namespace tp

#endif // TP_SHARDING_COST_H
