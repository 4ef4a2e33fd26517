//===- tprt/quantized.h - elements of quantised weights ---------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the manifest names and the loops that compute with them read.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_QUANTIZED_H
#define TPRT_QUANTIZED_H

namespace tprt {

/// Element types of the values q. Those of 4 bits lie two in a byte, the even
/// element in the low nibble; I4 is in two's complement.
enum class QuantizedType { I8, U4, I4, E4M3, E5M2, E2M1 };

/// Element types of scales. E8M0 is 2^(byte - 127), and NaN for 255.
enum class ScaleType { F32, F16, BF16, E8M0, E4M3 };

} // namespace tprt

#endif // TPRT_QUANTIZED_H
