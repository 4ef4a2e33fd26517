//===- Cpu.h - what the machine can do --------------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CPU features by LLVM's names, as the processor reports them and the operating
// system enables them. Everything dispatches on features, never on a model
// name.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_SUPPORT_CPU_H
#define TPRT_SUPPORT_CPU_H

#include "tprt/status.h"

#include <string>
#include <string_view>
#include <vector>

namespace tprt {

/// True if this machine has the feature; empty for a name that
/// tprt/features.def does not list.
std::optional<bool> cpuFeature(std::string_view name);

/// An error naming the features that are unknown or that the machine lacks.
Status requireFeatures(const std::vector<std::string> &features);

} // namespace tprt

#endif // TPRT_SUPPORT_CPU_H
