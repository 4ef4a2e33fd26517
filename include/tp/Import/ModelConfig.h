//===- ModelConfig.h - What a checkpoint's config.json says ---*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The constants of a model, read from a Hugging Face config.json in either of
// its spellings: today's (`dtype`, `rope_parameters`) and that of older
// checkpoints (`torch_dtype`, `rope_theta`, `rope_scaling`). Every key that
// changes the result is either understood or refused by name, keys that
// `transformers` ignores are ignored with a remark, and a missing key has the
// default that `transformers` gives it. Nothing of the model is a constant in
// the importer's code.
//
//===----------------------------------------------------------------------===//

#ifndef TP_IMPORT_MODELCONFIG_H
#define TP_IMPORT_MODELCONFIG_H

#include "mlir/IR/MLIRContext.h"
#include "tp/Import/Family.h"
#include "tp/Import/Quantization.h"
#include <optional>
#include <string>

namespace tp {

enum class FloatKind { F32, BF16, F16 };

/// "f32", "bf16" or "f16".
llvm::StringRef stringify(FloatKind kind);

/// Rotary position embedding: the base, and how frequencies are stretched
/// beyond the length of training.
struct RopeConfig {
  enum class Kind {
    Default,
    Linear,
    Dynamic,
    Llama3,
    Yarn,
    Long,
    Proportional
  };
  Kind kind = Kind::Default;
  double theta = 10000;
  double factor = 1;              ///< All but Default.
  double lowFrequencyFactor = 1;  ///< Llama3.
  double highFrequencyFactor = 4; ///< Llama3.
  /// All but Default: the length of training.
  int64_t originalMaxPositions = 0;
  /// Yarn: frequencies that turn so often in that length are kept, and
  /// stretched; whether the bounds between are whole numbers; and what queries
  /// and keys are each multiplied by in families that say so.
  double fastTurns = 32, slowTurns = 1;
  bool truncates = true;
  double scoreScale = 1;
  /// Long: what each frequency is divided by, up to that length and beyond it.
  llvm::SmallVector<float> shortFactors, longFactors;
  double attentionFactor = 1; ///< Yarn, Long: of cosines and sines.
  /// The part of each head that is rotated. Proportional: the part of a whole
  /// head's frequencies that is not zero.
  double rotaryPart = 1;
  /// How many elements of each head are rotated, in files that say so; 0: the
  /// part above.
  int64_t rotaryDim = 0;
  /// Queries at position p are multiplied by
  /// 1 + queryGrowth * log(1 + floor(p / originalMaxPositions)).
  double queryGrowth = 0;

  bool operator==(const RopeConfig &) const = default;

  /// How many elements of a head of so many are rotated: the first ones.
  int64_t getRotaryDim(int64_t headDim) const {
    if (kind == Kind::Proportional)
      return headDim;
    return rotaryDim ? rotaryDim
                     : static_cast<int64_t>(double(headDim) * rotaryPart);
  }
  /// Half as many angles per position as elements are rotated, highest
  /// frequency first, computed step by step in f32 as `transformers` does, so
  /// that large positions turn by the same angle. They are those of sequences
  /// of `length`.
  llvm::SmallVector<float> getInverseFrequencies(int64_t headDim,
                                                 int64_t length) const;
  /// True if all positions turn by other angles in a sequence of `length` than
  /// in shorter ones.
  bool changesAt(int64_t length) const {
    return (kind == Kind::Long || kind == Kind::Dynamic) &&
           length > originalMaxPositions;
  }
};

/// The fields in which layers of one model differ.
struct LayerKind {
  bool slides = false;    ///< It has the model's window.
  bool rotates = true;    ///< If the model does at all.
  bool isLocal = false;   ///< It rotates by the frequencies of local layers.
  bool isDense = false;   ///< It has no experts, where others do.
  bool skipsNorm = false; ///< It has no norm before attention.
  /// It has a short convolution, or linear attention, and no attention.
  bool convolves = false;
  /// It has attention, or what stands in its place; it has a feed-forward, or
  /// experts.
  bool mixes = true, feeds = true;
  int64_t width = 0;    ///< The width of its feed-forward; 0: the model's.
  int quantization = 0; ///< Layers with one number are quantised alike.
  bool operator==(const LayerKind &) const = default;
};

/// Layers of these kinds, one after the other, `count` times.
struct LayerRun {
  int64_t first, count;
  llvm::SmallVector<LayerKind> kinds;

  int64_t end() const { return first + count * int64_t(kinds.size()); }
};

/// The probabilities with which training drops elements: of embeddings, of what
/// is added to the residual stream, of attention's weights, and of something
/// that this compiler does not drop.
struct DropoutConfig {
  double embedding = 0, residual = 0, attention = 0, other = 0;
  llvm::StringRef attentionKey = "attention_dropout", otherKey;
};

/// ALiBi (Press et al., arXiv 2108.12409): each head adds to a score the
/// position of the key times a slope of its own.
struct AlibiConfig {
  double scale = 1;    ///< The factor of what is added.
  bool isBF16 = false; ///< Slope, position and product are rounded to that.
};

/// A mixture of experts.
struct ExpertsConfig {
  int64_t count = 0, perToken = 0, width = 0;
  int64_t sharedWidth =
      0; ///< The width of the feed-forward that all tokens use, if any.
  bool normalizes = true; ///< The scores of those that a token uses sum to one.
  bool sigmoid = false;   ///< Scores are these instead of a softmax.
  double epsilon = 1e-20; ///< The sum of sigmoids has it added.
  double scale = 1;       ///< The last factor of the scores.
  /// `topGroups` of the `groups` of neighbours are chosen from, by the sum of
  /// the `groupBest` best of each.
  int64_t groups = 1, topGroups = 1, groupBest = 1;
  /// How an expert makes its width: see nn.experts. A limit of 0 is none.
  double alpha = 1, limit = 0, upOffset = 0;
  /// Experts read and give so many elements, if that is not the hidden size.
  int64_t latentSize = 0;
  /// The scores multiply what experts read.
  bool scalesInput = false;
  /// In training the loss has a term that balances the experts; the router's
  /// input is multiplied by random numbers of the range [1 - jitter, 1 +
  /// jitter].
  bool isBalanced = false;
  double jitter = 0;
};

/// The sizes of latent attention: how many numbers queries, and keys with
/// values, are made from (0: queries are made from the hidden state), and the
/// size of the part of a query's and a key's head that is rotated.
struct LatentConfig {
  int64_t queryRank = 0, keyValueRank = 0, rotatedDim = 0;
};

/// Describes the heads of attention in one kind of layers.
struct HeadsConfig {
  int64_t numKVHeads = 0;
  int64_t headDim = 0;  ///< The size of queries and keys.
  int64_t valueDim = 0; ///< The size of values.
  /// Values are the projected keys, before their norm and rotation.
  bool sharesKeys = false;
};

/// Describes short causal convolutions: how many positions each sees, its own
/// included, and whether they and their projections have biases.
struct ConvConfig {
  int64_t taps = 0;
  bool hasBias = false;
};

/// Describes linear attention, whose value heads share key heads.
struct LinearConfig {
  int64_t keyHeads = 0, valueHeads = 0, keyDim = 0, valueDim = 0;
  bool hasBias = false; ///< The projections of Mamba-2 have one.
  Activation activation = Activation::SiLU; ///< Convolutions have it.
  double leastStep = 0;                     ///< Steps of Mamba-2 are no less.

  /// Elements of all queries, or keys, and of all values.
  int64_t getKeySize() const { return keyHeads * keyDim; }
  int64_t getValueSize() const { return valueHeads * valueDim; }
};

/// The constants of one model. Sizes are numbers of elements.
struct ModelConfig {
  const Family *family = nullptr;
  /// The model that the file describes, if it is of more than text; the rest is
  /// of its text.
  const Composite *composite = nullptr;
  ModelLayout layout;       ///< The family's, as the file changes it.
  std::string modelType;    ///< As in the file: "llama", "qwen3", ...
  std::string architecture; ///< As in the file: "LlamaForCausalLM", ...

  int64_t vocabSize = 0;
  int64_t hiddenSize = 0;
  int64_t wordSize = 0; ///< of the table of words
  int64_t intermediateSize = 0;
  int64_t numLayers = 0;
  int64_t numHeads = 0;
  int64_t numKVHeads = 0;
  int64_t headDim = 0;  ///< The size of queries and keys.
  int64_t valueDim = 0; ///< The size of values.
  /// The heads of layers without a window, where they are others.
  std::optional<HeadsConfig> globalHeads;
  std::optional<LatentConfig> latent;
  int64_t maxPositions = 0; ///< As the file says: `max_position_embeddings`.
  bool statesPositions = false; ///< The file gives `maxPositions`.
  /// The most positions up to which attention is what it seems to be, and why,
  /// for messages.
  std::optional<int64_t> plainPositions;
  std::string plainReason;
  int64_t typeVocabSize = 0; ///< Token types.
  int64_t relativeRows = 0;  ///< Rows of the relative-position table.
  std::optional<AlibiConfig> alibi;
  Head head = Head::NextToken;
  int64_t numLabels = 0; ///< The classes of such a head.

  double normEpsilon = 0;
  Activation activation = Activation::SiLU;
  RopeConfig rope;
  std::optional<RopeConfig>
      localRope; ///< The rotation of layers with a window.
  bool tieEmbeddings = false;
  bool queryKeyValueBias = false;
  bool attentionOutputBias = false;
  bool feedForwardBias = false;

  /// Factors, 1 if there is none; that of the scores is of all of them.
  double embeddingScale = 1, residualScale = 1, attentionScale = 1,
         logitScale = 1;
  /// cap * tanh(x / cap) of the logits and of the scores; 0: x.
  double logitCap = 0, attentionCap = 0;

  std::optional<ExpertsConfig> experts; ///< Instead of the feed-forward.
  /// The layers that have a feed-forward all the same, where some do.
  llvm::SmallVector<bool> isDense;
  /// Layers behind the model's that files may hold: they predict more tokens.
  int64_t numExtraLayers = 0;

  std::optional<QuantizationConfig> quantization;
  /// The quantisation of each layer, as LayerKind has it; empty: all are alike.
  llvm::SmallVector<int> quantizationOf;

  DropoutConfig dropout;
  double initializerRange = 0.02; ///< Deviation of random weights.
  /// The row of the table of words that training leaves out and random weights
  /// leave zero; and what the file has in its place, where that is no row.
  std::optional<int64_t> paddingRow;
  std::string paddingProblem;

  /// Keys farther back than this many positions (the query's own included; of
  /// an encoder: farther than half as many in either direction) are not
  /// attended to, in the layers for which `slides` is true.
  std::optional<int64_t> slidingWindow;
  /// How many positions, its own included, a query of a layer with a window
  /// sees in a direction.
  int64_t getReach() const {
    return layout.isEncoder ? *slidingWindow / 2 + 1 : *slidingWindow;
  }
  llvm::SmallVector<bool> slides;
  HeadsConfig getHeads(LayerKind kind) const {
    if (globalHeads && !kind.isLocal)
      return *globalHeads;
    return {numKVHeads, headDim, valueDim};
  }
  std::optional<ConvConfig> conv;
  /// The shape of linear attention, in layers that have it; its convolution is
  /// `conv`.
  std::optional<LinearConfig> linear;
  /// The layers that have a convolution, or linear attention, instead of
  /// attention, where some do.
  llvm::SmallVector<bool> convolves;
  /// The layers that do not rotate, where some do.
  llvm::SmallVector<bool> skipsRotation;
  /// The layers that have a feed-forward alone, and those that have none, where
  /// some do.
  llvm::SmallVector<bool> lacksMixer, lacksFeedForward;
  /// The widths of the layers' feed-forwards, where they differ.
  llvm::SmallVector<int64_t> widths;

  /// The most positions of a sequence: `maxPositions`, or as many as a
  /// stretched rotation reaches (the factor times the length of training), for
  /// files may keep `max_position_embeddings` as it was before the stretch.
  int64_t getPositionLimit() const;

  /// The first `layers` in runs, by what kinds they are in sequences of
  /// `length`.
  llvm::SmallVector<LayerRun> getRuns(int64_t layers, int64_t length) const;

  /// The type of the checkpoint's tensors, if the file says.
  std::optional<FloatKind> dtype;
};

/// The activation that `key` names, or `fallback`. An error if there is none of
/// that name.
Activation readActivation(ObjectReader &reader, llvm::StringRef key,
                          llvm::StringRef fallback);

/// Reads DIR/config.json. Emits every error it finds, at the key.
std::optional<ModelConfig> readModelConfig(mlir::MLIRContext *context,
                                           llvm::StringRef directory);

} // namespace tp

#endif // TP_IMPORT_MODELCONFIG_H
