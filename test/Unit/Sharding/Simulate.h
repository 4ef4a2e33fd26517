//===- Simulate.h - Shardings and reshards on explicit buffers --*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The meaning of shardings and of the steps of a reshard, in loops over the
// buffers of all ranks: the definition that plans, and the collectives of the
// interpreter, are tested against. Nothing here is meant to be fast.
//
// Example, mesh ["x"=2], shape [3], sharding [{"x"}]: {1, 2, 3} is {1, 2} on
// rank 0 and {3, pad} on rank 1.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_UNIT_SHARDING_SIMULATE_H
#define TP_TEST_UNIT_SHARDING_SIMULATE_H

#include "tp/Sharding/Reshard.h"
#include "tp/Support/Indices.h"
#include <map>
#include <vector>

namespace tp {

/// One dense row-major buffer of the local shape for each rank.
template <typename T>
using RankBuffers = std::vector<std::vector<T>>;

/// Row-major position of `index`; -1 if it is outside of `shape`.
inline int64_t getPosition(llvm::ArrayRef<int64_t> shape,
                           llvm::ArrayRef<int64_t> index) {
  int64_t position = 0;
  for (auto [size, i] : llvm::zip_equal(shape, index)) {
    if (i >= size)
      return -1;
    position = position * size + i;
  }
  return position;
}

/// The global index of a rank's local one; false for padding.
inline bool getGlobalIndex(llvm::ArrayRef<int64_t> shape,
                           const TensorSharding &sharding, const Mesh &mesh,
                           int64_t rank, llvm::MutableArrayRef<int64_t> index) {
  bool isReal = true;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    const DimSharding &cut = sharding.dims[dim];
    std::optional<int64_t> position = getLogicalPosition(
        size, cut, mesh.getIndexAlong(rank, cut.axes), index[dim]);
    index[dim] = position.value_or(size);
    isReal &= position.has_value();
  }
  return isReal;
}

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

/// The addends that make up one element: `addends` has one per position
/// along the partial axes, to be filled so that they combine to `value`.
template <typename T>
using SplitValue =
    llvm::function_ref<void(T value, llvm::MutableArrayRef<T> addends)>;

/// Spread `global` (row-major, of `shape`) over the ranks; padding holds
/// `pad`. A partial value has all of it at position 0 along the partial axes
/// and zeros elsewhere (for max and min: all of it everywhere), unless `split`
/// says otherwise.
template <typename T>
RankBuffers<T> distribute(llvm::ArrayRef<T> global,
                          llvm::ArrayRef<int64_t> shape,
                          const TensorSharding &sharding, const Mesh &mesh,
                          T pad = T(0), SplitValue<T> split = nullptr) {
  int64_t numAddends = getShardCount(sharding.partial);
  std::vector<T> addends(global.size() * numAddends);
  for (size_t i = 0; i < global.size(); ++i) {
    llvm::MutableArrayRef<T> parts(&addends[i * numAddends], numAddends);
    if (split && numAddends > 1) {
      split(global[i], parts);
      continue;
    }
    bool once = sharding.reduction == ReductionKind::Sum;
    std::fill(parts.begin(), parts.end(), once ? T(0) : global[i]);
    parts[0] = global[i];
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

/// Two ranks that should hold the same element and do not.
struct ReplicaMismatch {
  int64_t rankA, rankB;
  /// Row-major position in the global tensor.
  int64_t element;
};

/// True if all copies agree bit for bit, padding aside.
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
/// the group. Elements that a step adds are `pad`.
template <typename T>
RankBuffers<T> applyStep(const RankBuffers<T> &buffers,
                         llvm::ArrayRef<int64_t> shape,
                         const TensorSharding &from, const ReshardStep &step,
                         const Mesh &mesh, T pad = T(0)) {
  llvm::SmallVector<int64_t> before = getLocalShape(shape, from);
  llvm::SmallVector<int64_t> after = getLocalShape(shape, step.result);
  RankBuffers<T> result(buffers.size());
  const CollectiveRow &row = step.getRow();
  if (row.permutes()) {
    for (auto [source, target] : step.pairs)
      result[target] = buffers[source];
    return result;
  }
  auto read = [&](int64_t rank, llvm::ArrayRef<int64_t> index) {
    int64_t position = getPosition(before, index);
    return position < 0 ? pad : buffers[rank][position];
  };
  int64_t gathered = step.getGatheredDim(), cut = step.getCutDim();
  // One rank holds the value of a sum; of a maximum all may.
  bool onlyFirst =
      row.to == Holding::Partial && step.reduction == ReductionKind::Sum;
  for (const auto &group : mesh.getGroups(step.axes))
    for (auto [place, rank] : llvm::enumerate(group))
      forEachIndex(after, [&](llvm::MutableArrayRef<int64_t> index, int64_t) {
        int64_t source = rank;
        if (cut >= 0)
          index[cut] += place * after[cut];
        if (gathered >= 0) {
          source = group[index[gathered] / before[gathered]];
          index[gathered] %= before[gathered];
        }
        T value = read(row.reduces() ? group[0] : source, index);
        if (row.reduces())
          for (int64_t other : llvm::drop_begin(group))
            value = combine(step.reduction, value, read(other, index));
        result[rank].push_back(onlyFirst && place != 0 ? T(0) : value);
      });
  return result;
}

} // namespace tp

#endif // TP_TEST_UNIT_SHARDING_SIMULATE_H
