//===- Widen.h - Elements of tensor cores -----------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_EMULATOR_WIDEN_H
#define TP_TEST_EMULATOR_WIDEN_H

#include <bit>
#include <cstdint>

namespace tp::emulator {

inline float widenF16(uint16_t bits) {
  return float(std::bit_cast<_Float16>(bits));
}
inline float widenBf16(uint16_t bits) {
  return std::bit_cast<float>(uint32_t(bits) << 16);
}

} // namespace tp::emulator

#endif // TP_TEST_EMULATOR_WIDEN_H
