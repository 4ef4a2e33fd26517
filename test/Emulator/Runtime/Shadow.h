//===- Shadow.h - Who touched each byte, and when ---------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bytes that a launch touches have cells: their last write, the reads since
// that no later access is ordered after, and whether an asynchronous copy is
// under way to them. Time is a counter per thread that goes up at every barrier
// the thread takes part in.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_EMULATOR_SHADOW_H
#define TP_TEST_EMULATOR_SHADOW_H

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace tp::emulator {

/// Lanes of one warp that read a byte at their time `clock`.
struct Readers {
  uint32_t clock = 0;
  uint32_t lanes = 0;
  uint32_t warp = 0;
};

struct Cell {
  /// Number of the block that wrote or read last, from 1 on; 0 for none.
  uint32_t writeBlock = 0, readBlock = 0;
  uint32_t writeClock = 0;
  uint16_t writeThread = 0;
  bool writeIsAtomic = false;
  /// An asynchronous copy to the byte has begun and was not waited for.
  bool inFlight = false;
  /// A block other than readBlock has read it too.
  bool readByOthers = false;
  Readers readers;
  /// Further readers: index + 1 in the launch's lists.
  uint32_t more = 0;
};

/// The cells of 16 bytes. Bytes that every access so far has touched together
/// share a cell, so that an access visits one cell and not one for each byte.
class Granule {
public:
  static constexpr uint32_t bytes = 16;

  /// The bytes of a cell: a power of two.
  uint32_t unit() const { return cellBytes; }
  /// The cell of the unit that begins at byte `at`.
  Cell &cell(uint32_t at) { return parts ? parts[at / cellBytes] : whole; }
  /// Cuts cells so that none has more than `most` bytes, a power of two.
  /// `onCopy` is called with each copy of a cell.
  template <typename OnCopy>
  void refine(uint32_t most, OnCopy onCopy) {
    if (cellBytes <= most)
      return;
    auto finer = std::make_unique<Cell[]>(bytes / most);
    for (uint32_t at = 0; at < bytes; at += most) {
      finer[at / most] = cell(at);
      if (at % cellBytes != 0)
        onCopy(finer[at / most]);
    }
    parts = std::move(finer);
    cellBytes = most;
  }

private:
  uint32_t cellBytes = bytes;
  Cell whole;
  std::unique_ptr<Cell[]> parts; ///< once it was cut
};

/// A range of memory with cells made as they are needed.
struct Region {
  char *base = nullptr;
  size_t bytes = 0;

  Region() = default;
  Region(char *base, size_t bytes)
      : base(base), bytes(bytes),
        skew(reinterpret_cast<uintptr_t>(base) % Granule::bytes),
        pages((skew + bytes + pageBytes - 1) / pageBytes) {}

  bool contains(const char *address, size_t count) const {
    return address >= base && address + count <= base + bytes;
  }
  /// Calls visit(cell, offset of its first byte) for the cells of the bytes
  /// [offset, offset + count), which have no others.
  template <typename OnCopy, typename Visit>
  void forEachCell(size_t offset, size_t count, OnCopy onCopy, Visit visit) {
    for (size_t at = skew + offset, end = at + count; at < end;) {
      auto &page = pages[at / pageBytes];
      if (!page)
        page = std::make_unique<Granule[]>(pageBytes / Granule::bytes);
      Granule &granule = page[at % pageBytes / Granule::bytes];
      uint32_t low = at % Granule::bytes;
      uint32_t high = std::min<size_t>(Granule::bytes, low + (end - at));
      granule.refine(1u << std::countr_zero(low | high), onCopy);
      for (uint32_t i = low; i < high; i += granule.unit())
        visit(granule.cell(i), at - low + i - skew);
      at += high - low;
    }
  }

private:
  static constexpr size_t pageBytes = 1024;
  /// The distance of the base from the start of its granule, in bytes.
  size_t skew = 0;
  std::vector<std::unique_ptr<Granule[]>> pages;
};

} // namespace tp::emulator

#endif // TP_TEST_EMULATOR_SHADOW_H
