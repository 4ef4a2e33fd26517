//===- HopperCopies.cpp - Copies of boxes by the copy engine --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cp.async.bulk.tensor. A copy takes effect when no thread can go on without
// it, or with a seed at any time before. From its beginning on its target
// counts as being written, by the mbarrier that counts its bytes, until a
// thread has waited for that.
//
//===----------------------------------------------------------------------===//

#include "Intrinsics.h"

using namespace tp::emulator;

static constexpr uint32_t panelAlignment = 1024;

/// Calls visit(offset of the chunk in shared memory, coordinates of its first
/// element in the tensor) for each chunk of the box.
template <typename Visit>
static void forEachChunk(const BoxCopy &copy, Visit visit) {
  uint32_t chunks = copy.rowBytes() / chunkBytes;
  for (uint32_t row = 0; row < copy.rows(); ++row) {
    int64_t at[TensorMap::maxRank];
    for (uint32_t i = 1, rest = row; i < copy.map.rank; ++i) {
      at[i] = int64_t(copy.at[i]) + rest % copy.map.box[i];
      rest /= copy.map.box[i];
    }
    for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
      at[0] = int64_t(copy.at[0]) + chunk * (chunkBytes / elementBytes);
      uint32_t offset =
          copy.target + row * copy.rowBytes() + chunk * chunkBytes;
      visit(swizzle(offset), at);
    }
  }
}

/// The elements of a chunk that are in the tensor: from `first` on, `count`.
/// Returns the address of the first.
static const char *findElements(const TensorMap &map, const int64_t *at,
                                int64_t &first, int64_t &count) {
  constexpr int64_t most = chunkBytes / elementBytes;
  first = std::clamp<int64_t>(-at[0], 0, most);
  count = std::clamp<int64_t>(map.size[0] - at[0], first, most) - first;
  const char *from = map.base + (at[0] + first) * elementBytes;
  for (uint32_t i = 1; i < map.rank; ++i) {
    if (at[i] < 0 || at[i] >= map.size[i])
      count = 0;
    from += at[i] * map.stride[i];
  }
  return from;
}

/// Checks what the copy engine asks of map and target.
void Launch::checkBox(const BoxCopy &copy, uint32_t rank, Site site) {
  const char *kind = "copy of a box that cannot be";
  const TensorMap &map = copy.map;
  auto refuse = [&](uint32_t dimension, const char *what, int64_t value,
                    const char *expected) {
    find(kind, site, "dimension %u: %s %lld, expected %s", dimension, what,
         static_cast<long long>(value), expected);
    giveUp();
  };
  if (rank != map.rank || map.described != (1u << map.rank) - 1) {
    find(kind, site, "of rank %u, map of rank %u, dimensions described 0x%x",
         rank, map.rank, map.described);
    giveUp();
  }
  for (uint32_t i = 0; i < map.rank; ++i) {
    if (map.size[i] <= 0)
      refuse(i, "size", map.size[i], "at least 1");
    if (map.box[i] < 1 || map.box[i] > 256)
      refuse(i, "box", map.box[i], "1 to 256");
    if (i > 0 && (map.stride[i] % 16 || map.stride[i] < 0 ||
                  map.stride[i] >= int64_t(1) << 40))
      refuse(i, "stride", map.stride[i],
             "a multiple of 16 bytes from 0 to 2^40");
  }
  if (copy.rowBytes() % chunkBytes || copy.rowBytes() > 128)
    refuse(0, "bytes of the box", copy.rowBytes(),
           "a multiple of 16 up to 128, the span of the swizzle");
  if (copy.target + copy.bytes() > arena.bytes) {
    find("shared memory out of bounds", site, "a box of %llu bytes at %s",
         static_cast<unsigned long long>(copy.bytes()),
         nameShared(copy.target).c_str());
    giveUp();
  }
  if (reinterpret_cast<uintptr_t>(map.base) % 16)
    find("misaligned access", site,
         "tensor at %p, expected alignment 16 for the copy engine",
         static_cast<const void *>(map.base));
  if (copy.target % panelAlignment)
    find("misaligned access", site,
         "box at %s, offset %u, expected a multiple of %u",
         nameShared(copy.target).c_str(), copy.target, panelAlignment);
  if (!copy.barrier->isShown)
    find("no tp_mbarrier_init_fence", site,
         "the mbarrier at %s is not shown to the copy engine",
         nameShared(copy.barrier->offset).c_str());
}

/// Checks and notes that the copy reads the tensor.
void Launch::readBox(const BoxCopy &copy, Site site) {
  forEachChunk(copy, [&](uint32_t, const int64_t *at) {
    int64_t first, count;
    const char *from = findElements(copy.map, at, first, count);
    if (count > 0)
      access(from, count * elementBytes, elementBytes, Access::Read, Space::Any,
             site);
  });
}

/// Checks that nobody uses the target, which is being written from now on.
void Launch::reserveBox(const BoxCopy &copy, Site site) {
  const Clock &fenced = thread().known.fenced;
  forEachChunk(copy, [&](uint32_t offset, const int64_t *) {
    findRegion(arena.base + offset, chunkBytes, Space::Shared, site);
    checkOperandReads(offset, chunkBytes, site);
    forEachCell(arena, offset, chunkBytes, [&](Cell &cell, size_t at) {
      bool isWritten = cell.writeBlock == blockNumber;
      if (isWritten && cell.inFlight)
        find("asynchronous copy not waited for", site,
             "its target is written again before the wait");
      else
        checkWrites(cell, arena, Access::Write, site);
      if (isWritten && cell.writeThread < threads.size() &&
          !covers(fenced, cell.writeThread, cell.writeClock))
        find("no tp_proxy_fence", site,
             "%s, written by %s, is not shown to the copy engine",
             nameShared(at).c_str(), nameParty(cell.writeThread).c_str());
      if (cell.readBlock == blockNumber)
        if (int32_t reader = unorderedReader(cell); reader >= 0)
          find("data race", site,
               "shared memory read by %s, no barrier between",
               nameParty(reader).c_str());
      cell.writeBlock = blockNumber;
      cell.writeThread = copy.barrier->party;
      cell.writeClock = copy.phase + 1;
      cell.writeIsAtomic = false;
      cell.inFlight = true;
    });
  });
}

void Launch::copyBox(char *to, const char *place, const char *barrier,
                     const int *at, uint32_t rank, Site site) {
  auto published = hopper.tensorMaps.find(place);
  if (published == hopper.tensorMaps.end()) {
    find("no tensor map", site, "nothing was published at %p",
         static_cast<const void *>(place));
    giveUp();
  }
  access(place, TensorMap::bytes, 64, Access::Read, Space::Any, site);
  auto acquired = thread().tensorMaps.find(place);
  if (acquired == thread().tensorMaps.end() ||
      acquired->second != published->second)
    find("no tp_tensor_map_acquire", site,
         "the thread has not acquired the map at %p",
         static_cast<const void *>(place));
  BoxCopy copy;
  memcpy(&copy.map, place, sizeof copy.map);
  std::copy(at, at + rank, copy.at);
  copy.target = to - arena.base;
  copy.barrier = &findMbarrier(barrier, site);
  copy.phase = copy.barrier->phase;
  copy.known = thread().known;
  copy.thread = self;
  copy.site = site;
  findRegion(to, chunkBytes, Space::Shared, site);
  checkBox(copy, rank, site);
  if (isChecked()) {
    readBox(copy, site);
    reserveBox(copy, site);
  }
  hopper.copies.push_back(copy);
}

/// Completes one of the copies under way; false if there is none.
bool Launch::completeBox() {
  if (hopper.copies.empty())
    return false;
  size_t place = draw(hopper.copies.size());
  BoxCopy copy = hopper.copies[place];
  hopper.copies.erase(hopper.copies.begin() + place);
  forEachChunk(copy, [&](uint32_t offset, const int64_t *at) {
    char *to = arena.base + offset;
    int64_t first, count;
    const char *from = findElements(copy.map, at, first, count);
    memset(to, 0, chunkBytes);
    if (count > 0)
      memcpy(to + first * elementBytes, from, count * elementBytes);
    if (isChecked())
      forEachCell(arena, offset, chunkBytes,
                  [](Cell &cell, size_t) { cell.inFlight = false; });
  });
  int64_t bytes = copy.bytes();
  Mbarrier &barrier = *copy.barrier;
  self = copy.thread; // that a finding names
  bool isLate = barrier.phase != copy.phase;
  if (isLate || (barrier.missing == 0 && barrier.bytes < bytes)) {
    find("more bytes than the mbarrier expects", copy.site,
         "a box of %lld bytes, %lld expected at %s",
         static_cast<long long>(bytes),
         static_cast<long long>(isLate ? 0 : barrier.bytes),
         nameShared(barrier.offset).c_str());
    bytes = isLate ? 0 : barrier.bytes;
  }
  barrier.bytes -= bytes;
  barrier.arrived.add(copy.known);
  endPhase(barrier);
  return true;
}

/// Operands: target, map, mbarrier, coordinates.
static void copyBox(uint64_t *in, uint32_t rank, Site site) {
  int at[TensorMap::maxRank];
  for (uint32_t i = 0; i < rank; ++i)
    at[i] = get<int>(in[3 + i]);
  current->copyBox(get<char *>(in[0]), get<const char *>(in[1]),
                   get<const char *>(in[2]), at, rank, site);
}
TP_EMULATE(tp_copy_box_1) { copyBox(in, 1, site); }
TP_EMULATE(tp_copy_box_2) { copyBox(in, 2, site); }
TP_EMULATE(tp_copy_box_3) { copyBox(in, 3, site); }
TP_EMULATE(tp_copy_box_4) { copyBox(in, 4, site); }
TP_EMULATE(tp_copy_box_5) { copyBox(in, 5, site); }
