//===- ChooseRows.cpp - Which rows are computed in parts ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The gain of a cut depends on all that schedule does after it, so nothing
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

  /// Schedules and times a copy of a module.
  FailureOr<Trials> schedule(OwningOpRef<ModuleOp> copy);
  /// The same of a copy of the functions of `names` alone, with their rows in
  /// parts: those of which no rows can be are not among the trials. No errors
  /// are told, as nobody asked for this program.
  FailureOr<Trials> scheduleSplit(ArrayRef<std::string> names,
                                  const RowSplit &split);
};

} // namespace

static int64_t getBytes(func::FuncOp function, int64_t held) {
  int64_t bytes = held + getValueBytes(function);
  for (StringRef name : {arenaBytesAttrName, commBytesAttrName})
    if (auto attr = function->getAttrOfType<IntegerAttr>(name))
      bytes += attr.getInt();
  return bytes;
}

FailureOr<Trials> ChooseRowsPass::scheduleSplit(ArrayRef<std::string> names,
                                                const RowSplit &split) {
  ScopedDiagnosticHandler quiet(&getContext(),
                                [](Diagnostic &) { return success(); });
  OwningOpRef<ModuleOp> copy = getOperation().clone();
  for (auto function :
       llvm::make_early_inc_range(copy->getOps<func::FuncOp>())) {
    bool isTried = llvm::is_contained(names, function.getSymName()) &&
                   splitRows(function, split) > 0;
    if (!isTried && SymbolTable::symbolKnownUseEmpty(function, *copy))
      function.erase();
  }
  if (copy->getOps<func::FuncOp>().empty())
    return Trials();
  return schedule(std::move(copy));
}

FailureOr<Trials> ChooseRowsPass::schedule(OwningOpRef<ModuleOp> copy) {
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

/// Notes of those of a function's collectives that have no reason of their own
/// why they are in one part.
static void noteLoss(func::FuncOp function, const Trial &whole,
                     const Trial &best, unsigned chunks) {
  std::string reason = "in " + std::to_string(chunks) + " parts ";
  if (double(best.bytes) > (1 + mostGrowth) * double(whole.bytes))
    reason += "a rank would need " + tprt::formatBytes(double(best.bytes)) +
              ", and needs " + tprt::formatBytes(double(whole.bytes));
  else
    reason += "the function would take " +
              tprt::formatSeconds(best.seconds.total) + ", and takes " +
              tprt::formatSeconds(whole.seconds.total);
  function.walk([&](CollectiveOpInterface op) {
    if (!op->hasAttr(wholeAttrName))
      op->setAttr(wholeAttrName,
                  StringAttr::get(function.getContext(), reason));
  });
}

void ChooseRowsPass::runOnOperation() {
  ModuleOp module = getOperation();
  MeshOp mesh = getUniqueMesh(module);
  if (!mesh)
    return;
  CostModel model(*profile, mesh.getMesh().toMesh());
  FailureOr<Trials> whole = schedule(module.clone());
  if (failed(whole))
    return signalPassFailure();
  // A function that hardly waits has nothing to gain.
  SmallVector<std::string> names;
  for (const auto &[name, trial] : *whole)
    if (module.lookupSymbol<func::FuncOp>(name) &&
        trial.seconds.exposed > leastGain * trial.seconds.total)
      names.push_back(name);
  auto growsTooMuch = [&](const std::string &name, const Trial &trial) {
    return double(trial.bytes) >
           (1 + mostGrowth) * double(whole->at(name).bytes);
  };
  std::map<std::string, std::pair<unsigned, Trial>> best;
  for (auto [number, choice] : llvm::enumerate(choices)) {
    FailureOr<Trials> trials =
        scheduleSplit(names, {choice.first, &model, choice.second});
    if (failed(trials))
      continue;
    for (const auto &[name, trial] : *trials) {
      if (!llvm::is_contained(names, name))
        continue;
      auto [entry, isFirst] = best.try_emplace(name, number, trial);
      auto rank = [&](const Trial &one) {
        return std::pair(growsTooMuch(name, one), one.seconds.total);
      };
      if (!isFirst && rank(trial) < rank(entry->second.second))
        entry->second = {number, trial};
    }
  }
  for (const std::string &name : names) {
    auto function = module.lookupSymbol<func::FuncOp>(name);
    auto found = best.find(name);
    if (found == best.end()) {
      noteWholeRows(function, choices[0].first);
      continue;
    }
    auto [number, trial] = found->second;
    const Trial &one = whole->at(name);
    RowSplit split{choices[number].first, &model, choices[number].second};
    if (trial.seconds.total < (1 - leastGain) * one.seconds.total &&
        !growsTooMuch(name, trial)) {
      splitRows(function, split);
    } else {
      noteWholeRows(function, split.chunks);
      noteLoss(function, one, trial, split.chunks);
    }
  }
}

std::unique_ptr<Pass> tp::createChooseRows(ProfileHandle profile,
                                           BuildPasses buildRest) {
  return std::make_unique<ChooseRowsPass>(std::move(profile),
                                          std::move(buildRest));
}
