//===- Target.cpp - What code is made for ---------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Target.h.
//
//===----------------------------------------------------------------------===//

#include "tp/Target/Target.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

using namespace tp;

/// What ptxas assembles the kernels for; those of `cuda` alone first.
static constexpr llvm::StringLiteral knownArchitectures[] = {
    "sm_80", "sm_90", "sm_100", "sm_86", "sm_89", "sm_103", "sm_120"};
static constexpr size_t numDefault = 3;

mlir::FailureOr<Target>
tp::parseTarget(llvm::StringRef text,
                llvm::function_ref<void(const llvm::Twine &)> emitError) {
  auto [kind, names] = text.split(':');
  if (kind != "cuda") {
    auto cpu = parseCpuTarget(text, emitError);
    if (failed(cpu))
      return mlir::failure();
    return Target{Device::Cpu, *cpu, {}};
  }
  Target target{Device::Cuda, {"x86_64-unknown-linux-gnu", {}, 128}, {}};
  auto &architectures = target.cuda.architectures;
  if (!text.contains(':')) {
    for (llvm::StringRef known :
         llvm::ArrayRef(knownArchitectures).take_front(numDefault))
      architectures.push_back(known.str());
    return target;
  }
  target.cuda.isExplicit = true;
  if (names == "ptx")
    return target;
  for (llvm::StringRef name : llvm::split(names, ',')) {
    if (!llvm::is_contained(knownArchitectures, name)) {
      emitError("unknown architecture '" + name + "' in '" + text +
                "': expected cuda, cuda:ptx, or a list of " +
                llvm::join(llvm::ArrayRef(knownArchitectures), ", ") +
                ", as in cuda:sm_80," + "sm_90");
      return mlir::failure();
    }
    if (llvm::is_contained(architectures, name)) {
      emitError("architecture '" + name + "' occurs twice in '" + text + "'");
      return mlir::failure();
    }
    architectures.push_back(name.str());
  }
  return target;
}
