//===- Sampling.cpp - records of a vocabulary, and the pick from them -----===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One pass over a row's logits in chunks, most of which hold nothing that is
// among the best and nothing that wins the draw: the largest of a chunk tells.
//
//===----------------------------------------------------------------------===//

#include "HostRank.h"

#include "../support/Candidates.h"
#include "../support/Parallel.h"

using namespace tprt;

namespace {

constexpr int64_t kCandidates = TPRT_RECORD_CANDIDATES, kChunk = Draw::kChunk;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// One block of one row.
class Record {
public:
  Record(const float *logits, int64_t count, int64_t first, const Draw &draw)
      : logits(logits), count(count), first(first), draw(draw) {}
  void write(float *out);

private:
  void keepBest(int64_t begin, int64_t end);
  double sum(double scale, float maximum) const;

  const float *logits;
  int64_t count, first; ///< tokens, and the number of the first
  const Draw &draw;
  Candidate best[kCandidates]; ///< a heap, the worst in front
  int64_t size = 0;
  Draw::Winner drawn;
};

void Record::keepBest(int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    if (std::isfinite(logits[i]))
      tprt::keepBest(best, size, kCandidates, {logits[i], first + i});
}

double Record::sum(double scale, float maximum) const {
  constexpr int64_t kBlock = 1024;
  constexpr double most = std::numeric_limits<float>::max();
  float unused[kBlock];
  double sum = 0;
  for (int64_t begin = 0; size && begin < count; begin += kBlock)
    sum +=
        simd().exponentials(logits + begin, float(std::min(scale, most)),
                            maximum, std::min(kBlock, count - begin), unused);
  return sum;
}

void Record::write(float *out) {
  float maximum = -std::numeric_limits<float>::infinity();
  for (int64_t begin = 0; begin < count && !std::isnan(maximum);
       begin += kChunk) {
    int64_t end = std::min(count, begin + kChunk);
    float largest = findLargest(logits + begin, end - begin);
    maximum = largest <= maximum ? maximum : largest;
    if (size < kCandidates || largest > best[0].value)
      keepBest(begin, end);
    if (draw.isRandom())
      draw.among(logits + begin, end - begin, first + begin, largest, drawn);
  }
  std::sort(best, best + size);
  for (int64_t i = 0; i < kCandidates; ++i) {
    out[i] = i < size ? float(best[i].value) : float(-kInfinity);
    out[TPRT_RECORD_TOKENS + i] = i < size ? float(best[i].token) : -1;
  }
  out[TPRT_RECORD_MAXIMUM] = maximum;
  out[TPRT_RECORD_SUM] = float(sum(1, maximum));
  bool isSame = draw.scale() == 1;
  out[TPRT_RECORD_TEMPERED_SUM] =
      isSame ? out[TPRT_RECORD_SUM] : float(sum(draw.scale(), maximum));
  if (!draw.isRandom() && size)
    drawn = {best[0], out[0]};
  out[TPRT_RECORD_DRAWN_LOGIT] = drawn.logit;
  out[TPRT_RECORD_DRAWN_TOKEN] = float(drawn.score.token);
}

/// The limits that a row asks for.
struct Limits {
  int32_t topK;
  float topP, minP;
};

/// The records of one row, `stride` floats from one block to the next.
class Pick {
public:
  Pick(const float *records, int64_t blocks, int64_t stride)
      : records(records), blocks(blocks), stride(stride) {}
  void choose(const Draw &draw, const Limits &limits, int32_t &token,
              float &logprob);

private:
  float word(int64_t block, int64_t i) const {
    return records[block * stride + i];
  }
  /// The sum of exponentials of all blocks, relative to the largest logit.
  double sum(tprt_record which, double scale) const;
  void merge();
  bool restrict(const Draw &draw, const Limits &limits);
  bool narrow(const Draw &draw, double topP, double all);

  const float *records;
  int64_t blocks, stride;
  float maximum;
  Candidate best[kCandidates]; ///< of all blocks, in order
  int64_t size = 0;            ///< how many of them are left
  bool isComplete;             ///< no other tokens are
};

double Pick::sum(tprt_record which, double scale) const {
  double sum = 0;
  for (int64_t s = 0; s < blocks; ++s)
    if (double x = word(s, TPRT_RECORD_MAXIMUM); x > -kInfinity)
      sum += word(s, which) * std::exp((x - double(maximum)) * scale);
  return sum;
}

void Pick::merge() {
  for (int64_t s = 0; s < blocks; ++s)
    for (int64_t i = 0; i < kCandidates; ++i) {
      float token = word(s, TPRT_RECORD_TOKENS + i);
      if (token >= 0)
        keepBest(best, size, kCandidates, {word(s, i), int64_t(token)});
    }
  std::sort(best, best + size);
}

/// Leaves the fewest candidates that are as probable together as `topP` of
/// `all`; false if it cannot be told how many.
bool Pick::narrow(const Draw &draw, double topP, double all) {
  auto weight = [&](const Candidate &c) {
    return std::exp(c.value * draw.scale() - double(maximum) * draw.scale());
  };
  if (isComplete) {
    all = 0;
    for (int64_t i = 0; i < size; ++i)
      all += weight(best[i]);
  }
  double reached = weight(best[0]);
  int64_t count = 1;
  for (; count < size; ++count) {
    if (std::abs(reached - topP * all) <= kNearness * all)
      return false;
    if (!(reached < topP * all))
      break;
    reached += weight(best[count]);
  }
  if (count == size && !isComplete && !(reached > (topP + kNearness) * all))
    return false;
  size = count;
  isComplete = true;
  return true;
}

/// Leaves those that may be drawn; false if they are not known.
bool Pick::restrict(const Draw &draw, const Limits &limits) {
  int64_t limit = draw.isRandom() ? limits.topK : 1;
  bool isLimited = limit >= 1 && limit <= kCandidates;
  isComplete = size < kCandidates || isLimited;
  if (isLimited)
    size = std::min(size, limit);
  if (limits.minP > 0) {
    double least = best[0].value * draw.scale() + std::log(double(limits.minP));
    int64_t count = 1;
    while (count < size && best[count].value * draw.scale() >= least)
      ++count;
    isComplete |= count < size;
    size = count;
  }
  if (!isComplete && (limits.minP > 0 || limits.topK > 0))
    return false;
  return !(limits.topP < 1) ||
         narrow(draw, limits.topP,
                isComplete ? 0 : sum(TPRT_RECORD_TEMPERED_SUM, draw.scale()));
}

void Pick::choose(const Draw &draw, const Limits &limits, int32_t &token,
                  float &logprob) {
  token = -1;
  logprob = 0;
  maximum = -std::numeric_limits<float>::infinity();
  for (int64_t s = 0; s < blocks; ++s)
    if (float x = word(s, TPRT_RECORD_MAXIMUM);
        !std::isnan(maximum) && !(x <= maximum))
      maximum = x;
  if (!std::isfinite(maximum))
    return;
  merge();
  if (size == 0 || !restrict(draw, limits))
    return;
  Candidate chosen{-kInfinity, -1};
  double logit = 0;
  auto offer = [&](double value, int64_t next) {
    Candidate offered{draw.score(value, next), next};
    if (chosen.token < 0 || offered < chosen) {
      chosen = offered;
      logit = value;
    }
  };
  for (int64_t i = 0; isComplete && i < size; ++i)
    offer(best[i].value, best[i].token);
  for (int64_t s = 0; !isComplete && s < blocks; ++s)
    if (float next = word(s, TPRT_RECORD_DRAWN_TOKEN); next >= 0)
      offer(word(s, TPRT_RECORD_DRAWN_LOGIT), int64_t(next));
  token = int32_t(chosen.token);
  logprob =
      float(logit - (double(maximum) + std::log(sum(TPRT_RECORD_SUM, 1))));
}

template <typename T>
const T *as(const void *address) {
  return static_cast<const T *>(address);
}

} // namespace

int32_t HostFunctions::sample_records(tprt_rank *, int64_t rows,
                                      int64_t columns, int64_t blocks,
                                      int64_t vocabulary, const void *logits,
                                      const void *numbers,
                                      const void *positions, const void *seeds,
                                      const void *temperatures, void *records) {
  int64_t size = (columns + blocks - 1) / blocks;
  parallelItems(rows * blocks, [&](int64_t item, int64_t) {
    int64_t row = item / blocks, block = item % blocks;
    int64_t first = as<int32_t>(numbers)[block] * size;
    int32_t position = as<int32_t>(positions)[row];
    int64_t count =
        std::min({size, columns - block * size, vocabulary - first});
    Draw draw{as<float>(temperatures)[row], uint64_t(as<int64_t>(seeds)[row]),
              uint32_t(position)};
    Record(as<float>(logits) + row * columns + block * size,
           position < 0 ? 0 : std::max<int64_t>(count, 0), first, draw)
        .write(static_cast<float *>(records) +
               (block * rows + row) * TPRT_RECORD_WORDS);
  });
  return 0;
}

int32_t HostFunctions::sample_pick(tprt_rank *, int64_t rows, int64_t blocks,
                                   const void *records, const void *positions,
                                   const void *seeds, const void *temperatures,
                                   const void *topK, const void *topP,
                                   const void *minP, void *tokens,
                                   void *logprobs) {
  for (int64_t row = 0; row < rows; ++row) {
    Draw draw{as<float>(temperatures)[row], uint64_t(as<int64_t>(seeds)[row]),
              uint32_t(as<int32_t>(positions)[row])};
    Limits limits{as<int32_t>(topK)[row], as<float>(topP)[row],
                  as<float>(minP)[row]};
    Pick(as<float>(records) + row * TPRT_RECORD_WORDS, blocks,
         rows * TPRT_RECORD_WORDS)
        .choose(draw, limits, static_cast<int32_t *>(tokens)[row],
                static_cast<float *>(logprobs)[row]);
  }
  return 0;
}
