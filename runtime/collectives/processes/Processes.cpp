//===- Processes.cpp - ranks that are processes of one host ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups and buffers in the shared memory; everything else is the side channel.
//
//===----------------------------------------------------------------------===//

#include "Processes.h"

#include "../../support/Cores.h"
#include "../BackendTable.h"
#include "Rendezvous.h"

#include <cstring>
#include <sys/mman.h>

using namespace tprt;

/// MADV_COLLAPSE, since Linux 6.1: huge pages also where the system gives none
/// to shared memory by itself. With small ones, sums of large buffers take up
/// to twice as long as over threads.
constexpr int kCollapse = 25;

ProcessBackend::ProcessBackend(Segment shared, const ProcessInfo &process,
                               const SideChannel::Options &options)
    : side(std::move(shared), process, options), segment(side.memory()) {
  ranks = segment.ranks();
  timeout = options.timeoutSeconds;
  describe = options.describe;
  crowded = ranks > availableCores();
  oneProcess = false;
  base = segment.base();
  extent = segment.size();
  positions = segment.positions();
  aborted = &segment.aborted();
}

Expected<SharedGroup *>
ProcessBackend::group(const std::vector<int64_t> &members) {
  std::lock_guard lock(mutex);
  auto &slot = groups[members];
  if (!slot) {
    auto [state, slots] = segment.group(members);
    TPRT_TRY(failure()); // who made the group may be lost in the middle of it
    if (!state)
      return userError("the program has more groups of ranks than backend "
                       "'processes' has room for");
    slot = std::make_unique<SharedGroup>(*this, members, *state, slots);
  }
  return slot.get();
}

Expected<Buffer> ProcessBackend::allocate(int64_t rank, int64_t bytes) {
  constexpr int64_t kHugePage = int64_t(2) << 20;
  if (bytes == 0)
    return Buffer();
  int64_t page = bytes >= 2 * kHugePage ? kHugePage : 4096;
  int64_t begin = alignUp(used, page), size = alignUp(bytes, page);
  if (begin + size > segment.regionBytes())
    return internalError("rank ", rank, " needs more shared memory than the ",
                         segment.regionBytes(), " bytes planned");
  used = begin + size;
  char *data = segment.region(rank) + begin;
  if (page == kHugePage) {
    madvise(data, size, MADV_HUGEPAGE);
    madvise(data, size, kCollapse);
  }
  return Buffer::borrow(data, size);
}

Expected<Backend::Gathered> ProcessBackend::gather(const void *data,
                                                   int64_t bytes) {
  // Buffers of this memory stay readable after their process has ended.
  uint64_t offset = uint64_t(static_cast<const char *>(data) - base);
  TPRT_ASSIGN(auto all,
              side.exchange(std::string(reinterpret_cast<char *>(&offset), 8)));
  Gathered result;
  for (const std::string &text : all) {
    std::memcpy(&offset, text.data(), 8);
    result.data.push_back(base + offset);
  }
  return result;
}

namespace tprt {
Expected<std::unique_ptr<Backend>>
connectProcesses(const BackendOptions &options) {
  const ProcessInfo &process = *options.process;
  if (!process.oneHost())
    return userError("backend 'processes' needs all ranks on one host: ",
                     process.hosts, "; put them on one host");
  TPRT_ASSIGN(auto segment, rendezvous(process, options.sharedBytes,
                                       options.waits.timeoutSeconds));
  return std::unique_ptr<Backend>(std::make_unique<ProcessBackend>(
      std::move(segment), process, options.waits));
}
} // namespace tprt
