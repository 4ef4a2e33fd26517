//===- sample_records.cu - Records of a vocabulary ------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Block (row, b) reads the logits of block b of the vocabulary a few times: for
// the largest and what wins the draw, for the sums, and to find the best. These
// are found by radix selection: a logit's key, of 64 bits, has its value in
// front and behind it how low its token is, so that no two are equal and larger
// is better. Eight bits at a time, from the top, it counts the keys of each
// digit, which tells the digit of the least key that is among the best. Where
// the best end with all keys of a digit, the rest of the bits is not looked at:
//
//        keys 91 87 85 42, two of them: first digits 9 8 8 4, so the least is
//        an 8, of which one is wanted; second digits 7 5, so it is 87.
//
// Then keys that are not below it are as many as wanted, and each goes to the
// place of its rank among them. The counters are added to in any order, which
// changes no number.
//
//===----------------------------------------------------------------------===//

#include "sample_draw.h"

TP_SHAPE(int, columns)
TP_SHAPE(int, blocks)
TP_SHAPE(int, vocabulary)

namespace {
constexpr int kDigits = 256;
constexpr int kGroup = 16; // digits that are added up first

/// The largest logit of some tokens, how many are finite, what wins the draw.
struct Largest {
  float maximum;
  int numFinite;
  DrawnToken drawn;
};

struct SharedMemory {
  int counters[kDigits];
  int groups[kDigits / kGroup];
  /// The digit that was found; how many of its keys are wanted, and there are.
  int digit, wanted, count;
  int numCollected;
  uint64_t keys[kCandidates];
  Largest largest[kMostWarps];
  float sums[kMostWarps];
};

class Record {
public:
  __device__ Record(const float *logits, const int32_t *numbers,
                    const RowDraw &draw, float *records, SharedMemory &shared);
  __device__ void write();

private:
  const RowDraw &draw;
  SharedMemory &shared;
  const float *logits;
  float *record;
  int first, count; // the number of the first token, and how many there are
  Largest largest;

  /// Calls `body(index, logit)` for this thread's logits, the lowest token
  /// first.
  template <typename Body>
  __device__ void forEachLogit(Body body) const {
#pragma unroll 1
    for (int i = threadIdx.x; i < count; i += launch::threads())
      body(i, getLogit(i));
  }
  /// No zero is below another.
  __device__ float getLogit(int i) const { return logits[i] + 0.0f; }
  __device__ void findLargest();
  __device__ float sum(float scale) const;
  __device__ void countDigits(uint64_t prefix, uint64_t mask, int shift) const;
  __device__ void findDigit(int wanted) const;
  __device__ uint64_t findLeastKey(int wanted) const;
  __device__ void writeBest(uint64_t leastKey, int wanted) const;
};

/// Larger for larger logits, and for lower tokens of equal ones.
__device__ uint64_t getKey(int index, float logit) {
  uint32_t bits = __builtin_bit_cast(uint32_t, logit);
  bits ^= int32_t(bits) < 0 ? 0xffffffff : 0x80000000;
  return uint64_t(bits) << 32 | (0xffffffff - uint32_t(index));
}

__device__ Record::Record(const float *all, const int32_t *numbers,
                          const RowDraw &draw, float *records,
                          SharedMemory &shared)
    : draw(draw), shared(shared) {
  const int row = blockIdx.x, block = blockIdx.y;
  const int size = (shape::columns() + shape::blocks() - 1) / shape::blocks();
  const int begin = block * size;
  first = numbers[block] * size;
  count = min(min(shape::columns() - begin, size), shape::vocabulary() - first);
  count = draw.position < 0 ? 0 : max(count, 0);
  logits = all + row * int64_t(shape::columns()) + begin;
  record = records + int64_t(block * int(gridDim.x) + row) * TPRT_RECORD_WORDS;
}

__device__ void Record::findLargest() {
  const Largest none{-kInfinity, 0, getNone()};
  Largest own = none;
  forEachLogit([&](int i, float logit) {
    own.maximum = __builtin_elementwise_maximum(own.maximum, logit);
    if (!isFinite(logit))
      return;
    ++own.numFinite;
    int token = first + i;
    own.drawn = better(own.drawn, {draw.getScore(logit, token), token, logit});
  });
  largest = reduceBlock(
      own, none, shared.largest, [](const Largest &a, const Largest &b) {
        return Largest{__builtin_elementwise_maximum(a.maximum, b.maximum),
                       a.numFinite + b.numFinite, better(a.drawn, b.drawn)};
      });
}

/// The sum of exponentials relative to the largest logit, times `scale`.
__device__ float Record::sum(float scale) const {
  constexpr float log2e = 0x1.715476p+0f;
  float own = 0;
  forEachLogit([&](int, float logit) {
    own += exp2Approx((logit - largest.maximum) * scale * log2e);
  });
  __syncthreads(); // what was read of the sums before may be overwritten
  float all = reduceBlock(own, 0.0f, shared.sums,
                          [](float a, float b) { return a + b; });
  return largest.numFinite == 0 ? 0 : all;
}

/// Adds this thread's keys that begin as `prefix` does to the counters.
__device__ void Record::countDigits(uint64_t prefix, uint64_t mask,
                                    int shift) const {
  forEachLogit([&](int i, float logit) {
    uint64_t key = getKey(i, logit);
    if (isFinite(logit) && ((key ^ prefix) & mask) == 0)
      addShared(&shared.counters[key >> shift & (kDigits - 1)], 1);
  });
}

/// The digit of the wanted-th largest key: a thread for each digit adds up
/// those above it, by groups of which some threads know the sums.
__device__ void Record::findDigit(int wanted) const {
  auto addUp = [](const int *numbers, int from, int to) {
    int sum = 0;
    for (int i = from; i < to; ++i)
      sum += numbers[i];
    return sum;
  };
  const int digit = threadIdx.x;
  if (digit < kDigits / kGroup)
    shared.groups[digit] =
        addUp(shared.counters, digit * kGroup, (digit + 1) * kGroup);
  __syncthreads();
  if (digit >= kDigits)
    return;
  int nextGroup = digit / kGroup + 1;
  int above = addUp(shared.counters, digit + 1, nextGroup * kGroup) +
              addUp(shared.groups, nextGroup, kDigits / kGroup);
  int own = shared.counters[digit];
  if (above < wanted && above + own >= wanted) {
    shared.digit = digit;
    shared.wanted = wanted - above;
    shared.count = own;
  }
}

/// The least of the `wanted` largest keys, or a number below it that is above
/// all others.
__device__ uint64_t Record::findLeastKey(int wanted) const {
  uint64_t prefix = 0, mask = 0;
  bool isDone = wanted == 0;
#pragma unroll 1
  for (int shift = 56; shift >= 0 && !isDone; shift -= 8) {
    for (int i = threadIdx.x; i < kDigits; i += launch::threads())
      shared.counters[i] = 0;
    __syncthreads();
    countDigits(prefix, mask, shift);
    __syncthreads();
    findDigit(wanted);
    __syncthreads();
    prefix |= uint64_t(shared.digit) << shift;
    mask |= uint64_t(kDigits - 1) << shift;
    wanted = shared.wanted;
    isDone = wanted == shared.count;
  }
  return prefix;
}

/// The best and their tokens, in order; behind them nothing.
__device__ void Record::writeBest(uint64_t leastKey, int wanted) const {
  if (threadIdx.x == 0)
    shared.numCollected = 0;
  __syncthreads();
  forEachLogit([&](int i, float logit) {
    uint64_t key = getKey(i, logit);
    if (isFinite(logit) && key >= leastKey)
      shared.keys[addShared(&shared.numCollected, 1)] = key;
  });
  __syncthreads();
  auto put = [&](int place, float logit, int token) {
    record[place] = logit;
    record[TPRT_RECORD_TOKENS + place] = token;
  };
  const int thread = threadIdx.x;
  if (thread < wanted) {
    uint64_t key = shared.keys[thread];
    int rank = 0;
    for (int i = 0; i < wanted; ++i)
      rank += shared.keys[i] > key;
    int index = 0xffffffff - uint32_t(key);
    put(rank, getLogit(index), first + index);
  } else if (thread < kCandidates) {
    put(thread, -kInfinity, -1);
  }
}

__device__ void Record::write() {
  findLargest();
  // 0 times it is 0, where infinity would not do.
  float scale = __builtin_fminf(draw.scale, __FLT_MAX__);
  float plain = sum(1), tempered = sum(scale);
  int wanted = min(largest.numFinite, kCandidates);
  writeBest(findLeastKey(wanted), wanted);
  if (threadIdx.x != 0)
    return;
  int token = largest.drawn.token;
  record[TPRT_RECORD_MAXIMUM] = largest.maximum;
  record[TPRT_RECORD_SUM] = plain;
  record[TPRT_RECORD_TEMPERED_SUM] = tempered;
  record[TPRT_RECORD_DRAWN_LOGIT] = largest.drawn.logit;
  record[TPRT_RECORD_DRAWN_TOKEN] = token == kNoToken ? -1 : token;
}
} // namespace

// The parameters are the arguments of sample_records in tprt/abi.h.
extern "C" __global__ void
sample_records(int64_t, int64_t, int64_t, int64_t, const float *logits,
               const int32_t *numbers, const int32_t *positions,
               const int64_t *seeds, const float *temperatures,
               float *records) {
  __shared__ SharedMemory shared;
  RowDraw draw(blockIdx.x, positions, seeds, temperatures);
  Record(logits, numbers, draw, records, shared).write();
}
