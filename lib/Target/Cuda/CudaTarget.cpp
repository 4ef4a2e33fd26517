//===- CudaTarget.cpp - A CUDA device and the host that drives it ---------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels are a module of their own, launched in the order of the step. The
// step is code of any x86-64, for the kernels do the work.
//
//===----------------------------------------------------------------------===//

#include "tp/Conversion/Gpu/Passes.h"
#include "tp/Target/Cuda/DeviceCode.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace tp;

/// The architectures that ptxas assembles the kernels for; those of `cuda`
/// alone first.
static constexpr llvm::StringLiteral knownArchitectures[] = {
    "sm_80", "sm_90", "sm_100", "sm_86", "sm_89", "sm_103", "sm_120"};
static constexpr size_t numDefault = 3;

namespace {
class CudaTarget : public Target {
public:
  CudaTarget(llvm::StringRef text, CudaArchitectures architectures)
      : Target(text), architectures(std::move(architectures)) {}

  TargetTraits getTraits() const override {
    return {/*launchesKernels=*/true,
            /*startsCollectives=*/true,
            /*leastStartedBytes=*/0,
            /*readsPeers=*/false,
            /*mostRowsWithoutGemm=*/1,
            /*mixesTypes=*/false};
  }
  HostCpu getHost() const override { return {}; }
  llvm::StringRef getProfileName() const override {
    if (!architectures.isExplicit || architectures.names.size() != 1)
      return "";
    return llvm::StringSwitch<llvm::StringRef>(architectures.names.front())
        .Case("sm_80", "a100")
        .Case("sm_90", "h100")
        .Case("sm_100", "b200")
        .Default("");
  }

  EpilogueSet getEpilogues() const override {
    return {/*scale=*/true, /*residual=*/true, {"relu", "gelu_tanh"}};
  }
  bool hasFunction(llvm::StringRef function) const override {
    return function == "gemm" || function == "gemms" ||
           !getKernelPass(function).empty();
  }
  llvm::StringRef getKernelPass(llvm::StringRef function) const override {
    if (hasKernelFamily(function))
      return "tp-bind-gpu-kernels";
    return llvm::StringSwitch<llvm::StringRef>(function)
        .Cases({"attention", "attention_backward", "paged_attention"},
               "tp-generate-gpu-attention")
        .Cases({"experts", "quantized_experts", "experts_backward"},
               "tp-generate-gpu-experts")
        .Default("");
  }

  void buildKernels(mlir::OpPassManager &manager) const override {
    manager.addPass(createGenerateGpuKernels());
    manager.addPass(createGenerateGpuAttention());
    manager.addPass(createGenerateGpuExperts());
    manager.addPass(createBindGpuKernels());
    manager.addPass(createMergeGpuKernels());
  }
  void buildKernelsToLLVM(mlir::OpPassManager &manager) const override {
    buildGpuToLLVM(manager);
  }

  mlir::FailureOr<std::unique_ptr<KernelCode>>
  compileKernels(mlir::ModuleOp module) const override {
    mlir::FailureOr<DeviceCode> code = compileDevice(module, architectures);
    if (failed(code))
      return mlir::failure();
    return std::unique_ptr<KernelCode>(
        std::make_unique<DeviceCode>(std::move(*code)));
  }

private:
  CudaArchitectures architectures;
};
} // namespace

static mlir::FailureOr<TargetHandle> parse(llvm::StringRef text,
                                           ErrorFunction emitError) {
  CudaArchitectures architectures;
  auto make = [&] {
    return TargetHandle(
        std::make_shared<CudaTarget>(text, std::move(architectures)));
  };
  if (!text.contains(':')) {
    for (llvm::StringRef known :
         llvm::ArrayRef(knownArchitectures).take_front(numDefault))
      architectures.names.push_back(known.str());
    return make();
  }
  architectures.isExplicit = true;
  llvm::StringRef names = text.split(':').second;
  if (names == "ptx")
    return make();
  for (llvm::StringRef name : llvm::split(names, ',')) {
    if (!llvm::is_contained(knownArchitectures, name)) {
      emitError("unknown architecture '" + name + "' in '" + text +
                "': expected cuda, cuda:ptx, or a list of " +
                llvm::join(llvm::ArrayRef(knownArchitectures), ", ") +
                ", as in cuda:sm_80," + "sm_90");
      return mlir::failure();
    }
    if (llvm::is_contained(architectures.names, name)) {
      emitError("architecture '" + name + "' occurs twice in '" + text + "'");
      return mlir::failure();
    }
    architectures.names.push_back(name.str());
  }
  return make();
}

void tp::registerCudaTarget() {
  registerTarget({"cuda",
                  "cuda[:sm_90,...|:ptx]",
                  {"cuda", "cuda:ptx", "cuda:sm_90"},
                  parse,
                  [](mlir::DialectRegistry &registry) {
                    mlir::registerGPUDialectTranslation(registry);
                    mlir::registerNVVMDialectTranslation(registry);
                  }});
}
