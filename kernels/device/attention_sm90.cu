//===- attention_sm90.cu - Attention with wgmma and TMA -------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// After FlashAttention-3 (Shah et al., 2024). A block has a warpgroup that
// copies, the *producer*, and two or three that compute, the *consumers*, each
// with 64 rows of a tile of rows of one KV head. For each tile of keys, the
// last first, a consumer
//
//   1. starts the scores of the tile, Q Kᵀ, and P V of the tile before,
//   2. waits for the scores, and makes the powers P of them while P V runs,
//   3. waits for P V, and scales its outputs if the maximum has risen far.
//
// Consumers take turns at 1, so that the products of one run beside the powers
// of the other. Blocks stay for several work items, sorted by falling length:
// of G blocks, block b takes items b, 2 G - 1 - b, 2 G + b, ..., and copies for
// the next while it ends one.
//
// The copy engine takes boxes of tensors that a tensor map describes; the block
// makes its own maps from the call's addresses and strides, in scratch. Tensors
// that are no multiples of 16 bytes apart are copied by threads.
//
//===----------------------------------------------------------------------===//

#include "attention.h"
#include "attention_sm90_copies.h"

namespace attention {

/// A thread's part of its two rows, r and r + 8 of the warp.
template <typename P>
struct State {
  float greatest[2] = {-kInfinity, -kInfinity};
  float sum[2] = {0, 0}; ///< of this thread's columns
  float output[P::kValue / 2];
};

/// Starts scores = Q Kᵀ.
template <typename P>
__device__ inline void startScores(float (&scores)[P::kKeys / 2],
                                   const char *queries, const char *keys) {
  const uint32_t a = tp_wgmma_describe(queries, 16);
  const uint32_t b = tp_wgmma_describe(keys, 16);
  tp_wgmma_fence();
#pragma unroll
  for (int k = 0; k < P::kHead / 16; ++k) {
    if (16 * k >= shape::headSize())
      break;
    // 32 bytes of a row of a panel.
    hopper::multiplyShared(typename P::Type(), scores,
                           a + k / 4 * (P::kRows * 8) + k % 4 * 2,
                           b + k / 4 * (P::kKeys * 8) + k % 4 * 2, k != 0);
  }
  tp_wgmma_commit();
}

/// Starts output += P V.
template <typename P>
__device__ inline void startOutputs(float (&output)[P::kValue / 2],
                                    const uint32_t (&powers)[P::kKeys / 4],
                                    const char *values) {
  const uint32_t b = tp_wgmma_describe(values, P::kKeys * 128);
  tp_wgmma_fence();
#pragma unroll
  for (int k = 0; k < P::kKeys / 16; ++k)
    hopper::multiply(typename P::Type(), output, powers + 4 * k, b + 128 * k);
  tp_wgmma_commit();
}

/// The mask of a tile of keys, where there is one.
template <typename P>
struct Mask {
  uint32_t words[P::kMaskWords];

  __device__ void read(const char *shared, int stage) {
    if (!P::hasMask())
      return;
#pragma unroll
    for (int i = 0; i < P::kMaskWords; ++i)
      words[i] = reinterpret_cast<const uint32_t *>(
          shared + P::kMasks)[stage * P::kMaskWords + i];
  }
  __device__ bool showsAll() const {
    uint32_t all = ~0u;
    if (P::hasMask())
#pragma unroll
      for (uint32_t word : words)
        all &= word;
    return all == ~0u;
  }
  /// True if it shows a key whose number is 2 (lane % 4) more than `key`.
  __device__ bool shows(int key) const {
    return !P::hasMask() ||
           words[key / 32] >> (lane() % 4 * 2) & 1u << key % 32;
  }
};

/// Hides from row `row` of the item, and from the one 8 further, what they do
/// not see of the keys from `start` on.
template <typename P>
__device__ inline void maskScores(const Work<P> &work, const Mask<P> &mask,
                                  float (&scores)[P::kKeys / 2], int row,
                                  int start) {
  const int column = start + lane() % 4 * 2;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const Range seen = work.seenBy((row + 8 * half) / shape::sharing());
    const unsigned count = max(seen.to - seen.from, 0);
    // Or thresholds of all columns are kept across tiles, and spilled.
    const int own = tp_opaque(column - seen.from);
#pragma unroll
    for (int i = 0; i < P::kKeys / 8; ++i)
#pragma unroll
      for (int side = 0; side < 2; ++side)
        if (unsigned(own + 8 * i + side) >= count || !mask.shows(8 * i + side))
          scores[4 * i + 2 * half + side] = -kInfinity;
  }
}

/// Takes in the maxima of a tile. True if a score of the warp lies far above
/// what the sums are of: outputs are then to be multiplied by `by`.
template <typename P>
__device__ inline bool followGreatest(State<P> &state,
                                      const float (&scores)[P::kKeys / 2],
                                      float (&by)[2]) {
  const float room =
      scalesScores() ? kPowersAbove : kPowersAbove / multiplier();
  // Two chains of maxima for each row, for the sake of latency.
  float chains[4] = {scores[0], scores[1], scores[2], scores[3]};
#pragma unroll
  for (int i = 1; i < P::kKeys / 8; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
      chains[j] = maxNumber(chains[j], scores[4 * i + j]);
  float greatest[2];
  bool isFar = false;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    greatest[half] = maxNumber(chains[2 * half], chains[2 * half + 1]);
    for (int mask = 1; mask <= 2; mask *= 2)
      greatest[half] =
          maxNumber(greatest[half], shuffleXor(greatest[half], mask));
    isFar |= greatest[half] > state.greatest[half] + room;
  }
  if (ballot(isFar) == 0)
    return false;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float before = state.greatest[half];
    state.greatest[half] = maxNumber(before, greatest[half]);
    by[half] = getPower(before, getShift(state.greatest[half]));
    state.sum[half] *= by[half];
  }
  return true;
}

/// Scores become powers, which are added to the sums.
template <typename P>
__device__ inline void takePowers(State<P> &state,
                                  float (&scores)[P::kKeys / 2]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float shift = getShift(state.greatest[half]);
    float sums[2] = {state.sum[half], 0};
#pragma unroll
    for (int i = 0; i < P::kKeys / 8; ++i)
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        float &score = scores[4 * i + 2 * half + side];
        score = getPower(score, shift);
        sums[side] += score;
      }
    state.sum[half] = sums[0] + sums[1];
  }
}

/// Rounded, as A of the product with values.
template <typename P>
__device__ inline void packPowers(uint32_t (&powers)[P::kKeys / 4],
                                  const float (&scores)[P::kKeys / 2]) {
#pragma unroll
  for (int i = 0; i < P::kKeys / 4; ++i)
    powers[i] =
        hopper::pack(typename P::Type(), scores[2 * i], scores[2 * i + 1]);
}

template <typename P>
__device__ inline void rescale(State<P> &state, const float (&by)[2]) {
#pragma unroll
  for (int i = 0; i < P::kValue / 2; ++i)
    state.output[i] *= by[i / 2 % 2];
}

/// The factors that make results of the sums, sinks included. Writes the
/// logarithms of the sums where the call wants them.
template <typename P>
__device__ inline void normalise(const Arguments &call, const Work<P> &work,
                                 State<P> &state, int warpRow, float (&by)[2]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float sum = state.sum[half];
    for (int mask = 1; mask <= 2; mask *= 2)
      sum += shuffleXor(sum, mask);
    const Place place = work.locate(warpRow + lane() / 4 + 8 * half);
    float scale = 1;
    if (shape::sinkType() != 0) {
      const float sink = readSink(call.sinks, place.head);
      const float before = state.greatest[half];
      state.greatest[half] = maxNumber(before, sink);
      const float shift = getShift(state.greatest[half]);
      scale = getPower(before, shift);
      sum = sum * scale + getPower(sink, shift);
    }
    by[half] = sum == 0 ? 0 : scale * reciprocalApprox(sum);
    if (call.logSumExp && place.inBounds && lane() % 4 == 0) {
      const float logarithm =
          (getShift(state.greatest[half]) + log2Approx(sum)) * kLn2;
      call.logSumExp[place.token * (shape::keyHeads() * shape::sharing()) +
                     place.head] = sum == 0 ? -kInfinity : logarithm;
    }
  }
}

/// Writes the warp's 16 rows, through their place `outputs` in shared memory.
template <typename P>
__device__ inline void writeOutputs(const Arguments &call, const Work<P> &work,
                                    const State<P> &state, char *outputs,
                                    int warpRow) {
  // Or addresses are kept from item to item, and spilled.
  warpRow = tp_opaque(warpRow);
#pragma unroll
  for (int i = 0; i < P::kValue / 8; ++i)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = warpRow + lane() / 4 + 8 * half;
      char *to = outputs + hopper::swizzle<P::kRows>(row, i) + lane() % 4 * 4;
      *reinterpret_cast<uint32_t *>(to) =
          hopper::pack(typename P::Type(), state.output[4 * i + 2 * half],
                       state.output[4 * i + 2 * half + 1]);
    }
  __syncwarp();
  constexpr int chunks = P::kValue / 8, rowsAtOnce = kWarp / chunks;
  const int chunk = lane() % chunks;
  const bool isWide = (uintptr_t(call.output) | 2 * call.outputStride |
                       2 * shape::valueSize()) %
                          16 ==
                      0;
#pragma unroll
  for (int i = 0; i < 16 / rowsAtOnce; ++i) {
    const int row = warpRow + i * rowsAtOnce + lane() / chunks;
    const Place place = work.locate(row);
    if (!place.inBounds || chunk * 8 >= shape::valueSize())
      continue;
    const char *from = outputs + hopper::swizzle<P::kRows>(row, chunk);
    char *to = call.output + 2 * (place.token * call.outputStride +
                                  place.head * shape::valueSize() + chunk * 8);
    if (isWide) {
      *reinterpret_cast<uint4 *>(to) = *reinterpret_cast<const uint4 *>(from);
      continue;
    }
    for (int j = 0; j < 8 && chunk * 8 + j < shape::valueSize(); ++j)
      reinterpret_cast<uint16_t *>(to)[j] =
          reinterpret_cast<const uint16_t *>(from)[j];
  }
  __syncwarp();
}

/// A warpgroup of consumers. `thread` counts from the first consumer on.
template <typename P>
class Consumer {
public:
  __device__ Consumer(const Arguments &call, char *shared, int thread)
      : call(call), shared(shared), barriers{shared + P::kBarriers},
        group(uniform(thread / hopper::kWarpgroup)),
        warpRow(thread / kWarp * 16) {
    if (group == P::kConsumers - 1)
      passTurn();
  }

  __device__ void run(const Items<P> &items) {
    Work<P> work;
    for (int round = 0; items.get(round, work); ++round) {
      State<P> state;
#pragma unroll
      for (float &output : state.output)
        output = 0;
      compute(work, state);
      float by[2];
      normalise(call, work, state, warpRow, by);
      rescale(state, by);
      writeOutputs(call, work, state, shared + P::kOutputs, warpRow);
    }
  }

private:
  const Arguments &call;
  char *shared;
  Barriers<P> barriers;
  const int group, warpRow;
  Ring keyRing, valueRing;
  int queryParity = 0;

  __device__ void takeTurn() const {
    tp_named_sync(1 + group, 2 * hopper::kWarpgroup);
  }
  __device__ void passTurn() const {
    tp_named_arrive(1 + (group + 1) % P::kConsumers, 2 * hopper::kWarpgroup);
  }
  __device__ static void release(char *barrier) {
    if (lane() == 0)
      tp_mbarrier_arrive(barrier);
  }
  __device__ const char *keys() const {
    return shared + P::kKeyTiles + keyRing.stage * P::kKeyBytes;
  }
  __device__ const char *values() const {
    return shared + P::kValueTiles + valueRing.stage * P::kValueBytes;
  }

  /// Ends P V of the tile before, if one `hasRun`, and prepares the next of the
  /// powers in `scores`.
  __device__ void endOutputs(State<P> &state, float (&scores)[P::kKeys / 2],
                             uint32_t (&powers)[P::kKeys / 4], bool hasRun,
                             bool isFar, const float (&by)[2]) {
    uint32_t packed[P::kKeys / 4];
    if constexpr (P::kPacksEarly) {
      packPowers<P>(packed, scores);
      hopper::hold(packed);
    }
    hopper::wait<0>(state.output);
    if (hasRun) {
      release(barriers.valueEmpty(valueRing.stage));
      valueRing.advance();
    }
    if constexpr (!P::kPacksEarly)
      packPowers<P>(packed, scores);
#pragma unroll
    for (int i = 0; i < P::kKeys / 4; ++i)
      powers[i] = packed[i];
    if (isFar)
      rescale(state, by);
  }

  __device__ void compute(const Work<P> &work, State<P> &state) {
    const char *queries = shared + group * (64 * 128);
    // Tiles of keys between these are seen by all rows of the warpgroup.
    const int firstRow = group * 64, row = warpRow + lane() / 4;
    const int wholeFrom = work.seenBy((firstRow + 63) / shape::sharing()).from;
    const int wholeTo = work.seenBy(firstRow / shape::sharing()).to;
    float scores[P::kKeys / 2], by[2];
    uint32_t powers[P::kKeys / 4];
    Mask<P> mask;
    auto releaseKeys = [&] {
      mask.read(shared, keyRing.stage);
      if (P::hasMask())
        __syncwarp(); // all lanes have read before one of them releases
      release(barriers.keyEmpty(keyRing.stage));
      keyRing.advance();
    };
    auto takeScores = [&](int tile) {
      hopper::hold(scores);
      const int start = tile * P::kKeys;
      if (scalesScores()) {
#pragma unroll
        for (float &score : scores)
          score = scaleScore(score);
      }
      if (start < wholeFrom || start + P::kKeys > wholeTo || !mask.showsAll())
        maskScores<P>(work, mask, scores, row, start);
      const bool isFar = followGreatest<P>(state, scores, by);
      takePowers<P>(state, scores);
      hopper::hold(scores);
      return isFar;
    };

    tp_mbarrier_wait(barriers.queryFull(), queryParity);
    queryParity ^= 1;
    if (work.firstTile >= work.endTile) {
      release(barriers.queryEmpty());
      return;
    }
    int tile = work.endTile - 1;
    tp_mbarrier_wait(barriers.keyFull(keyRing.stage), keyRing.parity);
    takeTurn();
    startScores<P>(scores, queries, keys());
    passTurn();
    hopper::wait<0>(scores);
    releaseKeys();
    takeScores(tile);
    bool isFar = false; // nothing is summed yet
    // The wait for P V stands at the head of the loop: within one basic block
    // the assembler moves it ahead of the powers.
    for (--tile; tile >= work.firstTile; --tile) {
      endOutputs(state, scores, powers, tile + 2 < work.endTile, isFar, by);
      tp_mbarrier_wait(barriers.keyFull(keyRing.stage), keyRing.parity);
      tp_mbarrier_wait(barriers.valueFull(valueRing.stage), valueRing.parity);
      takeTurn();
      startScores<P>(scores, queries, keys());
      startOutputs<P>(state.output, powers, values());
      passTurn();
      hopper::wait<1>(scores);
      releaseKeys();
      isFar = takeScores(tile);
    }
    release(barriers.queryEmpty());
    endOutputs(state, scores, powers, work.firstTile + 1 < work.endTile, isFar,
               by);
    tp_mbarrier_wait(barriers.valueFull(valueRing.stage), valueRing.parity);
    startOutputs<P>(state.output, powers, values());
    hopper::wait<0>(state.output);
    release(barriers.valueEmpty(valueRing.stage));
    valueRing.advance();
  }
};

template <typename P>
__device__ inline void run(const Arguments &call, char *scratch) {
  // The launch asks for 1023 bytes more than the plan has.
  char *shared = dynamic_shared_memory +
                 (-uintptr_t(dynamic_shared_memory) & (hopper::kAlignment - 1));
  const Barriers<P> barriers{shared + P::kBarriers};
  const int thread = threadIdx.x;
  const bool hasBoxes = canCopyBoxes(call);
  // Masks come apart where one thread starts all other copies.
  const bool hasMasks = hasBoxes && !P::kPaged && P::hasMask();
  if (thread == 0) {
    constexpr int all = ElementCopies<P>::kThreads;
    constexpr int parts = PageCopies<P>::kParts;
    if (!hasBoxes)
      barriers.init(all, all, all);
    else if (P::kPaged)
      barriers.init(1, parts, parts);
    else
      barriers.init(1, 1 + hasMasks, 1);
    tp_mbarrier_init_fence();
  }
  if (Work<P>::rows() < P::kRows)
    clearUnusedRows<P>(shared);
  const Items<P> items(call, shared);
  __syncthreads();
  if (thread >= hopper::kWarpgroup) {
    P::takeRegisters();
    Consumer<P>(call, shared, thread - hopper::kWarpgroup).run(items);
    return;
  }
  P::giveRegisters();
  const int number = uniform(warp());
  auto produce = [&](bool ofKeys, auto copies) {
    Producer<P, decltype(copies)> producer{call, shared, barriers, copies,
                                           items};
    if (ofKeys)
      producer.template run<true>();
    else
      producer.template run<false>();
  };
  if (!hasBoxes) {
    constexpr int threads = ElementCopies<P>::kThreads;
    produce(thread < threads, ElementCopies<P>{call, shared, thread % threads});
    return;
  }
  const Maps<P> maps(call, shared, scratch);
  if constexpr (P::kPaged) {
    constexpr int parts = PageCopies<P>::kParts;
    produce(number / parts == 0,
            PageCopies<P>{maps, call, shared, number % parts});
    return;
  }
  // One warp copies queries and keys, one values, and one writes masks.
  if (number < 2 && lane() == 0)
    produce(number == 0, BoxCopies<P>{maps});
  else if (number == 2 && hasMasks)
    produceMasks<P>(call, shared, barriers, items);
}

} // namespace attention

#define TP_ATTENTION(name, type, size, consumers)                              \
  extern "C" __global__ void attention_sm90_##name##_##size(                   \
      const char *query, int64_t queryStride, const char *key,                 \
      int64_t keyStride, const char *value, int64_t valueStride,               \
      const char *mask, const char *, const char *sinks, int64_t keyLength,    \
      int64_t queryOffset, char *output, int64_t outputStride,                 \
      float *logSumExp, char *scratch) {                                       \
    attention::run<attention::Plan<type, size, size, 128, consumers, false>>(  \
        {query, queryStride, key, keyStride, value, valueStride, mask, sinks,  \
         int(keyLength), int(queryOffset), output, outputStride, logSumExp},   \
        scratch);                                                              \
  }                                                                            \
  extern "C" __global__ void paged_attention_sm90_##name##_##size(             \
      int64_t, const char *query, const char *key, const char *value,          \
      const int *rows, const int *positions, const int *table, const char *,   \
      const char *sinks, char *output, char *scratch) {                        \
    const int heads = shape::keyHeads(), sharing = shape::sharing();           \
    attention::run<attention::Plan<type, size, size, 128, consumers, true>>(   \
        {query, heads * sharing * shape::headSize(), key,                      \
         heads * shape::headSize(), value, heads * shape::valueSize(),         \
         nullptr, sinks, 0, 0, output, heads * sharing * shape::valueSize(),   \
         nullptr, rows, positions, table},                                     \
        scratch);                                                              \
  }

TP_ATTENTION(bf16, Bf16, 64, 3)
TP_ATTENTION(bf16, Bf16, 128, 2)
TP_ATTENTION(f16, F16, 64, 3)
TP_ATTENTION(f16, F16, 128, 2)
