//===- ReshardUtil.h - Random reshards and what a plan must keep *- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shardings drawn at random, and checks of a plan that hold whatever search
// found it: legal steps, the same values, no less than some rank must receive.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_UNIT_SHARDING_RESHARDUTIL_H
#define TP_TEST_UNIT_SHARDING_RESHARDUTIL_H

#include "tp/Sharding/Reshard.h"
#include <random>

namespace tp::test {

constexpr unsigned reshardSeed = 20261122;

int64_t product(llvm::ArrayRef<int64_t> sizes);

/// Distinct values through the steps of `plan`, with rubbish in the padding.
void checkValues(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                 const TensorSharding &from, const TensorSharding &to,
                 const ReshardPlan &plan);
/// Every step is a row of the table, and what is received adds up.
void checkSteps(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                const TensorSharding &from, const TensorSharding &to,
                const ReshardPlan &plan);
/// A lower bound: what some rank must hold and does not.
int64_t getRemaining(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                     const TensorSharding &from, const TensorSharding &to);
/// The bound of a constructed plan: docs/Sharding.md, "Searches".
void checkConstructed(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                      const TensorSharding &from, const TensorSharding &to,
                      const ReshardPlan &plan);

/// Up to 12 axes and `ranks` ranks: all of size 2, or of any.
Mesh pickMesh(std::mt19937 &random, int64_t ranks, bool isTwos);
llvm::SmallVector<int64_t> pickShape(std::mt19937 &random, int64_t most);
TensorSharding pickSharding(std::mt19937 &random, llvm::ArrayRef<int64_t> shape,
                            const Mesh &mesh);
/// The least shape of as many dimensions that both cut evenly.
llvm::SmallVector<int64_t> getEvenShape(const TensorSharding &from,
                                        const TensorSharding &to);

} // namespace tp::test

#endif // TP_TEST_UNIT_SHARDING_RESHARDUTIL_H
