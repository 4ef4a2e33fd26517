//===- ModelConfig.h - What a checkpoint's config.json says ---*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The constants of a model, read from a Hugging Face config.json in either of
// its spellings: today's (`dtype`, `rope_parameters`) and that of older
// checkpoints (`torch_dtype`, `rope_theta`, `rope_scaling`). Every key that
// changes the result is either understood or refused by name; a missing key
// has the default that `transformers` gives it. Nothing of the model is a
// constant in the importer's code.
//
//===----------------------------------------------------------------------===//

#ifndef TP_IMPORT_MODELCONFIG_H
#define TP_IMPORT_MODELCONFIG_H

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

namespace tp {

/// The builder that a model type is made with.
enum class ModelFamily { Llama, GPT2, Bert };

enum class Activation { SiLU, GeluErf, GeluTanh, ReLU };

enum class FloatKind { F32, BF16, F16 };

/// "f32", "bf16" or "f16".
llvm::StringRef stringify(FloatKind kind);
/// The kind of that name, as `--dtype` takes it.
std::optional<FloatKind> parseFloatKind(llvm::StringRef name);

/// Rotary position embedding: the base, and how frequencies are stretched
/// beyond the length of training.
struct RopeConfig {
  enum class Kind { Default, Linear, Llama3 };
  Kind kind = Kind::Default;
  double theta = 10000;
  double factor = 1;                ///< Linear and Llama3.
  double lowFrequencyFactor = 1;    ///< Llama3.
  double highFrequencyFactor = 4;   ///< Llama3.
  int64_t originalMaxPositions = 0; ///< Llama3: the length of training.

  /// The headDim / 2 angles per position, highest frequency first, computed
  /// step by step in f32 as `transformers` does, so that large positions turn
  /// by the same angle.
  llvm::SmallVector<float> getInverseFrequencies(int64_t headDim) const;
};

/// The probabilities with which training drops elements: of embeddings, of what
/// is added to the residual stream, and of attention's weights.
struct DropoutConfig {
  double embedding = 0, residual = 0, attention = 0;
  llvm::StringRef attentionKey = "attention_dropout";
};

/// The constants of one model. Sizes are numbers of elements.
struct ModelConfig {
  ModelFamily family = ModelFamily::Llama;
  std::string modelType;    ///< As in the file: "llama", "qwen3", ...
  std::string architecture; ///< As in the file: "LlamaForCausalLM", ...

  int64_t vocabSize = 0;
  int64_t hiddenSize = 0;
  int64_t intermediateSize = 0;
  int64_t numLayers = 0;
  int64_t numHeads = 0;
  int64_t numKVHeads = 0;
  int64_t headDim = 0;
  int64_t maxPositions = 0;
  int64_t typeVocabSize = 0; ///< Bert's token types.

  double normEpsilon = 0;
  Activation activation = Activation::SiLU;
  RopeConfig rope;
  bool tieEmbeddings = false;
  bool queryKeyValueBias = false;
  bool attentionOutputBias = false;
  bool feedForwardBias = false;
  bool queryKeyNorm = false;
  /// GPT-2 may leave the scores unscaled.
  bool scaleScores = true;

  DropoutConfig dropout;
  double initializerRange = 0.02; ///< Deviation of random weights.
  /// The row of the table of words that random weights leave zero.
  std::optional<int64_t> paddingRow;

  /// Keys farther back than this many positions (the query's own included) are
  /// not attended to, in the layers for which `slides` is true.
  std::optional<int64_t> slidingWindow;
  llvm::SmallVector<bool> slides;

  /// The type of the checkpoint's tensors, if the file says.
  std::optional<FloatKind> dtype;
};

/// Reads DIR/config.json. Emits every error it finds, at the key.
std::optional<ModelConfig> readModelConfig(mlir::MLIRContext *context,
                                           llvm::StringRef directory);

} // namespace tp

#endif // TP_IMPORT_MODELCONFIG_H
