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
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void tp::buildLowerToLLVM(OpPassManager &manager, const TargetHandle &target) {
  target->buildKernels(manager);
  manager.addPass(createLowerStep({target}));
  target->buildKernelsToLLVM(manager);
  // Device kernels are done, and would be gone through again. Without them one
  // set of patterns for the module is cheaper than one for each function.
  bool hasKernels = target->getTraits().launchesKernels;
  auto getFunctions = [&]() -> OpPassManager & {
    return hasKernels ? manager.nest<func::FuncOp>() : manager;
  };
  OpPassManager &functions = getFunctions();
  functions.addPass(createExpandMath());
  functions.addPass(createCanonicalizerPass(
      GreedyRewriteConfig().setRegionSimplificationLevel(
          GreedySimplifyRegionLevel::Disabled)));
  functions.addPass(createCSEPass());
  manager.addPass(createMergeBodies());
  OpPassManager &bodies = getFunctions();
  bodies.addPass(arith::createArithExpandOpsPass());
  bodies.addPass(createSCFToControlFlowPass());
  bodies.addPass(createConvertVectorToLLVMPass());
  bodies.addPass(createConvertMathToLLVMPass());
  bodies.addPass(createArithToLLVMConversionPass());
  bodies.addPass(createConvertIndexToLLVMPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createConvertFuncToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
}
