//===- Sizes.h - How large a tensor may be ----------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes are multiplied in many places: elements, bytes, strides, operations of
// a product. All of these stay below 2^63 if no tensor has more elements than
// the limit, so it is checked once, where a program enters a stage.
//
//===----------------------------------------------------------------------===//

#ifndef TP_DIALECT_TP_IR_SIZES_H
#define TP_DIALECT_TP_IR_SIZES_H

#include "mlir/IR/BuiltinOps.h"

namespace tp {

/// Elements that a tensor may have, and each of its dimensions: what the tables
/// of an artifact count (kMaxSize of runtime/format).
inline constexpr int64_t maxElements = int64_t(1) << 40;

/// The product of `sizes`, in which a dynamic size and a size of zero count as
/// one, for strides are products of the others; nothing if it is above
/// `maxElements`.
std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> sizes);

/// An error at the first function, operation or attribute with a tensor (or
/// buffer) of more than `maxElements` elements, which names the argument or
/// result.
mlir::LogicalResult expectSizes(mlir::ModuleOp module);

} // namespace tp

#endif // TP_DIALECT_TP_IR_SIZES_H
