//===- CodeGen.cpp - What both code generators use ------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See CodeGen.h.
//
//===----------------------------------------------------------------------===//

#include "tp/CodeGen/CodeGen.h"

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Scalar/InferAddressSpaces.h"
#include "llvm/Transforms/Scalar/LoopIdiomRecognize.h"

using namespace tp;

namespace {
/// Finds what is shared memory where addresses went through functions, which is
/// so in kernels written in CUDA C++ alone.
struct InferAddressSpaces : llvm::PassInfoMixin<InferAddressSpaces> {
  llvm::PreservedAnalyses run(llvm::Function &function,
                              llvm::FunctionAnalysisManager &analyses) {
    if (!function.hasFnAttribute(deviceSourceAttrName))
      return llvm::PreservedAnalyses::all();
    return llvm::InferAddressSpacesPass().run(function, analyses);
  }
};
} // namespace

void tp::optimise(llvm::Module &module, llvm::TargetMachine &machine,
                  Passes passes) {
  // The search for checksums in loops walks shared sub-expressions again and
  // again: a body of 50 operations takes it for ever.
  llvm::DisableLIRP::HashRecognize = true;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::PassBuilder builder(&machine, tuning);
  functions.registerPass([&] {
    llvm::TargetLibraryInfoImpl library(machine.getTargetTriple());
    library.disableAllFunctions();
    return llvm::TargetLibraryAnalysis(library);
  });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  const auto level = llvm::OptimizationLevel::O2;
  llvm::ModulePassManager manager;
  builder.registerScalarOptimizerLateEPCallback(
      [](llvm::FunctionPassManager &manager, llvm::OptimizationLevel) {
        manager.addPass(InferAddressSpaces());
      });
  if (passes == Passes::Default)
    manager = builder.buildPerModuleDefaultPipeline(level);
  else
    manager.addPass(llvm::createModuleToFunctionPassAdaptor(
        builder.buildFunctionSimplificationPipeline(
            level, llvm::ThinOrFullLTOPhase::None)));
  manager.run(module, modules);
}
