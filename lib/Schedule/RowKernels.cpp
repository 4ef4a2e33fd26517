//===- RowKernels.cpp - What makes a function a kernel --------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See RowKernels.h.
//
//===----------------------------------------------------------------------===//

#include "tp/Schedule/RowKernels.h"

using namespace mlir;

FailureOr<SmallVector<unsigned>> tp::getRowDims(linalg::GenericOp op,
                                                unsigned numRowDims) {
  SmallVector<unsigned> rows;
  for (auto [position, init] : llvm::enumerate(op.getDpsInitsMutable())) {
    AffineMap map = op.getMatchingIndexingMap(&init);
    if (map.getNumResults() < numRowDims)
      return failure();
    SmallVector<unsigned> own;
    for (AffineExpr result : map.getResults().take_front(numRowDims)) {
      auto dim = dyn_cast<AffineDimExpr>(result);
      if (!dim || llvm::is_contained(own, dim.getPosition()))
        return failure();
      own.push_back(dim.getPosition());
    }
    if (position == 0)
      rows = own;
    else if (own != rows)
      return failure();
  }
  return rows;
}

bool tp::isRowAligned(AffineMap map, ArrayRef<unsigned> rows,
                      ArrayRef<int64_t> shape) {
  if (map.getNumResults() < rows.size())
    return false;
  for (auto [position, dim] : llvm::enumerate(rows)) {
    auto expr = dyn_cast<AffineDimExpr>(map.getResult(position));
    if (shape[position] != 1 && (!expr || expr.getPosition() != dim))
      return false;
  }
  return true;
}
