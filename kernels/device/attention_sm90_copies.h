//===- attention_sm90_copies.h - Copies of attention_sm90.cu ----*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The producer: how queries, keys and values get to shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef TP_KERNELS_DEVICE_ATTENTION_SM90_COPIES_H
#define TP_KERNELS_DEVICE_ATTENTION_SM90_COPIES_H

#include "attention_sm90_work.h"

namespace attention {

/// True if the copy engine takes the call's tensors.
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
        else
          describeTable(map, call, number == 1);
      }
      __syncwarp();
      tp_tensor_map_publish(own + number * hopper::kMapBytes, map);
    }
    tp_named_sync(P::kConsumers + 1, hopper::kWarpgroup);
    if (lane() == 0) {
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
  __device__ static void describeTable(char *map, const Arguments &call,
                                       bool isKeys) {
    const char *base = isKeys ? call.key : call.value;
    const int size = isKeys ? shape::headSize() : shape::valueSize();
    if constexpr (P::kPaged)
      describePool(map, base, size);
    else
      describeKeys(map, call, base, isKeys ? call.keyStride : call.valueStride,
                   size);
  }
  __device__ static void describeKeys(char *map, const Arguments &call,
                                      const char *base, int64_t stride,
                                      int size) {
    hopper::beginMap(typename P::Type(), map, base, 4);
    tp_tensor_map_dimension_0(map, size, 64, 0);
    // A dimension has one element at least; without keys none is copied.
    tp_tensor_map_dimension_1(map, max(call.keyLength, 1), P::kKeys,
                              2 * stride);
    tp_tensor_map_dimension_2(map, shape::keyHeads(), 1, 2 * size);
    tp_tensor_map_dimension_3(map, shape::batch(), 1,
                              2 * shape::keyCapacity() * stride);
  }
  /// Boxes are pages.
  __device__ static void describePool(char *map, const char *base, int size) {
    hopper::beginMap(typename P::Type(), map, base, 4);
    tp_tensor_map_dimension_0(map, size, 64, 0);
    tp_tensor_map_dimension_1(map, shape::cells(), shape::page(),
                              2 * shape::keyHeads() * size);
    tp_tensor_map_dimension_2(map, shape::keyHeads(), 1, 2 * size);
    tp_tensor_map_dimension_3(map, 1, 1, 2 * shape::keyHeads() * size);
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

/// By one thread: the queries of a work item, and of others behind them.
template <typename P>
__device__ inline void copyQueries(const Maps<P> &maps, const Work<P> &work,
                                   char *to, char *barrier) {
  const int first = work.firstToken - int64_t(work.batch) * shape::queries();
  tp_mbarrier_expect(barrier, Work<P>::rows() * P::kHead * 2);
  for (int panel = 0; panel < P::kHead / 64; ++panel)
    tp_copy_box_5(to + panel * (P::kRows * 128), maps.query, barrier,
                  64 * panel, 0, first, work.keyHead, work.batch);
}

/// Copies by the copy engine, which one thread starts.
template <typename P>
struct BoxCopies {
  Maps<P> maps;

  __device__ int find(const Work<P> &, int) const { return 0; }
  __device__ void query(const Work<P> &work, char *to, char *barrier) const {
    copyQueries(maps, work, to, barrier);
  }
  __device__ void key(const Work<P> &work, int tile, int, int, char *to,
                      char *barrier) const {
    copyTile<P::kHead>(maps.key, work, tile, to, barrier);
  }
  __device__ void value(const Work<P> &work, int tile, int, char *to,
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
    words[word] =
        ballot(work.findKey(call.key, 0, 0, key) &&
               (shape::maskBytes() == 0 || isShown(call, work.batch, key)));
  }
}
template <typename P>
__device__ inline void writeMask(const unsigned (&words)[P::kMaskWords],
                                 char *shared, int stage) {
  auto *to =
      reinterpret_cast<uint32_t *>(shared + P::kMasks) + stage * P::kMaskWords;
  if (lane() == 0)
#pragma unroll
    for (int word = 0; word < P::kMaskWords; ++word)
      to[word] = words[word];
}

/// Copies of pages by the copy engine, which two warps start, each a `part` of
/// a tile: there are many, and each takes a warp some time. A lane looks up
/// each page.
template <typename P>
struct PageCopies {
  Maps<P> maps;
  const Arguments &call;
  char *shared;
  int part;
  static constexpr int kParts = 2;

  /// The lane's page of a tile. Asked early, for it is read from memory.
  __device__ int find(const Work<P> &work, int tile) const {
    return work.getPage(tile * (P::kKeys / shape::page()) + lane());
  }
  __device__ void query(const Work<P> &work, char *to, char *barrier) const {
    if (lane() == 0 && part == 0)
      copyQueries(maps, work, to, barrier);
    __syncwarp();
  }
  __device__ void key(const Work<P> &work, int, int page, int stage, char *to,
                      char *barrier) const {
    if (part == 0)
      writePageMask(page, stage);
    copyPages<P::kHead>(maps.key, work, page, /*but=*/-1, to, barrier);
  }
  /// Values behind the last key are zeros: powers of zero would not hide a NaN.
  __device__ void value(const Work<P> &work, int tile, int page, char *to,
                        char *barrier) const {
    const int left = work.keyLength - tile * P::kKeys;
    int partial = -1; // the page that the keys end in
    if (left < P::kKeys && left % shape::page() != 0) {
      partial = left / shape::page();
      if (part == 0)
        copyPartial(work, tile * P::kKeys + partial * shape::page(), partial,
                    to);
    }
    copyPages<P::kValue>(maps.value, work, page, partial, to, barrier);
  }

private:
  __device__ void writePageMask(int page, int stage) const {
    const int pages = P::kKeys / shape::page();
    const unsigned found =
        ballot(lane() < pages && page < shape::cells() / shape::page());
    unsigned words[P::kMaskWords];
#pragma unroll
    for (int word = 0; word < P::kMaskWords; ++word)
      words[word] =
          ballot(found >> (word * kWarp + lane()) / shape::page() & 1);
    writeMask<P>(words, shared, stage);
  }
  /// Starts the copies of this part of all pages of a tile but one. A page that
  /// is none of the pool's becomes zeros.
  template <int columns>
  __device__ void copyPages(const char *map, const Work<P> &work, int page,
                            int but, char *to, char *barrier) const {
    constexpr int panels = columns / 64;
    const int pages = P::kKeys / shape::page(), rowBytes = 128;
    const int boxes = (pages * panels + kParts - 1 - part) / kParts;
    const int first = but * panels; // of the boxes that are left out
    int left = boxes;
    if (but >= 0)
#pragma unroll
      for (int panel = 0; panel < panels; ++panel)
        left -= (first + panel) % kParts == part;
    if (lane() == 0)
      tp_mbarrier_expect(barrier, left * shape::page() * rowBytes);
    const int cell = page * shape::page();
    __syncwarp();
#pragma unroll
    for (int i = 0; i < (pages * panels + kParts - 1) / kParts; ++i) {
      const int box = i * kParts + part, own = box / panels;
      const int panel = box % panels, at = shuffleFrom(cell, own % kWarp);
      if (lane() == 0 && own != but && own < pages)
        tp_copy_box_4(to + panel * (P::kKeys * rowBytes) +
                          own * (shape::page() * rowBytes),
                      map, barrier, 64 * panel, at, work.keyHead, 0);
    }
    __syncwarp();
  }
  /// Page `number` of a tile, whose first key is `key`, by the warp.
  __device__ void copyPartial(const Work<P> &work, int key, int number,
                              char *to) const {
    constexpr int chunks = P::kValue / 8;
#pragma unroll 1
    for (int i = tp_opaque(lane()); i < shape::page() * chunks; i += kWarp) {
      const int row = i / chunks, chunk = i % chunks;
      const char *from = work.findKey(call.value, call.valueStride,
                                      shape::valueSize(), key + row);
      const bool isThere = from && chunk * 8 < shape::valueSize();
      char *place =
          to + hopper::swizzle<P::kKeys>(number * shape::page() + row, chunk);
      *reinterpret_cast<uint4 *>(place) =
          isThere ? *reinterpret_cast<const uint4 *>(from + chunk * 16)
                  : uint4(0);
    }
    tp_proxy_fence();
    __syncwarp();
  }
};

/// Copies by two warps of the producer, element by element, wherever the
/// tensors lie. `thread` is the thread's number in them.
template <typename P>
struct ElementCopies {
  const Arguments &call;
  char *shared;
  int thread;
  static constexpr int kThreads = hopper::kWarpgroup / 2;

  __device__ int find(const Work<P> &, int) const { return 0; }
  __device__ void query(const Work<P> &work, char *to, char *barrier) const {
    copyTile<P::kRows, P::kHead>(to, shape::headSize(), barrier, [&](int row) {
      const Place place = work.locate(row);
      const int64_t element =
          place.token * call.queryStride + place.head * shape::headSize();
      return place.inBounds ? call.query + 2 * element : nullptr;
    });
  }
  __device__ void key(const Work<P> &work, int tile, int, int stage, char *to,
                      char *barrier) const {
    if (P::hasMask() && uniform(warp()) == 0) {
      unsigned words[P::kMaskWords];
      readMask(call, work, tile, words);
      writeMask<P>(words, shared, stage);
    }
    copyKeys<P::kHead>(work, tile, call.key, call.keyStride, shape::headSize(),
                       to, barrier);
  }
  __device__ void value(const Work<P> &work, int tile, int, char *to,
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
      return work.findKey(base, stride, size, tile * P::kKeys + row);
    });
  }
  /// A thread has whole rows. `locate` gives the address of a row, or null for
  /// zeros.
  template <int rows, int columns, typename Locate>
  __device__ void copyTile(char *to, int size, char *barrier,
                           Locate locate) const {
#pragma unroll 1
    for (int row = tp_opaque(thread); row < rows; row += kThreads) {
      auto *from = reinterpret_cast<const uint16_t *>(locate(row));
#pragma unroll 1
      for (int column = 0; column < columns; ++column) {
        char *place =
            to + hopper::swizzle<rows>(row, column / 8) + column % 8 * 2;
        *reinterpret_cast<uint16_t *>(place) =
            from && column < size ? from[column] : 0;
      }
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
  const Items<P> &items;
  Ring keyRing = {}, valueRing = {};

  __device__ void loadKey(const Work<P> &work, int tile, int found) {
    const int stage = keyRing.stage;
    tp_mbarrier_wait(barriers.keyEmpty(stage), keyRing.parity ^ 1);
    copies.key(work, tile, found, stage,
               shared + P::kKeyTiles + stage * P::kKeyBytes,
               barriers.keyFull(stage));
    keyRing.advance();
  }
  __device__ void loadValue(const Work<P> &work, int tile, int found) {
    const int stage = valueRing.stage;
    tp_mbarrier_wait(barriers.valueEmpty(stage), valueRing.parity ^ 1);
    copies.value(work, tile, found,
                 shared + P::kValueTiles + stage * P::kValueBytes,
                 barriers.valueFull(stage));
    valueRing.advance();
  }
  /// Fills queries and keys, or values.
  template <bool ofKeys>
  __device__ void run() {
    Work<P> work;
#pragma unroll 1
    for (int round = 0; items.get(round, work); ++round) {
      int tile = work.endTile - 1;
      int found = tile >= work.firstTile ? copies.find(work, tile) : 0;
      if constexpr (ofKeys) {
        tp_mbarrier_wait(barriers.queryEmpty(), round % 2 ^ 1);
        copies.query(work, shared, barriers.queryFull());
      }
#pragma unroll 1
      for (; tile >= work.firstTile; --tile) {
        const int next =
            tile > work.firstTile ? copies.find(work, tile - 1) : 0;
        if constexpr (ofKeys)
          loadKey(work, tile, found);
        else
          loadValue(work, tile, found);
        found = next;
      }
    }
  }
};

/// A warp that writes the masks of the tiles of keys that boxes bring.
template <typename P>
__device__ inline void produceMasks(const Arguments &call, char *shared,
                                    Barriers<P> barriers,
                                    const Items<P> &items) {
  Ring ring;
  Work<P> work;
  for (int round = 0; items.get(round, work); ++round)
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

} // namespace attention

#endif // TP_KERNELS_DEVICE_ATTENTION_SM90_COPIES_H
