//===- NetRendezvous.h - how ranks meet -------------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rank 0 listens, the others call it at the address that the job's variables
// give, and say who they are. Who does not bring the job's token is turned
// away: another program, another job, a rank that is left of an earlier
// attempt. (A token guards against mistakes; what is sent is not encrypted.)
// Until then a caller is a stranger, of whom little is read and few are heard
// at once: no number of them ends a job or keeps it from starting.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_COLLECTIVES_NET_NETRENDEZVOUS_H
#define TPRT_COLLECTIVES_NET_NETRENDEZVOUS_H

#include "Socket.h"

namespace tprt {
class Segment;
} // namespace tprt

namespace tprt::net {

/// The connections of a rank whose run has come together.
struct RankConnections {
  /// On rank 0 by rank, its own closed; on the others rank 0's alone.
  std::vector<Connection> peers;
  int64_t localRank = 0, localRanks = 1;
};

/// Meets over TCP, at process.addresses and process.ports. Rank 0 may bring a
/// socket that listens already.
Expected<RankConnections> rendezvous(const ProcessInfo &process,
                                     double timeoutSeconds,
                                     Listener *listener = nullptr);
/// Meets at a Unix socket of this name, which takes this user's calls alone.
Expected<RankConnections> rendezvousHere(const ProcessInfo &process,
                                         const std::string &name,
                                         double timeoutSeconds);

/// The side channel over these connections (NetChannel.cpp). Ranks of one host
/// also share `memory`, which then holds their positions and the first failure;
/// null where they are on several.
std::unique_ptr<SideChannel>
makeChannel(RankConnections connections, const ProcessInfo &process,
            const SideChannel::Options &options,
            std::shared_ptr<const Segment> memory = nullptr);

} // namespace tprt::net

#endif // TPRT_COLLECTIVES_NET_NETRENDEZVOUS_H
