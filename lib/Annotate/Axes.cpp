//===- Axes.cpp - Axes that cut nothing -----------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shardings are looked for wherever an operation may have one: attributes of
// operations, functions and states, and constraints.
//
//===----------------------------------------------------------------------===//

#include "Axes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tp;

static llvm::StringSet<> getUsedAxes(Operation *module, const Mesh &mesh) {
  llvm::StringSet<> used;
  auto use = [&](const AxisList &axes) {
    for (const AxisRef &ref : axes)
      used.insert(mesh.getAxis(ref.axis).name);
  };
  module->walk([&](Operation *op) {
    op->getAttrDictionary().walk([&](ShardingAttr sharding) {
      TensorSharding value = sharding.toSharding(mesh);
      for (const DimSharding &dim : value.dims)
        use(dim.axes);
      use(value.partial);
    });
  });
  return used;
}

LogicalResult tp::checkAxes(MeshOp meshOp, const Plan &plan) {
  if (plan.isBuiltin && plan.name == "replicated")
    return success();
  Mesh mesh = meshOp.getMesh().toMesh();
  llvm::StringSet<> used = getUsedAxes(meshOp->getParentOp(), mesh);
  for (const Mesh::Axis &axis : mesh.getAxes()) {
    if (axis.size == 1 || used.contains(axis.name))
      continue;
    SmallVector<StringRef> known;
    for (const PlanRule &rule : plan.rules)
      for (const PlanDim &dim : rule.dims)
        for (const PlanAxis &name : dim.axes)
          if (!llvm::is_contained(known, name.name))
            known.push_back(name.name);
    InFlightDiagnostic diag =
        plan.isNone() ? meshOp.emitWarning() : meshOp.emitError();
    diag << "axis \"" << axis.name << "\" of the mesh cuts nothing: its "
         << axis.size
         << " ranks would all hold and compute the same; leave it out, or "
            "annotate what it cuts";
    if (plan.isNone())
      continue;
    diag << "; plan '" << plan.name << "' knows ";
    if (known.empty())
      return diag << "no axes";
    return diag << "\"" << llvm::join(known, "\", \"") << "\"";
  }
  return success();
}
