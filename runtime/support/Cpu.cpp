//===- Cpu.cpp - what the machine can do ----------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler's library reads cpuid, and counts a feature only if the
// operating system saves its registers; AMX the kernel must also grant to this
// process.
//
//===----------------------------------------------------------------------===//

#include "Cpu.h"

#include <sys/syscall.h>
#include <unistd.h>

using namespace tprt;

static bool mayUseAmx() {
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

std::optional<bool> tprt::cpuFeature(std::string_view name) {
  static const bool amx = __builtin_cpu_supports("amx-tile") && mayUseAmx();
#define TPRT_FEATURE(feature)                                                  \
  if (name == feature)                                                         \
    return __builtin_cpu_supports(feature) &&                                  \
           (amx || !name.starts_with("amx-"));
#include "tprt/features.def"
#undef TPRT_FEATURE
  return std::nullopt;
}

Status tprt::requireFeatures(const std::vector<std::string> &features) {
  std::string missing;
  for (const std::string &feature : features) {
    std::optional<bool> has = cpuFeature(feature);
    if (!has)
      return userError("the artifact needs CPU feature '", feature,
                       "', which this runtime does not know");
    if (!*has)
      missing += (missing.empty() ? "" : ", ") + feature;
  }
  if (!missing.empty())
    return userError(
        "the artifact needs CPU features that this machine lacks: ", missing,
        "; compile it for this machine (--target cpu)");
  return {};
}
