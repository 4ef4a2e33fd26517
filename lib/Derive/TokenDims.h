//===- TokenDims.h - Dimensions that tokens are in --------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which dimensions of a forward program's values are the batch and the sequence
// of its ids. They are followed from the ids through the rules of operations
// (tp/Sharding/Rule.h), never found by their sizes: in
//
//   %x = nn.embedding %ids[2, 16], %table[97, 16] -> [2, 16, 16]
//   %y = tensor.collapse_shape %x -> [32, 16]
//
// the first 16 of %x is the sequence and the second is not, and the 32 of %y is
// (batch sequence).
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_DERIVE_TOKENDIMS_H
#define TP_LIB_DERIVE_TOKENDIMS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Sharding/Rule.h"
#include "llvm/ADT/DenseMap.h"

namespace tp {

/// A Role says what a part of a dimension counts.
enum class Role {
  Other,
  /// Texts. A step has one row of tokens, so that it is of size one.
  Batch,
  /// Tokens.
  Sequence,
  /// Of what attention adds to scores, the positions of queries, of which
  /// nothing may depend, and those of keys.
  Query,
  Key,
};

struct Part {
  Role role = Role::Other;
  int64_t size = 1;
  bool operator==(const Part &other) const = default;
};

/// Parts are those of a dimension, major first: none is of size one, and no two
/// that are Other are neighbours.
using Parts = llvm::SmallVector<Part, 2>;
using DimParts = llvm::SmallVector<Parts, 4>;
/// FactorParts has the parts of each factor of a rule, where an operand has
/// said so.
using FactorParts = llvm::SmallVector<std::optional<Parts>, 8>;

void append(Parts &parts, Part part);
bool hasRole(llvm::ArrayRef<Part> parts, Role role);
bool hasTokens(llvm::ArrayRef<Part> parts);
bool hasTokens(const DimParts &dims);
/// Returns the parts of `shape`, all of them Other.
DimParts getPlain(llvm::ArrayRef<int64_t> shape);

/// Returns the parts of a tensor's dimensions by those of the rule's factors.
DimParts project(const ShardingRule &rule, const TensorFactors &tensor,
                 const FactorParts &factors);
/// Finds the parts of the rule's factors by those of a tensor's dimensions.
/// Returns false if a factor ends within the batch or the sequence, or is
/// another operand's batch or sequence and not this one's.
bool distribute(const ShardingRule &rule, const TensorFactors &tensor,
                const DimParts &dims, FactorParts &factors);

/// A TokenOp is what is known of an operation that is given tokens.
struct TokenOp {
  ShardingRule rule;
  FactorParts factors;
  /// It combines positions, and has a form that reads earlier ones from a
  /// cache.
  bool isMixing = false;
};

class TokenDims {
public:
  /// Follows the ids through `source`. Emits an error if there are none, or at
  /// an operation that steps cannot do.
  static mlir::FailureOr<TokenDims> analyse(mlir::func::FuncOp source);

  mlir::BlockArgument getIds() const { return ids; }
  /// Null: the value does not depend on tokens.
  const DimParts *find(mlir::Value value) const {
    auto it = dims.find(value);
    return it == dims.end() ? nullptr : &it->second;
  }
  /// Null: the operation is given no tokens.
  const TokenOp *findOp(mlir::Operation *op) const {
    auto it = ops.find(op);
    return it == ops.end() ? nullptr : &it->second;
  }

private:
  mlir::LogicalResult visit(mlir::Block &block);
  mlir::LogicalResult visit(mlir::Operation *op);
  mlir::LogicalResult visitRepeat(RepeatOp repeat);
  mlir::LogicalResult visitMixing(mlir::Operation *op, TokenOp &entry);

  mlir::BlockArgument ids;
  llvm::DenseMap<mlir::Value, DimParts> dims;
  llvm::DenseMap<mlir::Operation *, TokenOp> ops;
};

/// Returns the argument of integers [B, S] that has no default; null if there
/// is not exactly one.
mlir::BlockArgument findIds(mlir::func::FuncOp source);

/// Emits the error of an argument that steps have not.
mlir::InFlightDiagnostic refuse(mlir::func::FuncOp source,
                                mlir::BlockArgument argument);

/// Emits the beginning of an error of tp-derive-steps at `op`.
mlir::InFlightDiagnostic refuse(mlir::Operation *op);

/// Returns whether linalg.index reads the number of the loop in the body of
/// `op`.
bool readsIndex(mlir::Operation *op, unsigned loop);

} // namespace tp

#endif // TP_LIB_DERIVE_TOKENDIMS_H
