//===- Interrupt.h - the first Ctrl-C ---------------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_LAUNCHER_INTERRUPT_H
#define TPRT_LAUNCHER_INTERRUPT_H

#include <cstdint>

namespace tprt {

/// From now on Ctrl-C does not end the process: what runs ends early, and a
/// second one ends it where ranks are threads. Of ranks that are processes only
/// rank 0 heeds it.
void heedInterrupts(bool ranksAreProcesses, int64_t rank);
bool isInterrupted();

} // namespace tprt

#endif // TPRT_LAUNCHER_INTERRUPT_H
