//===- QuantizeWhileRead.cpp - --quantize --------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formats that python/tp_mlir/quantize writes, and their tensors, are
// repeated here; a test holds the two against each other.
//
//===----------------------------------------------------------------------===//

#include "QuantizeWhileRead.h"

#include "ReadQuantization.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
namespace json = llvm::json;

namespace tp {

namespace {
struct OwnFormat {
  llvm::StringLiteral name, layout;
  bool isFloat;
  int64_t bits;
  llvm::StringLiteral strategy;
  int64_t group; ///< inputs that share a scale; 0: all
};
} // namespace

static constexpr OwnFormat formats[] = {
    {"int4-g128", "pack-quantized", false, 4, "group", 128},
    {"int4-g32", "pack-quantized", false, 4, "group", 32},
    {"int8", "pack-quantized", false, 8, "channel", 0},
    {"fp8-block", "float-quantized", true, 8, "block", 128},
    {"fp8-channel", "float-quantized", true, 8, "channel", 0},
    {"mxfp4", "mxfp4-pack-quantized", true, 4, "group", 32},
};

static const OwnFormat *findFormat(StringRef name) {
  const OwnFormat *found = llvm::find_if(
      formats, [&](const OwnFormat &one) { return one.name == name; });
  return found == std::end(formats) ? nullptr : found;
}

bool isQuantizedFormat(StringRef name) { return findFormat(name); }

/// quantization_config of a config.json.
static json::Object getRecipe(const OwnFormat &format,
                              const ModelConfig &config) {
  json::Object weights{{"num_bits", format.bits},
                       {"type", format.isFloat ? "float" : "int"},
                       {"symmetric", true},
                       {"strategy", format.strategy},
                       {"dynamic", false}};
  if (format.strategy == "block")
    weights["block_structure"] = json::Array{format.group, format.group};
  else if (format.group)
    weights["group_size"] = format.group;
  if (format.name == "mxfp4")
    weights["scale_dtype"] = "torch.uint8";
  json::Object group{{"targets", json::Array{"Linear"}},
                     {"weights", std::move(weights)},
                     {"format", format.layout}};
  // Without files to look at, routers and heads are known by their names.
  json::Array ignored{"re:(.*\\.)?(gate|router|shared_expert_gate|wg)$",
                      "re:.*\\.router\\..*"};
  for (StringRef head : config.layout.heads)
    ignored.push_back(head);
  return json::Object{
      {"quantization_config",
       json::Object{
           {"quant_method", "compressed-tensors"},
           {"format", format.layout},
           {"config_groups", json::Object{{"group_0", std::move(group)}}},
           {"ignore", std::move(ignored)}}}};
}

/// True if it is a matrix of a layer, by its name.
static bool isChosen(StringRef name) {
  static const llvm::Regex layer("(^|\\.)(layers|h|blocks?)\\.[0-9]+\\."),
      router("(^|\\.)(gate|router|shared_expert_gate|wg)(\\.weight)$|"
             "\\.router\\."),
      table("(emb|wte|wpe|relative_attention_bias|rotary)");
  return name.ends_with(".weight") && layer.match(name) &&
         !router.match(name) && !table.match(name);
}

/// The tensors that stand for a weight.
static SmallVector<std::pair<std::string, CheckpointTensor>>
getTensors(const OwnFormat &format, StringRef name,
           const CheckpointTensor &weight) {
  int64_t n = weight.shape[0], k = weight.shape[1];
  int64_t groups = format.group ? llvm::divideCeil(k, format.group) : 1;
  std::string module = name.drop_back(StringRef(".weight").size()).str();
  auto make = [&](StringRef part, StringRef dtype, int64_t rows,
                  int64_t columns) {
    CheckpointTensor tensor;
    tensor.dtype = dtype.str();
    tensor.shape = {rows, columns};
    tensor.file = weight.file;
    return std::pair((module + "." + part).str(), std::move(tensor));
  };
  if (!format.isFloat)
    return {
        make("weight_packed", "I32", n, llvm::divideCeil(k * format.bits, 32)),
        make("weight_scale", weight.dtype, n, groups)};
  if (format.bits == 4)
    return {make("weight_packed", "U8", n, k / 2),
            make("weight_scale", "U8", n, groups)};
  bool isBlock = format.strategy == "block";
  return {make("weight", "F8_E4M3", n, k),
          make("weight_scale", "F32",
               isBlock ? llvm::divideCeil(n, format.group) : n, groups)};
}

LogicalResult quantizeWhileRead(MLIRContext *context, ModelConfig &config,
                                Checkpoint &checkpoint, StringRef name) {
  const OwnFormat &format = *findFormat(name);
  std::string option = ("--quantize " + name).str();
  Location loc = UnknownLoc::get(context);
  if (config.quantization && !config.quantization->groups.empty())
    return emitError(loc) << option << ": the checkpoint is quantised already ("
                          << config.quantization->method
                          << "): expected the one that it was made from";
  if (config.layout.isTransposed)
    return emitError(loc) << option << ": weights of model_type "
                          << quoted(config.modelType)
                          << " are [inputs, outputs], which no format has";
  std::optional<JsonFile> file = JsonFile::parse(
      context, option,
      llvm::formatv("{0}", json::Value(getRecipe(format, config))).str());
  if (!file)
    return failure();
  ObjectReader reader(*file, file->getRoot());
  readQuantization(reader, config);
  if (reader.failed())
    return failure();
  bool needsWhole = format.strategy == "group";
  SmallVector<std::pair<std::string, CheckpointTensor>> chosen;
  for (const auto &entry : checkpoint.getTensors())
    if (entry.second.shape.size() == 2 && isChosen(entry.first()))
      chosen.push_back({entry.first().str(), entry.second});
  llvm::sort(chosen,
             [](const auto &a, const auto &b) { return a.first < b.first; });
  if (chosen.empty() && checkpoint.hasWeights() && config.layout.isEncoder)
    return emitError(loc) << option << ": model_type "
                          << quoted(config.modelType)
                          << " is an encoder, and encoders are not quantised";
  if (chosen.empty() && checkpoint.hasWeights())
    return emitError(loc) << option << ": no weights [outputs, inputs] of "
                          << "layers in " << checkpoint.getDirectory();
  for (const auto &[own, tensor] : chosen) {
    std::string where =
        option + ": tensor '" + own + "' of " + tensor.file + " ";
    if (tensor.dtype != "F32" && tensor.dtype != "BF16" &&
        tensor.dtype != "F16")
      return emitError(loc) << where << "is of type " << tensor.dtype
                            << ": expected F32, BF16 or F16";
    if (needsWhole && tensor.shape[1] % format.group != 0)
      return emitError(loc)
             << where << "has " << tensor.shape[1]
             << " inputs: expected inputs in multiples of " << format.group
             << ", the size of a group; int8 and the fp8 formats take any, and "
                "tp-quantize --ignore leaves weights as they are";
    checkpoint.replace(own, getTensors(format, own, tensor));
  }
  return success();
}

} // namespace tp
