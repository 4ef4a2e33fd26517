//===- Simulate.cpp - Shardings and reshards on explicit buffers ----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The index arithmetic that does not depend on the element type.
//
//===----------------------------------------------------------------------===//

#include "tp/Sharding/Simulate.h"

using namespace tp;
using llvm::ArrayRef;
using llvm::MutableArrayRef;
using llvm::SmallVector;

void tp::forEachIndex(
    ArrayRef<int64_t> shape,
    llvm::function_ref<void(MutableArrayRef<int64_t>, int64_t)> visit) {
  int64_t elements = 1;
  for (int64_t size : shape)
    elements *= size;
  SmallVector<int64_t> index(shape.size(), 0), copy;
  for (int64_t position = 0; position < elements; ++position) {
    copy = index; // the visitor may change it
    visit(copy, position);
    for (size_t dim = shape.size(); dim-- > 0;) {
      if (++index[dim] < shape[dim])
        break;
      index[dim] = 0;
    }
  }
}

int64_t tp::getPosition(ArrayRef<int64_t> shape, ArrayRef<int64_t> index) {
  int64_t position = 0;
  for (auto [size, i] : llvm::zip_equal(shape, index)) {
    if (i >= size)
      return -1;
    position = position * size + i;
  }
  return position;
}

bool tp::getGlobalIndex(ArrayRef<int64_t> shape, const TensorSharding &sharding,
                        const Mesh &mesh, int64_t rank,
                        MutableArrayRef<int64_t> index) {
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
