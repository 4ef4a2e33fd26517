//===- hopper_device.h - Hopper's primitives as instructions ----*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Definitions of hopper.h for a device. Whatever orders memory clobbers it;
// waits take the accumulators as operands in and out, so that nothing reads
// them before.
//
//===----------------------------------------------------------------------===//

#ifndef TP_KERNELS_DEVICE_HOPPER_DEVICE_H
#define TP_KERNELS_DEVICE_HOPPER_DEVICE_H

#include "hopper.h"

/// The address as instructions on shared memory take it.
__attribute__((always_inline)) __device__ inline uint32_t
sharedAddress(const char *pointer) {
  return uint32_t(
      uintptr_t((const __attribute__((address_space(3))) char *)pointer));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The upper half of every descriptor: 1024 bytes from eight rows to the next
/// eight, and the 128-byte swizzle.
#define TP_DESCRIPTOR_HIGH "0x40000040"

TP_PRIMITIVE uint32_t tp_wgmma_describe(const char *tile, uint32_t leading) {
  return (sharedAddress(tile) & 0x3ffff) >> 4 | leading >> 4 << 16;
}
TP_PRIMITIVE void tp_wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
TP_PRIMITIVE void tp_wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

#define TP_DEFINE_WAIT(count)                                                  \
  TP_PRIMITIVE void tp_hold_##count(float *registers) {                        \
    _Pragma("unroll") for (int i = 0; i < count; ++i) asm volatile(            \
        "" : "+f"(registers[i])::"memory");                                    \
  }                                                                            \
  TP_PRIMITIVE void tp_hold_words_##count(uint32_t *registers) {               \
    _Pragma("unroll") for (int i = 0; i < count; ++i) asm volatile(            \
        "" : "+r"(registers[i])::"memory");                                    \
  }                                                                            \
  TP_PRIMITIVE void tp_wgmma_wait_0_##count(float *accumulators) {             \
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");             \
    tp_hold_##count(accumulators);                                             \
  }                                                                            \
  TP_PRIMITIVE void tp_wgmma_wait_1_##count(float *accumulators) {             \
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");             \
    tp_hold_##count(accumulators);                                             \
  }

#define TP_D4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define TP_D16(i) TP_D4(i), TP_D4(i + 4), TP_D4(i + 8), TP_D4(i + 12)
#define TP_D_64 TP_D16(0), TP_D16(16)
#define TP_D_128 TP_D_64, TP_D16(32), TP_D16(48)
#define TP_NAMES_64                                                            \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,"    \
  "%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}"
#define TP_NAMES_128                                                           \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,"    \
  "%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,"   \
  "%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,"   \
  "%56,%57,%58,%59,%60,%61,%62,%63}"

/// `A`, `B`, ... are the operands behind the accumulators.
#define TP_DEFINE_WGMMA(type, columns, A, B, C, D, E)                          \
  TP_PRIMITIVE void tp_wgmma_ss_##type##_##columns(float *d, uint32_t a,       \
                                                   uint32_t b, int adds) {     \
    asm volatile("{.reg .pred adds; setp.ne.b32 adds, " C                      \
                 ", 0; .reg .b64 a, b; "                                       \
                 "mov.b64 a, {" A ", " TP_DESCRIPTOR_HIGH "}; "                \
                 "mov.b64 b, {" B ", " TP_DESCRIPTOR_HIGH "}; "                \
                 "wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32." #type \
                 "." #type " " TP_NAMES_##columns ", a, b, adds, 1, 1, 0, 0;}" \
                 : TP_D_##columns                                              \
                 : "r"(a), "r"(b), "r"(adds)                                   \
                 : "memory");                                                  \
  }                                                                            \
  TP_PRIMITIVE void tp_wgmma_rs_##type##_##columns(                            \
      float *d, const uint32_t *a, uint32_t b) {                               \
    asm volatile("{.reg .b64 b; mov.b64 b, {" E ", " TP_DESCRIPTOR_HIGH "}; "  \
                 "wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32." #type \
                 "." #type " " TP_NAMES_##columns ", {" A ", " B ", " C ", " D \
                                                  "}, b, 1, 1, 1, 1;}"         \
                 : TP_D_##columns                                              \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b)          \
                 : "memory");                                                  \
  }

TP_DEFINE_WAIT(32)
TP_DEFINE_WAIT(64)
TP_DEFINE_WGMMA(bf16, 64, "%32", "%33", "%34", "%35", "%36")
TP_DEFINE_WGMMA(bf16, 128, "%64", "%65", "%66", "%67", "%68")
TP_DEFINE_WGMMA(f16, 64, "%32", "%33", "%34", "%35", "%36")
TP_DEFINE_WGMMA(f16, 128, "%64", "%65", "%66", "%67", "%68")

TP_PRIMITIVE uint32_t tp_pack_bf16(float low, float high) {
  uint32_t both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}
TP_PRIMITIVE uint32_t tp_pack_f16(float low, float high) {
  uint32_t both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}

TP_PRIMITIVE int tp_opaque(int value) {
  asm volatile("" : "+r"(value));
  return value;
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

TP_PRIMITIVE void tp_mbarrier_init(char *barrier, int count) {
  asm volatile(
      "mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(sharedAddress(barrier)),
      "r"(count)
      : "memory");
}
TP_PRIMITIVE void tp_mbarrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;\n"
               "fence.proxy.async.shared::cta;" ::
                   : "memory");
}
TP_PRIMITIVE void tp_mbarrier_arrive(char *barrier) {
  asm volatile(
      "mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(sharedAddress(barrier))
      : "memory");
}
TP_PRIMITIVE void tp_mbarrier_expect(char *barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                   sharedAddress(barrier)),
               "r"(bytes)
               : "memory");
}
TP_PRIMITIVE void tp_mbarrier_wait(char *barrier, int parity) {
  asm volatile(
      "{.reg .pred done;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;}" ::"r"(sharedAddress(barrier)),
      "r"(parity)
      : "memory");
}
TP_PRIMITIVE void tp_proxy_fence() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
TP_PRIMITIVE void tp_named_sync(int name, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(name), "r"(threads) : "memory");
}
TP_PRIMITIVE void tp_named_arrive(int name, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(name), "r"(threads) : "memory");
}

#define TP_DEFINE_REGISTERS(count)                                             \
  TP_PRIMITIVE void tp_give_registers_##count() {                              \
    asm volatile("setmaxnreg.dec.sync.aligned.u32 " #count ";" ::: "memory");  \
  }                                                                            \
  TP_PRIMITIVE void tp_take_registers_##count() {                              \
    asm volatile("setmaxnreg.inc.sync.aligned.u32 " #count ";" ::: "memory");  \
  }
TP_DEFINE_REGISTERS(40)
TP_DEFINE_REGISTERS(32)
TP_DEFINE_REGISTERS(160)
TP_DEFINE_REGISTERS(232)

//===----------------------------------------------------------------------===//
// The copy engine
//===----------------------------------------------------------------------===//

/// tensormap.replace of `field`; `value` is an operand or a number.
#define TP_REPLACE(field, bits, value, ...)                                    \
  asm volatile("tensormap.replace.tile." field ".shared::cta.b1024." bits      \
               " [%0], " value ";" ::"r"(sharedAddress(map))__VA_OPT__(, )     \
                   __VA_ARGS__                                                 \
               : "memory")

/// Types, layouts and swizzles have numbers: PTX ISA, tensormap.replace.
#define TP_DEFINE_BEGIN(type, number)                                          \
  TP_PRIMITIVE void tp_tensor_map_begin_##type(char *map, const void *base,    \
                                               int rank) {                     \
    TP_REPLACE("global_address", "b64", "%1", "l"(base));                      \
    TP_REPLACE("rank", "b32", "%1", "r"(rank - 1));                            \
    TP_REPLACE("elemtype", "b32", number);                                     \
    TP_REPLACE("interleave_layout", "b32", "0");                               \
    TP_REPLACE("swizzle_mode", "b32", "3");                                    \
    TP_REPLACE("fill_mode", "b32", "0");                                       \
  }
TP_DEFINE_BEGIN(bf16, "10")
TP_DEFINE_BEGIN(f16, "6")

#define TP_DEFINE_DIMENSION(n, before)                                         \
  TP_PRIMITIVE void tp_tensor_map_dimension_##n(char *map, int size, int box,  \
                                                int64_t stride) {              \
    TP_REPLACE("global_dim", "b32", #n ", %1", "r"(size));                     \
    TP_REPLACE("box_dim", "b32", #n ", %1", "r"(box));                         \
    TP_REPLACE("element_stride", "b32", #n ", 1");                             \
    if constexpr (n > 0)                                                       \
      TP_REPLACE("global_stride", "b64", #before ", %1", "l"(stride));         \
  }
TP_DEFINE_DIMENSION(0, 0)
TP_DEFINE_DIMENSION(1, 0)
TP_DEFINE_DIMENSION(2, 1)
TP_DEFINE_DIMENSION(3, 2)
TP_DEFINE_DIMENSION(4, 3)

TP_PRIMITIVE void tp_tensor_map_publish(char *global, const char *map) {
  asm volatile(
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release"
      ".gpu.sync.aligned [%0], [%1], 128;" ::"l"(global),
      "r"(sharedAddress(map))
      : "memory");
}
TP_PRIMITIVE void tp_tensor_map_acquire(const char *global) {
  asm volatile(
      "fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(global)
      : "memory");
}
TP_PRIMITIVE void tp_copy_box_4(char *to, const char *map, char *barrier,
                                int x0, int x1, int x2, int x3) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile"
               ".mbarrier::complete_tx::bytes "
               "[%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(sharedAddress(to)),
               "l"(map), "r"(sharedAddress(barrier)), "r"(x0), "r"(x1), "r"(x2),
               "r"(x3)
               : "memory");
}
TP_PRIMITIVE void tp_copy_box_5(char *to, const char *map, char *barrier,
                                int x0, int x1, int x2, int x3, int x4) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile"
      ".mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(sharedAddress(to)),
      "l"(map), "r"(sharedAddress(barrier)), "r"(x0), "r"(x1), "r"(x2), "r"(x3),
      "r"(x4)
      : "memory");
}

#endif // TP_KERNELS_DEVICE_HOPPER_DEVICE_H
