//===- HopperCounts.h - Sizes that instructions come in ---------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All that the instructions have, so that kernels/device/hopper.h may declare
// any.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_EMULATOR_HOPPERCOUNTS_H
#define TP_TEST_EMULATOR_HOPPERCOUNTS_H

/// Columns of a product.
#define TP_EMULATED_COLUMNS(apply)                                             \
  apply(8) apply(16) apply(24) apply(32) apply(40) apply(48) apply(56)         \
      apply(64) apply(72) apply(80) apply(88) apply(96) apply(104) apply(112)  \
          apply(120) apply(128) apply(136) apply(144) apply(152) apply(160)    \
              apply(168) apply(176) apply(184) apply(192) apply(200)           \
                  apply(208) apply(216) apply(224) apply(232) apply(240)       \
                      apply(248) apply(256)

/// Numbers of a thread.
#define TP_EMULATED_ACCUMULATORS(apply)                                        \
  apply(4) apply(8) apply(12) apply(16) apply(20) apply(24) apply(28)          \
      apply(32) apply(36) apply(40) apply(44) apply(48) apply(52) apply(56)    \
          apply(60) apply(64) apply(68) apply(72) apply(76) apply(80)          \
              apply(84) apply(88) apply(92) apply(96) apply(100) apply(104)    \
                  apply(108) apply(112) apply(116) apply(120) apply(124)       \
                      apply(128)

/// Registers of a thread.
#define TP_EMULATED_REGISTERS(apply)                                           \
  apply(24) apply(32) apply(40) apply(48) apply(56) apply(64) apply(72)        \
      apply(80) apply(88) apply(96) apply(104) apply(112) apply(120)           \
          apply(128) apply(136) apply(144) apply(152) apply(160) apply(168)    \
              apply(176) apply(184) apply(192) apply(200) apply(208)           \
                  apply(216) apply(224) apply(232) apply(240) apply(248)       \
                      apply(256)

#endif // TP_TEST_EMULATOR_HOPPERCOUNTS_H
