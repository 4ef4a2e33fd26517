//===- DeviceRankContext.h - ranks whose buffers lie on devices -*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a RankContext can do beyond the host's when the rank has a device. Names
// no library: a context and a stream are pointers here.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_COLLECTIVES_DEVICERANKCONTEXT_H
#define TPRT_COLLECTIVES_DEVICERANKCONTEXT_H

#include "Communicator.h"

struct CUstream_st;

namespace tprt {

/// `run` of its communicators enqueues on the stream given to `attach` and
/// returns; it may be called while that stream is captured into a graph, and
/// then says nothing of the time at which the graph runs. `allocate` gives host
/// memory.
class DeviceRankContext : public RankContext {
public:
  /// The position of this rank's device among `devices` of the machine.
  virtual int64_t device(int64_t devices) const = 0;

  /// Once, before communicators are made, on a thread where the rank's context
  /// is current. Collectives go to `stream`. Allocates device memory for all
  /// entries of the ledger; `devices` is how many the machine has.
  virtual Status attach(const Manifest &manifest, CUstream_st *stream,
                        int64_t devices) = 0;

  /// Device memory for what collectives read and write, where the backend moves
  /// such memory better than other; the address. Lives as long as the world.
  virtual Expected<uint64_t> allocateOperands(int64_t bytes) = 0;

  /// At the end of every step, captured or not, before others wait for
  /// `stream`: all work of this world becomes work of that stream.
  virtual Status endStep() = 0;

  /// Waits until the stream has done all its work, or until the run fails: by
  /// another rank's failure (does not return then), by an error of the device,
  /// or because no collective began or ended for the time limit: the error
  /// names the ledger entry that this rank is in.
  virtual Status await(CUstream_st *stream) = 0;

  /// Gives every rank all ranks' bytes, in their order.
  virtual Expected<std::vector<std::string>>
  exchange(const std::string &bytes) = 0;

  /// Device memory that attach allocated; what NCCL takes for itself is not
  /// known.
  virtual int64_t deviceBytes() const = 0;
};

} // namespace tprt

#endif // TPRT_COLLECTIVES_DEVICERANKCONTEXT_H
