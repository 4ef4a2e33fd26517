//===- ReshardSteps.h - Rows of the reshard table, one by one ---*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic and steps that all ways of planning share, private to the library.
// Elements are counted up to the largest int64_t and stay there: a tensor
// whose product of sizes is beyond it is planned like any other.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_SHARDING_RESHARDSTEPS_H
#define TP_LIB_SHARDING_RESHARDSTEPS_H

#include "tp/Sharding/Reshard.h"
#include <limits>

namespace tp::detail {

/// Multiplies numbers that are not negative: the result, or the largest number.
inline int64_t multiply(int64_t a, int64_t b) {
  int64_t result;
  return __builtin_mul_overflow(a, b, &result)
             ? std::numeric_limits<int64_t>::max()
             : result;
}
inline int64_t add(int64_t a, int64_t b) {
  int64_t result;
  return __builtin_add_overflow(a, b, &result)
             ? std::numeric_limits<int64_t>::max()
             : result;
}
inline int64_t divideUp(int64_t a, int64_t b) { return a / b + (a % b != 0); }
inline int64_t getElements(llvm::ArrayRef<int64_t> sizes) {
  // A dimension of size 0 counts wherever it stands.
  if (llvm::is_contained(sizes, 0))
    return 0;
  int64_t elements = 1;
  for (int64_t size : sizes)
    elements = multiply(elements, size);
  return elements;
}

/// The elements that a rank receives if `part` elements of its holding are of
/// the part that the row's cut leaves, padding included.
int64_t countReceived(const CollectiveRow &row, int64_t part, int64_t ranks);

/// Put `step`, taken from `before`, at the end of `plan`. Its kind, axes,
/// dimensions and result are given; the axes of a permute are those of `refs`
/// along which anything moves.
void appendStep(ReshardPlan &plan, llvm::ArrayRef<int64_t> shape,
                const TensorSharding &before, ReshardStep step,
                llvm::ArrayRef<AxisRef> refs, const Mesh &mesh);

} // namespace tp::detail

#endif // TP_LIB_SHARDING_RESHARDSTEPS_H
