//===- Generation.cpp - The steps of generation ---------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Generation.h.
//
//===----------------------------------------------------------------------===//

#include "Generation.h"
#include "GenerationConfig.h"
#include "JsonFile.h"
#include "mlir/IR/Builders.h"
#include "tp/Dialect/TP/IR/Sizes.h"
#include "tp/Import/ModelAttributes.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tp {

static constexpr int64_t defaultContext = 4096;
static constexpr int64_t maxRows = 4096, maxChunk = 65536;

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
  if (config.plainPositions && *config.plainPositions == most) {
    note << config.plainReason;
    return;
  }
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

/// As many tokens that the keys and values of a page take no less than the
/// state that is kept of it, but few enough that texts find pages to share, and
/// no more than a text may have.
static int64_t choosePage(const ModelConfig &config,
                          const GenerateOptions &options, int64_t layers) {
  constexpr int64_t mostTokens = 512;
  int64_t page = GenerateOptions::defaultPage;
  if (!config.linear)
    return page;
  int64_t numLinear =
      llvm::count(ArrayRef(config.convolves).take_front(layers), true);
  constexpr int64_t stateBytes[] = {4, 2, 2, 1, 1};
  int64_t elementBytes = stateBytes[int(*options.cacheType)];
  int64_t token = config.countAttention(layers) * config.numKVHeads *
                  (config.headDim + config.valueDim) * elementBytes;
  int64_t state = numLinear * config.linear->valueHeads *
                  config.linear->getStateSize() * int64_t(sizeof(float));
  int64_t longest = std::min(mostTokens, options.context);
  while (2 * page <= longest && page * token < state)
    page *= 2;
  return page;
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
  options.cacheType = request.cacheType.value_or(CacheType(dtype));
  options.config = request.config;
  if (options.context < 1 || options.context > most) {
    InFlightDiagnostic diag =
        rejectRange(loc, "context", options.context, most, limit);
    adviseOnLength(diag, config, options.context);
    return diag;
  }
  if (failed(checkRange(loc, "rows", options.rows, maxRows, "at most")) ||
      failed(checkRange(loc, "chunk", options.chunk, maxChunk, "at most")))
    return failure();
  options.page = request.page.value_or(choosePage(config, options, layers));
  if (failed(checkRange(loc, "page", options.page, GenerateOptions::maxPage,
                        "at most")))
    return failure();
  options.cells = request.cells.value_or(0);
  if (request.cells &&
      failed(checkRange(loc, "cells", options.cells, options.getMostCells(),
                        "what all rows can fill,")))
    return failure();
  int64_t widest =
      config.numKVHeads * std::max(config.headDim, config.valueDim);
  HeadsConfig global = config.getHeads({});
  widest = std::max(widest, global.numKVHeads * global.headDim);
  if (config.conv)
    widest = std::max(widest, config.hiddenSize);
  // A state is that of a page.
  if (config.linear)
    widest = std::max({widest, config.linear->getValueSize(),
                       config.linear->getKeySize(),
                       config.linear->valueHeads *
                           config.linear->getStateSize() / options.page});
  if (options.getCells() > maxElements / layers / widest)
    return emitError(loc) << "a cache of " << options.rows << " rows of "
                          << options.context
                          << " positions is too large: expected fewer --rows, "
                             "a shorter --context or fewer --cells";
  bool isWindowed =
      config.slidingWindow && *config.slidingWindow < options.context;
  ArrayRef<bool> slides = ArrayRef(config.slides).take_front(layers);
  // Pages behind the window are freed only if no layer looks farther back.
  if (isWindowed && llvm::all_of(slides, [](bool slide) { return slide; }))
    options.window = *config.slidingWindow;
  return options;
}

/// JSON as attributes, which the manifest has as JSON again.
static Attribute toAttribute(Builder &builder, const llvm::json::Value &value) {
  if (std::optional<int64_t> whole = value.getAsInteger())
    return builder.getI64IntegerAttr(*whole);
  if (std::optional<double> number = value.getAsNumber())
    return builder.getF64FloatAttr(*number);
  if (const llvm::json::Array *list = value.getAsArray())
    return builder.getArrayAttr(llvm::map_to_vector(
        *list, [&](const llvm::json::Value &item) -> Attribute {
          return toAttribute(builder, item);
        }));
  SmallVector<NamedAttribute> entries;
  for (const auto &entry : *value.getAsObject())
    entries.push_back(builder.getNamedAttr(StringRef(entry.first),
                                           toAttribute(builder, entry.second)));
  return builder.getDictionaryAttr(entries);
}

LogicalResult noteGeneration(ModuleOp module, StringRef directory,
                             const ModelConfig &config,
                             const GenerateOptions &options) {
  auto read = readGenerationConfig(module.getContext(), directory, config,
                                   options.config);
  if (failed(read))
    return failure();
  Builder builder(module.getContext());
  auto number = [&](StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  };
  SmallVector<NamedAttribute> entries = {
      number("page", options.page),
      number("context", options.context),
      number("rows", options.rows),
      number("cells", options.getCells()),
      number("chunk", options.chunk),
      number("vocabulary", config.vocabSize),
      number("window", options.window),
      builder.getNamedAttr("stop_ids", builder.getDenseI64ArrayAttr(
                                           llvm::to_vector(read->stopIds)))};
  if (config.conv)
    entries.push_back(number("conv_inputs", config.conv->taps - 1));
  if (!read->defaults.empty() || !read->ignored.empty()) {
    SmallVector<StringRef> ignored(read->ignored.begin(), read->ignored.end());
    entries.push_back(builder.getNamedAttr(
        "config",
        builder.getDictionaryAttr(
            {builder.getNamedAttr("file", builder.getStringAttr(read->file)),
             builder.getNamedAttr(
                 "defaults", toAttribute(builder, llvm::json::Value(std::move(
                                                      read->defaults)))),
             builder.getNamedAttr("ignored",
                                  builder.getStrArrayAttr(ignored))})));
  }
  module->setAttr(generationAttrName, builder.getDictionaryAttr(entries));
  return success();
}

} // namespace tp
