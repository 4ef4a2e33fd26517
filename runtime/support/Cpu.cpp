//===- Cpu.cpp - what the machine can do ----------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads cpuid. A feature counts only if the operating system saves its
// registers (xgetbv), and AMX only if the kernel grants its use to this
// process.
//
//===----------------------------------------------------------------------===//

#include "Cpu.h"

#include <cpuid.h>
#include <cstdint>
#include <map>
#include <sys/syscall.h>
#include <unistd.h>

using namespace tprt;

namespace {

struct Leaf {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
  Leaf(uint32_t leaf, uint32_t sub) {
    __get_cpuid_count(leaf, sub, &eax, &ebx, &ecx, &edx);
  }
};

uint64_t enabledStates() {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

bool mayUseAmx() {
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

std::map<std::string, bool, std::less<>> detect() {
  Leaf one(1, 0), seven(7, 0), sevenOne(7, 1), extended(0x80000001, 0);
  auto bit = [](uint32_t word, int position) { return (word >> position) & 1; };
  uint64_t states = bit(one.ecx, 27) ? enabledStates() : 0;
  bool avx = (states & 0x6) == 0x6;
  bool avx512 = avx && (states & 0xe0) == 0xe0;
  bool amx = avx512 && (states & 0x60000) == 0x60000 && bit(seven.edx, 24) &&
             mayUseAmx();

  std::map<std::string, bool, std::less<>> found;
  found["sse4.2"] = bit(one.ecx, 20);
  found["popcnt"] = bit(one.ecx, 23);
  found["movbe"] = bit(one.ecx, 22);
  found["lzcnt"] = bit(extended.ecx, 5);
  found["bmi"] = bit(seven.ebx, 3);
  found["bmi2"] = bit(seven.ebx, 8);
  found["avx"] = avx && bit(one.ecx, 28);
  found["fma"] = avx && bit(one.ecx, 12);
  found["f16c"] = avx && bit(one.ecx, 29);
  found["avx2"] = avx && bit(seven.ebx, 5);
  found["avxvnni"] = avx && bit(sevenOne.eax, 4);
  found["avx512f"] = avx512 && bit(seven.ebx, 16);
  found["avx512dq"] = avx512 && bit(seven.ebx, 17);
  found["avx512cd"] = avx512 && bit(seven.ebx, 28);
  found["avx512bw"] = avx512 && bit(seven.ebx, 30);
  found["avx512vl"] = avx512 && bit(seven.ebx, 31);
  found["avx512vnni"] = avx512 && bit(seven.ecx, 11);
  found["avx512fp16"] = avx512 && bit(seven.edx, 23);
  found["avx512bf16"] = avx512 && bit(sevenOne.eax, 5);
  found["amx-tile"] = amx;
  found["amx-bf16"] = amx && bit(seven.edx, 22);
  found["amx-int8"] = amx && bit(seven.edx, 25);
  return found;
}

} // namespace

std::optional<bool> tprt::cpuFeature(std::string_view name) {
  static const auto features = detect();
  bool listed = false;
#define TPRT_FEATURE(feature) listed |= name == feature;
#include "tprt/features.def"
#undef TPRT_FEATURE
  auto found = features.find(name);
  if (!listed || found == features.end())
    return std::nullopt;
  return found->second;
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
