//===- Mma.cpp - Tensor cores ---------------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mma.sync and the loads that bring its fragments. How a device rounds inside
// one mma is not documented: the sum is exact here, and with a seed off by up
// to a unit of f32 at its largest term.
//
//===----------------------------------------------------------------------===//

#include "Elements.h"
#include "Intrinsics.h"
#include <algorithm>
#include <bit>
#include <cmath>

using namespace tp::emulator;

/// Lane 8 i + r gives the address of row r of matrix i.
template <int count, bool transposed>
static void loadMatrix(Launch &, Meeting &meeting, uint32_t lane, Site) {
  for (int i = 0; i < count; ++i) {
    auto element = [&](int row, int column) {
      return get<const uint16_t *>(meeting.in[8 * i + row][0])[column];
    };
    int row = lane / 4, column = 2 * (lane % 4);
    uint16_t pair[2] = {
        transposed ? element(column, row) : element(row, column),
        transposed ? element(column + 1, row) : element(row, column + 1)};
    memcpy(&meeting.out[lane][i], pair, sizeof pair);
  }
}

#define TP_LOAD_MATRIX(name, count, transposed)                                \
  TP_EMULATE(ldmatrix_sync_aligned_m8n8_##name##_b16_p3) {                     \
    if (current->lane() < 8 * count)                                           \
      current->access(get<void *>(in[0]), 16, 16, Access::Read, Space::Shared, \
                      site);                                                   \
    current->meet("ldmatrix." #name, ~0u, in, out, site, true,                 \
                  loadMatrix<count, transposed>);                              \
  }
TP_LOAD_MATRIX(x1, 1, false)
TP_LOAD_MATRIX(x2, 2, false)
TP_LOAD_MATRIX(x4, 4, false)
TP_LOAD_MATRIX(x1_trans, 1, true)
TP_LOAD_MATRIX(x2_trans, 2, true)
TP_LOAD_MATRIX(x4_trans, 4, true)

/// D = A B + C for 16 rows, 8 columns and `depth` products, C and D in f32.
/// Operands: depth / 4 registers of A, depth / 8 of B, four of C.
template <int depth, float (*widen)(uint16_t)>
static void multiply(Launch &launch, Meeting &meeting, uint32_t lane, Site) {
  if (lane != uint32_t(std::countr_zero(meeting.present)) ||
      meeting.present != ~0u)
    return;
  constexpr int aSlots = depth / 4, bSlots = depth / 8;
  float a[16][depth], b[depth][8];
  for (int t = 0; t < 32; ++t)
    for (int half = 0; half < 2; ++half) {
      auto element = [&](int slot) {
        uint16_t pair[2];
        memcpy(pair, &meeting.in[t][slot], sizeof pair);
        return widen(pair[half]);
      };
      int group = t / 4, column = 2 * (t % 4) + half;
      for (int slot = 0; slot < aSlots; ++slot)
        a[group + slot % 2 * 8][column + slot / 2 * 8] = element(slot);
      for (int slot = 0; slot < bSlots; ++slot)
        b[column + slot * 8][group] = element(aSlots + slot);
    }
  for (int row = 0; row < 16; ++row) {
    // Lane t has columns 2 (t % 4) and the next of rows t / 4 and t / 4 + 8.
    auto place = [&](int column) {
      return std::pair(row % 8 * 4 + column / 2, row / 8 * 2 + column % 2);
    };
    double sums[8], largest[8];
    for (int column = 0; column < 8; ++column) {
      auto [t, i] = place(column);
      sums[column] = get<float>(meeting.in[t][aSlots + bSlots + i]);
      largest[column] = std::fabs(sums[column]);
    }
    for (int k = 0; k < depth; ++k)
      for (int column = 0; column < 8; ++column) {
        double product = double(a[row][k]) * b[k][column];
        double size = std::fabs(product);
        sums[column] += product;
        // As std::max: what is no number is passed over.
        largest[column] = largest[column] < size ? size : largest[column];
      }
    for (int column = 0; column < 8; ++column) {
      auto [t, i] = place(column);
      double sum = sums[column];
      double unit = std::ldexp(largest[column], -23);
      if (launch.hasErrors() && std::isfinite(unit))
        sum += unit * launch.error("mma", std::bit_cast<uint64_t>(sum));
      put(meeting.out[t][i], float(sum));
    }
  }
}

#define TP_MMA(name, depth, widen)                                             \
  TP_EMULATE(mma_##name) {                                                     \
    current->meet("mma." #name, ~0u, in, out, site, true,                      \
                  multiply<depth, widen>);                                     \
  }
TP_MMA(m16n8k16_row_col_bf16, 16, widenBf16)
TP_MMA(m16n8k16_row_col_f32_f32, 16, widenF16)
TP_MMA(m16n8k8_row_col_bf16, 8, widenBf16)
TP_MMA(m16n8k8_row_col_f32_f32, 8, widenF16)

/// Accumulators and a are arrays of the thread.
template <float (*widen)(uint16_t)>
static void accumulate(const char *name, uint64_t *in, Site site) {
  auto *d = get<float *>(in[0]);
  auto *a = get<const uint32_t *>(in[1]);
  uint64_t operands[10] = {}, sums[4] = {};
  for (int i = 0; i < 4; ++i) {
    put(operands[i], a[i]);
    put(operands[6 + i], d[i]);
  }
  operands[4] = in[2];
  operands[5] = in[3];
  current->meet(name, ~0u, operands, sums, site, true, multiply<16, widen>);
  for (int i = 0; i < 4; ++i)
    d[i] = get<float>(sums[i]);
}

TP_EMULATE(tp_mma_bf16) { accumulate<widenBf16>("tp_mma_bf16", in, site); }
TP_EMULATE(tp_mma_f16) { accumulate<widenF16>("tp_mma_f16", in, site); }
