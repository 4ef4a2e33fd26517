//===- attention_sm90_work.h - Work items of attention_sm90.cu --*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How work is cut, and what lies where in shared memory. A work item is a tile
// of rows of a KV head: of a batch entry or, over pages, of a *run*, tokens
// that follow each other in one row of the table.
//
//===----------------------------------------------------------------------===//

#ifndef TP_KERNELS_DEVICE_ATTENTION_SM90_WORK_H
#define TP_KERNELS_DEVICE_ATTENTION_SM90_WORK_H

#include "attention.h"
#include "hopper.h"

namespace attention {

/// Sizes of a kernel, in elements and bytes. Heads are `head` and values
/// `value` elements at most, multiples of 64.
template <typename T, int head, int value, int keys, int consumers, bool paged>
struct Plan {
  static constexpr bool kPaged = paged;
  using Type = T;
  static constexpr int kHead = head, kValue = value, kKeys = keys;
  static constexpr int kConsumers = consumers, kRows = 64 * consumers;
  static constexpr int kStages = 2;
  /// Powers are rounded beside the product that reads those of the tile before,
  /// where there are registers for both.
  static constexpr bool kPacksEarly = consumers == 2;
  static constexpr int kKeyBytes = keys * head * 2;
  static constexpr int kValueBytes = keys * value * 2;
  // Offsets in shared memory; queries come first.
  static constexpr int kKeyTiles = kRows * head * 2;
  static constexpr int kValueTiles = kKeyTiles + kStages * kKeyBytes;
  static constexpr int kOutputs = kValueTiles + kStages * kValueBytes;
  static constexpr int kBarriers = kOutputs + kRows * value * 2;
  static constexpr int kMaskWords = keys / 32; ///< of a tile of keys
  static constexpr int kMasks = kBarriers + 96;
  static constexpr int kMaps = kMasks + kStages * kMaskWords * 4;
  static_assert(kMaps % 128 == 0, "tensor maps are read in lines");
  static constexpr int kRuns = kMaps + 3 * hopper::kMapBytes; ///< over pages

  /// True if tiles of keys have masks.
  __device__ static bool hasMask() { return paged || shape::maskBytes() != 0; }

  /// 64K registers are shared out: two consumers get 232 a thread, three 160.
  __device__ static void giveRegisters() {
    if constexpr (consumers == 2)
      tp_give_registers_40();
    else
      tp_give_registers_32();
  }
  __device__ static void takeRegisters() {
    if constexpr (consumers == 2)
      tp_take_registers_232();
    else
      tp_take_registers_160();
  }
};

/// Counts through the stages of a ring. `parity` is that of the phase in which
/// the present stage becomes full.
struct Ring {
  int stage = 0, parity = 0;
  __device__ void advance() {
    stage ^= 1;
    parity ^= stage == 0;
  }
};

/// A block's barriers: which tiles are full, and which the consumers' warps
/// have done with.
template <typename P>
struct Barriers {
  char *base;
  __device__ char *queryFull() const { return base; }
  __device__ char *queryEmpty() const { return base + 8; }
  __device__ char *keyFull(int stage) const { return base + 16 + 8 * stage; }
  __device__ char *keyEmpty(int stage) const { return base + 32 + 8 * stage; }
  __device__ char *valueFull(int stage) const { return base + 48 + 8 * stage; }
  __device__ char *valueEmpty(int stage) const { return base + 64 + 8 * stage; }
  /// So many threads say that queries, and tiles of keys and values, are there.
  __device__ void init(int ofQueries, int ofKeys, int ofValues) const {
    constexpr int warps = 4 * P::kConsumers;
    tp_mbarrier_init(queryFull(), ofQueries);
    tp_mbarrier_init(queryEmpty(), warps);
    for (int stage = 0; stage < P::kStages; ++stage) {
      tp_mbarrier_init(keyFull(stage), ofKeys);
      tp_mbarrier_init(keyEmpty(stage), warps);
      tp_mbarrier_init(valueFull(stage), ofValues);
      tp_mbarrier_init(valueEmpty(stage), warps);
    }
  }
};

/// The place of a row of a work item in tensors of queries.
struct Place {
  bool inBounds;
  int64_t token; ///< among those of all batch entries
  int head;
};

template <typename P>
struct Work {
  int keyHead, batch;
  int64_t firstToken; ///< among those of all batch entries
  int count;          ///< queries
  int firstPosition, keyLength;
  int firstTile, endTile; ///< of the keys that some row sees
  const int *slots;       ///< over pages: the row of the table

  /// Queries that a tile has room for; its last rows may be left over.
  __device__ static int queries() { return P::kRows / shape::sharing(); }
  __device__ static int rows() { return queries() * shape::sharing(); }

  __device__ Range seenBy(int query) const {
    return seenFrom(firstPosition + query, keyLength);
  }
  __device__ Place locate(int row) const {
    const int query = row / shape::sharing();
    return {row < rows() && query < count, firstToken + query,
            keyHead * shape::sharing() + row % shape::sharing()};
  }
  __device__ void findTiles() {
    firstTile = seenBy(0).from / P::kKeys;
    endTile = (seenBy(count - 1).to + P::kKeys - 1) / P::kKeys;
  }
  /// The page of a slot; none of the pool's if the row has none there.
  __device__ int getPage(int slot) const {
    const bool isThere = slot * shape::page() < keyLength;
    const int page = isThere ? slots[slot] : -1;
    const int pages = shape::cells() / shape::page();
    return unsigned(page) < unsigned(pages) ? page : pages;
  }
  /// The row of a key in a tensor of keys or values; null where none is.
  __device__ const char *findKey(const char *base, int64_t stride, int size,
                                 int key) const {
    int64_t row = int64_t(batch) * shape::keyCapacity() + key;
    bool isThere = key < keyLength;
    if constexpr (P::kPaged)
      if (isThere) {
        const int page = getPage(key / shape::page());
        row = int64_t(page) * shape::page() + key % shape::page();
        isThere = row < shape::cells();
      }
    return isThere ? base + 2 * (row * stride + int64_t(keyHead) * size)
                   : nullptr;
  }
};

/// The items of a call, by falling length.
template <typename P>
class Items {
public:
  /// By the whole block, which waits for each other behind it.
  __device__ Items(const Arguments &call, char *shared) : call(call) {
    if constexpr (P::kPaged)
      findRuns(shared);
  }
  /// The item of the block in a round; nothing behind the last one.
  __device__ bool get(int round, Work<P> &work) const {
    const int blocks = shape::blocks(), own = blockIdx.x;
    const int number = round * blocks + (round % 2 ? blocks - 1 - own : own);
    if (number >= count())
      return false;
    if constexpr (P::kPaged)
      setRun(work, number);
    else
      setBlock(work, number);
    work.findTiles();
    return true;
  }

private:
  const Arguments &call;
  const uint16_t *runs; ///< first tokens, from the last to the first
  int runCount;

  __device__ static int blocks() {
    return (shape::queries() + Work<P>::queries() - 1) / Work<P>::queries();
  }
  __device__ int count() const {
    const int lines = shape::keyHeads() * shape::batch();
    return (P::kPaged ? runCount : blocks()) * lines;
  }

  /// Heads go together in groups whose keys and values stay in the second-level
  /// cache; in a group the longest tiles of all heads come first.
  __device__ void setBlock(Work<P> &work, int number) const {
    const int lines = shape::keyHeads() * shape::batch();
    const int together = shape::headsTogether();
    const int group = number / (blocks() * together);
    const int within = number % (blocks() * together);
    const int size = min(lines - group * together, together);
    const int line = group * together + within % size;
    int block = within / size;
    if (shape::causal())
      block = blocks() - 1 - block;
    const int first = block * Work<P>::queries();
    work.keyHead = line % shape::keyHeads();
    work.batch = line / shape::keyHeads();
    work.firstToken = int64_t(work.batch) * shape::queries() + first;
    work.count = min(shape::queries() - first, Work<P>::queries());
    work.firstPosition = call.queryOffset + first;
    work.keyLength = call.keyLength;
  }

  __device__ void setRun(Work<P> &work, int number) const {
    const int run = number / shape::keyHeads(), first = runs[run];
    const int row = call.rows[first];
    const bool isRow = unsigned(row) < unsigned(shape::tableRows());
    work.keyHead = number % shape::keyHeads();
    work.batch = 0;
    work.firstToken = first;
    work.count = (run == 0 ? shape::queries() : runs[run - 1]) - first;
    work.firstPosition = call.positions[first];
    work.slots = call.table + int64_t(isRow ? row : 0) * shape::slots();
    work.keyLength = isRow ? min(max(work.firstPosition + work.count, 0),
                                 shape::keyCapacity())
                           : 0;
  }

  /// True if a run begins at a token: one of a number that a tile's queries
  /// divide, or one that does not follow the token before it.
  __device__ bool beginsRun(int token) const {
    if (token % Work<P>::queries() == 0)
      return true;
    const int row = call.rows[token], before = call.rows[token - 1];
    const unsigned rows = shape::tableRows();
    if (unsigned(row) >= rows)
      return unsigned(before) < rows;
    return row != before ||
           call.positions[token] != call.positions[token - 1] + 1;
  }

  /// A bit for each token, then each run at the place that the bits behind it
  /// give.
  __device__ void findRuns(char *shared) {
    auto *bits = reinterpret_cast<uint32_t *>(shared + P::kKeyTiles);
    auto *list = reinterpret_cast<uint16_t *>(shared + P::kRuns);
    const int tokens = shape::queries(), words = (tokens + kWarp - 1) / kWarp;
    for (int word = warp(); word < words; word += launch::threads() / kWarp) {
      const int token = word * kWarp + lane();
      const unsigned found =
          ballot(token < tokens && beginsRun(min(token, tokens - 1)));
      if (lane() == 0)
        bits[word] = found;
    }
    __syncthreads();
    // Each warp counts all, 32 words at a time from the last on.
    int behind = 0;
    for (int end = words; end > 0; end -= kWarp) {
      const int word = end - 1 - lane();
      const unsigned own = word >= 0 ? bits[word] : 0;
      int sum = __builtin_popcount(own);
      for (int distance = 1; distance < kWarp; distance *= 2) {
        const int other = shuffleUp(sum, distance);
        sum += lane() >= distance ? other : 0;
      }
      if (warp() == 0) {
        int place = behind + sum - __builtin_popcount(own);
        for (unsigned left = own; left != 0;) {
          const int bit = 31 - __builtin_clz(left);
          left ^= 1u << bit;
          list[place++] = word * kWarp + bit;
        }
      }
      behind += shuffleFrom(sum, kWarp - 1);
    }
    runs = list;
    runCount = behind;
    tp_proxy_fence();
  }
};

} // namespace attention

#endif // TP_KERNELS_DEVICE_ATTENTION_SM90_WORK_H
