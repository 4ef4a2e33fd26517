//===- TPOps.h - The tp dialect ---------------------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Meshes, shardings, collectives and the repeated layer (see TPOps.td), and the
// helpers that read and write shardings on IR.
//
//===----------------------------------------------------------------------===//

#ifndef TP_DIALECT_TP_IR_TPOPS_H
#define TP_DIALECT_TP_IR_TPOPS_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tp/Dialect/TP/IR/OwnAttributes.h"
#include "tp/Sharding/Reshard.h"
#include "tp/Sharding/Rule.h"

namespace tp {
class YieldOp;

namespace detail {
/// Shapes, axes and attributes of a reshard step against its row.
mlir::LogicalResult verifyStep(mlir::Operation *step);
/// Folds a step: its operand in groups of one, or what it undoes.
mlir::OpFoldResult foldStep(mlir::Operation *step);
} // namespace detail
} // namespace tp

#include "tp/Dialect/TP/IR/TPDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "tp/Dialect/TP/IR/TPAttrs.h.inc"

#include "tp/Dialect/TP/IR/CollectiveInterface.h.inc"

#define GET_OP_CLASSES
#include "tp/Dialect/TP/IR/TPOps.h.inc"

namespace tp {

/// The mesh op that `symbol` names, looked up from `from` outwards; null if
/// there is none.
MeshOp lookupMesh(mlir::Operation *from, mlir::FlatSymbolRefAttr symbol);
/// The only mesh of the module that `from` is in; null if there is none or
/// more than one.
MeshOp getUniqueMesh(mlir::Operation *from);

/// The sharding written on a value: on the function argument or the operation
/// that defines it; for block arguments of tp.repeat, that of the carried
/// result or of the stacked operand's slice. Null if none is written.
ShardingAttr getSharding(mlir::Value value);
/// Write it (there where getSharding reads it). Block arguments of tp.repeat
/// are written through the repeat's results; stacked slices cannot be set.
void setSharding(mlir::Value value, ShardingAttr sharding);
/// Sharding of result `index` of a function; null if none is written.
ShardingAttr getResultSharding(mlir::Operation *function, unsigned index);

/// The state of that name; null if there is none.
StateOp lookupState(mlir::Operation *from, mlir::FlatSymbolRefAttr symbol);
/// The state that an argument is the value, or a result the successor of; null
/// if it is none.
mlir::FlatSymbolRefAttr getArgState(mlir::Operation *function, unsigned index);
mlir::FlatSymbolRefAttr getResultState(mlir::Operation *function,
                                       unsigned index);

/// The state whose old value `value` is, if its function replaces that and
/// reads it in one place alone: who reads it may overwrite it. Null if there is
/// none.
StateOp getReplacedState(mlir::Value value);

/// Axis lists between the attribute's names and the algebra's positions.
AxisListAttr getAxisListAttr(mlir::MLIRContext *context, const Mesh &mesh,
                             llvm::ArrayRef<AxisRef> axes);
/// Fails, with a diagnostic, on axes that the mesh lacks.
mlir::FailureOr<AxisList>
resolveAxes(AxisListAttr axes, const Mesh &mesh,
            llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace tp

namespace tp {

/// The attributes of a reshard step, which its types do not give.
struct StepAttrs {
  mlir::StringAttr reduction;
  int64_t gatheredDim = -1, cutDim = -1;
  mlir::FlatSymbolRefAttr mesh;
  AxisListAttr axes;
  mlir::DenseIntElementsAttr pairs;
  ShardingAttr from, to;
  LedgerAttr ledger;
};
/// The operation of row `kind`. What the row does not have is left out.
mlir::Operation *createStep(mlir::OpBuilder &builder, mlir::Location loc,
                            CollectiveKind kind, mlir::Type type,
                            mlir::Value input, const StepAttrs &attrs);

/// The collectives that are one call with `op`, itself among them: neighbours
/// with its id in the ledger.
llvm::SmallVector<CollectiveOpInterface> getCall(CollectiveOpInterface op);
/// True if `op` is the first of its call.
bool beginsCall(CollectiveOpInterface op);
/// Their entries as one: the first's id and pass, each reason once.
LedgerAttr getCallEntry(llvm::ArrayRef<CollectiveOpInterface> call);
/// Both could be in one call if neither needed the other: all-reduces of one
/// reduction over the same axes and of one element type.
bool areOfOneKind(CollectiveOpInterface a, CollectiveOpInterface b);

/// The tp.await of an asynchronous collective; null of any other operation.
AwaitOp getAwait(mlir::Operation *collective);

} // namespace tp

#endif // TP_DIALECT_TP_IR_TPOPS_H
