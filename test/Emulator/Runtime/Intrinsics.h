//===- Intrinsics.h - How intrinsics are defined ----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call of llvm.nvvm.a.b in a kernel becomes a call of tpEmulate_a_b: operands
// and results travel through slots of eight bytes, because host and device
// differ in how structs and vectors are passed. What has no definition here is
// an undefined symbol when kernels are linked, with the intrinsic's name in it.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_EMULATOR_INTRINSICS_H
#define TP_TEST_EMULATOR_INTRINSICS_H

#include "Launch.h"
#include <cstring>

namespace tp::emulator {

/// The value in a slot, and a value put into one.
template <typename T>
T get(const uint64_t &slot) {
  T value;
  static_assert(sizeof(T) <= sizeof(slot));
  memcpy(&value, &slot, sizeof value);
  return value;
}
template <typename T>
void put(uint64_t &slot, T value) {
  static_assert(sizeof(T) <= sizeof(slot));
  memcpy(&slot, &value, sizeof value);
}

} // namespace tp::emulator

/// The definition of llvm.nvvm.<name>, with '_' for '.'.
#define TP_EMULATE(name)                                                       \
  extern "C" void tpEmulate_##name([[maybe_unused]] uint64_t *out,             \
                                   [[maybe_unused]] uint64_t *in,              \
                                   [[maybe_unused]] tp::emulator::Site site)

#endif // TP_TEST_EMULATOR_INTRINSICS_H
