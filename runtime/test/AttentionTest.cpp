//===- AttentionTest.cpp - attention against the definition ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random shapes, masks, windows and offsets, soft caps, biases, sinks and sizes
// of values against a softmax in double over the whole score matrix.
//
//===----------------------------------------------------------------------===//

#include "TestUtil.h"

#include "../host/Attention.h"
#include "../support/Parallel.h"

#include <cmath>

using namespace tprt;
using namespace tprt::test;

namespace {

struct Case {
  Attention a;
  int64_t kvLen, qOffset, extra; ///< extra: elements between rows
};

/// True if the query at `position` sees key `j`, but for a mask.
bool sees(const Attention &a, int64_t position, int64_t j) {
  if (a.causal)
    return j <= position && (!a.window || j > position - a.window);
  return !a.window || std::abs(j - position) <= a.window / 2;
}

/// Numbers in a type of their own, as the call gets them.
struct Numbers {
  std::vector<float> values;
  std::string bytes;

  void fill(std::mt19937 &random, tprt_type type, int64_t count, float scale) {
    values = rounded(type, randomFloats(random, count, scale));
    bytes = toBytes(type, values);
  }
  const void *data() const { return bytes.empty() ? nullptr : bytes.data(); }
};

/// Additions to scores: bias and sinks of a description.
struct Additions {
  Numbers bias, sinks;

  Additions(const Attention &a, std::mt19937 &random) {
    if (a.biasHeads)
      bias.fill(random, a.biasType, a.biasHeads * a.qLen * a.kvCapacity, 2);
    if (a.sinksType)
      sinks.fill(random, *a.sinksType, a.qHeads, 2);
  }
  double biasOf(const Attention &a, int64_t head, int64_t query,
                int64_t j) const {
    if (!a.biasHeads)
      return 0;
    int64_t own = a.biasHeads == 1 ? 0 : head;
    return bias.values[(own * a.qLen + query) * a.kvCapacity + j];
  }
};

double capped(const Attention &a, double score) {
  return a.softCap == 0 ? score : a.softCap * std::tanh(score / a.softCap);
}

std::string describeForms(const Attention &a) {
  return detail::join(" value size ", a.valueSize, " soft cap ", a.softCap,
                      " bias heads ", a.biasHeads, " sinks ",
                      a.sinksType.has_value());
}

/// Chooses what is not of every attention.
template <typename Pick>
void chooseForms(Attention &a, std::mt19937 &random, Pick pick) {
  if (random() % 2)
    a.valueSize = pick({1, 7, 16, 33, 48});
  if (random() % 3 == 0)
    a.softCap = double(pick({1, 2, 30}));
  if (random() % 2) {
    a.biasHeads = random() % 2 ? 1 : a.qHeads;
    a.biasType = tprt_type(pick({TPRT_F32, TPRT_BF16, TPRT_F16}));
  }
  if (random() % 3 == 0)
    a.sinksType = tprt_type(pick({TPRT_F32, TPRT_BF16, TPRT_F16}));
}

void check(const Case &c, std::mt19937 &random) {
  const Attention &a = c.a;
  SCOPED_TRACE(detail::join("batch ", a.batch, " queries ", a.qLen, " keys ",
                            c.kvLen, " of ", a.kvCapacity, " heads ", a.qHeads,
                            "/", a.kvHeads, " size ", a.headSize, " type ",
                            typeName(a.type), " causal ", a.causal, " window ",
                            a.window, " mask ", int(a.mask), " offset ",
                            c.qOffset, describeForms(a), " seed ", kSeed));
  int64_t qStride = a.qHeads * a.headSize + c.extra;
  int64_t kStride = a.kvHeads * a.headSize + c.extra;
  int64_t vStride = a.kvHeads * a.valueSize + c.extra;
  int64_t outStride = a.qHeads * a.valueSize + c.extra;
  Additions additions(a, random);
  auto q = rounded(a.type, randomFloats(random, a.batch * a.qLen * qStride, 2));
  auto k = rounded(a.type,
                   randomFloats(random, a.batch * a.kvCapacity * kStride, 2));
  auto v =
      rounded(a.type, randomFloats(random, a.batch * a.kvCapacity * vStride));
  std::vector<int64_t> mask(a.batch * a.kvCapacity);
  for (int64_t b = 0; b < a.batch; ++b) {
    int64_t length = random() % (a.kvCapacity + 1);
    for (int64_t j = 0; j < a.kvCapacity; ++j)
      mask[b * a.kvCapacity + j] = j < length;
  }
  bool masked = a.mask == Attention::Mask::KeyPadding;
  std::string mask32(mask.size() * 4, '\0');
  for (size_t i = 0; i < mask.size(); ++i)
    reinterpret_cast<int32_t *>(mask32.data())[i] = int32_t(mask[i]);

  std::string qb = toBytes(a.type, q), kb = toBytes(a.type, k),
              vb = toBytes(a.type, v);
  std::string out(a.batch * a.qLen * outStride * typeBytes(a.type), '\0');
  std::vector<float> lse(a.batch * a.qHeads * a.qLen);
  std::vector<Attention> list = {a};
  AttentionEngine engine(list);
  const void *maskData = a.maskType == TPRT_I32
                             ? static_cast<const void *>(mask32.data())
                             : mask.data();
  ASSERT_OK(
      engine.run(0, {qb.data(), qStride, kb.data(), kStride, vb.data(), vStride,
                     masked ? maskData : nullptr, additions.bias.data(),
                     additions.sinks.data(), c.kvLen, c.qOffset, out.data(),
                     outStride, lse.data()}));
  std::vector<float> got = toFloats(a.type, out);

  for (int64_t b = 0; b < a.batch; ++b)
    for (int64_t h = 0; h < a.qHeads; ++h)
      for (int64_t s = 0; s < a.qLen; ++s) {
        int64_t kv = h / (a.qHeads / a.kvHeads), position = c.qOffset + s;
        auto key = [&](int64_t j) {
          return (b * a.kvCapacity + j) * kStride + kv * a.headSize;
        };
        std::vector<double> scores(c.kvLen, -INFINITY);
        double best = a.sinksType ? additions.sinks.values[h] : -INFINITY;
        double sum = 0, sink = best;
        for (int64_t j = 0; j < c.kvLen; ++j) {
          if (!sees(a, position, j) || (masked && !mask[b * a.kvCapacity + j]))
            continue;
          double dot = 0;
          for (int64_t d = 0; d < a.headSize; ++d)
            dot += double(q[(b * a.qLen + s) * qStride + h * a.headSize + d]) *
                   k[key(j) + d];
          scores[j] = capped(a, dot * a.scale) + additions.biasOf(a, h, s, j);
          best = std::max(best, scores[j]);
        }
        if (a.sinksType)
          sum += std::exp(sink - best);
        for (double &score : scores)
          sum += score = best == -INFINITY ? 0 : std::exp(score - best);
        float gotLse = lse[(b * a.qLen + s) * a.qHeads + h];
        if (sum == 0)
          ASSERT_EQ(gotLse, -INFINITY);
        else
          ASSERT_NEAR(gotLse, best + std::log(sum), 1e-4);
        for (int64_t d = 0; d < a.valueSize; ++d) {
          double value = 0;
          for (int64_t j = 0; j < c.kvLen; ++j)
            value += scores[j] *
                     v[(b * a.kvCapacity + j) * vStride + kv * a.valueSize + d];
          value = sum == 0 ? 0 : value / sum;
          ASSERT_NEAR(got[(b * a.qLen + s) * outStride + h * a.valueSize + d],
                      value, 2e-5 + 2 * epsilon(a.type))
              << b << " " << h << " " << s << " " << d;
        }
      }
}

Attention describe(int64_t batch, int64_t q, int64_t kv, int64_t heads,
                   int64_t kvHeads, int64_t size, tprt_type type) {
  Attention a{};
  a.batch = batch, a.qLen = q, a.kvCapacity = kv;
  a.qHeads = heads, a.kvHeads = kvHeads, a.headSize = a.valueSize = size;
  a.type = type;
  a.scale = 1 / std::sqrt(double(size));
  a.mask = Attention::Mask::None;
  a.maskType = TPRT_I64;
  return a;
}

/// The derivative against that of a softmax in double.
void checkBackward(const Attention &a, std::mt19937 &random) {
  SCOPED_TRACE(detail::join(
      "batch ", a.batch, " queries ", a.qLen, " keys ", a.kvCapacity, " heads ",
      a.qHeads, "/", a.kvHeads, " size ", a.headSize, " type ",
      typeName(a.type), " causal ", a.causal, " window ", a.window, " mask ",
      int(a.mask), describeForms(a), " seed ", kSeed));
  int64_t D = a.headSize, E = a.valueSize, T = a.kvCapacity;
  int64_t sharing = a.qHeads / a.kvHeads;
  Additions additions(a, random);
  int64_t queries = a.batch * a.qLen * a.qHeads;
  int64_t keys = a.batch * T * a.kvHeads, each = a.batch * T * a.qHeads;
  auto make = [&](int64_t count, float scale) {
    return rounded(a.type, randomFloats(random, count, scale));
  };
  auto q = make(queries * D, 2), k = make(keys * D, 2), v = make(keys * E, 1),
       dOut = make(queries * E, 1);
  std::vector<int32_t> mask(a.batch * T);
  for (auto &seen : mask)
    seen = random() % 3 != 0;
  bool masked = a.mask == Attention::Mask::KeyPadding;
  std::vector<float> lse(queries), delta(queries);
  std::vector<double> dq(queries * D), dk(each * D), dv(each * E);
  std::vector<double> dbias(a.biasHeads ? queries * T : 0);
  for (int64_t row = 0; row < queries; ++row) {
    int64_t h = row % a.qHeads, s = row / a.qHeads % a.qLen;
    int64_t b = row / a.qHeads / a.qLen, position = T - a.qLen + s;
    auto dot = [](const auto &x, int64_t i, const auto &y, int64_t j,
                  int64_t size) {
      double sum = 0;
      for (int64_t d = 0; d < size; ++d)
        sum += double(x[i * size + d]) * y[j * size + d];
      return sum;
    };
    auto keyAt = [&](int64_t j) {
      return (b * T + j) * a.kvHeads + h / sharing;
    };
    std::vector<double> p(T, -INFINITY), slopes(T, 1);
    double sink = a.sinksType ? additions.sinks.values[h] : -INFINITY;
    double best = sink, sum = 0, mean = 0;
    for (int64_t j = 0; j < T; ++j)
      if (sees(a, position, j) && (!masked || mask[b * T + j])) {
        double score = capped(a, a.scale * dot(q, row, k, keyAt(j), D));
        if (a.softCap != 0)
          slopes[j] = 1 - score * score / (a.softCap * a.softCap);
        p[j] = score + additions.biasOf(a, h, s, j);
        best = std::max(best, p[j]);
      }
    if (a.sinksType)
      sum += std::exp(sink - best);
    for (double &weight : p)
      sum += weight = best == -INFINITY ? 0 : std::exp(weight - best);
    lse[row] = float(best + std::log(sum));
    for (int64_t j = 0; j < T && sum > 0; ++j)
      mean += (p[j] /= sum) * dot(dOut, row, v, keyAt(j), E);
    delta[row] = float(mean);
    for (int64_t j = 0; j < T; ++j) {
      double ds = p[j] * (dot(dOut, row, v, keyAt(j), E) - mean);
      if (a.biasHeads)
        dbias[((b * a.qHeads + h) * a.qLen + s) * T + j] = ds;
      ds *= slopes[j] * a.scale;
      int64_t at = (b * T + j) * a.qHeads + h;
      for (int64_t d = 0; d < D; ++d) {
        dq[row * D + d] += ds * k[keyAt(j) * D + d];
        dk[at * D + d] += ds * q[row * D + d];
      }
      for (int64_t e = 0; e < E; ++e)
        dv[at * E + e] += p[j] * dOut[row * E + e];
    }
  }
  std::string qb = toBytes(a.type, q), kb = toBytes(a.type, k),
              vb = toBytes(a.type, v), ob = toBytes(a.type, dOut);
  std::string gotQ(qb.size(), '\1');
  std::vector<float> gotK(each * D, 77), gotV(each * E, 77);
  std::vector<float> gotBias(dbias.size(), 77);
  std::vector<Attention> list = {a};
  AttentionEngine engine(list);
  ASSERT_OK(engine.runBackward(
      0,
      {qb.data(), kb.data(), vb.data(), masked ? mask.data() : nullptr,
       additions.bias.data(), ob.data(), lse.data(), delta.data(), gotQ.data(),
       gotK.data(), gotV.data(), gotBias.empty() ? nullptr : gotBias.data()}));
  // Weights are exact to the rounding of scores up to 4 scale D in f32; each
  // sum has at most as many terms as there are queries or keys.
  double scores = 4 * a.scale * double(D), length = double(std::max(T, a.qLen));
  double tolerance =
      6e-8 * (scores + 8) * (scores + double(D)) * (4 + std::sqrt(length));
  auto compare = [&](const std::vector<float> &got,
                     const std::vector<double> &want, double rounding,
                     const char *what) {
    for (size_t i = 0; i < want.size(); ++i)
      ASSERT_NEAR(got[i], want[i], tolerance + rounding * std::fabs(want[i]))
          << what << i;
  };
  compare(toFloats(a.type, gotQ), dq, epsilon(a.type), "dq ");
  compare(gotK, dk, 0, "dk ");
  compare(gotV, dv, 0, "dv ");
  compare(gotBias, dbias, 0, "dbias ");
}

} // namespace

TEST(Attention, Backward) {
  std::mt19937 random(kSeed);
  auto pick = [&](std::initializer_list<int64_t> values) {
    return values.begin()[random() % values.size()];
  };
  for (int i = 0; i < 80; ++i) {
    int64_t kvHeads = pick({1, 2}), sharing = pick({1, 2, 3});
    int64_t keys = pick({1, 5, 40, 127, 128, 129, 200});
    int64_t queries = std::min(keys, pick({1, 7, 48, 49, 100, 200}));
    Attention a = describe(pick({1, 2}), queries, keys, kvHeads * sharing,
                           kvHeads, pick({1, 4, 15, 16, 40, 64}),
                           tprt_type(pick({TPRT_F32, TPRT_BF16, TPRT_F16})));
    a.causal = random() % 2;
    a.window = pick({0, 0, 1, 17, 130});
    a.mask = random() % 2 ? Attention::Mask::KeyPadding : Attention::Mask::None;
    a.maskType = TPRT_I32;
    if (i % 2)
      chooseForms(a, random, pick);
    setWorkers(1 + random() % 2);
    checkBackward(a, random);
    if (HasFatalFailure())
      break;
  }
  setWorkers(1);
}

TEST(Attention, RandomShapes) {
  std::mt19937 random(kSeed);
  auto pick = [&](std::initializer_list<int64_t> values) {
    return values.begin()[random() % values.size()];
  };
  for (int i = 0; i < 150; ++i) {
    int64_t kvHeads = pick({1, 2, 3}), sharing = pick({1, 1, 2, 5});
    int64_t keys = pick({1, 5, 16, 40, 127, 128, 129, 200, 300});
    int64_t queries = pick({1, 2, 7, 48, 49, 100});
    tprt_type type = tprt_type(pick({TPRT_F32, TPRT_BF16, TPRT_F16}));
    Case c{describe(pick({1, 2}), queries, keys, kvHeads * sharing, kvHeads,
                    pick({1, 4, 8, 15, 16, 32, 40, 64, 80}), type),
           keys, 0, pick({0, 3})};
    c.a.causal = random() % 2;
    c.a.window = pick({0, 0, 1, 17, 130});
    c.a.mask =
        random() % 2 ? Attention::Mask::KeyPadding : Attention::Mask::None;
    c.a.maskType = random() % 2 ? TPRT_I64 : TPRT_I32;
    c.kvLen = 1 + random() % keys;
    c.qOffset = pick({0, 0, 3, c.kvLen - 1});
    if (i % 2)
      chooseForms(c.a, random, pick);
    setWorkers(1 + random() % 2);
    check(c, random);
    if (HasFatalFailure())
      break;
  }
  setWorkers(1);
}

TEST(Attention, HeadsOf128And256) {
  std::mt19937 random(kSeed);
  for (int64_t size : {128, 256}) {
    Case c{describe(1, 70, 70, 2, 1, size, TPRT_F32), 70, 0, 0};
    c.a.causal = true;
    check(c, random);
  }
}

TEST(Attention, NanInScoresIsNotLost) {
  Attention a = describe(1, 1, 3, 1, 1, 4, TPRT_F32);
  float q[4] = {NAN, 0, 0, 0}, k[12] = {1}, v[12] = {1}, out[4] = {};
  std::vector<Attention> list = {a};
  AttentionEngine engine(list);
  ASSERT_OK(engine.run(
      0, {q, 4, k, 4, v, 4, nullptr, nullptr, nullptr, 3, 0, out, 4, nullptr}));
  EXPECT_TRUE(std::isnan(out[0]));
}

TEST(Attention, RefusesWhatTheManifestDoesNotSay) {
  std::vector<Attention> list = {describe(1, 1, 3, 1, 1, 4, TPRT_F32)};
  AttentionEngine engine(list);
  AttentionCall call{};
  call.kvLen = 4;
  EXPECT_MESSAGE(engine.run(0, call), "attention 0: expected at most 3 keys, "
                                      "got 4");
  EXPECT_MESSAGE(engine.run(2, call), "attention 2 is not in the manifest");
  call.kvLen = 3;
  call.mask = &call;
  EXPECT_MESSAGE(engine.run(0, call),
                 "attention 0: the mask is not as the manifest says");
  call.mask = nullptr;
  call.bias = &call;
  EXPECT_MESSAGE(engine.run(0, call),
                 "attention 0: the bias is not as the manifest says");
  call.bias = nullptr;
  call.sinks = &call;
  EXPECT_MESSAGE(engine.run(0, call),
                 "attention 0: the sinks are not as the manifest says");
}
