//===- DeclareMesh.cpp - The mesh of a module -----------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The mesh that a module declares, or one from text.
//
//===----------------------------------------------------------------------===//

#include "DeclareMesh.h"

#include "tp/Annotate/MeshText.h"

using namespace mlir;
using namespace tp;

/// Axes from "dp=2,tp=4"; fails after an error.
static FailureOr<MeshAttr> parseMesh(ModuleOp module, StringRef text) {
  MLIRContext *context = module.getContext();
  auto expected = [&]() -> InFlightDiagnostic {
    return module.emitError() << "mesh '" << text << "': ";
  };
  SmallVector<MeshAxisAttr> axes;
  SmallVector<MeshTextAxis> given;
  if (std::string problem = parseMeshText(text, given); !problem.empty())
    return expected() << problem;
  for (const MeshTextAxis &axis : given)
    axes.push_back(MeshAxisAttr::get(
        context, StringAttr::get(context, axis.name), axis.size));
  llvm::function_ref<InFlightDiagnostic()> emit = expected;
  MeshAttr mesh = MeshAttr::getChecked(
      emit, context, ArrayRef<MeshAxisAttr>(axes), ArrayRef<int64_t>());
  if (!mesh)
    return failure();
  return mesh;
}

MeshOp tp::getOrCreateMesh(ModuleOp module, StringRef text) {
  MeshOp existing = getUniqueMesh(module);
  if (!existing && !module.getOps<MeshOp>().empty()) {
    auto meshes = llvm::to_vector(module.getOps<MeshOp>());
    InFlightDiagnostic diag =
        meshes[1].emitError("expected at most one tp.mesh in the module");
    diag.attachNote(meshes[0].getLoc()) << "the first is here";
    return {};
  }
  if (text.empty()) {
    if (!existing)
      module.emitError("expected a mesh, such as mesh=tp=2, or a tp.mesh in "
                       "the module");
    return existing;
  }
  FailureOr<MeshAttr> mesh = parseMesh(module, text);
  if (failed(mesh))
    return {};
  if (existing) {
    if (existing.getMesh().getAxes() == mesh->getAxes())
      return existing;
    InFlightDiagnostic diag = module.emitError()
                              << "mesh '" << text << "' is not the one that "
                              << "the module declares, " << existing.getMesh();
    diag.attachNote(existing.getLoc()) << "declared here";
    return {};
  }
  if (Operation *other = SymbolTable::lookupSymbolIn(module, "mesh")) {
    other->emitError("expected the symbol @mesh to be free for the mesh");
    return {};
  }
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  return MeshOp::create(builder, module.getLoc(), "mesh", *mesh);
}
