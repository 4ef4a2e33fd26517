//===- primitives.h - What device kernels are written in --------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CUDA's qualifiers and built-in variables without a toolkit, the numbers that
// tp-compile binds, and the operations of a warp and of a block. What LLVM has
// an intrinsic for is written with it, and the emulator knows the intrinsic.
// What exists only as PTX is declared with TP_PRIMITIVE: primitives_device.cu
// has the inline assembly, test/Emulator/Runtime the same in C++
// (docs/Kernels.md).
//
//===----------------------------------------------------------------------===//

#ifndef TP_KERNELS_DEVICE_PRIMITIVES_H
#define TP_KERNELS_DEVICE_PRIMITIVES_H

#include <stddef.h>
#include <stdint.h>

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#include <__clang_cuda_builtin_vars.h>

/// Declares `type shape::name()`, a number that the kernel's row of the table
/// (lib/Conversion/Gpu/Families) gives when a model is compiled. It is constant
/// before anything is optimised, but cannot size an array or choose a type.
#define TP_SHAPE(type, name)                                                   \
  namespace shape {                                                            \
  __device__ __attribute__((const)) type name() __asm__("shape." #name);       \
  }

/// The threads of a block, bound likewise. Launches of one kernel may differ in
/// their grids.
namespace launch {
__device__ __attribute__((const)) int threads() __asm__("launch.threads");
} // namespace launch

/// Declares a primitive that is linked after everything else is optimised.
#define TP_PRIMITIVE extern "C" __device__

using float4 = float __attribute__((ext_vector_type(4)));
using uint4 = uint32_t __attribute__((ext_vector_type(4)));

inline constexpr int kWarp = 32;

__device__ inline int lane() { return threadIdx.x % kWarp; }
__device__ inline int warp() { return threadIdx.x / kWarp; }

/// Dynamic shared memory, as many bytes as the launch asks for.
extern "C" __shared__ __attribute__((aligned(16))) char dynamic_shared_memory[];

template <typename T>
__device__ inline T min(T a, T b) {
  return b < a ? b : a;
}
template <typename T>
__device__ inline T max(T a, T b) {
  return a < b ? b : a;
}

/// 2^x to a relative error of 2^-22; 2^-inf is 0.
__device__ inline float exp2Approx(float x) {
  return __nvvm_ex2_approx_ftz_f(x);
}

/// log2 x to an absolute error of 2^-22; that of 0 is -inf.
__device__ inline float log2Approx(float x) {
  return __nvvm_lg2_approx_ftz_f(x);
}
/// 1 / x within one unit in the last place.
__device__ inline float reciprocalApprox(float x) {
  return __nvvm_rcp_approx_ftz_f(x);
}
/// The greater one; a NaN only if both are.
__device__ inline float maxNumber(float a, float b) {
  return __builtin_fmaxf(a, b);
}

/// The value of the thread whose lane differs from this one's by the bits of
/// `mask`. All threads of the warp take part.
template <typename T>
__device__ inline T shuffleXor(T value, int mask) {
  static_assert(sizeof(T) % 4 == 0);
  int words[sizeof(T) / 4];
  __builtin_memcpy(words, &value, sizeof(T));
#pragma unroll
  for (int &word : words)
    word = __nvvm_shfl_sync_bfly_i32(-1, word, mask, 0x1f);
  __builtin_memcpy(&value, words, sizeof(T));
  return value;
}

/// A number that all lanes have, told to the compiler. All threads of the warp
/// take part.
__device__ inline int uniform(int value) {
  return __nvvm_shfl_sync_idx_i32(-1, value, 0, 0x1f);
}
/// The value of lane `from`, and of the lane `distance` below (of the lowest
/// lanes, their own). All threads of the warp take part.
__device__ inline int shuffleFrom(int value, int from) {
  return __nvvm_shfl_sync_idx_i32(-1, value, from, 0x1f);
}
__device__ inline int shuffleUp(int value, int distance) {
  return __nvvm_shfl_sync_up_i32(-1, value, distance, 0);
}
/// Orders the memory accesses of the warp's threads.
__device__ inline void __syncwarp() { __nvvm_bar_warp_sync(-1); }

/// Bit i: the condition of lane i. All threads of the warp take part.
__device__ inline unsigned ballot(bool condition) {
  return __nvvm_vote_ballot_sync(-1, condition);
}

/// d += a b for 16 rows, 8 columns and 16 products, by a whole warp, in f32.
/// With r = lane / 4 and c = 2 (lane % 4), d has (r, c), (r, c + 1), (r + 8, c)
/// and (r + 8, c + 1); a pairs of elements from (r, c), (r + 8, c), (r, c + 8)
/// and (r + 8, c + 8) on; b those of column r from row c and c + 8 on.
TP_PRIMITIVE void tp_mma_bf16(float *d, const uint32_t *a, uint32_t b0,
                              uint32_t b1);
TP_PRIMITIVE void tp_mma_f16(float *d, const uint32_t *a, uint32_t b0,
                             uint32_t b1);

/// Two numbers rounded to nearest, ties to even; `low` in the lower half.
__device__ inline uint32_t packBf16(float low, float high) {
  return __builtin_bit_cast(uint32_t, __nvvm_ff2bf16x2_rn(high, low));
}
__device__ inline uint32_t packF16(float low, float high) {
  return __builtin_bit_cast(uint32_t, __nvvm_ff2f16x2_rn(high, low));
}

/// Starts the copy of 16 bytes from global to shared memory; a group of such
/// copies is what a thread has started since the one before.
__device__ inline void startCopy(char *to, const char *from) {
  __nvvm_cp_async_cg_shared_global_16(
      (__attribute__((address_space(3))) void *)to,
      (const __attribute__((address_space(1))) void *)from);
}
__device__ inline void endCopies() { __nvvm_cp_async_commit_group(); }
/// Waits for all copies that the thread has started.
__device__ inline void waitForCopies() { __nvvm_cp_async_wait_all(); }

/// Adds to a number in shared memory that other threads of the block add to;
/// returns what it was.
__device__ inline int addShared(int *place, int value) {
  return __scoped_atomic_fetch_add(place, value, __ATOMIC_RELAXED,
                                   __MEMORY_SCOPE_DEVICE);
}

#endif // TP_KERNELS_DEVICE_PRIMITIVES_H
