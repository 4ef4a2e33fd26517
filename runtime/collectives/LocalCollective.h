//===- LocalCollective.h - one member's share of the work -------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The data movement of each collective when every member's buffers can be read
// by all: what member i does between the barrier at which all buffers are
// published and the one after which they may be reused. Used by every backend
// with common memory.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_COLLECTIVES_LOCALCOLLECTIVE_H
#define TPRT_COLLECTIVES_LOCALCOLLECTIVE_H

#include "../format/Manifest.h"

namespace tprt {

/// Whether a member's share is written to buffers of the others too.
bool writesToOthers(const CollectiveRow &row);

/// Does member `self`'s share. `in` and `out` hold each member's buffers. In
/// place (in[i] == out[i]) works for the rows that say so.
void runLocally(const Collective &entry, int64_t self,
                const std::vector<const void *> &in,
                const std::vector<void *> &out);

} // namespace tprt

#endif // TPRT_COLLECTIVES_LOCALCOLLECTIVE_H
