//===- PaddingMask.h - Padding overwritten by position ----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mask is a linalg.generic that partition inserts: it replaces the padding of
// one dimension by a number and leaves every logical element as it is. On
// global types, which have no padding, it is therefore the identity.
//
//===----------------------------------------------------------------------===//

#ifndef TP_PARTITION_PADDINGMASK_H
#define TP_PARTITION_PADDINGMASK_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "tp/Dialect/TP/IR/TPOps.h"

namespace tp {

/// Padding of one dimension of an operand, to be overwritten with a number.
struct Mask {
  unsigned dim;
  int64_t value;
  bool operator==(const Mask &other) const = default;
};

/// Builds `local` with its padding past `size` along `mask.dim` overwritten. A
/// select by global position does it, so that no NaN of the padding gets
/// through. `axes` cut the dimension. The result has the type of `local` and
/// neither a sharding nor a rule.
mlir::linalg::GenericOp buildPaddingMask(mlir::OpBuilder &builder,
                                         mlir::Location loc, mlir::Value local,
                                         const Mask &mask, int64_t size,
                                         mlir::FlatSymbolRefAttr meshSymbol,
                                         const Mesh &mesh,
                                         llvm::ArrayRef<AxisRef> axes);

/// The value that a mask made `value` of; null if none did. `value` is a part
/// of a tensor of `shape`, in which the mask leaves every element as it is.
mlir::Value getMaskedValue(mlir::Value value, llvm::ArrayRef<int64_t> shape);

} // namespace tp

#endif // TP_PARTITION_PADDINGMASK_H
