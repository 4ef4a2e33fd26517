//===- GgufBlocks.cpp - blocks of GGUF's tensor types ---------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function for each layout, which decodes the first `count` elements (all
// or none) and the scales. Scales are an f16 of the block, times an integer of
// the group in blocks of 256, which f32 holds exactly.
//
//===----------------------------------------------------------------------===//

#include "GgufBlocks.h"

#include <algorithm>
#include <cstring>

using namespace tprt;

namespace {

uint16_t bitsAt(const uint8_t *p) {
  uint16_t bits;
  std::memcpy(&bits, p, 2);
  return bits;
}

float halfAt(const uint8_t *p) {
  return float(__builtin_bit_cast(_Float16, bitsAt(p)));
}

/// Sixteen bytes of two elements each: the first sixteen elements in the low
/// bits.
uint8_t nibbleAt(const uint8_t *qs, int i) {
  return i < 16 ? qs[i] & 15 : qs[i - 16] >> 4;
}

/// The group's numbers are (stored * scale - minimum), `stored` being
/// `middle` more than the element. Where the scale is zero all are the negative
/// minimum, which is then the scale of elements that are one.
void setMinimum(GgufBlock &b, int group, int size, float scale, float minimum,
                float middle) {
  b.scales[group] = scale;
  b.zeros[group] = 0;
  if (scale != 0) {
    b.zeros[group] = minimum / scale - middle;
    return;
  }
  b.scales[group] = -minimum;
  std::fill_n(b.elements + group * size, size, int8_t(1));
}

/// Sets the scales of the groups to `d` times their codes.
void setScales(GgufBlock &b, int groups, const uint8_t *d) {
  b.factor = bitsAt(d);
  for (int g = 0; g < groups; ++g)
    b.scales[g] = halfAt(d) * float(b.codes[g]);
}

/// Likewise, of groups of `size` with minima, which are `least` times theirs.
void setMinima(GgufBlock &b, int groups, int size, const uint8_t *d,
               const uint8_t *least, float middle) {
  b.factor = bitsAt(d);
  b.leastFactor = bitsAt(least);
  for (int g = 0; g < groups; ++g)
    setMinimum(b, g, size, halfAt(d) * float(b.codes[g]),
               halfAt(least) * float(b.leastCodes[g]), middle);
}

/// Q4_0, Q4_1: a scale, perhaps a minimum, nibbles.
void decode4(const uint8_t *p, bool hasMinimum, int count, GgufBlock &b) {
  const uint8_t *qs = p + (hasMinimum ? 4 : 2);
  for (int i = 0; i < count; ++i)
    b.elements[i] = int8_t(nibbleAt(qs, i) - 8);
  b.scales[0] = halfAt(p);
  if (hasMinimum)
    setMinimum(b, 0, 32, halfAt(p), -halfAt(p + 2), 8);
}

/// Q5_0, Q5_1: likewise, with the fifth bits of all elements before them.
void decode5(const uint8_t *p, bool hasMinimum, int count, GgufBlock &b) {
  const uint8_t *high = p + (hasMinimum ? 4 : 2), *qs = high + 4;
  for (int i = 0; i < count; ++i) {
    int bit = high[i / 8] >> (i % 8) & 1;
    b.elements[i] =
        int8_t((nibbleAt(qs, i) | bit << 4) - (hasMinimum ? 0 : 16));
  }
  b.scales[0] = halfAt(p);
  if (hasMinimum)
    setMinimum(b, 0, 32, halfAt(p), -halfAt(p + 2), 0);
}

/// The eight scales and minima of Q4_K and Q5_K, six bits each: four of either
/// in the low bits of eight bytes, whose high bits are the highest two of the
/// other four, which have their low bits in four bytes more.
void readSixBits(const uint8_t *p, int group, int &scale, int &minimum) {
  if (group < 4) {
    scale = p[group] & 63;
    minimum = p[group + 4] & 63;
    return;
  }
  scale = (p[group + 4] & 15) | p[group - 4] >> 6 << 4;
  minimum = p[group + 4] >> 4 | p[group] >> 6 << 4;
}

/// Q4_K, Q5_K: a scale of scales and one of minima, these, perhaps the fifth
/// bits, and the nibbles, 32 bytes of which have two groups.
void decodeK45(const uint8_t *p, bool hasFifth, int count, GgufBlock &b) {
  const uint8_t *high = p + 16, *qs = p + (hasFifth ? 48 : 16);
  for (int g = 0; g < 8; ++g) {
    for (int i = 0; i < count / 8; ++i) {
      uint8_t byte = qs[g / 2 * 32 + i];
      int q = g % 2 ? byte >> 4 : byte & 15;
      if (hasFifth)
        q |= (high[i] >> g & 1) << 4;
      b.elements[g * 32 + i] = int8_t(q - (hasFifth ? 0 : 8));
    }
    int scale, minimum;
    readSixBits(p + 4, g, scale, minimum);
    b.codes[g] = int8_t(scale);
    b.leastCodes[g] = int8_t(minimum);
  }
  setMinima(b, 8, 32, p, p + 2, hasFifth ? 0 : 8);
}

/// The two bits of element i of Q2_K and Q3_K: 32 bytes have 128 elements.
int pairAt(const uint8_t *qs, int i) {
  return qs[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
}

/// Q2_K: scales and minima of four bits each, elements of two.
void decodeK2(const uint8_t *p, int count, GgufBlock &b) {
  for (int i = 0; i < count; ++i)
    b.elements[i] = int8_t(pairAt(p + 16, i) - 8);
  for (int g = 0; g < 16; ++g) {
    b.codes[g] = int8_t(p[g] & 15);
    b.leastCodes[g] = int8_t(p[g] >> 4);
  }
  setMinima(b, 16, 16, p + 80, p + 82, 8);
}

/// Q3_K: the third bits, which are one where four is not to be subtracted, two
/// bits, and scales of six.
void decodeK3(const uint8_t *p, int count, GgufBlock &b) {
  const uint8_t *qs = p + 32, *scales = p + 96;
  for (int i = 0; i < count; ++i) {
    int third = p[i % 32] >> (i / 32) & 1;
    b.elements[i] = int8_t(pairAt(qs, i) - (third ? 0 : 4));
  }
  for (int g = 0; g < 16; ++g) {
    int low = g < 8 ? scales[g] & 15 : scales[g - 8] >> 4;
    int high = scales[8 + g % 4] >> (g / 4 * 2) & 3;
    b.codes[g] = int8_t((low | high << 4) - 32);
  }
  setScales(b, 16, p + 108);
}

/// Q6_K: four bits, two bits, scales of eight. 64 bytes of nibbles have 128
/// elements, the first 64 in the low bits; so do 32 bytes of pairs.
void decodeK6(const uint8_t *p, int count, GgufBlock &b) {
  const uint8_t *high = p + 128;
  for (int i = 0; i < count; ++i) {
    uint8_t byte = p[i / 128 * 64 + i % 64];
    int low = i % 128 < 64 ? byte & 15 : byte >> 4;
    b.elements[i] = int8_t((low | pairAt(high, i) << 4) - 32);
  }
  std::memcpy(b.codes, p + 192, 16);
  setScales(b, 16, p + 208);
}

/// The sixteen values of IQ4_NL and IQ4_XS.
constexpr int8_t kUneven[] = {-127, -104, -83, -65, -49, -35, -22, -10,
                              1,    13,   25,  38,  53,  69,  89,  113};

void decodeUneven(const uint8_t *p, int count, GgufBlock &b) {
  b.scales[0] = halfAt(p);
  for (int i = 0; i < count; ++i)
    b.elements[i] = kUneven[nibbleAt(p + 2, i)];
}

void decodeUnevenK(const uint8_t *p, int count, GgufBlock &b) {
  int high = p[2] | p[3] << 8;
  for (int g = 0; g < 8; ++g) {
    int low = g % 2 ? p[4 + g / 2] >> 4 : p[4 + g / 2] & 15;
    b.codes[g] = int8_t((low | (high >> 2 * g & 3) << 4) - 32);
    for (int i = 0; i < count / 8; ++i)
      b.elements[g * 32 + i] = kUneven[nibbleAt(p + 8 + 16 * g, i)];
  }
  setScales(b, 8, p);
}

void decodeMxfp4(const uint8_t *p, int count, GgufBlock &b) {
  b.scales[0] = p[0];
  for (int i = 0; i < count; ++i)
    b.elements[i] = int8_t(nibbleAt(p + 1, i));
}

} // namespace

void tprt::decodeBlock(const GgufType &type, const uint8_t *block,
                       bool wantsElements, GgufBlock &out) {
  int count = wantsElements ? int(type.blockElements) : 0;
  switch (type.id) {
  case 2: // Q4_0
  case 3: // Q4_1
    return decode4(block, type.hasZeros, count, out);
  case 6: // Q5_0
  case 7: // Q5_1
    return decode5(block, type.hasZeros, count, out);
  case 8: // Q8_0
    out.scales[0] = halfAt(block);
    std::memcpy(out.elements, block + 2, size_t(count));
    return;
  case 10: // Q2_K
    return decodeK2(block, count, out);
  case 11: // Q3_K
    return decodeK3(block, count, out);
  case 12: // Q4_K
  case 13: // Q5_K
    return decodeK45(block, type.id == 13, count, out);
  case 14: // Q6_K
    return decodeK6(block, count, out);
  case 20: // IQ4_NL
    return decodeUneven(block, count, out);
  case 23: // IQ4_XS
    return decodeUnevenK(block, count, out);
  default: // MXFP4
    return decodeMxfp4(block, count, out);
  }
}
