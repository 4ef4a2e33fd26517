//===- Nccl.h - NCCL, opened when needed -----------------------*- C++ -*--===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of Nccl.def, looked up in the library when it is opened.
// Members are named as the functions are, with the version that the header
// gives them.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_CUDA_LIBRARIES_NCCL_H
#define TPRT_CUDA_LIBRARIES_NCCL_H

#include "Library.h"

#include <nccl.h>

namespace tprt {

struct Nccl {
#define X(function) decltype(&::function) function = nullptr;
#include "Nccl.def"
#undef X

  /// Opened by the first call in the process; later calls return the same.
  static Expected<const Nccl *> get();
};

} // namespace tprt

#endif // TPRT_CUDA_LIBRARIES_NCCL_H
