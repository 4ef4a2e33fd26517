//===- count-parameters.cpp - A program that uses the installed package ---===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts the tp.parameter operations of a file, with the installed headers and
// libraries alone.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/InitAll.h"

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  mlir::DialectRegistry registry;
  tp::registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(argv[1], &context);
  if (!module)
    return 1;
  int count = 0;
  module->walk([&](tp::ParameterOp) { ++count; });
  llvm::outs() << count << " parameters\n";
  return 0;
}
