//===- Evaluation.cpp - The loss without what only training has -----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The function that computes the loss serves as evaluation once its derivative
// is another one: nothing is dropped there, and the inputs that said what are
// gone.
//
//===----------------------------------------------------------------------===//

#include "Training.h"

#include "tp/Dialect/NN/IR/NNOps.h"

using namespace mlir;
using namespace tp;

void tp::differentiate::dropNothing(func::FuncOp forward) {
  llvm::SmallDenseSet<Value> read;
  forward.walk([&](nn::DropoutOp op) {
    read.insert(op.getSeed());
    read.insert(op.getStep());
    op.replaceAllUsesWith(op.getInput());
    op.erase();
  });
  for (unsigned i = forward.getNumArguments(); i-- > 0;)
    if (Value argument = forward.getArgument(i);
        read.contains(argument) && argument.use_empty())
      (void)forward.eraseArgument(i);
}
