//===- ParameterNames.h - What parameter names stand for --------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A name is one tensor of the checkpoint, a template one for each iteration of
// the innermost tp.repeat around it. Everything that loads, counts, compares or
// forgets parameters asks here which tensors those are.
//
// Example: "layers.{i}.w" in `tp.repeat 3 times from 2` stands for
// "layers.2.w", "layers.3.w" and "layers.4.w". Where an iteration has several
// layers, "layers.{2*{i}+1}.w" is the second of two: see tprt/names.h.
//
//===----------------------------------------------------------------------===//

#ifndef TP_DIALECT_TP_IR_PARAMETERNAMES_H
#define TP_DIALECT_TP_IR_PARAMETERNAMES_H

#include "mlir/IR/BuiltinOps.h"
#include "tp/Dialect/TP/IR/TPOps.h"

namespace tp {

/// On a parameter of bytes: TypeAttr, this rank's tensor of which they are.
inline constexpr llvm::StringLiteral storedTypeAttrName = "tp.stored_type";
/// Marks scales and zero points whose file has so many groups in a block with
/// an f16 of its own: they may lie in memory as such blocks
/// (nn.quantized_linear).
inline constexpr llvm::StringLiteral packedGroupsAttrName = "tp.packed_groups";
/// Discardable attribute on operations and functions: IntegerAttr, see
/// tp-assign-value-ids. What makes a value another one takes it away.
inline constexpr llvm::StringLiteral valueIdAttrName = "tp.value_id";

/// On the module: ArrayAttr of StringAttr, the parameters that no rule of the
/// plan names, for the ledger.
inline constexpr llvm::StringLiteral unnamedParametersAttrName =
    "tp.unnamed_parameters";

/// The names that a pattern stands for: with `{i}` from `first`, `count` of
/// them; without, itself.
struct NameRange {
  llvm::StringRef pattern;
  int64_t first = 0, count = 1;

  bool isTemplate() const { return pattern.contains("{i}"); }
  /// True if iterations of both are the same tensors, if the patterns are.
  bool overlaps(const NameRange &other) const;
  /// The index at which the pattern is `name`; none if it is not.
  std::optional<int64_t> findIndex(llvm::StringRef name) const;
};

/// `pattern` with each number replaced by that of the iteration `index`.
std::string instantiate(llvm::StringRef pattern, int64_t index);

/// A name that both stand for, and its index in `a`.
std::optional<std::pair<std::string, int64_t>>
findCommonName(const NameRange &a, const NameRange &b);

/// True if a name stands for one tensor of the checkpoint for each position of
/// the first dimension, `{e}`.
bool isStack(llvm::StringRef name);
/// The name of each tensor and what shape it has, of a parameter or of the part
/// of it that `{i}` in the name stood for.
llvm::SmallVector<std::string>
getTensorNames(llvm::StringRef name, llvm::ArrayRef<int64_t> checkpointShape);
llvm::ArrayRef<int64_t> getTensorShape(llvm::StringRef name,
                                       llvm::ArrayRef<int64_t> checkpointShape);

/// The names of a parameter: its own.
NameRange getNames(ParameterOp op);
/// The names of a parameter, or of the one that a state begins with, and then
/// those of its alternatives. Any other operation has none.
llvm::SmallVector<NameRange, 2> getAllNames(mlir::Operation *op);

/// On a parameter of integers that name something: IntegerAttr, how many of it
/// there are.
inline constexpr llvm::StringLiteral integerEndAttrName = "tp.integer_end";

/// A parameter's tensor of all ranks, whose elements are those of its values
/// even where it has become bytes.
mlir::RankedTensorType getUnpackedType(ParameterOp op);

/// The tensor of the checkpoint that a parameter is a part of, or a state
/// begins with.
mlir::RankedTensorType getCheckpointType(mlir::Operation *op);

/// Fails, with an error at the second place and a note at the first, if one
/// name stands for two tensors: of another shape or element type (a state may
/// begin with another type than a parameter's), or with other alternatives.
/// Looks at all functions and states of the module.
mlir::LogicalResult verifyParameterNames(mlir::ModuleOp module);

/// Glob patterns of the names in `all` that `used` lacks, each once.
llvm::SmallVector<std::string> getUnusedNames(llvm::ArrayRef<NameRange> all,
                                              llvm::ArrayRef<NameRange> used);

} // namespace tp

#endif // TP_DIALECT_TP_IR_PARAMETERNAMES_H
