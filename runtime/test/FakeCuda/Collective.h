//===- Collective.h - what a communicator carries ---------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An operation of a communicator moves in attempts, none of which blocks: the
// scheduler asks again. When a peer is gone it never completes, until the
// communicator is aborted.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TEST_FAKECUDA_COLLECTIVE_H
#define TPRT_TEST_FAKECUDA_COLLECTIVE_H

#include "Scheduler.h"
#include "Segment.h"

namespace fake {

enum class Operation { AllReduce, AllGather, ReduceScatter, Send, Receive };

const char *nameOf(Operation operation);

/// Bytes of an element, or 0 if the type is not known here.
size_t bytesOf(ncclDataType_t type);

/// One call, as it was made. `count` is what the caller gave.
struct Call {
  Operation operation;
  const void *from = nullptr;
  void *to = nullptr;
  size_t count = 0;
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t reduction = ncclSum;
  int peer = 0; ///< of Send and Receive

  size_t fromBytes(int ranks) const;
  size_t toBytes(int ranks) const;
};

struct Communicator {
  std::unique_ptr<Segment> segment;
  int rank, ranks, device;
  bool aborted = false;
  bool finalized = false;
  bool connected = false; ///< its first collective has brought all together
  ncclResult_t state = ncclInProgress; ///< of the initialisation, then errors
  std::string error;
  // Handed out at launch, in the order of launches.
  uint64_t nextTicket = 0, nextCollective = 0;
  uint64_t nextSend[kMaxRanks] = {}, nextReceive[kMaxRanks] = {};
  uint64_t serving = 0; ///< the launch whose turn it is
  NodeRef last;

  /// Looks whether everybody has arrived; sets `state`.
  void poll();
};
using CommunicatorRef = std::shared_ptr<Communicator>;

/// The work of calls that one launch carries.
Work launch(const CommunicatorRef &communicator,
            const std::vector<Call> &calls);

} // namespace fake

#endif // TPRT_TEST_FAKECUDA_COLLECTIVE_H
