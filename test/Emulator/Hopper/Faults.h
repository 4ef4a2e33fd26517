//===- Faults.h - What kernels that try primitives are told -----*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For primitives.cu and HopperTest.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_EMULATOR_HOPPER_FAULTS_H
#define TP_TEST_EMULATOR_HOPPER_FAULTS_H

#include <stdint.h>

/// Mistakes made on purpose.
enum Fault {
  // of products
  kWrongSwizzle,
  kNoProxyFence,
  kNoBarrier,
  kNoFence,
  kNoCommit,
  kNoWait,
  kReadEarly,
  kWriteEarly,
  kOperandOverwritten,
  // of copies
  kMapNotZero,
  kNoDimension,
  kNoAcquire,
  kNoInit,
  kNoInitFence,
  kStoreBefore, ///< right, unless there is no proxy fence
  kFewerBytes,
  kMoreBytes,
  kTwoArrivals,
  kNoArrive,
  kMisaligned,
  // of the ring
  kNoPhaseWait,
  kStageReusedEarly,
  kReleasedEarly,
  kNoRegistersGiven,
  kRight = 31
};

/// A tensor and a box of it; strides in bytes.
struct BoxTest {
  const uint16_t *base;
  int rank;
  int size[5], box[5], at[5];
  int64_t stride[5];
};

#endif // TP_TEST_EMULATOR_HOPPER_FAULTS_H
