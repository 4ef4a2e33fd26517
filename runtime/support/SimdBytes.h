//===- SimdBytes.h - numbers in eight bits ----------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Signed bytes and e4m3 as vectors of f32: what quantised weights and caches
// have in common. Included by files that are compiled for each CPU level alone;
// static, as they are.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_SUPPORT_SIMDBYTES_H
#define TPRT_SUPPORT_SIMDBYTES_H

#include "QuantizedWeight.h"
#include "SimdVector.h"

#include <cstdint>

namespace {

using tprt::QuantizedType;
using tprt::QuantizedWeight;

typedef int8_t ByteVec __attribute__((vector_size(kLanes)));
typedef int16_t WordVec __attribute__((vector_size(kLanes * 2)));
typedef _Float16 HalfVec __attribute__((vector_size(kLanes * 2)));
typedef ByteVec ByteVecU __attribute__((aligned(1), may_alias));

inline Vec bytesToFloat(const int8_t *p) {
  return __builtin_convertvector(
      __builtin_convertvector(*reinterpret_cast<const ByteVecU *>(p), IVec),
      Vec);
}

/// e4m3 times 2^-8: in f16, whose exponent has a bit more, the byte's exponent
/// and mantissa stand for that, subnormal numbers included. A NaN becomes a
/// number.
inline Vec e4m3ToFloat(const int8_t *p) {
  WordVec words =
      __builtin_convertvector(*reinterpret_cast<const ByteVecU *>(p), WordVec);
  // The sign is in bits 7 to 15; its lowest copy lands in bit 14.
  return __builtin_convertvector((HalfVec)((words << 7) & int16_t(0xbfff)),
                                 Vec);
}
constexpr float kE4m3Scale = 256;

} // namespace

#endif // TPRT_SUPPORT_SIMDBYTES_H
