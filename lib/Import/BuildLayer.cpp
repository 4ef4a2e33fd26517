//===- BuildLayer.cpp - One layer of a transformer ------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention and feed-forward with a residual stream around them, as the
// model's layout (tp/Import/Family.h) says. A fused projection whose parts lie
// one after the other is read as boxes of its tensor, because cutting the whole
// tensor over ranks would cut it in the wrong places; one that is laid out by
// KV heads may be cut between these, and its result is taken apart.
//
//===----------------------------------------------------------------------===//

#include "LayerParts.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/TP/IR/ModelAttributes.h"

using namespace mlir;

namespace tp {

/// `name` beside the module at `path`.
static std::string besideOf(StringRef path, StringRef name) {
  return (path.rsplit('.').first + "." + name).str();
}

Value project(ModelBuilder &m, const std::string &path, Value x,
              int64_t outputs, bool hasBias, Part part, const OtherForm &other,
              int64_t grain) {
  int64_t inputs = ModelBuilder::shapeOf(x).back();
  bool isTransposed = m.config.layout.isTransposed;
  auto weightOf = [&](const std::string &path, Part part) {
    Spelling spelling{m.namesOf(path + ".weight"), std::nullopt};
    int64_t total = part.total ? part.total : outputs;
    if (isTransposed)
      spelling.box = {{inputs, total}, {0, part.offset}, {1, 0}};
    else if (part.total)
      spelling.box = {{total, inputs}, {part.offset, 0}, {0, 1}};
    return spelling;
  };
  auto biasOf = [&](const std::string &path, Part part) {
    Spelling spelling{m.namesOf(path + ".bias"), std::nullopt};
    if (part.total)
      spelling.box = {{part.total}, {part.offset}, {0}};
    return spelling;
  };
  SmallVector<Spelling, 2> weights{weightOf(path, part)},
      biases{biasOf(path, part)};
  if (!other.path.empty() && !isTransposed) {
    weights.push_back(weightOf(other.path, other.part));
    biases.push_back(biasOf(other.path, other.part));
  }
  Value rounded = m.roundInput(m.placeOf(path), x, weights, {outputs, inputs});
  Value weight = m.weight(weights, {outputs, inputs}, grain), bias;
  if (hasBias)
    bias = m.parameter(biases, {outputs});
  std::string place = m.placeOf(path);
  if (part.total)
    place += "[" + part.name.str() + "]";
  return m.linear(place, rounded, weight, bias);
}

Value buildNorm(ModelBuilder &m, const Twine &path, Value x,
                std::optional<double> epsilon) {
  if (path.str().empty())
    return x;
  int64_t size = ModelBuilder::shapeOf(x).back();
  auto parameter = [&](StringRef now, StringRef old) {
    SmallVector<std::string> names = m.namesOf(path + "." + now);
    if (m.config.layout.hasOldNormNames)
      names.append(m.namesOf(path + "." + old));
    return m.parameter(names, {size});
  };
  Value weight = parameter("weight", "gamma"), bias;
  if (hasBias(m.config.layout.norm))
    bias = parameter("bias", "beta");
  return m.norm(m.placeOf(path), x, weight, bias, epsilon);
}

namespace {
/// Builds a layer, whose parts' names stand behind its path.
struct LayerBuilder {
  ModelBuilder &m;
  LayerKind kind;
  const AttentionInputs &inputs;
  const ModelConfig &c = m.config;
  const ModelLayout &layout = m.config.layout;
  HeadsConfig h = m.config.getHeads(kind);

  std::string at(StringRef part) const {
    return part.empty() ? "" : (layout.layer + "." + part).str();
  }
  Value norm(StringRef part, Value x) const {
    return buildNorm(m, at(part), x);
  }

  /// The norm of queries or keys [b, s, heads, d].
  Value headNorm(StringRef part, Value x) const {
    if (part.empty() || !layout.normsHaveHeads)
      return norm(part, x);
    ArrayRef<int64_t> shape = ModelBuilder::shapeOf(x);
    Value weight =
        m.parameter(m.namesOf(at(part) + ".weight"), shape.take_back(2));
    weight.getDefiningOp()->setAttr(initAttrName,
                                    m.builder.getStringAttr("ones"));
    return m.normOfHeads(m.placeOf(at(part)), x, weight);
  }

  /// Queries, keys or values [b, s, heads, d].
  Value heads(Value projected, StringRef path, int64_t count,
              StringRef normName) const {
    if (layout.normsAllHeads)
      projected = norm(normName, projected);
    Value y = m.splitHeads(m.placeOf(path), projected, count);
    bool isLater = layout.normsAllHeads || layout.rotatesBeforeNorms;
    return isLater ? y : headNorm(normName, y);
  }

  /// This also reads a checkpoint that has the parts of a projection which the
  /// family lays out by KV heads. Of a gated attention `gate` is what its gates
  /// are made from, [b, s, heads, d].
  std::array<Value, 3> projectSeparately(Value x, Value &gate) const {
    int64_t queries = c.numHeads * h.headDim, keys = h.numKVHeads * h.headDim;
    bool isFused = layout.fusion == Fusion::Blocks;
    auto one = [&](StringRef name, StringRef short_, int64_t offset,
                   int64_t count, StringRef normName, bool isGated = false) {
      Part rows{offset, queries + 2 * keys, short_};
      bool hasName = layout.fusion == Fusion::None;
      std::string path = at(hasName ? name : layout.queryKeyValue);
      std::string apart = besideOf(path, (short_ + "_proj").str());
      OtherForm other{besideOf(path, "qkv_proj"), rows};
      if (isFused)
        other = {apart, Part()};
      else if (!hasName)
        path = apart, other = {};
      if (isGated)
        other = {};
      Value y = project(m, path, x, (isGated ? 2 : 1) * count * h.headDim,
                        c.queryKeyValueBias, isFused ? rows : Part(), other);
      if (!isGated)
        return heads(y, path, count, normName);
      std::string place = m.placeOf(path);
      y = m.splitHeads(place, y, count);
      gate = m.slice(place, y, 3, h.headDim, h.headDim);
      return headNorm(normName, m.slice(place, y, 3, 0, h.headDim));
    };
    Value q = one(layout.query, "q", 0, c.numHeads, layout.queryNorm,
                  layout.attentionIsGated);
    if (h.sharesKeys) {
      Value v = one(layout.key, "k", queries, h.numKVHeads, "");
      return {q, headNorm(layout.keyNorm, v), v};
    }
    Value k = one(layout.key, "k", queries, h.numKVHeads, layout.keyNorm);
    Value v = one(layout.value, "v", queries + keys, h.numKVHeads, "");
    return {q, k, v};
  }

  /// Returns true if the checkpoint has the parts of a projection that the
  /// family lays out by KV heads, and not the projection.
  bool isApart() const {
    std::string path = at(layout.queryKeyValue);
    auto has = [&](const std::string &path) {
      return llvm::any_of(m.namesOf(path + ".weight"),
                          [&](StringRef name) { return m.isThere(name, {}); });
    };
    return layout.fusion == Fusion::Groups && !has(path) &&
           has(besideOf(path, "q_proj"));
  }

  /// Notes the tensors that hold `count` of the heads of each KV head's rows.
  void noteApart(Value x, StringRef name, int64_t offset, int64_t count) const {
    int64_t rows = (c.numHeads / h.numKVHeads + 2) * h.headDim;
    std::string path = at(layout.queryKeyValue), part = besideOf(path, name);
    SmallVector<int64_t> whole{h.numKVHeads, rows,
                               ModelBuilder::shapeOf(x).back()};
    SmallVector<int64_t> own(whole);
    own[1] = count * h.headDim;
    m.noteGroupedPart(path + ".weight", part + ".weight", whole, own,
                      offset * h.headDim);
    if (c.queryKeyValueBias)
      m.noteGroupedPart(path + ".bias", part + ".bias",
                        ArrayRef(whole).drop_back(), ArrayRef(own).drop_back(),
                        offset * h.headDim);
  }

  /// The queries, key and value of rows that are laid out by KV heads.
  std::array<Value, 3> projectGroups(Value x) const {
    int64_t group = c.numHeads / h.numKVHeads;
    std::string path = at(layout.queryKeyValue), place = m.placeOf(path);
    Value all = project(m, path, x, (c.numHeads + 2 * h.numKVHeads) * h.headDim,
                        c.queryKeyValueBias);
    all = m.splitLast(place, all, {h.numKVHeads, group + 2, h.headDim});
    auto part = [&](StringRef name, int64_t offset, int64_t count) {
      noteApart(x, name, offset, count);
      return m.joinDims(place, m.slice(place, all, 3, offset, count), 2);
    };
    Value q = part("q_proj", 0, group), k = part("k_proj", group, 1),
          v = part("v_proj", group + 1, 1);
    return {headNorm(layout.queryNorm, q), headNorm(layout.keyNorm, k), v};
  }

  Value rotate(StringRef place, Value x) const {
    if (!inputs.rotary.first || !kind.rotates)
      return x;
    if (layout.interleavedRotary)
      x = m.separatePairs(
          place, x, 2 * ModelBuilder::shapeOf(inputs.rotary.first).back());
    x = nn::RotaryOp::create(m.builder, m.at(place), x.getType(), x,
                             inputs.rotary.first, inputs.rotary.second);
    return layout.normsRotated ? m.normWithoutWeight(place, x) : x;
  }

  /// The projections of latent attention, rotated. The rotated part of a head
  /// stands before the other in queries and keys, which changes no score.
  std::array<Value, 3> projectLatent(Value x) const {
    const LatentConfig &latent = *c.latent;
    // It does not depend on the model's.
    constexpr double epsilon = 1e-6;
    int64_t rotated = latent.rotatedDim, plain = c.headDim - rotated;
    std::string place = m.placeOf(at(layout.attention));
    auto expand = [&](StringRef name, Value from, int64_t size) {
      std::string path = at(name);
      Value y = project(m, path, from, c.numHeads * size, /*hasBias=*/false);
      return m.splitHeads(m.placeOf(path), y, c.numHeads);
    };
    Value q = x;
    if (latent.queryRank) {
      q = project(m, at(layout.queryDown), x, latent.queryRank,
                  c.queryKeyValueBias);
      q = buildNorm(m, at(layout.queryDownNorm), q, epsilon);
    }
    q = expand(latent.queryRank ? layout.queryUp : layout.query, q, c.headDim);
    q = m.concat(place, rotate(place, m.slice(place, q, 3, plain, rotated)),
                 m.slice(place, q, 3, 0, plain));
    std::string downPath = at(layout.keyValueDown);
    Value down = project(m, downPath, x, latent.keyValueRank + rotated,
                         c.queryKeyValueBias);
    Value shared = m.slice(place, down, 2, latent.keyValueRank, rotated);
    shared = rotate(place, m.splitHeads(place, shared, 1));
    Value each =
        buildNorm(m, at(layout.keyValueDownNorm),
                  m.slice(place, down, 2, 0, latent.keyValueRank), epsilon);
    each = expand(layout.keyValueUp, each, plain + c.valueDim);
    Value k = m.concat(place, m.repeatHead(place, shared, c.numHeads),
                       m.slice(place, each, 3, 0, plain));
    return {q, k, m.slice(place, each, 3, plain, c.valueDim)};
  }

  std::array<Value, 3> projectAll(Value x, Value &gate) const {
    if (c.latent)
      return projectLatent(x);
    std::string place = m.placeOf(at(layout.attention));
    bool isGrouped = layout.fusion == Fusion::Groups && !isApart();
    auto [q, k, v] = isGrouped ? projectGroups(x) : projectSeparately(x, gate);
    q = rotate(place, q);
    k = rotate(place, k);
    if (layout.rotatesBeforeNorms) {
      q = headNorm(layout.queryNorm, q);
      k = headNorm(layout.keyNorm, k);
    }
    if (layout.normsValues)
      v = m.normWithoutWeight(place, v);
    if (inputs.queryFactors)
      q = m.scalePositions(place, q, inputs.queryFactors);
    return {q, k, v};
  }

  Value attend(Value x) const {
    std::string path = at(layout.attention), place = m.placeOf(path);
    Value gate;
    auto [q, k, v] = projectAll(x, gate);
    Value sinks;
    if (!layout.sinks.empty())
      sinks = m.parameter(m.namesOf(at(layout.sinks)), {c.numHeads});
    Value context =
        layout.isEncoder
            ? m.attention(place, q, k, v, inputs.mask, inputs.bias, sinks,
                          /*causal=*/false, kind.slides)
            : m.causalAttention(place, q, k, v, inputs.bias, sinks,
                                kind.slides);
    if (gate)
      context = m.mul(place, context, m.sigmoid(place, gate, m.getModelType()));
    Value y = project(m, at(layout.output), m.mergeHeads(place, context),
                      c.hiddenSize, c.attentionOutputBias, Part(), OtherForm(),
                      /*grain=*/h.valueDim);
    return m.dropout(place, y, c.dropout.residual);
  }

  /// A convolution of the product of two projections, times a third one. The
  /// three are one tensor, one after the other.
  Value convolve(Value x) const {
    std::string place = m.placeOf(at(layout.conv));
    bool hasBias = c.conv->hasBias;
    auto part = [&](StringRef name, int64_t number) {
      Part rows{number * c.hiddenSize, 3 * c.hiddenSize, name};
      return project(m, at(layout.convIn), x, c.hiddenSize, hasBias, rows);
    };
    Value before = part("B", 0), behind = part("C", 1), input = part("x", 2);
    Value weight = m.parameter(m.namesOf(at(layout.conv) + ".weight"),
                               {c.hiddenSize, 1, c.conv->taps});
    Value bias;
    if (hasBias)
      bias = m.parameter(m.namesOf(at(layout.conv) + ".bias"), {c.hiddenSize});
    Value y = m.causalConv(place, m.mul(place, before, input), weight, bias);
    return project(m, at(layout.convOut), m.mul(place, behind, y), c.hiddenSize,
                   hasBias);
  }

  Value feedForward(Value x) const {
    if (!c.experts || kind.isDense)
      return m.dropout(m.placeOf(at(layout.feedForward)),
                       dense(x, kind.width ? kind.width : c.intermediateSize,
                             {layout.gate, layout.up, layout.down}),
                       c.dropout.residual);
    Value y = buildExperts(m, layout.layer, x, x);
    if (!c.experts->sharedWidth)
      return y;
    Value shared =
        dense(x, c.experts->sharedWidth,
              {layout.sharedGate, layout.sharedUp, layout.sharedDown});
    if (!layout.sharedExpertGate.empty())
      shared = buildSharedGate(m, layout.layer, x, shared);
    return m.add(m.placeOf(at(layout.feedForward)), y, shared);
  }

  /// A feed-forward of gate, up and down.
  Value dense(Value x, int64_t size, std::array<StringRef, 3> names) const {
    auto [gateName, upName, downName] = names;
    std::string place = m.placeOf(at(layout.feedForward));
    bool isFused = !layout.gateUp.empty();
    bool hasBias = c.feedForwardBias && !layout.onlyDownHasBias;
    auto inner = [&](StringRef name, StringRef half, int64_t offset) {
      Part rows{offset, 2 * size, half};
      std::string path = at(isFused ? layout.gateUp : name);
      if (isFused)
        return project(m, path, x, size, hasBias, rows,
                       {besideOf(path, (half + "_proj").str()), Part()});
      OtherForm other;
      if (!gateName.empty())
        other = {besideOf(path, "gate_up_proj"), rows};
      return project(m, path, x, size, hasBias, Part(), other);
    };
    Value y;
    if (isFused || !gateName.empty()) {
      Value gate = inner(gateName, "gate", layout.isUpFirst ? size : 0);
      Value up = inner(upName, "up", layout.isUpFirst ? 0 : size);
      y = m.mul(place, m.activation(place, gate, c.activation), up);
    } else {
      y = m.activation(place, inner(upName, "", 0), c.activation);
    }
    return project(m, at(downName), y, c.hiddenSize, c.feedForwardBias);
  }

  /// Emits a feed-forward and experts beside it, with norms of their own. The
  /// choice of experts reads the residual stream itself.
  Value feedBoth(Value x) const {
    Value fed = dense(norm(layout.feedForwardNorm, x), c.intermediateSize,
                      std::array{layout.gate, layout.up, layout.down});
    Value y = buildExperts(m, layout.layer, norm(layout.expertsNorm, x), x);
    return m.add(m.placeOf(at(layout.feedForward)),
                 norm(layout.denseAddendNorm, fed),
                 norm(layout.expertsAddendNorm, y));
  }

  /// Adds what the feed-forward makes of the residual stream.
  Value addFed(Value x) const {
    std::string place = m.placeOf(layout.layer);
    bool hasBoth = c.experts && !layout.expertsNorm.empty();
    Value fed =
        hasBoth ? feedBoth(x) : feedForward(norm(layout.feedForwardNorm, x));
    fed = m.scale(place, norm(layout.feedForwardAddendNorm, fed),
                  c.residualScale);
    x = norm(layout.feedForwardSumNorm, m.add(place, x, fed));
    if (layout.layerScale.empty())
      return x;
    std::string path = at(layout.layerScale);
    Value number = m.parameter(m.namesOf(path), {1});
    number.getDefiningOp()->setAttr(initAttrName,
                                    m.builder.getStringAttr("ones"));
    return scaleByConstant(m, m.placeOf(path), x, number);
  }

  Value build(Value x) const {
    if (!kind.mixes)
      return kind.feeds ? addFed(x) : x;
    std::string place = m.placeOf(layout.layer);
    Value normed = kind.skipsNorm ? x : norm(layout.attentionNorm, x);
    Value mixed = !kind.convolves ? attend(normed)
                  : c.linear      ? buildLinearAttention(m, normed)
                                  : convolve(normed);
    Value attended = norm(layout.attentionAddendNorm, mixed);
    attended = m.scale(place, attended, c.residualScale);
    if (layout.isParallel) {
      if (!layout.feedForwardNorm.empty())
        normed = norm(layout.feedForwardNorm, x);
      Value fed = m.scale(place, feedForward(normed), c.residualScale);
      return m.add(place, x, m.add(place, attended, fed));
    }
    x = norm(layout.attentionSumNorm, m.add(place, x, attended));
    return kind.feeds ? addFed(x) : x;
  }
};
} // namespace

Value buildLayer(ModelBuilder &m, Value x, LayerKind kind,
                 const AttentionInputs &inputs) {
  return LayerBuilder{m, kind, inputs}.build(x);
}

} // namespace tp
