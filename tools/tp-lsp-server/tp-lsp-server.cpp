//===- tp-lsp-server.cpp - Language server for our IR ---------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mlir-lsp-server with our dialects: diagnostics, hover and navigation in
// editors.
//
//===----------------------------------------------------------------------===//

#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "tp/InitAll.h"
#include "tp/Support/Tool.h"

int main(int argc, char **argv) {
  tp::Tool tool(argc, argv, "tp-lsp-server");
  mlir::DialectRegistry registry;
  tp::registerAllDialects(registry);
  tp::leaveOutOperations();
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
