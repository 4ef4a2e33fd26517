//===- primitives_device.cu - Primitives as instructions ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is linked into kernels that are compiled for a device. Kernels for all
// architectures need none of it.
//
//===----------------------------------------------------------------------===//

#include "hopper_device.h"
