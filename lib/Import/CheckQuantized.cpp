//===- CheckQuantized.cpp - Quantised checkpoints, as a whole -------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layers that are quantised alike share the body of a tp.repeat, so which ones
// they are is found before anything is emitted.
//
//===----------------------------------------------------------------------===//

#include "CheckQuantized.h"

#include "JsonFile.h"
#include "ModelBuilder.h"
#include "tp/Dialect/TP/IR/ParameterNames.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/Endian.h"

using namespace mlir;

namespace tp {

using Format = QuantizedScheme::Format;

/// The linear layers that a layer may have, behind its path.
static SmallVector<StringRef> getLinearNames(const ModelLayout &layout) {
  SmallVector<StringRef> names;
  for (StringRef name : {layout.query,
                         layout.key,
                         layout.value,
                         layout.output,
                         layout.queryKeyValue,
                         layout.queryDown,
                         layout.queryUp,
                         layout.keyValueDown,
                         layout.keyValueUp,
                         layout.gate,
                         layout.up,
                         layout.down,
                         layout.gateUp,
                         layout.expertGate,
                         layout.expertUp,
                         layout.expertDown,
                         layout.expertGateUp,
                         layout.sharedGate,
                         layout.sharedUp,
                         layout.sharedDown})
    if (!name.empty())
      names.push_back(name);
  return names;
}

static void noteLayers(ModelConfig &config, const Checkpoint &checkpoint,
                       int64_t layers) {
  SmallVector<StringRef> names = getLinearNames(config.layout);
  llvm::StringMap<int> numbers;
  for (int64_t i = 0; i < layers; ++i) {
    std::string signature;
    for (StringRef name : names) {
      SmallVector<std::string> spellings;
      for (StringRef prefix : config.layout.prefixes) {
        std::string path = (prefix + config.layout.layer + "." + name).str();
        for (StringRef end : {".weight", ""})
          spellings.push_back(
              getTensorNames(instantiate(path + end.str(), i), {1}).front());
      }
      const QuantizedScheme *scheme = findScheme(config, checkpoint, spellings);
      size_t number = 0;
      for (const QuantizationConfig::Group &group : config.quantization->groups)
        if (&group.scheme == scheme)
          number = &group - config.quantization->groups.data() + 1;
      signature += llvm::utostr(number) + ",";
    }
    config.quantizationOf.push_back(
        numbers.try_emplace(signature, numbers.size()).first->second);
  }
}

/// The type of the cache, where it is quantised.
static std::optional<CacheType> getByteCache(const ImportOptions &options) {
  if (!options.generate || !options.generate->cacheType ||
      *options.generate->cacheType < CacheType::FP8)
    return std::nullopt;
  return options.generate->cacheType;
}

/// Says what becomes of a recipe for keys and values.
static void remarkOnCache(Location loc, const ModelConfig &config,
                          const Checkpoint &checkpoint,
                          const ImportOptions &options) {
  const std::string &recipe = config.quantization->cacheScheme;
  if (recipe.empty())
    return;
  std::optional<CacheType> type = getByteCache(options);
  if (!type) {
    emitRemark(loc) << "keys and values are not quantised (the recipe: "
                    << recipe
                    << "): the cache has the type of --kv-dtype, and scales of "
                       "keys and values are not read";
    return;
  }
  if (readsCacheScales(config, checkpoint, *type))
    return;
  emitRemark(loc) << "keys and values are quantised by scales of each row and "
                     "head, and not by those of the recipe ("
                  << recipe << "): "
                  << (*type == CacheType::Int8
                          ? "--kv-dtype fp8 reads these"
                          : "the checkpoint has none that fit the cache");
}

LogicalResult settleQuantization(Location loc, ModelConfig &config,
                                 const Checkpoint &checkpoint,
                                 const ImportOptions &options, int64_t layers) {
  bool hasRecipe =
      config.quantization &&
      llvm::any_of(config.quantization->groups, [](const auto &group) {
        return group.scheme.activations.has_value();
      });
  if (options.floatActivations && !hasRecipe)
    return emitError(loc) << "--activations float: expected a checkpoint whose "
                             "quantization_config quantises activations, got "
                             "none";
  if (!config.quantization)
    return success();
  const std::string &method = config.quantization->method;
  remarkOnCache(loc, config, checkpoint, options);
  if (config.quantization->groups.empty())
    return success();
  if (options.train)
    return emitError(loc)
           << "--train: the weights of this checkpoint are quantised ("
           << method << "), and quantised weights are not trained: expected a "
           << "16-bit checkpoint";
  if (config.layout.isTransposed)
    return emitError(loc) << "unsupported quantization_config: quantised "
                             "weights of model_type "
                          << quoted(config.modelType) << " are not supported";
  const ActivationScheme *recipe = nullptr;
  for (const QuantizationConfig::Group &group : config.quantization->groups) {
    if (!group.scheme.activations)
      continue;
    recipe = &*group.scheme.activations;
    if (!options.floatActivations && !recipe->refusal.empty())
      return emitError(loc)
             << "unsupported " << recipe->refusal
             << "; --activations float leaves activations as they are, which "
                "rounds less than the checkpoint's recipe does";
  }
  if (recipe && (options.floatActivations || recipe->staysFloat))
    emitRemark(loc) << (options.floatActivations ? "--activations float: " : "")
                    << "activations are not quantised (the recipe: "
                    << recipe->text << ")";
  else if (recipe && config.experts)
    emitRemark(loc) << (recipe->isStatic
                            ? "activations inside of experts"
                            : "inputs of the last matrix of experts")
                    << " are not quantised (the recipe: " << recipe->text
                    << ")";
  noteLayers(config, checkpoint, layers);
  return success();
}

//===----------------------------------------------------------------------===//
// Tensors that are not read
//===----------------------------------------------------------------------===//

/// Reads all of a tensor's bytes.
static FailureOr<std::string> readAll(Location loc,
                                      const Checkpoint &checkpoint,
                                      StringRef name,
                                      const CheckpointTensor &tensor) {
  std::string path = (checkpoint.getDirectory() + "/" + tensor.file).str();
  llvm::Expected<CheckpointFile> file = CheckpointFile::open(path);
  std::string bytes(tensor.end - tensor.begin, '\0');
  llvm::Error error = file ? file->read(tensor.begin, bytes) : file.takeError();
  if (!error)
    return bytes;
  return emitError(loc) << path << ": cannot read tensor " << quoted(name)
                        << ": " << llvm::toString(std::move(error));
}

/// Without `desc_act` input k is in group k / group_size, whatever order the
/// tensor has; files that say another one are of no known kind.
static LogicalResult checkOrder(Location loc, const Checkpoint &checkpoint,
                                StringRef name, const CheckpointTensor &tensor,
                                int64_t group) {
  FailureOr<std::string> bytes = readAll(loc, checkpoint, name, tensor);
  if (failed(bytes))
    return failure();
  for (size_t k = 0; tensor.dtype == "I32" && k < bytes->size() / 4; ++k) {
    int32_t got = llvm::support::endian::read32le(bytes->data() + 4 * k);
    int64_t expected = group ? int64_t(k) / group : 0;
    if (got != expected)
      return emitError(loc)
             << checkpoint.getDirectory() << "/" << tensor.file << ": tensor "
             << quoted(name) << ": expected input " << k << " in group "
             << expected << ", for desc_act is false, got " << got;
  }
  return success();
}

/// `activation_scale_ub` of the config holds for all layers, whose own tensors
/// say it again.
static LogicalResult checkBounds(Location loc, const Checkpoint &checkpoint,
                                 double bound) {
  for (const auto &entry : checkpoint.getTensors()) {
    const CheckpointTensor &tensor = entry.second;
    if (!entry.first().ends_with(".input_scale_ub") || tensor.dtype != "F32")
      continue;
    FailureOr<std::string> bytes =
        readAll(loc, checkpoint, entry.first(), tensor);
    if (failed(bytes))
      return failure();
    float got = bytes->size() == 4
                    ? llvm::bit_cast<float>(
                          llvm::support::endian::read32le(bytes->data()))
                    : float(bound);
    if (got != float(bound))
      return emitError(loc)
             << checkpoint.getDirectory() << "/" << tensor.file << ": tensor "
             << quoted(entry.first()) << ": expected " << bound
             << ", which is activation_scale_ub of quantization_config, got "
             << got;
  }
  return success();
}

/// The name with a star for each number.
static std::string patternOf(StringRef name) {
  SmallVector<std::string> parts;
  for (StringRef part : llvm::split(name, '.'))
    parts.push_back(llvm::all_of(part, llvm::isDigit) ? "*" : part.str());
  return llvm::join(parts, ".");
}

/// GPTQ's layers are saved with a bias whether or not the model has one. One
/// that is zero in all layers may be there unused.
static LogicalResult addZeroBiases(Location loc, const Checkpoint &checkpoint,
                                   llvm::function_ref<void(StringRef)> add) {
  llvm::StringMap<bool> isZero;
  for (const auto &entry : checkpoint.getTensors()) {
    StringRef module = entry.first();
    if (!module.consume_back(".bias") ||
        !checkpoint.find((module + ".qweight").str()))
      continue;
    auto bytes = readAll(loc, checkpoint, entry.first(), entry.second);
    if (failed(bytes))
      return failure();
    std::string pattern = patternOf(entry.first());
    bool &all = isZero.try_emplace(pattern, true).first->second;
    all &= llvm::all_of(*bytes, [](char c) { return c == 0; });
  }
  for (const auto &entry : isZero)
    if (entry.second)
      add(entry.first());
  return success();
}

FailureOr<SmallVector<std::string>>
getUnreadQuantized(Location loc, const ModelConfig &config,
                   const Checkpoint &checkpoint, const ImportOptions &options) {
  SmallVector<std::string> patterns;
  if (!config.quantization)
    return patterns;
  auto add = [&](const Twine &text) {
    std::string pattern = text.str();
    if (!llvm::is_contained(patterns, pattern))
      patterns.push_back(pattern);
  };
  if (!config.quantization->cacheScheme.empty()) {
    std::optional<CacheType> type = getByteCache(options);
    if (!type || !readsCacheScales(config, checkpoint, *type))
      for (StringRef name : {"k_scale", "v_scale", "kv_scale",
                             "k_proj.output_scale", "v_proj.output_scale"})
        add(("*." + name).str());
    for (StringRef name : {"q_scale", "k_zero_point", "v_zero_point"})
      add(("*." + name).str());
  }
  for (const QuantizationConfig::Group &group : config.quantization->groups) {
    const QuantizedScheme &scheme = group.scheme;
    if (scheme.format == Format::Packed)
      add("*.weight_shape");
    if (const std::optional<ActivationScheme> &how = scheme.activations) {
      bool isRead =
          how->isStatic && !how->staysFloat && !options.floatActivations;
      // Inputs of experts are not rounded.
      std::string where = isRead ? "*.experts.*." : "*.";
      add(where + "input_scale");
      add(where + "input_zero_point");
      add(where + "activation_scale");
      add("*.input_global_scale");
      if (how->bound) {
        add("*.input_scale_ub");
        if (failed(checkBounds(loc, checkpoint, how->bound)))
          return failure();
      }
    }
    // A layer that has one group needs no order.
    if (scheme.isOrdered && scheme.format == Format::Packed)
      add("*.weight_g_idx");
    if (scheme.format != Format::GPTQ)
      continue;
    add("*.g_idx");
    for (const auto &entry : checkpoint.getTensors())
      if (entry.first().ends_with(".g_idx") && !scheme.isOrdered &&
          failed(checkOrder(loc, checkpoint, entry.first(), entry.second,
                            scheme.columns)))
        return failure();
    if (failed(addZeroBiases(loc, checkpoint, add)))
      return failure();
  }
  return patterns;
}

} // namespace tp
