//===- HopperProducts.cpp - Products of warpgroups ------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// wgmma. Sums are computed when a product begins, and the accumulators hold NaN
// until a wait for the product's group names them. Until that wait, operands in
// shared memory count as being read. Rounding is as in Mma.cpp.
//
//===----------------------------------------------------------------------===//

#include "Elements.h"
#include "HopperCounts.h"
#include "Intrinsics.h"
#include <bit>
#include <cmath>

using namespace tp::emulator;

static constexpr uint32_t rows = 64, depth = 16, warpsOfGroup = 4;
static constexpr uint32_t maxColumns = 256;
/// Bytes of a row of a panel, and from one group of eight rows to the next.
static constexpr uint32_t panelRowBytes = 128, groupBytes = 1024;
static constexpr uint32_t panelColumns = panelRowBytes / elementBytes;

/// The row and column of number `i` of thread `thread` of the warpgroup.
static std::pair<uint32_t, uint32_t> locate(uint32_t thread, uint32_t i) {
  uint32_t lane = thread % warpSize;
  return {thread / warpSize * 16 + lane / 4 + i / 2 % 2 * 8,
          i / 4 * 8 + lane % 4 * 2 + i % 2};
}

void Launch::meetWarpgroup(const char *operation, const void *what,
                           uint64_t *in, Site site,
                           EvaluateWarpgroup evaluate) {
  uint32_t number = self / warpgroupSize;
  uint32_t first = number * warpgroupSize;
  if (first + warpgroupSize > threads.size()) {
    find("warpgroup with warps missing", site,
         "%s by warp %u of a block of %zu threads; four warps from a multiple "
         "of four on take part",
         operation, warp(), threads.size());
    giveUp();
  }
  WarpgroupMeeting &meeting = hopper.meetings[number];
  if (meeting.present != 0 && meeting.site != site)
    find("divergent warpgroup operation", site,
         "another thread waits for it at [%s]", meeting.site);
  meeting.warpgroup = number;
  meeting.operation = operation;
  meeting.site = site;
  meeting.in[self - first] = in;
  if (++meeting.present != warpgroupSize)
    return waitAt(site);
  evaluate(*this, meeting, what, site);
  meeting.present = 0;
  for (uint32_t i = first; i < first + warpgroupSize; ++i)
    if (i != self)
      threads[i].state = Thread::Ready;
}

/// The place of element (row, 8 chunk), the reduction along rows.
static uint32_t locateAlongRows(uint32_t start, uint32_t row, uint32_t chunk) {
  return start + row / 8 * groupBytes + row % 8 * panelRowBytes +
         chunk * chunkBytes;
}

/// Brings the operands together in `hopper.a` and `hopper.b`, [rows][depth] and
/// [depth][columns].
void Launch::gatherOperands(const ProductKind &kind, WarpgroupMeeting &meeting,
                            Site site) {
  auto start = [&](uint32_t slot) {
    return (get<uint32_t>(meeting.in[0][slot]) & 0x3fff) * chunkBytes;
  };
  auto widenChunk = [&](uint32_t offset, auto put) {
    uint16_t elements[chunkBytes / elementBytes];
    memcpy(elements, arena.base + swizzle(offset), chunkBytes);
    for (uint32_t i = 0; i < std::size(elements); ++i)
      put(i, kind.widen(elements[i]));
  };
  uint32_t firstWarp = meeting.warpgroup * warpsOfGroup;
  hopper.a.resize(rows * depth);
  hopper.b.resize(depth * kind.columns);
  if (kind.hasRegisters)
    for (uint32_t t = 0; t < warpgroupSize; ++t) {
      auto pairs = get<const uint16_t *>(meeting.in[t][1]);
      for (uint32_t i = 0; i < 8; ++i) {
        auto [row, column] = locate(t, i);
        hopper.a[row * depth + column] = kind.widen(pairs[i]);
      }
    }
  else
    for (uint32_t row = 0; row < rows; ++row)
      for (uint32_t chunk = 0; chunk < 2; ++chunk) {
        uint32_t offset = locateAlongRows(start(1), row, chunk);
        readOperand(firstWarp + row / 16, offset, site);
        widenChunk(offset, [&](uint32_t i, float value) {
          hopper.a[row * depth + chunk * 8 + i] = value;
        });
      }
  auto readForAll = [&](uint32_t offset) {
    for (uint32_t warp = 0; warp < warpsOfGroup; ++warp)
      readOperand(firstWarp + warp, offset, site);
  };
  if (!kind.hasRegisters) {
    for (uint32_t row = 0; row < kind.columns; ++row)
      for (uint32_t chunk = 0; chunk < 2; ++chunk) {
        uint32_t offset = locateAlongRows(start(2), row, chunk);
        readForAll(offset);
        widenChunk(offset, [&](uint32_t i, float value) {
          hopper.b[(chunk * 8 + i) * kind.columns + row] = value;
        });
      }
    return;
  }
  uint32_t leading =
      (get<uint32_t>(meeting.in[0][2]) >> 16 & 0x3fff) * chunkBytes;
  for (uint32_t k = 0; k < depth; ++k)
    for (uint32_t column = 0; column < kind.columns; column += 8) {
      uint32_t offset =
          locateAlongRows(start(2) + column / panelColumns * leading, k,
                          column % panelColumns / 8);
      readForAll(offset);
      widenChunk(offset, [&](uint32_t i, float value) {
        hopper.b[k * kind.columns + column + i] = value;
      });
    }
}

/// Checks that all threads name the same operands in shared memory, and what a
/// thread's are in registers.
void Launch::checkOperands(const ProductKind &kind, WarpgroupMeeting &meeting,
                           uint32_t thread, Site site) {
  const uint64_t *own = meeting.in[thread], *first = meeting.in[0];
  uint32_t firstThread = meeting.warpgroup * warpgroupSize;
  for (uint32_t slot = kind.hasRegisters ? 2 : 1; slot < kind.operands();
       ++slot)
    if (get<uint32_t>(own[slot]) != get<uint32_t>(first[slot]))
      find("product with operands that differ between threads", site,
           "threads %u and %u", firstThread, firstThread + thread);
  if (!kind.hasRegisters)
    return;
  const ThreadProducts &products = threads[firstThread + thread].products;
  const char *a = get<const char *>(own[1]);
  if (!stacks->contains(firstThread + thread, a, 16))
    return; // constants
  size_t word = (stacks->getDepth(firstThread + thread, a) - 1) / 4;
  for (size_t i = word + 1; i-- > word - 3;) {
    if (products.written.contains(i))
      find("operand in registers written after the last tp_wgmma_fence", site,
           "by thread %u", firstThread + thread);
    if (products.undefined.contains(i))
      find("accumulator of a running product read", site,
           "as an operand of thread %u", firstThread + thread);
  }
}

/// A row of the result, of which `own` holds what is added to.
void Launch::multiplyRow(uint32_t columns, const float *a, float *own) {
  double sums[maxColumns], largest[maxColumns];
  for (uint32_t n = 0; n < columns; ++n) {
    sums[n] = own[n];
    largest[n] = std::fabs(own[n]);
  }
  for (uint32_t k = 0; k < depth; ++k) {
    const float *b = &hopper.b[k * columns];
    for (uint32_t n = 0; n < columns; ++n) {
      double product = double(a[k]) * b[n], size = std::fabs(product);
      sums[n] += product;
      largest[n] = size > largest[n] ? size : largest[n];
    }
  }
  for (uint32_t n = 0; n < columns; ++n) {
    double unit = std::ldexp(largest[n], -23);
    if (seed != 0 && std::isfinite(unit))
      sums[n] += unit * error("mma", std::bit_cast<uint64_t>(sums[n]));
    own[n] = float(sums[n]);
  }
}

void Launch::multiply(const ProductKind &kind, WarpgroupMeeting &meeting,
                      Site site) {
  uint32_t firstThread = meeting.warpgroup * warpgroupSize;
  bool adds = kind.hasRegisters || get<int32_t>(meeting.in[0][3]) != 0;
  for (uint32_t t = 0; t < warpgroupSize; ++t) {
    startProduct(kind, firstThread + t, get<float *>(meeting.in[t][0]), adds,
                 site);
    checkOperands(kind, meeting, t, site);
  }
  gatherOperands(kind, meeting, site);
  hopper.d.assign(rows * kind.columns, 0);
  auto forEach = [&](auto apply) {
    for (uint32_t t = 0; t < warpgroupSize; ++t) {
      float *values =
          threads[firstThread + t].products.running.back().values.data();
      for (uint32_t i = 0; i < kind.columns / 2; ++i) {
        auto [row, column] = locate(t, i);
        apply(values[i], hopper.d[row * kind.columns + column]);
      }
    }
  };
  if (adds)
    forEach([](float &value, float &d) { d = value; });
  for (uint32_t row = 0; row < rows; ++row)
    multiplyRow(kind.columns, &hopper.a[row * depth],
                &hopper.d[row * kind.columns]);
  forEach([](float &value, float &d) { value = d; });
}

static void evaluateProduct(Launch &launch, WarpgroupMeeting &meeting,
                            const void *what, Site site) {
  launch.multiply(*static_cast<const ProductKind *>(what), meeting, site);
}

#define TP_PRODUCT(type, widen, columns)                                       \
  TP_EMULATE(tp_wgmma_ss_##type##_##columns) {                                 \
    static constexpr ProductKind kind{columns, widen, false};                  \
    current->meetWarpgroup("wgmma", &kind, in, site, evaluateProduct);         \
  }                                                                            \
  TP_EMULATE(tp_wgmma_rs_##type##_##columns) {                                 \
    static constexpr ProductKind kind{columns, widen, true};                   \
    current->meetWarpgroup("wgmma", &kind, in, site, evaluateProduct);         \
  }
#define TP_PRODUCTS(columns)                                                   \
  TP_PRODUCT(bf16, widenBf16, columns)                                         \
  TP_PRODUCT(f16, widenF16, columns)
TP_EMULATED_COLUMNS(TP_PRODUCTS)

TP_EMULATE(tp_wgmma_describe) {
  uint32_t offset = get<char *>(in[0]) - current->shared();
  uint32_t leading = get<uint32_t>(in[1]);
  if (offset % chunkBytes || leading % chunkBytes || leading >= 1u << 18 ||
      offset >= 1u << 18)
    current->find("descriptor of a tile", site,
                  "offset %u of shared memory, leading %u: expected multiples "
                  "of %u below 256 KiB",
                  offset, leading, chunkBytes);
  put(out[0],
      (offset & 0x3ffff) / chunkBytes | (leading & 0x3ffff) / chunkBytes << 16);
}

/// Operands: the lower half, the upper.
TP_EMULATE(tp_pack_bf16) {
  put(out[0], uint32_t(narrowBf16(get<float>(in[1]))) << 16 |
                  narrowBf16(get<float>(in[0])));
}
TP_EMULATE(tp_pack_f16) {
  put(out[0], uint32_t(narrowF16(get<float>(in[1]))) << 16 |
                  narrowF16(get<float>(in[0])));
}

TP_EMULATE(tp_opaque) { put(out[0], get<int32_t>(in[0])); }
