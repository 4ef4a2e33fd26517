//===- Phase.cpp - Before partition or after it ---------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Phase.h.
//
//===----------------------------------------------------------------------===//

#include "tp/Dialect/TP/IR/Phase.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tp/Dialect/TP/IR/Sizes.h"
#include "tp/Dialect/TP/IR/TPOps.h"

using namespace mlir;
using namespace tp;

/// True if an argument or result of a function has a global type.
static bool recordsGlobalTypes(FunctionOpInterface function) {
  StringRef name = TPDialect::getGlobalTypeAttrName();
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (function.getArgAttr(i, name))
      return true;
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (function.getResultAttr(i, name))
      return true;
  return false;
}

Operation *tp::findPerRank(ModuleOp module) {
  Operation *found = nullptr;
  module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto function = dyn_cast<FunctionOpInterface>(op);
    if (op->hasAttr(TPDialect::getGlobalTypeAttrName()) ||
        isa<ReshardStepOpInterface, RankOp>(op) ||
        (function && recordsGlobalTypes(function)))
      found = op;
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

LogicalResult tp::expectGlobal(ModuleOp module) {
  if (Operation *op = findPerRank(module))
    return op->emitOpError("expected a program before partition, got one for "
                           "each rank");
  return expectSizes(module);
}

/// An error at a constant whose elements are not those of dense<...>: before
/// partition its sharding rule says so.
static LogicalResult expectDense(ModuleOp module) {
  WalkResult walk = module->walk([](Operation *op) {
    auto value = op->getAttrOfType<ElementsAttr>("value");
    if (!value || isa<DenseElementsAttr>(value))
      return WalkResult::advance();
    op->emitOpError("expected its elements in the program as dense<...>, got "
                    "sparse ones or a resource");
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

LogicalResult tp::expectPerRank(ModuleOp module) {
  if (failed(expectSizes(module)) || failed(expectDense(module)))
    return failure();
  MeshOp mesh = getUniqueMesh(module);
  if (!mesh || mesh.getMesh().toMesh().getNumRanks() == 1 ||
      findPerRank(module))
    return success();
  InFlightDiagnostic diag =
      module.emitError("expected a program for each rank, got one before "
                       "partition: run tp-partition-pipeline first");
  diag.attachNote(mesh.getLoc()) << "the mesh is declared here";
  return diag;
}
