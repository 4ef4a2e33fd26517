//===- MergeBodies.cpp - Kernels with the same code are one ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Passes.td.
//
//===----------------------------------------------------------------------===//

#include "tp/Conversion/Step/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/Schedule/Outline.h"

namespace tp {
#define GEN_PASS_DEF_MERGEBODIES
#include "tp/Conversion/Step/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {
struct MergeBodiesPass : tp::impl::MergeBodiesBase<MergeBodiesPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    DistinctFunctions bodies;
    llvm::DenseMap<StringAttr, StringAttr> keptFor;
    getOperation().walk([&](func::ConstantOp use) {
      StringAttr name = use.getValueAttr().getAttr();
      auto [kept, isNew] = keptFor.try_emplace(name, name);
      if (isNew) {
        auto body = symbols.lookup<func::FuncOp>(name);
        kept->second = bodies.add(body).getNameAttr();
      }
      use.setValueAttr(FlatSymbolRefAttr::get(kept->second));
    });
    for (auto [name, kept] : keptFor)
      if (name != kept) {
        symbols.erase(symbols.lookup(name));
        ++numMerged;
      }
  }
};
} // namespace
