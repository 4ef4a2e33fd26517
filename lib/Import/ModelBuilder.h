//===- ModelBuilder.h - Emitting model IR ---*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The families share this to emit a program: the function and its named inputs
// and outputs, parameters (recorded, so that they can be checked against the
// checkpoint's headers), and operations placed at the path of the module they
// come from, because that is what the ledger prints.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_IMPORT_MODELBUILDER_H
#define TP_LIB_IMPORT_MODELBUILDER_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Import/Checkpoint.h"
#include "tp/Import/Import.h"
#include "tp/Import/ModelConfig.h"
#include "tp/Import/SentenceModules.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

namespace tp {

mlir::Type getElementType(mlir::MLIRContext *context, FloatKind dtype);

/// A parameter of the program and the checkpoint tensor that it must match.
struct ParameterUse {
  /// The names it may have; the first is written into the IR. With a number
  /// (tprt/names.h) there is one tensor for each of these iterations.
  llvm::SmallVector<std::string> names;
  llvm::SmallVector<int64_t> shape;
  int64_t first = 0, count = 1;
  StorageAttr storage = {}; ///< The storage of a quantised one.
};

/// The place of a parameter in its checkpoint tensor: see tp.parameter's
/// source.
struct ParameterBox {
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<int64_t> offsets;
  llvm::SmallVector<int64_t> permutation;
  llvm::SmallVector<int64_t> steps = {}; ///< empty: one in each dimension
};

/// One form in which checkpoints hold a parameter: the names of a tensor, and
/// the box of it, unless the parameter is all of it.
struct Spelling {
  llvm::SmallVector<std::string> names;
  std::optional<ParameterBox> box;
};

/// Tensors of the checkpoint that are boxes of others, one for each iteration:
/// `tp.tensor_parts` (ModelAttributes.h).
struct TensorPart {
  std::string part, whole;
  llvm::SmallVector<int64_t> shape, offsets, sizes;
  FloatKind type;
  int64_t first, count;
  /// The number of leading dimensions of `shape` and `sizes` that are one
  /// dimension in the files: KV heads and the rows of each, where a fused
  /// projection is laid out by KV heads.
  int64_t joined = 1;
};

using NamedValues = llvm::SmallVector<std::pair<llvm::StringRef, mlir::Value>>;

/// Returns true if a cache of that type is written with scales that the
/// checkpoint has for keys and values.
bool readsCacheScales(const ModelConfig &config, const Checkpoint &checkpoint,
                      CacheType type);

class ModelBuilder {
public:
  ModelBuilder(mlir::MLIRContext *context, const ModelConfig &config,
               const Checkpoint &checkpoint, const ImportOptions &options,
               FloatKind dtype, int64_t seq, llvm::ArrayRef<LayerRun> runs);

  const ModelConfig &config;
  int64_t batch, seq;
  const int64_t numLayers;
  const bool trains, drops, floatActivations;
  bool lastLogits;
  /// The function is one that steps of generation are derived from.
  bool isForSteps = false;
  /// The type that tensors of one parameter are compared in.
  FloatKind readType = FloatKind::F32;
  const llvm::SmallVector<LayerRun> runs;
  mlir::OpBuilder builder;

  //===--------------------------------------------------------------------===//
  // Functions
  //===--------------------------------------------------------------------===//

  void begin(llvm::StringRef name);
  /// An argument i64[batch, seq] with values of [first, limit). `defaultValue`
  /// is "ones", "zeros" or empty for an input that must be given.
  mlir::Value addInput(llvm::StringRef name, int64_t limit,
                       llvm::StringRef defaultValue, int64_t first = 0);
  void end(llvm::ArrayRef<std::pair<llvm::StringRef, mlir::Value>> outputs);
  mlir::OwningOpRef<mlir::ModuleOp> finish(llvm::StringRef modelName,
                                           llvm::ArrayRef<std::string> ignored);
  mlir::ModuleOp getModule() { return *module; }
  /// The function that was begun last.
  mlir::Operation *getFunction() { return function; }
  llvm::ArrayRef<ParameterUse> getParameters() const { return parameters; }
  /// The other spellings of parameters that the checkpoint has.
  llvm::ArrayRef<TensorPart> getParts() const { return parts; }

  //===--------------------------------------------------------------------===//
  // Parts of language models (BuildDecoder.cpp)
  //===--------------------------------------------------------------------===//

  /// The tokens' ids, with all that goes with them.
  mlir::Value addTokens();
  /// The mask of @main.
  mlir::Value getMask() const { return mask; }
  /// cos and sin of the positions' angles, from f32 frequencies, times a
  /// factor.
  std::pair<mlir::Value, mlir::Value>
  rotaryTable(llvm::StringRef path, llvm::ArrayRef<float> frequencies,
              double factor);
  /// Builds the factors of queries by position, [s], if the model's rotation
  /// has any; else returns null.
  mlir::Value queryFactors(llvm::StringRef path);
  /// Attention to a token itself and those before it.
  mlir::Value causalAttention(llvm::StringRef path, mlir::Value q,
                              mlir::Value k, mlir::Value v, mlir::Value bias,
                              mlir::Value sinks, bool slides);
  /// A short convolution of x[b, s, c]; `bias` may be null.
  mlir::Value causalConv(llvm::StringRef path, mlir::Value x,
                         mlir::Value weight, mlir::Value bias);
  /// nn.gated_delta_rule, in f32; `beta` may be null.
  mlir::Value deltaRule(llvm::StringRef path, mlir::Value q, mlir::Value k,
                        mlir::Value v, mlir::Value decay, mlir::Value beta);
  /// The checkpoint's scales of the keys (0) or values (1) that an attention of
  /// this builder writes: f32[1, heads], or f32[1, 1].
  mlir::Value readCacheScales(mlir::Operation *attention, unsigned which,
                              int64_t heads);
  /// The positions of hidden[b, s, h] whose logits are asked for.
  mlir::Value selectPositions(llvm::StringRef path, mlir::Value hidden);
  /// `bias` [vocabulary] may be null.
  NamedValues logits(llvm::StringRef path, mlir::Value hidden, mlir::Value head,
                     mlir::Value bias);
  /// The sum of the losses of all positions that have a target, and how many
  /// these are.

  //===--------------------------------------------------------------------===//
  // Parameters and operations, at the module's path
  //===--------------------------------------------------------------------===//

  mlir::Location at(llvm::StringRef path);
  mlir::RankedTensorType type(llvm::ArrayRef<int64_t> shape) const {
    return mlir::RankedTensorType::get(shape, elementType);
  }
  static llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
    return llvm::cast<mlir::RankedTensorType>(value.getType()).getShape();
  }

  /// The names that a part of the model may have, and its module's path: of
  /// the layer that is emitted, if it has `{i}`.
  llvm::SmallVector<std::string> namesOf(const llvm::Twine &name) const;
  /// The name as older files have it; `name` itself if they have no other.
  std::string oldNameOf(const llvm::Twine &name) const;
  std::string placeOf(const llvm::Twine &name) const;
  /// True if the checkpoint has a tensor of that name.
  bool has(llvm::StringRef name) const { return checkpoint.find(name); }
  /// The tensor of the first iteration, and of the first position of a stack
  /// whose shape begins with `lead`; null if there is none.
  const CheckpointTensor *find(llvm::StringRef name,
                               llvm::ArrayRef<int64_t> lead) const;
  /// The parameter with the first of `names` that the checkpoint has, in the
  /// model's type unless `element` is another.
  mlir::Value parameter(llvm::ArrayRef<std::string> names,
                        llvm::ArrayRef<int64_t> shape,
                        const ParameterBox *box = nullptr,
                        mlir::Type element = {}, StorageAttr storage = {});
  /// The parameter in the first of the spellings that the checkpoint has; where
  /// it has others too, these are noted as parts. No permutation may differ.
  mlir::Value parameter(llvm::ArrayRef<Spelling> spellings,
                        llvm::ArrayRef<int64_t> shape);
  /// Returns true if the checkpoint has the tensor of the first iteration.
  bool isThere(llvm::StringRef name, llvm::ArrayRef<int64_t> shape) const;
  /// Notes a tensor [groups * rows, ...], where the checkpoint has it, as a
  /// part of one that holds the rows of each group side by side. `whole` and
  /// `part` are names, `shape` [groups, rows of the whole, ...], `sizes`
  /// [groups, rows of the part, ...], `row` where the part's begin in each
  /// group.
  void noteGroupedPart(llvm::StringRef whole, llvm::StringRef part,
                       llvm::ArrayRef<int64_t> shape,
                       llvm::ArrayRef<int64_t> sizes, int64_t row);
  /// The weight [..., outputs, inputs] of a linear layer, named "*.weight", or
  /// a stack of all experts' without that: as `parameter`, or what
  /// nn.dequantize makes of the tensors of a quantised one
  /// (BuildQuantized.cpp). Inputs may be cut at multiples of `grain`, if that
  /// is not 0, wherever the groups end.
  mlir::Value weight(llvm::ArrayRef<Spelling> spellings,
                     llvm::ArrayRef<int64_t> shape, int64_t grain = 0);
  /// The input of that linear layer as its recipe rounds it; `x` itself where
  /// it does not, or where --activations float says so.
  mlir::Value roundInput(llvm::StringRef path, mlir::Value x,
                         llvm::ArrayRef<Spelling> spellings,
                         llvm::ArrayRef<int64_t> shape);
  mlir::Value linear(llvm::StringRef path, mlir::Value x, mlir::Value weight,
                     mlir::Value bias);
  /// The layout's kind of norm; `bias` is that of a layer norm which has one.
  /// Without `epsilon` it is the model's.
  mlir::Value norm(llvm::StringRef path, mlir::Value x, mlir::Value weight,
                   mlir::Value bias, std::optional<double> epsilon = {});
  /// x / sqrt(mean(x²) + the model's epsilon).
  mlir::Value normWithoutWeight(llvm::StringRef path, mlir::Value x);
  /// The same of x[b, s, heads, d] with weight[heads, d].
  mlir::Value normOfHeads(llvm::StringRef path, mlir::Value x,
                          mlir::Value weight);
  /// Row `paddingRow`, if there is one, gets no gradient.
  mlir::Value embedding(llvm::StringRef path, mlir::Value ids,
                        mlir::Value table,
                        std::optional<int64_t> paddingRow = {});
  mlir::Value activation(llvm::StringRef path, mlir::Value x, Activation kind);
  mlir::Value add(llvm::StringRef path, mlir::Value a, mlir::Value b);
  /// 1 / (1 + exp(-x)), rounded to `element`.
  mlir::Value sigmoid(llvm::StringRef path, mlir::Value x, mlir::Type element);
  /// x in another type of floats.
  mlir::Value convert(llvm::StringRef path, mlir::Value x, mlir::Type element);
  mlir::Type getModelType() const { return elementType; }
  /// f32 rows of the last dimension times factor / sqrt(sum(x²) + epsilon).
  mlir::Value l2NormOfRows(llvm::StringRef path, mlir::Value x, double epsilon,
                           double factor);
  /// A norm by x / sqrt(mean(x²)) whatever the layout's kind is.
  mlir::Value plainNorm(llvm::StringRef path, mlir::Value x,
                        mlir::Value weight);
  /// In a program that is trained with dropout; else `x` (Training.cpp).
  mlir::Value dropout(llvm::StringRef path, mlir::Value x, double probability);
  mlir::Value mul(llvm::StringRef path, mlir::Value a, mlir::Value b);
  /// x * factor, and cap * tanh(x / cap); x if the factor is 1, or the cap 0.
  mlir::Value scale(llvm::StringRef path, mlir::Value x, double factor);
  mlir::Value cap(llvm::StringRef path, mlir::Value x, double limit);
  /// [..., n] -> [..., sizes], sizes of product n.
  mlir::Value splitLast(llvm::StringRef path, mlir::Value x,
                        llvm::ArrayRef<int64_t> sizes);
  /// The dimensions first and first + 1 become one.
  mlir::Value joinDims(llvm::StringRef path, mlir::Value x, unsigned first);
  /// `count` from `offset` on of one dimension.
  mlir::Value slice(llvm::StringRef path, mlir::Value x, unsigned dim,
                    int64_t offset, int64_t count);
  /// a and b one after the other in the last dimension.
  mlir::Value concat(llvm::StringRef path, mlir::Value a, mlir::Value b);
  /// x[b, s, 1, d] -> [b, s, heads, d], the same for all heads.
  mlir::Value repeatHead(llvm::StringRef path, mlir::Value x, int64_t heads);
  /// The rows of a table of positions at which ids[b, s] stand that are not
  /// `padding`; that is at row `padding`, and they are counted from the next.
  mlir::Value countedPositions(llvm::StringRef path, mlir::Value ids,
                               int64_t padding);
  /// x[b, s, heads, d] with the even ones of each head's first `size` elements
  /// before the odd ones: scores do not depend on the order that queries and
  /// keys have.
  mlir::Value separatePairs(llvm::StringRef path, mlir::Value x, int64_t size);
  /// x[b, s, heads, d] times a factor for each position, factors[s].
  mlir::Value scalePositions(llvm::StringRef path, mlir::Value x,
                             mlir::Value factors);
  /// x[b, s, h] + rows[s, h].
  mlir::Value addPositions(llvm::StringRef path, mlir::Value x,
                           mlir::Value rows);
  /// The rows of a table of positions for all of a sequence.
  mlir::Value firstRows(llvm::StringRef path, mlir::Value table);
  /// [b, s, heads * d] -> [b, s, heads, d] and back.
  mlir::Value splitHeads(llvm::StringRef path, mlir::Value x, int64_t heads);
  mlir::Value mergeHeads(llvm::StringRef path, mlir::Value x);
  mlir::Value attention(llvm::StringRef path, mlir::Value q, mlir::Value k,
                        mlir::Value v, mlir::Value mask, mlir::Value bias,
                        mlir::Value sinks, bool causal, bool slides);
  /// The layers, in runs that repeat: `body` maps what a layer is given to
  /// what it gives.
  mlir::Value
  repeatLayers(llvm::StringRef layer, mlir::Value x,
               llvm::function_ref<mlir::Value(mlir::Value, LayerKind)> body);
  /// x[b, s, h] -> [b, 1, h]: the last position that the mask keeps.
  mlir::Value lastPosition(llvm::StringRef path, mlir::Value x,
                           mlir::Value mask);
  /// x[b, s, h] -> [b, h]: the mean over the positions that the mask keeps.
  mlir::Value meanPool(llvm::StringRef path, mlir::Value x, mlir::Value mask);
  /// x[b, h] divided by its L2 norm.
  mlir::Value l2Normalize(llvm::StringRef path, mlir::Value x);

private:
  /// The scheme of a weight that is quantised, and the spelling that is read;
  /// null otherwise.
  std::pair<const QuantizedScheme *, const Spelling *>
  findQuantized(llvm::ArrayRef<Spelling> spellings,
                llvm::ArrayRef<int64_t> shape) const;

  /// `name` with the number of the layer that is emitted for `{i}`.
  std::string numbered(const llvm::Twine &name) const;
  /// True if shorter sequences may be given.
  bool takesShorter() const { return !trains && !config.rope.changesAt(seq); }
  mlir::Value addArgument(llvm::StringRef name, mlir::RankedTensorType type,
                          llvm::ArrayRef<mlir::NamedAttribute> attrs);
  /// All parts as tp.tensor_parts, each once, whatever functions have noted
  /// them; null if there are none.
  mlir::Attribute describeParts();
  void notePart(const Spelling &read, const Spelling &other,
                llvm::ArrayRef<int64_t> shape);
  /// Returns true if the checkpoint has the tensor of any iteration.
  bool isAnywhere(llvm::StringRef name, llvm::ArrayRef<int64_t> shape) const;
  mlir::Attribute getInit(llvm::StringRef name, unsigned rank);
  mlir::Value getCounter(llvm::StringRef name, int64_t limit,
                         mlir::Value &known);
  /// The cap of scores; null: they are as they are.
  mlir::FloatAttr getSoftCap();
  mlir::Value splat(llvm::StringRef path, mlir::Type type, double value);
  /// f32[b], like all sums here: how many positions of each row the mask
  /// keeps.
  mlir::Value countKept(mlir::Location loc, mlir::Value mask);

  const Checkpoint &checkpoint;
  mlir::Type elementType;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::Operation *function = nullptr;
  mlir::Value mask; ///< of @main
  mlir::Value dropoutSeed, dropoutStep;
  int64_t numDropouts = 0;
  /// The layers that are emitted: the iterations, and the layer's number in
  /// each of them.
  int64_t firstIteration = 0, numIterations = 1;
  std::string layerNumber = "{i}";
  std::vector<TensorPart> parts;
  /// The layer of each attention: the iterations, and its number in them.
  llvm::DenseMap<mlir::Operation *, std::tuple<int64_t, int64_t, std::string>>
      attentions;
  llvm::SmallVector<ParameterUse> parameters;
};

/// How the linear layer is stored whose weight may have these names, without
/// placeholders; null: as it is in checkpoints that are not quantised.
const QuantizedScheme *findScheme(const ModelConfig &config,
                                  const Checkpoint &checkpoint,
                                  llvm::ArrayRef<std::string> names);

/// Emits the body and returns the named outputs.
NamedValues buildModel(ModelBuilder &model, const SentenceModules &modules);
/// The bias that each head adds to the scores because of where query and key
/// stand, f32[heads, s, s]; null if there is none (BuildBias.cpp).
mlir::Value buildScoreBias(ModelBuilder &model);
/// The operands of attention beside queries, keys and values: cos and sin of
/// rotation, the mask of an encoder, a bias of the scores, a factor of queries
/// for each position; null if there is none.
struct AttentionInputs {
  std::pair<mlir::Value, mlir::Value> rotary;
  mlir::Value mask, bias, queryFactors;
};
/// One layer (BuildLayer.cpp).
mlir::Value buildLayer(ModelBuilder &model, mlir::Value x, LayerKind kind,
                       const AttentionInputs &inputs);
/// The sum of the experts that each token uses, by what `choice` says, of the
/// layer at `layer` (BuildExperts.cpp), and the feed-forward that all use,
/// times its gate.
mlir::Value buildExperts(ModelBuilder &model, llvm::StringRef layer,
                         mlir::Value x, mlir::Value choice);
mlir::Value buildSharedGate(ModelBuilder &model, llvm::StringRef layer,
                            mlir::Value x, mlir::Value shared);
/// The norm of the module `path`; x if that is empty.
mlir::Value buildNorm(ModelBuilder &model, const llvm::Twine &path,
                      mlir::Value x, std::optional<double> epsilon = {});

} // namespace tp

#endif // TP_LIB_IMPORT_MODELBUILDER_H
