//===- Shadow.h - Who touched each byte, and when ---------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each byte that a launch touches has a cell: its last write, the reads since
// that no later access is ordered after, and whether an asynchronous copy is
// under way to it. Time is a counter per thread that goes up at every barrier
// the thread takes part in.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_EMULATOR_SHADOW_H
#define TP_TEST_EMULATOR_SHADOW_H

#include <cstddef>
#include <cstdint>
#include <memory>
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

/// A range of memory with cells made as they are needed.
struct Region {
  char *base = nullptr;
  size_t bytes = 0;

  Region() = default;
  Region(char *base, size_t bytes)
      : base(base), bytes(bytes), pages((bytes + pageBytes - 1) / pageBytes) {}

  bool contains(const char *address, size_t count) const {
    return address >= base && address + count <= base + bytes;
  }
  Cell &cell(size_t offset) {
    auto &page = pages[offset / pageBytes];
    if (!page)
      page = std::make_unique<Cell[]>(pageBytes);
    return page[offset % pageBytes];
  }

private:
  static constexpr size_t pageBytes = 1024;
  std::vector<std::unique_ptr<Cell[]>> pages;
};

} // namespace tp::emulator

#endif // TP_TEST_EMULATOR_SHADOW_H
