//===- Transfer.h - a collective as calls and copies ------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NCCL and MPI move contiguous, equal pieces. A dimension that is not
// outermost, or sizes that do not divide, need strided copies through staging
// memory before or after. What one member does for an entry is planned here
// once, as a list that names no library, so that the plan is tested without
// one.
//
// Example, all_gather along dimension 1 of [2, 3] on two ranks into [2, 5]:
//   AllGather  in -> staging, 6 elements        staging: [2 members][2][3]
//   Copy       staging + 0 -> out + 0           2 rows of 3, into rows of 5
//   Copy       staging + 6 -> out + 3           2 rows of 2: past the end is
//   dropped
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_COLLECTIVES_TRANSFER_H
#define TPRT_COLLECTIVES_TRANSFER_H

#include "../format/Manifest.h"

namespace tprt {

/// One thing to enqueue. All sizes and offsets are in bytes but `count`.
struct TransferStep {
  enum class Kind {
    Copy,  ///< `rows` rows of `width` bytes, from `from` to `to`
    Zero,  ///< `width` bytes at `to`
    Group, ///< calls until EndGroup are one
    EndGroup,
    AllReduce,
    AllGather,
    ReduceScatter,
    Send,    ///< `count` elements at `from` to member `peer`
    Receive, ///< `count` elements to `to` from member `peer`
  };
  enum class Memory { In, Out, Staging };
  struct Operand {
    Memory memory = Memory::In;
    int64_t offset = 0;
    int64_t pitch = 0; ///< between rows of a Copy

    /// Its address, given where these begin.
    uint64_t address(const void *in, const void *out,
                     const void *staging) const {
      const void *bases[] = {in, out, staging};
      return uint64_t(bases[int(memory)]) + uint64_t(offset);
    }
  };

  Kind kind;
  Operand from, to;
  int64_t width = 0, rows = 1;
  int64_t count = 0; ///< elements, as NCCL counts them for this call
  int64_t peer = 0;  ///< of Send, Receive
};

/// The steps of member `self` of `members` ranks, in this order.
struct Transfer {
  std::vector<TransferStep> steps;
  int64_t stagingBytes = 0;
};

Transfer planTransfer(const Collective &entry, int64_t self, int64_t members);
/// The most staging memory that any entry of the ledger takes on this rank.
int64_t stagingBytes(const Manifest &manifest, int64_t rank);

//===----------------------------------------------------------------------===//
// Buffers that all members can read (LocalCollective.cpp)
//===----------------------------------------------------------------------===//

/// True if a member's share is written to buffers of the others too.
bool writesToOthers(const CollectiveRow &row);

/// Executes the part of member `self` between the barrier at which all buffers
/// are published and the one after which they may be reused. `in` and `out`
/// hold each member's buffers. In place (in[i] == out[i]) works for the rows
/// that say so.
void runLocally(const Collective &entry, int64_t self,
                const std::vector<const void *> &in,
                const std::vector<void *> &out);

} // namespace tprt

#endif // TPRT_COLLECTIVES_TRANSFER_H
