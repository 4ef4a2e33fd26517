//===- DeclareMesh.h - The mesh of a module ---------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The mesh that a plan's axes are of.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_ANNOTATE_DECLAREMESH_H
#define TP_LIB_ANNOTATE_DECLAREMESH_H

#include "mlir/IR/BuiltinOps.h"
#include "tp/Dialect/TP/IR/TPOps.h"

namespace tp {

/// The module's mesh, made from `text` ("dp=2,tp=4") if it has none; null after
/// an error. Empty text asks for the one that is there.
MeshOp getOrCreateMesh(mlir::ModuleOp module, llvm::StringRef text);

} // namespace tp

#endif // TP_LIB_ANNOTATE_DECLAREMESH_H
