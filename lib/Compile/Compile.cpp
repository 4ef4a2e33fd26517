//===- Compile.cpp - From a model to an artifact --------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Compile.h.
//
//===----------------------------------------------------------------------===//

#include "tp/Compile/Compile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Pass/PassManager.h"
#include "tp/CodeGen/Artifact.h"
#include "tp/Conversion/Kernels/Kernels.h"
#include "tp/Conversion/Step/LibraryFunctions.h"
#include "tp/Dialect/NN/IR/Quantized.h"
#include "tp/Dialect/TP/IR/ModelAttributes.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Import/GgufConfig.h"
#include "tp/Import/ImportFlags.h"
#include "tp/Ledger/Ledger.h"
#include "tp/Schedule/Buffers.h"
#include "tp/Schedule/Describe.h"
#include "tp/Support/Bytes.h"
#include "tp/Support/OutputFile.h"
#include "tp/Support/ReadModule.h"
#include "tprt/units.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include <chrono>

using namespace mlir;
using namespace tp;
using tprt::formatBytes;

/// The artifact's tables count so many bytes of one rank.
static constexpr int64_t maxBytes = int64_t(1) << 40;

static InFlightDiagnostic emitError(MLIRContext &context) {
  return mlir::emitError(UnknownLoc::get(&context));
}

static OwningOpRef<ModuleOp> readModel(MLIRContext &context,
                                       const CompileOptions &options) {
  if (failed(checkModelPath(&context, options.input)))
    return {};
  if (isCheckpoint(options.input))
    return importModel(&context, options.input, options.import);
  OwningOpRef<ModuleOp> module = readModule(&context, options.input);
  if (module && failed(ignoreTensors(*module, options.import.ignore)))
    return {};
  return module;
}

/// Prints `module` to a file that appears when it is whole.
static LogicalResult writeModule(ModuleOp module, StringRef path) {
  std::string message;
  std::unique_ptr<OutputFile> file = OutputFile::open(path, message);
  if (!file)
    return emitError(*module.getContext()) << message;
  OpPrintingFlags flags;
  flags.enableDebugInfo(/*enable=*/true, /*prettyForm=*/false);
  module.print(file->os(), flags);
  file->os() << "\n";
  message = file->commit();
  if (!message.empty())
    return emitError(*module.getContext()) << message;
  return success();
}

/// States the memory that a rank needs, of it so many bytes for states and, of
/// each entry, for what layers keep for their derivatives.
static void reportMemory(const Program &program, int64_t states,
                         const llvm::StringMap<int64_t> &kept,
                         llvm::raw_ostream &log) {
  llvm::Expected<llvm::json::Value> manifest =
      llvm::json::parse(program.manifest);
  if (!manifest) {
    llvm::consumeError(manifest.takeError());
    return;
  }
  for (llvm::json::Value &value :
       *manifest->getAsObject()->getArray("entries")) {
    llvm::json::Object &entry = *value.getAsObject();
    auto bytes = [&](StringRef key) { return *entry.getInteger(key); };
    log << "entry " << *entry.getString("name") << ": peak per rank "
        << formatBytes(bytes("peak_bytes")) << ", of it "
        << (states ? "states " + formatBytes(states) + ", " : "")
        << "intermediates " << formatBytes(bytes("arena_bytes"));
    if (int64_t size = kept.lookup(*entry.getString("name")))
      log << " (" << formatBytes(size) << " of them kept values)";
    log << ", communication " << formatBytes(bytes("comm_bytes")) << "\n";
  }
}

/// The ledger goes to standard output, unless the IR or artifact does.
static void printLedger(const LedgerReport &report,
                        const CompileOptions &options) {
  bool outputTaken =
      options.output == "-" || (options.output.empty() && options.lastStage);
  print(report, outputTaken ? llvm::errs() : llvm::outs(),
        options.explain == Explain::Json ? ExplainFormat::Json
                                         : ExplainFormat::Table);
}

namespace {
/// The memory that a rank holds, and the part of it that is generation's cache.
struct CacheFigures {
  int64_t peak = 0; ///< Bytes, of the largest step.
  int64_t most = 0; ///< Pages that all rows can fill.
  int64_t page = 0; ///< Tokens of a page.
  int64_t pageBytes = 0;
};

/// One compilation, stage by stage.
class Compilation {
public:
  Compilation(MLIRContext &context, const CompileOptions &options,
              llvm::raw_ostream &log)
      : context(context), options(options), log(log) {}

  LogicalResult run();
  /// Runs all stages, without making machine code, and says what a rank holds.
  FailureOr<CacheFigures> measure();

private:
  LogicalResult read();
  LogicalResult runStage(Stage stage, StringRef number);
  /// Adds to the ledger what is known once the program is scheduled.
  LogicalResult addScheduled(OwningOpRef<ModuleOp> before);
  LogicalResult takeFigures(Stage stage);
  /// True if IR or an artifact is asked for: what --explain alone reports may
  /// be more than tables can hold.
  bool makesProgram() const {
    return !options.output.empty() || options.lastStage ||
           options.explain == Explain::No;
  }
  LogicalResult checkMemory();
  LogicalResult writeArtifact();
  bool isBefore(Stage stage) const {
    return options.firstStage && stage <= *options.firstStage;
  }
  /// The ledger is of what the last pass that changes collectives has left.
  LogicalResult takeLedger(Stage stage);
  /// It is printed once memory and kernels are known, or nothing more is made.
  bool isExplainedAfter(Stage stage) const;
  void report(StringRef what) {
    double seconds =
        std::chrono::duration<double>(Clock::now() - start).count();
    log << llvm::formatv("{0,-13} {1,7:f3} s\n", what, seconds);
    start = Clock::now();
  }

  using Clock = std::chrono::steady_clock;
  MLIRContext &context;
  const CompileOptions &options;
  llvm::raw_ostream &log;
  Clock::time_point start = Clock::now();
  OwningOpRef<ModuleOp> module;
  StageOptions stageOptions;
  int64_t states = 0;
  llvm::StringMap<int64_t> kept;
  std::optional<LedgerReport> ledger;
};
} // namespace

LogicalResult Compilation::takeLedger(Stage stage) {
  bool isFinal = stage == Stage::Collectives ||
                 (options.lastStage == stage && stage == Stage::Partition) ||
                 (options.firstStage == stage && stage == Stage::Schedule);
  if (options.explain == Explain::No || !isFinal)
    return success();
  FailureOr<LedgerReport> report = readLedger(*module);
  if (failed(report))
    return failure();
  ledger = std::move(*report);
  return success();
}

bool Compilation::isExplainedAfter(Stage stage) const {
  return ledger && (options.lastStage == stage ? stage <= Stage::Schedule
                                               : stage == Stage::Schedule);
}

/// The model, or what a stage left of it: that must be as the stage leaves it.
LogicalResult Compilation::read() {
  if (options.output == "-" && !options.lastStage)
    return emitError(context) << "expected a file for the artifact after -o, "
                                 "got standard output; --compile-to=STAGE "
                                 "writes IR there";
  module = readModel(context, options);
  if (!module)
    return failure();
  bool hasEntry =
      llvm::any_of(module->getOps<func::FuncOp>(), [](func::FuncOp function) {
        return !function.isExternal();
      });
  if (!hasEntry)
    return module->emitError("expected a function with a body, of which the "
                             "artifact makes an entry, got none");
  // IR of the stages before schedule may have any types.
  bool isScheduled =
      !options.lastStage || *options.lastStage >= Stage::Schedule;
  for (auto function : module->getOps<func::FuncOp>())
    if (isScheduled && function.isPublic() && !function.isExternal() &&
        failed(checkEntryTypes(function)))
      return failure();
  stageOptions = options.stages;
  if (stageOptions.mesh.empty() && module->getOps<MeshOp>().empty())
    stageOptions.mesh = "tp=1";
  if (!isCheckpoint(options.input)) {
    stageOptions.generate = options.import.generate;
    stageOptions.train = options.import.train;
    if (options.firstStage && (stageOptions.generate || stageOptions.train))
      return emitError(context)
             << "steps are derived in import, which --compile-from="
             << getStageName(*options.firstStage) << " leaves out: expected --"
             << (stageOptions.train ? "train" : "generate") << " without it";
  }
  if (!options.firstStage)
    return success();
  PassManager manager(&context);
  buildContract(manager, *options.firstStage, stageOptions);
  if (failed(manager.run(*module)))
    return failure();
  return takeFigures(*options.firstStage);
}

/// Takes the figures of memory that are reported at the end and that later
/// stages lose.
LogicalResult Compilation::takeFigures(Stage stage) {
  if (stage == Stage::Collectives)
    for (auto function : module->getOps<func::FuncOp>())
      kept[function.getSymName()] = getKeptBytes(function);
  // Lower leaves none.
  if (stage == Stage::Schedule)
    for (auto state : module->getOps<StateOp>())
      states += getTensorBytes(cast<RankedTensorType>(state.getType()));
  if (!makesProgram())
    return success();
  if (states > maxBytes)
    return emitError(context)
           << "the states of a rank take " << formatBytes(states)
           << ", expected at most " << formatBytes(maxBytes)
           << ": use more ranks, or smaller states: of --generate fewer "
              "--rows, a shorter --context or fewer --cells";
  return stage == Stage::Schedule ? checkMemory() : success();
}

/// The memory of a rank while an entry runs must be a size that tables can
/// hold.
LogicalResult Compilation::checkMemory() {
  int64_t parameters = getHeldParameterBytes(*module);
  for (auto function : module->getOps<func::FuncOp>()) {
    auto arena = function->getAttrOfType<IntegerAttr>(arenaBytesAttrName);
    auto comm = function->getAttrOfType<IntegerAttr>(commBytesAttrName);
    // Lower refuses values without a size in bytes.
    auto hasSize = [](Type type) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      return tensor && tensor.getElementType().isIntOrFloat();
    };
    if (!arena || !comm ||
        !llvm::all_of(function.getArgumentTypes(), hasSize) ||
        !llvm::all_of(function.getResultTypes(), hasSize))
      continue;
    int64_t total = parameters + states + getValueBytes(function) +
                    arena.getInt() + comm.getInt();
    if (total > maxBytes)
      return function.emitError("a rank needs ")
             << formatBytes(total) << " while @" << function.getSymName()
             << " runs, of it parameters " << formatBytes(parameters)
             << " and intermediates " << formatBytes(arena.getInt())
             << ", expected at most " << formatBytes(maxBytes)
             << ": use more ranks, or fewer or shorter sequences";
  }
  return success();
}

LogicalResult Compilation::runStage(Stage stage, StringRef number) {
  PassManager manager(&context);
  manager.enableVerifier(stage != Stage::Lower);
  buildStage(manager, stage, stageOptions);
  if (failed(manager.run(*module))) {
    // Later stages do not change what is known of the collectives.
    if (ledger && stage == Stage::Schedule)
      printLedger(*ledger, options);
    return failure();
  }
  // The ledger, before schedule, counts what will lie in memory.
  if (stage == Stage::Partition)
    nn::settlePackedGroups(*module,
                           !stageOptions.target->getTraits().launchesKernels);
  StringRef name = getStageName(stage);
  report(name);
  if (!options.dumpDirectory.empty()) {
    SmallString<128> path(options.dumpDirectory);
    llvm::sys::path::append(path, number + "-" + name + ".mlir");
    if (failed(writeModule(*module, path)))
      return failure();
  }
  return takeFigures(stage);
}

LogicalResult Compilation::addScheduled(OwningOpRef<ModuleOp> before) {
  ProfileHandle profile = stageOptions.getProfile();
  if (failed(addSchedule(*module, *options.stages.target,
                         options.stages.overlap, profile, *ledger)))
    return failure();
  llvm::StringSet<llvm::MallocAllocator> split;
  for (const LedgerLine &line : ledger->lines)
    if (line.overlap && line.overlap->chunks > 1)
      split.insert(line.function);
  if (!profile || !ledger->untimed.empty() || !before || split.empty())
    return success();
  // The same with all rows in one part.
  StageOptions whole = stageOptions;
  whole.keepsRowsWhole = true;
  PassManager manager(&context);
  buildStage(manager, Stage::Schedule, whole);
  if (failed(manager.run(*before)))
    return failure();
  auto times = getRunSeconds(*before, *profile);
  if (failed(times))
    return failure();
  for (FunctionTotals &totals : ledger->functions)
    if (auto found = times->find(totals.name);
        found != times->end() && split.contains(totals.name))
      totals.unsplit = found->second;
  return success();
}

LogicalResult Compilation::writeArtifact() {
  FailureOr<Program> program = compileProgram(*module, *options.stages.target);
  if (failed(program))
    return failure();
  report("machine code");
  if (!options.kernelsDirectory.empty())
    if (std::string message = saveKernels(*program, options.kernelsDirectory);
        !message.empty())
      return emitError(context) << message;
  reportMemory(*program, states, kept, log);
  if (std::string message = writeProgram(*program, options.output);
      !message.empty())
    return emitError(context) << message;
  return success();
}

LogicalResult Compilation::run() {
  if (!options.output.empty())
    if (std::string problem = checkWritable(options.output); !problem.empty())
      return emitError(context) << problem;
  if (failed(read()))
    return failure();
  if (!options.dumpDirectory.empty())
    if (std::error_code error =
            llvm::sys::fs::create_directories(options.dumpDirectory))
      return emitError(context) << "cannot make " << options.dumpDirectory
                                << ": " << error.message();
  for (auto [number, stage] : llvm::enumerate(getStages())) {
    OwningOpRef<ModuleOp> before;
    if (ledger && stage == Stage::Schedule && stageOptions.getProfile() &&
        !stageOptions.overlap.isOff())
      before = module->clone();
    if (!isBefore(stage) && failed(runStage(stage, std::to_string(number))))
      return failure();
    bool isRead = options.firstStage == stage;
    if (isBefore(stage) && !isRead)
      continue;
    if (failed(takeLedger(stage)) || (ledger && stage == Stage::Schedule &&
                                      failed(addScheduled(std::move(before)))))
      return failure();
    if (isExplainedAfter(stage)) {
      printLedger(*ledger, options);
      // Nothing else was asked for; yet what lower would refuse is no program.
      if (!makesProgram())
        return isBefore(Stage::Lower) || stage < Stage::Schedule
                   ? success()
                   : checkLibraryFunctions(*module, *options.stages.target);
    }
    if (options.lastStage == stage)
      return writeModule(*module,
                         options.output.empty() ? "-" : options.output);
  }
  return writeArtifact();
}

FailureOr<CacheFigures> Compilation::measure() {
  if (failed(read()))
    return failure();
  for (Stage stage : getStages())
    if (failed(runStage(stage, "")))
      return failure();
  auto generation =
      (*module)->getAttrOfType<DictionaryAttr>(generationAttrName);
  auto text = (*module)->getAttrOfType<StringAttr>("tp.manifest");
  assert(generation && text && "a checkpoint that generates has both");
  auto number = [&](StringRef name) {
    return generation.getAs<IntegerAttr>(name).getInt();
  };
  CacheFigures figures;
  figures.most =
      number("rows") * llvm::divideCeil(number("context"), number("page"));
  figures.page = number("page");
  figures.pageBytes = states / (number("cells") / number("page"));
  llvm::json::Value manifest =
      llvm::cantFail(llvm::json::parse(text.getValue()));
  for (llvm::json::Value &value :
       *manifest.getAsObject()->getArray("entries")) {
    llvm::json::Object &entry = *value.getAsObject();
    if (entry.getString("name")->starts_with("step_"))
      figures.peak = std::max(figures.peak, *entry.getInteger("peak_bytes"));
  }
  return figures;
}

/// Sets the cells of the cache so that a rank holds at most `options.memory`
/// bytes. A compilation with the least cache says what else it holds, and so
/// how many pages there may be; another says whether they fit.
static LogicalResult fitCache(MLIRContext &context, CompileOptions &options,
                              llvm::raw_ostream &log) {
  CompileOptions trial = options;
  trial.explain = Explain::No;
  trial.output = "-", trial.lastStage = Stage::Lower;
  trial.dumpDirectory.clear();
  // The compilation that follows warns again.
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &diag) {
    return success(diag.getSeverity() != DiagnosticSeverity::Error);
  });
  int64_t cellsOfPage = 1;
  auto measure = [&](int64_t pages) {
    // Cells are whole pages, so that one is the least that there may be.
    trial.import.generate->cells = pages == 1 ? 1 : pages * cellsOfPage;
    return Compilation(context, trial, llvm::nulls()).measure();
  };
  int64_t memory = *options.memory;
  FailureOr<CacheFigures> least = measure(1);
  if (failed(least))
    return failure();
  cellsOfPage = least->page;
  if (least->peak > memory)
    return emitError(context)
           << "a rank needs " << formatBytes(least->peak)
           << " with a cache of one page: expected --memory to be at least as "
              "much, got "
           << formatBytes(memory) << "; use more ranks, or a smaller --chunk";
  int64_t most = least->most, page = least->pageBytes;
  int64_t pages = std::min(most, 1 + (memory - least->peak) / page);
  while (pages > 1) {
    FailureOr<CacheFigures> found = measure(pages);
    if (failed(found))
      return failure();
    if (found->peak <= memory)
      break;
    pages -= llvm::divideCeil(found->peak - memory, page);
    pages = std::max<int64_t>(pages, 1);
  }
  options.import.generate->cells = pages * cellsOfPage;
  log << "cache       " << pages * cellsOfPage << " tokens, of "
      << most * cellsOfPage << " that all rows can fill\n";
  return success();
}

namespace {
/// Prints a compilation's progress: at once if it takes long, and otherwise
/// when it has succeeded, for an error is all that there is to say of one that
/// fails soon.
class Progress : public llvm::raw_ostream {
public:
  explicit Progress(llvm::raw_ostream &log)
      : raw_ostream(/*unbuffered=*/true), log(log),
        start(std::chrono::steady_clock::now()) {}
  ~Progress() override { flush(); }
  void tell() {
    log << kept;
    log.flush();
    kept.clear();
  }

private:
  static constexpr std::chrono::seconds isLong{2};

  void write_impl(const char *text, size_t size) override {
    kept.append(text, size);
    position += size;
    if (std::chrono::steady_clock::now() - start > isLong)
      tell();
  }
  uint64_t current_pos() const override { return position; }

  llvm::raw_ostream &log;
  std::chrono::steady_clock::time_point start;
  std::string kept;
  uint64_t position = 0;
};
} // namespace

LogicalResult tp::compile(MLIRContext &context, const CompileOptions &options,
                          llvm::raw_ostream &log) {
  context.printOpOnDiagnostic(false);
  Progress progress(log);
  CompileOptions fitted = options;
  if (options.memory && failed(fitCache(context, fitted, progress)))
    return failure();
  if (failed(Compilation(context, fitted, progress).run()))
    return failure();
  progress.tell();
  return success();
}
