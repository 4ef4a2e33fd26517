//===- BuildLinearAttention.cpp - Layers with a gated delta rule ----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queries, keys and values are projected, convolved, each by itself, and
// activated; queries and keys are normed; a gated delta rule mixes positions;
// its result is normed in each head and multiplied by an activated gate. A
// projection that is laid out by key heads may be cut between these and its
// result is taken apart; one that holds queries, keys and values one after the
// other is read as boxes of its tensor, as is the weight of the convolution.
//
//===----------------------------------------------------------------------===//

#include "LayerParts.h"
#include "tp/Dialect/TP/IR/ModelAttributes.h"
#include <cmath>

using namespace mlir;

namespace tp {

namespace {
struct LinearBuilder {
  ModelBuilder &m;
  const ModelConfig &c = m.config;
  const LinearConfig &linear = *m.config.linear;
  const ModelLayout &layout = m.config.layout;
  std::string place = m.placeOf(layout.layer + "." + layout.linear);
  Type f32 = m.builder.getF32Type();

  std::string at(StringRef part) const {
    return (layout.layer + "." + part).str();
  }

  /// All that is made from the layer's input, [b, s, ...], heads flat.
  struct Projected {
    Value query, key, value, gate, beta, decay;
  };

  /// Rows of each key head: its query, its key, the values and then the gates
  /// of its value heads; and their write strengths before their decays.
  Projected projectGroups(Value x) const {
    int64_t group = linear.valueHeads / linear.keyHeads;
    int64_t key = linear.keyDim, value = group * linear.valueDim;
    Value all = project(m, at(layout.linearIn), x,
                        2 * (linear.getKeySize() + linear.getValueSize()),
                        /*hasBias=*/false);
    Value rates = project(m, at(layout.linearRates), x, 2 * linear.valueHeads,
                          /*hasBias=*/false);
    auto take = [&](Value from, int64_t offset, int64_t count) {
      int64_t rows = ModelBuilder::shapeOf(from).back() / linear.keyHeads;
      Value heads = m.splitLast(place, from, {linear.keyHeads, rows});
      return m.joinDims(place, m.slice(place, heads, 3, offset, count), 2);
    };
    return {take(all, 0, key),         take(all, key, key),
            take(all, 2 * key, value), take(all, 2 * key + value, value),
            take(rates, 0, group),     take(rates, group, group)};
  }

  Projected projectSeparately(Value x) const {
    int64_t key = linear.getKeySize(), value = linear.getValueSize();
    auto part = [&](StringRef name, int64_t offset, int64_t count) {
      return project(m, at(layout.linearQueryKeyValue), x, count,
                     /*hasBias=*/false, {offset, 2 * key + value, name});
    };
    auto own = [&](StringRef name, int64_t count) {
      return project(m, at(name), x, count, /*hasBias=*/false);
    };
    return {part("q", 0, key),
            part("k", key, key),
            part("v", 2 * key, value),
            own(layout.linearGate, value),
            own(layout.linearBeta, linear.valueHeads),
            own(layout.linearDecay, linear.valueHeads)};
  }

  /// Channels from `offset` on, convolved and activated, as heads in f32.
  Value convolve(Value x, int64_t offset, int64_t heads) const {
    int64_t channels = ModelBuilder::shapeOf(x).back(), taps = c.conv->taps;
    int64_t total = 2 * linear.getKeySize() + linear.getValueSize();
    ParameterBox box{{total, 1, taps}, {offset, 0, 0}, {0, 1, 2}};
    Value weight = m.parameter(m.namesOf(at(layout.linearConv) + ".weight"),
                               {channels, 1, taps}, &box);
    Value bias;
    if (c.conv->hasBias) {
      ParameterBox rows{{total}, {offset}, {0}};
      bias = m.parameter(m.namesOf(at(layout.linearConv) + ".bias"), {channels},
                         &rows);
    }
    Value y = m.causalConv(place, x, weight, bias);
    y = m.activation(place, y, linear.activation);
    return m.convert(place, m.splitHeads(place, y, heads), f32);
  }

  /// A parameter of each value head, or of each element of one, in `type`, that
  /// training begins with `init`.
  Value vector(const Twine &name, int64_t size, Type type,
               StringRef init) const {
    Value parameter = m.parameter(m.namesOf(layout.layer + "." + name), {size},
                                  nullptr, type);
    parameter.getDefiningOp()->setAttr(initAttrName,
                                       m.builder.getStringAttr(init));
    return parameter;
  }

  /// Emits the step size of each position, softplus(dt + bias), in f32.
  Value steps(Value x) const {
    return softplus(
        m, place, x,
        vector(layout.linearDecayBias, linear.valueHeads, f32, "ones"),
        linear.leastStep);
  }
  Value decays(Value steps) const {
    return scaleByRates(
        m, place, steps,
        vector(layout.linearDecayLog, linear.valueHeads, f32, "zeros"));
  }

  /// Mamba-2: values are multiplied by their steps, and no value takes the
  /// place of what is stored. Keys and queries are B and C of the literature,
  /// and key heads its groups.
  Value buildStateSpace(Value x) const {
    int64_t key = linear.getKeySize(), value = linear.getValueSize();
    int64_t total = 2 * (value + key) + linear.valueHeads;
    auto part = [&](StringRef name, int64_t offset, int64_t count) {
      return project(m, at(layout.stateIn), x, count, linear.hasBias,
                     {offset, total, name});
    };
    Value gate = part("z", 0, value);
    Value v = convolve(part("x", value, value), 0, linear.valueHeads);
    Value k = convolve(part("B", 2 * value, key), value, linear.keyHeads);
    Value q =
        convolve(part("C", 2 * value + key, key), value + key, linear.keyHeads);
    Value dt = steps(part("dt", 2 * (value + key), linear.valueHeads));
    Value y = m.deltaRule(place, q, k, scaleHeads(m, place, v, dt), decays(dt),
                          /*beta=*/Value());
    y = addScaledHeads(
        m, place, y, v,
        vector(layout.stateSkip, linear.valueHeads, f32, "ones"));
    y = m.mergeHeads(place, m.convert(place, y, m.getModelType()));
    y = m.mul(place, y, m.activation(place, gate, Activation::SiLU));
    return project(m, at(layout.linearOut), normGroups(y), c.hiddenSize,
                   linear.hasBias, Part(), OtherForm(),
                   /*grain=*/linear.valueDim);
  }

  /// Norms the values of each key head together.
  Value normGroups(Value x) const {
    std::string where = m.placeOf(at(layout.linearNorm));
    Value weight = vector(layout.linearNorm + ".weight", linear.getValueSize(),
                          m.getModelType(), "ones");
    if (linear.keyHeads == 1)
      return m.plainNorm(where, x, weight);
    Value groups = m.splitHeads(where, x, linear.keyHeads);
    groups = m.normWithoutWeight(where, groups);
    return scaleRows(m, where, m.mergeHeads(where, groups), weight);
  }

  Value build(Value x) const {
    if (!layout.stateIn.empty())
      return buildStateSpace(x);
    Projected p =
        layout.linearIn.empty() ? projectSeparately(x) : projectGroups(x);
    int64_t key = linear.getKeySize();
    Value q = convolve(p.query, 0, linear.keyHeads);
    Value k = convolve(p.key, key, linear.keyHeads);
    Value v = convolve(p.value, 2 * key, linear.valueHeads);
    // It does not depend on the model's.
    constexpr double epsilon = 1e-6;
    q = m.l2NormOfRows(place, q, epsilon, 1 / std::sqrt(double(linear.keyDim)));
    k = m.l2NormOfRows(place, k, epsilon, 1);
    Value beta = m.sigmoid(place, p.beta, f32);
    Value decay = decays(steps(p.decay));
    Value y = m.deltaRule(place, q, k, v, decay, beta);
    y = m.plainNorm(m.placeOf(at(layout.linearNorm)),
                    m.convert(place, y, m.getModelType()),
                    vector(layout.linearNorm + ".weight", linear.valueDim,
                           m.getModelType(), "ones"));
    Value gate = m.splitHeads(place, p.gate, linear.valueHeads);
    y = m.mul(place, y, m.activation(place, gate, Activation::SiLU));
    return project(m, at(layout.linearOut), m.mergeHeads(place, y),
                   c.hiddenSize, /*hasBias=*/false, Part(), OtherForm(),
                   /*grain=*/linear.valueDim);
  }
};
} // namespace

Value buildLinearAttention(ModelBuilder &m, Value x) {
  return LinearBuilder{m}.build(x);
}

} // namespace tp
