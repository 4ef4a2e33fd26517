//===- attention_sm90_copies.h - Work items and their copies ----*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The producer's side of attention_sm90.cu: how work is cut, what lies where in
// shared memory, and how queries, keys and values get there.
//
//===----------------------------------------------------------------------===//

#ifndef TP_KERNELS_DEVICE_ATTENTION_SM90_COPIES_H
#define TP_KERNELS_DEVICE_ATTENTION_SM90_COPIES_H

#include "attention.h"
#include "hopper.h"

namespace attention {

/// Sizes of a kernel, in elements and bytes. Heads are `head` and values
/// `value` elements at most, multiples of 64.
template <typename T, int head, int value, int keys, int consumers>
struct Plan {
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

  /// Of 64K registers: two consumers get 240 a thread, three 160.
  __device__ static void giveRegisters() {
    if constexpr (consumers == 2)
      tp_give_registers_24();
    else
      tp_give_registers_32();
  }
  __device__ static void takeRegisters() {
    if constexpr (consumers == 2)
      tp_take_registers_240();
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
  /// So many threads say that a tile is full, and one more of keys with a mask
  /// that comes apart.
  __device__ void init(int producers, bool hasMask) const {
    constexpr int warps = 4 * P::kConsumers;
    tp_mbarrier_init(queryFull(), producers);
    tp_mbarrier_init(queryEmpty(), warps);
    for (int stage = 0; stage < P::kStages; ++stage) {
      tp_mbarrier_init(keyFull(stage), producers + hasMask);
      tp_mbarrier_init(keyEmpty(stage), warps);
      tp_mbarrier_init(valueFull(stage), producers);
      tp_mbarrier_init(valueEmpty(stage), warps);
    }
  }
};

/// Where a row of a work item stands in tensors of queries.
struct Place {
  bool inBounds;
  int64_t token; ///< among those of all batch entries
  int head;
};

/// A tile of rows of a KV head of a batch entry, and the tiles of keys that
/// some of them see.
template <typename P>
struct Work {
  int firstRow, keyHead, batch;
  int firstTile, endTile;

  /// Whole queries of a tile; its last rows may be left over.
  __device__ static int queries() { return P::kRows / shape::sharing(); }
  __device__ static int rows() { return queries() * shape::sharing(); }
  __device__ static int blocks() {
    return (shape::queries() + queries() - 1) / queries();
  }
  __device__ static int count() {
    return blocks() * shape::keyHeads() * shape::batch();
  }

  /// Item `number`. Heads go together in groups whose keys and values stay in
  /// the second-level cache; in a group the longest tiles of all heads come
  /// first.
  __device__ Work(const Arguments &call, int number) {
    const int lines = shape::keyHeads() * shape::batch();
    const int together = shape::headsTogether();
    const int group = number / (blocks() * together);
    const int within = number % (blocks() * together);
    const int size = min(lines - group * together, together);
    const int line = group * together + within % size;
    int block = within / size;
    if (shape::causal())
      block = blocks() - 1 - block;
    keyHead = line % shape::keyHeads();
    batch = line / shape::keyHeads();
    firstRow = block * rows();
    const int lastQuery =
        min((block + 1) * queries(), shape::queries()) - 1;
    firstTile = seenBy(call, block * queries()).from / P::kKeys;
    endTile = (seenBy(call, lastQuery).to + P::kKeys - 1) / P::kKeys;
  }

  __device__ Place locate(int row) const {
    const int own = firstRow + row, query = own / shape::sharing();
    return {row < rows() && query < shape::queries(),
            int64_t(batch) * shape::queries() + query,
            keyHead * shape::sharing() + own % shape::sharing()};
  }
};

/// The number of the block's work item in a round.
__device__ inline int getItem(int round) {
  const int blocks = launch::gridX(), own = blockIdx.x;
  return round * blocks + (round % 2 ? blocks - 1 - own : own);
}
template <typename P>
__device__ inline bool hasItem(int round) {
  return getItem(round) < Work<P>::count();
}

/// Whether the copy engine takes the call's tensors.
__device__ inline bool canCopyBoxes(const Arguments &call) {
  const uint64_t bits = uintptr_t(call.query) | uintptr_t(call.key) |
                        uintptr_t(call.value) | 2 * call.queryStride |
                        2 * call.keyStride | 2 * call.valueStride |
                        2 * shape::headSize() | 2 * shape::valueSize();
  return bits % 16 == 0;
}

/// The block's tensor maps, in its part of `scratch`.
template <typename P>
struct Maps {
  const char *query, *key, *value;
  static constexpr int kCount = 3, kBytes = kCount * hopper::kMapBytes;

  /// By the producer: each of three warps makes one.
  __device__ Maps(const Arguments &call, char *shared, char *scratch) {
    char *own = scratch + blockIdx.x * kBytes;
    query = own;
    key = own + hopper::kMapBytes;
    value = own + 2 * hopper::kMapBytes;
    const int number = uniform(warp());
    if (number < kCount) {
      char *map = shared + P::kMaps + number * hopper::kMapBytes;
      reinterpret_cast<uint32_t *>(map)[lane()] = 0;
      __syncwarp();
      if (lane() == 0) {
        if (number == 0)
          describeQueries(map, call);
        else if (number == 1)
          describeKeys(map, call, call.key, call.keyStride, shape::headSize());
        else
          describeKeys(map, call, call.value, call.valueStride,
                       shape::valueSize());
      }
      __syncwarp();
      tp_tensor_map_publish(own + number * hopper::kMapBytes, map);
    }
    tp_named_sync(P::kConsumers + 1, hopper::kWarpgroup);
    if (threadIdx.x == 0) {
      tp_tensor_map_acquire(query);
      tp_tensor_map_acquire(key);
      tp_tensor_map_acquire(value);
    }
  }

  __device__ static void describeQueries(char *map, const Arguments &call) {
    const int sharing = shape::sharing(), size = shape::headSize();
    hopper::beginMap(typename P::Type(), map, call.query, 5);
    tp_tensor_map_dimension_0(map, size, 64, 0);
    tp_tensor_map_dimension_1(map, sharing, sharing, 2 * size);
    tp_tensor_map_dimension_2(map, shape::queries(), Work<P>::queries(),
                              2 * call.queryStride);
    tp_tensor_map_dimension_3(map, shape::keyHeads(), 1, 2 * sharing * size);
    tp_tensor_map_dimension_4(map, shape::batch(), 1,
                              2 * shape::queries() * call.queryStride);
  }
  __device__ static void describeKeys(char *map, const Arguments &call,
                                      const char *base, int64_t stride,
                                      int size) {
    hopper::beginMap(typename P::Type(), map, base, 4);
    tp_tensor_map_dimension_0(map, size, 64, 0);
    tp_tensor_map_dimension_1(map, call.keyLength, P::kKeys, 2 * stride);
    tp_tensor_map_dimension_2(map, shape::keyHeads(), 1, 2 * size);
    tp_tensor_map_dimension_3(map, shape::batch(), 1,
                              2 * shape::keyCapacity() * stride);
  }
};

/// By the whole block: zeros in rows of queries that no copy writes. What they
/// came to would not be written, but decides when a warp scales its outputs.
template <typename P>
__device__ inline void clearUnusedRows(char *shared) {
  constexpr int panels = P::kHead / 64, wordsOfRow = 32;
  const int first = Work<P>::rows(), words = (P::kRows - first) * wordsOfRow;
#pragma unroll 1
  for (int i = threadIdx.x; i < panels * words; i += launch::threads()) {
    const int panel = i / words, word = first * wordsOfRow + i % words;
    reinterpret_cast<uint32_t *>(shared + panel * (P::kRows * 128))[word] = 0;
  }
  tp_proxy_fence();
}

/// Copies by the copy engine, which one thread starts.
template <typename P>
struct BoxCopies {
  Maps<P> maps;

  __device__ void query(const Work<P> &work, char *to, char *barrier) const {
    tp_mbarrier_expect(barrier, Work<P>::rows() * P::kHead * 2);
    for (int panel = 0; panel < P::kHead / 64; ++panel)
      tp_copy_box_5(to + panel * (P::kRows * 128), maps.query, barrier,
                    64 * panel, 0, work.firstRow / shape::sharing(),
                    work.keyHead, work.batch);
  }
  __device__ void key(const Work<P> &work, int tile, int, char *to,
                      char *barrier) const {
    copyTile<P::kHead>(maps.key, work, tile, to, barrier);
  }
  __device__ void value(const Work<P> &work, int tile, char *to,
                        char *barrier) const {
    copyTile<P::kValue>(maps.value, work, tile, to, barrier);
  }

private:
  template <int columns>
  __device__ static void copyTile(const char *map, const Work<P> &work,
                                  int tile, char *to, char *barrier) {
    tp_mbarrier_expect(barrier, P::kKeys * columns * 2);
    for (int panel = 0; panel < columns / 64; ++panel)
      tp_copy_box_4(to + panel * (P::kKeys * 128), map, barrier, 64 * panel,
                    tile * P::kKeys, work.keyHead, work.batch);
  }
};

/// By a warp: bit i of word w tells of key 32 w + i of a tile whether it is in
/// the call and shown by the mask.
template <typename P>
__device__ inline void readMask(const Arguments &call, const Work<P> &work,
                                int tile, unsigned (&words)[P::kMaskWords]) {
#pragma unroll
  for (int word = 0; word < P::kMaskWords; ++word) {
    const int key = tile * P::kKeys + word * kWarp + lane();
    words[word] = ballot(key < call.keyLength && isShown(call, work.batch, key));
  }
}
template <typename P>
__device__ inline void writeMask(const unsigned (&words)[P::kMaskWords],
                                 char *shared, int stage) {
  auto *to = reinterpret_cast<uint32_t *>(shared + P::kMasks) +
             stage * P::kMaskWords;
  if (lane() == 0)
#pragma unroll
    for (int word = 0; word < P::kMaskWords; ++word)
      to[word] = words[word];
}

/// Copies by all threads of the producer, element by element, wherever the
/// tensors lie.
template <typename P>
struct ElementCopies {
  const Arguments &call;
  char *shared;
  int thread;

  __device__ void query(const Work<P> &work, char *to, char *barrier) const {
    copyTile<P::kRows, P::kHead>(to, shape::headSize(), barrier, [&](int row) {
      const Place place = work.locate(row);
      const int64_t element =
          place.token * call.queryStride + place.head * shape::headSize();
      return place.inBounds ? call.query + 2 * element : nullptr;
    });
  }
  __device__ void key(const Work<P> &work, int tile, int stage, char *to,
                      char *barrier) const {
    if (shape::maskBytes() != 0 && uniform(warp()) == 0) {
      unsigned words[P::kMaskWords];
      readMask(call, work, tile, words);
      writeMask<P>(words, shared, stage);
    }
    copyKeys<P::kHead>(work, tile, call.key, call.keyStride, shape::headSize(),
                       to, barrier);
  }
  __device__ void value(const Work<P> &work, int tile, char *to,
                        char *barrier) const {
    copyKeys<P::kValue>(work, tile, call.value, call.valueStride,
                        shape::valueSize(), to, barrier);
  }

private:
  template <int columns>
  __device__ void copyKeys(const Work<P> &work, int tile, const char *base,
                           int64_t stride, int size, char *to,
                           char *barrier) const {
    copyTile<P::kKeys, columns>(to, size, barrier, [&](int row) {
      const int key = tile * P::kKeys + row;
      const int64_t line = int64_t(work.batch) * shape::keyCapacity() + key;
      const char *from = base + 2 * (line * stride + work.keyHead * size);
      return key < call.keyLength ? from : nullptr;
    });
  }
  /// `locate` gives the address of a row, or null for zeros.
  template <int rows, int columns, typename Locate>
  __device__ void copyTile(char *to, int size, char *barrier,
                           Locate locate) const {
#pragma unroll 1
    for (int i = thread; i < rows * columns; i += hopper::kWarpgroup) {
      const int row = i / columns, column = i % columns;
      const char *from = column < size ? locate(row) : nullptr;
      char *place = to + hopper::swizzle<rows>(row, column / 8) + column % 8 * 2;
      *reinterpret_cast<uint16_t *>(place) =
          from ? reinterpret_cast<const uint16_t *>(from)[column] : 0;
    }
    tp_proxy_fence();
    tp_mbarrier_arrive(barrier);
  }
};

/// Fills the rings for the block's work items.
template <typename P, typename Copies>
struct Producer {
  const Arguments &call;
  char *shared;
  Barriers<P> barriers;
  Copies copies;
  Ring keyRing = {}, valueRing = {};

  __device__ void loadKey(const Work<P> &work, int tile) {
    const int stage = keyRing.stage;
    tp_mbarrier_wait(barriers.keyEmpty(stage), keyRing.parity ^ 1);
    copies.key(work, tile, stage, shared + P::kKeyTiles + stage * P::kKeyBytes,
               barriers.keyFull(stage));
    keyRing.advance();
  }
  __device__ void loadValue(const Work<P> &work, int tile) {
    const int stage = valueRing.stage;
    tp_mbarrier_wait(barriers.valueEmpty(stage), valueRing.parity ^ 1);
    copies.value(work, tile, shared + P::kValueTiles + stage * P::kValueBytes,
                 barriers.valueFull(stage));
    valueRing.advance();
  }
  __device__ void run() {
    for (int round = 0; hasItem<P>(round); ++round) {
      const Work<P> work(call, getItem(round));
      tp_mbarrier_wait(barriers.queryEmpty(), round % 2 ^ 1);
      copies.query(work, shared, barriers.queryFull());
      if (work.firstTile >= work.endTile)
        continue;
      loadKey(work, work.endTile - 1);
      for (int tile = work.endTile - 2; tile >= work.firstTile; --tile) {
        loadKey(work, tile);
        loadValue(work, tile + 1);
      }
      loadValue(work, work.firstTile);
    }
  }
};

/// A warp that writes the masks of the tiles of keys that boxes bring.
template <typename P>
__device__ inline void produceMasks(const Arguments &call, char *shared,
                                    Barriers<P> barriers) {
  Ring ring;
  for (int round = 0; hasItem<P>(round); ++round) {
    const Work<P> work(call, getItem(round));
    for (int tile = work.endTile - 1; tile >= work.firstTile; --tile) {
      unsigned words[P::kMaskWords];
      readMask(call, work, tile, words);
      tp_mbarrier_wait(barriers.keyEmpty(ring.stage), ring.parity ^ 1);
      writeMask<P>(words, shared, ring.stage);
      if (lane() == 0)
        tp_mbarrier_arrive(barriers.keyFull(ring.stage));
      ring.advance();
    }
  }
}

} // namespace attention

#endif // TP_KERNELS_DEVICE_ATTENTION_SM90_COPIES_H
