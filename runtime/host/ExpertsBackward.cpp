//===- ExpertsBackward.cpp - its derivative on the host -------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As the forward: experts one after the other, each with its rows, whose gate
// and up are computed again. What is summed over experts or over blocks of rows
// is so in their order, in f32. With w the weight, c the cotangent and t = c
// down: d_up is w t act(gate), d_gate is w t up act'(gate), and the weight's is
// the sum of t act(gate) up.
//
//===----------------------------------------------------------------------===//

#include "Experts.h"

#include "../support/Parallel.h"
#include "../support/Simd.h"

#include <cmath>
#include <cstring>

using namespace tprt;

namespace {

/// Products of each description. Those of matrices sum over rows, of which each
/// number is a product of its own: pairs behind the others.
enum Product { kInner, kBack, kToInput, kPerRows };

/// The index, from 0 on, of a number of rows that roundRows makes.
int64_t indexOf(int64_t padded) {
  if (padded <= 8)
    return padded - 1;
  if (padded <= 64)
    return 7 + (padded - 8) / 8;
  if (padded <= 256)
    return 14 + (padded - 64) / 32;
  return 20 + (padded - 256) / 128;
}

constexpr int64_t kRowCounts = 27;
constexpr int64_t kProducts = kPerRows + 2 * kRowCounts;

std::vector<Gemm> describeProducts(const std::vector<Experts> &list) {
  std::vector<Gemm> gemms;
  for (const Experts &e : list) {
    Gemm in{};
    in.m = kExpertRowsAtOnce;
    in.n = e.f;
    in.k = e.k;
    in.xType = in.wType = e.type;
    in.yType = in.biasType = TPRT_F32;
    Gemm back = in;
    back.k = e.n;
    back.wTransposed = true;
    Gemm input = in;
    input.n = e.k;
    input.k = e.f;
    input.xType = TPRT_F32;
    input.wTransposed = input.residual = true;
    gemms.insert(gemms.end(), {in, back, input});
    for (int64_t rows = 1; rows <= kExpertRowsAtOnce;
         rows = roundRows(rows + 1)) {
      Gemm inner = input, outer = input;
      inner.xTransposed = outer.xTransposed = true;
      inner.k = outer.k = rows;
      inner.m = e.f;
      inner.n = e.k;
      outer.m = e.n;
      outer.n = e.f;
      gemms.insert(gemms.end(), {inner, outer});
    }
  }
  return gemms;
}

float slopeOf(Gemm::Activation activation, float x) {
  switch (activation) {
  case Gemm::Activation::None:
    return 1;
  case Gemm::Activation::Relu:
    return x > 0 ? 1 : 0;
  case Gemm::Activation::Silu: {
    float sigmoid = 1 / (1 + std::exp(-x));
    return sigmoid * (1 + x * (1 - sigmoid));
  }
  case Gemm::Activation::GeluErf:
    return 0.5F * (1 + std::erf(x * 0.70710678F)) +
           x * 0.39894228F * std::exp(-0.5F * x * x);
  case Gemm::Activation::GeluTanh: {
    const float root = 0.79788456F, cubic = 0.044715F;
    float bend = std::tanh(root * x * (1 + cubic * x * x));
    float inner = root * (1 + 3 * cubic * x * x);
    return 0.5F * (1 + bend + x * (1 - bend * bend) * inner);
  }
  }
  return 0;
}

/// One row of an expert: `inner` becomes the product of the sides, and `gate`
/// and `up` the derivatives by them, for `back` that by the product and
/// `weight`. All are of the width; a number beyond its bound has none.
void differentiateRow(const Experts &e, float weight, const float *back,
                      float *gate, float *up, float *inner) {
  std::memcpy(inner, gate, size_t(e.f * 4));
  activateGate(e, inner, e.f);
  for (int64_t c = 0; c < e.f; ++c) {
    bool passesGate = !isGateBounded(e, gate[c]),
         passesUp = !isUpBounded(e, up[c]);
    float side = shiftUp(e, up[c]), slope = 0;
    if (passesGate)
      slope = slopeOf(e.activation, e.alpha * gate[c]);
    gate[c] = weight * back[c] * (side * slope);
    up[c] = passesUp ? weight * (back[c] * inner[c]) : 0;
    inner[c] *= side;
  }
}

/// The scratch of a number of rows, beside arguments and results.
struct Rows {
  char *x, *cotangent, *inner;
  float *gate, *up, *back, *active, *weighted, *input;

  Rows(ScratchParts &parts, const Experts &e, int64_t rows) {
    int64_t bytes = typeBytes(e.type);
    x = parts.take(rows * e.k * bytes);
    cotangent = parts.take(rows * e.n * bytes);
    inner = parts.take(rows * e.f * bytes);
    gate = parts.takeFloats(rows * e.f);
    up = parts.takeFloats(rows * e.f);
    back = parts.takeFloats(rows * e.f);
    active = parts.takeFloats(rows * e.f);
    weighted = parts.takeFloats(rows * e.n);
    input = parts.takeFloats(rows * e.k);
  }
};

} // namespace

/// Rows of one expert.
struct ExpertsBackwardEngine::Block {
  const Experts &e;
  const ExpertsBackwardCall &call;
  int64_t product; ///< the first of the description
  int64_t expert;
  std::span<const int32_t> list;
  int64_t padded;
  Rows rows;

  int64_t count() const { return int64_t(list.size()); }
  /// Elements before the expert's in gate and up, or in down.
  int64_t inner() const { return expert * e.f * e.k; }
  int64_t outer() const { return expert * e.n * e.f; }
  const char *matrix(const char *stack, int64_t before) const {
    return stack + before * typeBytes(e.type);
  }
  float weight(int64_t row) const {
    return call.routing[list[size_t(row)] * e.experts + expert];
  }
};

ExpertsBackwardEngine::ExpertsBackwardEngine(const std::vector<Experts> &list)
    : descriptions(list), gemm(describeProducts(list)) {}

/// The sides' derivatives in the place of gate and up, the rounded product of
/// the sides, and what the routing weights get.
Status ExpertsBackwardEngine::computeSides(const Block &b) {
  const Experts &e = b.e;
  const Rows &rows = b.rows;
  int64_t bytes = typeBytes(e.type);
  gatherRows(b.call.x, e.k * bytes, b.list, b.padded, rows.x);
  gatherRows(b.call.cotangent, e.n * bytes, b.list, b.padded, rows.cotangent);
  const tprt_gemm_call in[] = {
      {b.product + kInner, b.padded, rows.x, e.k,
       b.matrix(b.call.gate, b.inner()), nullptr, nullptr, rows.gate, e.f},
      {b.product + kInner, b.padded, rows.x, e.k,
       b.matrix(b.call.up, b.inner()), nullptr, nullptr, rows.up, e.f}};
  TPRT_TRY(gemm.run(in, 2));
  TPRT_TRY(gemm.run({b.product + kBack, b.padded, rows.cotangent, e.n,
                     b.matrix(b.call.down, b.outer()), nullptr, nullptr,
                     rows.back, e.f}));
  parallelFor(
      b.padded, leastRows(e.f), [&](int64_t begin, int64_t end, int64_t) {
        for (int64_t r = begin; r < end; ++r) {
          float *gate = rows.gate + r * e.f, *up = rows.up + r * e.f,
                *back = rows.back + r * e.f, *active = rows.active + r * e.f;
          char *inner = rows.inner + r * e.f * bytes;
          if (r >= b.count()) {
            // The gate is cleared for any weights.
            std::memset(gate, 0, size_t(e.f * 4));
            std::memset(up, 0, size_t(e.f * 4));
            std::memset(inner, 0, size_t(e.f * bytes));
            continue;
          }
          float weight = b.weight(r), sum = 0;
          addExpertBias(b.call.gateBias, b.expert, gate, e.f);
          addExpertBias(b.call.upBias, b.expert, up, e.f);
          differentiateRow(e, weight, back, gate, up, active);
          for (float *row : {gate, up, back, active})
            leaveOut(b.call.inside, row, e.f);
          simd().narrow(e.type, active, inner, e.f);
          simd().widen(e.type, inner, active, e.f);
          for (int64_t c = 0; c < e.f; ++c)
            sum += active[c] * back[c];
          b.call.drouting[b.list[size_t(r)] * e.experts + b.expert] = sum;
        }
      });
  return {};
}

/// Sums of the sides' derivatives over rows, in their order.
void ExpertsBackwardEngine::addToBiases(const Block &b) {
  const Experts &e = b.e;
  for (auto [side, result] : {std::pair(b.rows.gate, b.call.dgateBias),
                              std::pair(b.rows.up, b.call.dupBias)})
    for (int64_t r = 0; result && r < b.count(); ++r)
      for (int64_t c = 0; c < e.f; ++c)
        result[b.expert * e.f + c] += side[r * e.f + c];
}

/// Sums over rows.
Status ExpertsBackwardEngine::addToMatrices(const Block &b) {
  const Experts &e = b.e;
  const Rows &rows = b.rows;
  parallelFor(
      b.padded, leastRows(e.n), [&](int64_t begin, int64_t end, int64_t) {
        for (int64_t r = begin; r < end; ++r) {
          float *to = rows.weighted + r * e.n, weight = 0;
          if (r < b.count())
            weight = b.weight(r);
          simd().widen(e.type, rows.cotangent + r * e.n * typeBytes(e.type), to,
                       e.n);
          for (int64_t c = 0; c < e.n; ++c)
            to[c] *= weight;
        }
      });
  int64_t inner = b.product + kPerRows + 2 * indexOf(b.padded);
  for (auto [side, result] :
       {std::pair(rows.gate, b.call.dgate), std::pair(rows.up, b.call.dup)}) {
    float *matrix = result + b.inner();
    TPRT_TRY(gemm.run(
        {inner, e.f, side, e.f, rows.x, nullptr, matrix, matrix, e.k}));
  }
  float *down = b.call.ddown + b.outer();
  return gemm.run({inner + 1, e.n, rows.weighted, e.n, rows.inner, nullptr,
                   down, down, e.f});
}

/// Sums over experts.
Status ExpertsBackwardEngine::addToInput(const Block &b, float *sums) {
  const Experts &e = b.e;
  const Rows &rows = b.rows;
  std::memset(rows.input, 0, size_t(b.padded * e.k * 4));
  for (auto [side, stack] :
       {std::pair(rows.gate, b.call.gate), std::pair(rows.up, b.call.up)})
    TPRT_TRY(gemm.run({b.product + kToInput, b.padded, side, e.f,
                       b.matrix(stack, b.inner()), nullptr, rows.input,
                       rows.input, e.k}));
  parallelFor(b.count(), leastRows(e.k),
              [&](int64_t begin, int64_t end, int64_t) {
                for (int64_t r = begin; r < end; ++r) {
                  const float *from = rows.input + r * e.k;
                  float *to = sums + b.list[size_t(r)] * e.k;
                  for (int64_t c = 0; c < e.k; ++c)
                    to[c] += from[c];
                }
              });
  return {};
}

Status ExpertsBackwardEngine::run(int64_t id, const ExpertsBackwardCall &call) {
  TPRT_TRY(checkCall(descriptions, id, call.rows));
  const Experts &e = descriptions[size_t(id)];
  ScratchParts size(nullptr);
  Rows(size, e, mostRows(e));
  bool direct = e.type == TPRT_F32;
  TPRT_TRY(scratch.reserve(size.bytes() + (direct ? 0 : e.rows * e.k * 4)));
  ScratchParts parts(scratch.data());
  Rows rows(parts, e, mostRows(e));
  auto *sums = reinterpret_cast<float *>(
      direct ? call.dx : scratch.data() + size.bytes());
  chosen.find(e, call.rows, call.routing);
  std::memset(sums, 0, size_t(call.rows * e.k * 4));
  std::memset(call.drouting, 0, size_t(call.rows * e.experts * 4));
  for (float *matrix : {call.dgate, call.dup, call.ddown})
    std::memset(
        matrix, 0,
        size_t(e.experts * e.f * (matrix == call.ddown ? e.n : e.k) * 4));
  for (float *bias : {call.dgateBias, call.dupBias})
    if (bias)
      std::memset(bias, 0, size_t(e.experts * e.f * 4));
  for (int64_t expert = 0; expert < e.experts; ++expert)
    for (std::span<const int32_t> list : chosen.blocksOf(expert)) {
      Block block{e,      call, id * kProducts,
                  expert, list, roundRows(int64_t(list.size())),
                  rows};
      TPRT_TRY(computeSides(block));
      addToBiases(block);
      TPRT_TRY(addToMatrices(block));
      TPRT_TRY(addToInput(block, sums));
    }
  if (!direct)
    parallelFor(call.rows * e.k, kLeastExpertElements,
                [&](int64_t begin, int64_t end, int64_t) {
                  simd().narrow(e.type, sums + begin,
                                call.dx + begin * typeBytes(e.type),
                                end - begin);
                });
  return {};
}

int32_t HostFunctions::experts_backward(
    tprt_rank *rank, int32_t id, int64_t rows, const void *cotangent,
    const void *x, const void *routing, const void *gate, const void *up,
    const void *down, const void *gateBias, const void *upBias,
    const void *inside, void *dx, void *drouting, void *dgate, void *dup,
    void *ddown, void *dgateBias, void *dupBias) {
  auto &host = *static_cast<HostRank *>(rank);
  auto bytes = [](const void *p) { return static_cast<const char *>(p); };
  auto floats = [](void *p) { return static_cast<float *>(p); };
  return host.traced(Timeline::Kind::Experts, id, host.layer, [&] {
    return host.engine<ExpertsBackwardEngine>(TPRT_SLOT_experts_backward)
        .run(id,
             {rows, bytes(cotangent), bytes(x),
              static_cast<const float *>(routing), bytes(gate), bytes(up),
              bytes(down), static_cast<const int32_t *>(inside),
              static_cast<char *>(dx), floats(drouting), floats(dgate),
              floats(dup), floats(ddown), static_cast<const float *>(gateBias),
              static_cast<const float *>(upBias), floats(dgateBias),
              floats(dupBias)});
  });
}
