//===- Artifact.h - From the LLVM dialect to an artifact --------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The end of the lower stage: machine code, linked to a shared object that
// imports nothing, beside the manifest and the constants.
//
//===----------------------------------------------------------------------===//

#ifndef TP_CODEGEN_ARTIFACT_H
#define TP_CODEGEN_ARTIFACT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Support/LLVM.h"
#include "tp/Target/Target.h"
#include <memory>
#include <string>

namespace tp {

/// The parts of an artifact.
struct Program {
  std::string manifest, code, constants;
  std::unique_ptr<KernelCode> kernels; ///< null if the code has them
};

/// Registers the dialects that translation to LLVM IR needs.
void registerTargetDialects(mlir::DialectRegistry &registry);

/// Compiles `module` (after buildLowerToLLVM) and links it. Emits errors on the
/// module.
mlir::FailureOr<Program> compileProgram(mlir::ModuleOp module,
                                        const Target &target);

/// Writes `program` to `path`, which is replaced only when all is written;
/// returns the error's text, empty if there is none.
std::string writeProgram(const Program &program, llvm::StringRef path);

/// Writes the files of the program's kernels to `directory`, which is made if
/// it is not there; returns the error's text, empty if there is none.
std::string saveKernels(const Program &program, llvm::StringRef directory);

} // namespace tp

#endif // TP_CODEGEN_ARTIFACT_H
