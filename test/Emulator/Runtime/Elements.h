//===- Elements.h - Elements of tensor cores --------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_EMULATOR_ELEMENTS_H
#define TP_TEST_EMULATOR_ELEMENTS_H

#include <bit>
#include <cstdint>

namespace tp::emulator {

inline float widenF16(uint16_t bits) {
  return float(std::bit_cast<_Float16>(bits));
}
inline float widenBf16(uint16_t bits) {
  return std::bit_cast<float>(uint32_t(bits) << 16);
}

/// Rounded to nearest, ties to even.
inline uint16_t narrowF16(float value) {
  return std::bit_cast<uint16_t>(_Float16(value));
}
inline uint16_t narrowBf16(float value) {
  if (value != value)
    return 0x7fff;
  uint32_t bits = std::bit_cast<uint32_t>(value);
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

} // namespace tp::emulator

#endif // TP_TEST_EMULATOR_ELEMENTS_H
