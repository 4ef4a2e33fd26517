//===- OwnAttributes.h - Operations with no attribute but theirs -*- C++
//-*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR keeps whatever stands beside the attributes of an operation's own, and
// asks a dialect about names with its prefix alone: a misspelt `causl` would
// silently mean what no `causal` means. All operations of tp and nn have this
// trait, so that every tool that reads IR, an editor's server among them,
// refuses one.
//
//===----------------------------------------------------------------------===//

#ifndef TP_DIALECT_TP_IR_OWNATTRIBUTES_H
#define TP_DIALECT_TP_IR_OWNATTRIBUTES_H

#include "mlir/IR/OpDefinition.h"

namespace tp {

/// An error at an operation with an attribute that is neither its own nor has a
/// dialect's prefix: names with a prefix are their dialect's to verify.
mlir::LogicalResult verifyOwnAttributes(mlir::Operation *op);

/// The error: `name` is unknown at `op`, or at `where` if that is not empty,
/// and perhaps one of `known` was meant.
mlir::LogicalResult
refuseUnknownAttribute(mlir::Operation *op, const llvm::Twine &where,
                       llvm::StringRef name,
                       llvm::ArrayRef<llvm::StringRef> known);

/// Returns the name of `known` that is nearest to a misspelt one; empty if none
/// is near.
llvm::StringRef getNearestName(llvm::StringRef name,
                               llvm::ArrayRef<llvm::StringRef> known);

template <typename ConcreteOp>
class OwnAttributes
    : public mlir::OpTrait::TraitBase<ConcreteOp, OwnAttributes> {
public:
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) {
    return tp::verifyOwnAttributes(op);
  }
};

} // namespace tp

#endif // TP_DIALECT_TP_IR_OWNATTRIBUTES_H
