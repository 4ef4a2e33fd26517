//===- Import.cpp - From a checkpoint directory to model IR ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the config, settles the options, emits the family's program and checks
// the parameters that it uses against the checkpoint's headers: every one must
// be there with its shape, and nothing may be left over.
//
//===----------------------------------------------------------------------===//

#include "tp/Import/Import.h"
#include "Generation.h"
#include "JsonFile.h"
#include "ModelBuilder.h"
#include "SideFiles.h"
#include "Training.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/TP/IR/ParameterNames.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Import/ModelAttributes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace tp {

static constexpr int64_t defaultSeq = 128;
static constexpr int64_t maxElements = int64_t(1) << 40;
static constexpr size_t maxListed = 8;

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

static FailureOr<int64_t> chooseLayers(Location loc, const ModelConfig &config,
                                       const ImportOptions &options) {
  int64_t layers = options.layers.value_or(config.numLayers);
  if (layers < 1 || layers > config.numLayers)
    return emitError(loc) << "expected --layers to be from 1 to the model's "
                          << config.numLayers << " layers, got " << layers;
  return layers;
}

static FailureOr<int64_t> chooseSeq(Location loc, const ModelConfig &config,
                                    const ImportOptions &options,
                                    std::optional<int64_t> asked) {
  // Beside steps, the whole program gives what they give.
  auto [most, limit] = options.generate
                           ? getGeneratedLimit(config)
                           : PositionLimit{config.getPositionLimit(),
                                           "the model's limit of positions,"};
  int64_t seq =
      asked.value_or(std::min({defaultSeq, most, config.maxPositions}));
  if (seq < 1 || seq > most) {
    InFlightDiagnostic diag = emitError(loc);
    diag << "expected --seq to be from 1 to " << limit << " " << most
         << ", got " << seq;
    adviseOnLength(diag, config, seq);
    return diag;
  }
  int64_t widest =
      std::max({config.vocabSize, config.hiddenSize, config.intermediateSize,
                config.numHeads * std::max(config.headDim, config.valueDim)});
  bool overflow =
      options.batch < 1 || options.batch > maxElements / seq / widest;
  if (overflow)
    return emitError(loc) << "expected --batch to be from 1 to "
                          << std::max<int64_t>(1, maxElements / seq / widest)
                          << " at " << seq << " positions, got "
                          << options.batch;
  return seq;
}

/// The lengths of all functions, each checked.
static FailureOr<SmallVector<int64_t>>
chooseSeqs(Location loc, const ModelConfig &config,
           const ImportOptions &options) {
  SmallVector<std::optional<int64_t>> asked(options.seqs.begin(),
                                            options.seqs.end());
  if (asked.empty())
    asked.push_back(std::nullopt);
  SmallVector<int64_t> seqs;
  for (std::optional<int64_t> length : asked) {
    FailureOr<int64_t> seq = chooseSeq(loc, config, options, length);
    if (failed(seq))
      return failure();
    seqs.push_back(*seq);
  }
  return seqs;
}

//===----------------------------------------------------------------------===//
// The checkpoint's tensors
//===----------------------------------------------------------------------===//

/// Tensors that files of a family may hold though no program reads them, the
/// layers that `--layers` leaves out, and those behind the model's.
static SmallVector<std::string> getIgnored(const ModelConfig &config,
                                           int64_t layers) {
  SmallVector<std::string> patterns;
  for (StringRef pattern : config.family->ignored)
    patterns.push_back(pattern.str());
  if (config.composite)
    for (StringRef pattern : config.composite->ignored)
      patterns.push_back(pattern.str());
  for (int64_t i = layers; i < config.numLayers + config.numExtraLayers; ++i)
    for (StringRef prefix : config.layout.prefixes)
      patterns.push_back(instantiate((prefix + config.layout.layer).str(), i) +
                         ".*");
  return patterns;
}

/// Names in double quotes, the first few of them.
static void list(InFlightDiagnostic &diag, ArrayRef<std::string> names) {
  llvm::interleave(
      names.take_front(maxListed), diag,
      [&](const std::string &name) { diag << quoted(name); }, ", ");
  if (names.size() > maxListed)
    diag << " and " << names.size() - maxListed << " more";
}

static std::string showShape(ArrayRef<int64_t> shape) {
  std::string text = "[";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(shape, os);
  return text + "]";
}

/// What is wrong with a tensor that stands for a parameter, or nothing.
static std::string checkTensor(const CheckpointTensor &tensor,
                               ArrayRef<int64_t> shape) {
  if (ArrayRef(tensor.shape) != shape)
    return "expected shape " + showShape(shape) + " from config.json, got " +
           showShape(tensor.shape);
  if (tensor.dtype != "F32" && tensor.dtype != "BF16" && tensor.dtype != "F16")
    return "expected dtype F32, BF16 or F16, got " + tensor.dtype;
  return "";
}

namespace {
/// Checks all parameters of a program against a checkpoint.
struct TensorChecker {
  Location loc;
  StringRef directory;
  const Checkpoint &checkpoint;
  llvm::StringSet<> used;
  SmallVector<std::string> missing;
  bool valid = true;

  /// One error for each parameter, however many layers have it wrong.
  void check(const ParameterUse &use, ArrayRef<int64_t> iterations) {
    std::string first;
    int64_t wrong = 0;
    // A tensor by any of its names.
    auto checkOne = [&](ArrayRef<std::string> names) {
      bool found = false;
      for (const std::string &name : names) {
        used.insert(name);
        const CheckpointTensor *tensor = checkpoint.find(name);
        if (!tensor)
          continue;
        found = true;
        std::string why =
            checkTensor(*tensor, getTensorShape(use.names[0], use.shape));
        if (!why.empty() && wrong++ == 0)
          first = directory.str() + "/" + tensor->file + ": tensor " +
                  quoted(name) + ": " + why;
      }
      if (!found)
        missing.push_back(names.front());
    };
    for (int64_t i : iterations) {
      SmallVector<SmallVector<std::string>> spellings;
      for (const std::string &pattern : use.names)
        spellings.push_back(getTensorNames(instantiate(pattern, i), use.shape));
      for (size_t e = 0; e < spellings[0].size(); ++e)
        checkOne(llvm::map_to_vector(
            spellings, [&](const auto &names) { return names[e]; }));
    }
    if (wrong == 0)
      return;
    valid = false;
    auto diag = emitError(loc) << first;
    if (wrong > 1)
      diag << ", and so in " << wrong - 1 << " more layers";
  }

  void report(ArrayRef<std::string> names, StringRef verb, StringRef why) {
    if (names.empty())
      return;
    valid = false;
    auto diag = emitError(loc);
    diag << directory << ": the checkpoint " << verb << " " << names.size()
         << (names.size() == 1 ? " tensor" : " tensors") << " that " << why
         << ": ";
    list(diag, names);
  }
};
} // namespace

static LogicalResult checkTensors(MLIRContext *context, StringRef directory,
                                  const Checkpoint &checkpoint,
                                  ArrayRef<ParameterUse> parameters,
                                  ArrayRef<std::string> ignored) {
  TensorChecker checker{
      UnknownLoc::get(context), directory, checkpoint, {}, {}};
  // The three parts of a fused tensor are one tensor of the file, and several
  // runs of layers may have it.
  llvm::MapVector<StringRef,
                  std::pair<const ParameterUse *, SetVector<int64_t>>>
      tensors;
  for (const ParameterUse &use : parameters) {
    auto &[first, iterations] = tensors[use.names.front()];
    if (!first)
      first = &use;
    iterations.insert_range(llvm::seq(use.first, use.first + use.count));
  }
  for (auto &[name, tensor] : tensors)
    checker.check(*tensor.first, tensor.second.getArrayRef());
  checker.report(checker.missing, "lacks", "config.json asks for");

  SmallVector<llvm::GlobPattern> globs;
  for (const std::string &pattern : ignored)
    globs.push_back(llvm::cantFail(llvm::GlobPattern::create(pattern)));
  SmallVector<std::string> unused;
  for (const auto &entry : checkpoint.getTensors())
    if (!checker.used.contains(entry.first()) &&
        llvm::none_of(globs, [&](const llvm::GlobPattern &glob) {
          return glob.match(entry.first());
        }))
      unused.push_back(entry.first().str());
  llvm::sort(unused);
  checker.report(unused, "has", "the model of config.json does not use");
  return success(checker.valid);
}

//===----------------------------------------------------------------------===//
// Import
//===----------------------------------------------------------------------===//

/// The type of the table of words, for configs that do not say.
static FloatKind getStoredType(const ModelConfig &config,
                               const Checkpoint &checkpoint) {
  for (StringRef prefix : config.layout.prefixes)
    if (const CheckpointTensor *tensor =
            checkpoint.find((prefix + config.layout.words + ".weight").str())) {
      if (tensor->dtype == "BF16")
        return FloatKind::BF16;
      if (tensor->dtype == "F16")
        return FloatKind::F16;
    }
  return FloatKind::F32;
}

static std::string getModelName(StringRef directory) {
  SmallString<128> path;
  if (llvm::sys::fs::real_path(directory, path))
    path = directory;
  return llvm::json::fixUTF8(llvm::sys::path::filename(path));
}

std::optional<SequenceLimits> readSequenceLimits(MLIRContext *context,
                                                 StringRef directory) {
  if (failed(checkSideFiles(context, directory)))
    return std::nullopt;
  std::optional<ModelConfig> config = readModelConfig(context, directory);
  if (!config)
    return std::nullopt;
  return SequenceLimits{config->maxPositions, config->statesPositions,
                        config->getPositionLimit(),
                        getGeneratedLimit(*config).most};
}

OwningOpRef<ModuleOp> importModel(MLIRContext *context, StringRef directory,
                                  const ImportOptions &options) {
  context->loadDialect<arith::ArithDialect, func::FuncDialect,
                       linalg::LinalgDialect, math::MathDialect,
                       tensor::TensorDialect, TPDialect, nn::NNDialect>();
  if (failed(checkSideFiles(context, directory)))
    return nullptr;
  std::optional<ModelConfig> config = readModelConfig(context, directory);
  if (!config)
    return nullptr;
  FailureOr<Checkpoint> checkpoint = Checkpoint::open(context, directory);
  if (failed(checkpoint))
    return nullptr;
  auto modules = readSentenceModules(context, directory, config->hiddenSize);
  if (failed(modules))
    return nullptr;
  // What follows is on the hidden states, so no head is asked for.
  if (modules->pooling != Pooling::None)
    config->head = Head::None;
  if (config->head == Head::None &&
      !llvm::is_contained(config->layout.prefixes, ""))
    config->layout.prefixes.push_back("");

  SmallString<128> path(directory);
  llvm::sys::path::append(path, "config.json");
  Location loc = FileLineColLoc::get(context, path, 1, 1);
  FailureOr<int64_t> layers = chooseLayers(loc, *config, options);
  FailureOr<SmallVector<int64_t>> seqs = chooseSeqs(loc, *config, options);
  if (failed(layers) || failed(seqs))
    return nullptr;
  if (options.lastLogits && config->head != Head::NextToken) {
    emitError(loc) << "--logits last needs a language model; "
                   << config->architecture
                   << " gives no logits of a next token";
    return nullptr;
  }
  FloatKind dtype = options.dtype.value_or(
      config->dtype.value_or(getStoredType(*config, *checkpoint)));

  if (options.train &&
      failed(checkTraining(loc, *config, dtype, *options.train)))
    return nullptr;
  std::optional<GenerateOptions> steps;
  if (options.generate) {
    auto chosen =
        chooseGeneration(loc, *config, *options.generate, dtype, *layers);
    if (failed(chosen))
      return nullptr;
    steps = *chosen;
  }

  // The same layers are alike in all functions, which share the parameters.
  int64_t length =
      std::max(*llvm::max_element(*seqs), steps ? steps->context : 0);
  ModelBuilder model(context, *config, *checkpoint, options, dtype,
                     seqs->front(), config->getRuns(*layers, length));
  for (int64_t seq : *seqs) {
    model.seq = seq;
    model.begin(seqs->size() == 1 ? "main" : "seq_" + std::to_string(seq));
    model.end(buildModel(model, *modules));
  }
  if (steps)
    for (int64_t tokens : getStepSizes(*steps)) {
      model.beginStep(*steps, tokens);
      model.end(buildModel(model, *modules));
    }
  SmallVector<std::string> ignored = getIgnored(*config, *layers);
  OwningOpRef<ModuleOp> module = model.finish(getModelName(directory), ignored);
  if (options.train)
    noteTraining(*module, *options.train);
  if (steps && failed(noteGeneration(*module, directory, *config, *steps)))
    return nullptr;
  if (checkpoint->hasWeights() &&
      failed(checkTensors(context, directory, *checkpoint,
                          model.getParameters(), ignored)))
    return nullptr;
  if (failed(verify(*module)))
    return nullptr;
  return module;
}

} // namespace tp
