//===- Generation.cpp - The steps of generation ---------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Generation.h.
//
//===----------------------------------------------------------------------===//

#include "Generation.h"
#include "JsonFile.h"
#include "mlir/IR/Builders.h"
#include "tp/Import/ModelAttributes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include <set>

using namespace mlir;

namespace tp {

static constexpr int64_t defaultContext = 4096;
static constexpr int64_t maxRows = 4096, maxChunk = 65536;
/// Cells are numbered, and their elements counted, in 64 bits with room.
static constexpr int64_t maxElements = int64_t(1) << 40;
static constexpr size_t maxConfigBytes = 1 << 20;

static InFlightDiagnostic rejectRange(Location loc, StringRef option,
                                      int64_t value, int64_t most,
                                      StringRef what) {
  return emitError(loc) << "expected --" << option << " to be from 1 to "
                        << what << " " << most << ", got " << value;
}

static LogicalResult checkRange(Location loc, StringRef option, int64_t value,
                                int64_t most, StringRef what) {
  if (value >= 1 && value <= most)
    return success();
  return rejectRange(loc, option, value, most, what);
}

PositionLimit getGeneratedLimit(const ModelConfig &config) {
  // What is in the cache is rotated, by the frequencies of short sequences.
  int64_t most = config.getPositionLimit();
  if (!config.rope.changesAt(most))
    return {most, "the model's limit of positions,"};
  if (config.rope.kind == RopeConfig::Kind::Dynamic)
    return {
        config.rope.originalMaxPositions,
        "max_position_embeddings, beyond which rope type \"dynamic\" rotates "
        "all positions by other angles, those in the cache too,"};
  return {config.rope.originalMaxPositions,
          "original_max_position_embeddings, beyond which all positions are "
          "rotated by long_factor, those in the cache too,"};
}

void adviseOnLength(InFlightDiagnostic &diag, const ModelConfig &config,
                    int64_t length) {
  const ConfigKeys &keys = config.family->keys;
  const RopeConfig &rope = config.rope;
  int64_t most = config.getPositionLimit();
  bool hasTable =
      !config.layout.positions.empty() || !config.layout.relativeBias.empty();
  if (length <= most || hasTable)
    return;
  Diagnostic &note = diag.attachNote();
  StringRef key = keys.maxPositions.key;
  if (config.alibi) {
    note << key << " of config.json says so; ALiBi has no limit of its own: "
         << "write a larger " << key;
    return;
  }
  if (rope.kind != RopeConfig::Kind::Default) {
    int64_t original = rope.originalMaxPositions;
    note << "factor " << showJson(rope.factor) << " of the rotation stretches "
         << original << " positions to "
         << int64_t(rope.factor * original + 1e-6) << ", and " << key << " is "
         << config.maxPositions << ": write a factor of at least "
         << llvm::divideCeil(length, original) << ", or a larger " << key
         << ", if the model's card says so";
    return;
  }
  note << key << " is " << config.maxPositions
       << " and the rotation is not stretched: if the model's card says so, "
          "write a larger "
       << key
       << ", or rope_scaling such as {\"rope_type\": \"yarn\", \"factor\": "
       << llvm::divideCeil(length, config.maxPositions)
       << ", \"original_max_position_embeddings\": " << config.maxPositions
       << "}";
}

FailureOr<GenerateOptions> chooseGeneration(Location loc,
                                            const ModelConfig &config,
                                            const GenerateRequest &request,
                                            FloatKind dtype, int64_t layers) {
  if (config.head != Head::NextToken)
    return emitError(loc) << "--generate needs a language model; "
                          << config.architecture
                          << " gives no logits of a next token";
  GenerateOptions options;
  auto [most, limit] = getGeneratedLimit(config);
  options.context = request.context.value_or(
      std::min({defaultContext, most, config.maxPositions}));
  options.rows = request.rows.value_or(options.rows);
  options.chunk =
      request.chunk.value_or(std::min(options.chunk, options.context));
  options.cacheType = request.cacheType.value_or(dtype);
  if (options.context < 1 || options.context > most) {
    InFlightDiagnostic diag =
        rejectRange(loc, "context", options.context, most, limit);
    adviseOnLength(diag, config, options.context);
    return diag;
  }
  if (failed(checkRange(loc, "rows", options.rows, maxRows, "at most")) ||
      failed(checkRange(loc, "chunk", options.chunk, maxChunk, "at most")))
    return failure();
  if (options.getCells() >
      maxElements / layers /
          (config.numKVHeads * std::max(config.headDim, config.valueDim)))
    return emitError(loc) << "a cache of " << options.rows << " rows of "
                          << options.context
                          << " positions is too large: expected fewer --rows "
                             "or a shorter --context";
  bool isWindowed =
      config.slidingWindow && *config.slidingWindow < options.context;
  ArrayRef<bool> slides = ArrayRef(config.slides).take_front(layers);
  // Pages behind the window are freed only if no layer looks farther back.
  if (isWindowed && llvm::all_of(slides, [](bool slide) { return slide; }))
    options.window = *config.slidingWindow;
  return options;
}

SmallVector<int64_t> getStepSizes(const GenerateOptions &options) {
  SmallVector<int64_t> sizes;
  for (int64_t tokens = 1; tokens < options.chunk; tokens *= 2)
    sizes.push_back(tokens);
  sizes.push_back(options.chunk);
  return sizes;
}

/// Adds the numbers of `eos_token_id`, one or a list, of an object.
static LogicalResult readStopIds(ObjectReader &reader, int64_t vocabulary,
                                 std::set<int64_t> &ids) {
  const llvm::json::Value *value = reader.get("eos_token_id");
  if (!value)
    return success();
  SmallVector<llvm::json::Value> items{*value};
  if (const llvm::json::Array *list = value->getAsArray())
    items.assign(list->begin(), list->end());
  for (const llvm::json::Value &item : items) {
    std::optional<int64_t> id = item.getAsInteger();
    if (!id) {
      InFlightDiagnostic diag = reader.error("eos_token_id");
      return diag << "expected eos_token_id to be an id or a list of ids, got "
                  << showJson(*value);
    }
    // One outside the vocabulary is never generated; some configs have -1.
    if (*id >= 0 && *id < vocabulary)
      ids.insert(*id);
  }
  return success();
}

/// Those of one file, and of the object in it that describes the text.
static LogicalResult readStopIds(MLIRContext *context, StringRef directory,
                                 StringRef name, const ModelConfig &config,
                                 std::set<int64_t> &ids) {
  SmallString<128> path(directory);
  llvm::sys::path::append(path, name);
  if (!llvm::sys::fs::exists(path))
    return success();
  std::optional<JsonFile> file = JsonFile::read(context, path, maxConfigBytes);
  if (!file)
    return failure();
  ObjectReader reader(*file, file->getRoot());
  if (failed(readStopIds(reader, config.vocabSize, ids)))
    return failure();
  StringRef key = config.composite ? config.composite->text : "";
  const llvm::json::Object *text =
      config.composite ? file->getRoot().getObject(key) : nullptr;
  if (!text)
    return success();
  ObjectReader nested(*file, *text, key);
  return readStopIds(nested, config.vocabSize, ids);
}

LogicalResult noteGeneration(ModuleOp module, StringRef directory,
                             const ModelConfig &config,
                             const GenerateOptions &options) {
  std::set<int64_t> stopIds;
  for (StringRef name : {"config.json", "generation_config.json"})
    if (failed(
            readStopIds(module.getContext(), directory, name, config, stopIds)))
      return failure();
  Builder builder(module.getContext());
  auto number = [&](StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  };
  module->setAttr(
      generationAttrName,
      builder.getDictionaryAttr(
          {number("page", GenerateOptions::page),
           number("context", options.context), number("rows", options.rows),
           number("cells", options.getCells()), number("chunk", options.chunk),
           number("vocabulary", config.vocabSize),
           number("window", options.window),
           builder.getNamedAttr(
               "stop_ids", builder.getDenseI64ArrayAttr(SmallVector<int64_t>(
                               stopIds.begin(), stopIds.end())))}));
  return success();
}

} // namespace tp
