//===- Module.h - what the emulator must know -------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The emulator checks every access of a kernel against the allocations.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TEST_FAKECUDA_MODULE_H
#define TPRT_TEST_FAKECUDA_MODULE_H

#include <cstddef>

namespace fake {

void announce(char *begin, size_t bytes);
void renounce(char *begin);

} // namespace fake

#endif // TPRT_TEST_FAKECUDA_MODULE_H
