//===- SimdRecurrence.cpp - loops of the gated delta rule -----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled once per CPU level, as Simd.cpp is, and static for the same reason.
// nn.gated_delta_rule (docs/reference/NNDialect.md) says what is computed; the
// derivative is that of lib/Dialect/NN/IR/GatedDeltaBackward.cpp. Sums over the
// rows of a state are made in four parts, so that they do not wait for each
// other.
//
//===----------------------------------------------------------------------===//

#include "SimdRecurrence.h"
#include "SimdVector.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#define TPRT_JOIN2(a, b) a##b
#define TPRT_JOIN(a, b) TPRT_JOIN2(a, b)

using namespace tprt;

namespace {

constexpr int kVectors = kDeltaColumns / kLanes;
constexpr int kParts = 4;

/// One row of a state, or a value.
struct Row {
  Vec v[kVectors];

  static Row zero() {
    Row row;
    for (Vec &v : row.v)
      v = Vec{};
    return row;
  }
  static Row load(const float *from) {
    Row row;
    for (int i = 0; i < kVectors; ++i)
      row.v[i] = ::load(from + i * kLanes);
    return row;
  }
  /// Zero past `count` elements.
  static Row loadPart(const float *from, int64_t count) {
    float all[kDeltaColumns] = {};
    std::memcpy(all, from, size_t(count) * sizeof(float));
    return load(all);
  }
  void store(float *to) const {
    for (int i = 0; i < kVectors; ++i)
      ::store(to + i * kLanes, v[i]);
  }
  void storePart(float *to, int64_t count) const {
    float all[kDeltaColumns];
    store(all);
    std::memcpy(to, all, size_t(count) * sizeof(float));
  }
  /// This += factor * other.
  void add(float factor, const Row &other) {
    for (int i = 0; i < kVectors; ++i)
      v[i] += factor * other.v[i];
  }
  Row scaled(float factor) const {
    Row row = *this;
    for (Vec &v : row.v)
      v *= factor;
    return row;
  }
  float dot(const Row &other) const {
    Vec sum{};
    for (int i = 0; i < kVectors; ++i)
      sum += v[i] * other.v[i];
    return reduceSum(sum);
  }
};

/// A sum of rows in parts.
struct RowSum {
  Row parts[kParts];

  RowSum() {
    for (Row &part : parts)
      part = Row::zero();
  }
  void add(int64_t i, float factor, const Row &row) {
    parts[i % kParts].add(factor, row);
  }
  Row total() const {
    Row sum = parts[0];
    for (int i = 1; i < kParts; ++i)
      sum.add(1, parts[i]);
    return sum;
  }
};

/// Calls body(i) for each row, four at a time.
template <typename Body>
inline void forRows(int64_t rows, Body body) {
  int64_t i = 0;
  for (; i + kParts <= rows; i += kParts)
    for (int part = 0; part < kParts; ++part)
      body(i + part);
  for (; i < rows; ++i)
    body(i);
}

/// A position's part of the state: what the state has for its key, and what is
/// stored with the key.
struct Stored {
  Row recalled, stored;
};

/// state becomes the decayed one in `decayed`, which may be it.
inline Stored decayState(const DeltaBlock &b, int64_t t, const float *state,
                         float *decayed) {
  const float *key = b.key + t * b.keyStride;
  float factor = std::exp(b.decay[t * b.headStride]);
  RowSum recalled;
  forRows(b.keySize, [&](int64_t i) {
    Row row = Row::load(state + i * kDeltaColumns).scaled(factor);
    row.store(decayed + i * kDeltaColumns);
    recalled.add(i, key[i], row);
  });
  Stored result{recalled.total(),
                Row::loadPart(b.value + t * b.valueStride, b.columns)};
  if (b.beta) {
    result.stored.add(-1, result.recalled);
    result.stored = result.stored.scaled(b.beta[t * b.headStride]);
  }
  return result;
}

void forward(const DeltaBlock &b, float *state, float *out) {
  for (int64_t t = 0; t < b.positions; ++t) {
    Stored own = decayState(b, t, state, state);
    const float *key = b.key + t * b.keyStride,
                *query = b.query + t * b.keyStride;
    RowSum result;
    forRows(b.keySize, [&](int64_t i) {
      Row row = Row::load(state + i * kDeltaColumns);
      row.add(key[i], own.stored);
      row.store(state + i * kDeltaColumns);
      result.add(i, query[i], row);
    });
    result.total().storePart(out + t * b.valueStride, b.columns);
  }
}

//===----------------------------------------------------------------------===//
// The derivative
//===----------------------------------------------------------------------===//

/// The states of some positions, in scratch.
struct KeptStates {
  float *decayed, *states;  ///< [positions][keySize][kDeltaColumns]
  float *recalled, *stored; ///< [positions][kDeltaColumns]
};

/// Goes forward through positions [begin, end) from `state`, and keeps all.
void keepStates(const DeltaBlock &b, int64_t begin, int64_t end, float *state,
                const KeptStates &kept) {
  int64_t size = b.keySize * kDeltaColumns;
  for (int64_t t = begin; t < end; ++t) {
    int64_t at = t - begin;
    float *decayed = kept.decayed + at * size, *next = kept.states + at * size;
    Stored own = decayState(b, t, state, decayed);
    own.recalled.store(kept.recalled + at * kDeltaColumns);
    own.stored.store(kept.stored + at * kDeltaColumns);
    const float *key = b.key + t * b.keyStride;
    for (int64_t i = 0; i < b.keySize; ++i) {
      Row row = Row::load(decayed + i * kDeltaColumns);
      row.add(key[i], own.stored);
      row.store(next + i * kDeltaColumns);
    }
    state = next;
  }
}

/// dState becomes the derivative by the state before position t.
void goBack(const DeltaBackwardBlock &back, int64_t t, int64_t at,
            const KeptStates &kept, float *dState) {
  const DeltaBlock &b = back.forward;
  int64_t size = b.keySize * kDeltaColumns;
  const float *state = kept.states + at * size,
              *decayed = kept.decayed + at * size;
  const float *query = b.query + t * b.keyStride,
              *key = b.key + t * b.keyStride;
  float *dQuery = back.dQuery + t * back.dKeyStride,
        *dKey = back.dKey + t * back.dKeyStride;
  Row cotangent = Row::loadPart(back.cotangent + t * b.valueStride, b.columns);
  Row stored = Row::load(kept.stored + at * kDeltaColumns);
  RowSum sum;
  forRows(b.keySize, [&](int64_t i) {
    Row row = Row::load(dState + i * kDeltaColumns);
    row.add(query[i], cotangent);
    row.store(dState + i * kDeltaColumns);
    dQuery[i] += Row::load(state + i * kDeltaColumns).dot(cotangent);
    dKey[i] += row.dot(stored);
    sum.add(i, key[i], row);
  });
  Row dValue = sum.total();
  if (b.beta) {
    Row error = Row::loadPart(b.value + t * b.valueStride, b.columns);
    error.add(-1, Row::load(kept.recalled + at * kDeltaColumns));
    back.dBeta[t * b.headStride] += dValue.dot(error);
    dValue = dValue.scaled(b.beta[t * b.headStride]);
  }
  dValue.storePart(back.dValue + t * b.valueStride, b.columns);
  float factor = std::exp(b.decay[t * b.headStride]), dDecay = 0;
  for (int64_t i = 0; i < b.keySize; ++i) {
    Row row = Row::load(dState + i * kDeltaColumns);
    Row before = Row::load(decayed + i * kDeltaColumns);
    if (b.beta) {
      dKey[i] -= before.dot(dValue);
      row.add(-key[i], dValue);
    }
    dDecay += row.dot(before);
    row.scaled(factor).store(dState + i * kDeltaColumns);
  }
  back.dDecay[t * b.headStride] += dDecay;
}

/// Keeps the state before every so many positions, and computes those between
/// them again.
void backward(const DeltaBackwardBlock &back) {
  const DeltaBlock &b = back.forward;
  int64_t size = b.keySize * kDeltaColumns;
  int64_t numKept = (b.positions + kDeltaPositions - 1) / kDeltaPositions;
  float *starts = back.scratch, *next = starts + numKept * size;
  auto take = [&](int64_t floats) {
    return std::exchange(next, next + floats);
  };
  KeptStates kept{take(kDeltaPositions * size), take(kDeltaPositions * size),
                  take(kDeltaPositions * kDeltaColumns),
                  take(kDeltaPositions * kDeltaColumns)};
  float *state = take(size), *dState = take(size);
  std::fill_n(state, size, 0.0f);
  std::fill_n(dState, size, 0.0f);
  for (int64_t i = 0; i < numKept; ++i) {
    std::copy_n(state, size, starts + i * size);
    int64_t begin = i * kDeltaPositions,
            end = std::min(begin + kDeltaPositions, b.positions);
    for (int64_t t = begin; i + 1 < numKept && t < end; ++t) {
      Stored own = decayState(b, t, state, state);
      const float *key = b.key + t * b.keyStride;
      for (int64_t j = 0; j < b.keySize; ++j) {
        Row row = Row::load(state + j * kDeltaColumns);
        row.add(key[j], own.stored);
        row.store(state + j * kDeltaColumns);
      }
    }
  }
  for (int64_t i = numKept; i-- > 0;) {
    int64_t begin = i * kDeltaPositions,
            end = std::min(begin + kDeltaPositions, b.positions);
    keepStates(b, begin, end, starts + i * size, kept);
    for (int64_t t = end; t-- > begin;)
      goBack(back, t, t - begin, kept, dState);
  }
}

} // namespace

namespace tprt {

const RecurrenceLoops &TPRT_JOIN(TPRT_SIMD_LEVEL, Recurrence)() {
  static const RecurrenceLoops table = {forward, backward};
  return table;
}

} // namespace tprt
