//===- Notes.h - Notes at the other place of an error -----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The verifiers of the dialect add these notes where two places disagree.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_DIALECT_TP_IR_NOTES_H
#define TP_LIB_DIALECT_TP_IR_NOTES_H

#include "tp/Dialect/TP/IR/TPOps.h"

namespace tp {

/// `diag`, which speaks of `value`, with a note where that is made.
inline mlir::InFlightDiagnostic noteMade(mlir::InFlightDiagnostic diag,
                                         const llvm::Twine &what,
                                         mlir::Value value) {
  diag.attachNote(value.getLoc()) << what << " is made here";
  return diag;
}
/// `diag`, of axes that do not fit `mesh`.
inline mlir::InFlightDiagnostic noteMesh(mlir::InFlightDiagnostic diag,
                                         MeshOp mesh) {
  diag.attachNote(mesh.getLoc()) << "the mesh is declared here";
  return diag;
}

/// Verifies that `{e}`, a position of the first dimension, is in the name and
/// its alternatives or in none, and that there is such a dimension.
mlir::LogicalResult verifyTensorNames(mlir::Operation *op, llvm::StringRef name,
                                      mlir::ArrayAttr alternatives,
                                      mlir::RankedTensorType type);

/// `sharding` must fit a value of `type` on the mesh that it names.
mlir::LogicalResult verifyShardingOn(mlir::Operation *op, ShardingAttr sharding,
                                     mlir::Type type, llvm::StringRef where);
/// Storage that fits a parameter of this type.
mlir::LogicalResult verifyStorage(mlir::Operation *op, StorageAttr storage,
                                  mlir::RankedTensorType type);
/// The box that `source`, if any, says must lie in the checkpoint's tensor and
/// be of `type`.
mlir::LogicalResult verifySource(mlir::Operation *op,
                                 ParameterSourceAttr source,
                                 mlir::RankedTensorType type);
/// The attribute tp.state of an argument or result must agree with the state.
mlir::LogicalResult verifyStateUse(mlir::Operation *op, unsigned index,
                                   bool isResult,
                                   mlir::NamedAttribute attribute,
                                   const llvm::Twine &where);
/// `attribute`, a name of an argument or result, must be one that a user can
/// write and no other of the function goes by.
mlir::LogicalResult verifyValueName(mlir::Operation *op, unsigned index,
                                    bool isResult,
                                    mlir::NamedAttribute attribute,
                                    const llvm::Twine &where);
/// tp.default, tp.range, tp.values, tp.right_padded and tp.unshifted of an
/// argument must fit its type; other attributes pass.
mlir::LogicalResult verifyArgumentNote(mlir::Operation *op, unsigned index,
                                       mlir::NamedAttribute attribute,
                                       const llvm::Twine &where);
/// Marks an argument or result that is a batch of sequences.
inline constexpr llvm::StringLiteral sequencesName = "tp.sequences";
/// It must agree with the others of its function, which must have a mask.
mlir::LogicalResult verifySequences(mlir::Operation *op, unsigned index,
                                    bool isResult, const llvm::Twine &where);

} // namespace tp

#endif // TP_LIB_DIALECT_TP_IR_NOTES_H
