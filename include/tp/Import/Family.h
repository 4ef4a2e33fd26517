//===- Family.h - What one family of models differs in ----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A family is a row of a table (lib/Import/Families.cpp): what its checkpoints
// call the parts of the model, how a layer is put together, and under which
// keys of config.json its constants are. One builder emits all of them, so that
// a new family is a new row. The defaults are Llama's: a row says what is
// different.
//
//===----------------------------------------------------------------------===//

#ifndef TP_IMPORT_FAMILY_H
#define TP_IMPORT_FAMILY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>

namespace tp {

class JsonFile;
struct ModelConfig;
class ObjectReader;

enum class Activation { SiLU, GeluErf, GeluTanh, ReLU, ReLUSquared };

/// The head behind the layers, as the architecture's name says: nothing, the
/// next token's logits, logits of the words that are masked, those of classes
/// of the whole text, or of each token.
enum class Head { None, NextToken, MaskedToken, Sequence, Token };

/// RMSOnePlus and LayerOnePlus multiply by 1 + weight.
enum class NormKind { RMS, RMSOnePlus, Layer, LayerOnePlus, LayerNoBias };

/// Returns true if the norm has a bias beside its weight.
inline bool hasBias(NormKind kind) {
  return kind == NormKind::Layer || kind == NormKind::LayerOnePlus;
}

/// How the rows of a projection of queries, keys and values are laid out: all
/// queries, all keys, all values; or, for each KV head, its queries, key and
/// value.
enum class Fusion { None, Blocks, Groups };

/// Number of T5's relative-position buckets.
inline constexpr int64_t numRelativeBuckets = 32;

/// The names of a model's tensors, without `.weight` and `.bias`, and the form
/// of a layer. An empty name: the model has no such part.
struct ModelLayout {
  /// Attention goes both ways.
  bool isEncoder = false;
  /// Prefixes that may stand before all names but the head's, in the order
  /// tried.
  llvm::SmallVector<llvm::StringRef, 2> prefixes = {"model."};
  llvm::StringRef layer = "layers.{i}";
  llvm::StringRef words = "embed_tokens", tokenTypes, embeddingNorm;
  /// Between words of another size and the hidden state, before and behind the
  /// layers.
  llvm::StringRef wordsIn, wordsOut;
  /// Between all embeddings and the hidden state of another size, behind their
  /// norm; it has a bias.
  llvm::StringRef embeddingsOut;
  /// A table of positions, instead of rotation, and the row of the first one.
  llvm::StringRef positions;
  int64_t firstPosition = 0;
  /// Tokens of padding are not counted, and stand at the row before the first.
  bool countsTokens = false;
  /// A table of what is added to the scores of each head, whose rows are
  /// T5's buckets of how far the key is from the query.
  llvm::StringRef relativeBias;
  llvm::StringRef finalNorm = "norm";
  /// The names that an untied head may have, and whether the head of a
  /// language model has a bias, which is never tied.
  llvm::SmallVector<llvm::StringRef, 2> heads = {"lm_head"};
  bool hasHeadBias = false;
  /// Parts of names, and what older files have in their place.
  llvm::SmallVector<std::pair<llvm::StringRef, llvm::StringRef>, 0> oldNames;

  // Heads of encoders, by their whole names. Of masked tokens: a linear layer,
  // the activation (the model's, unless there is another), a norm, the table of
  // words (or a decoder), a bias.
  llvm::StringRef maskedDense, maskedNorm, maskedDecoder, maskedBias;
  std::optional<Activation> headActivation;
  bool hasDenseBias = true, hasDecoderBias = true;
  /// The head that classifies a whole text: a linear layer of the first token,
  /// tanh or another activation, and the classes.
  llvm::StringRef sequenceDense, sequenceClasses = "classifier";
  std::optional<Activation> sequenceActivation;
  llvm::StringRef tokenClasses = "classifier";
  /// Heads of classes begin with the linear layer, activation and norm of the
  /// head of masked tokens, and a text's may be of the mean of its tokens.
  bool sharesMaskedHead = false, poolsMean = false;

  // Parts of a layer, behind its path.
  llvm::StringRef attention = "self_attn";
  llvm::StringRef query = "self_attn.q_proj", key = "self_attn.k_proj",
                  value = "self_attn.v_proj", output = "self_attn.o_proj";
  /// A score of each head that attention adds to the sum of exponentials, by
  /// its whole name.
  llvm::StringRef sinks;
  Fusion fusion = Fusion::None;
  /// The projection of all three, if they are fused.
  llvm::StringRef queryKeyValue;
  /// Norms of queries and keys: of each head with one weight for all, with a
  /// weight [heads, head size], or of all heads together. `{e}` in a name is
  /// the head, where each has a tensor.
  llvm::StringRef queryNorm, keyNorm;
  bool normsAllHeads = false, normsHaveHeads = false;
  /// Queries and keys are rotated before their norms, not after them.
  bool rotatesBeforeNorms = false;
  /// Layers that rotate norm queries and keys of each head once more behind
  /// that, without a weight.
  bool normsRotated = false;
  /// Values are normed in each head, without a weight.
  bool normsValues = false;
  /// Rotary pairs are neighbours instead of half a head apart.
  bool interleavedRotary = false;

  /// Latent attention: keys and values of all heads are one projection of a
  /// few normed numbers, queries perhaps too, and one projection gives those
  /// numbers and a part of the key that all heads have in common and that alone
  /// is rotated.
  llvm::StringRef queryDown, queryDownNorm, queryUp;
  llvm::StringRef keyValueDown, keyValueDownNorm, keyValueUp;

  /// A short convolution in the place of attention, in the layers that have
  /// one: the projection to its two factors and its input, the convolution, the
  /// projection back.
  llvm::StringRef convIn, conv, convOut;

  /// Linear attention in the place of attention, in the layers that have it: a
  /// projection of queries, keys, values and gates that is laid out by key
  /// heads, with one of write strengths and decays; or one of queries, keys and
  /// values, one after the other, and others of their own. Queries, keys and
  /// values are convolved.
  llvm::StringRef linear;
  llvm::StringRef linearIn, linearRates;
  llvm::StringRef linearQueryKeyValue, linearGate, linearBeta, linearDecay;
  llvm::StringRef linearConv, linearDecayLog, linearDecayBias, linearNorm,
      linearOut;

  /// Mamba-2 in the place of attention: a projection of gates, values, keys,
  /// queries and steps, one after the other, and what values are multiplied by
  /// and added to the rule's result; the rest as above.
  llvm::StringRef stateIn, stateSkip;

  /// Behind each head's rows of the projection of queries are as many of a
  /// gate, whose sigmoid multiplies what attention gives.
  bool attentionIsGated = false;

  llvm::StringRef feedForward = "mlp";
  /// Without a gate the activation is that of `up`.
  llvm::StringRef gate = "mlp.gate_proj", up = "mlp.up_proj",
                  down = "mlp.down_proj";
  /// The projection of both, gate first, if they are fused; whether the one
  /// beside two of their own has up first.
  llvm::StringRef gateUp;
  bool isUpFirst = false;
  /// `down` alone of the three has a bias, if there is any.
  bool onlyDownHasBias = false;

  /// A mixture of experts: their stacks of matrices, gate and up perhaps as
  /// one, gate first. Layers without it have the feed-forward above. The name
  /// of the bias of the choice is whole.
  llvm::StringRef router, routerBias;
  /// The bias of the choice is a row, [1, experts].
  bool routerBiasIsRow = false;
  /// The input of the choice is normed without a weight and multiplied by one
  /// row, divided by the root of its size; the scores are multiplied by another
  /// at last.
  llvm::StringRef routerScale, expertScale;
  /// Experts stand beside the feed-forward, and not in its place: the norms
  /// before them, of what they add and of what the feed-forward adds.
  llvm::StringRef expertsNorm, expertsAddendNorm, denseAddendNorm;
  /// Experts without a gate have `expertUp` and `expertDown` alone.
  llvm::StringRef expertGate, expertUp, expertDown, expertGateUp;
  /// Projections between the hidden state and what experts read and give, where
  /// the config has another size for that.
  llvm::StringRef expertsIn, expertsOut;
  /// The logits of the choice have a bias too, `router` + ".bias".
  bool hasRouterBias = false;
  /// Files hold the matrices of all experts as `gate_up_proj` [experts, inputs,
  /// outputs of gate and up] and `down_proj` [experts, inputs, outputs] beside
  /// the experts' paths, perhaps with `gate_up_proj_bias` and `down_proj_bias`.
  /// Rows of gate and up may alternate.
  bool expertsAreStacks = false, expertsAlternate = false,
       expertsHaveBias = false;
  /// Stacks may also be [experts, outputs, inputs], as models are loaded.
  bool stacksMayBeSwapped = false;
  /// The experts that all tokens use beside it, if the config has a width for
  /// it, times the sigmoid of a gate, if there is one.
  llvm::StringRef sharedGate, sharedUp, sharedDown, sharedExpertGate;

  /// Norms before each part, of what it adds, and of the sum.
  llvm::StringRef attentionNorm = "input_layernorm", attentionAddendNorm,
                  attentionSumNorm;
  llvm::StringRef feedForwardNorm = "post_attention_layernorm",
                  feedForwardAddendNorm, feedForwardSumNorm;
  /// The first layer has no norm before its attention.
  bool skipsFirstNorm = false;
  /// A number that multiplies what a layer gives, which is not trained.
  llvm::StringRef layerScale;
  /// Both parts read the layer's input (the second one the first one's norm,
  /// unless it has its own), and what they add is added at once.
  bool isParallel = false;
  NormKind norm = NormKind::RMS;

  /// Weights are stored as [inputs, outputs].
  bool isTransposed = false;
  /// Old files call the norms' tensors gamma and beta.
  bool hasOldNormNames = false;
};

/// A key of config.json and what counts where it is missing; without a key,
/// what holds for the whole family.
template <typename T>
struct Setting {
  llvm::StringRef key;
  T value;
};

/// The layers that have a window, if there is one. Where it is not all of them,
/// `layer_types` may say otherwise.
enum class WindowedLayers {
  All,
  Later,         ///< from `max_window_layers` on
  EvenEarlier,   ///< the first, the third, ... of those before it
  Periodic,      ///< all but the last of each period
  LaterInPeriod, ///< all but the first of each period
};

/// The keys of a family's config.json.
struct ConfigKeys {
  llvm::StringRef hiddenSize = "hidden_size";
  /// The value is a multiple of the hidden size; 0: the key is required.
  Setting<int64_t> intermediateSize = {"intermediate_size", 0};
  /// Empty: the family counts its layers itself.
  llvm::StringRef numLayers = "num_hidden_layers";
  llvm::StringRef numHeads = "num_attention_heads";
  /// Empty: as many as queries.
  llvm::StringRef numKVHeads = "num_key_value_heads";
  /// True if a missing key is an error; else there are as many as queries.
  bool needsKVHeads = true;
  /// Value 0: the hidden size divided by the heads.
  Setting<int64_t> headDim = {"head_dim", 0};
  Setting<int64_t> maxPositions = {"max_position_embeddings", 2048};
  /// Token types of an encoder, if it has any; whether it may have none.
  Setting<int64_t> tokenTypes = {"type_vocab_size", 2};
  bool mayLackTokenTypes = false;
  Setting<double> normEpsilon = {"rms_norm_eps", 1e-6};
  Setting<llvm::StringRef> activation = {"hidden_act", "silu"};

  Setting<bool> tieEmbeddings = {"tie_word_embeddings", false};
  Setting<bool> queryKeyValueBias = {"", false};
  Setting<bool> outputBias = {"", false};
  Setting<bool> feedForwardBias = {"", false};
  /// False: the two parts come one after the other. Without a key the layout
  /// says it.
  Setting<bool> isParallel = {"", false};

  /// The rotation: whether there is any, its base, the part of a head that is
  /// rotated (without a key all of it), and the base in layers with a window,
  /// where that is another one.
  bool isRotary = true;
  Setting<double> ropeTheta = {"rope_theta", 10000};
  Setting<double> rotaryPart = {"", 1};
  Setting<double> localTheta = {"", 0};
  /// Another name that old files have for the rope type "default".
  llvm::StringRef plainRopeType;
  /// `alpha` of a "dynamic" rotation stretches the base for all lengths alike.
  bool hasRopeAlpha = false;
  /// The rope type "ntk" of Alibaba's encoders.
  bool hasNtk = false;
  /// Queries grow with their positions: `llama_4_scaling_beta`.
  bool hasQueryGrowth = false;
  /// The length of training where `original_max_position_embeddings` is
  /// missing beside the object of rotation, whatever that says; 0: it counts.
  int64_t originalMaxPositions = 0;

  /// The window of positions (value 0: none if the key is missing), whether
  /// `use_sliding_window` switches it on, which layers have it, and the length
  /// of a period.
  Setting<int64_t> window = {"", 0};
  bool hasWindowSwitch = false;
  WindowedLayers windowed = WindowedLayers::All;
  Setting<int64_t> windowPeriod = {"", 0},
                   windowBound = {"max_window_layers", 28};

  /// `per_layer_config` gives layers without a window other heads.
  bool hasLayerHeads = false;

  /// The family reads the kinds of its layers itself.
  bool hasOwnLayerTypes = false;
  /// The name that `layer_types` gives a layer with a short convolution, or
  /// linear attention, instead of attention.
  llvm::StringRef convKind;
  /// Other names that files have for that, and for attention.
  llvm::StringRef otherConvKind, otherFullKind;

  /// The name in `layer_types` of attention that is plain attention up to some
  /// length, such as that of a chunk; no program is longer then.
  llvm::StringRef boundedKind;

  /// Factors of embeddings, of what a part adds to the residual stream, of the
  /// scores (value 0: 1 / sqrt of the head's size) and of the logits.
  Setting<double> embeddingScale = {"", 1}, residualScale = {"", 1},
                  attentionScale = {"", 0}, logitScale = {"", 1};

  /// cap * tanh(x / cap) of the logits and of the scores; value 0: x.
  Setting<double> logitCap = {"", 0}, attentionCap = {"", 0};

  Setting<double> embeddingDropout = {"", 0}, residualDropout = {"", 0};
  Setting<double> attentionDropout = {"attention_dropout", 0};
  /// Dropout of another part of a layer: no training with it.
  Setting<double> otherDropout = {"", 0};

  llvm::StringRef initializerRange = "initializer_range";
  /// The row of the table of words that is not trained (PyTorch's
  /// `padding_idx`); value -1: none.
  Setting<int64_t> paddingRow = {"pad_token_id", -1};
};

struct Family {
  llvm::StringRef modelType;
  llvm::SmallVector<llvm::StringRef, 3> architectures;
  ModelLayout layout;
  ConfigKeys keys;
  /// Tensors that files may hold and no program reads: patterns.
  llvm::SmallVector<llvm::StringRef, 3> ignored = {"*.rotary_emb.inv_freq"};
  /// Keys that no other family has, and what they change of the layout.
  void (*adjust)(ObjectReader &, ModelConfig &) = nullptr;
};

/// The table.
llvm::ArrayRef<Family> getFamilies();

/// A model of text and more, of which the text alone is imported: an object of
/// its config.json says what the config.json of a model of text says, of one of
/// the families, whose tensors have other prefixes here.
struct Composite {
  llvm::StringRef modelType;
  /// The model_type by which `transformers` knows the keys of the whole; empty:
  /// that one.
  llvm::StringRef keysType;
  llvm::SmallVector<llvm::StringRef, 2> architectures;
  /// The object, the families that it may be of (the first one where it does
  /// not say), and numbers that it leaves out.
  llvm::StringRef text = "text_config";
  llvm::SmallVector<llvm::StringRef, 2> textTypes;
  llvm::SmallVector<std::pair<llvm::StringRef, int64_t>, 6> defaults;
  /// Old files have the keys of the text beside those of the whole.
  bool mayBeFlat = false;
  /// The head is the table where neither the whole nor the text says; or where
  /// the text says so, whatever the whole does.
  bool tiesEmbeddings = true, mayTieInText = false;
  /// As of ModelLayout: as files have had them, and as models are loaded.
  llvm::SmallVector<llvm::StringRef, 2> prefixes = {"language_model.model.",
                                                    "model.language_model."};
  llvm::SmallVector<llvm::StringRef, 2> heads = {"lm_head",
                                                 "language_model.lm_head"};
  /// The parts that are not of the text: keys, and patterns of tensors, by the
  /// first prefix and by the second.
  llvm::SmallVector<llvm::StringLiteral, 5> keys;
  llvm::SmallVector<llvm::StringRef, 4> ignored = {
      "vision_tower.*", "multi_modal_projector.*", "model.vision_tower.*",
      "model.multi_modal_projector.*"};
  /// Keys of the text that mean something else here.
  void (*adjust)(ObjectReader &text) = nullptr;
};

/// The table (lib/Import/Composites.cpp).
llvm::ArrayRef<Composite> getComposites();

} // namespace tp

#endif // TP_IMPORT_FAMILY_H
