//===- ReshardConstruct.h - A reshard without a search ----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plan where no search reaches, private to the library. Steps are chosen by
// counting the primes that cut each dimension, so the work does not depend on
// how many orders of axes there are, and every step receives at most the larger
// of the two local tensors. docs/Sharding.md, "Searches", states the bound.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_SHARDING_RESHARDCONSTRUCT_H
#define TP_LIB_SHARDING_RESHARDCONSTRUCT_H

#include "tp/Sharding/Reshard.h"

namespace tp::detail {

/// A plan from `from` to `to`, both closed and normalized, of bounded cost.
ReshardPlan constructReshard(llvm::ArrayRef<int64_t> shape,
                             const TensorSharding &from,
                             const TensorSharding &to, const Mesh &mesh);

} // namespace tp::detail

#endif // TP_LIB_SHARDING_RESHARDCONSTRUCT_H
