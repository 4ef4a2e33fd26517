//===- AttentionTest.cpp - attention against the definition ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random shapes, masks, windows and offsets against a softmax in double over
// the whole score matrix.
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

void check(const Case &c, std::mt19937 &random) {
  const Attention &a = c.a;
  SCOPED_TRACE(detail::join(
      "batch ", a.batch, " queries ", a.qLen, " keys ", c.kvLen, " of ",
      a.kvCapacity, " heads ", a.qHeads, "/", a.kvHeads, " size ", a.headSize,
      " type ", typeName(a.type), " causal ", a.causal, " window ", a.window,
      " mask ", int(a.mask), " offset ", c.qOffset, " seed ", kSeed));
  int64_t qStride = a.qHeads * a.headSize + c.extra;
  int64_t kStride = a.kvHeads * a.headSize + c.extra;
  auto q = rounded(a.type, randomFloats(random, a.batch * a.qLen * qStride, 2));
  auto k = rounded(a.type,
                   randomFloats(random, a.batch * a.kvCapacity * kStride, 2));
  auto v =
      rounded(a.type, randomFloats(random, a.batch * a.kvCapacity * kStride));
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
  std::string out(qb.size(), '\0');
  std::vector<float> lse(a.batch * a.qHeads * a.qLen);
  std::vector<Attention> list = {a};
  AttentionEngine engine(list);
  const void *maskData = a.maskType == TPRT_I32
                             ? static_cast<const void *>(mask32.data())
                             : mask.data();
  ASSERT_OK(engine.run(0, {qb.data(), qStride, kb.data(), kStride, vb.data(),
                           kStride, masked ? maskData : nullptr, c.kvLen,
                           c.qOffset, out.data(), qStride, lse.data()}));
  std::vector<float> got = toFloats(a.type, out);

  for (int64_t b = 0; b < a.batch; ++b)
    for (int64_t h = 0; h < a.qHeads; ++h)
      for (int64_t s = 0; s < a.qLen; ++s) {
        int64_t kv = h / (a.qHeads / a.kvHeads), position = c.qOffset + s;
        auto key = [&](int64_t j) {
          return (b * a.kvCapacity + j) * kStride + kv * a.headSize;
        };
        std::vector<double> scores(c.kvLen, -INFINITY);
        double best = -INFINITY, sum = 0;
        for (int64_t j = 0; j < c.kvLen; ++j) {
          bool sees = (!a.causal || j <= position) &&
                      (!a.window || (j > position - a.window &&
                                     (a.causal || j < position + a.window))) &&
                      (!masked || mask[b * a.kvCapacity + j]);
          if (!sees)
            continue;
          double dot = 0;
          for (int64_t d = 0; d < a.headSize; ++d)
            dot += double(q[(b * a.qLen + s) * qStride + h * a.headSize + d]) *
                   k[key(j) + d];
          scores[j] = dot * a.scale;
          best = std::max(best, scores[j]);
        }
        for (double &score : scores)
          sum += score = best == -INFINITY ? 0 : std::exp(score - best);
        float gotLse = lse[(b * a.qLen + s) * a.qHeads + h];
        if (sum == 0)
          ASSERT_EQ(gotLse, -INFINITY);
        else
          ASSERT_NEAR(gotLse, best + std::log(sum), 1e-4);
        for (int64_t d = 0; d < a.headSize; ++d) {
          double value = 0;
          for (int64_t j = 0; j < c.kvLen; ++j)
            value += scores[j] * v[key(j) + d];
          value = sum == 0 ? 0 : value / sum;
          ASSERT_NEAR(got[(b * a.qLen + s) * qStride + h * a.headSize + d],
                      value, 2e-5 + 2 * epsilon(a.type))
              << b << " " << h << " " << s << " " << d;
        }
      }
}

Attention describe(int64_t batch, int64_t q, int64_t kv, int64_t heads,
                   int64_t kvHeads, int64_t size, tprt_type type) {
  Attention a{};
  a.batch = batch, a.qLen = q, a.kvCapacity = kv;
  a.qHeads = heads, a.kvHeads = kvHeads, a.headSize = size;
  a.type = type;
  a.scale = 1 / std::sqrt(double(size));
  a.mask = Attention::Mask::None;
  a.maskType = TPRT_I64;
  return a;
}

/// The derivative against that of a softmax in double.
void checkBackward(const Attention &a, std::mt19937 &random) {
  SCOPED_TRACE(detail::join("batch ", a.batch, " queries ", a.qLen, " keys ",
                            a.kvCapacity, " heads ", a.qHeads, "/", a.kvHeads,
                            " size ", a.headSize, " type ", typeName(a.type),
                            " causal ", a.causal, " window ", a.window,
                            " mask ", int(a.mask), " seed ", kSeed));
  int64_t D = a.headSize, T = a.kvCapacity, sharing = a.qHeads / a.kvHeads;
  int64_t queries = a.batch * a.qLen * a.qHeads;
  int64_t keys = a.batch * T * a.kvHeads, each = a.batch * T * a.qHeads;
  auto make = [&](int64_t count, float scale) {
    return rounded(a.type, randomFloats(random, count, scale));
  };
  auto q = make(queries * D, 2), k = make(keys * D, 2), v = make(keys * D, 1),
       dOut = make(queries * D, 1);
  std::vector<int32_t> mask(a.batch * T);
  for (auto &seen : mask)
    seen = random() % 3 != 0;
  bool masked = a.mask == Attention::Mask::KeyPadding;
  std::vector<float> lse(queries), delta(queries);
  std::vector<double> dq(queries * D), dk(each * D), dv(each * D);
  for (int64_t row = 0; row < queries; ++row) {
    int64_t h = row % a.qHeads, s = row / a.qHeads % a.qLen;
    int64_t b = row / a.qHeads / a.qLen, position = T - a.qLen + s;
    auto dot = [&](const auto &x, int64_t i, const auto &y, int64_t j) {
      double sum = 0;
      for (int64_t d = 0; d < D; ++d)
        sum += double(x[i * D + d]) * y[j * D + d];
      return sum;
    };
    auto keyAt = [&](int64_t j) {
      return (b * T + j) * a.kvHeads + h / sharing;
    };
    std::vector<double> p(T, -INFINITY);
    double best = -INFINITY, sum = 0, mean = 0;
    for (int64_t j = 0; j < T; ++j)
      if ((!a.causal || j <= position) &&
          (!a.window || (j > position - a.window &&
                         (a.causal || j < position + a.window))) &&
          (!masked || mask[b * T + j]))
        best = std::max(best, p[j] = a.scale * dot(q, row, k, keyAt(j)));
    for (double &weight : p)
      sum += weight = best == -INFINITY ? 0 : std::exp(weight - best);
    lse[row] = float(best + std::log(sum));
    for (int64_t j = 0; j < T && sum > 0; ++j)
      mean += (p[j] /= sum) * dot(dOut, row, v, keyAt(j));
    delta[row] = float(mean);
    for (int64_t j = 0; j < T; ++j) {
      double ds = p[j] * (dot(dOut, row, v, keyAt(j)) - mean) * a.scale;
      int64_t at = (b * T + j) * a.qHeads + h;
      for (int64_t d = 0; d < D; ++d) {
        dq[row * D + d] += ds * k[keyAt(j) * D + d];
        dk[at * D + d] += ds * q[row * D + d];
        dv[at * D + d] += p[j] * dOut[row * D + d];
      }
    }
  }
  std::string qb = toBytes(a.type, q), kb = toBytes(a.type, k),
              vb = toBytes(a.type, v), ob = toBytes(a.type, dOut);
  std::string gotQ(qb.size(), '\1');
  std::vector<float> gotK(each * D, 77), gotV(each * D, 77);
  std::vector<Attention> list = {a};
  AttentionEngine engine(list);
  ASSERT_OK(engine.runBackward(0, {qb.data(), kb.data(), vb.data(),
                                   masked ? mask.data() : nullptr, ob.data(),
                                   lse.data(), delta.data(), gotQ.data(),
                                   gotK.data(), gotV.data()}));
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
  ASSERT_OK(engine.run(0, {q, 4, k, 4, v, 4, nullptr, 3, 0, out, 4, nullptr}));
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
}
