//===- GgufConfig.cpp - config.json of a GGUF file ------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each architecture of llama.cpp's is a model_type of transformers' with other
// names for the same numbers.
//
//===----------------------------------------------------------------------===//

#include "tp/Import/GgufConfig.h"

#include "CheckpointReader.h"
#include "JsonFile.h"
#include "mlir/IR/Diagnostics.h"
#include "tprt/gguf.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

using namespace mlir;
namespace json = llvm::json;

namespace tp {

/// Keys behind the architecture's name that do not change what a model
/// computes.
static constexpr StringLiteral ignoredKeys[] = {
    "vocab_size", "tensor_data_layout", "rope.scaling.finetuned"};
static constexpr int64_t mostLayers = 1 << 14;
/// Numbers of a tensor that is read here.
static constexpr int64_t mostNumbers = 1 << 16;

namespace {

/// The header of a file, and which of its metadata have been read.
class Keys {
public:
  Keys(MLIRContext *context, StringRef path, const CheckpointFile &bytes,
       const tprt::Gguf &file)
      : context(context), path(path), bytes(bytes), file(file) {
    if (const std::string *name = getText("general.architecture"))
      architecture = *name;
    for (const tprt::GgufTensor &tensor : file.tensors)
      tensors[tensor.name] = &tensor;
  }

  InFlightDiagnostic fail() {
    hasFailed = true;
    return emitError(UnknownLoc::get(context)) << "'" << path << "': ";
  }
  bool failed() const { return hasFailed; }

  const std::string *getText(const std::string &name) const {
    auto found = file.texts.find(name);
    return found == file.texts.end() ? nullptr : &found->second;
  }
  std::optional<int64_t> getAny(const std::string &name) const {
    auto found = file.integers.find(name);
    return found == file.integers.end() ? std::nullopt
                                        : std::optional(found->second);
  }

  bool has(StringRef key) const { return file.keys.count(getName(key)); }
  /// The value of an integer's key, or of a list that says the same of all
  /// layers; nothing where it is not there.
  std::optional<int64_t> findInt(StringRef key);
  int64_t getInt(StringRef key, int64_t fallback) {
    return findInt(key).value_or(fallback);
  }
  /// An integer that must be there.
  int64_t needInt(StringRef key);
  /// One of [1, most]; without `fallback` it must be there.
  int64_t getPositive(StringRef key, std::optional<int64_t> fallback,
                      int64_t most = int64_t(1) << 31);
  /// A number, as JSON has it: of an f32 the shortest decimal.
  std::optional<double> findNumber(StringRef key);
  double getNumber(StringRef key, double fallback) {
    return findNumber(key).value_or(fallback);
  }
  std::string getString(StringRef key, StringRef fallback);

  bool hasTensor(StringRef name) const { return tensors.contains(name); }
  /// Zero where there is no such tensor, or dimension.
  int64_t getExtent(StringRef name, size_t dim) const {
    auto found = tensors.find(name);
    return found == tensors.end() || dim >= found->second->shape.size()
               ? 0
               : found->second->shape[dim];
  }
  /// The numbers of a small tensor of F32.
  json::Array readNumbers(StringRef name);

  /// An error that names the keys of the architecture that were not read.
  void finish();

  std::string architecture;

private:
  std::string getName(StringRef key) const {
    return architecture + "." + key.str();
  }
  void failKind(const std::string &name, StringRef expected);

  MLIRContext *context;
  StringRef path;
  const CheckpointFile &bytes;
  const tprt::Gguf &file;
  llvm::StringMap<const tprt::GgufTensor *> tensors;
  llvm::StringSet<> seen;
  bool hasFailed = false;
};

} // namespace

/// The double that the shortest decimal of an f32 stands for.
static double widen(float value) {
  char text[64];
  auto [end, error] = std::to_chars(text, text + sizeof text, value);
  double wide = value;
  (void)error;
  (void)std::from_chars(text, end, wide);
  return wide;
}

void Keys::failKind(const std::string &name, StringRef expected) {
  std::string shown = "a list";
  llvm::raw_string_ostream os(shown);
  if (auto found = file.lists.find(name); found != file.lists.end()) {
    shown.clear();
    ArrayRef<int64_t> items = found->second;
    os << "[";
    llvm::interleaveComma(items.take_front(8), os);
    os << (items.size() > 8 ? ", ...]" : "]");
  } else if (auto text = getText(name)) {
    shown = json::fixUTF8(StringRef(*text).take_front(80));
  } else if (auto number = file.numbers.find(name);
             number != file.numbers.end()) {
    shown.clear();
    os << json::Value(widen(float(number->second)));
  }
  fail() << "metadata '" << name << "': expected " << expected
         << ", the same for all layers, got " << shown;
}

std::optional<int64_t> Keys::findInt(StringRef key) {
  std::string name = getName(key);
  seen.insert(name);
  if (auto value = getAny(name))
    return value;
  if (auto list = file.lists.find(name); list != file.lists.end() &&
                                         !list->second.empty() &&
                                         llvm::all_equal(list->second))
    return list->second.front();
  if (file.keys.count(name))
    failKind(name, "an integer");
  return std::nullopt;
}

int64_t Keys::needInt(StringRef key) {
  std::optional<int64_t> value = findInt(key);
  if (!value && !has(key))
    fail() << "metadata '" << getName(key) << "' is missing";
  return value.value_or(1);
}

int64_t Keys::getPositive(StringRef key, std::optional<int64_t> fallback,
                          int64_t most) {
  int64_t value = fallback ? getInt(key, *fallback) : needInt(key);
  if (value >= 1 && value <= most)
    return value;
  fail() << "metadata '" << getName(key) << "': expected 1 to " << most
         << ", got " << value;
  return 1;
}

std::optional<double> Keys::findNumber(StringRef key) {
  std::string name = getName(key);
  seen.insert(name);
  if (auto value = getAny(name))
    return double(*value);
  auto found = file.numbers.find(name);
  bool isFinite = found != file.numbers.end() && std::isfinite(found->second);
  if (isFinite)
    return double(float(found->second)) == found->second
               ? widen(float(found->second))
               : found->second;
  if (file.keys.count(name))
    failKind(name, "a finite number");
  return std::nullopt;
}

std::string Keys::getString(StringRef key, StringRef fallback) {
  std::string name = getName(key);
  seen.insert(name);
  if (const std::string *text = getText(name))
    return *text;
  if (file.keys.count(name))
    failKind(name, "a short text");
  return fallback.str();
}

json::Array Keys::readNumbers(StringRef name) {
  auto found = tensors.find(name);
  if (found == tensors.end()) {
    fail() << "tensor '" << name << "' is missing";
    return {};
  }
  const tprt::GgufTensor &tensor = *found->second;
  int64_t count = 1;
  for (int64_t extent : tensor.shape)
    count *= extent;
  if (tensor.type->name != "F32" || count > mostNumbers) {
    fail() << "tensor '" << name << "': expected at most " << mostNumbers
           << " numbers of type F32, got " << count << " of type "
           << StringRef(tensor.type->name);
    return {};
  }
  std::vector<float> values((size_t(count)));
  MutableArrayRef<char> to(reinterpret_cast<char *>(values.data()),
                           values.size() * sizeof(float));
  if (llvm::Error error = bytes.read(uint64_t(tensor.offset), to)) {
    fail() << llvm::toString(std::move(error));
    return {};
  }
  json::Array numbers;
  for (float value : values) {
    if (!std::isfinite(value)) {
      fail() << "tensor '" << name << "': expected finite numbers";
      return {};
    }
    numbers.push_back(widen(value));
  }
  return numbers;
}

void Keys::finish() {
  if (failed())
    return;
  std::string prefix = architecture + ".";
  std::string left;
  for (const std::string &name : file.keys) {
    StringRef key = name;
    if (seen.contains(name) || !key.consume_front(prefix) ||
        llvm::is_contained(ignoredKeys, key))
      continue;
    left += (left.empty() ? "" : ", ") + name;
  }
  if (!left.empty())
    fail() << "unsupported metadata " << left
           << ": what it changes in a model of architecture '" << architecture
           << "' is not known here";
}

//===----------------------------------------------------------------------===//
// Rotation
//===----------------------------------------------------------------------===//

static int64_t toInt(const json::Object &config, StringRef key) {
  return config.getInteger(key).value_or(0);
}

/// Reads what stretches the rotation by one factor, or by two.
static std::optional<json::Object>
readScaling(Keys &keys, const json::Object &config, StringRef kind,
            std::optional<int64_t> original) {
  double factor = keys.getNumber("rope.scaling.factor", 1);
  if ((kind != "linear" && kind != "yarn") || factor == 1)
    return std::nullopt;
  json::Object scaling{{"rope_type", kind}, {"factor", factor}};
  if (kind == "linear")
    return scaling;
  scaling["original_max_position_embeddings"] =
      original.value_or(toInt(config, "max_position_embeddings"));
  for (StringRef name : {"beta_fast", "beta_slow"})
    if (auto value = keys.findNumber(("rope.scaling.yarn_" + name).str()))
      scaling[name] = *value;
  return scaling;
}

/// The base, and what stretches it.
static void readRope(Keys &keys, json::Object &config) {
  config["rope_theta"] = keys.getNumber("rope.freq_base", 10000);
  int64_t head = toInt(config, "head_dim");
  int64_t rotated = keys.getInt("rope.dimension_count", head);
  if (rotated != head)
    config["partial_rotary_factor"] = double(rotated) / double(head);
  std::string kind = keys.getString("rope.scaling.type", "none");
  if (!llvm::is_contained({"none", "linear", "yarn", "longrope"},
                          StringRef(kind)))
    keys.fail() << "unsupported metadata '" << keys.architecture
                << ".rope.scaling.type' '" << json::fixUTF8(kind)
                << "': expected 'none', 'linear', 'yarn' or 'longrope'";
  auto original = keys.findInt("rope.scaling.original_context_length");
  auto attention = keys.findNumber("rope.scaling.attn_factor");
  if (auto scaling = readScaling(keys, config, kind, original))
    config["rope_scaling"] = std::move(*scaling);
  int64_t positions = toInt(config, "max_position_embeddings");
  if (keys.hasTensor("rope_freqs.weight")) {
    // A factor of each frequency, for all lengths.
    json::Array factors = keys.readNumbers("rope_freqs.weight");
    json::Array same = factors;
    config["rope_scaling"] =
        json::Object{{"rope_type", "longrope"},
                     {"short_factor", std::move(same)},
                     {"long_factor", std::move(factors)},
                     {"original_max_position_embeddings", positions},
                     {"factor", 1.0}};
  } else if (keys.hasTensor("rope_factors_short.weight")) {
    config["original_max_position_embeddings"] = original.value_or(positions);
    json::Object scaling{
        {"type", "longrope"},
        {"short_factor", keys.readNumbers("rope_factors_short.weight")},
        {"long_factor", keys.readNumbers("rope_factors_long.weight")}};
    if (attention)
      scaling["attention_factor"] = *attention;
    config["rope_scaling"] = std::move(scaling);
    attention = std::nullopt;
  }
  if (attention && *attention != 1)
    keys.fail() << "unsupported metadata '" << keys.architecture
                << ".rope.scaling.attn_factor' " << showJson(*attention)
                << ": expected 1";
}

//===----------------------------------------------------------------------===//
// Architectures
//===----------------------------------------------------------------------===//

static void readLlama(Keys &keys, json::Object &config) {
  if (keys.getInt("expert_count", 0)) {
    config["model_type"] = "mixtral";
    config["architectures"] = json::Array{"MixtralForCausalLM"};
    config["num_local_experts"] = keys.needInt("expert_count");
    config["num_experts_per_tok"] = keys.needInt("expert_used_count");
    config["sliding_window"] = nullptr;
    return;
  }
  (void)keys.findInt("expert_used_count");
  config["attention_bias"] = keys.hasTensor("blk.0.attn_q.bias");
  config["mlp_bias"] = keys.hasTensor("blk.0.ffn_gate.bias");
}

static void readGemma(Keys &, json::Object &config) {
  config["hidden_activation"] = "gelu_pytorch_tanh";
}

/// Reads what Gemma 2 and 3 have. Scores of the model with `largestLayers` are
/// divided by the root of the hidden size by heads; those of others by that of
/// the size of a head.
static void readScores(Keys &keys, json::Object &config,
                       int64_t largestLayers) {
  readGemma(keys, config);
  bool isLargest = toInt(config, "num_hidden_layers") == largestLayers;
  config["query_pre_attn_scalar"] =
      isLargest
          ? toInt(config, "hidden_size") / toInt(config, "num_attention_heads")
          : toInt(config, "head_dim");
  config["sliding_window"] = keys.getInt("attention.sliding_window", 4096);
}

/// A key of config.json is null where the metadata say nothing.
static void setNumber(json::Object &config, StringRef name,
                      std::optional<double> value) {
  config[name] = value ? json::Value(*value) : json::Value(nullptr);
}

static void readGemma2(Keys &keys, json::Object &config) {
  readScores(keys, config, 46);
  config["attn_logit_softcapping"] =
      keys.getNumber("attn_logit_softcapping", 50);
  config["final_logit_softcapping"] =
      keys.getNumber("final_logit_softcapping", 30);
}

static void readGemma3(Keys &keys, json::Object &config) {
  readScores(keys, config, 62);
  setNumber(config, "attn_logit_softcapping",
            keys.findNumber("attn_logit_softcapping"));
  setNumber(config, "final_logit_softcapping",
            keys.findNumber("final_logit_softcapping"));
  int64_t pattern = keys.getPositive("attention.sliding_window_pattern", 6);
  config["rope_local_base_freq"] = keys.getNumber("rope.freq_base_swa", 10000);
  json::Array types;
  for (int64_t layer = 1; layer <= toInt(config, "num_hidden_layers"); ++layer)
    types.push_back(layer % pattern ? "sliding_attention" : "full_attention");
  config["layer_types"] = std::move(types);
  if (!keys.has("rope.freq_base"))
    config["rope_theta"] = 1e6;
}

static void readPhi3(Keys &keys, json::Object &config) {
  auto window = keys.findInt("attention.sliding_window");
  config["sliding_window"] = window ? json::Value(*window) : nullptr;
  config.erase("head_dim");
}

static void readQwen3(Keys &keys, json::Object &config) {
  config["attention_bias"] = keys.hasTensor("blk.0.attn_q.bias");
}

static void readQwenExperts(Keys &keys, json::Object &config, int64_t width) {
  config["num_experts"] = keys.needInt("expert_count");
  config["num_experts_per_tok"] = keys.needInt("expert_used_count");
  config["moe_intermediate_size"] =
      width ? keys.getInt("expert_feed_forward_length", width)
            : keys.needInt("expert_feed_forward_length");
  config["decoder_sparse_step"] = 1;
  config["mlp_only_layers"] = json::Array();
}

static void readQwen2Moe(Keys &keys, json::Object &config) {
  readQwenExperts(keys, config,
                  keys.getExtent("blk.0.ffn_gate_exps.weight", 1));
  int64_t shared = keys.getInt("expert_shared_feed_forward_length", 0);
  config["shared_expert_intermediate_size"] =
      shared ? shared : keys.getExtent("blk.0.ffn_gate_shexp.weight", 0);
  config["norm_topk_prob"] = false;
}

static void readQwen3Moe(Keys &keys, json::Object &config) {
  readQwenExperts(keys, config, 0);
  readQwen3(keys, config);
  config["norm_topk_prob"] = true;
}

static void readGranite(Keys &keys, json::Object &config) {
  for (auto [name, key] :
       {std::pair("logits_scaling", "logit_scale"),
        std::pair("embedding_multiplier", "embedding_scale"),
        std::pair("residual_multiplier", "residual_scale"),
        std::pair("attention_multiplier", "attention.scale")})
    config[name] = keys.getNumber(key, 1);
}

namespace {
struct Architecture {
  StringLiteral name, modelType, className;
  void (*read)(Keys &, json::Object &);
};
} // namespace

static constexpr Architecture architectures[] = {
    {"llama", "llama", "Llama", readLlama},
    {"qwen2", "qwen2", "Qwen2", nullptr},
    {"qwen3", "qwen3", "Qwen3", readQwen3},
    {"gemma", "gemma", "Gemma", readGemma},
    {"gemma2", "gemma2", "Gemma2", readGemma2},
    {"gemma3", "gemma3_text", "Gemma3", readGemma3},
    {"phi3", "phi3", "Phi3", readPhi3},
    {"qwen2moe", "qwen2_moe", "Qwen2Moe", readQwen2Moe},
    {"qwen3moe", "qwen3_moe", "Qwen3Moe", readQwen3Moe},
    {"granite", "granite", "Granite", readGranite},
};

/// The ids at which an answer ends.
static json::Array readEnds(const Keys &keys) {
  SmallVector<int64_t> ends;
  for (StringRef name : {"eos", "eot", "eom"})
    if (auto id = keys.getAny(("tokenizer.ggml." + name + "_token_id").str()))
      if (!llvm::is_contained(ends, *id))
        ends.push_back(*id);
  return json::Array(ends);
}

static json::Object readConfig(Keys &keys, const Architecture &row) {
  if (!keys.hasTensor("token_embd.weight")) {
    keys.fail() << "tensor 'token_embd.weight' is missing";
    return {};
  }
  int64_t hidden = keys.getPositive("embedding_length", std::nullopt);
  int64_t heads = keys.getPositive("attention.head_count", std::nullopt);
  int64_t head = keys.getPositive("attention.key_length",
                                  std::max<int64_t>(1, hidden / heads));
  if (keys.getInt("attention.value_length", head) != head)
    keys.fail() << "unsupported metadata '" << keys.architecture
                << ".attention.value_length': expected " << head
                << ", the size of keys";
  json::Object config{
      {"model_type", row.modelType},
      {"architectures", json::Array{(row.className + "ForCausalLM").str()}},
      {"vocab_size", keys.getExtent("token_embd.weight", 0)},
      {"hidden_size", hidden},
      {"num_hidden_layers",
       keys.getPositive("block_count", std::nullopt, mostLayers)},
      {"num_attention_heads", heads},
      {"num_key_value_heads", keys.getInt("attention.head_count_kv", heads)},
      {"head_dim", head},
      {"intermediate_size", keys.getInt("feed_forward_length", 0)},
      {"max_position_embeddings", keys.needInt("context_length")},
      {"rms_norm_eps",
       keys.getNumber("attention.layer_norm_rms_epsilon", 1e-5)},
      {"tie_word_embeddings", !keys.hasTensor("output.weight")},
      {"quantization_config", json::Object{{"quant_method", "gguf"}}}};
  if (!keys.getInt("attention.causal", 1))
    keys.fail() << "unsupported metadata '" << keys.architecture
                << ".attention.causal' false: expected a model that generates "
                   "text";
  if (json::Array ends = readEnds(keys); !ends.empty())
    config["eos_token_id"] = std::move(ends);
  if (keys.failed())
    return {};
  readRope(keys, config);
  if (row.read)
    row.read(keys, config);
  keys.finish();
  return config;
}

bool isGgufFile(StringRef path) {
  if (path == "-" || llvm::sys::fs::is_directory(path))
    return false;
  auto head = llvm::MemoryBuffer::getFileSlice(path, /*MapSize=*/4,
                                               /*Offset=*/0);
  return head && (*head)->getBuffer() == "GGUF";
}

bool isCheckpoint(StringRef path) {
  return path != "-" && (llvm::sys::fs::is_directory(path) || isGgufFile(path));
}

FailureOr<json::Object> readGgufConfig(MLIRContext *context, StringRef path) {
  Location loc = UnknownLoc::get(context);
  llvm::Expected<CheckpointFile> file = CheckpointFile::open(path);
  if (!file)
    return emitError(loc) << path << ": " << llvm::toString(file.takeError());
  auto header = tprt::readGguf("'" + path.str() + "'", int64_t(file->getSize()),
                               getReader(*file));
  if (!header)
    return emitError(loc) << header.status().message();
  Keys keys(context, path, *file, *header);
  const auto *row = llvm::find_if(architectures, [&](const Architecture &one) {
    return one.name == keys.architecture;
  });
  if (row == std::end(architectures)) {
    auto parts = tprt::mapGguf("'" + path.str() + "'", *header);
    return emitError(loc) << parts.status().message();
  }
  json::Object config = readConfig(keys, *row);
  if (keys.failed())
    return failure();
  return config;
}

} // namespace tp
