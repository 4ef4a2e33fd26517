//===- Stages.cpp - The stages that tp-verify checks ----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each step runs the passes of one stage on the module of the one before.
//
//===----------------------------------------------------------------------===//

#include "tp/Verify/Stages.h"

#include "mlir/Pass/PassManager.h"
#include "tp/Dialect/TP/IR/ParameterNames.h"
#include "tp/Pipelines/Pipelines.h"

using namespace mlir;

namespace tp {

/// Steps of the stage schedule: rows in parts, as `--overlap rows=C` has them,
/// and kernels that sum up, as `--all-reduce peer` has them. What follows is no
/// tensors any more, and is executed.
static constexpr StringLiteral rowsName = "rows", peersName = "peers";
/// Three parts, because three divides few sizes evenly.
static constexpr unsigned rowParts = 3;

ArrayRef<StringRef> getVerifiableStages() {
  static const StringRef stages[] = {"propagate", "partition", "collectives",
                                     "lower",     rowsName,    peersName};
  return stages;
}

static VerifyStage makeStage(Stage stage, Check check,
                             const StageOptions &options) {
  return {getStageName(stage).str(),
          [stage, options](ModuleOp module) {
            PassManager passes(module.getContext());
            buildStage(passes, stage, options);
            return passes.run(module);
          },
          check};
}

std::vector<VerifyStage> makeFirstStages(Recompute recompute) {
  StageOptions options;
  options.recompute = recompute;
  return {makeStage(Stage::Import, Check::Interpret, options),
          makeStage(Stage::Differentiate, Check::No, options)};
}

std::vector<VerifyStage> makeVerifyStages(StringRef mesh, StringRef plan,
                                          ArrayRef<std::string> compared) {
  StageOptions options;
  options.mesh = mesh.str();
  options.plan = plan.str();
  // Padding that is not worth it is verified, too.
  options.allowPadding = true;
  std::vector<VerifyStage> stages;
  for (Stage stage : {Stage::Annotate, Stage::Propagate, Stage::Partition,
                      Stage::Collectives}) {
    bool isCompared = llvm::is_contained(compared, getStageName(stage));
    stages.push_back(
        makeStage(stage, isCompared ? Check::Interpret : Check::No, options));
  }
  // Lower's result is no module any more: it is made of a copy and run.
  if (llvm::is_contained(compared, "lower"))
    stages.push_back(
        {"lower", [](ModuleOp) { return success(); }, Check::Execute});
  if (llvm::is_contained(compared, rowsName))
    stages.push_back({rowsName.str(),
                      [](ModuleOp module) {
                        PassManager passes(module.getContext());
                        buildSplitRows(passes, rowParts);
                        return passes.run(module);
                      },
                      Check::Interpret});
  if (llvm::is_contained(compared, peersName))
    stages.push_back(
        {peersName.str(),
         [](ModuleOp module) {
           // Kernels make other values: results are compared.
           module->walk([](Operation *op) { op->removeAttr(valueIdAttrName); });
           PassManager passes(module.getContext());
           buildPeerSums(passes);
           return passes.run(module);
         },
         Check::Interpret});
  while (!stages.empty() && stages.back().check == Check::No)
    stages.pop_back();
  return stages;
}

} // namespace tp
