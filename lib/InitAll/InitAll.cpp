//===- InitAll.cpp - Registration of passes -------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration, beside the dialects, of what a tool needs to transform and test
// IR.
//
//===----------------------------------------------------------------------===//

#include "tp/InitAll.h"

#include "mlir/InitAllPasses.h"
#include "tp/Annotate/Passes.h"
#include "tp/Collectives/Passes.h"
#include "tp/Conversion/Cpu/Passes.h"
#include "tp/Conversion/Gpu/Passes.h"
#include "tp/Conversion/Math/Passes.h"
#include "tp/Conversion/Step/Passes.h"
#include "tp/Derive/Passes.h"
#include "tp/Dialect/NN/Transforms/Passes.h"
#include "tp/Differentiate/Passes.h"
#include "tp/Import/Passes.h"
#include "tp/Ledger/Passes.h"
#include "tp/Partition/Passes.h"
#include "tp/Pipelines/Pipelines.h"
#include "tp/Propagate/Passes.h"
#include "tp/Schedule/Passes.h"
#include "tp/Verify/Passes.h"

void tp::registerAllPasses() {
  mlir::registerAllPasses();
  registerNNPasses();
  registerDerivePasses();
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
