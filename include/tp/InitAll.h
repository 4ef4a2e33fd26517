//===- InitAll.h - Registration of dialects and passes ----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything a tool must register to read, transform and test IR.
//
//===----------------------------------------------------------------------===//

#ifndef TP_INITALL_H
#define TP_INITALL_H

#include "tp/InitDialects.h"

namespace tp {

/// Our passes and pipelines, and the upstream passes that tests need.
void registerAllPasses();

} // namespace tp

#endif // TP_INITALL_H
