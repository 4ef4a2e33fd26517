//===- Device.h - devices and contexts --------------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TP_FAKE_CUDA_DEVICES devices (default 1) of compute capability
// TP_FAKE_CUDA_ARCH (default 9.9, for which no machine code exists, so that
// PTX must be taken), each with its primary context.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TEST_FAKECUDA_DEVICE_H
#define TPRT_TEST_FAKECUDA_DEVICE_H

#include "Api.h"

#include <string>

namespace fake {

/// CUDA_SUCCESS if cuInit was called, a context is current on this thread and
/// nothing failed before.
CUresult ready();

/// The ordinal of this thread's context, or -1.
int currentDevice();

/// "0000:01:00.0" for device 0, and so on.
std::string busId(int device);

int deviceCount();
int computeCapability(); ///< 99 for 9.9

constexpr int kSharedLimit = 48 * 1024;
constexpr int kSharedLimitOptIn = 227 * 1024;

} // namespace fake

#define TRY(expression)                                                        \
  do {                                                                         \
    if (auto tryStatus = (expression); tryStatus != decltype(tryStatus)(0))    \
      return tryStatus;                                                        \
  } while (false)

#endif // TPRT_TEST_FAKECUDA_DEVICE_H
