//===- ReshardMemo.h - Reshards that took long to plan ----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pass asks for the same reshard again and again: as the price of a conflict,
// for every order of several uses, and to write the steps. The latest plans
// that were searched for long are kept, a few for each thread; planning is a
// function of the question alone, so nothing but time depends on it.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_SHARDING_RESHARDMEMO_H
#define TP_LIB_SHARDING_RESHARDMEMO_H

#include "tp/Sharding/Reshard.h"
#include <deque>

namespace tp::detail {

class ReshardMemo {
public:
  /// The plan between two closed and normalized shardings, or null.
  const ReshardPlan *find(llvm::ArrayRef<int64_t> shape,
                          const TensorSharding &from, const TensorSharding &to,
                          const Mesh &mesh) const {
    for (const Entry &entry : entries)
      if (shape == llvm::ArrayRef(entry.shape) && from == entry.from &&
          to == entry.to && mesh == entry.mesh)
        return &entry.plan;
    return nullptr;
  }
  void add(llvm::ArrayRef<int64_t> shape, const TensorSharding &from,
           const TensorSharding &to, const Mesh &mesh,
           const ReshardPlan &plan) {
    // A shorter search costs no more than to look here.
    if (plan.work < 1000)
      return;
    if (entries.size() == 32)
      entries.pop_front();
    entries.push_back({llvm::to_vector(shape), from, to, mesh, plan});
  }

private:
  struct Entry {
    llvm::SmallVector<int64_t> shape;
    TensorSharding from, to;
    Mesh mesh;
    ReshardPlan plan;
  };
  std::deque<Entry> entries;
};

} // namespace tp::detail

#endif // TP_LIB_SHARDING_RESHARDMEMO_H
