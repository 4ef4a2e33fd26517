//===- Trial.cpp - One random program and what became of it ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A refusal with an error counts as refused, not as success; one without a word
// is a failure.
//
//===----------------------------------------------------------------------===//

#include "Trial.h"

#include "BodyCounts.h"
#include "BodyProgram.h"
#include "Coverage.h"
#include "RandomProgram.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Verifier.h"
#include "tp/Derive/DeriveSteps.h"
#include "tp/Schedule/Buffers.h"
#include "tp/Verify/Stages.h"
#include <chrono>

using namespace mlir;

namespace tp::fuzz {

static constexpr StringRef outcomeWords[] = {"equal", "refused", "undefined",
                                             "wrong", "crashed", "timed out"};

StringRef stringify(Outcome outcome) { return outcomeWords[size_t(outcome)]; }

const Generator *findGenerator(StringRef name) {
  static const Generator generators[] = {
      {"transformers", makeRandomProgram, false},
      {"causal", makeCausalProgram, false, true},
      {"bodies", makeBodyProgram, true},
      {"uneven", makeUnevenProgram, true},
      {"folds", makeFoldProgram, true}};
  for (const Generator &generator : generators)
    if (generator.name == name)
      return &generator;
  return nullptr;
}

llvm::json::Value Trial::toJSON() const {
  llvm::json::Object tally;
  for (const auto &[key, count] : counts)
    tally[key] = count;
  return llvm::json::Object{{"seed", int64_t(seed)},
                            {"outcome", int64_t(outcome)},
                            {"message", llvm::json::fixUTF8(message)},
                            {"seconds", seconds},
                            {"counts", std::move(tally)},
                            {"coverage", coverage}};
}

std::optional<Trial> Trial::fromJSON(StringRef text) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (!value) {
    llvm::consumeError(value.takeError());
    return std::nullopt;
  }
  const llvm::json::Object *object = value->getAsObject();
  if (!object || !object->getInteger("outcome"))
    return std::nullopt;
  Trial trial;
  trial.seed = uint64_t(*object->getInteger("seed"));
  trial.outcome = Outcome(*object->getInteger("outcome"));
  trial.message = object->getString("message")->str();
  trial.seconds = *object->getNumber("seconds");
  trial.coverage = object->getString("coverage")->str();
  for (const auto &[key, count] : *object->getObject("counts"))
    trial.counts[key.str()] = *count.getAsInteger();
  return trial;
}

/// True if all functions are what the stage partition makes of them. It is the
/// last that reads what a program says: whatever is not taken after it was made
/// by a stage.
static bool isPerRank(ModuleOp module) {
  return llvm::all_of(module.getOps<func::FuncOp>(), [](func::FuncOp function) {
    // Both forms are there until one is complete.
    if (!function.getBody().hasOneBlock())
      return false;
    for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
      if (isa<RankedTensorType>(type) &&
          !function.getResultAttr(index, TPDialect::getGlobalTypeAttrName()))
        return false;
    return true;
  });
}

/// Counts collectives with and without parts, and what reads a sum directly:
/// an operation that is computed row by row, or another one.
static void countRows(ModuleOp module, std::map<std::string, int64_t> &counts) {
  module.walk([&](CollectiveOpInterface op) {
    ++counts[op->hasAttr(partAttrName)    ? "rows: part of a collective"
             : op->hasAttr(wholeAttrName) ? "rows: whole collective"
                                          : "rows: not asked"];
    for (Operation *reader : op->getResult(0).getUsers())
      counts[isa<linalg::LinalgOp>(reader) ||
                     reader->getName().getDialectNamespace() == "arith"
                 ? "reads a collective: of rows"
                 : "reads a collective: other"]++;
  });
}

/// Counts sums by who makes them: a kernel that computes something else as
/// well, a kernel of its own, or a call.
static void countSums(ModuleOp module, std::map<std::string, int64_t> &counts) {
  auto isFused = [&](Operation *reader) {
    auto call = dyn_cast<func::CallOp>(reader);
    if (!call)
      return false;
    auto kernel = module.lookupSymbol<func::FuncOp>(call.getCallee());
    return !llvm::hasSingleElement(kernel.getOps<linalg::LinalgOp>());
  };
  module.walk([&](PeersOp op) {
    ++counts[llvm::any_of(op->getUsers(), isFused)
                 ? "sums: in a kernel with other work"
                 : "sums: in a kernel of their own"];
  });
  module.walk([&](AllReduceOp op) {
    if (auto reason = op->getAttrOfType<StringAttr>(libraryAttrName))
      ++counts["sums: a call, as " + reason.str()];
  });
}

/// True if an error is about what no program is written with: then it is no
/// refusal, but one of our own verifiers, or the runtime, stops what a stage
/// made.
static bool isOwnFault(StringRef error) {
  // The runtime is handed what the compiler made, and the weights that it
  // names.
  if (error.starts_with("the runtime: "))
    return true;
  if (!error.consume_front("'tp."))
    return false;
  StringRef name = error.take_until([](char c) { return c == '\''; });
  return name == "rank" || name == "reshard" || name == "await" ||
         llvm::any_of(collectiveRows, [&](const CollectiveRow &row) {
           return name == StringRef(row.operation);
         });
}

/// True if an error is about an operation of the dialect that programs are
/// written with: some of what its definition forbids is drawn.
static bool isRefusedByDefinition(StringRef error) {
  return error.starts_with("'tp.repeat' op") ||
         error.starts_with("'tp.parameter' op");
}

/// Adds steps on so small a cache that texts take several pages and rows wait
/// for each other.
static LogicalResult derive(func::FuncOp main) {
  auto ids = cast<RankedTensorType>(main.getArgumentTypes().front());
  GenerateRequest request;
  request.context = ids.getDimSize(1);
  request.rows = 2;
  request.chunk = 3;
  request.page = 2;
  return deriveSteps(main, request);
}

static void verifyTrial(Trial &trial, ModuleOp module,
                        const Generator &generator,
                        ArrayRef<std::string> stages) {
  std::string error;
  ScopedDiagnosticHandler handler(
      module.getContext(), [&](Diagnostic &diagnostic) {
        if (error.empty() &&
            diagnostic.getSeverity() == DiagnosticSeverity::Error)
          error = diagnostic.str();
        return success();
      });
  if (failed(verify(module))) {
    bool isRefused = isRefusedByDefinition(error);
    trial.message =
        isRefused ? error : "the program made is not valid: " + error;
    trial.outcome = isRefused ? Outcome::Refused : Outcome::Wrong;
    return;
  }
  trial.counts = countBodies(module);
  VerifyOptions options;
  options.seed = trial.seed;
  if (generator.generates) {
    auto main = module.lookupSymbol<func::FuncOp>("main");
    if (failed(derive(main)) || failed(verify(module))) {
      bool isRefused =
          StringRef(error).starts_with("steps of generation cannot be derived");
      trial.message = error;
      trial.outcome = isRefused ? Outcome::Refused : Outcome::Wrong;
      return;
    }
    options.script = trial.seed;
  }
  Coverage coverage;
  bool ran = false;
  std::vector<VerifyStage> steps = makeVerifyStages("", "none", stages);
  steps.insert(steps.begin(), VerifyStage{"start",
                                          [&](ModuleOp global) {
                                            ran = true;
                                            coverage.begin(global);
                                            return success();
                                          },
                                          Check::No});
  bool breaksOwnWork = false;
  for (VerifyStage &step : steps)
    step.run = [&, run = step.run, name = step.name](ModuleOp module) {
      // Programs of the last stage have no value ids, and are not counted.
      if (name == "peers")
        coverage.add(module);
      LogicalResult result = run(module);
      if (succeeded(result) && name == "rows")
        countRows(module, trial.counts);
      if (succeeded(result) && name == "peers")
        countSums(module, trial.counts);
      breaksOwnWork |= failed(result) && isPerRank(module);
      return result;
    };
  std::vector<VerifyStage> first;
  if (generator.mayBeUndefined)
    first = makeFirstStages();
  bool importBreaks = false;
  for (VerifyStage &stage : first)
    stage.run = [&, run = stage.run](ModuleOp global) {
      LogicalResult result = run(global);
      importBreaks = failed(result) && failed(verify(global));
      return result;
    };
  FailureOr<VerifyReport> report = verifyProgram(module, steps, options, first);
  if (failed(report)) {
    trial.message = error;
    if (importBreaks) {
      trial.message = "the stage import makes what is not valid: " + error;
    } else if (!ran) {
      trial.message = "the one-device program does not run: " + error;
      trial.outcome =
          generator.mayBeUndefined ? Outcome::Undefined : Outcome::Wrong;
    } else if (error.empty()) {
      trial.message = "refused without a reason";
    } else if (breaksOwnWork || isOwnFault(error)) {
      trial.message = "one of our own checks stops it: " + error;
    } else {
      trial.outcome = Outcome::Refused;
    }
    return;
  }
  if (!report->isEqual()) {
    llvm::raw_string_ostream os(trial.message);
    report->print(os);
    return;
  }
  trial.outcome = Outcome::Equal;
  if (steps.back().name != "peers")
    coverage.add(module);
  trial.coverage = coverage.toText();
}

Trial runTrial(ModuleOp module, const Generator &generator, uint64_t seed,
               ArrayRef<std::string> stages) {
  Trial trial;
  trial.seed = seed;
  auto start = std::chrono::steady_clock::now();
  verifyTrial(trial, module, generator, stages);
  trial.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return trial;
}

} // namespace tp::fuzz
