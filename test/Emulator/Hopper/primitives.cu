//===- primitives.cu - Kernels that try hopper.h's primitives -------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each kernel does what it is named for and nothing else, and HopperTest.cpp
// compares with a plain reference. Bit i of `faults` makes mistake i of Fault,
// each of which the emulator must notice.
//
//===----------------------------------------------------------------------===//

#include "Faults.h"
#include "hopper.h"

// Shares of the registers of three warpgroups, whatever kernels use.
TP_DECLARE_REGISTERS(40)
TP_DECLARE_REGISTERS(232)

namespace {
using hopper::kWarpgroup;

__device__ inline bool has(unsigned faults, Fault fault) {
  return faults >> fault & 1;
}

/// Stores element (row, column) of a tile of `rows` rows where the swizzle puts
/// it.
__device__ inline void put(char *tile, int rows, int row, int column,
                           uint16_t value, unsigned faults) {
  int chunk = column % 64 / 8;
  if (!has(faults, kWrongSwizzle))
    chunk = (chunk ^ row) % 8;
  int place =
      column / 64 * (rows * 128) + row * 128 + chunk * 16 + column % 8 * 2;
  *reinterpret_cast<uint16_t *>(tile + place) = value;
}

/// Copies a matrix of `rows` x `columns` to a tile.
__device__ inline void load(char *tile, const uint16_t *from, int rows,
                            int columns, unsigned faults) {
  for (int i = threadIdx.x; i < rows * columns; i += kWarpgroup)
    put(tile, rows, i / columns, i % columns, from[i], faults);
}

/// A fence stands between generic stores and products that read them.
__device__ inline void show(unsigned faults) {
  if (!has(faults, kNoProxyFence))
    tp_proxy_fence();
  if (!has(faults, kNoBarrier))
    __syncthreads();
}

template <int columns>
__device__ void store(float *d, const float (&own)[columns / 2]) {
  int row = warp() * 16 + lane() / 4, column = lane() % 4 * 2;
#pragma unroll
  for (int i = 0; i < columns / 2; ++i)
    d[(row + i / 2 % 2 * 8) * columns + column + i / 4 * 8 + i % 2] = own[i];
}

/// Commits, waits and stores, or not.
template <int columns>
__device__ void finish(float *d, float (&own)[columns / 2], char *tile,
                       unsigned faults) {
  if (has(faults, kNoCommit))
    return;
  tp_wgmma_commit();
  if (has(faults, kOperandOverwritten))
    tile[16 * threadIdx.x] = 0;
  if (has(faults, kReadEarly))
    d[0] = own[0];
  if (has(faults, kWriteEarly))
    own[1] = 0;
  if (has(faults, kNoWait))
    return;
  hopper::wait<0>(own);
  store<columns>(d, own);
}

/// d [64, columns] = start + a [64, depth] b [columns, depth]ᵀ; from the second
/// step on the products add, and also in the first if `adds`.
template <typename T, int columns>
__device__ void multiplyShared(const uint16_t *a, const uint16_t *b, float *d,
                               float start, int depth, int adds,
                               unsigned faults) {
  char *aTile = dynamic_shared_memory;
  char *bTile = aTile + depth / 64 * (64 * 128);
  load(aTile, a, 64, depth, faults);
  load(bTile, b, columns, depth, faults);
  show(faults);
  float own[columns / 2];
#pragma unroll
  for (float &number : own)
    number = start;
  uint32_t aPlace = tp_wgmma_describe(aTile, 16);
  uint32_t bPlace = tp_wgmma_describe(bTile, 16);
  if (!has(faults, kNoFence))
    tp_wgmma_fence();
#pragma unroll 1
  for (int k = 0; k < depth / 16; ++k)
    hopper::multiplyShared(
        T(), own, aPlace + (k / 4 * (64 * 128) + k % 4 * 32) / 16,
        bPlace + (k / 4 * (columns * 128) + k % 4 * 32) / 16, k != 0 || adds);
  finish<columns>(d, own, aTile, faults);
}

/// d [64, columns] = start + a [64, depth] b [depth, columns], a in registers.
template <typename T, int columns>
__device__ void multiplyRegisters(const uint16_t *a, const uint16_t *b,
                                  float *d, float start, int depth,
                                  unsigned faults) {
  char *tile = dynamic_shared_memory;
  load(tile, b, depth, columns, faults);
  show(faults);
  float own[columns / 2];
#pragma unroll
  for (float &number : own)
    number = start;
  uint32_t place = tp_wgmma_describe(tile, depth * 128);
  int row = warp() * 16 + lane() / 4, column = lane() % 4 * 2;
#pragma unroll 1
  for (int k = 0; k < depth; k += 16) {
    uint32_t registers[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint16_t *from =
          a + (row + i % 2 * 8) * depth + k + column + i / 2 * 8;
      registers[i] = from[0] | uint32_t(from[1]) << 16;
    }
    if (!has(faults, kNoFence) || k == 0)
      tp_wgmma_fence();
    hopper::multiply(T(), own, registers, place + k * 128 / 16);
    tp_wgmma_commit();
    hopper::wait<0>(own);
  }
  store<columns>(d, own);
}
} // namespace

#define TP_PRODUCTS(name, T, columns)                                          \
  extern "C" __global__ void __attribute__((launch_bounds(128)))               \
  shared_##name##_##columns(const uint16_t *a, const uint16_t *b, float *d,    \
                            float start, int depth, int adds,                  \
                            unsigned faults) {                                 \
    multiplyShared<T, columns>(a, b, d, start, depth, adds, faults);           \
  }                                                                            \
  extern "C" __global__ void __attribute__((launch_bounds(128)))               \
  registers_##name##_##columns(const uint16_t *a, const uint16_t *b, float *d, \
                               float start, int depth, int, unsigned faults) { \
    multiplyRegisters<T, columns>(a, b, d, start, depth, faults);              \
  }
TP_PRODUCTS(bf16, Bf16, 64)
TP_PRODUCTS(bf16, Bf16, 128)
TP_PRODUCTS(f16, F16, 64)
TP_PRODUCTS(f16, F16, 128)
#undef TP_PRODUCTS

namespace {
/// Makes a map of five dimensions, or of the first four.
__device__ void makeMap(char *global, char *map, const BoxTest &test,
                        unsigned faults) {
  for (int i = lane(); i < hopper::kMapBytes; i += kWarp)
    map[i] = has(faults, kMapNotZero);
  __nvvm_bar_warp_sync(-1);
  if (lane() == 0) {
    tp_tensor_map_begin_bf16(map, test.base, test.rank);
    tp_tensor_map_dimension_0(map, test.size[0], test.box[0], 0);
    tp_tensor_map_dimension_1(map, test.size[1], test.box[1], test.stride[1]);
    tp_tensor_map_dimension_2(map, test.size[2], test.box[2], test.stride[2]);
    if (!has(faults, kNoDimension))
      tp_tensor_map_dimension_3(map, test.size[3], test.box[3], test.stride[3]);
    if (test.rank == 5)
      tp_tensor_map_dimension_4(map, test.size[4], test.box[4], test.stride[4]);
  }
  __nvvm_bar_warp_sync(-1);
  tp_tensor_map_publish(global, map);
  if (!has(faults, kNoAcquire))
    tp_tensor_map_acquire(global);
}
} // namespace

/// Copies a box to shared memory, and that as it lies to `to`.
extern "C" __global__ void box(BoxTest test, char *map, char *to, int bytes,
                               unsigned faults) {
  char *tile = dynamic_shared_memory;
  char *ownMap = tile + (bytes + 1023) / 1024 * 1024;
  char *barrier = ownMap + hopper::kMapBytes;
  if (warp() == 0)
    makeMap(map, ownMap, test, faults);
  if (threadIdx.x == 0) {
    if (!has(faults, kNoInit))
      tp_mbarrier_init(barrier, has(faults, kNoArrive) ? 2 : 1);
    if (!has(faults, kNoInitFence))
      tp_mbarrier_init_fence();
  }
  if (has(faults, kStoreBefore)) {
    tile[threadIdx.x] = 1;
    if (!has(faults, kNoProxyFence))
      tp_proxy_fence();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    int wrong = has(faults, kFewerBytes)  ? -16
                : has(faults, kMoreBytes) ? 16
                                          : 0;
    tp_mbarrier_expect(barrier, bytes + wrong);
    if (has(faults, kTwoArrivals))
      tp_mbarrier_arrive(barrier);
    char *target = tile + (has(faults, kMisaligned) ? 128 : 0);
    if (test.rank == 4)
      tp_copy_box_4(target, map, barrier, test.at[0], test.at[1], test.at[2],
                    test.at[3]);
    else
      tp_copy_box_5(target, map, barrier, test.at[0], test.at[1], test.at[2],
                    test.at[3], test.at[4]);
  }
  if (!has(faults, kNoWait))
    tp_mbarrier_wait(barrier, 0);
  for (int i = threadIdx.x * 16; i < bytes; i += 64 * 16)
    *reinterpret_cast<uint4 *>(to + i) = *reinterpret_cast<uint4 *>(tile + i);
}

namespace {
/// Offsets of the ring's parts in shared memory.
constexpr int kStages = 2, kTileBytes = 64 * 128;
__device__ inline char *getTile(int stage, int operand) {
  return dynamic_shared_memory + (2 * stage + operand) * kTileBytes;
}
__device__ inline char *getBarrier(int stage, bool isEmpty) {
  return dynamic_shared_memory + 2 * kStages * kTileBytes + 8 * stage +
         (isEmpty ? 8 * kStages : 0);
}
__device__ inline char *getMap(int operand) {
  return dynamic_shared_memory + 2 * kStages * kTileBytes + 128 +
         operand * hopper::kMapBytes;
}

/// The warp that copies: tiles of 64 columns of two matrices of 64 rows.
__device__ void produce(const uint16_t *a, const uint16_t *b, int depth,
                        char *maps, unsigned faults) {
  for (int operand = 0; operand < 2; ++operand) {
    BoxTest test = {};
    test.base = operand ? b : a;
    test.rank = 4;
    for (int i = 0; i < 4; ++i) {
      test.size[i] = i == 0 ? depth : i == 1 ? 64 : 1;
      test.box[i] = i < 2 ? 64 : 1;
      test.stride[i] = 2 * int64_t(depth);
    }
    makeMap(maps + operand * hopper::kMapBytes, getMap(operand), test, faults);
  }
  if (lane() != 0)
    return;
  for (int tile = 0; tile < depth / 64; ++tile) {
    int stage = tile % kStages, round = tile / kStages;
    if (!has(faults, kStageReusedEarly))
      tp_mbarrier_wait(getBarrier(stage, true), round % 2 ^ 1);
    char *full = getBarrier(stage, false);
    tp_mbarrier_expect(full, 2 * kTileBytes);
    for (int operand = 0; operand < 2; ++operand)
      tp_copy_box_4(getTile(stage, operand), maps + operand * hopper::kMapBytes,
                    full, 64 * tile, 0, 0, 0);
  }
}

/// The warpgroup that multiplies.
__device__ void consume(float *d, int depth, unsigned faults) {
  float own[32];
#pragma unroll
  for (float &number : own)
    number = 0;
  for (int tile = 0; tile < depth / 64; ++tile) {
    int stage = tile % kStages, round = tile / kStages;
    if (!has(faults, kNoPhaseWait))
      tp_mbarrier_wait(getBarrier(stage, false), round % 2);
    uint32_t aPlace = tp_wgmma_describe(getTile(stage, 0), 16);
    uint32_t bPlace = tp_wgmma_describe(getTile(stage, 1), 16);
    tp_wgmma_fence();
#pragma unroll
    for (int k = 0; k < 4; ++k)
      hopper::multiplyShared(Bf16(), own, aPlace + 2 * k, bPlace + 2 * k, 1);
    tp_wgmma_commit();
    char *empty = getBarrier(stage, true);
    if (has(faults, kReleasedEarly) && lane() == 0)
      tp_mbarrier_arrive(empty);
    hopper::wait<0>(own);
    if (!has(faults, kReleasedEarly) && !has(faults, kNoArrive) && lane() == 0)
      tp_mbarrier_arrive(empty);
  }
  store<64>(d, own);
}
} // namespace

/// d [64, 64] = a [64, depth] b [64, depth]ᵀ, by three warpgroups: the first
/// multiplies, a warp of the second copies, the third gives its registers.
extern "C" __global__ void __attribute__((launch_bounds(384)))
ring(const uint16_t *a, const uint16_t *b, float *d, int depth, char *maps,
     unsigned faults) {
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      tp_mbarrier_init(getBarrier(stage, false), 1);
      tp_mbarrier_init(getBarrier(stage, true), kWarpgroup / kWarp);
    }
    tp_mbarrier_init_fence();
  }
  __syncthreads();
  const int warpgroup = threadIdx.x / kWarpgroup;
  if (warpgroup == 0) {
    tp_take_registers_232();
    // Those who multiply tell the others that they are ready.
    tp_named_arrive(1, 256);
    consume(d, depth, faults);
    return;
  }
  if (!has(faults, kNoRegistersGiven))
    tp_give_registers_40();
  if (warpgroup == 1) {
    tp_named_sync(1, 256);
    if (warp() % (kWarpgroup / kWarp) == 0)
      produce(a, b, depth, maps, faults);
  }
}

/// Four warps that are no warpgroup: from the second on.
extern "C" __global__ void __attribute__((launch_bounds(256)))
four_warps(float *d) {
  char *tile = dynamic_shared_memory;
  for (int i = threadIdx.x; i < 64 * 128; i += 256)
    tile[i] = 0;
  show(0);
  if (warp() < 1 || warp() > 4)
    return;
  float own[32];
  uint32_t place = tp_wgmma_describe(tile, 16);
  tp_wgmma_fence();
  hopper::multiplyShared(Bf16(), own, place, place, false);
  tp_wgmma_commit();
  hopper::wait<0>(own);
  d[threadIdx.x] = own[0];
}
