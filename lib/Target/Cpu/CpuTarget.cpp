//===- CpuTarget.cpp - The host -------------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels are functions beside the step. Only features that they gain from are
// used: what the artifact does not list, it runs without.
//
//===----------------------------------------------------------------------===//

#include "tp/Target/Target.h"

#include "mlir/Pass/PassManager.h"
#include "tp/Conversion/Cpu/Passes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/TargetParser/Host.h"

using namespace tp;

static constexpr llvm::StringLiteral level3[] = {
    "sse4.2", "popcnt", "avx",  "avx2",  "fma",
    "f16c",   "bmi",    "bmi2", "lzcnt", "movbe"};
static constexpr llvm::StringLiteral level4[] = {
    "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"};

/// To hand a call to another thread and to come back for its result takes about
/// as long as to send so much to the next core (docs/Rationale.md).
static constexpr int64_t leastStartedBytes = int64_t(64) << 10;

namespace {
class CpuTarget : public Target {
public:
  CpuTarget(llvm::StringRef text, HostCpu host)
      : Target(text), host(std::move(host)) {}

  TargetTraits getTraits() const override {
    TargetTraits traits;
    traits.startsCollectives = true;
    traits.readsPeers = true;
    traits.leastStartedBytes = leastStartedBytes;
    return traits;
  }
  HostCpu getHost() const override { return host; }

  /// The rows' other work does what the library could do as well.
  EpilogueSet getEpilogues() const override {
    return {
        /*scale=*/false, /*residual=*/false, {"silu", "gelu_erf", "gelu_tanh"}};
  }

  void buildKernels(mlir::OpPassManager &manager) const override {
    GenerateKernelsOptions options;
    options.vectorBits = host.vectorBits;
    manager.addPass(createGenerateKernels(options));
  }

private:
  HostCpu host;
};
} // namespace

/// "cpu" and "cpu:native" are this machine, "cpu:x86-64-v3" and "-v4" the
/// levels of the x86-64 psABI. Below -v3 the conversions from and to f16 would
/// be library calls.
static mlir::FailureOr<TargetHandle> parse(llvm::StringRef text,
                                           ErrorFunction emitError) {
  int level = llvm::StringSwitch<int>(text.split(':').second)
                  .Cases({"", "native"}, 0)
                  .Case("x86-64-v3", 3)
                  .Case("x86-64-v4", 4)
                  .Default(-1);
  if (level < 0) {
    emitUnknownTarget(text, emitError);
    return mlir::failure();
  }
  HostCpu host;
  llvm::StringMap<bool> native = llvm::sys::getHostCPUFeatures();
  auto add = [&](llvm::ArrayRef<llvm::StringLiteral> features, int from) {
    for (llvm::StringLiteral feature : features)
      if (level == 0 ? native.lookup(feature) : level >= from)
        host.features.push_back(feature.str());
  };
  add(level3, 3);
  add(level4, 4);
  auto missing = llvm::find_if(level3, [&](llvm::StringLiteral feature) {
    return !llvm::is_contained(host.features, feature.str());
  });
  if (missing != std::end(level3)) {
    emitError("this machine has less than x86-64-v3: it lacks '" + *missing +
              "'");
    return mlir::failure();
  }
  bool isWide = llvm::all_of(level4, [&](llvm::StringLiteral feature) {
    return llvm::is_contained(host.features, feature.str());
  });
  host.vectorBits = isWide ? 512 : 256;
  return TargetHandle(std::make_shared<CpuTarget>(text, std::move(host)));
}

void tp::registerCpuTarget() {
  registerTarget({"cpu",
                  "cpu[:LEVEL]",
                  {"cpu", "cpu:native", "cpu:x86-64-v3", "cpu:x86-64-v4"},
                  parse});
}
