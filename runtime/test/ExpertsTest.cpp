//===- ExpertsTest.cpp - a mixture of experts against the definition ------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random routing against sums in double: experts without rows, one with all of
// them, rows without any. Weights that no row uses are no numbers; the number
// of workers changes no bit, nor do numbers that positions of the width have
// that are left out. The derivative against differences of the same sums.
//
//===----------------------------------------------------------------------===//

#include "TestUtil.h"

#include "../host/Experts.h"
#include "../support/Parallel.h"

#include <cmath>

using namespace tprt;
using namespace tprt::test;

namespace {

Experts describe(int64_t rows, int64_t experts, int64_t k, int64_t f, int64_t n,
                 tprt_type type = TPRT_F32) {
  Experts e{};
  e.rows = rows, e.experts = experts, e.k = k, e.f = f, e.n = n;
  e.type = type;
  e.activation = Gemm::Activation::Silu;
  return e;
}

/// The same with bounds, a slope and an offset, as gpt-oss has them.
Experts bounded(Experts e) {
  e.alpha = 1.702F;
  e.limit = 0.8F;
  e.upOffset = 1;
  return e;
}

struct Arguments {
  std::vector<float> x, routing, gate, up, down;
  std::vector<bool> isUsed;
  std::vector<int32_t> inside = {};              ///< empty: all of the width
  std::vector<float> gateBias = {}, upBias = {}; ///< empty: none

  const float *biasOrNull(bool isUp) const {
    const std::vector<float> &bias = isUp ? upBias : gateBias;
    return bias.empty() ? nullptr : bias.data();
  }

  const int32_t *insideOrNull() const {
    return inside.empty() ? nullptr : inside.data();
  }
};

/// How rows choose: at random, all the first one, all of them, or not at all.
enum class Choice { Random, First, All, None };

Arguments fill(const Experts &e, Choice choice, std::mt19937 &random) {
  Arguments a;
  a.x = rounded(e.type, randomFloats(random, e.rows * e.k));
  a.routing.assign(size_t(e.rows * e.experts), 0);
  a.isUsed.assign(size_t(e.experts), false);
  for (int64_t r = 0; r < e.rows; ++r)
    for (int64_t i = 0; i < e.experts; ++i) {
      // The last one has no rows, unless all have.
      bool isChosen =
          choice == Choice::All || (choice == Choice::First && i == 0) ||
          (choice == Choice::Random && i + 1 < e.experts && random() % 3 == 0);
      if (!isChosen)
        continue;
      a.isUsed[size_t(i)] = true;
      a.routing[size_t(r * e.experts + i)] = randomFloats(random, 1)[0] + 2;
    }
  auto matrices = [&](int64_t rows, int64_t columns) {
    auto values =
        rounded(e.type, randomFloats(random, e.experts * rows * columns, 0.5));
    for (int64_t i = 0; i < e.experts; ++i)
      if (!a.isUsed[size_t(i)])
        std::fill_n(values.begin() + i * rows * columns, rows * columns, NAN);
    return values;
  };
  a.gate = matrices(e.f, e.k);
  a.up = matrices(e.f, e.k);
  a.down = matrices(e.n, e.f);
  // Experts that are not as most have biases, too.
  if (e.limit > 0 || e.scalesInput) {
    a.gateBias = randomFloats(random, e.experts * e.f, 0.5);
    a.upBias = randomFloats(random, e.experts * e.f, 0.5);
  }
  return a;
}

double activate(Gemm::Activation activation, double x) {
  switch (activation) {
  case Gemm::Activation::None:
    return x;
  case Gemm::Activation::Relu:
    return std::max(x, 0.0);
  case Gemm::Activation::Silu:
    return x / (1 + std::exp(-x));
  case Gemm::Activation::GeluErf:
    return x / 2 * (1 + std::erf(x * std::sqrt(0.5)));
  case Gemm::Activation::GeluTanh:
    return x / 2 *
           (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  }
  return 0;
}

/// The definition of one number of the width.
double gated(const Experts &e, double gate, double up) {
  if (e.limit > 0) {
    gate = std::min(gate, double(e.limit));
    up = std::clamp(up, -double(e.limit), double(e.limit));
  }
  double alpha = e.alpha;
  return activate(e.activation, gate * alpha) / alpha * (up + e.upOffset);
}

/// Leaves out every third position of the width and the last two, which have
/// no numbers where they are not multiplied with zero.
void leaveOut(const Experts &e, Arguments &a, bool isBackward) {
  a.inside.assign(size_t(e.f), 7);
  for (int64_t c = 0; c < e.f; ++c) {
    if (c % 3 != 1 && c < e.f - 2)
      continue;
    a.inside[size_t(c)] = 0;
    for (int64_t i = 0; i < e.experts; ++i) {
      int64_t line = (i * e.f + c) * e.k;
      for (std::vector<float> *inner : {&a.gate, &a.up})
        std::fill_n(inner->begin() + line, e.k, isBackward ? 0 : NAN);
      for (int64_t n = 0; n < e.n; ++n)
        a.down[size_t((i * e.n + n) * e.f + c)] = isBackward ? NAN : 0;
    }
  }
}

/// Rounded as nn.experts rounds.
std::vector<double> reference(const Experts &e, const Arguments &a) {
  std::vector<double> out(size_t(e.rows * e.n));
  for (int64_t r = 0; r < e.rows; ++r)
    for (int64_t i = 0; i < e.experts; ++i) {
      double weight = a.routing[size_t(r * e.experts + i)];
      if (weight == 0)
        continue;
      std::vector<float> inner(static_cast<size_t>(e.f));
      for (int64_t c = 0; c < e.f; ++c) {
        double gate = 0, up = 0;
        for (int64_t k = 0; k < e.k; ++k) {
          double x = a.x[size_t(r * e.k + k)];
          gate += x * a.gate[size_t((i * e.f + c) * e.k + k)];
          up += x * a.up[size_t((i * e.f + c) * e.k + k)];
        }
        for (double *side : {&gate, &up})
          *side *= e.scalesInput ? weight : 1;
        if (!a.gateBias.empty()) {
          gate += a.gateBias[size_t(i * e.f + c)];
          up += a.upBias[size_t(i * e.f + c)];
        }
        if (a.inside.empty() || a.inside[size_t(c)] != 0)
          inner[size_t(c)] = float(gated(e, gate, up));
      }
      inner = rounded(e.type, inner);
      for (int64_t c = 0; c < e.n; ++c) {
        double sum = 0;
        for (int64_t k = 0; k < e.f; ++k)
          sum += double(inner[size_t(k)]) *
                 a.down[size_t((i * e.n + c) * e.f + k)];
        out[size_t(r * e.n + c)] += (e.scalesInput ? 1 : weight) * sum;
      }
    }
  return out;
}

std::string run(ExpertsEngine &engine, const Experts &e, const Arguments &a) {
  std::string x = toBytes(e.type, a.x), gate = toBytes(e.type, a.gate),
              up = toBytes(e.type, a.up), down = toBytes(e.type, a.down);
  std::string out(size_t(e.rows * e.n * typeBytes(e.type)), '\x77');
  Status status =
      engine.run(0, {e.rows, x.data(), a.routing.data(), gate.data(), up.data(),
                     down.data(), a.insideOrNull(), out.data(),
                     a.biasOrNull(false), a.biasOrNull(true)});
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

void check(const Experts &e, Choice choice, std::mt19937 &random,
           bool isCut = false) {
  Arguments arguments = fill(e, choice, random);
  if (isCut)
    leaveOut(e, arguments, /*isBackward=*/false);
  std::vector<double> want = reference(e, arguments);
  std::vector<Experts> list{e};
  std::string first;
  for (int count : {1, 3}) {
    setWorkers(count);
    ExpertsEngine engine(list);
    std::string out = run(engine, e, arguments);
    EXPECT_EQ(out, run(engine, e, arguments)) << "the second call";
    if (!first.empty())
      EXPECT_EQ(out, first) << count << " workers";
    first = out;
  }
  setWorkers(1);
  double largest = 1e-3, worst = 0;
  std::vector<float> got = toFloats(e.type, first);
  for (size_t i = 0; i < want.size(); ++i) {
    largest = std::max(largest, std::fabs(want[i]));
    double difference = std::fabs(want[i] - got[i]);
    worst = difference <= worst ? worst : difference;
  }
  // One rounding of what the second product reads, and one of the result.
  double bound = e.type == TPRT_F32 ? 1e-5 : e.type == TPRT_F16 ? 2e-3 : 2e-2;
  EXPECT_LE(worst, bound * largest)
      << e.rows << " rows, " << e.experts << " experts, choice " << int(choice);
}

/// The operands in double, and the product of the cotangent with the result.
struct Doubles {
  std::vector<double> x, routing, gate, up, down, gateBias, upBias, cotangent;
  std::vector<bool> isOut; ///< of positions of the width

  double loss(const Experts &e) const {
    double loss = 0;
    for (int64_t r = 0; r < e.rows; ++r)
      for (int64_t i = 0; i < e.experts; ++i) {
        double weight = routing[size_t(r * e.experts + i)];
        for (int64_t c = 0; weight != 0 && c < e.f; ++c) {
          if (isOut[size_t(c)])
            continue;
          size_t at = size_t(i * e.f + c);
          double side = gateBias.empty() ? 0 : gateBias[at],
                 other = upBias.empty() ? 0 : upBias[at], back = 0;
          for (int64_t k = 0; k < e.k; ++k) {
            double value = x[size_t(r * e.k + k)];
            side += value * gate[size_t((i * e.f + c) * e.k + k)];
            other += value * up[size_t((i * e.f + c) * e.k + k)];
          }
          for (int64_t n = 0; n < e.n; ++n)
            back += cotangent[size_t(r * e.n + n)] *
                    down[size_t((i * e.n + n) * e.f + c)];
          loss += weight * gated(e, side, other) * back;
        }
      }
    return loss;
  }
};

/// The results in f32, in the order of nn.experts_backward.
std::vector<std::vector<float>> differentiate(const Experts &e,
                                              const Arguments &a,
                                              const std::vector<float> &given,
                                              int workers) {
  setWorkers(workers);
  std::vector<Experts> list{e};
  ExpertsBackwardEngine engine(list);
  std::string cotangent = toBytes(e.type, given), x = toBytes(e.type, a.x),
              gate = toBytes(e.type, a.gate), up = toBytes(e.type, a.up),
              down = toBytes(e.type, a.down);
  std::string dx(size_t(e.rows * e.k * typeBytes(e.type)), '\x77');
  std::vector<std::vector<float>> out{{}};
  for (const std::vector<float> *like :
       {&a.routing, &a.gate, &a.up, &a.down, &a.gateBias, &a.upBias})
    out.emplace_back(like->size(), NAN);
  bool hasBiases = !a.gateBias.empty();
  // The second call finds what the first left in its scratch.
  for (int i = 0; i < 2; ++i) {
    Status status = engine.run(
        0, {e.rows, cotangent.data(), x.data(), a.routing.data(), gate.data(),
            up.data(), down.data(), a.insideOrNull(), dx.data(), out[1].data(),
            out[2].data(), out[3].data(), out[4].data(), a.biasOrNull(false),
            a.biasOrNull(true), hasBiases ? out[5].data() : nullptr,
            hasBiases ? out[6].data() : nullptr});
    EXPECT_TRUE(status.ok()) << status.message();
  }
  setWorkers(1);
  out[0] = toFloats(e.type, dx);
  return out;
}

/// Against central differences of some elements of each operand.
void checkDerivative(const Experts &e, Choice choice, std::mt19937 &random,
                     bool isCut = false) {
  Arguments a = fill(e, choice, random);
  if (isCut)
    leaveOut(e, a, /*isBackward=*/true);
  std::vector<float> given =
      rounded(e.type, randomFloats(random, e.rows * e.n));
  auto found = differentiate(e, a, given, 1);
  EXPECT_EQ(found, differentiate(e, a, given, 3)) << "3 workers";
  auto widen = [](const std::vector<float> &values) {
    return std::vector<double>(values.begin(), values.end());
  };
  Doubles d{widen(a.x),      widen(a.routing), widen(a.gate),
            widen(a.up),     widen(a.down),    widen(a.gateBias),
            widen(a.upBias), widen(given),     std::vector<bool>(size_t(e.f))};
  for (size_t c = 0; c < a.inside.size(); ++c)
    d.isOut[c] = a.inside[c] == 0;
  std::vector<double> *operands[] = {&d.x,    &d.routing,  &d.gate,  &d.up,
                                     &d.down, &d.gateBias, &d.upBias};
  for (size_t operand = 0; operand < std::size(operands); ++operand) {
    std::vector<double> &values = *operands[operand];
    if (values.empty())
      continue;
    double largest = 1e-3, worst = 0;
    for (float value : found[operand])
      largest = std::max(largest, double(std::fabs(value)));
    for (int sample = 0; sample < 40; ++sample) {
      size_t at = random() % values.size();
      double value = values[at], step = 1e-5;
      bool isUsed = operand == 1 ? value != 0 : !std::isnan(value);
      double want = 0;
      if (isUsed) {
        values[at] = value + step;
        want = d.loss(e);
        values[at] = value - step;
        want = (want - d.loss(e)) / (2 * step);
        values[at] = value;
      }
      double difference = std::fabs(want - found[operand][at]);
      worst = difference <= worst ? worst : difference;
    }
    double bound = e.type == TPRT_F32 ? 1e-5 : 2e-2;
    EXPECT_LE(worst, bound * largest)
        << "operand " << operand << ", " << e.rows << " rows, activation "
        << int(e.activation) << ", choice " << int(choice) << ", seed "
        << kSeed;
  }
}

} // namespace

TEST(Experts, Derivative) {
  std::mt19937 random(kSeed);
  for (auto activation :
       {Gemm::Activation::Relu, Gemm::Activation::Silu,
        Gemm::Activation::GeluErf, Gemm::Activation::GeluTanh}) {
    Experts e = describe(19, 4, 13, 7, 11);
    e.activation = activation;
    checkDerivative(e, Choice::Random, random);
  }
  for (Choice choice : {Choice::First, Choice::All, Choice::None})
    checkDerivative(describe(70, 3, 9, 6, 8), choice, random);
  checkDerivative(describe(1300, 2, 5, 4, 3), Choice::First, random);
  checkDerivative(describe(37, 4, 16, 12, 8, TPRT_BF16), Choice::Random,
                  random);
  checkDerivative(describe(19, 4, 13, 11, 8), Choice::Random, random, true);
  checkDerivative(describe(21, 3, 16, 12, 8, TPRT_BF16), Choice::All, random,
                  true);
  checkDerivative(bounded(describe(19, 4, 13, 7, 11)), Choice::Random, random);
  checkDerivative(bounded(describe(19, 4, 13, 11, 8)), Choice::All, random,
                  true);
}

TEST(Experts, Random) {
  std::mt19937 random(kSeed);
  for (Choice choice :
       {Choice::Random, Choice::First, Choice::All, Choice::None}) {
    check(describe(1, 5, 40, 24, 33), choice, random);
    check(describe(70, 3, 33, 17, 40), choice, random);
  }
  for (tprt_type type : {TPRT_BF16, TPRT_F16}) {
    check(describe(2, 4, 48, 32, 48, type), Choice::Random, random);
    check(describe(37, 4, 31, 20, 48, type), Choice::Random, random);
    check(describe(21, 4, 31, 11, 48, type), Choice::Random, random, true);
  }
  check(describe(70, 3, 33, 17, 40), Choice::All, random, true);
  check(bounded(describe(70, 3, 33, 17, 40)), Choice::Random, random);
  check(bounded(describe(37, 4, 31, 20, 48, TPRT_BF16)), Choice::All, random,
        true);
  for (tprt_type type : {TPRT_F32, TPRT_BF16}) {
    Experts scaled = describe(21, 4, 31, 20, 48, type);
    scaled.scalesInput = true;
    check(scaled, Choice::Random, random);
  }
}

/// More rows than pass through an expert at once.
TEST(Experts, ManyRows) {
  std::mt19937 random(kSeed);
  check(describe(1300, 2, 8, 12, 9), Choice::First, random);
}

TEST(Experts, RefusesWhatTheManifestDoesNotSay) {
  std::vector<Experts> list{describe(4, 2, 8, 8, 8)};
  ExpertsEngine engine(list);
  EXPECT_MESSAGE(engine.run(1, {}), "experts 1 is not in the manifest");
  EXPECT_MESSAGE(engine.run(0, {5, nullptr, nullptr, nullptr, nullptr, nullptr,
                                nullptr, nullptr}),
                 "experts 0: expected at most 4 rows, got 5");
}
