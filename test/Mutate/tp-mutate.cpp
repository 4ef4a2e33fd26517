//===- tp-mutate.cpp - How many wrong programs are noticed ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Partitions random programs (and those of files), changes one thing in each
// result and asks MLIR, tp-verify-partitioned and tp-verify in this order. What
// the program itself says wrongly must be noticed before tp-verify; what all of
// them let pass must be equal: on several inputs, and of a kind for which there
// is a reason. Anything else is a hole: exit code 1.
//
//===----------------------------------------------------------------------===//

#include "../Fuzz/RandomProgram.h"
#include "Mutations.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "tp/InitAll.h"
#include "tp/Partition/Derive.h"
#include "tp/Pipelines/Pipelines.h"
#include "tp/Support/NumberOption.h"
#include "tp/Support/Tool.h"
#include "tp/Verify/Passes.h"
#include "tp/Verify/Verify.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include <map>

using namespace mlir;
namespace cl = llvm::cl;

namespace {

/// One-device program, what is right of it, and its per-rank program.
struct Base {
  OwningOpRef<ModuleOp> oneDevice, perRank;
  tp::Mesh mesh;
  std::string name;
  /// By the seed of the inputs, made when asked for.
  std::map<unsigned, tp::Reference> references;

  tp::Reference *getReference(unsigned seed);
};

enum class Fate { Invalid, Verifier, Execution, Equal, Survived, Crash };

struct Mutant {
  Fate fate = Fate::Crash;
  std::string message;
};

struct Counts {
  unsigned fates[6] = {};
};

} // namespace

/// A mutant that so many inputs do not tell from the program is equal.
static constexpr unsigned numInputs = 32;

static tp::VerifyOptions getOptions(unsigned seed) {
  tp::VerifyOptions options;
  options.seed = seed;
  return options;
}

tp::Reference *Base::getReference(unsigned seed) {
  auto found = references.find(seed);
  if (found != references.end())
    return &found->second;
  auto reference = tp::Reference::run(
      *oneDevice->getOps<func::FuncOp>().begin(), getOptions(seed));
  if (failed(reference))
    return nullptr;
  return &references.emplace(seed, std::move(*reference)).first->second;
}

static bool partition(ModuleOp module, bool withCollectives) {
  PassManager passes(module.getContext());
  for (tp::Stage stage :
       {tp::Stage::Propagate, tp::Stage::Partition, tp::Stage::Collectives})
    if (stage != tp::Stage::Collectives || withCollectives)
      tp::buildStage(passes, stage, tp::StageOptions());
  return succeeded(passes.run(module));
}

/// Null if the program is refused or does not run.
static std::optional<Base> makeBase(OwningOpRef<ModuleOp> module,
                                    std::string name, bool withCollectives) {
  PassManager ids(module->getContext());
  ids.addPass(tp::createAssignValueIds());
  if (failed(verify(*module)) || failed(ids.run(*module)))
    return std::nullopt;
  Base base;
  base.name = std::move(name);
  base.oneDevice = module->clone();
  if (!base.getReference(1))
    return std::nullopt;
  if (!partition(*module, withCollectives))
    return std::nullopt;
  base.mesh = tp::getUniqueMesh(*module).getMesh().toMesh();
  // On one rank every collective is the identity.
  if (base.mesh.getNumRanks() == 1)
    return std::nullopt;
  base.perRank = std::move(module);
  return base;
}

/// The finding of tp-verify on the inputs of one seed; empty if it is
/// satisfied, or if the one-device program does not run on them.
static std::string compare(ModuleOp perRank, Base &base, unsigned seed) {
  tp::Reference *reference = base.getReference(seed);
  if (!reference)
    return "";
  auto function = *perRank.getOps<func::FuncOp>().begin();
  tp::Comparison comparison = tp::compareWithReference(
      function, base.mesh, *reference, getOptions(seed));
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (comparison.divergence)
    comparison.divergence->print(stream);
  return text;
}

static Mutant judge(ModuleOp perRank, Base &base,
                    const tp::mutate::Mutation &mutation) {
  std::string error;
  ScopedDiagnosticHandler handler(
      perRank.getContext(), [&](Diagnostic &diagnostic) {
        if (error.empty() &&
            diagnostic.getSeverity() == DiagnosticSeverity::Error)
          error = diagnostic.str();
        return success();
      });
  if (failed(verify(perRank)))
    return {Fate::Invalid, error};
  if (failed(tp::verifyPartitioned(perRank)))
    return {Fate::Verifier, error};
  for (unsigned seed = 1; seed <= numInputs; ++seed) {
    std::string difference = compare(perRank, base, seed);
    if (difference.empty())
      continue;
    if (mutation.noticed == tp::mutate::Noticed::ByVerifier)
      return {Fate::Survived,
              "the verifier, which should notice: " + difference};
    return {Fate::Execution, difference};
  }
  if (mutation.whyEqual.empty())
    return {Fate::Survived, "equal, for which there is no reason"};
  return {Fate::Equal, ""};
}

static SmallVector<tp::mutate::Mutation> getMutations() {
  SmallVector<tp::mutate::Mutation> all;
  llvm::append_range(all, tp::mutate::getStepMutations());
  llvm::append_range(all, tp::mutate::getAttributeMutations());
  llvm::append_range(all, tp::mutate::getValueMutations());
  return all;
}

static void printTable(ArrayRef<tp::mutate::Mutation> mutations,
                       ArrayRef<Counts> counts) {
  auto row = [](StringRef name, const Counts &count) {
    llvm::outs() << llvm::left_justify(name, 26);
    for (unsigned fate : count.fates)
      llvm::outs() << llvm::format("%10u", fate);
    llvm::outs() << "\n";
  };
  llvm::outs() << llvm::left_justify("mutation", 26)
               << "   invalid  verifier execution     equal  survived"
                  "     crash\n";
  Counts total;
  for (auto [mutation, count] : llvm::zip_equal(mutations, counts)) {
    row(mutation.kind, count);
    for (auto [sum, one] : llvm::zip_equal(total.fates, count.fates))
      sum += one;
  }
  row("all", total);
  llvm::outs() << "\nwhy they may be equal:\n";
  for (auto [mutation, count] : llvm::zip_equal(mutations, counts))
    if (count.fates[int(Fate::Equal)])
      llvm::outs() << "  " << mutation.kind << ": " << mutation.whyEqual
                   << "\n";
}

namespace {

struct Options {
  cl::OptionCategory category{"tp-mutate options"};
  cl::list<std::string> files{cl::Positional, cl::cat(category),
                              cl::desc("[annotated one-device programs]")};
  tp::NumberOption<uint64_t> first{
      "seed", cl::init(1), cl::cat(category),
      cl::desc("Seed of the first random program")};
  tp::NumberOption<unsigned> wanted{"mutants", cl::init(100), cl::cat(category),
                                    cl::desc("How many mutants to judge")};
  tp::NumberOption<unsigned> perProgram{"per-program", cl::init(10),
                                        cl::cat(category),
                                        cl::desc("Mutants of each program")};
  cl::opt<std::string> only{"kind", cl::cat(category),
                            cl::desc("Mutations of this kind alone")};
  cl::opt<std::string> list{"list", cl::cat(category),
                            cl::desc("List the mutants of this fate: equal, "
                                     "execution, verifier")};
  cl::opt<bool> print{"print", cl::cat(category),
                      cl::desc("Print what survives")};
};

/// Draws programs and mutants of them, and counts what becomes of these.
class Run {
public:
  Run(const Options &options, SmallVector<tp::mutate::Mutation> mutations)
      : options(options), mutations(std::move(mutations)),
        counts(this->mutations.size()) {}

  /// False if a file cannot be read.
  bool judgeAll(MLIRContext &context);
  /// True if all were noticed, and as many as wanted.
  bool print() const;

private:
  /// The program of a turn, which may be refused; nothing for a file that
  /// cannot be read.
  std::optional<std::optional<Base>> drawBase(MLIRContext &context,
                                              uint64_t turn) const;
  void judgeMutants(Base &base, uint64_t seed);
  bool judgeOne(Base &base, tp::mutate::Chance &chance);

  const Options &options;
  SmallVector<tp::mutate::Mutation> mutations;
  SmallVector<Counts> counts;
  unsigned numMutants = 0, numPrograms = 0, numHoles = 0;
};

} // namespace

static constexpr StringRef fates[] = {"invalid", "verifier", "execution",
                                      "equal",   "survived", "crash"};

std::optional<std::optional<Base>> Run::drawBase(MLIRContext &context,
                                                 uint64_t turn) const {
  // Refusals are the fuzzer's business.
  ScopedDiagnosticHandler quiet(&context,
                                [](Diagnostic &) { return success(); });
  // Every fourth program is one of the files, in turns.
  const auto &files = options.files;
  bool isFile = !files.empty() && turn % 4 == 0;
  std::string file = isFile ? files[turn / 4 % files.size()] : "";
  uint64_t seed = options.first + turn;
  OwningOpRef<ModuleOp> module =
      isFile ? parseSourceFile<ModuleOp>(file, &context)
             : tp::fuzz::makeRandomProgram(&context, seed);
  if (!module) {
    llvm::errs() << "tp-mutate: cannot read '" << file << "'\n";
    return std::nullopt;
  }
  std::string name = isFile ? file : "seed " + std::to_string(seed);
  return makeBase(std::move(module), name, turn / 2 % 2 == 1);
}

/// Judges a mutant, if the mutation that is drawn finds something to change.
bool Run::judgeOne(Base &base, tp::mutate::Chance &chance) {
  unsigned index = chance.below(mutations.size());
  OwningOpRef<ModuleOp> mutant = base.perRank->clone();
  std::string what = mutations[index].apply(*mutant, base.mesh, chance);
  if (what.empty())
    return false;
  Mutant result;
  llvm::CrashRecoveryContext recovery;
  (void)recovery.RunSafely(
      [&] { result = judge(*mutant, base, mutations[index]); });
  ++counts[index].fates[int(result.fate)];
  bool isHole = result.fate == Fate::Survived || result.fate == Fate::Crash;
  numHoles += isHole;
  if (isHole || options.list == fates[int(result.fate)])
    llvm::outs() << base.name << ", " << mutations[index].kind << " (" << what
                 << "): " << fates[int(result.fate)] << " " << result.message
                 << "\n";
  if (options.print && isHole)
    llvm::outs() << *mutant << "\n";
  return true;
}

void Run::judgeMutants(Base &base, uint64_t seed) {
  if (std::string wrong = compare(*base.perRank, base, 1); !wrong.empty()) {
    llvm::outs() << base.name << " is wrong as it is: " << wrong << "\n";
    ++numHoles;
    return;
  }
  ++numPrograms;
  tp::mutate::Chance chance(seed);
  // A kind alone finds nothing to change in many of its turns.
  unsigned turns = options.perProgram * (options.only.empty() ? 1 : 3);
  for (unsigned i = 0; i < turns && numMutants < options.wanted; ++i)
    numMutants += judgeOne(base, chance);
}

bool Run::judgeAll(MLIRContext &context) {
  for (uint64_t turn = 0;
       numMutants < options.wanted && turn < 20 * options.wanted; ++turn) {
    std::optional<std::optional<Base>> base = drawBase(context, turn);
    if (!base)
      return false;
    if (*base)
      judgeMutants(**base, options.first + turn);
  }
  return true;
}

bool Run::print() const {
  printTable(mutations, counts);
  llvm::outs() << "\n"
               << numMutants << " mutants of " << numPrograms
               << " programs, seeds from " << options.first << ": " << numHoles
               << " not noticed\n";
  return numHoles == 0 && numMutants >= options.wanted;
}

int main(int argc, char **argv) {
  tp::Tool tool(argc, argv, "tp-mutate");
  Options options;
  cl::HideUnrelatedOptions(options.category);
  if (!tp::parseCommandLine(argc, argv, "Mutants of per-rank programs\n"))
    return 2;

  DialectRegistry registry;
  tp::registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  context.printOpOnDiagnostic(false);
  llvm::CrashRecoveryContext::Enable();

  SmallVector<tp::mutate::Mutation> mutations = getMutations();
  if (!options.only.empty())
    llvm::erase_if(mutations, [&](const auto &mutation) {
      return mutation.kind != options.only;
    });
  if (mutations.empty()) {
    auto kinds = llvm::map_range(
        getMutations(), [](const auto &mutation) { return mutation.kind; });
    llvm::errs() << "tp-mutate: for the --kind option: expected one of "
                 << llvm::join(kinds, ", ") << ", got '" << options.only
                 << "'\n";
    return 2;
  }
  for (const tp::NumberOption<unsigned> *count :
       {&options.wanted, &options.perProgram})
    if (*count == 0) {
      llvm::errs() << "tp-mutate: for the --" << count->ArgStr
                   << " option: expected at least one, got 0\n";
      return 2;
    }
  Run run(options, std::move(mutations));
  if (!run.judgeAll(context))
    return 2;
  return run.print() ? 0 : 1;
}
