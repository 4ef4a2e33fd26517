//===- Propagate.cpp - tp-propagate ---------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass around the engine of Propagation.h: finds the mesh, makes
// annotations on results uses of their own, runs the fixpoint, settles, writes.
//
//===----------------------------------------------------------------------===//

#include "Propagation.h"
#include "tp/Dialect/TP/IR/Sizes.h"
#include "tp/Propagate/Passes.h"

namespace tp {
#define GEN_PASS_DEF_PROPAGATE
#include "tp/Propagate/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// The module's mesh; null after an error if there is none or more than one.
static MeshOp findMesh(ModuleOp module) {
  MeshOp mesh;
  for (MeshOp other : module.getOps<MeshOp>()) {
    if (mesh) {
      InFlightDiagnostic diag =
          other.emitOpError("expected one mesh in the module, got a second");
      diag.attachNote(mesh.getLoc()) << "the first is here";
      return {};
    }
    mesh = other;
  }
  if (!mesh)
    module.emitError("expected a tp.mesh in the module, got none: run "
                     "tp-annotate, or declare one, such as "
                     "tp.mesh @mesh <[\"tp\"=2]>");
  return mesh;
}

/// Operations without elements have no sharding rule; nor can a program be
/// handed such a tensor.
static LogicalResult expectElements(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
      if (auto tensor = dyn_cast<RankedTensorType>(type);
          tensor && llvm::is_contained(tensor.getShape(), 0))
        return function.emitError("argument ")
               << i << ": expected a tensor of at least one element, got "
               << type;
  return success();
}

LogicalResult tp::propagate(Propagation &propagation, ModuleOp module,
                            MeshOp mesh) {
  shardStates(module, mesh);
  outlineAnnotations(module, FlatSymbolRefAttr::get(mesh.getSymNameAttr()));
  duplicateFreeValues(module);
  if (failed(propagation.build(module)))
    return failure();
  propagation.run();
  propagation.settle();
  propagation.write(module);
  adoptShardings(module);
  return success();
}

namespace {
struct PropagatePass : public tp::impl::PropagateBase<PropagatePass> {
  using PropagateBase::PropagateBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    MeshOp mesh = findMesh(module);
    if (!mesh || failed(expectSizes(module)))
      return signalPassFailure();
    WalkResult result = module.walk([](Operation *op) {
      if (!isa<ReshardStepOpInterface, ReshardOp>(op))
        return WalkResult::advance();
      op->emitOpError("expected a program before partition, which has no "
                      "collectives");
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted() || failed(expectElements(module)))
      return signalPassFailure();
    Propagation propagation(mesh);
    if (failed(inferWeights(module, mesh)) ||
        failed(propagate(propagation, module, mesh)) ||
        failed(checkPartialStates(module, mesh.getMesh().toMesh())))
      return signalPassFailure();
    numVisits = propagation.getNumVisits();
    numSplit = propagation.getNumSplit();
  }
};
} // namespace
