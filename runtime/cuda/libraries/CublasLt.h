//===- CublasLt.h - cuBLASLt, opened when needed ---------------*- C++ -*--===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of CublasLt.def, looked up in the library when it is opened.
// Members are named as the functions are, with the version that the header
// gives them.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_CUDA_LIBRARIES_CUBLASLT_H
#define TPRT_CUDA_LIBRARIES_CUBLASLT_H

#include "Library.h"

#include <cublasLt.h>

namespace tprt {

struct CublasLt {
#define X(function) decltype(&::function) function = nullptr;
#include "CublasLt.def"
#undef X

  /// Opened by the first call in the process; later calls return the same.
  static Expected<const CublasLt *> get();

  Status check(cublasStatus_t result, const std::string &what) const;
};

} // namespace tprt

#endif // TPRT_CUDA_LIBRARIES_CUBLASLT_H
