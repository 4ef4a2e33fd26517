//===- InitAll.cpp - Registration of dialects and passes ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything a tool must register to read, transform and test IR.
//
//===----------------------------------------------------------------------===//

#include "tp/InitAll.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "tp/Annotate/Passes.h"
#include "tp/Collectives/Passes.h"
#include "tp/Conversion/Cpu/Passes.h"
#include "tp/Conversion/Gpu/Passes.h"
#include "tp/Conversion/Math/Passes.h"
#include "tp/Conversion/Step/Passes.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/NN/IR/Upstream.h"
#include "tp/Dialect/NN/Transforms/Passes.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Differentiate/Passes.h"
#include "tp/Import/Passes.h"
#include "tp/Ledger/Passes.h"
#include "tp/Partition/Passes.h"
#include "tp/Pipelines/Pipelines.h"
#include "tp/Propagate/Passes.h"
#include "tp/Schedule/Passes.h"
#include "tp/Target/Target.h"
#include "tp/Verify/Passes.h"

void tp::registerAllTargets() {
#define TP_TARGET(name) register##name##Target();
#include "tp/Target/Targets.def"
}

void tp::registerAllDialects(mlir::DialectRegistry &registry) {
  registerAllTargets();
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<TPDialect, nn::NNDialect>();
  nn::registerUpstreamDecompositions(registry);
}

void tp::registerAllPasses() {
  mlir::registerAllPasses();
  registerNNPasses();
  registerImportPasses();
  registerDifferentiatePasses();
  registerAnnotatePasses();
  registerPropagatePasses();
  registerPartitionPasses();
  registerLedgerPasses();
  registerCollectivesPasses();
  registerVerifyPasses();
  registerSchedulePasses();
  registerCpuConversionPasses();
  registerGpuConversionPasses();
  registerMathConversionPasses();
  registerStepConversionPasses();
  registerPipelines();
}
