//===- ChooseRows.cpp - Which rows are computed in parts ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a cut gains depends on all that schedule does after it, so nothing
// predicts it as well as the scheduled program: a copy of the module is
// scheduled for each choice, and each function takes the choice by which it
// takes the least time. Schedules are cheap beside the code of kernels.
//
//===----------------------------------------------------------------------===//

#include "ChooseRows.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "tp/Cost/CostModel.h"
#include "tp/Schedule/Buffers.h"
#include "tp/Schedule/Describe.h"
#include "tp/Schedule/RowKernels.h"
#include "tp/Schedule/SplitRows.h"
#include "tprt/units.h"

using namespace mlir;
using namespace tp;

/// A function is computed in parts if that saves more than this part of its
/// time, and takes at most so much more of all the memory of a rank.
static constexpr double leastGain = 0.01, mostGrowth = 0.05;

/// The choices beside all rows in one part.
static constexpr std::pair<unsigned, bool> choices[] = {
    {2, false}, {2, true}, {3, false}, {4, false}, {4, true}};

namespace {

/// One function as it is scheduled.
struct Trial {
  RunSeconds seconds;
  int64_t bytes = 0; ///< of all that a rank holds while it runs
};
using Trials = std::map<std::string, Trial>;

class ChooseRowsPass
    : public PassWrapper<ChooseRowsPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ChooseRowsPass)

  ChooseRowsPass(ProfileHandle profile, BuildPasses buildRest)
      : profile(std::move(profile)), buildRest(std::move(buildRest)) {}

  StringRef getName() const override { return "tp-choose-rows"; }
  StringRef getDescription() const override {
    return "compute rows in as many parts as take the least time";
  }
  void runOnOperation() override;

private:
  ProfileHandle profile;
  BuildPasses buildRest;

  /// Schedules a copy of the module with the functions of `names` in parts.
  FailureOr<Trials> schedule(ArrayRef<std::string> names,
                             std::optional<RowSplit> split);
};

} // namespace

static int64_t getBytes(func::FuncOp function, int64_t held) {
  int64_t bytes = held + getValueBytes(function);
  for (StringRef name : {arenaBytesAttrName, commBytesAttrName})
    if (auto attr = function->getAttrOfType<IntegerAttr>(name))
      bytes += attr.getInt();
  return bytes;
}

FailureOr<Trials> ChooseRowsPass::schedule(ArrayRef<std::string> names,
                                           std::optional<RowSplit> split) {
  OwningOpRef<ModuleOp> copy = getOperation().clone();
  if (split)
    for (const std::string &name : names)
      splitRows(copy->lookupSymbol<func::FuncOp>(name), *split);
  PassManager manager(&getContext());
  buildRest(manager);
  if (failed(manager.run(*copy)))
    return failure();
  auto times = getRunSeconds(*copy, *profile);
  if (failed(times))
    return failure();
  Trials trials;
  int64_t held = getHeldParameterBytes(*copy) + getStateBytes(*copy);
  for (const auto &[name, seconds] : *times)
    trials[name] = {seconds,
                    getBytes(copy->lookupSymbol<func::FuncOp>(name), held)};
  return trials;
}

/// Notes of a function's collectives why they are in one part.
static void noteLoss(func::FuncOp function, const Trial &whole,
                     const Trial &least, unsigned chunks) {
  std::string reason =
      least.bytes > (1 + mostGrowth) * double(whole.bytes)
          ? "in " + std::to_string(chunks) + " parts the function needs " +
                tprt::formatBytes(double(least.bytes)) +
                " of memory rather than " +
                tprt::formatBytes(double(whole.bytes))
          : "in " + std::to_string(chunks) + " parts the function would take " +
                tprt::formatSeconds(least.seconds.total) + ", and takes " +
                tprt::formatSeconds(whole.seconds.total);
  function.walk([&](CollectiveOpInterface op) {
    op->setAttr(wholeAttrName, StringAttr::get(function.getContext(), reason));
  });
}

void ChooseRowsPass::runOnOperation() {
  ModuleOp module = getOperation();
  MeshOp mesh = getUniqueMesh(module);
  if (!mesh)
    return;
  CostModel model(*profile, mesh.getMesh().toMesh());
  FailureOr<Trials> whole = schedule({}, std::nullopt);
  if (failed(whole))
    return signalPassFailure();
  // Where a rank hardly waits there is nothing to gain.
  SmallVector<std::string> names;
  for (const auto &[name, trial] : *whole)
    if (module.lookupSymbol<func::FuncOp>(name) &&
        trial.seconds.exposed > leastGain * trial.seconds.total)
      names.push_back(name);
  if (names.empty())
    return;
  std::map<std::string, std::pair<unsigned, Trial>> best;
  for (auto [number, choice] : llvm::enumerate(choices)) {
    RowSplit split{choice.first, &model, choice.second};
    FailureOr<Trials> trials = schedule(names, split);
    if (failed(trials))
      return signalPassFailure();
    for (const std::string &name : names) {
      const Trial &trial = trials->at(name);
      bool isFirst = !best.contains(name);
      auto fits = [&](const Trial &one) {
        return one.bytes <= (1 + mostGrowth) * double(whole->at(name).bytes);
      };
      if (isFirst || std::pair(!fits(trial), trial.seconds.total) <
                         std::pair(!fits(best[name].second),
                                   best[name].second.seconds.total))
        best[name] = {number, trial};
    }
  }
  for (const std::string &name : names) {
    auto function = module.lookupSymbol<func::FuncOp>(name);
    auto [number, trial] = best.at(name);
    const Trial &one = whole->at(name);
    bool pays = trial.seconds.total < (1 - leastGain) * one.seconds.total &&
                trial.bytes <= (1 + mostGrowth) * double(one.bytes);
    if (pays)
      splitRows(function,
                {choices[number].first, &model, choices[number].second});
    else
      noteLoss(function, one, trial, choices[number].first);
  }
}

std::unique_ptr<Pass> tp::createChooseRows(ProfileHandle profile,
                                           BuildPasses buildRest) {
  return std::make_unique<ChooseRowsPass>(std::move(profile),
                                          std::move(buildRest));
}
