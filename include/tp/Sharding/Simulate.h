//===- Simulate.h - Shardings and reshards on explicit buffers --*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What shardings and the steps of a reshard mean, in loops over the buffers of
// all ranks: the definition that plans are tested against and that the
// interpreter of partitioned programs uses for its collectives. Nothing here
// is meant to be fast.
//
// Example, mesh ["x"=2], shape [3], sharding [{"x"}]: {1, 2, 3} is {1, 2} on
// rank 0 and {3, pad} on rank 1.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SHARDING_SIMULATE_H
#define TP_SHARDING_SIMULATE_H

#include "tp/Sharding/Reshard.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <map>
#include <vector>

namespace tp {

/// One dense row-major buffer of the local shape for each rank.
template <typename T>
using RankBuffers = std::vector<std::vector<T>>;

/// Every index of `shape` in row-major order, with its position in it.
void forEachIndex(
    llvm::ArrayRef<int64_t> shape,
    llvm::function_ref<void(llvm::MutableArrayRef<int64_t>, int64_t)> visit);
/// Row-major position of `index`; -1 if it is outside of `shape`.
int64_t getPosition(llvm::ArrayRef<int64_t> shape,
                    llvm::ArrayRef<int64_t> index);
/// The global index of a rank's local one; false for a padding lane.
bool getGlobalIndex(llvm::ArrayRef<int64_t> shape,
                    const TensorSharding &sharding, const Mesh &mesh,
                    int64_t rank, llvm::MutableArrayRef<int64_t> index);

template <typename T>
T combine(ReductionKind kind, T a, T b) {
  switch (kind) {
  case ReductionKind::Sum:
    return a + b;
  case ReductionKind::Max:
    return a < b ? b : a;
  case ReductionKind::Min:
    return b < a ? b : a;
  }
  llvm_unreachable("unknown reduction");
}

/// The addends that make up one element: `addends` has one lane per position
/// along the partial axes, to be filled so that they combine to `value`.
template <typename T>
using SplitValue =
    llvm::function_ref<void(T value, llvm::MutableArrayRef<T> addends)>;

/// Spread `global` (row-major, of `shape`) over the ranks; padding lanes hold
/// `pad`. A partial value has its whole at position 0 along the partial axes
/// and zeros elsewhere (for max and min: the whole everywhere), unless `split`
/// says otherwise.
template <typename T>
RankBuffers<T> distribute(llvm::ArrayRef<T> global,
                          llvm::ArrayRef<int64_t> shape,
                          const TensorSharding &sharding, const Mesh &mesh,
                          T pad = T(0), SplitValue<T> split = nullptr) {
  int64_t numAddends = getShardCount(sharding.partial);
  std::vector<T> addends(global.size() * numAddends);
  for (size_t i = 0; i < global.size(); ++i) {
    llvm::MutableArrayRef<T> lanes(&addends[i * numAddends], numAddends);
    if (split && numAddends > 1) {
      split(global[i], lanes);
      continue;
    }
    bool once = sharding.reduction == ReductionKind::Sum;
    std::fill(lanes.begin(), lanes.end(), once ? T(0) : global[i]);
    lanes[0] = global[i];
  }
  RankBuffers<T> buffers(mesh.getNumRanks());
  llvm::SmallVector<int64_t> local = getLocalShape(shape, sharding);
  for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank) {
    int64_t addend = mesh.getIndexAlong(rank, sharding.partial);
    forEachIndex(local, [&](llvm::MutableArrayRef<int64_t> index, int64_t) {
      bool isReal = getGlobalIndex(shape, sharding, mesh, rank, index);
      buffers[rank].push_back(
          isReal ? addends[getPosition(shape, index) * numAddends + addend]
                 : pad);
    });
  }
  return buffers;
}

/// The global value: shards put together, padding stripped, addends combined in
/// the order of their position. Of several copies, that of the lowest rank.
template <typename T>
std::vector<T> assemble(const RankBuffers<T> &buffers,
                        llvm::ArrayRef<int64_t> shape,
                        const TensorSharding &sharding, const Mesh &mesh) {
  int64_t elements = 1, numAddends = getShardCount(sharding.partial);
  for (int64_t size : shape)
    elements *= size;
  std::vector<T> addends(elements * numAddends);
  llvm::SmallVector<int64_t> local = getLocalShape(shape, sharding);
  for (int64_t rank = mesh.getNumRanks(); rank-- > 0;) {
    int64_t addend = mesh.getIndexAlong(rank, sharding.partial);
    forEachIndex(local,
                 [&](llvm::MutableArrayRef<int64_t> index, int64_t position) {
                   if (getGlobalIndex(shape, sharding, mesh, rank, index))
                     addends[getPosition(shape, index) * numAddends + addend] =
                         buffers[rank][position];
                 });
  }
  std::vector<T> global(elements);
  for (int64_t i = 0; i < elements; ++i) {
    global[i] = addends[i * numAddends];
    for (int64_t j = 1; j < numAddends; ++j)
      global[i] =
          combine(sharding.reduction, global[i], addends[i * numAddends + j]);
  }
  return global;
}

/// Two ranks that should hold the same lane and do not.
struct ReplicaMismatch {
  int64_t rankA, rankB;
  /// Row-major position in the global tensor.
  int64_t element;
};

/// Whether all copies agree bit for bit, padding lanes aside.
template <typename T>
std::optional<ReplicaMismatch>
findReplicaMismatch(const RankBuffers<T> &buffers,
                    llvm::ArrayRef<int64_t> shape,
                    const TensorSharding &sharding, const Mesh &mesh) {
  std::map<std::pair<int64_t, int64_t>, std::pair<int64_t, T>> first;
  std::optional<ReplicaMismatch> mismatch;
  llvm::SmallVector<int64_t> local = getLocalShape(shape, sharding);
  for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank) {
    int64_t addend = mesh.getIndexAlong(rank, sharding.partial);
    forEachIndex(local, [&](llvm::MutableArrayRef<int64_t> index,
                            int64_t position) {
      if (mismatch || !getGlobalIndex(shape, sharding, mesh, rank, index))
        return;
      int64_t element = getPosition(shape, index);
      auto [it, isNew] =
          first.try_emplace({element, addend}, rank, buffers[rank][position]);
      if (!isNew && !(it->second.second == buffers[rank][position]))
        mismatch = ReplicaMismatch{it->second.first, rank, element};
    });
  }
  return mismatch;
}

/// One step on every rank: from the buffers of `from` to those of step.result,
/// each rank reading only buffers of its group. Addends combine in the order of
/// the group. Lanes that a step adds are `pad`.
template <typename T>
RankBuffers<T> applyStep(const RankBuffers<T> &buffers,
                         llvm::ArrayRef<int64_t> shape,
                         const TensorSharding &from, const ReshardStep &step,
                         const Mesh &mesh, T pad = T(0)) {
  llvm::SmallVector<int64_t> before = getLocalShape(shape, from);
  llvm::SmallVector<int64_t> after = getLocalShape(shape, step.result);
  RankBuffers<T> result(buffers.size());
  if (step.kind == ReshardStepKind::CollectivePermute) {
    for (auto [source, target] : step.pairs)
      result[target] = buffers[source];
    return result;
  }
  auto read = [&](int64_t rank, llvm::ArrayRef<int64_t> index) {
    int64_t position = getPosition(before, index);
    return position < 0 ? pad : buffers[rank][position];
  };
  for (const auto &group : mesh.getGroups(step.axes))
    for (auto [place, rank] : llvm::enumerate(group))
      forEachIndex(after, [&](llvm::MutableArrayRef<int64_t> index, int64_t) {
        int64_t source = rank;
        switch (step.kind) {
        case ReshardStepKind::KeepFirst:
          if (place != 0 && step.reduction == ReductionKind::Sum)
            return result[rank].push_back(T(0));
          break;
        case ReshardStepKind::Slice:
        case ReshardStepKind::ReduceScatter:
          index[step.dim] += place * after[step.dim];
          break;
        case ReshardStepKind::AllToAll:
          index[step.splitDim] += place * after[step.splitDim];
          [[fallthrough]];
        case ReshardStepKind::AllGather:
          source = group[index[step.dim] / before[step.dim]];
          index[step.dim] %= before[step.dim];
          break;
        case ReshardStepKind::AllReduce:
        case ReshardStepKind::CollectivePermute:
          break;
        }
        if (step.kind != ReshardStepKind::AllReduce &&
            step.kind != ReshardStepKind::ReduceScatter)
          return result[rank].push_back(read(source, index));
        T value = read(group[0], index);
        for (int64_t other : llvm::drop_begin(group))
          value = combine(step.reduction, value, read(other, index));
        result[rank].push_back(value);
      });
  return result;
}

} // namespace tp

#endif // TP_SHARDING_SIMULATE_H
