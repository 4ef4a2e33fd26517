//===- Arithmetic.cpp - Exact instructions and conversions ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NVVM's names for operations with one correct result, and what the host's code
// generator calls where it has no instruction.
//
//===----------------------------------------------------------------------===//

#include "Intrinsics.h"
#include <algorithm>
#include <bit>
#include <cmath>

using namespace tp::emulator;

#define TP_UNARY(name, T, expression)                                          \
  TP_EMULATE(name) {                                                           \
    T a = get<T>(in[0]);                                                       \
    put<T>(out[0], expression);                                                \
  }
#define TP_BINARY(name, T, expression)                                         \
  TP_EMULATE(name) {                                                           \
    T a = get<T>(in[0]), b = get<T>(in[1]);                                    \
    put<T>(out[0], expression);                                                \
  }

TP_UNARY(fabs_f32, float, std::fabs(a))
TP_UNARY(saturate_f, float, a > 0 ? std::min(a, 1.0f) : 0.0f)
TP_UNARY(sqrt_rn_f, float, std::sqrt(a))
TP_UNARY(rcp_rn_f, float, 1 / a)
TP_UNARY(floor_f, float, std::floor(a))
TP_UNARY(ceil_f, float, std::ceil(a))
TP_BINARY(div_rn_f, float, a / b)
TP_BINARY(add_rn_f, float, a + b)
TP_BINARY(mul_rn_f, float, a *b)
TP_BINARY(fmax_f, float, std::fmax(a, b))
TP_BINARY(fmin_f, float, std::fmin(a, b))
TP_BINARY(mulhi_i, int32_t, int64_t(a) * b >> 32)
TP_BINARY(mulhi_ui, uint32_t, uint64_t(a) * b >> 32)

TP_EMULATE(fma_rn_f) {
  put(out[0],
      std::fma(get<float>(in[0]), get<float>(in[1]), get<float>(in[2])));
}

/// The bytes of a and b that the nibbles of the selector name.
TP_EMULATE(prmt) {
  uint64_t bytes = uint64_t(get<uint32_t>(in[1])) << 32 | get<uint32_t>(in[0]);
  uint32_t selector = get<uint32_t>(in[2]), result = 0;
  for (int i = 0; i < 4; ++i) {
    uint32_t nibble = selector >> 4 * i & 15;
    uint32_t byte = bytes >> 8 * (nibble & 7) & 255;
    if (nibble & 8)
      byte = byte & 128 ? 255 : 0;
    result |= byte << 8 * i;
  }
  put(out[0], result);
}

static uint16_t toBf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (value != value)
    return bits >> 16 | 64;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
static uint16_t toF16(float value) {
  return std::bit_cast<uint16_t>(_Float16(value));
}

TP_EMULATE(f2bf16_rn) { put(out[0], toBf16(get<float>(in[0]))); }
/// The first operand goes to the upper half.
TP_EMULATE(ff2bf16x2_rn) {
  put(out[0],
      uint32_t(toBf16(get<float>(in[0]))) << 16 | toBf16(get<float>(in[1])));
}
TP_EMULATE(ff2f16x2_rn) {
  put(out[0],
      uint32_t(toF16(get<float>(in[0]))) << 16 | toF16(get<float>(in[1])));
}

// Not every libgcc has it.
extern "C" __bf16 __truncsfbf2(float value) {
  return std::bit_cast<__bf16>(toBf16(value));
}
