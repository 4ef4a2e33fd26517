//===- Device.h - Where a program's tensors are -----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All that the schedule and lower stages know of a target: whether kernels run
// beside the step, on a device that is told what to start, or in it.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TARGET_DEVICE_H
#define TP_TARGET_DEVICE_H

namespace tp {

enum class Device { Cpu, Cuda };

} // namespace tp

#endif // TP_TARGET_DEVICE_H
