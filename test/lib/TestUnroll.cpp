//===- TestUnroll.cpp - Write out repeated layers -------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The opposite of tp-roll-layers, so that it can be tested on, and timed with,
// programs as users write them: every layer on its own, its parameters named by
// number. With `odd=57` that layer's norms get another epsilon, as a model with
// one layer unlike the others has; there may be several.
//
//===----------------------------------------------------------------------===//

#include "TestPasses.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/TP/IR/ParameterNames.h"
#include "tp/Dialect/TP/IR/TPOps.h"

using namespace mlir;
using namespace tp;

static void number(Operation *op, int64_t index, bool isOdd) {
  if (auto parameter = dyn_cast<ParameterOp>(op)) {
    parameter.setName(instantiate(parameter.getName(), index));
    if (ArrayAttr names = parameter.getAlternativesAttr()) {
      SmallVector<Attribute> numbered;
      for (StringAttr name : names.getAsRange<StringAttr>())
        numbered.push_back(StringAttr::get(
            op->getContext(), instantiate(name.getValue(), index)));
      parameter.setAlternativesAttr(ArrayAttr::get(op->getContext(), numbered));
    }
  }
  if (auto norm = dyn_cast<nn::RMSNormOp>(op); norm && isOdd)
    norm.setEpsilon(llvm::APFloat(0.125));
}

namespace {
struct UnrollPass : PassWrapper<UnrollPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(UnrollPass)
  UnrollPass() = default;
  UnrollPass(const UnrollPass &other) : PassWrapper(other) {}

  StringRef getArgument() const final { return "test-tp-unroll-layers"; }
  StringRef getDescription() const final {
    return "write out tp.repeat, one layer after the other";
  }
  ListOption<int64_t> odd{*this, "odd",
                          llvm::cl::desc("layers to give another epsilon")};

  void runOnOperation() override {
    SmallVector<RepeatOp> repeats;
    getOperation().walk([&](RepeatOp op) { repeats.push_back(op); });
    for (RepeatOp repeat : repeats) {
      if (!repeat.getStacked().empty() || !repeat.getStackedResults().empty()) {
        repeat.emitOpError("has stacked values, which are not unrolled");
        return signalPassFailure();
      }
      OpBuilder builder(repeat);
      SmallVector<Value> carried(repeat.getInits());
      int64_t first = repeat.getFirstIndex();
      int64_t count = repeat.getCount();
      for (int64_t done = 0; done < count; ++done) {
        int64_t i = first + (repeat.getReverse() ? count - 1 - done : done);
        IRMapping mapping;
        for (auto [arg, value] : llvm::zip(repeat.getCarriedArgs(), carried))
          mapping.map(arg, value);
        for (Operation &op : repeat.getBodyBlock()->without_terminator())
          number(builder.clone(op, mapping), i, llvm::is_contained(odd, i));
        for (auto [value, next] :
             llvm::zip(carried, repeat.getYield().getOperands()))
          value = mapping.lookupOrDefault(next);
      }
      repeat.getCarriedResults().replaceAllUsesWith(carried);
      repeat.erase();
    }
  }
};
} // namespace

void tp::test::registerUnrollPass() { PassRegistration<UnrollPass>(); }
