//===- Memory.cpp - Checks of every access --------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bounds, alignment, what nobody wrote, races. Two accesses race if one is a
// write (not both atomic) and neither is known to the other's thread: within a
// block by the clocks that barriers pass on, between blocks never.
//
//===----------------------------------------------------------------------===//

#include "Launch.h"
#include <algorithm>
#include <bit>
#include <cstring>

using namespace tp::emulator;

const char *Launch::sharedName(size_t offset) const {
  for (uint32_t i = 0; i < kernel.sharedCount; ++i) {
    const SharedVariable &variable = kernel.shared[i];
    uint32_t size = variable.size ? variable.size : dynamicBytes;
    if (offset >= variable.offset && offset - variable.offset < size)
      return variable.name;
  }
  return nullptr;
}

Region *Launch::findRegion(const char *address, uint32_t bytes, Space space,
                           Site site) {
  if (address >= arena.base && address < arena.base + arena.bytes) {
    size_t offset = address - arena.base;
    const char *name = sharedName(offset);
    if (!name || sharedName(offset + bytes - 1) != name)
      find("shared memory out of bounds", site, "%u bytes at offset %zu, %s%s",
           bytes, offset, name ? "at the end of @" : "outside of any variable",
           name ? name : "");
    if (arena.contains(address, bytes))
      return &arena;
    giveUp();
  }
  if (space == Space::Shared) {
    find("shared memory out of bounds", site, "%u bytes at offset %td", bytes,
         address - arena.base);
    giveUp();
  }
  if (lastGlobal < globals.size() &&
      globals[lastGlobal].contains(address, bytes))
    return &globals[lastGlobal];
  auto above = std::upper_bound(globals.begin(), globals.end(), address,
                                [](const char *address, const Region &region) {
                                  return address < region.base;
                                });
  if (above != globals.begin() && std::prev(above)->contains(address, bytes)) {
    lastGlobal = std::prev(above) - globals.begin();
    return &globals[lastGlobal];
  }
  // The range that it would have belonged to: the one below, if any.
  if (above != globals.begin()) {
    const Region &below = *std::prev(above);
    find("global memory out of bounds", site,
         "%u bytes at offset %td of an allocation of %zu bytes", bytes,
         address - below.base, below.bytes);
  } else {
    find("global memory out of bounds", site, "%u bytes at %p", bytes,
         static_cast<const void *>(address));
  }
  giveUp();
}

bool Launch::isKnown(uint32_t party, uint32_t time) const {
  return party == self || covers(threads[self].known.happened, party, time);
}

/// A thread of the block that read the byte and whose reading is not known to
/// the present thread, or -1.
int32_t Launch::unorderedReader(const Cell &cell) const {
  auto search = [&](const Readers &readers) -> int32_t {
    for (uint32_t lanes = readers.lanes; lanes; lanes &= lanes - 1) {
      uint32_t reader = readers.warp * warpSize + std::countr_zero(lanes);
      if (!isKnown(reader, readers.clock))
        return reader;
    }
    return -1;
  };
  int32_t found = search(cell.readers);
  if (cell.more)
    for (const Readers &readers : moreReaders[cell.more - 1]) {
      if (found >= 0)
        break;
      found = search(readers);
    }
  return found;
}

void Launch::separateReaders(Cell &cell) {
  if (!cell.more)
    return;
  if (cell.readBlock != blockNumber) {
    cell.more = 0; // the lists are the block's
    return;
  }
  moreReaders.push_back(moreReaders[cell.more - 1]);
  cell.more = moreReaders.size();
}

void Launch::noteRead(Cell &cell) {
  uint32_t time = threads[self].time;
  uint32_t bit = 1u << lane();
  if (cell.readBlock != blockNumber)
    cell.more = 0; // the lists are the block's
  if (cell.readBlock != blockNumber || unorderedReader(cell) < 0) {
    // All earlier reads happened before this one: it stands for them.
    cell.readByOthers |= cell.readBlock != 0 && cell.readBlock != blockNumber;
    cell.readBlock = blockNumber;
    cell.readers = {time, bit, warp()};
    if (cell.more)
      moreReaders[cell.more - 1].clear();
    return;
  }
  auto join = [&](Readers &readers) {
    bool same = readers.warp == warp() && readers.clock == time;
    if (same)
      readers.lanes |= bit;
    return same;
  };
  if (join(cell.readers))
    return;
  if (!cell.more) {
    moreReaders.emplace_back();
    cell.more = moreReaders.size();
  }
  auto &list = moreReaders[cell.more - 1];
  if (std::none_of(list.begin(), list.end(), join))
    list.push_back({time, bit, warp()});
}

std::string Launch::nameParty(uint32_t party) const {
  if (party < threads.size())
    return "thread " + std::to_string(party) + " of the block";
  for (const auto &[offset, barrier] : hopper.mbarriers)
    if (barrier.party == party)
      return "a copy that the mbarrier at " + nameShared(offset) + " counts";
  return "a copy";
}

std::string Launch::nameShared(size_t offset) const {
  const char *name = sharedName(offset);
  for (uint32_t i = 0; name && i < kernel.sharedCount; ++i)
    if (kernel.shared[i].name == name)
      return "byte " + std::to_string(offset - kernel.shared[i].offset) +
             " of @" + name;
  return "byte " + std::to_string(offset) + " of shared memory";
}

void Launch::checkWrites(Cell &cell, const Region &region, Access kind,
                         Site site) {
  if (cell.writeBlock == 0)
    return;
  bool isShared = &region == &arena;
  const char *memory = isShared ? "shared" : "global";
  if (cell.writeBlock != blockNumber) {
    // Shared memory of an earlier block is no more.
    if (!isShared && !(kind == Access::Atomic && cell.writeIsAtomic))
      find("data race between blocks", site,
           "%s memory written by block number %u", memory, cell.writeBlock - 1);
    return;
  }
  if (!isKnown(cell.writeThread, cell.writeClock) &&
      !(kind == Access::Atomic && cell.writeIsAtomic))
    find("data race", site, "%s memory written by %s, no barrier between",
         memory, nameParty(cell.writeThread).c_str());
}

void Launch::access(const void *pointer, uint32_t bytes, uint32_t alignment,
                    Access kind, Space space, Site site) {
  if (!isChecked() || bytes == 0)
    return;
  if (over)
    giveUp();
  if (++accesses == accessLimit) {
    find("too many accesses", site, "%llu, the limit that was set",
         static_cast<unsigned long long>(accessLimit));
    giveUp();
  }
  const char *address = static_cast<const char *>(pointer);
  if (space == Space::Any && stacks->contains(self, address, bytes))
    return accessRegisters(address, bytes, kind, site);
  Region &region = *findRegion(address, bytes, space, site);
  bool isShared = &region == &arena;
  if (reinterpret_cast<uintptr_t>(address) % alignment)
    find("misaligned access", site, "%u bytes at %p, expected alignment %u",
         bytes, pointer, alignment);

  size_t first = address - region.base;
  if (isShared && kind != Access::Read)
    checkOperandReads(first, bytes, site);
  forEachCell(region, first, bytes, [&](Cell &cell, size_t offset) {
    bool here = cell.writeBlock == blockNumber;
    if (cell.inFlight && here)
      find("asynchronous copy not waited for", site,
           cell.writeThread < threads.size()
               ? "its target is used before cp.async.wait"
               : "its target is used before the wait for its mbarrier");
    if (isShared && !here && (kind == Access::Read || kind == Access::Atomic)) {
      const char *name = sharedName(offset);
      find("uninitialised shared memory", site, "byte %zu of @%s", offset,
           name ? name : "?");
    }
    checkWrites(cell, region, kind, site);
    if (kind == Access::Read)
      return noteRead(cell);
    if (cell.readBlock == blockNumber) {
      if (int32_t reader = unorderedReader(cell); reader >= 0)
        find("data race", site, "%s memory read by %s, no barrier between",
             isShared ? "shared" : "global", nameParty(reader).c_str());
    }
    if (!isShared && cell.readBlock != 0 &&
        (cell.readBlock != blockNumber || cell.readByOthers))
      find("data race between blocks", site,
           "global memory read by block number %u", cell.readBlock - 1);
    cell.writeBlock = blockNumber;
    cell.writeThread = self;
    cell.writeClock = threads[self].time;
    cell.writeIsAtomic = kind == Access::Atomic;
    cell.inFlight = kind == Access::AsyncWrite;
  });
}

void Launch::copyAsync(void *target, const void *source, uint32_t bytes,
                       uint32_t copied, Site site) {
  access(target, bytes, bytes, Access::AsyncWrite, Space::Shared, site);
  access(source, copied, bytes, Access::Read, Space::Any, site);
  thread().open.push_back({static_cast<char *>(target),
                           static_cast<const char *>(source), bytes, copied,
                           site});
}

void Launch::complete(std::vector<AsyncCopy> &copies) {
  for (AsyncCopy &copy : copies) {
    if (isChecked()) {
      forEachCell(arena, copy.target - arena.base, copy.bytes,
                  [](Cell &cell, size_t) { cell.inFlight = false; });
      access(copy.source, copy.copied, copy.bytes, Access::Read, Space::Any,
             copy.site);
      access(copy.target, copy.bytes, copy.bytes, Access::Write, Space::Shared,
             copy.site);
    }
    memcpy(copy.target, copy.source, copy.copied);
    memset(copy.target + copy.copied, 0, copy.bytes - copy.copied);
  }
}

void Launch::commitCopies() {
  thread().committed.push_back(std::move(thread().open));
  thread().open.clear();
}

void Launch::waitCopies(uint32_t pending) {
  while (thread().committed.size() > pending) {
    complete(thread().committed.front());
    thread().committed.pop_front();
  }
}

void Launch::waitAllCopies() {
  waitCopies(0);
  complete(thread().open);
  thread().open.clear();
}
