//===- Fiber.h - Stacks to switch between -----------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fiber is a stack and its stack pointer. Switching saves the registers that
// a call preserves and nothing else, so that it costs a few nanoseconds.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_EMULATOR_FIBER_H
#define TP_TEST_EMULATOR_FIBER_H

#include <cstddef>

namespace tp::emulator {

/// The stacks of a block's threads, each with a guard page below.
class Stacks {
public:
  static constexpr size_t stackBytes = 256 << 10;
  static constexpr size_t maxStacks = 1024;

  Stacks();
  ~Stacks();
  Stacks(const Stacks &) = delete;
  Stacks &operator=(const Stacks &) = delete;

  /// The stack pointer of a fiber that begins in `entry`, which must not
  /// return.
  void *prepare(size_t stack, void (*entry)());
  /// True if [address, address + bytes) lies in stack `stack`.
  bool contains(size_t stack, const char *address, size_t bytes) const {
    const char *begin = memory + stack * stackBytes;
    return address >= begin && address + bytes <= begin + stackBytes;
  }
  /// How far below the top of stack `stack` the address is.
  size_t getDepth(size_t stack, const char *address) const {
    return memory + (stack + 1) * stackBytes - address;
  }

private:
  char *memory;
};

/// Go on with the fiber whose stack pointer is `next`; that of the present one
/// is kept in `*save`.
extern "C" void tpEmulatorSwitch(void **save, void *next);

} // namespace tp::emulator

#endif // TP_TEST_EMULATOR_FIBER_H
