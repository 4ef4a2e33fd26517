//===- sample_pick.cu - The pick of a token from records ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block merges the records of one row: a candidate's place is its rank among
// all. What top-k, min-p and top-p leave of the best is worked out by all
// threads alike, from shared memory; then each has the score of some that may
// be drawn, and the best score wins.
//
//===----------------------------------------------------------------------===//

#include "sample_draw.h"

TP_SHAPE(int, blocks)

namespace {
struct SharedMemory {
  double weights[kCandidates];
  float logits[kCandidates];
  int tokens[kCandidates];
  DrawnToken partials[kMostWarps];
};

/// The requests of a row.
struct Limits {
  int32_t topK;
  double topP;
  float minP;
};

class Pick {
public:
  __device__ Pick(const float *records, const RowDraw &draw,
                  const Limits &limits, SharedMemory &shared)
      : draw(draw), limits(limits), shared(shared),
        records(records + blockIdx.x * TPRT_RECORD_WORDS) {}
  __device__ void write(int32_t *token, float *logprob);

private:
  const RowDraw &draw;
  const Limits &limits;
  SharedMemory &shared;
  const float *records;
  float maximum;   // of all logits
  int size;        // how many of the best are left
  bool isComplete; // no other tokens are
  bool isUnknown;  // it cannot be told which are left

  __device__ float word(int block, int i) const {
    return records[block * int(gridDim.x * TPRT_RECORD_WORDS) + i];
  }
  __device__ float getLogit(int candidate) const {
    return word(candidate / kCandidates, candidate % kCandidates);
  }
  __device__ float getToken(int candidate) const {
    return word(candidate / kCandidates,
                TPRT_RECORD_TOKENS + candidate % kCandidates);
  }
  __device__ double sumOfBlocks(int which, double scale) const;
  __device__ void merge();
  __device__ void weigh() const;
  __device__ void restrictByRank();
  __device__ void restrictByWeight();
  __device__ DrawnToken drawToken() const;
};

/// The sum of exponentials of all blocks, relative to the largest logit.
__device__ double Pick::sumOfBlocks(int which, double scale) const {
  double sum = 0;
#pragma unroll 1
  for (int block = 0; block < shape::blocks(); ++block) {
    float own = word(block, TPRT_RECORD_MAXIMUM);
    if (own == -kInfinity)
      continue;
    double x = (double(own) - double(maximum)) * scale;
    sum += double(word(block, which)) * math64::exp(x);
  }
  return sum;
}

/// The best of all blocks into shared memory, in order.
__device__ void Pick::merge() {
  const int count = shape::blocks() * kCandidates;
#pragma unroll 1
  for (int own = threadIdx.x; own < count; own += launch::threads()) {
    float logit = getLogit(own), token = getToken(own);
    int rank = 0;
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      float otherToken = getToken(i);
      rank += otherToken >= 0 &&
              tprt::ranksAbove(getLogit(i), int(otherToken), logit, int(token));
    }
    if (token >= 0 && rank < kCandidates) {
      shared.logits[rank] = logit;
      shared.tokens[rank] = int(token);
    }
  }
  size = 0;
#pragma unroll 1
  for (int i = 0; i < count; ++i)
    size += getToken(i) >= 0;
  size = min(size, kCandidates);
}

/// The weights of the best beside them, for all threads.
__device__ void Pick::weigh() const {
  __syncthreads();
  int place = threadIdx.x;
  if (place < size)
    shared.weights[place] =
        math64::exp(double(shared.logits[place]) * draw.scale -
                    double(maximum) * draw.scale);
  __syncthreads();
}

/// Top-k and min-p, for which the best are enough.
__device__ void Pick::restrictByRank() {
  int limit = draw.isRandom ? limits.topK : 1;
  bool isLimited = limit >= 1 && limit <= kCandidates;
  isComplete = size < kCandidates || isLimited;
  if (isLimited)
    size = min(size, limit);
  bool hasLeast = limits.minP > 0;
  if (hasLeast && size >= 1) {
    double least =
        double(shared.logits[0]) * draw.scale + math64::log(limits.minP);
    int kept = 1;
#pragma unroll 1
    for (int i = 1; i < size; ++i)
      kept += double(shared.logits[i]) * draw.scale >= least;
    isComplete |= kept < size;
    size = kept;
  }
  isUnknown = !isComplete && (hasLeast || limits.topK > 0);
}

/// Top-p: the fewest that are as probable together.
__device__ void Pick::restrictByWeight() {
  if (!(limits.topP < 1))
    return;
  double all = 0;
  if (isComplete) {
#pragma unroll 1
    for (int i = 0; i < size; ++i)
      all += shared.weights[i];
  } else {
    all = sumOfBlocks(TPRT_RECORD_TEMPERED_SUM, draw.scale);
  }
  const double aim = limits.topP * all, margin = tprt::kNearness * all;
  double reached = 0;
  int count = 0;
  for (; count < size; ++count) {
    if (count > 0 && __builtin_fabs(reached - aim) <= margin)
      isUnknown = true;
    if (count > 0 && !(reached < aim))
      break;
    reached += shared.weights[count];
  }
  if (count == size && !isComplete && !(reached > aim + margin))
    isUnknown = true;
  size = count;
  isComplete = true;
}

/// The winner among the best that are left, or among the winners of the blocks.
__device__ DrawnToken Pick::drawToken() const {
  DrawnToken own = getNone();
  auto offer = [&](float logit, int token) {
    own = better(own, {draw.getScore(logit, token), token, logit});
  };
  const int count = isComplete ? size : shape::blocks();
#pragma unroll 1
  for (int i = threadIdx.x; i < count; i += launch::threads()) {
    if (isComplete)
      offer(shared.logits[i], shared.tokens[i]);
    else if (float token = word(i, TPRT_RECORD_DRAWN_TOKEN); token >= 0)
      offer(word(i, TPRT_RECORD_DRAWN_LOGIT), int(token));
  }
  return reduceBlock(own, getNone(), shared.partials, better);
}

__device__ void Pick::write(int32_t *tokenOut, float *logprobOut) {
  maximum = -kInfinity;
#pragma unroll 1
  for (int block = 0; block < shape::blocks(); ++block)
    maximum = __builtin_elementwise_maximum(maximum,
                                            word(block, TPRT_RECORD_MAXIMUM));
  merge();
  weigh();
  restrictByRank();
  restrictByWeight();
  DrawnToken drawn = drawToken();
  bool isKnown =
      isFinite(maximum) && size >= 1 && !isUnknown && drawn.token != kNoToken;
  if (threadIdx.x != 0)
    return;
  *tokenOut = isKnown ? drawn.token : -1;
  *logprobOut = 0;
  if (isKnown) {
    double lse = double(maximum) + math64::log(sumOfBlocks(TPRT_RECORD_SUM, 1));
    *logprobOut = double(drawn.logit) - lse;
  }
}
} // namespace

// The parameters are the arguments of sample_pick in tprt/abi.h.
extern "C" __global__ void
sample_pick(int64_t, int64_t, const float *records, const int32_t *positions,
            const int64_t *seeds, const float *temperatures,
            const int32_t *topK, const float *topP, const float *minP,
            int32_t *tokens, float *logprobs) {
  __shared__ SharedMemory shared;
  const int row = blockIdx.x;
  RowDraw draw(row, positions, seeds, temperatures);
  Limits limits{topK[row], topP[row], minP[row]};
  Pick(records, draw, limits, shared).write(tokens + row, logprobs + row);
}
