//===- InitDialects.cpp - Registration of dialects ------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration for every tool that reads IR.
//
//===----------------------------------------------------------------------===//

#include "tp/InitDialects.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/NN/IR/Upstream.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Target/Target.h"

void tp::registerAllTargets() {
#define TP_TARGET(name) register##name##Target();
#include "tp/Target/Targets.def"
}

void tp::registerAllDialects(mlir::DialectRegistry &registry) {
  registerAllTargets();
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<TPDialect, nn::NNDialect>();
  // It has the folds that go before upstream's wrong ones.
  registry.addExtension(
      +[](mlir::MLIRContext *context, mlir::tensor::TensorDialect *) {
        context->getOrLoadDialect<TPDialect>();
      });
  nn::registerUpstreamDecompositions(registry);
}
