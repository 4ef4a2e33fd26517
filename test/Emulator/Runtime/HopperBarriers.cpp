//===- HopperBarriers.cpp - mbarriers and the proxy fence -----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A phase of an mbarrier ends when all arrivals and all bytes have come; those
// who wait for it then know what the arrivals knew. The state is kept here;
// shared memory holds a mark, by which overwriting is noticed.
//
//===----------------------------------------------------------------------===//

#include "Intrinsics.h"

using namespace tp::emulator;

static constexpr uint64_t mbarrierMark = 0x72656972726162FF;
static constexpr uint32_t mbarrierBytes = 8, maxArrivals = (1 << 20) - 1;
/// Bytes that a phase can wait for.
static constexpr int64_t maxBytes = (1 << 20) - 1;

void Launch::initMbarrier(const char *place, uint32_t count, Site site) {
  access(place, mbarrierBytes, mbarrierBytes, Access::Write, Space::Shared,
         site);
  if (count == 0 || count > maxArrivals)
    find("mbarrier of an impossible count", site, "%u, expected 1 to %u", count,
         maxArrivals);
  uint32_t offset = place - arena.base;
  auto found = hopper.mbarriers.find(offset);
  uint32_t party = found == hopper.mbarriers.end()
                       ? threads.size() + hopper.mbarriers.size()
                       : found->second.party;
  Mbarrier barrier;
  barrier.offset = offset;
  barrier.party = party;
  barrier.maker = self;
  barrier.madeAt = thread().time;
  barrier.count = barrier.missing = count;
  if (found != hopper.mbarriers.end()) {
    barrier.phase = found->second.phase; // times go up only
    find("mbarrier made twice", site, "at %s", nameShared(offset).c_str());
  }
  hopper.mbarriers[offset] = barrier;
  memcpy(arena.base + offset, &mbarrierMark, mbarrierBytes);
}

void Launch::showMbarriers() {
  for (auto &[offset, barrier] : hopper.mbarriers)
    if (barrier.maker == self)
      barrier.isShown = true;
}

Mbarrier &Launch::findMbarrier(const char *place, Site site) {
  uint64_t mark = 0;
  if (arena.contains(place, mbarrierBytes))
    memcpy(&mark, place, mbarrierBytes);
  auto found = hopper.mbarriers.find(place - arena.base);
  if (!arena.contains(place, mbarrierBytes) ||
      found == hopper.mbarriers.end()) {
    find("mbarrier used before tp_mbarrier_init", site, "at %s",
         nameShared(place - arena.base).c_str());
    giveUp();
  }
  Mbarrier &barrier = found->second;
  if (mark != mbarrierMark)
    find("mbarrier overwritten", site, "at %s",
         nameShared(barrier.offset).c_str());
  if (!isKnown(barrier.maker, barrier.madeAt))
    find("data race", site, "mbarrier at %s made by %s, no barrier between",
         nameShared(barrier.offset).c_str(), nameParty(barrier.maker).c_str());
  return barrier;
}

/// Ends the phase if nothing is missing.
void Launch::endPhase(Mbarrier &barrier) {
  if (barrier.missing != 0 || barrier.bytes != 0)
    return;
  ++barrier.phase;
  barrier.missing = barrier.count;
  barrier.arrived.happened.add(barrier.party, barrier.phase);
  barrier.ended = barrier.arrived.get();
  for (Thread &thread : threads)
    if (thread.state == Thread::Waiting && thread.waitsFor == &barrier)
      thread.state = Thread::Ready;
}

void Launch::arriveMbarrier(const char *place, int64_t bytes, Site site) {
  Mbarrier &barrier = findMbarrier(place, site);
  if (bytes < 0 || bytes + barrier.bytes > maxBytes)
    find("mbarrier expects too many bytes", site, "%lld, expected at most %lld",
         static_cast<long long>(bytes + barrier.bytes),
         static_cast<long long>(maxBytes));
  barrier.bytes += bytes;
  if (barrier.missing == 0) {
    find("more arrivals than the mbarrier counts", site,
         "at %s, which counts %u and waits for %lld bytes of phase %u",
         nameShared(barrier.offset).c_str(), barrier.count,
         static_cast<long long>(barrier.bytes), barrier.phase);
    return;
  }
  barrier.arrived.add(thread().known);
  barrier.arrived.happened.add(self, thread().time);
  ++thread().time; // what follows is not passed on
  if (--barrier.missing == 0 && barrier.bytes < 0) {
    find("more bytes than the mbarrier expects", site, "%lld more at %s",
         static_cast<long long>(-barrier.bytes),
         nameShared(barrier.offset).c_str());
    barrier.bytes = 0;
  }
  endPhase(barrier);
}

void Launch::waitMbarrier(const char *place, uint32_t parity, Site site) {
  Mbarrier &barrier = findMbarrier(place, site);
  if (parity > 1)
    find("parity of an mbarrier's phase", site, "%u, expected 0 or 1", parity);
  // A phase can end and the next one too before the thread looks again.
  while (barrier.phase % 2 == parity % 2) {
    thread().waitsFor = &barrier;
    waitAt(site);
    thread().waitsFor = nullptr;
  }
  Knowledge &known = thread().known;
  KnowledgeSum sum;
  sum.add(barrier.ended);
  sum.add(known);
  known = sum.get();
}

/// Names what is missing where thread `index` waits.
std::string Launch::describeWait(uint32_t index) const {
  const Thread &thread = threads[index];
  const Mbarrier *barrier = thread.waitsFor;
  uint32_t group = index / warpgroupSize;
  if (group < hopper.meetings.size()) {
    const WarpgroupMeeting &meeting = hopper.meetings[group];
    if (meeting.present != 0 && meeting.site == thread.waitsAt)
      return ", where " + std::to_string(meeting.present) +
             " of 128 threads of warpgroup " + std::to_string(group) +
             " have come";
  }
  if (thread.waitsForRegisters)
    return ", where other warpgroups have not given registers";
  if (!barrier)
    return "";
  return ", where phase " + std::to_string(barrier->phase) +
         " of the mbarrier at " + nameShared(barrier->offset) + " lacks " +
         std::to_string(barrier->missing) + " of " +
         std::to_string(barrier->count) + " arrivals and " +
         std::to_string(barrier->bytes) + " bytes";
}

void Launch::fenceProxy() {
  Thread &own = thread();
  KnowledgeSum sum;
  sum.add(own.known);
  sum.happened.add(self, own.time);
  own.known.fenced = sum.happened.get();
  ++own.time; // what follows is not fenced
}

TP_EMULATE(tp_mbarrier_init) {
  current->initMbarrier(get<char *>(in[0]), get<uint32_t>(in[1]), site);
}
TP_EMULATE(tp_mbarrier_init_fence) { current->showMbarriers(); }
TP_EMULATE(tp_mbarrier_arrive) {
  current->arriveMbarrier(get<char *>(in[0]), 0, site);
}
TP_EMULATE(tp_mbarrier_expect) {
  current->arriveMbarrier(get<char *>(in[0]), get<int32_t>(in[1]), site);
}
TP_EMULATE(tp_mbarrier_wait) {
  current->waitMbarrier(get<char *>(in[0]), get<uint32_t>(in[1]), site);
}
TP_EMULATE(tp_proxy_fence) { current->fenceProxy(); }

TP_EMULATE(tp_named_sync) {
  current->barrier(get<uint32_t>(in[0]), get<uint32_t>(in[1]), /*aligned=*/true,
                   /*waits=*/true, site);
}
TP_EMULATE(tp_named_arrive) {
  current->barrier(get<uint32_t>(in[0]), get<uint32_t>(in[1]), /*aligned=*/true,
                   /*waits=*/false, site);
}
