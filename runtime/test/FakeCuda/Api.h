//===- Api.h - the libraries' declarations, to be exported ------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The real headers, with every declaration visible: a function defined here is
// exported under the symbol that the header gives it (cuMemAlloc_v2, ...), and
// a definition that differs from the header's does not compile. Everything else
// in the library is hidden.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TEST_FAKECUDA_API_H
#define TPRT_TEST_FAKECUDA_API_H

#pragma GCC visibility push(default)
#include <cublasLt.h>
#include <cuda.h>
#include <nccl.h>
#pragma GCC visibility pop

#endif // TPRT_TEST_FAKECUDA_API_H
