//===- tp-check-kernels.cpp - Every kernel of a program, on the CPU -------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles a program for a device, runs each of its kernels in the emulator on
// the values that the program gives it, and compares with the interpreter; or
// breaks each kernel on purpose and expects that this is noticed. A module that
// has gpu.module @kernels is taken as scheduled, and its kernels as they are.
// Exit codes: 0 all well, 1 a kernel is wrong (or a fault was not noticed), 2
// the command line or the input.
//
//===----------------------------------------------------------------------===//

#include "EmulateKernels.h"
#include "Run.h"

#include "mlir/Pass/PassManager.h"
#include "tp/CodeGen/Artifact.h"
#include "tp/Conversion/Gpu/Passes.h"
#include "tp/Conversion/Kernels/GpuModule.h"
#include "tp/Import/Import.h"
#include "tp/Import/ImportFlags.h"
#include "tp/InitAll.h"
#include "tp/Pipelines/Pipelines.h"
#include "tp/Schedule/RowKernels.h"
#include "tp/Support/ReadModule.h"
#include "tp/Target/Cuda/DeviceCode.h"
#include "tp/Verify/Verify.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"

namespace cl = llvm::cl;
using namespace mlir;
using namespace tp::emulator;
using tp::interp::Tensor;

namespace {
/// A program's kernels on some devices.
struct KernelSet {
  std::string image; ///< with this image's kernels; empty: with the portable
  llvm::MapVector<StringRef, KernelLaunch> launches;
  std::vector<StringRef> kernels; ///< those to be checked
  std::string bitcode;            ///< what PTX would be made of

  std::string describe(StringRef kernel) const {
    return (kernel + (image.empty() ? "" : " (" + image + ")")).str();
  }
};

/// A program's kernels and the calls of them.
struct Program {
  OwningOpRef<ModuleOp> module;
  std::vector<KernelSet> sets;
  std::vector<KernelCall> calls;
};

/// A shared object of emulated kernels, open while in scope.
class OpenKernels {
public:
  static llvm::Expected<std::unique_ptr<OpenKernels>>
  make(llvm::Module &module, bool checked = true) {
    auto kernels = std::make_unique<OpenKernels>();
    if (std::error_code error = llvm::sys::fs::createTemporaryFile(
            "tp-emulated", "so", kernels->path))
      return llvm::createStringError("cannot write a temporary file: " +
                                     error.message());
    if (llvm::Error error = rewriteKernels(module, /*ptxHash=*/0, checked))
      return std::move(error);
    if (llvm::Error error = linkKernels(module, kernels->path))
      return std::move(error);
    char message[512];
    kernels->emulator =
        tpEmulatorOpen(kernels->path.c_str(), message, sizeof message);
    if (!kernels->emulator)
      return llvm::createStringError(message);
    return kernels;
  }
  ~OpenKernels() {
    tpEmulatorClose(emulator);
    llvm::sys::fs::remove(path);
  }
  TpEmulator *emulator = nullptr;
  SmallString<128> path;
};

class Checker {
public:
  Checker(Program &program, KernelSet &set, uint64_t numSeeds, bool strict,
          bool makesPtx)
      : program(program), set(set), numSeeds(numSeeds), strict(strict),
        makesPtx(makesPtx) {}

  /// Runs every call; returns false if a kernel is wrong.
  bool checkAll(bool checked);
  /// Makes each of `faults` wherever it can be made; returns false if a kernel
  /// has places of one that are reached and none (strictly: not each) was
  /// noticed.
  bool breakAll(ArrayRef<Fault> faults);

private:
  /// The result of a call, in all orders up to one that shows something.
  struct Checked {
    Outcome outcome;
    size_t numRuns = 0;
  };
  using CheckedCalls = std::map<const KernelCall *, Checked>;
  /// The problem of `kernel`, in the first call that shows it. `done` is of the
  /// same emulator: a call is made once for all kernels that it launches.
  Outcome check(const TpEmulator *emulator, StringRef kernel,
                CheckedCalls &done, size_t &numRuns);
  /// Checks the kernels that run the code of `kernel`, with a fault in it.
  Outcome checkBroken(const TpEmulator *emulator, StringRef kernel,
                      int32_t fault);
  /// The kernels that are to be checked and run the code of `kernel`.
  SmallVector<StringRef> getUsers(StringRef kernel) const;
  bool breakKernel(const TpEmulator *emulator, ArrayRef<FaultPlace> places,
                   StringRef kernel, Fault fault);
  Outcome checkCall(const TpEmulator *emulator, const KernelCall &call,
                    uint64_t seed, size_t &numRuns);
  Outcome checkRows(const TpEmulator *emulator, const KernelCall &call,
                    uint64_t seed, size_t &numRuns);
  Outcome checkLibrary(const TpEmulator *emulator, const KernelCall &call,
                       ArrayRef<KernelLaunch> launches, uint64_t seed,
                       size_t &numRuns);

  Program &program;
  KernelSet &set;
  uint64_t numSeeds;
  bool strict, makesPtx;
  /// The reference of attention's variants, per call.
  std::map<std::pair<const KernelCall *, int64_t>, SmallVector<ExpectedResult>>
      references;
};
} // namespace

static int refuse(const llvm::Twine &text) {
  llvm::errs() << "tp-check-kernels: " << text << "\n";
  return 2;
}

//===----------------------------------------------------------------------===//
// From a model to kernels and calls
//===----------------------------------------------------------------------===//

static tp::TargetHandle getDevice() {
  return *tp::parseTarget(
      "cuda", [](const llvm::Twine &text) { llvm::report_fatal_error(text); });
}

static bool isScheduled(ModuleOp module) {
  if (module.lookupSymbol(tp::kernelsModuleName))
    return true; // and lowered as far
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(tp::kernelAttrName))
      return true;
  return false;
}

/// `isWhole` is called with the one-device program and all of its functions.
static LogicalResult schedule(ModuleOp module, tp::StageOptions options,
                              llvm::function_ref<LogicalResult()> isWhole) {
  options.target = getDevice();
  if (options.mesh.empty() && module.getOps<tp::MeshOp>().empty())
    options.mesh = "tp=1";
  for (tp::Stage stage : tp::getStages()) {
    if (stage == tp::Stage::Lower)
      break;
    if (stage == tp::Stage::Annotate && options.plan == "none")
      continue;
    PassManager passes(module.getContext());
    tp::buildStage(passes, stage, options);
    if (failed(passes.run(module)))
      return failure();
    if (stage == tp::Stage::Differentiate && failed(isWhole()))
      return failure();
  }
  return success();
}

/// Adds the launches in which kernels of `image` take the place of others.
static LogicalResult addSet(Program &program, gpu::GPUModuleOp kernels,
                            StringRef image) {
  KernelSet &set = program.sets.emplace_back();
  set.image = image;
  for (FunctionOpInterface kernel : tp::getDeviceKernels(kernels)) {
    std::optional<tp::Launch> launch = tp::getLaunch(kernel);
    if (!launch)
      return kernel.emitError("expected tp.grid and tp.block");
    bool isOwn = image.empty();
    for (const tp::KernelImage &own : tp::getKernelImages(kernel))
      if (own.image == image) {
        launch = own.launch;
        isOwn = true;
      }
    if (isOwn)
      set.kernels.push_back(kernel.getName());
    auto dim = [](const std::array<int64_t, 3> &sizes) {
      return TpEmulatorDim{uint32_t(sizes[0]), uint32_t(sizes[1]),
                           uint32_t(sizes[2])};
    };
    set.launches[kernel.getName()] = {
        dim(launch->grid), dim(launch->block), uint32_t(launch->sharedBytes),
        tp::getCodeName(kernel).str(), tp::getNumbers(kernel).vec()};
  }
  return success();
}

/// The kernels' module and what starts them.
static LogicalResult generate(Program &program) {
  ModuleOp module = *program.module;
  auto kernels = module.lookupSymbol<gpu::GPUModuleOp>(tp::kernelsModuleName);
  if (!kernels) {
    PassManager passes(module.getContext());
    getDevice()->buildKernels(passes);
    if (failed(passes.run(module)))
      return failure();
    kernels = module.lookupSymbol<gpu::GPUModuleOp>(tp::kernelsModuleName);
  }
  if (!kernels || tp::getDeviceKernels(kernels).empty())
    return module.emitError("the program has no kernel");
  SmallVector<std::string> images = tp::findImages(module);
  images.insert(images.begin(), "");
  for (const std::string &image : images)
    if (failed(addSet(program, kernels, image)))
      return failure();
  return success();
}

/// Removes the kernels that no call of a kernel to be checked runs.
static void eraseUnchecked(const Program &program, const KernelSet &set,
                           ModuleOp module) {
  llvm::StringSet<> needed;
  auto need = [&](StringRef kernel) {
    needed.insert(kernel);
    needed.insert(set.launches.lookup(kernel).code);
  };
  for (const KernelCall &call : program.calls)
    if (llvm::any_of(set.kernels,
                     [&](StringRef kernel) { return call.launches(kernel); })) {
      need(call.kernel);
      llvm::for_each(call.then, need);
    }
  auto kernels = module.lookupSymbol<gpu::GPUModuleOp>(tp::kernelsModuleName);
  for (FunctionOpInterface kernel : tp::getDeviceKernels(kernels))
    if (!needed.contains(kernel.getName()))
      kernel->erase();
}

static LogicalResult compile(Program &program) {
  OwningOpRef<ModuleOp> lowered = program.module->clone();
  PassManager passes(lowered->getContext());
  tp::buildGpuToLLVM(passes);
  if (failed(passes.run(*lowered)))
    return failure();
  for (KernelSet &set : program.sets) {
    OwningOpRef<ModuleOp> copy = lowered->clone();
    if (!set.image.empty())
      eraseUnchecked(program, set, *copy);
    FailureOr<std::string> bitcode = tp::makeBitcode(*copy, {set.image});
    if (failed(bitcode))
      return failure();
    set.bitcode = std::move(*bitcode);
  }
  return success();
}

/// Makes one element of each row stand out, so that a sum without its lane is
/// another sum, whatever the type.
static void addSpikes(Tensor &tensor) {
  if (!tensor.getElementType().isFloat() || tensor.getRank() == 0)
    return;
  int64_t width = tensor.getShape().back();
  for (int64_t row = 0; width && row * width < tensor.getNumElements(); ++row) {
    int64_t at = row * width + (7 * row + width / 3) % width;
    double factor = 4 * std::sqrt(double(width));
    tensor.setFloat(at, tensor.getFloat(at) * factor);
  }
}

static LogicalResult build(Program &program, const tp::StageOptions &options,
                           uint64_t seed, bool hasSpikes, bool isSampled) {
  ModuleOp module = *program.module;
  llvm::MapVector<StringRef, SmallVector<Tensor>> inputs;
  auto makeAll = [&]() -> LogicalResult {
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isPrivate() || function.isExternal())
        continue;
      auto made = tp::makeInputs(function, seed);
      if (failed(made))
        return failure();
      if (hasSpikes)
        llvm::for_each(*made, addSpikes);
      inputs[function.getSymNameAttr().getValue()] = std::move(*made);
    }
    return success();
  };
  if (failed(isScheduled(module) ? makeAll()
                                 : schedule(module, options, makeAll)))
    return failure();
  if (failed(generate(program)))
    return failure();
  for (auto &[name, tensors] : inputs) {
    auto calls = recordCalls(module, module.lookupSymbol<func::FuncOp>(name),
                             tensors, seed, isSampled);
    if (failed(calls))
      return failure();
    llvm::move(*calls, std::back_inserter(program.calls));
  }
  return compile(program);
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Keys [0, length) of what attention is given.
static SmallVector<Tensor> cutKeys(tp::nn::AttentionOp op,
                                   ArrayRef<Tensor> operands, int64_t length) {
  SmallVector<Tensor> cut{operands[0]};
  for (auto [i, operand] : llvm::enumerate(operands)) {
    if (i == 0)
      continue;
    SmallVector<int64_t> shape = cutKeys(op, i, length), zero(shape.size(), 0);
    Tensor part(shape, operand.getElementType());
    part.copyBox(operand, zero, zero, shape);
    cut.push_back(part);
  }
  return cut;
}

/// An operation that is called in one way, or in two: a result that may replace
/// an operand does so and does not.
Outcome Checker::checkLibrary(const TpEmulator *emulator,
                              const KernelCall &call,
                              ArrayRef<KernelLaunch> launches, uint64_t seed,
                              size_t &numRuns) {
  bool mayReplace = false;
  for (unsigned i = 0; i < call.results.size(); ++i)
    mayReplace |= call.library.getReplacedOperand(i) != nullptr;
  Outcome outcome;
  for (bool inPlace : {false, true}) {
    if (inPlace && !mayReplace)
      continue;
    ++numRuns;
    Outcome one = runLibrary(emulator, launches, call, inPlace, seed);
    outcome.worst = std::max(outcome.worst, one.worst);
    llvm::append_range(outcome.problems, one.problems);
  }
  return outcome;
}

/// A row kernel, which may also write states where their old values lie.
Outcome Checker::checkRows(const TpEmulator *emulator, const KernelCall &call,
                           uint64_t seed, size_t &numRuns) {
  const KernelLaunch &launch = set.launches[call.kernel];
  bool mayReplace =
      llvm::any_of(call.replaced, [](int64_t operand) { return operand >= 0; });
  Outcome outcome;
  for (bool inPlace : {false, true}) {
    if (inPlace && !mayReplace)
      continue;
    ++numRuns;
    Outcome one = runRows(emulator, launch, call, inPlace, seed);
    outcome.worst = std::max(outcome.worst, one.worst);
    for (const std::string &problem : one.problems)
      outcome.problems.push_back(problem + (inPlace ? ", in place" : ""));
  }
  return outcome;
}

Outcome Checker::checkCall(const TpEmulator *emulator, const KernelCall &call,
                           uint64_t seed, size_t &numRuns) {
  if (!call.library)
    return checkRows(emulator, call, seed, numRuns);
  SmallVector<KernelLaunch> launches{set.launches[call.kernel]};
  for (const std::string &name : call.then)
    launches.push_back(set.launches[name]);
  auto attention = dyn_cast<tp::nn::AttentionOp>(call.library.getOperation());
  if (!attention)
    return checkLibrary(emulator, call, launches, seed, numRuns);
  int64_t capacity = call.operands[1].getShape()[1];
  SmallVector<AttentionVariant> variants{
      {"as called", capacity, 0, false},
      {"wider rows, with lse", capacity, 8, true}};
  if (capacity > 1)
    variants.push_back({"fewer keys", capacity - (capacity + 2) / 3, 0, true});
  variants.push_back({"no key", 0, 0, true});
  if (launches.size() > 1) {
    // Splits without a tile, and without any key.
    variants.push_back({"few keys", (capacity + 8) / 9, 0, true});
    variants.push_back({"one key", 1, 0, false});
  }
  Outcome outcome;
  for (const AttentionVariant &variant : variants) {
    auto &reference = references[{&call, variant.keyLength}];
    if (reference.empty()) {
      func::FuncOp function =
          makeAttentionFunction(*program.module, attention, variant.keyLength);
      auto made = evaluate(
          function, cutKeys(attention, call.operands, variant.keyLength));
      function.erase();
      if (failed(made)) {
        outcome.problems.push_back("the reference does not run");
        return outcome;
      }
      reference = std::move(*made);
    }
    ++numRuns;
    Outcome one =
        runAttention(emulator, launches, call, variant, reference, seed);
    outcome.worst = std::max(outcome.worst, one.worst);
    outcome.problems = std::move(one.problems);
    if (!outcome.problems.empty())
      break;
  }
  return outcome;
}

Outcome Checker::check(const TpEmulator *emulator, StringRef kernel,
                       CheckedCalls &done, size_t &numRuns) {
  Outcome outcome;
  for (const KernelCall &call : program.calls) {
    if (!call.launches(kernel))
      continue;
    auto [place, isNew] = done.try_emplace(&call);
    auto &[all, runs] = place->second;
    for (uint64_t seed = 0; isNew && seed < numSeeds; ++seed) {
      Outcome one = checkCall(emulator, call, seed, runs);
      all.worst = std::max(all.worst, one.worst);
      for (std::string &problem : one.problems)
        all.problems.push_back(problem + " (rank " + std::to_string(call.rank) +
                               ", seed " + std::to_string(seed) + ")");
      if (!all.problems.empty())
        break;
    }
    numRuns += runs;
    outcome.worst = std::max(outcome.worst, all.worst);
    outcome.problems = all.problems;
    if (!outcome.problems.empty())
      return outcome;
  }
  return outcome;
}

static llvm::Expected<std::unique_ptr<llvm::Module>>
parse(const KernelSet &set, llvm::LLVMContext &context) {
  return llvm::parseBitcodeFile(
      llvm::MemoryBufferRef(set.bitcode, "kernels.bc"), context);
}

bool Checker::checkAll(bool checked) {
  llvm::LLVMContext context;
  auto module = llvm::cantFail(parse(set, context));
  auto kernels = OpenKernels::make(*module, checked);
  if (!kernels) {
    refuse(llvm::toString(kernels.takeError()));
    return false;
  }
  bool isRight = true;
  if (makesPtx)
    if (auto ptx = tp::makePtx(set.bitcode); !ptx) {
      refuse(llvm::toString(ptx.takeError()));
      return false;
    }
  CheckedCalls done;
  for (StringRef kernel : set.kernels) {
    size_t numRuns = 0;
    Outcome outcome = check((*kernels)->emulator, kernel, done, numRuns);
    if (numRuns == 0)
      outcome.problems.push_back("no call of the program reaches it");
    if (outcome.problems.empty()) {
      llvm::outs() << set.describe(kernel) << ": right in " << numRuns
                   << " runs, " << llvm::format("%.2f", outcome.worst)
                   << " of the tolerance\n";
      continue;
    }
    isRight = false;
    llvm::outs() << set.describe(kernel) << ": WRONG\n";
    for (const std::string &problem : outcome.problems)
      llvm::outs() << "  " << problem << "\n";
  }
  return isRight;
}

Outcome Checker::checkBroken(const TpEmulator *emulator, StringRef kernel,
                             int32_t fault) {
  tpEmulatorSetFault(fault);
  auto reset = llvm::scope_exit([] { tpEmulatorSetFault(0); });
  CheckedCalls done;
  size_t numRuns = 0;
  for (StringRef user : getUsers(kernel))
    if (Outcome outcome = check(emulator, user, done, numRuns);
        !outcome.problems.empty())
      return outcome;
  return {};
}

SmallVector<StringRef> Checker::getUsers(StringRef kernel) const {
  SmallVector<StringRef> users;
  for (StringRef other : set.kernels)
    if (set.launches.lookup(other).code == kernel)
      users.push_back(other);
  return users;
}

/// True if the fault at `place` changes anything: blocks that have no neighbour
/// cannot overlap.
static bool isFault(Fault fault, StringRef place, const KernelLaunch &launch) {
  if (fault != Fault::OverlapBlocks)
    return true;
  if (place.contains("ctaid.x"))
    return launch.grid.x > 1;
  if (place.contains("ctaid.y"))
    return launch.grid.y > 1;
  return launch.grid.z > 1;
}

bool Checker::breakKernel(const TpEmulator *emulator,
                          ArrayRef<FaultPlace> places, StringRef kernel,
                          Fault fault) {
  SmallVector<StringRef> users = getUsers(kernel);
  size_t numMade = 0, numNoticed = 0;
  std::string first;
  std::vector<std::string> unnoticed;
  for (auto [i, place] : llvm::enumerate(places)) {
    auto makesFault = [&](StringRef user) {
      return isFault(fault, place.text, set.launches[user]);
    };
    if (place.kernel != kernel || place.fault != fault ||
        llvm::none_of(users, makesFault))
      continue;
    int32_t number = i + 1;
    Outcome outcome = checkBroken(emulator, kernel, number);
    if (!outcome.problems.empty()) {
      ++numMade;
      if (numNoticed++ == 0)
        first = outcome.problems.front();
      continue;
    }
    // Faults that these calls do not reach are not held against them.
    if (checkBroken(emulator, kernel, -number).problems.empty())
      continue;
    ++numMade;
    unnoticed.push_back(place.text);
  }
  if (numMade == 0)
    return true;
  llvm::outs() << set.describe(kernel) << ": " << getFaultName(fault)
               << ": noticed " << numNoticed << " of " << numMade;
  if (numNoticed)
    llvm::outs() << ", first: " << first;
  llvm::outs() << "\n";
  for (const std::string &text : unnoticed)
    llvm::outs() << "  not noticed: " << text << "\n";
  return strict ? unnoticed.empty() : numNoticed > 0;
}

bool Checker::breakAll(ArrayRef<Fault> faults) {
  llvm::LLVMContext context;
  auto module = llvm::cantFail(parse(set, context));
  std::vector<FaultPlace> places = armFaults(*module, faults);
  auto kernels = OpenKernels::make(*module);
  if (!kernels) {
    refuse(llvm::toString(kernels.takeError()));
    return false;
  }
  // A broken loop may not end, and one finding is enough.
  tpEmulatorSetAccessLimit(20000000);
  tpEmulatorSetEndsAtFinding(true);
  bool allNoticed = true;
  for (Fault fault : faults)
    for (StringRef kernel : set.kernels)
      allNoticed &= breakKernel((*kernels)->emulator, places, kernel, fault);
  return allNoticed;
}

/// The faults of --break; nothing, after an error, if one is unknown.
static std::optional<SmallVector<Fault>>
parseFaults(ArrayRef<std::string> words) {
  SmallVector<Fault> faults;
  for (const std::string &word : words) {
    std::optional<Fault> fault = parseFault(word);
    if (!fault) {
      refuse("for the --break option: expected " +
             llvm::join(llvm::map_range(getFaults(), getFaultName), ", ") +
             ", got '" + word + "'");
      return std::nullopt;
    }
    faults.push_back(*fault);
  }
  return faults;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::OptionCategory category("tp-check-kernels options");
  cl::opt<std::string> input(cl::Positional, cl::Required,
                             cl::desc("DIR|program.mlir"), cl::cat(category));
  cl::opt<std::string> mesh("mesh", cl::desc("Axes and sizes (tp=1)"),
                            cl::value_desc("tp=4"), cl::cat(category));
  cl::opt<std::string> plan("plan", cl::desc("As for tp-verify"),
                            cl::cat(category));
  cl::opt<uint64_t> seeds(
      "seeds", cl::desc("Orders and roundings to run each call in (2)"),
      cl::init(2), cl::cat(category));
  cl::opt<uint64_t> dataSeed("data-seed", cl::desc("Of inputs and parameters"),
                             cl::init(1), cl::cat(category));
  cl::list<std::string> faults(
      "break", cl::CommaSeparated,
      cl::desc("Make these faults and expect that they are noticed"),
      cl::cat(category));
  cl::opt<bool> strict(
      "all", cl::desc("Expect that every fault is noticed, not one per kernel"),
      cl::cat(category));
  cl::opt<bool> spikes(
      "spikes", cl::desc("Inputs in which one element of each row stands out"),
      cl::cat(category));
  cl::opt<bool> sample(
      "sample",
      cl::desc("For large models: random results of matrix products, and large "
               "parameters that repeat"),
      cl::cat(category));
  cl::opt<bool> makesPtx("ptx", cl::desc("Also generate PTX, so that what is "
                                         "emulated has instructions of the "
                                         "device too"));
  cl::opt<bool> noChecks("no-checks",
                         cl::desc("Compare results only; memory accesses are "
                                  "not checked"),
                         cl::cat(category));
  tp::ImportFlags flags(category);
  cl::HideUnrelatedOptions(category);
  if (!cl::ParseCommandLineOptions(argc, argv,
                                   "Runs a program's GPU kernels on the CPU\n",
                                   &llvm::errs()))
    return 2;
  std::optional<tp::ImportOptions> importOptions =
      flags.get("tp-check-kernels");
  if (!importOptions)
    return 2;
  if (strict && faults.empty())
    return refuse("--all goes with --break");
  if (noChecks && !faults.empty())
    return refuse("--no-checks goes without --break");
  if (seeds == 0)
    return refuse("for the --seeds option: expected at least 1, got 0");
  auto chosen = parseFaults(std::vector<std::string>(faults));
  if (!chosen)
    return 2;

  DialectRegistry registry;
  tp::registerAllDialects(registry);
  tp::registerTargetDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  tp::UserDiagnosticHandler handler(&context);
  Program program;
  program.module = llvm::sys::fs::is_directory(input.getValue())
                       ? tp::importModel(&context, input, *importOptions)
                       : tp::readModule(&context, input);
  tp::StageOptions options;
  options.mesh = mesh;
  options.plan = plan;
  if (program.module && plan.empty())
    options.plan = tp::getUniqueMesh(*program.module) ? "none" : "megatron";
  if (!program.module ||
      failed(build(program, options, dataSeed, spikes, sample)))
    return 2;
  bool isRight = true;
  for (KernelSet &set : program.sets) {
    Checker checker(program, set, seeds, strict, makesPtx);
    isRight &= chosen->empty() ? checker.checkAll(!noChecks)
                               : checker.breakAll(*chosen);
  }
  return isRight ? 0 : 1;
}
