//===- Verify.cpp - Take a program through the stages and compare ---------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The references are evaluated before the first stage, from the module as it
// was given; each stage then changes the module in place.
//
//===----------------------------------------------------------------------===//

#include "tp/Verify/Verify.h"

#include "mlir/Pass/PassManager.h"
#include "tp/Verify/Passes.h"

using namespace mlir;

namespace tp {

using References = std::vector<std::pair<std::string, Reference>>;

static FailureOr<References> runReferences(ModuleOp module,
                                           const VerifyOptions &options) {
  PassManager passes(module.getContext());
  passes.addPass(createAssignValueIds());
  if (failed(passes.run(module)))
    return failure();
  References references;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isPrivate() || function.isExternal())
      continue;
    FailureOr<Reference> reference = Reference::run(function, options);
    if (failed(reference))
      return failure();
    references.push_back({function.getSymName().str(), std::move(*reference)});
  }
  if (references.empty())
    return module.emitError()
           << "expected a public function to verify, got none";
  return references;
}

/// Compare every function of `module` at `stage`; true while all are equal.
static FailureOr<bool> compareAll(ModuleOp module, StringRef stage,
                                  const References &references,
                                  const VerifyOptions &options,
                                  VerifyReport &report) {
  // A program with local types says so by its functions' attributes.
  bool isPerRank = false;
  module->walk([&](Operation *op) {
    isPerRank |= isa<CollectiveOpInterface, SliceOp, KeepFirstOp, RankOp>(op);
    if (auto function = dyn_cast<func::FuncOp>(op)) {
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        isPerRank |=
            bool(function.getArgAttr(i, TPDialect::getGlobalTypeAttrName()));
      for (unsigned i = 0; i < function.getNumResults(); ++i)
        isPerRank |=
            bool(function.getResultAttr(i, TPDialect::getGlobalTypeAttrName()));
    }
    isPerRank |= op->hasAttr(TPDialect::getGlobalTypeAttrName());
  });
  Mesh mesh;
  if (isPerRank) {
    MeshOp meshOp = getUniqueMesh(module);
    if (!meshOp)
      return module.emitError()
             << "expected exactly one tp.mesh in a per-rank program";
    mesh = meshOp.getMesh().toMesh();
  }
  for (const auto &[name, reference] : references) {
    auto function = module.lookupSymbol<func::FuncOp>(name);
    if (!function)
      return module.emitError() << "expected the function @" << name
                                << " at stage " << stage << ", got none";
    report.stages.push_back(
        {stage.str(), name,
         compareWithReference(function, mesh, reference, options)});
    if (report.stages.back().comparison.divergence)
      return false;
  }
  return true;
}

FailureOr<VerifyReport> verifyProgram(ModuleOp module,
                                      ArrayRef<VerifyStage> stages,
                                      const VerifyOptions &options) {
  FailureOr<References> references = runReferences(module, options);
  if (failed(references))
    return failure();
  VerifyReport report;
  for (const auto &[name, reference] : *references)
    report.numDropped += reference.getNumDropped();
  for (const VerifyStage &stage : stages) {
    if (failed(stage.run(module)))
      return failure();
    if (!stage.compare)
      continue;
    FailureOr<bool> equal =
        compareAll(module, stage.name, *references, options, report);
    if (failed(equal))
      return failure();
    if (!*equal)
      break;
  }
  return report;
}

FailureOr<VerifyReport> verifyAgainst(ModuleOp module, ModuleOp perRank,
                                      const VerifyOptions &options) {
  FailureOr<References> references = runReferences(module, options);
  if (failed(references))
    return failure();
  VerifyReport report;
  for (const auto &[name, reference] : *references)
    report.numDropped += reference.getNumDropped();
  if (failed(compareAll(perRank, "given", *references, options, report)))
    return failure();
  return report;
}

bool VerifyReport::isEqual() const {
  return llvm::none_of(stages, [](const StageReport &stage) {
    return stage.comparison.divergence.has_value();
  });
}

void VerifyReport::print(llvm::raw_ostream &os) const {
  for (const StageReport &stage : stages) {
    const Comparison &comparison = stage.comparison;
    os << stage.stage << " @" << stage.function << ": ";
    if (comparison.divergence) {
      os << "differs first at ";
      comparison.divergence->print(os);
      os << "\n";
    } else {
      os << "equal, " << comparison.numValues << " values and "
         << comparison.numResults << " results compared, largest difference "
         << llvm::format("%.2g", comparison.worst) << " of the tolerance\n";
    }
  }
  if (numDropped)
    os << "note: " << numDropped
       << " intermediate values were not kept for want of memory\n";
}

llvm::json::Value VerifyReport::toJSON() const {
  llvm::json::Array list;
  for (const StageReport &stage : stages) {
    const Comparison &comparison = stage.comparison;
    llvm::json::Object entry{{"stage", stage.stage},
                             {"function", stage.function},
                             {"equal", !comparison.divergence.has_value()},
                             {"values", comparison.numValues},
                             {"results", comparison.numResults},
                             {"worst", comparison.worst}};
    if (const auto &divergence = comparison.divergence)
      entry["divergence"] = llvm::json::Object{
          {"op", divergence->what},
          {"location", divergence->location},
          {"iterations", llvm::json::Array(divergence->iterations)},
          {"problem", divergence->problem}};
    list.push_back(std::move(entry));
  }
  return llvm::json::Object{{"equal", isEqual()},
                            {"stages", std::move(list)},
                            {"dropped", numDropped}};
}

} // namespace tp
