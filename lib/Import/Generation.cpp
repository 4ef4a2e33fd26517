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
#include "tp/Dialect/TP/IR/ModelAttributes.h"
#include "tp/Dialect/TP/IR/Sizes.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tp {

PositionLimit getGeneratedLimit(const ModelConfig &config) {
  // The cache holds keys rotated by the frequencies of short sequences.
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

FailureOr<GenerateRequest> chooseGeneration(Location loc,
                                            const ModelConfig &config,
                                            const GenerateRequest &request,
                                            FloatKind dtype) {
  if (config.head != Head::NextToken)
    return emitError(loc) << "--generate needs a language model; "
                          << config.architecture
                          << " gives no logits of a next token";
  GenerateRequest chosen = request;
  auto [most, limit] = getGeneratedLimit(config);
  int64_t context = request.context.value_or(
      std::min({request.defaultContext, most, config.maxPositions}));
  if (context < 1 || context > most) {
    InFlightDiagnostic diag = emitError(loc)
                              << "expected --context to be from 1 to " << limit
                              << " " << most << ", got " << context;
    adviseOnLength(diag, config, context);
    return diag;
  }
  chosen.context = context;
  chosen.cacheType = request.cacheType.value_or(CacheType(dtype));
  return chosen;
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
                             const GenerateRequest &request) {
  auto read = readGenerationConfig(module.getContext(), directory, config,
                                   request.config);
  if (failed(read))
    return failure();
  Builder builder(module.getContext());
  SmallVector<NamedAttribute> entries = {builder.getNamedAttr(
      "stop_ids",
      builder.getDenseI64ArrayAttr(llvm::to_vector(read->stopIds)))};
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
