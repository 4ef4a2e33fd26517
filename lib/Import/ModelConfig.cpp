//===- ModelConfig.cpp - What a checkpoint's config.json says -------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The family's row of the table says under which keys its constants are; one
// function reads them for all families. KnownKeys.h has the law for the other
// keys.
//
//===----------------------------------------------------------------------===//

#include "tp/Import/ModelConfig.h"
#include "Composites.h"
#include "JsonFile.h"
#include "KnownKeys.h"
#include "Periods.h"
#include "ReadPositions.h"
#include "ReadQuantization.h"
#include "tp/Import/GgufConfig.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <cmath>

using namespace mlir;
namespace json = llvm::json;

namespace tp {

static constexpr int64_t maxHeadDim = 1 << 16;

StringRef stringify(FloatKind kind) {
  switch (kind) {
  case FloatKind::F32:
    return "f32";
  case FloatKind::BF16:
    return "bf16";
  case FloatKind::F16:
    return "f16";
  }
  llvm_unreachable("unknown float kind");
}

/// `dtype`, or `torch_dtype` as it was called.
static void readDtype(ObjectReader &reader, ModelConfig &config) {
  std::optional<std::string> now = reader.getString("dtype");
  std::optional<std::string> old = reader.getString("torch_dtype");
  StringRef key = now ? "dtype" : "torch_dtype";
  if (now && old && *now != *old)
    reader.error("torch_dtype") << "torch_dtype " << quoted(*old)
                                << " contradicts dtype " << quoted(*now);
  if (!now && !old)
    return;
  StringRef name = now ? *now : *old;
  config.dtype = llvm::StringSwitch<std::optional<FloatKind>>(name)
                     .Cases({"float32", "torch.float32"}, FloatKind::F32)
                     .Cases({"bfloat16", "torch.bfloat16"}, FloatKind::BF16)
                     .Cases({"float16", "torch.float16"}, FloatKind::F16)
                     .Default(std::nullopt);
  if (!config.dtype)
    reader.error(key) << "unsupported " << key << " " << quoted(name)
                      << "; expected \"float32\", \"bfloat16\" or \"float16\"";
}

Activation readActivation(ObjectReader &reader, StringRef key,
                          StringRef fallback) {
  std::string name = reader.getString(key).value_or(fallback.str());
  auto activation = llvm::StringSwitch<std::optional<Activation>>(name)
                        .Cases({"silu", "swish"}, Activation::SiLU)
                        .Cases({"gelu", "gelu_python"}, Activation::GeluErf)
                        .Cases({"gelu_new", "gelu_pytorch_tanh", "gelu_fast"},
                               Activation::GeluTanh)
                        .Case("relu", Activation::ReLU)
                        .Case("relu2", Activation::ReLUSquared)
                        .Default(std::nullopt);
  if (!activation)
    reader.error(key) << "unsupported " << key << " " << quoted(name)
                      << "; expected \"silu\", \"gelu\", \"gelu_new\", "
                         "\"gelu_pytorch_tanh\", \"gelu_fast\", \"relu\" "
                         "or \"relu2\"";
  return activation.value_or(Activation::SiLU);
}

/// Heads of the same size for queries, keys and values.
static void readHeads(ObjectReader &reader, const ConfigKeys &keys,
                      ModelConfig &config) {
  StringRef headsKey = keys.numHeads, sizeKey = keys.headDim.key;
  config.numHeads = reader.getInt(headsKey, std::nullopt, 1, maxSize);
  config.numKVHeads = config.numHeads;
  if (!keys.numKVHeads.empty()) {
    // Null means as many as queries; the defaults of a missing key differ, so
    // only that which is the same is taken.
    bool optional = !keys.needsKVHeads || reader.isPresent(keys.numKVHeads);
    config.numKVHeads = reader.getInt(
        keys.numKVHeads,
        optional ? std::optional(config.numHeads) : std::nullopt, 1, maxSize);
  }
  std::optional<int64_t> headDim;
  // Null means that it follows from the others; the default is for a missing
  // key.
  if (keys.headDim.value && !reader.isPresent(sizeKey))
    headDim = keys.headDim.value;
  if (!sizeKey.empty() && reader.get(sizeKey))
    headDim = reader.getInt(sizeKey, std::nullopt, 1, maxHeadDim);
  if (reader.failed())
    return;
  if (config.numHeads % config.numKVHeads != 0)
    reader.error(keys.numKVHeads)
        << "expected " << keys.numKVHeads << " to divide the "
        << config.numHeads << " query heads, got " << config.numKVHeads;
  if (headDim) {
    config.headDim = *headDim;
  } else if (config.hiddenSize % config.numHeads != 0) {
    reader.error(headsKey) << "expected " << headsKey
                           << " to divide the hidden size " << config.hiddenSize
                           << ", got " << config.numHeads;
    return;
  } else {
    config.headDim = config.hiddenSize / config.numHeads;
  }
  config.valueDim = config.headDim;
  if (sizeKey.empty() && !keys.headDim.value)
    reader.require("head_dim", config.headDim,
                   "the head size of this model_type follows from the others");
  if (config.headDim > maxHeadDim)
    reader.error(headsKey) << "expected a head size of at most " << maxHeadDim
                           << ", got " << config.headDim;
  else if (config.headDim > maxSize / config.numHeads)
    reader.error("head_dim")
        << "expected " << headsKey << " times head_dim to be at most "
        << maxSize << ", got " << config.numHeads << " times "
        << config.headDim;
}

/// By the end of the architecture's name.
static Head getHead(StringRef architecture) {
  if (architecture.ends_with("ForMaskedLM"))
    return Head::MaskedToken;
  if (architecture.ends_with("ForSequenceClassification"))
    return Head::Sequence;
  if (architecture.ends_with("ForTokenClassification"))
    return Head::Token;
  if (architecture.ends_with("ForCausalLM") ||
      architecture.ends_with("LMHeadModel") ||
      architecture.ends_with("ForConditionalGeneration"))
    return Head::NextToken;
  return Head::None;
}

/// How many classes a head tells apart: two, unless the file names them.
static void readLabels(ObjectReader &reader, ModelConfig &config) {
  config.numLabels = reader.getInt("num_labels", 2, 1, maxSize);
  if (const json::Object *names = reader.getObject("id2label"))
    config.numLabels = names->size();
  if (config.numLabels == 0)
    reader.error("id2label") << "expected id2label to name a class";
}

/// The factors, biases and dropouts that are given by a key or known.
static void readSettings(ObjectReader &reader, const ConfigKeys &keys,
                         ModelConfig &config) {
  // One key may say several things, and is wrong once.
  llvm::StringMap<bool> flags;
  auto flag = [&](const Setting<bool> &setting) {
    if (setting.key.empty())
      return setting.value;
    auto [known, isNew] = flags.try_emplace(setting.key, false);
    if (isNew)
      known->second = reader.getBool(setting.key, setting.value);
    return known->second;
  };
  auto number = [&](const Setting<double> &setting) {
    return setting.key.empty() ? setting.value
                               : reader.getPositive(setting.key, setting.value);
  };
  // Null means none; the default is for a missing key.
  auto cap = [&](const Setting<double> &setting) {
    bool isNull = reader.isPresent(setting.key) && !reader.has(setting.key);
    return isNull ? 0 : number(setting);
  };
  auto probability = [&](const Setting<double> &setting) {
    return setting.key.empty()
               ? setting.value
               : reader.getProbability(setting.key, setting.value);
  };
  config.tieEmbeddings = flag(keys.tieEmbeddings);
  config.queryKeyValueBias = flag(keys.queryKeyValueBias);
  config.attentionOutputBias = flag(keys.outputBias);
  config.feedForwardBias = flag(keys.feedForwardBias);
  if (!keys.isParallel.key.empty())
    config.layout.isParallel = flag(keys.isParallel);
  config.embeddingScale = number(keys.embeddingScale);
  config.residualScale = number(keys.residualScale);
  config.logitScale = number(keys.logitScale);
  config.logitCap = cap(keys.logitCap);
  config.attentionCap = cap(keys.attentionCap);
  config.attentionScale = number(keys.attentionScale);
  if (config.attentionScale == 0)
    config.attentionScale = 1 / std::sqrt(double(config.headDim));
  config.dropout = {
      probability(keys.embeddingDropout), probability(keys.residualDropout),
      probability(keys.attentionDropout), probability(keys.otherDropout),
      keys.attentionDropout.key,          keys.otherDropout.key};
}

/// Experts square where they have no gate, and there alone.
static void checkExperts(ObjectReader &reader, const ConfigKeys &keys,
                         const ModelConfig &config) {
  const ModelLayout &layout = config.layout;
  bool squares = config.activation == Activation::ReLUSquared;
  bool isGated = !layout.expertGate.empty() || !layout.expertGateUp.empty();
  if (!config.experts || squares != isGated)
    return;
  if (squares)
    reader.error(keys.activation.key)
        << "unsupported " << reader.getPath(keys.activation.key)
        << " \"relu2\" of experts";
  else
    reader.require(keys.activation.key, "relu2",
                   "experts without a gate have no other activation");
}

/// Reads what all families have, under the family's keys.
static void readModel(ObjectReader &reader, const JsonFile &file,
                      ModelConfig &config) {
  const ConfigKeys &keys = config.family->keys;
  int64_t multiple = keys.intermediateSize.value;
  config.hiddenSize = reader.getInt(keys.hiddenSize, std::nullopt, 1,
                                    maxSize / std::max<int64_t>(1, multiple));
  config.wordSize = config.hiddenSize;
  config.intermediateSize = reader.getInt(
      keys.intermediateSize.key,
      multiple ? std::optional(multiple * config.hiddenSize) : std::nullopt, 1,
      maxSize);
  if (!keys.numLayers.empty())
    config.numLayers =
        reader.getInt(keys.numLayers, std::nullopt, 1, maxLayers);
  readHeads(reader, keys, config);
  config.statesPositions = reader.has(keys.maxPositions.key);
  config.maxPositions =
      reader.getInt(keys.maxPositions.key, keys.maxPositions.value, 1, maxSize);
  config.normEpsilon =
      keys.normEpsilon.key.empty()
          ? keys.normEpsilon.value
          : reader.getPositive(keys.normEpsilon.key, keys.normEpsilon.value);
  config.activation =
      readActivation(reader, keys.activation.key, keys.activation.value);
  if (!config.layout.tokenTypes.empty())
    config.typeVocabSize =
        reader.getInt(keys.tokenTypes.key, keys.tokenTypes.value,
                      keys.mayLackTokenTypes ? 0 : 1, maxSize);
  if (config.typeVocabSize == 0)
    config.layout.tokenTypes = "";
  readSettings(reader, keys, config);
  if (keys.isRotary) {
    readRope(reader, file, keys, config);
    if (!reader.failed() && config.rope.getRotaryDim(config.headDim) % 2 != 0)
      reader.error(keys.headDim.key)
          << "expected an even head size for rotary embeddings, got "
          << config.rope.getRotaryDim(config.headDim);
  }
  readSlidingWindow(reader, keys, config);
  if (config.head == Head::Sequence || config.head == Head::Token)
    readLabels(reader, config);
  if (config.family->adjust)
    config.family->adjust(reader, config);
  checkExperts(reader, keys, config);
}

SmallVector<LayerRun> ModelConfig::getRuns(int64_t layers,
                                           int64_t length) const {
  SmallVector<LayerKind> kinds(layers);
  for (auto [i, kind] : llvm::enumerate(kinds)) {
    // A window that is not shorter than the sequence is none.
    kind.slides = slides[i] && getReach() < length;
    kind.convolves = !convolves.empty() && convolves[i];
    kind.mixes = lacksMixer.empty() || !lacksMixer[i];
    kind.feeds = lacksFeedForward.empty() || !lacksFeedForward[i];
    kind.width = widths.empty() ? 0 : widths[i];
    kind.rotates = kind.mixes && !kind.convolves &&
                   (skipsRotation.empty() || !skipsRotation[i]);
    kind.isLocal = slides[i] && localRope;
    kind.isDense = !isDense.empty() && isDense[i];
    kind.skipsNorm = layout.skipsFirstNorm && i == 0;
    kind.quantization = quantizationOf.empty() ? 0 : quantizationOf[i];
  }
  auto getCount = [&](int64_t first, int64_t period) {
    int64_t end = first + period;
    while (end < layers && kinds[end] == kinds[end - period])
      ++end;
    return (end - first) / period;
  };
  SmallVector<LayerRun> runs;
  for (Period piece : findPeriods(layers, getCount))
    runs.push_back({piece.first, piece.count,
                    SmallVector<LayerKind>(
                        ArrayRef(kinds).slice(piece.first, piece.period))});
  return runs;
}

/// The table's row that is not trained. PyTorch counts a negative one from the
/// end and refuses one beyond; no other program than one that trains needs it.
static void readPaddingRow(ObjectReader &reader, ModelConfig &config) {
  const Setting<int64_t> &key = config.family->keys.paddingRow;
  json::Value value = nullptr;
  if (const json::Value *given =
          key.key.empty() ? nullptr : reader.get(key.key))
    value = *given;
  else if (key.value >= 0 && (key.key.empty() || !reader.isPresent(key.key)))
    value = key.value;
  if (value.kind() == json::Value::Null)
    return;
  std::optional<int64_t> row = value.getAsInteger();
  if (row && *row < 0)
    *row += config.vocabSize;
  if (row && *row >= 0 && *row < config.vocabSize)
    config.paddingRow = row;
  else
    config.paddingProblem = showJson(value);
}

/// The initial values by which `transformers` begins to train: its
/// PreTrainedModel._init_weights. Ignores values that are no deviation, for no
/// result depends on them.
static void readInitialValues(ObjectReader &reader, ModelConfig &config) {
  const ConfigKeys &keys = config.family->keys;
  const json::Value *range = reader.get(keys.initializerRange);
  double deviation = range ? range->getAsNumber().value_or(0) : 0;
  if (deviation > 0 && deviation < 1e6)
    config.initializerRange = deviation;
}

/// The architecture, one of those that a row of the table has; the first where
/// the file names none.
static std::optional<StringRef>
readArchitecture(ObjectReader &reader, StringRef type,
                 ArrayRef<StringRef> supported) {
  const json::Array *architectures = reader.getArray("architectures");
  if (!architectures || architectures->empty())
    return supported.front();
  // Names differ in capitals from one release to another: MPTForCausalLM.
  std::optional<StringRef> name;
  if (architectures->size() == 1)
    name = architectures->front().getAsString();
  const auto *known = llvm::find_if(supported, [&](StringRef one) {
    return name && one.equals_insensitive(*name);
  });
  if (known != supported.end())
    return *known;
  auto diag = reader.error("architectures");
  diag << "unsupported architectures "
       << showJson(json::Value(json::Array(*architectures)))
       << " of model_type " << quoted(type) << "; expected one of ";
  llvm::interleave(
      supported, diag, [&](StringRef s) { diag << quoted(s); }, ", ");
  return std::nullopt;
}

/// The row of the table for the file's model, with its architecture checked.
static const Family *readFamily(ObjectReader &reader, ModelConfig &config) {
  std::optional<std::string> type = reader.getString("model_type");
  if (!type) {
    if (!reader.failed())
      reader.error() << "missing model_type: expected a string";
    return nullptr;
  }
  config.modelType = *type;
  const Family *row = llvm::find_if(
      getFamilies(), [&](const auto &s) { return s.modelType == *type; });
  if (row == getFamilies().end()) {
    auto diag = reader.error("model_type");
    diag << "unsupported model_type " << quoted(*type) << "; expected one of ";
    llvm::interleave(
        getFamilies(), diag,
        [&](const Family &s) { diag << quoted(s.modelType); }, ", ");
    for (const Composite &s : getComposites())
      if (s.keysType.empty() || s.keysType == s.modelType)
        diag << ", " << quoted(s.modelType);
    diag << "; tp_mlir.export takes any other PyTorch "
            "module (docs/Export.md)";
    return nullptr;
  }
  std::optional<StringRef> name =
      readArchitecture(reader, *type, row->architectures);
  if (!name)
    return nullptr;
  config.architecture = name->str();
  return row;
}

/// Reads a file of text alone, or the object for it.
static void readConfig(ObjectReader &reader, const JsonFile &file,
                       ModelConfig &config) {
  config.family = readFamily(reader, config);
  if (!config.family)
    return reader.fail();
  config.layout = config.family->layout;
  if (config.composite) {
    config.layout.prefixes = config.composite->prefixes;
    config.layout.heads = config.composite->heads;
  }
  config.head = getHead(config.architecture);
  // Models without a head are saved without the prefix.
  if (config.head == Head::None && config.architecture.ends_with("Model"))
    std::reverse(config.layout.prefixes.begin(), config.layout.prefixes.end());
  config.vocabSize = reader.getInt("vocab_size", std::nullopt, 1, maxSize);
  KnownKeys known(config.modelType);
  known.addSecondNames(reader);
  readDtype(reader, config);
  readCommonKeys(reader, *config.family, known);
  readModel(reader, file, config);
  readInitialValues(reader, config);
  readPaddingRow(reader, config);
  readQuantization(reader, config);
  if (config.composite && config.composite->adjust)
    config.composite->adjust(reader);
  finishKeys(reader, known);
}

std::optional<JsonFile> readConfigFile(MLIRContext *context, StringRef model) {
  SmallString<128> path(model);
  if (!isGgufFile(model)) {
    llvm::sys::path::append(path, "config.json");
    return JsonFile::read(context, path, maxConfigBytes);
  }
  FailureOr<json::Object> config = readGgufConfig(context, model);
  if (failed(config))
    return std::nullopt;
  path += ", as config.json";
  return JsonFile::parse(
      context, path,
      llvm::formatv("{0:2}", json::Value(std::move(*config))).str());
}

std::optional<ModelConfig> readModelConfig(MLIRContext *context,
                                           StringRef directory) {
  std::optional<JsonFile> file = readConfigFile(context, directory);
  if (!file)
    return std::nullopt;
  ObjectReader whole(*file, file->getRoot());
  ModelConfig config;
  config.composite = findComposite(whole);
  if (!config.composite) {
    readConfig(whole, *file, config);
    if (whole.failed())
      return std::nullopt;
    reportIgnoredKeys(whole, KnownKeys(config.modelType));
    return config;
  }
  const Composite &composite = *config.composite;
  if (!readArchitecture(whole, composite.modelType, composite.architectures))
    return std::nullopt;
  std::optional<json::Object> text = readText(whole, composite);
  if (!text)
    return std::nullopt;
  KnownKeys known(composite.keysType.empty() ? composite.modelType
                                             : composite.keysType);
  bool isFlat = !whole.has(composite.text);
  ObjectReader reader(*file, *text, isFlat ? "" : composite.text);
  readConfig(reader, *file, config);
  if (isFlat) {
    if (reader.failed())
      return std::nullopt;
    reportIgnoredKeys(reader, known);
    noteComposite(whole, composite, config.modelType);
    return config;
  }
  if (config.family)
    readCommonKeys(whole, *config.family, known);
  if (config.family && !config.quantization)
    readQuantization(whole, config);
  whole.ignore(composite.keys);
  finishKeys(whole, known);
  whole.join(reader);
  if (whole.failed())
    return std::nullopt;
  reportIgnoredKeys(whole, known);
  noteComposite(whole, composite, config.modelType);
  return config;
}

} // namespace tp
