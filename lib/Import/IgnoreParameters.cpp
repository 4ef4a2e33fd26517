//===- IgnoreParameters.cpp - Note what became of parameters --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks only what is there and what was there, so that no pass has to say what
// it removes.
//
//===----------------------------------------------------------------------===//

#include "tp/Dialect/TP/IR/ModelAttributes.h"
#include "tp/Dialect/TP/IR/ParameterNames.h"
#include "tp/Import/Passes.h"

namespace tp {
#define GEN_PASS_DEF_IGNOREPARAMETERS
#include "tp/Import/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {
struct IgnoreParametersPass
    : public tp::impl::IgnoreParametersBase<IgnoreParametersPass> {
  using IgnoreParametersBase::IgnoreParametersBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto notes = module->getAttrOfType<ArrayAttr>(notedParametersAttrName);
    if (!notes)
      return;
    module->removeAttr(notedParametersAttrName);
    SmallVector<NameRange> noted, used;
    for (auto note : notes.getAsRange<ArrayAttr>())
      noted.push_back({cast<StringAttr>(note[0]).getValue(),
                       cast<IntegerAttr>(note[1]).getInt(),
                       cast<IntegerAttr>(note[2]).getInt()});
    module.walk(
        [&](Operation *op) { llvm::append_range(used, getAllNames(op)); });
    Builder builder(&getContext());
    SmallVector<Attribute> ignored;
    if (auto old = module->getAttrOfType<ArrayAttr>(ignoredTensorsAttrName))
      llvm::append_range(ignored, old);
    for (const std::string &pattern : getUnusedNames(noted, used)) {
      Attribute entry = builder.getStringAttr(pattern);
      if (llvm::is_contained(ignored, entry))
        continue;
      ignored.push_back(entry);
      ++numIgnored;
    }
    if (!ignored.empty())
      module->setAttr(ignoredTensorsAttrName, builder.getArrayAttr(ignored));
  }
};
} // namespace
