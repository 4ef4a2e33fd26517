//===- CodeGen.h - What both code generators use ----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's passes in our configuration.
//
//===----------------------------------------------------------------------===//

#ifndef TP_CODEGEN_CODEGEN_H
#define TP_CODEGEN_CODEGEN_H

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace tp {

/// How much of LLVM's -O2.
enum class Passes {
  /// All.
  Default,
  /// The passes that simplify a function. The rest, a seventh of all time to
  /// compile a model, is for calls between functions, of which the host's code
  /// has none, and for loops that are not unrolled and vectors already.
  PerFunction,
};

/// LLVM's passes at -O2, without its vectorisers (the kernels are vectors
/// already) and without calls of the C library.
void optimise(llvm::Module &module, llvm::TargetMachine &machine,
              Passes passes);

/// On functions of LLVM IR that come from kernels/device.
inline constexpr llvm::StringLiteral deviceSourceAttrName = "tp-device-source";

} // namespace tp

#endif // TP_CODEGEN_CODEGEN_H
