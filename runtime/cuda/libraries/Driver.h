//===- Driver.h - the CUDA driver, opened when needed ----------*- C++ -*--===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of Driver.def, looked up in the library when it is opened.
// Members are named as the functions are, with the version that the header
// gives them.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_CUDA_LIBRARIES_DRIVER_H
#define TPRT_CUDA_LIBRARIES_DRIVER_H

#include "Library.h"

#include <cuda.h>

namespace tprt {

struct Driver {
#define X(function) decltype(&::function) function = nullptr;
#include "Driver.def"
#undef X

  /// Opened by the first call in the process; later calls return the same.
  static Expected<const Driver *> get();

  /// Success, or an error with CUDA's own name and text: `what` is what was
  /// being done.
  Status check(CUresult result, const std::string &what) const;
};

} // namespace tprt

#endif // TPRT_CUDA_LIBRARIES_DRIVER_H
