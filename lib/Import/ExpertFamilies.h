//===- ExpertFamilies.h - Families with a mixture of experts ----*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of the table of families whose feed-forward is a mixture of experts.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_IMPORT_EXPERTFAMILIES_H
#define TP_LIB_IMPORT_EXPERTFAMILIES_H

#include "tp/Import/Family.h"
#include <optional>

namespace tp {

Family getMixtral();
Family getQwen2Moe();
Family getQwen3Moe();
Family getGraniteMoe();
Family getOlmoe();
Family getQwen3VLMoeText();
/// These have latent attention (LatentFamilies.cpp).
Family getDeepSeekV2();
Family getDeepSeekV3();
Family getKimiK2();
Family getGlm4MoeLite();
Family getDeepSeekV32();
Family getGlmMoeDsa();
/// Families whose experts are in groups and chosen by sigmoids
/// (RoutedExperts.cpp).
Family getGlm4Moe();
Family getErnieMoe();
/// Hunyuan's (RoutedExperts.cpp).
Family getHunyuanMoe();
Family getMiniMaxM2();
Family getGptOss();
/// Llama4.cpp.
Family getLlama4Text();

class ObjectReader;
struct ExpertsConfig;
struct ModelConfig;

/// DeepSeek's keys, which others have taken over: how many experts there are,
/// how wide, how many a token uses beside those that all tokens use, and what
/// their weights are multiplied by (`scale` if the file does not say).
ExpertsConfig readRoutedExperts(ObjectReader &reader, double scale);
/// Granite's keys, beside a feed-forward of `width` that all tokens use.
void readSharedExperts(ObjectReader &reader, ModelConfig &config,
                       int64_t width);
/// Qwen3-Next's keys, and of a model that may be dense those of layers that
/// have a feed-forward.
void readNextExperts(ObjectReader &reader, ModelConfig &config,
                     bool mayBeDense);
/// `layout` with DeepSeek's names of the router and of routed and shared
/// experts.
ModelLayout nameRoutedExperts(ModelLayout layout);
/// Groups of experts, `groupBest` of which say what a group is worth.
void readExpertGroups(ObjectReader &reader, ExpertsConfig &experts,
                      int64_t groupBest, std::optional<int64_t> groups,
                      std::optional<int64_t> topGroups);
/// The first layers have a feed-forward: `first_k_dense_replace` of them.
void readFirstDense(ObjectReader &reader, ModelConfig &config, int64_t count);
/// `mlp_layer_types` says which layers have a feed-forward, else the first one.
void readLayerKinds(ObjectReader &reader, ModelConfig &config);

} // namespace tp

#endif // TP_LIB_IMPORT_EXPERTFAMILIES_H
