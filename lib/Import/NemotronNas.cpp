//===- NemotronNas.cpp - Llama with layers of many forms ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Llama-3.3-Nemotron-Super and its kin: Llama of which a search left out the
// attention or the feed-forward of some layers, and made others narrower.
// `transformers` has no class for it; the rules are those of the code beside
// the files.
//
//===----------------------------------------------------------------------===//

#include "DecoderFamilies.h"
#include "JsonFile.h"
#include "ReadPositions.h"
#include "TableRows.h"
#include "tp/Import/ModelConfig.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
namespace json = llvm::json;

namespace tp {

/// Two thirds of so many hidden sizes, rounded up to a multiple.
static int64_t getWidth(double factor, int64_t hiddenSize) {
  constexpr int64_t multiple = 256;
  return llvm::alignTo(int64_t(2 * factor * double(hiddenSize) / 3), multiple);
}

/// Reads the object of one part of layer `i`; returns false if it has none.
static bool readBlock(ObjectReader &block, StringRef part,
                      llvm::function_ref<void(ObjectReader &)> read) {
  const json::Object *object = block.getObject(part);
  if (!object) {
    if (!block.failed())
      block.error() << "missing " << block.getPath(part)
                    << ": expected an object that describes it";
    return false;
  }
  ObjectReader reader(block.getFile(), *object, block.getPath(part));
  bool isLeftOut = reader.getBool("no_op", false);
  reader.require("replace_with_linear", false,
                 "a linear layer in its place is not supported");
  reader.require("sparsify", nullptr, "sparse weights are not supported");
  read(reader);
  reader.finish();
  block.join(reader);
  return !isLeftOut;
}

/// Reads what layer `i` has; all attention has the same heads.
static void readLayer(ObjectReader &block, ModelConfig &config,
                      std::optional<int64_t> &groupSize) {
  bool mixes = readBlock(block, "attention", [&](ObjectReader &reader) {
    for (StringRef key : {"window_length", "num_sink_tokens"})
      reader.require(key, nullptr, "windows and sinks are not supported");
    reader.ignore({"unshifted_sink", "use_prefill_window_in_sink_attention"});
    if (!reader.has("n_heads_in_group"))
      return;
    int64_t size =
        reader.getInt("n_heads_in_group", std::nullopt, 1, config.numHeads);
    if (groupSize && *groupSize != size)
      reader.error("n_heads_in_group")
          << "layers with different numbers of KV heads are not supported: got "
          << size << " query heads to one, and " << *groupSize
          << " in an earlier layer";
    groupSize = size;
  });
  int64_t width = 0;
  bool feeds = readBlock(block, "ffn", [&](ObjectReader &reader) {
    if (!reader.has("ffn_mult"))
      return;
    double factor = reader.getPositive("ffn_mult", std::nullopt);
    if (factor * double(config.hiddenSize) > double(maxSize))
      reader.error("ffn_mult")
          << "expected a feed-forward of at most " << maxSize << " elements";
    else
      width = getWidth(factor, config.hiddenSize);
  });
  if (feeds && width == 0 && !block.failed())
    block.error("ffn") << "missing " << block.getPath("ffn")
                       << ".ffn_mult: expected a positive number";
  config.lacksMixer.push_back(!mixes);
  config.lacksFeedForward.push_back(!feeds);
  config.widths.push_back(feeds ? width : 0);
  config.intermediateSize = std::max(config.intermediateSize, width);
}

static void adjust(ObjectReader &reader, ModelConfig &config) {
  constexpr StringLiteral key = "block_configs";
  const json::Array *blocks = reader.getArray(key);
  if (!blocks || blocks->size() != static_cast<size_t>(config.numLayers)) {
    if (!reader.failed())
      reader.error(key) << "expected block_configs to have " << config.numLayers
                        << " entries (num_hidden_layers), got "
                        << (blocks ? blocks->size() : 0);
    return;
  }
  std::optional<int64_t> groupSize;
  for (auto [i, value] : llvm::enumerate(*blocks)) {
    std::string name = (key + "[" + Twine(i) + "]").str();
    const json::Object *object = value.getAsObject();
    if (!object) {
      reader.error(key) << "expected " << name << " to be an object, got "
                        << showJson(value);
      return;
    }
    ObjectReader block(reader.getFile(), *object, name);
    readLayer(block, config, groupSize);
    block.finish();
    reader.join(block);
  }
  if (!groupSize || reader.failed())
    return;
  if (config.numHeads % *groupSize != 0)
    reader.error(key) << "expected n_heads_in_group to divide the "
                      << config.numHeads << " query heads, got " << *groupSize;
  else
    config.numKVHeads = config.numHeads / *groupSize;
}

Family getNemotronNas() {
  return {.modelType = "nemotron-nas",
          .architectures = {"DeciLMForCausalLM"},
          .keys = {.intermediateSize = {"intermediate_size", 1},
                   .needsKVHeads = false,
                   .queryKeyValueBias = {"attention_bias", false},
                   .outputBias = {"attention_bias", false},
                   .feedForwardBias = {"mlp_bias", false}},
          .adjust = adjust};
}

} // namespace tp
