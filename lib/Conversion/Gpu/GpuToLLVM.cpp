//===- GpuToLLVM.cpp - Device kernels in the LLVM dialect -----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Our expansion of math (no libdevice), then upstream's conversions, nested in
// the module of the kernels.
//
//===----------------------------------------------------------------------===//

#include "tp/Conversion/Gpu/Passes.h"
#include "tp/Conversion/Kernels/GpuModule.h"
#include "tp/Conversion/Math/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void tp::buildGpuToLLVM(OpPassManager &manager) {
  OpPassManager &kernels = manager.nest<gpu::GPUModuleOp>();
  kernels.addPass(createExpandGpuMath());
  kernels.addPass(createExpandMath({/*loopsOverLanes=*/false}));
  kernels.addPass(createMathToIntrinsics());
  kernels.addPass(createCanonicalizerPass(
      GreedyRewriteConfig().setRegionSimplificationLevel(
          GreedySimplifyRegionLevel::Disabled)));
  kernels.addPass(createCSEPass());
  kernels.addPass(createSCFToControlFlowPass());
  kernels.addPass(createConvertVectorToLLVMPass());
  kernels.addPass(createConvertGpuOpsToNVVMOps());
  kernels.addPass(createConvertNVVMToLLVMPass());
  kernels.addPass(createReconcileUnrealizedCastsPass());
}
