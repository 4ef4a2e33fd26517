//===- ToLLVM.cpp - The lower stage up to the LLVM dialect ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Our passes, then upstream's conversions: of the target's kernels, if they
// have a module of their own, and of the step.
//
//===----------------------------------------------------------------------===//

#include "tp/Conversion/Math/Passes.h"
#include "tp/Conversion/Step/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void tp::buildLowerToLLVM(OpPassManager &manager, const TargetHandle &target) {
  target->buildKernels(manager);
  manager.addPass(createLowerStep({target}));
  target->buildKernelsToLLVM(manager);
  manager.addPass(createExpandMath());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createMergeBodies());
  manager.addPass(arith::createArithExpandOpsPass());
  manager.addPass(createSCFToControlFlowPass());
  manager.addPass(createConvertVectorToLLVMPass());
  manager.addPass(createConvertMathToLLVMPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertIndexToLLVMPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createConvertFuncToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
}
