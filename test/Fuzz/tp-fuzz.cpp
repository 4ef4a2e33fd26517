//===- tp-fuzz.cpp - Random programs through tp-verify's library ----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each seed makes a program, which is compared after every stage asked for, in
// a child process. Exit code 1 if a program differs, crashes, takes too long or
// is refused without a word, if too many are refused, or (asked for) if a row
// of the reshard table was never used.
//
//===----------------------------------------------------------------------===//

#include "BodyCounts.h"
#include "Coverage.h"
#include "Runner.h"
#include "tp/InitAll.h"
#include "tp/Reduce/Reduce.h"
#include "tp/Support/NumberOption.h"
#include "tp/Support/Tool.h"
#include "tp/Verify/Stages.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tp::fuzz;
namespace cl = llvm::cl;

namespace {
/// The findings of a run of the fuzzer.
class Summary {
public:
  void add(const Trial &trial);
  void print(llvm::raw_ostream &os) const;
  unsigned count(Outcome outcome) const {
    auto found = outcomes.find(outcome);
    return found == outcomes.end() ? 0 : found->second.size();
  }
  Coverage coverage;
  std::map<std::string, int64_t> counts;

private:
  /// Messages that differ in numbers only, with how many and the first seed.
  using Reasons = std::map<std::string, std::pair<unsigned, uint64_t>>;
  static void addReason(Reasons &reasons, const Trial &trial);
  static void print(const Reasons &reasons, llvm::StringRef title,
                    llvm::raw_ostream &os);

  std::map<Outcome, std::vector<uint64_t>> outcomes;
  Reasons refusals, undefined;
  std::vector<std::pair<double, uint64_t>> times;
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

void Summary::addReason(Reasons &reasons, const Trial &trial) {
  auto &entry = reasons[summarize(trial.message)];
  if (!entry.first++)
    entry.second = trial.seed;
}

void Summary::add(const Trial &trial) {
  outcomes[trial.outcome].push_back(trial.seed);
  times.push_back({trial.seconds, trial.seed});
  for (const auto &[key, number] : trial.counts)
    counts[key] += number;
  switch (trial.outcome) {
  case Outcome::Equal:
    coverage.addText(trial.coverage);
    break;
  case Outcome::Refused:
    addReason(refusals, trial);
    break;
  case Outcome::Undefined:
    addReason(undefined, trial);
    break;
  default:
    llvm::outs() << "seed " << trial.seed << " FAILED, "
                 << stringify(trial.outcome) << ": " << trial.message << "\n";
    llvm::outs().flush();
  }
}

void Summary::print(const Reasons &reasons, llvm::StringRef title,
                    llvm::raw_ostream &os) {
  os << "\n" << title << ":\n";
  std::vector<std::pair<std::string, std::pair<unsigned, uint64_t>>> sorted(
      reasons.begin(), reasons.end());
  llvm::sort(sorted, [](const auto &a, const auto &b) {
    return std::tie(b.second.first, a.first) <
           std::tie(a.second.first, b.first);
  });
  for (const auto &[message, entry] : sorted)
    os << llvm::format("%5u", entry.first) << "  (seed " << entry.second << ") "
       << message << "\n";
}

void Summary::print(llvm::raw_ostream &os) const {
  coverage.print(os);
  printCounts(counts, os);
  print(refusals, "refused", os);
  if (!undefined.empty())
    print(undefined, "undefined on one device", os);
  std::vector<std::pair<double, uint64_t>> sorted = times;
  llvm::sort(sorted);
  os << llvm::format("\ntime per program: median %.1f ms, worst %.1f ms",
                     1000 * sorted[sorted.size() / 2].first,
                     1000 * sorted.back().first)
     << " (seed " << sorted.back().second << ")\n";
  for (Outcome outcome : {Outcome::Wrong, Outcome::Crashed, Outcome::TimedOut})
    if (auto found = outcomes.find(outcome); found != outcomes.end()) {
      os << stringify(outcome) << ":";
      for (uint64_t seed : found->second)
        os << " " << seed;
      os << "\n";
    }
  os << "\n" << times.size() << " programs:";
  for (const auto &[outcome, seeds] : outcomes)
    os << " " << seeds.size() << " " << stringify(outcome) << ",";
  unsigned failed = count(Outcome::Wrong) + count(Outcome::Crashed) +
                    count(Outcome::TimedOut);
  os << " " << failed << " failed\n";
}

/// The program of the first seed, made smaller as long as it fails the same
/// way.
static int printReduced(MLIRContext *context, const Generator &generator,
                        RunnerOptions options,
                        llvm::ArrayRef<std::string> stages) {
  options.count = 1;
  auto run = [&](ModuleOp module) {
    Trial last;
    runTrials(
        options,
        [&](uint64_t seed) {
          OwningOpRef<ModuleOp> copy = module.clone();
          return runTrial(*copy, generator, seed, stages);
        },
        [&](const Trial &trial) { last = trial; });
    return last;
  };
  OwningOpRef<ModuleOp> module = generator.make(context, options.first);
  Trial original = run(*module);
  if (original.outcome == Outcome::Equal) {
    llvm::errs() << "tp-fuzz: seed " << options.first
                 << " does not fail: nothing is reduced\n";
    return 1;
  }
  auto reduced = tp::reduceProgram(*module, [&](ModuleOp smaller) {
    return run(smaller).outcome == original.outcome;
  });
  llvm::outs() << "// seed " << options.first << ", "
               << stringify(original.outcome) << ": "
               << llvm::StringRef(run(*reduced).message).rtrim() << "\n"
               << *reduced << "\n";
  return 0;
}

/// Prints what became of all programs; false if that is not good.
static bool judge(const Summary &summary, unsigned programs,
                  unsigned maxRefused, bool requireRows) {
  summary.print(llvm::outs());
  bool isGood = summary.count(Outcome::Wrong) +
                    summary.count(Outcome::Crashed) +
                    summary.count(Outcome::TimedOut) ==
                0;
  if (summary.count(Outcome::Refused) * 100 > maxRefused * programs) {
    llvm::outs() << "more than " << maxRefused << " % were refused\n";
    isGood = false;
  }
  for (llvm::StringRef row : summary.coverage.getMissingRows()) {
    llvm::outs() << "no program used the row '" << row
                 << "' of the reshard table\n";
    isGood &= !requireRows;
  }
  for (const char *key :
       {"rows: part of a collective", "sums: in a kernel with other work"})
    if (requireRows && !summary.counts.contains(key)) {
      llvm::outs() << "no program has '" << key << "'\n";
      isGood = false;
    }
  return isGood;
}

/// The exit code of a value that an option does not take, which it says.
static int refuse(llvm::StringRef option, const llvm::Twine &problem) {
  llvm::errs() << "tp-fuzz: for the --" << option << " option: " << problem
               << "\n";
  return 2;
}

int main(int argc, char **argv) {
  tp::Tool tool(argc, argv, "tp-fuzz");
  cl::OptionCategory category("tp-fuzz options");
  cl::opt<std::string> generatorName(
      "generator", cl::init("transformers"), cl::cat(category),
      cl::desc(
          "What programs: transformers (default), causal, bodies, uneven or "
          "folds"));
  tp::NumberOption<uint64_t> first("seed", cl::init(1), cl::cat(category),
                                   cl::desc("Seed of the first program"));
  tp::NumberOption<unsigned> programs(
      "programs", cl::init(1), cl::cat(category),
      cl::desc("How many, with seeds one apart"));
  cl::list<std::string> stages(
      "stages", cl::CommaSeparated, cl::cat(category),
      cl::desc("Stages to compare at (default: all but lower)"));
  cl::opt<bool> print("print", cl::cat(category),
                      cl::desc("Print the programs and do nothing else"));
  cl::opt<bool> reduce("reduce", cl::cat(category),
                       cl::desc("Print a smaller program that fails as the "
                                "first one does"));
  tp::NumberOption<double> timeout(
      "timeout", cl::init(10), cl::cat(category),
      cl::desc("Seconds that one program may take"));
  tp::NumberOption<unsigned> maxRefused(
      "max-refused", cl::init(50), cl::cat(category),
      cl::desc("Per cent that may be refused"));
  cl::opt<bool> requireRows(
      "require-rows", cl::cat(category),
      cl::desc("Fail if a row of the reshard table is never used, no "
               "collective is in parts or no sum is in a kernel with others"));
  cl::HideUnrelatedOptions(category);
  if (!tp::parseCommandLine(argc, argv,
                            "Random programs, meshes and annotations\n"))
    return 2;
  const Generator *generator = findGenerator(generatorName);
  if (!generator) {
    return refuse("generator", "expected transformers, causal, bodies, uneven "
                               "or folds, got '" +
                                   generatorName + "'");
  }
  if (programs == 0)
    return refuse("programs", "expected at least one, got 0");
  if (!(timeout > 0))
    return refuse("timeout",
                  "expected seconds above 0, got " +
                      llvm::Twine(llvm::formatv("{0}", timeout.getValue())));
  std::vector<std::string> words(stages.begin(), stages.end());
  for (const std::string &word : words)
    if (!llvm::is_contained(tp::getVerifiableStages(), word))
      return refuse("stages", "expected some of " +
                                  llvm::join(tp::getVerifiableStages(), ", ") +
                                  ", got '" + word + "'");
  if (words.empty())
    words = {"propagate", "partition", "collectives", "rows", "peers"};

  DialectRegistry registry;
  tp::registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  context.printOpOnDiagnostic(false);
  if (print) {
    for (unsigned i = 0; i < programs; ++i) {
      auto module = generator->make(&context, first + i);
      llvm::outs() << "// seed " << first + i << "\n" << *module << "\n";
    }
    return 0;
  }

  RunnerOptions options;
  options.first = first;
  options.count = programs;
  options.timeout = timeout;
  if (reduce)
    return printReduced(&context, *generator, options, words);
  Summary summary;
  runTrials(
      options,
      [&](uint64_t seed) {
        auto module = generator->make(&context, seed);
        return runTrial(*module, *generator, seed, words);
      },
      [&](const Trial &trial) { summary.add(trial); });
  return judge(summary, programs, maxRefused, requireRows) ? 0 : 1;
}
