//===- TestUtil.h - Short ways to write shardings in tests ------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shardings of tests are written as they print: axes("tp"), axes("tp", 8, 2).
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_UNIT_SHARDING_TESTUTIL_H
#define TP_TEST_UNIT_SHARDING_TESTUTIL_H

#include "tp/Sharding/Sharding.h"

namespace tp::test {

/// The whole axis, or its sub-axis (pre)size.
inline AxisRef ref(const Mesh &mesh, llvm::StringRef name, int64_t pre = 0,
                   int64_t size = 0) {
  unsigned axis = *mesh.findAxis(name);
  return pre ? AxisRef{axis, pre, size} : mesh.getWhole(axis);
}

inline DimSharding cut(AxisList axes, int64_t grain = 1) {
  DimSharding dim;
  dim.axes = std::move(axes);
  dim.grain = grain;
  return dim;
}

inline TensorSharding sharding(llvm::ArrayRef<DimSharding> dims,
                               AxisList partial = {},
                               ReductionKind kind = ReductionKind::Sum) {
  TensorSharding result;
  result.dims.assign(dims.begin(), dims.end());
  result.partial = std::move(partial);
  result.reduction = kind;
  return result;
}

} // namespace tp::test

#endif // TP_TEST_UNIT_SHARDING_TESTUTIL_H
