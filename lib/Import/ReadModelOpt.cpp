//===- ReadModelOpt.cpp - Checkpoints that ModelOpt has quantised ---------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ModelOpt says what it did in hf_quant_config.json, and in newer versions in
// quantization_config of config.json too: an algorithm for all linear layers
// but those of a list, or one for each layer.
//
//===----------------------------------------------------------------------===//

#include "ReadQuantization.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
namespace json = llvm::json;

namespace tp {

static constexpr llvm::StringLiteral supported =
    "expected \"FP8\", \"FP8_PER_CHANNEL_PER_TOKEN\", \"FP8_PB_WO\", "
    "\"NVFP4\", \"W4A16_NVFP4\", \"MXFP8\" or \"MIXED_PRECISION\"";

static ActivationScheme makeActivations(StringRef text, bool isStatic,
                                        bool staysFloat) {
  ActivationScheme scheme;
  scheme.text = text.str();
  scheme.isFloat = true;
  scheme.isStatic = isStatic;
  scheme.staysFloat = staysFloat;
  return scheme;
}

/// The algorithm of one layer, or of all; `from` has its `group_size`.
static std::optional<QuantizedScheme> readAlgorithm(ObjectReader &from,
                                                    StringRef name) {
  QuantizedScheme scheme;
  scheme.format = QuantizedScheme::Format::Plain;
  scheme.isFloat = true;
  scheme.rows = scheme.columns = 0;
  std::string algorithm = name.upper();
  auto readGroup = [&](int64_t fallback) {
    scheme.rows = 1;
    scheme.columns = from.getInt("group_size", fallback, 1, 1 << 20);
  };
  if (algorithm == "FP8") {
    scheme.activations = makeActivations("8-bit float, per tensor",
                                         /*isStatic=*/true, false);
  } else if (algorithm == "FP8_PER_CHANNEL_PER_TOKEN") {
    scheme.rows = 1;
    scheme.activations =
        makeActivations("8-bit float, dynamic, per token", false, false);
  } else if (algorithm == "FP8_PB_WO") {
    scheme.rows = scheme.columns = from.getInt("group_size", 128, 1, 1 << 20);
  } else if (algorithm == "NVFP4" || algorithm == "W4A16_NVFP4") {
    scheme.bits = 4;
    scheme.scaleType = QuantizedScheme::ScaleType::E4M3;
    scheme.outerScale = "weight_scale_2";
    readGroup(16);
    if (algorithm == "NVFP4")
      scheme.activations =
          makeActivations("4-bit float, per group", false, true);
  } else if (algorithm == "MXFP8") {
    scheme.scaleType = QuantizedScheme::ScaleType::E8M0;
    readGroup(32);
    scheme.activations = makeActivations("8-bit float, per group", false, true);
  } else {
    from.error("quant_algo")
        << "unsupported " << from.getPath("quant_algo") << " " << quoted(name)
        << "; " << supported << ": " << quantizationAdvice;
    return std::nullopt;
  }
  return scheme;
}

/// `quantized_layers`: each has its own algorithm. Those of one are a group.
static void readLayers(ObjectReader &reader, QuantizationConfig &out) {
  const json::Object *layers = reader.getObject("quantized_layers");
  if (!layers || layers->empty()) {
    reader.error("quantized_layers")
        << "expected " << reader.getPath("quantized_layers")
        << " to be an object of layers beside quant_algo \"MIXED_PRECISION\"";
    return;
  }
  SmallVector<StringRef> names; // In an order of their own.
  for (const auto &entry : *layers)
    names.push_back(entry.first);
  llvm::sort(names);
  SmallVector<std::string> algorithms;
  for (StringRef name : names) {
    const json::Object *object = layers->getObject(name);
    std::string path = reader.getPath("quantized_layers") + "." + name.str();
    if (!object) {
      reader.error("quantized_layers")
          << "unsupported " << path << " " << showJson(*layers->get(name))
          << ": expected an object";
      continue;
    }
    ObjectReader layer(reader.getFile(), *object, path);
    std::string algorithm = layer.getString("quant_algo").value_or("");
    std::optional<QuantizedScheme> scheme = readAlgorithm(layer, algorithm);
    layer.ignore({"group_size"});
    if (!layer.failed())
      layer.finish();
    reader.join(layer);
    if (!scheme)
      return;
    std::string key = algorithm + " " + llvm::itostr(scheme->columns);
    size_t at = llvm::find(algorithms, key) - algorithms.begin();
    if (at == algorithms.size()) {
      algorithms.push_back(key);
      out.groups.emplace_back().scheme = *scheme;
    }
    (void)out.groups[at].targets.add(name,
                                     ModuleNames::Style::CompressedTensors);
  }
}

/// `config_groups` says in other words what `quant_algo` does.
static void checkGroups(ObjectReader &reader, const QuantizationConfig &out) {
  const json::Object *groups = reader.getObject("config_groups");
  if (!groups || out.groups.size() != 1)
    return;
  for (const auto &entry : *groups) {
    const json::Object *group = entry.second.getAsObject();
    const json::Object *weights = group ? group->getObject("weights") : nullptr;
    std::optional<int64_t> bits =
        weights ? weights->getInteger("num_bits") : std::nullopt;
    int64_t expected = out.groups.front().scheme.bits;
    if (!bits || *bits == expected)
      continue;
    reader.error("config_groups")
        << "expected " << reader.getPath("config_groups") << "."
        << entry.first.str() << ".weights.num_bits to be " << expected
        << ", as quant_algo says, got " << *bits;
  }
}

void readModelOpt(ObjectReader &reader, QuantizationConfig &out) {
  out.method = "modelopt";
  out.takesHead = true;
  std::string algorithm = reader.getString("quant_algo").value_or("");
  std::optional<QuantizedScheme> scheme;
  if (StringRef(algorithm).upper() == "MIXED_PRECISION")
    readLayers(reader, out);
  else if (!algorithm.empty())
    scheme = readAlgorithm(reader, algorithm);
  if (scheme) {
    QuantizationConfig::Group &group = out.groups.emplace_back();
    (void)group.targets.add("Linear", ModuleNames::Style::CompressedTensors);
    group.scheme = *scheme;
    if (reader.getObject("quantized_layers") &&
        !reader.getObject("quantized_layers")->empty())
      reader.error("quantized_layers")
          << "expected quant_algo \"MIXED_PRECISION\" beside "
          << reader.getPath("quantized_layers") << ", got "
          << quoted(algorithm);
  }
  checkGroups(reader, out);
  for (StringRef key : {"exclude_modules", "ignore"})
    readModuleNames(reader, key, ModuleNames::Style::Transformers, out.ignored);
  if (const json::Object *cache = reader.getObject("kv_cache_scheme"))
    out.cacheScheme = describeCache(*cache);
  else if (auto cache = reader.getString("kv_cache_quant_algo"))
    out.cacheScheme = *cache;
  reader.require("pre_quant_scale", false,
                 "scales of inputs (AWQ) are not supported");
  reader.require("has_zero_point", false, "zero points are not supported");
  reader.ignore({"producer", "group_size", "version", "quant_method",
                 "kv_cache_quant_algo"});
}

LogicalResult readQuantizationFile(MLIRContext *context, StringRef directory,
                                   ModelConfig &config) {
  SmallString<128> path(directory);
  llvm::sys::path::append(path, "hf_quant_config.json");
  if (!llvm::sys::fs::exists(path))
    return success();
  std::optional<JsonFile> file = JsonFile::read(context, path, maxConfigBytes);
  if (!file)
    return failure();
  const json::Object *object = file->getRoot().getObject("quantization");
  ObjectReader reader(*file, object ? *object : file->getRoot(),
                      object ? "quantization" : "");
  QuantizationConfig made;
  readModelOpt(reader, made);
  if (!reader.failed())
    reader.finish();
  if (reader.failed())
    return failure();
  if (!made.groups.empty() || !made.cacheScheme.empty())
    config.quantization = std::move(made);
  return success();
}

} // namespace tp
