//===- Provenance.h - Why a value is spread as it is ------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Propagation records, for every mesh axis in a value's sharding, the
// annotation that it comes from and the operation that brought it. Partition
// copies both into the ledger. In IR this is `tp.because`: on operations an
// array with one array per result, on function arguments and results one array,
// of dictionaries
//
//   {annotation = "mlp.down_proj.weight dim 1 on \"tp\"", axis = "tp",
//    partial, via = "nn.linear over k at mlp.down_proj"}
//
// with `dim = 1 : i64` in place of `partial` where the axis cuts a dimension.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RESOLVE_PROVENANCE_H
#define TP_RESOLVE_PROVENANCE_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <string>

namespace tp {

/// Why one axis of the mesh is in the sharding of a value.
struct Because {
  /// The axis's name; sub-axes of it count as the axis.
  std::string axis;
  /// The dimension that it cuts; none if the value is partial over it.
  std::optional<unsigned> dim;
  /// The annotation that led to it: whose, which dimension, which axis.
  std::string annotation;
  /// The operation through which it came, with the factor and the location:
  /// `nn.linear over k at model.layers.{i}.mlp.down_proj`; empty on the
  /// annotated value itself.
  std::string via;

  bool operator==(const Because &other) const = default;
};

/// The name of the discardable attribute.
inline constexpr llvm::StringLiteral becauseAttrName = "tp.because";

/// The record of a value: on the operation that defines it or the function
/// argument; block arguments of tp.repeat have that of the carried result or of
/// the stacked operand.
llvm::SmallVector<Because> getBecause(mlir::Value value);
/// Record it there where getBecause reads it (not for stacked slices).
void setBecause(mlir::Value value, llvm::ArrayRef<Because> entries);
/// For result `index` of a function.
llvm::SmallVector<Because> getResultBecause(mlir::Operation *function,
                                            unsigned index);
void setResultBecause(mlir::Operation *function, unsigned index,
                      llvm::ArrayRef<Because> entries);

/// The entry for the axis of that name; null if the value is not spread over
/// it or no reason is recorded.
std::optional<Because> getBecause(mlir::Value value, llvm::StringRef axis);

/// The location as people write it: the module's path of a NameLoc, else
/// `file:line:column`, else empty.
std::string toString(mlir::Location location);

} // namespace tp

#endif // TP_RESOLVE_PROVENANCE_H
