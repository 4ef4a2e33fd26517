//===- Collective.cpp - collectives between processes ---------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums are NCCL's ring: the partial sum of a piece begins behind the rank where
// it ends and passes all others, in the type of the data, so that narrow floats
// are rounded after every addition. Each piece is summed in one order, and all
// ranks get the same bits.
//
//===----------------------------------------------------------------------===//

#include "Collective.h"
#include "Gemm.h"
#include "Memory.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace fake;

const char *fake::nameOf(Operation operation) {
  switch (operation) {
  case Operation::AllReduce:
    return "ncclAllReduce";
  case Operation::AllGather:
    return "ncclAllGather";
  case Operation::ReduceScatter:
    return "ncclReduceScatter";
  case Operation::Send:
    return "ncclSend";
  case Operation::Receive:
    return "ncclRecv";
  }
  return "";
}

size_t fake::bytesOf(ncclDataType_t type) {
  switch (type) {
  case ncclInt8:
  case ncclUint8:
    return 1;
  case ncclFloat16:
  case ncclBfloat16:
    return 2;
  case ncclInt32:
  case ncclUint32:
  case ncclFloat32:
    return 4;
  case ncclInt64:
  case ncclUint64:
  case ncclFloat64:
    return 8;
  default:
    return 0;
  }
}

size_t Call::fromBytes(int ranks) const {
  size_t bytes = count * bytesOf(type);
  return operation == Operation::Receive         ? 0
         : operation == Operation::ReduceScatter ? bytes * size_t(ranks)
                                                 : bytes;
}

size_t Call::toBytes(int ranks) const {
  size_t bytes = count * bytesOf(type);
  return operation == Operation::Send        ? 0
         : operation == Operation::AllGather ? bytes * size_t(ranks)
                                             : bytes;
}

void Communicator::poll() {
  if (state != ncclInProgress)
    return;
  Shared &shared = segment->shared();
  for (int r = 0; r < ranks; ++r)
    if (!shared.members[r].arrived.load(std::memory_order_acquire))
      return;
  state = ncclSuccess;
  // Two ranks on one device of one host.
  for (int a = 0; a < ranks; ++a)
    for (int b = 0; b < a; ++b)
      if (!std::strcmp(shared.members[a].host, shared.members[b].host) &&
          !std::strcmp(shared.members[a].device, shared.members[b].device)) {
        error = "Duplicate GPU detected : rank " + std::to_string(b) +
                " and rank " + std::to_string(a) + " both on CUDA device " +
                shared.members[a].device;
        state = ncclInvalidUsage;
      }
}

namespace {

template <typename T>
T combine(ncclRedOp_t reduction, T a, T b) {
  switch (reduction) {
  case ncclProd:
    return T(a * b);
  case ncclMax:
    return a > b || a != a ? a : b;
  case ncclMin:
    return a < b || a != a ? a : b;
  default:
    return T(a + b);
  }
}

template <typename T>
void reduce(ncclRedOp_t reduction, char *to, const char *from, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    T a, b;
    std::memcpy(&a, to + i * sizeof(T), sizeof(T));
    std::memcpy(&b, from + i * sizeof(T), sizeof(T));
    a = combine(reduction, a, b);
    std::memcpy(to + i * sizeof(T), &a, sizeof(T));
  }
}

void reduceNarrow(Float type, ncclRedOp_t reduction, char *to, const char *from,
                  size_t count) {
  for (size_t i = 0; i < count; ++i)
    storeFloat(type, to, int64_t(i),
               combine(reduction, loadFloat(type, to, int64_t(i)),
                       loadFloat(type, from, int64_t(i))));
}

void reduceInto(ncclDataType_t type, ncclRedOp_t reduction, char *to,
                const char *from, size_t count) {
  switch (type) {
  case ncclInt8:
    return reduce<int8_t>(reduction, to, from, count);
  case ncclUint8:
    return reduce<uint8_t>(reduction, to, from, count);
  case ncclInt32:
    return reduce<int32_t>(reduction, to, from, count);
  case ncclUint32:
    return reduce<uint32_t>(reduction, to, from, count);
  case ncclInt64:
    return reduce<int64_t>(reduction, to, from, count);
  case ncclUint64:
    return reduce<uint64_t>(reduction, to, from, count);
  case ncclFloat32:
    return reduce<float>(reduction, to, from, count);
  case ncclFloat64:
    return reduce<double>(reduction, to, from, count);
  case ncclFloat16:
    return reduceNarrow(Float::F16, reduction, to, from, count);
  case ncclBfloat16:
    return reduceNarrow(Float::BF16, reduction, to, from, count);
  default:
    return;
  }
}

/// A call under way.
struct Flight {
  Call call;
  uint64_t sequence;
  int stage = 0;
};

class LaunchedCalls {
public:
  LaunchedCalls(CommunicatorRef communicator, const std::vector<Call> &calls)
      : c_(std::move(communicator)), ticket_(c_->nextTicket++) {
    for (const Call &call : calls) {
      uint64_t &next =
          call.operation == Operation::Send      ? c_->nextSend[call.peer]
          : call.operation == Operation::Receive ? c_->nextReceive[call.peer]
                                                 : c_->nextCollective;
      flights_.push_back({call, ++next});
    }
  }

  Step operator()() {
    if (c_->aborted)
      return Step::Done;
    if (c_->serving != ticket_)
      return Step::Waiting;
    bool done = true;
    for (Flight &flight : flights_)
      done &= advance(flight);
    if (!done)
      return Step::Waiting;
    ++c_->serving;
    return Step::Done;
  }

private:
  bool advance(Flight &f) {
    if (f.stage == 2)
      return true;
    bool moved = f.call.operation == Operation::Send      ? send(f)
                 : f.call.operation == Operation::Receive ? receive(f)
                                                          : collective(f);
    if (moved)
      f.stage = 2;
    return moved;
  }

  bool accessible(const Call &call) {
    size_t from = call.fromBytes(c_->ranks), to = call.toBytes(c_->ranks);
    for (auto [data, bytes] : {std::pair<const void *, size_t>(call.from, from),
                               std::pair<const void *, size_t>(call.to, to)})
      if (bytes && !onDevice(data, bytes)) {
        Scheduler::get().fail(CUDA_ERROR_ILLEGAL_ADDRESS,
                              std::to_string(bytes) + " bytes of " +
                                  nameOf(call.operation) + " at " +
                                  describe(data));
        return false;
      }
    openMemory();
    return true;
  }

  bool send(Flight &f) {
    Mailbox &box = c_->segment->shared().mail[c_->rank][f.call.peer];
    if (f.stage == 0) {
      if (box.consumed.load(std::memory_order_acquire) != f.sequence - 1)
        return false;
      if (!accessible(f.call))
        return true;
      size_t bytes = f.call.fromBytes(c_->ranks);
      std::memcpy(c_->segment->mail(c_->rank, f.call.peer), f.call.from, bytes);
      box.bytes = bytes;
      box.posted.store(f.sequence, std::memory_order_release);
      f.stage = 1;
    }
    return box.consumed.load(std::memory_order_acquire) == f.sequence;
  }

  bool receive(Flight &f) {
    Mailbox &box = c_->segment->shared().mail[f.call.peer][c_->rank];
    if (box.posted.load(std::memory_order_acquire) != f.sequence)
      return false;
    size_t bytes = f.call.toBytes(c_->ranks);
    if (box.bytes != bytes)
      mismatch("rank " + std::to_string(f.call.peer) + " sent " +
               std::to_string(box.bytes) + " bytes, " + std::to_string(bytes) +
               " were expected");
    else if (accessible(f.call))
      std::memcpy(f.call.to, c_->segment->mail(f.call.peer, c_->rank), bytes);
    box.consumed.store(f.sequence, std::memory_order_release);
    return true;
  }

  void mismatch(const std::string &what) {
    c_->error = what;
    c_->state = ncclInvalidUsage;
    std::fprintf(stderr, "fake-cuda: rank %d: %s\n", c_->rank, what.c_str());
  }

  bool everybody(std::atomic<uint64_t> Member::*counter, uint64_t value) {
    for (int r = 0; r < c_->ranks; ++r)
      if ((c_->segment->shared().members[r].*counter)
              .load(std::memory_order_acquire) < value)
        return false;
    return true;
  }

  Signature signatureOf(const Call &call) {
    return {int32_t(call.operation), int32_t(call.type),
            call.operation == Operation::AllReduce ||
                    call.operation == Operation::ReduceScatter
                ? int32_t(call.reduction)
                : 0,
            call.peer, call.count};
  }

  bool collective(Flight &f) {
    Shared &shared = c_->segment->shared();
    Member &self = shared.members[c_->rank];
    uint64_t sequence = f.sequence;
    if (f.stage == 0) {
      if (sequence > 2 && !everybody(&Member::done, sequence - 2))
        return false;
      // In this communicator's own order.
      if (self.published.load(std::memory_order_relaxed) != sequence - 1)
        return false;
      if (!accessible(f.call))
        return true;
      std::memcpy(c_->segment->slot(c_->rank, sequence), f.call.from,
                  f.call.fromBytes(c_->ranks));
      self.signature[sequence % 2] = signatureOf(f.call);
      self.published.store(sequence, std::memory_order_release);
      f.stage = 1;
    }
    if (!everybody(&Member::published, sequence))
      return false;
    finish(f.call, sequence);
    self.done.store(sequence, std::memory_order_release);
    return true;
  }

  void finish(const Call &call, uint64_t sequence) {
    Signature own = signatureOf(call);
    for (int r = 0; r < c_->ranks; ++r) {
      const Signature &other =
          c_->segment->shared().members[r].signature[sequence % 2];
      if (std::memcmp(&own, &other, sizeof(own)) == 0)
        continue;
      mismatch(std::string(nameOf(call.operation)) + " of " +
               std::to_string(call.count) + " elements met " +
               nameOf(Operation(other.kind)) + " of " +
               std::to_string(other.count) + " on rank " + std::to_string(r));
      return;
    }
    if (!accessible(call))
      return;
    auto *to = static_cast<char *>(call.to);
    size_t bytes = call.count * bytesOf(call.type);
    auto slot = [&](int r) { return c_->segment->slot(r, sequence); };
    switch (call.operation) {
    case Operation::AllGather:
      for (int r = 0; r < c_->ranks; ++r)
        std::memcpy(to + size_t(r) * bytes, slot(r), bytes);
      break;
    case Operation::ReduceScatter:
      sumAlongRing(call, sequence, to, size_t(c_->rank) * bytes, call.count,
                   c_->rank);
      break;
    default:
      allReduce(call, sequence, to);
      break;
    }
  }

  /// Rank c gets the sum of piece c, the others get it from there. Pieces are
  /// multiples of 16 bytes, of at most 2 MiB.
  void allReduce(const Call &call, uint64_t sequence, char *to) {
    constexpr size_t kMostBytes = 2 << 20, kUnit = 16;
    size_t element = bytesOf(call.type), ranks = size_t(c_->ranks);
    size_t unit = kUnit / element;
    for (size_t at = 0; at < call.count;) {
      size_t piece = (call.count - at + ranks - 1) / ranks;
      piece = std::min((piece + unit - 1) / unit * unit, kMostBytes / element);
      for (int r = 0; r < c_->ranks && at < call.count; ++r) {
        size_t count = std::min(piece, call.count - at);
        sumAlongRing(call, sequence, to + at * element, at * element, count, r);
        at += count;
      }
    }
  }

  /// `count` elements at `offset` bytes of every rank's data, those of `last`
  /// last.
  void sumAlongRing(const Call &call, uint64_t sequence, char *to,
                    size_t offset, size_t count, int last) {
    auto dataOf = [&](int hop) {
      return c_->segment->slot((last + 1 + hop) % c_->ranks, sequence) + offset;
    };
    std::memcpy(to, dataOf(0), count * bytesOf(call.type));
    for (int hop = 1; hop < c_->ranks; ++hop)
      reduceInto(call.type, call.reduction, to, dataOf(hop), count);
  }

  CommunicatorRef c_;
  uint64_t ticket_;
  std::vector<Flight> flights_;
};

} // namespace

Work fake::launch(const CommunicatorRef &communicator,
                  const std::vector<Call> &calls) {
  return LaunchedCalls(communicator, calls);
}
