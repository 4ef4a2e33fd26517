//===- Verify.cpp - Take a program through the stages and compare ---------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The references are evaluated before the first stage, from the module as it
// was given; each stage then changes the module in place.
//
//===----------------------------------------------------------------------===//

#include "MatchPlaces.h"
#include "Steps.h"

#include "mlir/Pass/PassManager.h"
#include "tp/Dialect/TP/IR/Phase.h"
#include "tp/Verify/Passes.h"

using namespace mlir;

namespace tp {

/// The steps of a script: some texts begin and end.
static constexpr int64_t scriptSteps = 16;

namespace {
/// The one-device program, and each of its functions evaluated.
struct References {
  OwningOpRef<ModuleOp> program;
  std::vector<std::pair<std::string, Reference>> functions;
  std::optional<Script> script;
};
} // namespace

static bool isEntry(func::FuncOp function) {
  return !function.isPrivate() && !function.isExternal();
}

/// Evaluate every public function; with ids, its values are kept. Of a script
/// the steps have no inputs by themselves.
static FailureOr<References> runReferences(ModuleOp module, bool assignIds,
                                           const VerifyOptions &options) {
  PassManager passes(module.getContext());
  if (assignIds)
    passes.addPass(createAssignValueIds());
  if (failed(passes.run(module)))
    return failure();
  References references{module.clone(), {}, std::nullopt};
  if (options.script) {
    FailureOr<Script> script = makeScript(
        module, *options.script, options.steps ? options.steps : scriptSteps);
    if (failed(script))
      return failure();
    references.script = std::move(*script);
  }
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!isEntry(function) || (options.script && getStepSize(function)))
      continue;
    FailureOr<Reference> reference = Reference::run(function, options);
    if (failed(reference))
      return failure();
    references.functions.push_back(
        {function.getSymName().str(), std::move(*reference)});
  }
  if (references.functions.empty())
    return module.emitError()
           << "expected a public function to verify, got none";
  return references;
}

/// The runs of entries that carry states, none where there is but one step; as
/// text, in `entries`, which entries they are of.
static FailureOr<std::vector<EntryRun>> planRuns(const References &references,
                                                 const VerifyOptions &options,
                                                 std::string &entries) {
  std::vector<EntryRun> runs;
  if (references.script) {
    for (auto [i, step] : llvm::enumerate(references.script->steps))
      runs.push_back({step.entry, int64_t(i) + 1, &step});
    entries = llvm::join(references.script->getEntries(), ", @");
    return runs;
  }
  ModuleOp program = *references.program;
  std::vector<std::string> names = options.entries;
  if (names.empty())
    for (auto function : program.getOps<func::FuncOp>())
      if (isEntry(function))
        names.push_back(function.getSymName().str());
  int64_t steps = options.steps;
  if (steps == 0)
    steps = program.getOps<StateOp>().empty() ? 1 : 2;
  for (const std::string &name : names) {
    auto function = program.lookupSymbol<func::FuncOp>(name);
    if (!function || function.isExternal())
      return program.emitError()
             << "expected an entry of the program, got '" << name << "'";
  }
  for (int64_t number = 1; number <= steps && steps > 1; ++number)
    for (const std::string &name : names)
      runs.push_back({name, number});
  entries = llvm::join(names, ", @");
  return runs;
}

/// Compare every function of `module` at `stage`, and steps of them; true while
/// all are equal.
static FailureOr<bool> compareAll(ModuleOp module, StringRef stage, Check check,
                                  References &references,
                                  const VerifyOptions &options,
                                  VerifyReport &report) {
  Mesh mesh;
  if (findPerRank(module)) {
    MeshOp meshOp = getUniqueMesh(module);
    if (!meshOp)
      return module.emitError()
             << "expected exactly one tp.mesh in a per-rank program";
    mesh = meshOp.getMesh().toMesh();
  }
  for (auto &[name, reference] : references.functions) {
    auto function = module.lookupSymbol<func::FuncOp>(name);
    if (!function)
      return module.emitError() << "expected the function @" << name
                                << " at stage " << stage << ", got none";
    FailureOr<Comparison> comparison =
        check == Check::Execute
            ? compareExecuted(module, name, reference, options)
            : compareWithReference(function, mesh, reference, options);
    if (failed(comparison))
      return failure();
    report.stages.push_back({stage.str(), name, std::move(*comparison)});
    if (report.stages.back().comparison.divergence)
      return false;
  }
  std::string entries;
  FailureOr<std::vector<EntryRun>> runs =
      planRuns(references, options, entries);
  if (failed(runs))
    return failure();
  if (runs->empty())
    return true;
  FailureOr<Comparison> comparison =
      compareSteps(*references.program, module, mesh, check, *runs, options);
  if (failed(comparison))
    return failure();
  report.stages.push_back(
      {stage.str(), entries, std::move(*comparison), runs->back().number});
  return !report.stages.back().comparison.divergence.has_value();
}

/// Compare the steps of a script with @main, both on one device; true if they
/// are equal, or there is no script.
static FailureOr<bool> compareScript(const References &references,
                                     const VerifyOptions &options,
                                     VerifyReport &report) {
  if (!references.script)
    return true;
  FailureOr<Comparison> comparison =
      compareWithMain(*references.program, *references.script, options);
  if (failed(comparison))
    return failure();
  report.stages.push_back(
      {"import", "main, @" + llvm::join(references.script->getEntries(), ", @"),
       std::move(*comparison), int64_t(references.script->steps.size())});
  return !report.stages.back().comparison.divergence.has_value();
}

static int64_t countOperations(ModuleOp module) {
  int64_t count = 0;
  module->walk([&](Operation *) { ++count; });
  return count;
}

FailureOr<VerifyReport> verifyProgram(ModuleOp module,
                                      ArrayRef<VerifyStage> stages,
                                      const VerifyOptions &options,
                                      ArrayRef<VerifyStage> first) {
  VerifyReport report;
  for (const VerifyStage &stage : first) {
    OwningOpRef<ModuleOp> original = module.clone();
    if (failed(stage.run(module)))
      return failure();
    if (stage.check == Check::No ||
        countOperations(module) == countOperations(*original))
      continue;
    FailureOr<References> before =
        runReferences(*original, /*assignIds=*/false, options);
    if (failed(before))
      return failure();
    FailureOr<bool> equal =
        compareAll(module, stage.name, stage.check, *before, options, report);
    if (failed(equal))
      return failure();
    if (!*equal)
      return report;
  }
  FailureOr<References> references =
      runReferences(module, /*assignIds=*/true, options);
  if (failed(references))
    return failure();
  for (const auto &[name, reference] : references->functions)
    report.numDropped += reference.getNumDropped();
  FailureOr<bool> agree = compareScript(*references, options, report);
  if (failed(agree))
    return failure();
  if (!*agree)
    return report;
  for (const VerifyStage &stage : stages) {
    if (failed(stage.run(module)))
      return failure();
    if (stage.check == Check::No)
      continue;
    FailureOr<bool> equal = compareAll(module, stage.name, stage.check,
                                       *references, options, report);
    if (failed(equal))
      return failure();
    if (!*equal)
      break;
  }
  return report;
}

/// A one-device program is equal to itself, whatever partition would make of
/// it.
static LogicalResult expectPartitioned(ModuleOp perRank) {
  if (failed(expectPerRank(perRank)))
    return failure();
  if (findPerRank(perRank) || getUniqueMesh(perRank))
    return success();
  return perRank.emitError(
      "expected a program for each rank after --against, as tp-compile "
      "--compile-to=partition writes it, got one for one device, which says "
      "nothing of partition");
}

/// The type that an argument has before partition.
static Type getWholeType(func::FuncOp function, unsigned index) {
  if (auto whole = function.getArgAttrOfType<TypeAttr>(
          index, TPDialect::getGlobalTypeAttrName()))
    return whole.getValue();
  return function.getArgument(index).getType();
}

/// Programs of other shapes are no two forms of one program.
static LogicalResult expectSameArguments(ModuleOp module, ModuleOp perRank) {
  for (auto function : module.getOps<func::FuncOp>()) {
    auto other = perRank.lookupSymbol<func::FuncOp>(function.getSymName());
    if (!other || other.getNumArguments() != function.getNumArguments())
      continue;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      Type expected = getWholeType(function, i), got = getWholeType(other, i);
      if (got == expected)
        continue;
      InFlightDiagnostic diag = other.emitError()
                                << "argument " << i << " of the program after "
                                << "--against is " << got << ": expected "
                                << expected << ", of which the model is";
      diag.attachNote(function.getLoc())
          << "shapes and types of the model are options: --batch, --seq, "
             "--dtype";
      return diag;
    }
  }
  return success();
}

FailureOr<VerifyReport> verifyAgainst(ModuleOp module, ModuleOp perRank,
                                      Check check,
                                      const VerifyOptions &options) {
  if (failed(expectGlobal(module)) || failed(expectPartitioned(perRank)) ||
      failed(expectSameArguments(module, perRank)))
    return failure();
  FailureOr<References> references =
      runReferences(module, /*assignIds=*/true, options);
  if (failed(references))
    return failure();
  VerifyReport report;
  for (const auto &[name, reference] : references->functions)
    report.numDropped += reference.getNumDropped();
  FailureOr<bool> agree = compareScript(*references, options, report);
  if (failed(agree))
    return failure();
  if (!*agree)
    return report;
  VerifyReport byPlace = report;
  FailureOr<bool> equal =
      compareAll(perRank, "given", check, *references, options, report);
  if (failed(equal))
    return failure();
  // Matches operations by their places if the program's own ids do not tell.
  if (!*equal && check == Check::Interpret && matchPlaces(module, perRank)) {
    equal = compareAll(perRank, "given", check, *references, options, byPlace);
    if (failed(equal))
      return failure();
    if (!*equal)
      return byPlace;
  }
  return report;
}

bool VerifyReport::isEqual() const {
  return llvm::none_of(stages, [](const StageReport &stage) {
    return stage.comparison.divergence.has_value();
  });
}

int64_t VerifyReport::countUnjudged() const {
  int64_t count = 0;
  for (const StageReport &stage : stages)
    count += stage.comparison.unjudged.size();
  return count;
}

/// "cannot judge arith.fptosi at ids: why", one line each; of many, the first.
static void printUnjudged(const StageReport &stage, llvm::raw_ostream &os) {
  constexpr size_t most = 8;
  ArrayRef<Unjudged> unjudged = stage.comparison.unjudged;
  for (const Unjudged &value : unjudged.take_front(most)) {
    os << stage.stage << " @" << stage.function << ": cannot judge ";
    Divergence{value.what, value.location, value.iterations, value.reason}
        .print(os);
    os << "\n";
  }
  if (unjudged.size() > most)
    os << stage.stage << " @" << stage.function << ": cannot judge "
       << unjudged.size() - most << " more values\n";
}

void VerifyReport::print(llvm::raw_ostream &os) const {
  for (const StageReport &stage : stages) {
    const Comparison &comparison = stage.comparison;
    os << stage.stage << " @" << stage.function;
    if (stage.steps > 1)
      os << ", " << stage.steps << " steps";
    os << ": ";
    if (comparison.divergence) {
      os << "differs first at ";
      comparison.divergence->print(os);
      os << "\n";
    } else {
      os << "equal, " << comparison.numValues << " values and "
         << comparison.numResults << " results compared, largest difference "
         << llvm::format("%.2g", comparison.worst) << " of the tolerance";
      if (comparison.isByOperation)
        os << ", operation by operation";
      if (comparison.numUnjudgedElements)
        os << ", " << comparison.numUnjudgedElements << " elements not judged";
      os << "\n";
    }
    printUnjudged(stage, os);
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
                             {"steps", stage.steps},
                             {"equal", !comparison.divergence.has_value()},
                             {"values", comparison.numValues},
                             {"results", comparison.numResults},
                             {"worst", comparison.worst},
                             {"byOperation", comparison.isByOperation}};
    if (const auto &divergence = comparison.divergence)
      entry["divergence"] = llvm::json::Object{
          {"op", divergence->what},
          {"location", divergence->location},
          {"iterations", llvm::json::Array(divergence->iterations)},
          {"problem", divergence->problem}};
    llvm::json::Array unjudged;
    for (const Unjudged &value : comparison.unjudged)
      unjudged.push_back(llvm::json::Object{
          {"op", value.what},
          {"location", value.location},
          {"iterations", llvm::json::Array(value.iterations)},
          {"reason", value.reason}});
    entry["unjudged"] =
        llvm::json::Object{{"elements", comparison.numUnjudgedElements},
                           {"values", std::move(unjudged)}};
    list.push_back(std::move(entry));
  }
  return llvm::json::Object{{"equal", isEqual()},
                            {"stages", std::move(list)},
                            {"dropped", numDropped}};
}

} // namespace tp
