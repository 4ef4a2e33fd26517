//===- hopper.h - What kernels for sm_90a are written in --------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Warpgroup products (wgmma), barriers in shared memory (mbarrier), copies of
// boxes by the copy engine (TMA) and shares of registers (setmaxnreg). The
// definitions for a device are in hopper_device.h, those of the emulator in
// test/Emulator/Runtime.
//
// A *warpgroup* is four consecutive warps, the number of the first of which is
// a multiple of four. A product runs after the instruction that starts it: its
// accumulators and its operands in shared memory may be touched only behind
// the wait for its group.
//
// A *tile* of 16-bit elements lies in shared memory in panels of 64 columns. A
// row of a panel has 128 bytes, and its chunk c of 16 bytes stands at chunk
// c ^ (row % 8), which is the 128-byte swizzle of the instructions. Panels
// begin at multiples of 1024 bytes.
//
//===----------------------------------------------------------------------===//

#ifndef TP_KERNELS_DEVICE_HOPPER_H
#define TP_KERNELS_DEVICE_HOPPER_H

#include "primitives.h"

/// Element types, to choose instructions by.
struct Bf16 {};
struct F16 {};

//===----------------------------------------------------------------------===//
// Primitives
//===----------------------------------------------------------------------===//

/// The lower half of the descriptor of a tile in shared memory: `leading` bytes
/// lead from panel to panel where the reduction runs along rows of the tile's
/// memory. Adding n to it moves it by 16 n bytes.
TP_PRIMITIVE uint32_t tp_wgmma_describe(const char *tile, uint32_t leading);

/// Orders what the thread did to accumulators and operands in registers before
/// the products that follow.
TP_PRIMITIVE void tp_wgmma_fence();
/// The products since the last commit become a group.
TP_PRIMITIVE void tp_wgmma_commit();

/// For `count` accumulators a thread: tp_wgmma_wait_<pending>_<count>
/// waits until at most `pending` groups run, after which the accumulators may
/// be read. tp_hold_<count> and tp_hold_words_<count> have the assembler
/// compute `registers` before what follows, and do nothing else.
#define TP_DECLARE_WAIT(count)                                                 \
  TP_PRIMITIVE void tp_wgmma_wait_0_##count(float *accumulators);              \
  TP_PRIMITIVE void tp_wgmma_wait_1_##count(float *accumulators);              \
  TP_PRIMITIVE void tp_hold_##count(float *registers);                         \
  TP_PRIMITIVE void tp_hold_words_##count(uint32_t *registers);

/// tp_wgmma_ss_<type>_<columns>: d = a bᵀ, or d + a bᵀ if `adds`; a [64, 16]
/// and b [columns, 16] in shared memory, by descriptors, the reduction along
/// rows. tp_wgmma_rs_<type>_<columns>: d += a b; a [64, 16] in four registers
/// of each thread, b [16, columns] in shared memory. d [64, columns] is columns
/// / 2 numbers of each thread: numbers 4 i to 4 i + 3 of lane l of warp w are
/// (r, c), (r, c + 1), (r + 8, c), (r + 8, c + 1) with r = 16 w + l / 4 and c =
/// 8 i + 2 (l % 4). A in registers lies likewise, as pairs of elements: (r, c),
/// (r + 8, c), (r, c + 8), (r + 8, c + 8), i = 0.
#define TP_DECLARE_WGMMA(type, columns)                                        \
  TP_PRIMITIVE void tp_wgmma_ss_##type##_##columns(float *d, uint32_t a,       \
                                                   uint32_t b, int adds);      \
  TP_PRIMITIVE void tp_wgmma_rs_##type##_##columns(                            \
      float *d, const uint32_t *a, uint32_t b);

/// Barriers in shared memory, of 8 bytes each. A phase ends when `count`
/// threads have arrived and the bytes that arrivals told to expect have come.
TP_PRIMITIVE void tp_mbarrier_init(char *barrier, int count);
/// By the thread that made barriers: shows them to the copy engine.
TP_PRIMITIVE void tp_mbarrier_init_fence();
TP_PRIMITIVE void tp_mbarrier_arrive(char *barrier);
TP_PRIMITIVE void tp_mbarrier_expect(char *barrier, int bytes);
/// Waits until the phase of this parity has ended; those before the first have
/// parity 1.
TP_PRIMITIVE void tp_mbarrier_wait(char *barrier, int parity);

/// Orders the thread's accesses to shared memory before those of products and
/// of the copy engine.
TP_PRIMITIVE void tp_proxy_fence();

/// Barriers of warps, by number; 0 is the block's.
TP_PRIMITIVE void tp_named_sync(int name, int threads);
TP_PRIMITIVE void tp_named_arrive(int name, int threads);

/// By a whole warpgroup: registers of each thread from here on.
#define TP_DECLARE_REGISTERS(count)                                            \
  TP_PRIMITIVE void tp_give_registers_##count();                               \
  TP_PRIMITIVE void tp_take_registers_##count();

/// A tensor map says how a tensor lies in global memory and what box of it a
/// copy takes. It is made in 128 bytes of shared memory that are zero, field by
/// field. tp_tensor_map_begin: the tensor's base, of `rank` dimensions, of
/// which dimension 0 is contiguous; boxes become panels, and what lies outside
/// the tensor zero.
TP_PRIMITIVE void tp_tensor_map_begin_bf16(char *map, const void *base,
                                           int rank);
TP_PRIMITIVE void tp_tensor_map_begin_f16(char *map, const void *base,
                                          int rank);
/// Dimension <n>: its size, that of a box, and bytes from one index to the next
/// (a multiple of 16, not used of dimension 0).
#define TP_DECLARE_DIMENSION(n)                                                \
  TP_PRIMITIVE void tp_tensor_map_dimension_##n(char *map, int size, int box,  \
                                                int64_t stride);
/// By a whole warp: writes the map to global memory, at a multiple of 128.
TP_PRIMITIVE void tp_tensor_map_publish(char *global, const char *map);
/// Before the first copy that a thread starts with the map.
TP_PRIMITIVE void tp_tensor_map_acquire(const char *global);
/// Starts the copy of the box at `at` (x0 is dimension 0), whose bytes the
/// barrier counts.
TP_PRIMITIVE void tp_copy_box_4(char *to, const char *map, char *barrier,
                                int x0, int x1, int x2, int x3);
TP_PRIMITIVE void tp_copy_box_5(char *to, const char *map, char *barrier,
                                int x0, int x1, int x2, int x3, int x4);

/// The number, of which the compiler knows nothing.
TP_PRIMITIVE int tp_opaque(int value);

/// Two numbers rounded to nearest, ties to even; `low` in the lower half.
TP_PRIMITIVE uint32_t tp_pack_bf16(float low, float high);
TP_PRIMITIVE uint32_t tp_pack_f16(float low, float high);

TP_DECLARE_WAIT(32)
TP_DECLARE_WAIT(64)
TP_DECLARE_WGMMA(bf16, 64)
TP_DECLARE_WGMMA(bf16, 128)
TP_DECLARE_WGMMA(f16, 64)
TP_DECLARE_WGMMA(f16, 128)
TP_DECLARE_REGISTERS(40)
TP_DECLARE_REGISTERS(32)
TP_DECLARE_REGISTERS(160)
TP_DECLARE_REGISTERS(232)
TP_DECLARE_DIMENSION(0)
TP_DECLARE_DIMENSION(1)
TP_DECLARE_DIMENSION(2)
TP_DECLARE_DIMENSION(3)
TP_DECLARE_DIMENSION(4)

//===----------------------------------------------------------------------===//
// The same by type and size
//===----------------------------------------------------------------------===//

namespace hopper {

/// Byte offset of chunk `chunk` of row `row` in a tile of `rows` rows.
template <int rows>
__device__ inline int swizzle(int row, int chunk) {
  return chunk / 8 * (rows * 128) + row * 128 + (chunk ^ row) % 8 * 16;
}

#define TP_WGMMA(name, type, columns)                                          \
  __device__ inline void multiplyShared(name, float (&d)[columns / 2],         \
                                        uint32_t a, uint32_t b, bool adds) {   \
    tp_wgmma_ss_##type##_##columns(d, a, b, adds);                             \
  }                                                                            \
  __device__ inline void multiply(name, float (&d)[columns / 2],               \
                                  const uint32_t *a, uint32_t b) {             \
    tp_wgmma_rs_##type##_##columns(d, a, b);                                   \
  }
TP_WGMMA(Bf16, bf16, 64)
TP_WGMMA(Bf16, bf16, 128)
TP_WGMMA(F16, f16, 64)
TP_WGMMA(F16, f16, 128)

#define TP_WAIT(count)                                                         \
  template <int pending>                                                       \
  __device__ inline void wait(float (&accumulators)[count]) {                  \
    static_assert(pending == 0 || pending == 1);                               \
    if constexpr (pending == 0)                                                \
      tp_wgmma_wait_0_##count(accumulators);                                   \
    else                                                                       \
      tp_wgmma_wait_1_##count(accumulators);                                   \
  }                                                                            \
  __device__ inline void hold(float (&registers)[count]) {                     \
    tp_hold_##count(registers);                                                \
  }                                                                            \
  __device__ inline void hold(uint32_t (&registers)[count]) {                  \
    tp_hold_words_##count(registers);                                          \
  }
TP_WAIT(32)
TP_WAIT(64)

__device__ inline void beginMap(Bf16, char *map, const void *base, int rank) {
  tp_tensor_map_begin_bf16(map, base, rank);
}
__device__ inline void beginMap(F16, char *map, const void *base, int rank) {
  tp_tensor_map_begin_f16(map, base, rank);
}

/// Two numbers rounded, `low` in the lower half.
__device__ inline uint32_t pack(Bf16, float low, float high) {
  return tp_pack_bf16(low, high);
}
__device__ inline uint32_t pack(F16, float low, float high) {
  return tp_pack_f16(low, high);
}

inline constexpr int kMapBytes = 128;
inline constexpr int kAlignment = 1024; ///< of panels in shared memory
inline constexpr int kWarpgroup = 128;  ///< threads

} // namespace hopper

#endif // TP_KERNELS_DEVICE_HOPPER_H
