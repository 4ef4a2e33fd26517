//===- ExplainShardings.cpp - Why each value is spread as it is -----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints tp.because for people.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/Dialect/TP/IR/Phase.h"
#include "tp/Propagate/Passes.h"
#include "tp/Resolve/Provenance.h"

namespace tp {
#define GEN_PASS_DEF_EXPLAINSHARDINGS
#include "tp/Propagate/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

static void print(raw_ostream &os, const std::string &who,
                  ShardingAttr sharding, ArrayRef<Because> entries,
                  const Mesh &mesh) {
  if (!sharding)
    return;
  TensorSharding value = sharding.toSharding(mesh);
  if (value.isFullyReplicated())
    return;
  os << who << ": " << ::tp::toString(value, mesh) << "\n";
  for (const Because &entry : entries) {
    if (entry.dim)
      os << "  dim " << *entry.dim;
    else
      os << "  partial";
    os << " on \"" << entry.axis << "\": " << entry.annotation;
    if (!entry.via.empty())
      os << ", by " << entry.via;
    os << "\n";
  }
}

static std::string nameOf(Operation *op) {
  std::string text = op->getName().getStringRef().str();
  if (auto parameter = dyn_cast<ParameterOp>(op))
    return text + " " + parameter.getName().str();
  std::string where = toString(op->getLoc());
  return where.empty() ? text : text + " at " + where;
}

namespace {
struct ExplainShardingsPass
    : public tp::impl::ExplainShardingsBase<ExplainShardingsPass> {
  using ExplainShardingsBase::ExplainShardingsBase;

  void runOnOperation() override {
    if (failed(expectGlobal(getOperation())))
      return signalPassFailure();
    ModuleOp module = getOperation();
    markAllAnalysesPreserved();
    MeshOp meshOp = getUniqueMesh(module);
    if (!meshOp) {
      module.emitError("expected exactly one tp.mesh in the module: did "
                       "tp-annotate run");
      return signalPassFailure();
    }
    Mesh mesh = meshOp.getMesh().toMesh();
    raw_ostream &os = llvm::outs();
    for (auto function : module.getOps<func::FuncOp>()) {
      auto name = [&](DictionaryAttr attrs, StringRef kind, unsigned index) {
        auto given = attrs
                         ? attrs.getAs<StringAttr>(TPDialect::getNameAttrName())
                         : StringAttr();
        return (kind + " " + (given ? given.str() : std::to_string(index)))
            .str();
      };
      if (!function.isExternal())
        for (BlockArgument arg : function.getArguments())
          print(os,
                name(function.getArgAttrDict(arg.getArgNumber()), "argument",
                     arg.getArgNumber()),
                getSharding(arg), getBecause(arg), mesh);
      function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
        for (OpResult result : op->getResults()) {
          std::string who = nameOf(op);
          if (op->getNumResults() > 1)
            who += " result " + std::to_string(result.getResultNumber());
          print(os, who, getSharding(result), getBecause(result), mesh);
        }
      });
      for (unsigned i = 0; i < function.getNumResults(); ++i)
        print(os, name(function.getResultAttrDict(i), "result", i),
              getResultSharding(function, i), getResultBecause(function, i),
              mesh);
    }
  }
};
} // namespace
