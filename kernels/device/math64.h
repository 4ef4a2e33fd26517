//===- math64.h - Logarithm and exponential in f64 --------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// No device has instructions for them, and there is no libdevice. Series are
// taken as far as f64 has digits. The host's library rounds otherwise, by a
// unit in the last place.
//
//===----------------------------------------------------------------------===//

#ifndef TP_KERNELS_DEVICE_MATH64_H
#define TP_KERNELS_DEVICE_MATH64_H

#include "primitives.h"

namespace math64 {

/// log 2 in two parts: multiples of the first up to 2^11 are exact.
inline constexpr double kLog2High = 0x1.62e42fefp-1;
inline constexpr double kLog2Low = 0x1.473de6af278edp-34;
inline constexpr double kLog2E = 0x1.71547652b82fep+0;

/// log x of a normal number above zero: x = 2^k m with m from sqrt(1/2) to
/// sqrt(2), and with s = (m - 1) / (m + 1)
///   log m = 2 s (1 + s^2 / 3 + s^4 / 5 + ...), s^2 < 0.0295
__device__ inline double log(double x) {
  constexpr uint64_t root = 0x3fe6a09e667f3bcd; // sqrt(1/2)
  constexpr int terms = 11;
  uint64_t bits = __builtin_bit_cast(uint64_t, x);
  int64_t k = int64_t(bits - root) >> 52;
  double m = __builtin_bit_cast(double, bits - (uint64_t(k) << 52));
  double f = m - 1, s = f / (f + 2), square = s * s;
  double series = 1.0 / (2 * terms + 1);
#pragma unroll
  for (int i = terms - 1; i >= 0; --i)
    series = __builtin_fma(series, square, 1.0 / (2 * i + 1));
  double power = k;
  double low = __builtin_fma(power, kLog2Low, (s + s) * series);
  return __builtin_fma(power, kLog2High, low);
}

/// e^x of a number that is not above zero by more than roundings are: x = k
/// log 2 + r with r from -log 2 / 2 to log 2 / 2. Powers below e^-708 are zero,
/// and so is that of a NaN.
__device__ inline double exp(double x) {
  constexpr int terms = 14;
  bool isZero = !(x >= -708);
  x = isZero ? 0 : x;
  int64_t k = __builtin_fma(x, kLog2E, -0.5); // x is not above zero
  double power = k;
  double r = __builtin_fma(power, -kLog2High, x);
  r = __builtin_fma(power, -kLog2Low, r);
  double factorials[terms] = {1};
#pragma unroll
  for (int i = 1; i < terms; ++i)
    factorials[i] = factorials[i - 1] / i;
  double series = factorials[terms - 1];
#pragma unroll
  for (int i = terms - 2; i >= 0; --i)
    series = __builtin_fma(series, r, factorials[i]);
  double scale = __builtin_bit_cast(double, (k + 1023) << 52);
  return isZero ? 0 : series * scale;
}

} // namespace math64

#endif // TP_KERNELS_DEVICE_MATH64_H
