//===- QuantizedParser.h - what the manifest says of quantised --*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a parameter is packed, and the weight of a product.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_FORMAT_QUANTIZEDPARSER_H
#define TPRT_FORMAT_QUANTIZEDPARSER_H

#include "Cursor.h"
#include "Manifest.h"

namespace tprt {

/// Words in the order of QuantizedType.
inline QuantizedType parseElement(const Cursor &cursor) {
  return QuantizedType(cursor.word({"i8", "u4", "i4", "e4m3", "e5m2", "e2m1"}));
}
/// The types that a cache may have.
inline QuantizedType parseCacheElement(const Cursor &cursor) {
  constexpr int kI8 = 0, kE4m3 = 3;
  return QuantizedType(cursor.word({"i8", "e4m3"}) == 0 ? kI8 : kE4m3);
}
inline int64_t getBits(QuantizedType type) {
  constexpr int64_t bits[] = {8, 4, 4, 8, 8, 4};
  return bits[int(type)];
}

inline Storage parseStorage(const Cursor &cursor, size_t rank) {
  Storage s;
  static const std::vector<std::string_view> types{
      "F32", "F16", "BF16", "I32", "I8", "U8", "F8_E4M3", "F8_E5M2"};
  s.type = types[cursor["type"].word(types)];
  if (cursor.has("element"))
    s.element = parseElement(cursor["element"]);
  s.isNibble = s.element && getBits(*s.element) == 4;
  if (cursor.has("bits")) {
    int64_t word = s.type == "I32" ? 32 : 8;
    s.bits = cursor["bits"].integer(1, word);
    if (word % s.bits != 0 || s.isFloat())
      cursor["bits"].fail("expected a divisor of a word's bits, ", word,
                          ", got ", s.bits);
    s.dim = cursor["dim"].integer(0, int64_t(rank) - 1);
  }
  if (cursor.has("order"))
    s.order =
        cursor["order"].permutation(s.elementsPerWord(), "items", "element");
  if (cursor.has("offset"))
    s.offset = cursor["offset"].integer(-256, 256);
  if (cursor.has("end"))
    s.end = cursor["end"].integer(1, kMaxSize);
  if (cursor.has("packed"))
    s.packed = cursor["packed"].integer(1, 256);
  if (cursor.has("repeat")) {
    s.repeat = cursor["repeat"].shape();
    if (s.repeat.size() != rank)
      cursor["repeat"].fail("expected ", rank, " counts, got ",
                            s.repeat.size());
  }
  cursor.end();
  return s;
}

inline QuantizedGemm parseQuantized(const Cursor &cursor) {
  QuantizedGemm q;
  q.type = parseElement(cursor["type"]);
  q.scaleType = ScaleType(
      cursor["scale_type"].word({"f32", "f16", "bf16", "e8m0", "e4m3"}));
  std::vector<Cursor> group = cursor["group"].list(2, "two sizes");
  q.groupN = group[0].integer(0, kMaxSize);
  q.groupK = group[1].integer(0, kMaxSize);
  q.groups = cursor["groups"].size();
  if (cursor.has("zeros"))
    q.hasFloatZeros = cursor["zeros"].word({"i8", "f32"}) == 1;
  if (cursor.has("packed")) {
    q.packed = cursor["packed"].integer(1, 256);
    bool isWhole = q.groupN == 1 && q.groupK > 0 && q.groups % q.packed == 0;
    if (!isWhole)
      cursor["packed"].fail("expected groups of one row in whole blocks of ",
                            q.packed, ", got ", q.groups);
  }
  if (cursor.has("integers"))
    q.hasIntegers = cursor["integers"].boolean();
  cursor.end();
  return q;
}

} // namespace tprt

#endif // TPRT_FORMAT_QUANTIZEDPARSER_H
