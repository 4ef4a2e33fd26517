//===- MpiCollective.h - collectives by messages ----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each collective as one or two exchanges of messages between all members, with
// packing before and unpacking or summing after, so that any dimension, uneven
// blocks and every type work, and sums have the bits of the definition: in the
// order of the group. How messages travel is left to the caller.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_COLLECTIVES_MPI_MPICOLLECTIVE_H
#define TPRT_COLLECTIVES_MPI_MPICOLLECTIVE_H

#include "../Backend.h"
#include "../Transfer.h"
#include "Plugin.h"

#include <functional>
#include <map>

namespace tprt {

/// The tag of a call's messages, from 1 to `largest`: ranks in different calls
/// must not take each other's.
int32_t tagOf(CallSite site, int32_t largest);

class MessageCollective {
public:
  /// Sends and receives all of it before it returns.
  using Exchange =
      std::function<Status(const std::vector<tprt_mpi_part> &receives,
                           const std::vector<tprt_mpi_part> &sends)>;

  MessageCollective(int64_t self, int64_t members, Exchange exchange)
      : self(self), members(members), exchange(std::move(exchange)) {}

  /// This member's call. In place works for the rows that say so.
  Status run(const Collective &entry, const void *in, void *out);

private:
  Status allReduce(const Collective &c, const char *in, char *out);
  Status run(const TransferStep &step, const Collective &c, char *in,
             char *out);
  Status reduceScatter(const Collective &c, char *in, char *out, int64_t count);
  void sum(const Collective &c, int64_t count, char *out);

  template <typename Each>
  void withOthers(Each each) {
    for (int64_t member = 0; member < members; ++member)
      if (member != self)
        each(member);
  }

  int64_t self, members;
  Exchange exchange;
  Buffer staging, incoming;
  std::map<const Collective *, Transfer> plans;
  std::vector<tprt_mpi_part> receives, sends;
  std::vector<const void *> sources;
};

} // namespace tprt

#endif // TPRT_COLLECTIVES_MPI_MPICOLLECTIVE_H
