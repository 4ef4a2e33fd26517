//===- Sync.cpp - Barriers and operations of a warp -----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads wait where the program says so until all that are expected have
// come. Barriers and bar.warp.sync pass on what their threads know; shuffles,
// votes and mma do not order memory.
//
//===----------------------------------------------------------------------===//

#include "Launch.h"
#include <algorithm>
#include <bit>

using namespace tp::emulator;

uint32_t Launch::liveLanes(uint32_t warp) const {
  uint32_t lanes = 0;
  for (uint32_t i = 0; i < warpSize && warp * warpSize + i < threads.size();
       ++i)
    if (threads[warp * warpSize + i].state != Thread::Done)
      lanes |= 1u << i;
  return lanes;
}

uint32_t Launch::liveThreads() const {
  return std::count_if(
      threads.begin(), threads.end(),
      [](const Thread &thread) { return thread.state != Thread::Done; });
}

void Launch::meet(const char *operation, uint32_t mask, uint64_t *in,
                  uint64_t *out, Site site, bool aligned, Evaluate evaluate) {
  uint32_t bit = 1u << lane();
  if (!(mask & bit)) {
    find("warp operation by a lane that its mask leaves out", site,
         "mask 0x%08x, lane %u", mask, lane());
    giveUp();
  }
  std::vector<Meeting> &list = meetings[warp()];
  auto found = std::find_if(list.begin(), list.end(), [&](Meeting &meeting) {
    return meeting.operation == operation && meeting.mask == mask;
  });
  if (found == list.end()) {
    Meeting &fresh = list.emplace_back();
    fresh.operation = operation;
    fresh.mask = mask;
    found = std::prev(list.end());
  } else if (aligned && found->present != 0) {
    uint32_t other = warp() * warpSize + std::countr_zero(found->present);
    if (threads[other].waitsAt != site)
      find("divergent warp operation", site,
           "another lane waits for it at [%s]", threads[other].waitsAt);
  }
  found->present |= bit;
  found->in[lane()] = in;
  found->out[lane()] = out;
  if (found->present != (mask & liveLanes(warp())))
    return waitAt(site);
  if (found->present != mask)
    find("warp operation with lanes missing", site,
         "mask 0x%08x, present 0x%08x", mask, found->present);
  // The result of an operation of the whole warp is then undefined.
  bool complete = !aligned || found->present == ~0u;
  for (uint32_t lanes = complete ? found->present : 0; lanes;
       lanes &= lanes - 1)
    evaluate(*this, *found, std::countr_zero(lanes), site);
  for (uint32_t lanes = found->present & ~bit; lanes; lanes &= lanes - 1)
    threads[warp() * warpSize + std::countr_zero(lanes)].state = Thread::Ready;
  found->present = 0;
}

/// The sum of what `members` know and did themselves.
static Knowledge join(const std::vector<Barrier::Arrival> &members) {
  KnowledgeSum sum;
  for (const Barrier::Arrival &member : members) {
    sum.add(member.known);
    sum.happened.add(member.thread, member.time);
  }
  return sum.get();
}

void Launch::orderLanes(uint32_t lanes) {
  std::vector<Barrier::Arrival> members;
  for (; lanes; lanes &= lanes - 1) {
    uint32_t index = warp() * warpSize + std::countr_zero(lanes);
    members.push_back(
        {index, true, nullptr, threads[index].time, threads[index].known});
  }
  Knowledge joined = join(members);
  for (const Barrier::Arrival &member : members) {
    threads[member.thread].known = joined;
    ++threads[member.thread].time;
  }
}

void Launch::release(Barrier &barrier, bool whole) {
  Knowledge joined = join(barrier.arrivals);
  for (const Barrier::Arrival &arrival : barrier.arrivals) {
    if (!arrival.waits)
      continue;
    threads[arrival.thread].known = joined;
    ++threads[arrival.thread].time;
    if (arrival.thread != self || whole)
      threads[arrival.thread].state = Thread::Ready;
  }
  barrier.arrivals.clear();
}

void Launch::barrier(uint32_t id, uint32_t count, bool aligned, bool waits,
                     Site site) {
  if (id >= std::size(barriers)) {
    find("no such barrier", site, "number %u, expected 0 to 15", id);
    giveUp();
  }
  if (count % warpSize && count != threads.size())
    find("barrier for a part of a warp", site,
         "count %u, expected a multiple of 32", count);
  Barrier &barrier = barriers[id];
  if (!barrier.arrivals.empty() && barrier.count != count)
    find("barrier with two counts", site, "%u here, %u before", count,
         barrier.count);
  barrier.count = count;
  for (const Barrier::Arrival &arrival : barrier.arrivals) {
    if (arrival.thread == self)
      find("barrier reached again before it was complete", site, "number %u",
           id);
    else if (aligned && arrival.thread / warpSize == warp() &&
             arrival.site != site)
      find("divergent barrier", site, "thread %u of the same warp is at [%s]",
           arrival.thread, arrival.site);
  }
  barrier.arrivals.push_back(
      {self, waits, site, thread().time, thread().known});
  if (!waits)
    ++thread().time; // what follows is not passed on
  uint32_t expected = count ? count : liveThreads();
  if (barrier.arrivals.size() < expected) {
    if (waits)
      waitAt(site);
    return;
  }
  if (!count && expected != threads.size())
    find("barrier after some threads have exited", site, "%u of %zu left",
         expected, threads.size());
  release(barrier, false);
}
