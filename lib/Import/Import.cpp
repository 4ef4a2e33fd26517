//===- Import.cpp - From a checkpoint directory to model IR ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the config, settles the options, emits the family's program and checks
// the parameters that it uses against the checkpoint (CheckTensors.h).
//
//===----------------------------------------------------------------------===//

#include "tp/Import/Import.h"
#include "CheckQuantized.h"
#include "CheckTensors.h"
#include "Generation.h"
#include "JsonFile.h"
#include "ModelBuilder.h"
#include "QuantizeWhileRead.h"
#include "ReadQuantization.h"
#include "SideFiles.h"
#include "TiedHead.h"
#include "Training.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"
#include "tp/Derive/DeriveSteps.h"
#include "tp/Derive/DeriveTraining.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/TP/IR/ModelAttributes.h"
#include "tp/Dialect/TP/IR/ParameterNames.h"
#include "tp/Dialect/TP/IR/Sizes.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Import/GgufConfig.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace tp {

static constexpr int64_t defaultSeq = 128;

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
                config.numHeads * std::max(config.headDim, config.valueDim),
                config.numHeads * config.getHeads({}).headDim});
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
  // Nothing reads the head of a model whose hidden states are asked for.
  if (config.head == Head::None && !config.layout.isEncoder)
    for (StringRef head : config.layout.heads)
      for (StringRef part : {".weight", ".bias"})
        if (part == ".weight" || config.layout.hasHeadBias)
          patterns.push_back((head + part).str());
  // A shared expert without width has tensors that nothing reads.
  if (config.experts && !config.experts->sharedWidth)
    for (StringRef name : {config.layout.sharedGate, config.layout.sharedUp,
                           config.layout.sharedDown})
      if (!name.empty())
        patterns.push_back(("*." + name + ".weight").str());
  for (int64_t i = layers; i < config.numLayers + config.numExtraLayers; ++i)
    for (StringRef prefix : config.layout.prefixes)
      patterns.push_back(instantiate((prefix + config.layout.layer).str(), i) +
                         ".*");
  return patterns;
}

//===----------------------------------------------------------------------===//
// Import
//===----------------------------------------------------------------------===//

/// The type of the table of words, for configs that do not say. Without weights
/// that is the default of `transformers`, and a remark says so: f32, but bf16
/// beside the formats of 8 and 4 bits that are always stored so.
static FloatKind getStoredType(Location loc, const ModelConfig &config,
                               const Checkpoint &checkpoint) {
  if (!checkpoint.hasWeights()) {
    bool isQuantized =
        config.quantization && (config.quantization->method == "mxfp4" ||
                                config.quantization->method == "fp8");
    FloatKind taken = isQuantized ? FloatKind::BF16 : FloatKind::F32;
    InFlightDiagnostic diag = emitRemark(loc);
    diag << "config.json names no dtype, and there are no weights to tell it: "
         << stringify(taken) << " is taken";
    if (isQuantized)
      diag << ", which " << config.quantization->method
           << " checkpoints are stored beside";
    diag << "; --dtype says another";
    return taken;
  }
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
  return llvm::json::fixUTF8(isGgufFile(path)
                                 ? llvm::sys::path::stem(path)
                                 : llvm::sys::path::filename(path));
}

/// The directory's tensors, without those that are left out.
static FailureOr<Checkpoint> openCheckpoint(MLIRContext *context,
                                            StringRef directory,
                                            const TensorPatterns &excluded) {
  FailureOr<Checkpoint> checkpoint = Checkpoint::open(context, directory);
  if (failed(checkpoint) || !checkpoint->hasWeights())
    return checkpoint;
  llvm::StringSet<> names;
  for (StringRef name : checkpoint->getTensors().keys())
    names.insert(name);
  if (failed(checkMatches(UnknownLoc::get(context), excluded, names,
                          /*hasWeights=*/true)))
    return failure();
  checkpoint->exclude(excluded);
  return checkpoint;
}

/// The type that tensors of one parameter are compared in: what they are read
/// as, and masters of weights in 16 bits are in 32.
static FloatKind getReadType(const ImportOptions &options, FloatKind dtype) {
  return options.train ? FloatKind::F32 : dtype;
}

/// True if the checkpoint has what the program asks for; without weights, that
/// the program knows what is left out.
static LogicalResult matchTensors(Location loc, const ModelConfig &config,
                                  bool wasTied, const Checkpoint &checkpoint,
                                  TensorRequest request) {
  if (!checkpoint.hasWeights()) {
    llvm::StringSet<> names;
    for (const ParameterUse &use : request.parameters)
      addNames(use, names);
    return checkMatches(loc, request.excluded, names, /*hasWeights=*/false);
  }
  SmallVector<std::string> heads = getHeadNames(config);
  if (!wasTied && !heads.empty()) {
    request.head = heads.front();
    request.table = getTableNames(config).front();
  }
  return checkTensors(loc.getContext(), checkpoint, request);
}

/// Adds the steps of generation, which are derived from a program on the
/// longest texts there may be.
static LogicalResult buildSteps(ModelBuilder &model,
                                const SentenceModules &modules,
                                const ModelConfig &config,
                                const Checkpoint &checkpoint,
                                const GenerateRequest &request) {
  model.batch = 1;
  // A sequence of one token is none.
  model.seq = std::max<int64_t>(*request.context, 2);
  model.lastLogits = false;
  model.isForSteps = true;
  model.begin("forward");
  auto source = cast<func::FuncOp>(model.getFunction());
  model.end(buildModel(model, modules));
  auto readScales = [&](OpBuilder &builder, Operation *attention,
                        unsigned which, int64_t heads) {
    model.builder.restoreInsertionPoint(builder.saveInsertionPoint());
    return model.readCacheScales(attention, which, heads);
  };
  CacheScales scales = readScales;
  if (!readsCacheScales(config, checkpoint, *request.cacheType))
    scales = nullptr;
  FailureOr<GenerateOptions> steps = deriveSteps(source, request, scales);
  source.erase();
  return steps;
}

static void buildFunctions(ModelBuilder &model, const SentenceModules &modules,
                           ArrayRef<int64_t> seqs) {
  for (int64_t seq : seqs) {
    model.seq = seq;
    model.begin(seqs.size() == 1 ? "main" : "seq_" + std::to_string(seq));
    model.end(buildModel(model, modules));
  }
}

/// config.json, and what ModelOpt writes beside it.
static std::optional<ModelConfig> readConfigFiles(MLIRContext *context,
                                                  StringRef directory) {
  std::optional<ModelConfig> config = readModelConfig(context, directory);
  if (config && !config->quantization &&
      failed(readQuantizationFile(context, directory, *config)))
    return std::nullopt;
  return config;
}

std::optional<SequenceLimits> readSequenceLimits(MLIRContext *context,
                                                 StringRef directory) {
  if (failed(checkSideFiles(context, directory)))
    return std::nullopt;
  std::optional<ModelConfig> config = readConfigFiles(context, directory);
  if (!config)
    return std::nullopt;
  int64_t most = config->getPositionLimit();
  return SequenceLimits{config->maxPositions, config->statesPositions, most,
                        getGeneratedLimit(*config).most,
                        config->plainPositions == most ? config->plainReason
                                                       : std::string()};
}

OwningOpRef<ModuleOp> importModel(MLIRContext *context, StringRef directory,
                                  const ImportOptions &options) {
  context->loadDialect<arith::ArithDialect, func::FuncDialect,
                       linalg::LinalgDialect, math::MathDialect,
                       tensor::TensorDialect, TPDialect, nn::NNDialect>();
  if (failed(checkSideFiles(context, directory)))
    return nullptr;
  std::optional<ModelConfig> config = readConfigFiles(context, directory);
  if (!config)
    return nullptr;
  auto excluded = TensorPatterns::parse(context, "--ignore", options.ignore);
  if (failed(excluded))
    return nullptr;
  FailureOr<Checkpoint> checkpoint =
      openCheckpoint(context, directory, *excluded);
  if (failed(checkpoint))
    return nullptr;
  if (config->quantization && config->quantization->method == ggufMethod &&
      failed(settleGguf(UnknownLoc::get(context), *config, *checkpoint)))
    return nullptr;
  if (!options.quantize.empty() &&
      failed(
          quantizeWhileRead(context, *config, *checkpoint, options.quantize)))
    return nullptr;
  auto modules = readSentenceModules(context, directory, config->hiddenSize);
  if (failed(modules))
    return nullptr;
  // The following modules are on the hidden states, so no head is asked for.
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
  FloatKind dtype = options.dtype   ? *options.dtype
                    : config->dtype ? *config->dtype
                                    : getStoredType(loc, *config, *checkpoint);

  bool wasTied = config->tieEmbeddings;
  if (failed(settleTiedHead(loc, *config, *checkpoint, *excluded, options.untie,
                            getReadType(options, dtype))))
    return nullptr;
  if (failed(settleQuantization(loc, *config, *checkpoint, options, *layers)))
    return nullptr;
  if (options.train &&
      failed(checkTraining(loc, *config, dtype, *options.train)))
    return nullptr;
  std::optional<GenerateRequest> steps;
  if (options.generate) {
    auto chosen = chooseGeneration(loc, *config, *options.generate, dtype);
    if (failed(chosen))
      return nullptr;
    steps = *chosen;
  }
  // The same layers are alike in all functions, which share the parameters.
  int64_t length =
      std::max(*llvm::max_element(*seqs), steps ? *steps->context : 0);
  ModelBuilder model(context, *config, *checkpoint, options, dtype,
                     seqs->front(), config->getRuns(*layers, length));
  model.readType = getReadType(options, dtype);
  buildFunctions(model, *modules, *seqs);
  if (steps &&
      (failed(noteGeneration(model.getModule(), directory, *config, *steps)) ||
       failed(buildSteps(model, *modules, *config, *checkpoint, *steps))))
    return nullptr;
  SmallVector<std::string> ignored = getIgnored(*config, *layers);
  auto unread = getUnreadQuantized(loc, *config, *checkpoint, options);
  if (failed(unread))
    return nullptr;
  ignored.append(*unread);
  if (options.train &&
      failed(deriveTraining(cast<func::FuncOp>(model.getFunction()),
                            *options.train)))
    return nullptr;
  OwningOpRef<ModuleOp> module = model.finish(getModelName(directory), ignored);
  TensorRequest request{model.getParameters(), model.getParts(), ignored,
                        *excluded, model.readType};
  if (failed(matchTensors(loc, *config, wasTied, *checkpoint, request)))
    return nullptr;
  noteExcluded(*module, *excluded);
  if (!options.quantize.empty())
    (*module)->setAttr(quantizeAttrName,
                       StringAttr::get(context, options.quantize));
  if (wasTied && !config->tieEmbeddings)
    noteUntied(*module);
  if (failed(verify(*module)))
    return nullptr;
  return module;
}

} // namespace tp
