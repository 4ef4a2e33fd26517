//===- SplitNorms.cpp - tp-split-norms ------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A norm or a softmax whose rows are cut is done in parts: ranks exchange what
// they have of each row's statistics instead of the rows. Whether rows are cut,
// and stay so behind the norm, is seen on a copy of the program.
//
// Example: q = rms_norm(linear(x, w)) with the outputs of w cut by "tp", as
// models do that normalise all heads of a query together: the sum of squares is
// partial, four bytes a row; the rows stay where they are. A norm in front of a
// linear layer that needs whole rows stays as it is: they would be gathered
// behind it anyway.
//
//===----------------------------------------------------------------------===//

#include "Propagation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/TP/IR/Phase.h"
#include "tp/Propagate/Passes.h"
#include "tp/Resolve/Provenance.h"
#include "llvm/ADT/MapVector.h"
#include <set>

namespace tp {
#define GEN_PASS_DEF_SPLITNORMS
#include "tp/Propagate/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// Operations whose rows are whole for the sake of statistics alone, in order.
static SmallVector<DecomposeOpInterface> collectNorms(ModuleOp module) {
  SmallVector<DecomposeOpInterface> norms;
  module.walk([&](DecomposeOpInterface op) {
    if (op.isSplittable())
      norms.push_back(op);
  });
  return norms;
}

static AxisList getRowAxes(const TensorSharding &sharding) {
  return canonicalize(sharding.dims.back().axes);
}

/// True if `rows`, the result of a norm, are cut and every operation that reads
/// them takes them so.
static bool staysCut(Value rows, const Mesh &mesh) {
  AxisList axes = getRowAxes(getSharding(rows).toSharding(mesh));
  return !axes.empty() && llvm::all_of(rows.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (user->hasTrait<OpTrait::IsTerminator>() ||
        isa<RepeatOp, ShardingConstraintOp, func::CallOp>(user))
      return true;
    FailureOr<TensorSharding> needed = getNeededSharding(use, mesh);
    return succeeded(needed) && getRowAxes(*needed) == axes;
  });
}

/// The parts of `norm` in its place; its first result's value.
static FailureOr<Value> split(DecomposeOpInterface norm) {
  OpBuilder builder(norm);
  FailureOr<SmallVector<Value>> values = norm.decompose(builder);
  if (failed(values))
    return failure();
  for (auto [result, value] : llvm::zip_equal(norm->getResults(), *values))
    if (ShardingAttr sharding = getSharding(result))
      setSharding(value, sharding);
  norm->replaceAllUsesWith(*values);
  norm->erase();
  return values->front();
}

namespace {
/// A copy of the module with shardings in which some norms, by their number,
/// are done in parts.
struct Trial {
  OwningOpRef<ModuleOp> module;
  /// The norms that are left.
  llvm::MapVector<unsigned, DecomposeOpInterface> whole;
  /// Results of those in parts.
  llvm::MapVector<unsigned, Value> parts;
};

struct SplitNorms : tp::impl::SplitNormsBase<SplitNorms> {
  void runOnOperation() override;

  static FailureOr<Trial> attempt(ModuleOp module,
                                  const std::set<unsigned> &inParts);
  /// Chooses the norms that are better done in parts.
  static std::set<unsigned> choose(ModuleOp module, const Mesh &mesh);
};
} // namespace

FailureOr<Trial> SplitNorms::attempt(ModuleOp module,
                                     const std::set<unsigned> &inParts) {
  // tp-propagate reports of the module itself what cannot be given shardings.
  ScopedDiagnosticHandler silence(module.getContext(),
                                  [](Diagnostic &) { return success(); });
  Trial trial;
  trial.module = module.clone();
  for (auto [index, norm] : llvm::enumerate(collectNorms(*trial.module))) {
    if (!inParts.contains(index)) {
      trial.whole[index] = norm;
      continue;
    }
    FailureOr<Value> value = split(norm);
    if (failed(value))
      return failure();
    trial.parts[index] = *value;
  }
  MeshOp mesh = getUniqueMesh(*trial.module);
  Propagation propagation(mesh);
  if (failed(inferWeights(*trial.module, mesh)) ||
      failed(propagate(propagation, *trial.module, mesh)))
    return failure();
  return trial;
}

std::set<unsigned> SplitNorms::choose(ModuleOp module, const Mesh &mesh) {
  // All whose rows are cut, if those before them are in parts.
  std::set<unsigned> chosen;
  for (bool isNew = true; isNew;) {
    FailureOr<Trial> trial = attempt(module, chosen);
    if (failed(trial))
      return {};
    isNew = false;
    for (auto &[index, norm] : trial->whole)
      if (ShardingAttr rows = getSharding(norm->getOperand(0));
          rows && !getRowAxes(rows.toSharding(mesh)).empty())
        isNew |= chosen.insert(index).second;
  }
  // Without those behind which rows are gathered.
  for (bool isGone = !chosen.empty(); isGone;) {
    FailureOr<Trial> trial = attempt(module, chosen);
    if (failed(trial))
      return {};
    isGone = false;
    for (auto &[index, value] : trial->parts)
      if (!staysCut(value, mesh))
        isGone |= chosen.erase(index) > 0;
  }
  return chosen;
}

void SplitNorms::runOnOperation() {
  ModuleOp module = getOperation();
  if (failed(expectGlobal(module)))
    return signalPassFailure();
  MeshOp mesh = getUniqueMesh(module);
  SmallVector<DecomposeOpInterface> norms = collectNorms(module);
  if (!mesh || norms.empty())
    return;
  for (unsigned index : choose(module, mesh.getMesh().toMesh())) {
    if (failed(split(norms[index])))
      return signalPassFailure();
    ++numSplit;
  }
}
