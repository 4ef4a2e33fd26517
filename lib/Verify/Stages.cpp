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
#include "mlir/Transforms/Passes.h"
#include "tp/Annotate/Passes.h"
#include "tp/Partition/Passes.h"
#include "tp/Pipelines/Pipelines.h"
#include "tp/Propagate/Passes.h"

using namespace mlir;

namespace tp {

ArrayRef<StringRef> getVerifiableStages() {
  static const StringRef stages[] = {"propagate", "partition", "collectives"};
  return stages;
}

static VerifyStage makeStage(StringRef name, bool compare,
                             std::function<void(PassManager &)> build) {
  return {name.str(),
          [build = std::move(build)](ModuleOp module) {
            PassManager passes(module.getContext());
            build(passes);
            return passes.run(module);
          },
          compare};
}

std::vector<VerifyStage> makeVerifyStages(StringRef mesh, StringRef plan,
                                          ArrayRef<std::string> compared) {
  std::vector<VerifyStage> stages;
  if (plan != "none") {
    AnnotateOptions options;
    options.plan = plan.str();
    options.mesh = mesh.str();
    stages.push_back(
        makeStage("annotate", false, [options](PassManager &passes) {
          passes.addPass(createAnnotate(options));
        }));
  }
  auto add = [&](StringRef name, std::function<void(PassManager &)> build) {
    stages.push_back(
        makeStage(name, llvm::is_contained(compared, name), std::move(build)));
  };
  add("propagate", [](PassManager &passes) {
    passes.addPass(createPropagate());
    passes.addPass(createVerifyPropagated());
  });
  add("partition", [](PassManager &passes) {
    passes.addPass(createInsertReshards());
    passes.addPass(createPartition());
    passes.addPass(createVerifyPartitioned());
  });
  add("collectives", [](PassManager &passes) {
    buildStage(passes, Stage::Collectives, StageOptions());
  });
  while (!stages.empty() && !stages.back().compare)
    stages.pop_back();
  return stages;
}

} // namespace tp
