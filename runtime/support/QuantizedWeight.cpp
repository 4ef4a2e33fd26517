//===- QuantizedWeight.cpp - a weight in fewer than 16 bits ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QuantizedWeight.h"

using namespace tprt;

bool tprt::isNibble(QuantizedType type) {
  return type == QuantizedType::U4 || type == QuantizedType::I4 ||
         type == QuantizedType::E2M1;
}

int64_t tprt::scaleBytes(ScaleType type) {
  switch (type) {
  case ScaleType::F32:
    return 4;
  case ScaleType::F16:
  case ScaleType::BF16:
    return 2;
  case ScaleType::E8M0:
  case ScaleType::E4M3:
    return 1;
  }
  return 0;
}

int64_t QuantizedWeight::rowBytes() const {
  return isNibble(type) ? (k + 1) / 2 : k;
}

int64_t QuantizedWeight::columns() const {
  if (groupOf)
    return groups;
  return groupK == 0 ? 1 : (firstK + k + groupK - 1) / groupK;
}

int64_t QuantizedWeight::packedBytes() const {
  return columns() / packed * (packed + 2);
}

bool QuantizedWeight::hasFloatZeros() const { return floatZeros || zeroBlocks; }

int64_t QuantizedWeight::scaleRow(int64_t i) const {
  return groupN == 0 ? 0 : (firstN + i) / groupN;
}

/// One dimension's groups: of `group` elements, the first `first` of which are
/// another shard's.
static Status checkGroups(const char *name, int64_t group, int64_t first) {
  if (group < 0 || first < 0 || (group == 0 ? first > 0 : first >= group))
    return internalError("quantised weight: expected the first ", name,
                         " to stand inside of a group of ", group,
                         " (0: all), got position ", first);
  return {};
}

Status tprt::check(const QuantizedWeight &w) {
  if (w.n <= 0 || w.k <= 0)
    return internalError("quantised weight: expected positive sizes, got ", w.n,
                         " x ", w.k);
  if (!w.values || !w.scales)
    return internalError("quantised weight: values or scales are missing");
  TPRT_TRY(checkGroups("row", w.groupN, w.firstN));
  TPRT_TRY(checkGroups("column", w.groupK, w.firstK));
  if (w.groupOf && w.groups <= 0)
    return internalError("quantised weight: columns have groups of their own, "
                         "but the number of groups is ",
                         w.groups);
  if (w.zero < -112 || w.zero > 127)
    return internalError("quantised weight: expected a zero point from -112 to "
                         "127, got ",
                         w.zero);
  bool isPacked = w.packed > 0 && w.groupN == 1 && w.firstK == 0 &&
                  w.groupK > 0 && !w.groupOf && !w.outerScale && !w.zeros &&
                  !w.floatZeros && w.columns() % w.packed == 0;
  if ((w.packed != 0 || w.zeroBlocks) && !isPacked)
    return internalError(
        "quantised weight: expected groups in whole blocks of ", w.packed,
        ", got ", w.columns());
  bool hasFloats = w.type == QuantizedType::E4M3 ||
                   w.type == QuantizedType::E5M2 ||
                   w.type == QuantizedType::E2M1;
  if (w.floatZeros && w.zeros)
    return internalError("quantised weight: expected zero points in i8 or in "
                         "f32, got both");
  if (hasFloats && (w.zeros || w.hasFloatZeros() || w.zero != 0))
    return internalError("quantised weight: floats have no zero point");
  return {};
}
