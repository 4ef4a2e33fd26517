//===- Cpu.cpp - Which CPU code is made for -------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Cpu.h. Only features that generated row kernels gain from are used: what
// the artifact does not list, it runs without.
//
//===----------------------------------------------------------------------===//

#include "tp/Target/Cpu.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/TargetParser/Host.h"

using namespace tp;

static constexpr llvm::StringLiteral level3[] = {
    "sse4.2", "popcnt", "avx",  "avx2",  "fma",
    "f16c",   "bmi",    "bmi2", "lzcnt", "movbe"};
static constexpr llvm::StringLiteral level4[] = {
    "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"};

mlir::FailureOr<CpuTarget>
tp::parseCpuTarget(llvm::StringRef text,
                   llvm::function_ref<void(const llvm::Twine &)> emitError) {
  auto [kind, name] = text.split(':');
  int level = llvm::StringSwitch<int>(name)
                  .Cases({"", "native"}, 0)
                  .Case("x86-64-v3", 3)
                  .Case("x86-64-v4", 4)
                  .Default(-1);
  if (kind != "cpu" || level < 0) {
    emitError(
        "unknown target '" + text +
        "': expected cpu, cpu:native, cpu:x86-64-v3, cpu:x86-64-v4, cuda, "
        "cuda:ptx or cuda:sm_90");
    return mlir::failure();
  }
  CpuTarget target;
  target.triple = "x86_64-unknown-linux-gnu";
  llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  auto add = [&](llvm::ArrayRef<llvm::StringLiteral> features, int from) {
    for (llvm::StringLiteral feature : features)
      if (level == 0 ? host.lookup(feature) : level >= from)
        target.features.push_back(feature.str());
  };
  add(level3, 3);
  add(level4, 4);
  auto missing = llvm::find_if(level3, [&](llvm::StringLiteral feature) {
    return !llvm::is_contained(target.features, feature.str());
  });
  if (missing != std::end(level3)) {
    emitError("this machine has less than x86-64-v3: it lacks '" + *missing +
              "'");
    return mlir::failure();
  }
  bool isWide = llvm::all_of(level4, [&](llvm::StringLiteral feature) {
    return llvm::is_contained(target.features, feature.str());
  });
  target.vectorBits = isWide ? 512 : 256;
  return target;
}
