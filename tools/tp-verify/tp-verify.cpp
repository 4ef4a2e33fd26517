//===- tp-verify.cpp - Compare the stages with the one-device program -----===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a model on one device and, after each stage asked for, on all ranks, and
// compares every value. Exit codes: 0 equal, 1 the input, 2 the command line,
// 3 a value differs. The report goes to standard output, a warning that there
// are values which cannot be judged to standard error.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Pass/PassManager.h"
#include "tp/Dialect/TP/IR/ModelAttributes.h"
#include "tp/Import/GgufConfig.h"
#include "tp/Import/ImportFlags.h"
#include "tp/InitAll.h"
#include "tp/Pipelines/Pipelines.h"
#include "tp/Support/NumberOption.h"
#include "tp/Support/ReadModule.h"
#include "tp/Support/Tool.h"
#include "tp/Verify/Derivative.h"
#include "tp/Verify/Stages.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include <variant>

namespace cl = llvm::cl;

static constexpr int userError = 1;
static constexpr int commandLineError = 2;
static constexpr int differs = 3;

/// Steps of generation, where the options leave their size open.
static constexpr int64_t shortContext = 64, fewRows = 2, smallChunk = 8;

static int complain(const llvm::Twine &message) {
  llvm::errs() << "tp-verify: " << message << "\n";
  return commandLineError;
}

/// True if a plan is needed: the module says nothing about shardings itself.
static bool isAnnotated(mlir::ModuleOp module) {
  return module
      ->walk([](mlir::Operation *op) {
        if (llvm::isa<tp::ShardingConstraintOp>(op) ||
            op->hasAttr(tp::TPDialect::getShardingsAttrName()))
          return mlir::WalkResult::interrupt();
        if (auto function = llvm::dyn_cast<mlir::func::FuncOp>(op))
          for (unsigned i = 0; i < function.getNumArguments(); ++i)
            if (function.getArgAttr(i, tp::TPDialect::getShardingAttrName()))
              return mlir::WalkResult::interrupt();
        return mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {
/// The command line, and what it says.
struct CommandLine {
  cl::OptionCategory category{"tp-verify options"};
  cl::opt<std::string> input{cl::Positional, cl::Required,
                             cl::desc("DIR|model.mlir"), cl::cat(category)};
  cl::opt<std::string> mesh{
      "mesh",
      cl::desc("Axes and sizes, outermost first: dp=2,tp=4 (default: "
               "the module's mesh, or tp=1)"),
      cl::cat(category)};
  cl::opt<std::string> plan{
      "plan",
      cl::desc("megatron, megatron-sp, expert, expert-sp, replicated, a JSON "
               "file, or none: as "
               "the module is annotated (default: none if it is, else "
               "megatron)"),
      cl::cat(category)};
  // Outlives the option, which keeps a reference.
  std::string stagesText = "Stages to compare at (default: all but lower): " +
                           llvm::join(tp::getVerifiableStages(), ", ");
  cl::list<std::string> stages{"stages", cl::CommaSeparated,
                               cl::desc(stagesText), cl::cat(category)};
  tp::NumberOption<int64_t> steps{
      "steps", cl::init(0),
      cl::desc("Steps of the entries in turn, from the states' initial values, "
               "each with the states that the one before left (default: 2 if "
               "the program has states, else 1)"),
      cl::cat(category)};
  cl::list<std::string> entries{
      "entry", cl::CommaSeparated,
      cl::desc("Entries of those steps, with commas between them (default: "
               "all)"),
      cl::cat(category)};
  cl::opt<std::string> script{
      "script", cl::value_desc("random:SEED"),
      cl::desc("Steps of generation, drawn at random (default: random:1 where "
               "there are any); --steps says how many (default 16)"),
      cl::cat(category)};
  tp::NumberOption<uint64_t> seed{"seed", cl::init(1),
                                  cl::desc("Of random inputs and weights"),
                                  cl::cat(category)};
  cl::opt<std::string> weights{
      "weights", cl::init("random"),
      cl::desc("A directory with safetensors files, or random (default)"),
      cl::cat(category)};
  cl::opt<std::string> against{
      "against", cl::value_desc("FILE"),
      cl::desc("Compare with this per-rank program instead of making one"),
      cl::cat(category)};
  cl::opt<bool> derivative{
      "derivative",
      cl::desc("Compare the gradient of the loss with differences of the loss, "
               "on one device in f64"),
      cl::cat(category)};
  cl::opt<tp::Recompute> recompute{
      "recompute",
      cl::desc("What the derivative of layers computes again (selective)"),
      cl::init(tp::Recompute::Selective), tp::getRecomputeValues(),
      cl::cat(category)};
  cl::opt<std::string> report{"report", cl::init("text"),
                              cl::desc("text or json"), cl::cat(category)};
  tp::ImportFlags flags{category};

  /// The stages asked for; `check` has seen that they are some.
  std::vector<std::string> getStages() const;
  /// Nothing if none is given, or it is malformed, which `check` has refused.
  std::optional<uint64_t> getScript() const;
  bool executes() const { return llvm::is_contained(getStages(), "lower"); }
  /// 0, or the exit code.
  int check() const;
};
} // namespace

std::vector<std::string> CommandLine::getStages() const {
  std::vector<std::string> words(stages.begin(), stages.end());
  // Rows in parts are an option of schedule; code takes its time.
  if (words.empty())
    words = {"propagate", "partition", "collectives"};
  return words;
}

std::optional<uint64_t> CommandLine::getScript() const {
  llvm::StringRef text = script;
  uint64_t number;
  if (!text.consume_front("random:") || text.getAsInteger(10, number))
    return std::nullopt;
  return number;
}

int CommandLine::check() const {
  if (report != "text" && report != "json")
    return complain("for the --report option: expected text or json, got " +
                    report);
  if (llvm::StringRef(weights).starts_with("random:"))
    return complain("for the --weights option: expected a directory, or "
                    "random, whose seed is that of --seed, got '" +
                    weights + "'");
  if (steps.getNumOccurrences() && steps < 1)
    return complain("for the --steps option: expected at least one step, got " +
                    llvm::Twine(steps));
  if (script.getNumOccurrences() && !getScript())
    return complain("for the --script option: expected random:SEED with a "
                    "natural number as the seed, got " +
                    script);
  if (script.getNumOccurrences() && entries.getNumOccurrences())
    return complain("--script chooses the entries: expected no --entry beside "
                    "it");
  std::vector<std::string> words = getStages();
  for (const std::string &word : words)
    if (!llvm::is_contained(tp::getVerifiableStages(), word))
      return complain("for the --stages option: expected " +
                      llvm::join(tp::getVerifiableStages(), ", ") + ", got " +
                      word);
  auto refuseBeside = [&](const cl::Option &other) {
    return derivative && other.getNumOccurrences()
               ? complain("--derivative compares the loss and its gradient on "
                          "one device: expected no --" +
                          other.ArgStr + " beside it")
               : 0;
  };
  for (int code : {refuseBeside(mesh), refuseBeside(plan), refuseBeside(stages),
                   refuseBeside(steps), refuseBeside(entries),
                   refuseBeside(script), refuseBeside(against)})
    if (code)
      return code;
  if (against.empty())
    return 0;
  if (mesh.getNumOccurrences() || plan.getNumOccurrences())
    return complain("--against takes the program as it is: expected no --mesh "
                    "or --plan beside it");
  if (stages.getNumOccurrences() && (words.size() > 1 || !executes()))
    return complain("--against compares one program: expected no --stages "
                    "beside it, or --stages=lower to compile and run it");
  return 0;
}

/// Steps of generation that nothing is said of are few and short: each is run
/// on one device and on all ranks, value by value. Says so.
static void boundSteps(tp::GenerateRequest &request) {
  std::string chosen;
  auto note = [&](const char *option, const std::optional<int64_t> &given,
                  int64_t number) {
    if (!given)
      chosen += llvm::formatv("{0}--{1} {2}", chosen.empty() ? "" : " ", option,
                              number);
  };
  note("context", request.context, shortContext);
  note("rows", request.rows, fewRows);
  note("chunk", request.chunk, smallChunk);
  request.defaultContext = shortContext;
  request.defaultChunk = smallChunk;
  request.rows = request.rows.value_or(fewRows);
  if (!chosen.empty())
    llvm::errs() << "tp-verify: steps of generation are verified with "
                 << chosen << ", or less where the model has less\n";
}

/// The exit code, where there is no report.
static std::variant<tp::VerifyReport, int>
verify(const CommandLine &line, mlir::ModuleOp module,
       const tp::VerifyOptions &options) {
  mlir::FailureOr<tp::VerifyReport> result = mlir::failure();
  if (!line.against.empty()) {
    auto perRank = tp::readModule(module.getContext(), line.against);
    if (!perRank)
      return userError;
    result = tp::verifyAgainst(
        module, *perRank,
        line.executes() ? tp::Check::Execute : tp::Check::Interpret, options);
  } else {
    std::string chosen = line.plan;
    if (chosen.empty())
      chosen = isAnnotated(module) ? "none" : "megatron";
    std::string axes = line.mesh;
    if (axes.empty() && !tp::getUniqueMesh(module))
      axes = "tp=1";
    result = tp::verifyProgram(
        module, tp::makeVerifyStages(axes, chosen, line.getStages()), options,
        tp::makeFirstStages(line.recompute));
  }
  if (mlir::failed(result))
    return userError;
  return std::move(*result);
}

/// True if the program computes in floats of 16 bits.
static bool isNarrow(mlir::ModuleOp module) {
  return module
      ->walk([](mlir::Operation *op) {
        return llvm::any_of(op->getResultTypes(),
                            [](mlir::Type type) {
                              type = mlir::getElementTypeOrSelf(type);
                              return type.isBF16() || type.isF16();
                            })
                   ? mlir::WalkResult::interrupt()
                   : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

/// Advises where 16 bits leave much inconclusive; empty elsewhere.
static std::string advise(const CommandLine &line, mlir::ModuleOp module) {
  if (!isNarrow(module))
    return "";
  return tp::isCheckpoint(line.input.getValue())
             ? "; of 16 bits little can be: --dtype f32 verifies the same "
               "program in f32"
             : "; of 16 bits little can be: verify the same program in f32";
}

static int print(const tp::VerifyReport &result, bool asJson,
                 llvm::StringRef advice) {
  if (asJson)
    llvm::outs() << llvm::formatv("{0:2}", result.toJSON()) << "\n";
  else
    result.print(llvm::outs());
  if (int64_t count = result.countUnjudged(); count && result.isEqual())
    llvm::errs() << "tp-verify: warning: nothing differs, but " << count
                 << " values hang on rounding and cannot be judged" << advice
                 << "\n";
  return result.isEqual() ? 0 : differs;
}

static int printDerivative(const CommandLine &line, mlir::ModuleOp module,
                           const tp::VerifyOptions &options) {
  mlir::FailureOr<tp::DerivativeReport> result =
      tp::verifyDerivative(module, options, line.recompute);
  if (mlir::failed(result))
    return userError;
  if (line.report == "json")
    llvm::outs() << llvm::formatv("{0:2}", result->toJSON()) << "\n";
  else
    result->print(llvm::outs());
  return result->difference ? differs : 0;
}

int main(int argc, char **argv) {
  tp::Tool tool(argc, argv, "tp-verify");
  CommandLine line;
  cl::HideUnrelatedOptions(line.category);
  if (!tp::parseCommandLine(
          argc, argv,
          "Compares a partitioned model with its one-device program\n"))
    return commandLineError;
  std::optional<tp::ImportOptions> importOptions = line.flags.get("tp-verify");
  if (!importOptions)
    return commandLineError;
  if (int code = line.check())
    return code;
  if (!line.flags.fit("tp-verify", line.input))
    return commandLineError;
  if (importOptions->generate)
    boundSteps(*importOptions->generate);

  mlir::DialectRegistry registry;
  tp::registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  tp::UserDiagnosticHandler handler(&context);
  if (failed(tp::checkModelPath(&context, line.input)))
    return userError;
  mlir::OwningOpRef<mlir::ModuleOp> module =
      tp::isCheckpoint(line.input.getValue())
          ? tp::importModel(&context, line.input, *importOptions)
          : tp::readModule(&context, line.input);
  if (!module)
    return userError;
  if (!tp::isCheckpoint(line.input.getValue())) {
    if (failed(tp::ignoreTensors(*module, importOptions->ignore)))
      return userError;
    tp::StageOptions derived;
    derived.generate = importOptions->generate;
    derived.train = importOptions->train;
    mlir::PassManager passes(&context);
    tp::buildStage(passes, tp::Stage::Import, derived);
    if ((derived.generate || derived.train) && failed(passes.run(*module)))
      return userError;
  }

  tp::VerifyOptions options;
  options.seed = line.seed;
  options.steps = line.steps;
  options.entries.assign(line.entries.begin(), line.entries.end());
  options.script = line.getScript();
  if (!options.script && (*module)->hasAttr(tp::generationAttrName)) {
    if (!line.entries.empty())
      return complain("the steps of generation have inputs that fit together "
                      "only by --script: expected no --entry");
    options.script = 1;
  }
  std::unique_ptr<tp::interp::ParameterProvider> parameters;
  if (line.weights != "random") {
    parameters = tp::interp::SafetensorsParameters::open(
        &context, line.weights.getValue(), tp::getExcludedTensors(*module));
    if (!parameters)
      return userError;
    options.parameters = parameters.get();
    options.weights = line.weights;
  }
  if (line.derivative)
    return printDerivative(line, *module, options);
  std::string advice = advise(line, *module);
  auto result = verify(line, *module, options);
  if (const int *code = std::get_if<int>(&result))
    return *code;
  return print(std::get<tp::VerifyReport>(result), line.report == "json",
               advice);
}
