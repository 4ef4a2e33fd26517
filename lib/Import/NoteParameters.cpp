//===- NoteParameters.cpp - Check the names of parameters, and note them --===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The meaning of a name is checked before the first pass of a stage can act on
// it; it is noted, because afterwards it may be gone.
//
//===----------------------------------------------------------------------===//

#include "tp/Dialect/TP/IR/ModelAttributes.h"
#include "tp/Dialect/TP/IR/ParameterNames.h"
#include "tp/Import/Passes.h"

namespace tp {
#define GEN_PASS_DEF_NOTEPARAMETERS
#include "tp/Import/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {
struct NoteParametersPass
    : public tp::impl::NoteParametersBase<NoteParametersPass> {
  using NoteParametersBase::NoteParametersBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(verifyParameterNames(module)))
      return signalPassFailure();
    Builder builder(&getContext());
    SmallVector<Attribute> notes;
    module.walk<WalkOrder::PreOrder>([&](Operation *op) {
      for (const NameRange &names : getAllNames(op))
        notes.push_back(
            builder.getArrayAttr({builder.getStringAttr(names.pattern),
                                  builder.getI64IntegerAttr(names.first),
                                  builder.getI64IntegerAttr(names.count)}));
    });
    if (!notes.empty())
      module->setAttr(notedParametersAttrName, builder.getArrayAttr(notes));
  }
};
} // namespace
