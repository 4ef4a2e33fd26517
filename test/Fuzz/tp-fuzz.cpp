//===- tp-fuzz.cpp - Random programs through tp-verify's library ----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each seed makes a program, which is compared after every stage asked for. A
// refusal with an error counts as refused, not as success. Exit code 1 if a
// program differs, crashes or is refused without a word, if too many are
// refused, or if a row of the reshard table was never used.
//
//===----------------------------------------------------------------------===//

#include "Coverage.h"
#include "RandomProgram.h"
#include "mlir/IR/Verifier.h"
#include "tp/InitAll.h"
#include "tp/Verify/Stages.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/InitLLVM.h"

using namespace mlir;
namespace cl = llvm::cl;

namespace {
enum class Outcome { Equal, Refused, Failed };

struct Trial {
  Outcome outcome = Outcome::Failed;
  std::string message;
};
} // namespace

/// The message with its numbers blanked, to count alike ones together.
static std::string summarize(llvm::StringRef message) {
  std::string text;
  for (char c : message.take_front(160)) {
    bool digit = c >= '0' && c <= '9';
    if (!digit || text.empty() || text.back() != '#')
      text += digit ? '#' : c;
  }
  return text;
}

static Trial tryProgram(MLIRContext *context, uint64_t seed,
                        llvm::ArrayRef<std::string> stages,
                        tp::fuzz::Coverage &coverage) {
  Trial trial;
  std::string error;
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    if (error.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
      error = diagnostic.str();
    return success();
  });
  OwningOpRef<ModuleOp> module = tp::fuzz::makeRandomProgram(context, seed);
  if (failed(verify(*module))) {
    trial.message = "the program made is not valid: " + error;
    return trial;
  }
  bool ran = false;
  std::vector<tp::VerifyStage> steps = tp::makeVerifyStages("", "none", stages);
  steps.insert(steps.begin(), tp::VerifyStage{"start",
                                              [&](ModuleOp global) {
                                                ran = true;
                                                coverage.begin(global);
                                                return success();
                                              },
                                              tp::Check::No});
  tp::VerifyOptions options;
  options.seed = seed;
  FailureOr<tp::VerifyReport> report =
      tp::verifyProgram(*module, steps, options);
  if (failed(report)) {
    trial.message = error;
    if (!ran)
      trial.message = "the one-device program does not run: " + error;
    else if (error.empty())
      trial.message = "refused without a reason";
    else
      trial.outcome = Outcome::Refused;
    return trial;
  }
  if (!report->isEqual()) {
    llvm::raw_string_ostream os(trial.message);
    report->print(os);
    return trial;
  }
  coverage.add(*module);
  trial.outcome = Outcome::Equal;
  return trial;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::OptionCategory category("tp-fuzz options");
  cl::opt<uint64_t> first("seed", cl::init(1), cl::cat(category),
                          cl::desc("Seed of the first program"));
  cl::opt<unsigned> programs("programs", cl::init(1), cl::cat(category),
                             cl::desc("How many, with seeds one apart"));
  cl::list<std::string> stages(
      "stages", cl::CommaSeparated, cl::cat(category),
      cl::desc("Stages to compare at (default: all but lower)"));
  cl::opt<bool> print("print", cl::cat(category),
                      cl::desc("Print the programs and do nothing else"));
  cl::opt<unsigned> maxRefused("max-refused", cl::init(50), cl::cat(category),
                               cl::desc("Per cent that may be refused"));
  cl::opt<bool> requireRows(
      "require-rows", cl::cat(category),
      cl::desc("Fail if a row of the reshard table is never used"));
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv,
                              "Random programs, meshes and annotations\n");
  std::vector<std::string> words(stages.begin(), stages.end());
  if (words.empty())
    for (llvm::StringRef stage : tp::getVerifiableStages().drop_back())
      words.push_back(stage.str());

  DialectRegistry registry;
  tp::registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  context.printOpOnDiagnostic(false);
  if (print) {
    for (unsigned i = 0; i < programs; ++i) {
      auto module = tp::fuzz::makeRandomProgram(&context, first + i);
      llvm::outs() << "// seed " << first + i << "\n" << *module << "\n";
    }
    return 0;
  }

  llvm::CrashRecoveryContext::Enable();
  tp::fuzz::Coverage coverage;
  std::map<std::string, std::pair<unsigned, uint64_t>> refusals;
  unsigned numEqual = 0, numRefused = 0, numFailed = 0;
  for (unsigned i = 0; i < programs; ++i) {
    uint64_t seed = first + i;
    Trial trial;
    llvm::CrashRecoveryContext recovery;
    if (!recovery.RunSafely(
            [&] { trial = tryProgram(&context, seed, words, coverage); }))
      trial = {Outcome::Failed, "crash"};
    switch (trial.outcome) {
    case Outcome::Equal:
      ++numEqual;
      break;
    case Outcome::Refused: {
      ++numRefused;
      auto &entry = refusals[summarize(trial.message)];
      if (!entry.first++)
        entry.second = seed;
      break;
    }
    case Outcome::Failed:
      ++numFailed;
      llvm::outs() << "seed " << seed << " FAILED: " << trial.message << "\n";
      break;
    }
  }

  coverage.print(llvm::outs());
  llvm::outs() << "\nrefused:\n";
  for (const auto &[message, entry] : refusals)
    llvm::outs() << llvm::format("%5u", entry.first) << "  (seed "
                 << entry.second << ") " << message << "\n";
  llvm::outs() << "\nseeds " << first << " to " << first + programs - 1 << ": "
               << numEqual << " equal, " << numRefused << " refused, "
               << numFailed << " failed\n";
  bool bad = numFailed > 0;
  if (numRefused * 100 > maxRefused * programs) {
    llvm::outs() << "more than " << maxRefused << " % were refused\n";
    bad = true;
  }
  for (llvm::StringRef row : coverage.getMissingRows()) {
    llvm::outs() << "no program used the row '" << row
                 << "' of the reshard table\n";
    bad |= requireRows;
  }
  return bad ? 1 : 0;
}
