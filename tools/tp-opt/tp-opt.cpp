//===- tp-opt.cpp - The optimizer driver ----------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mlir-opt with our dialects, passes and pipelines.
//
//===----------------------------------------------------------------------===//

#include "TestPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "tp/InitAll.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tp::registerAllDialects(registry);
  tp::registerAllPasses();
  tp::test::registerTestPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "tp-mlir optimizer driver\n", registry));
}
