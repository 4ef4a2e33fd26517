//===- primitives_device.cu - Primitives as instructions ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is linked into kernels that are compiled for a device.
//
//===----------------------------------------------------------------------===//

#include "hopper_device.h"

#define TP_DEFINE_MMA(type)                                                    \
  TP_PRIMITIVE void tp_mma_##type(float *d, const uint32_t *a, uint32_t b0,    \
                                  uint32_t b1) {                               \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." #type "." #type      \
                 ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "         \
                 "{%0, %1, %2, %3};"                                           \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])              \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0),        \
                   "r"(b1));                                                   \
  }
TP_DEFINE_MMA(bf16)
TP_DEFINE_MMA(f16)
#undef TP_DEFINE_MMA
