//===- DeriveSteps.h - Steps of generation from a forward -------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The transformation of tp-derive-steps, for the pass and for the importer.
//
//===----------------------------------------------------------------------===//

#ifndef TP_DERIVE_DERIVESTEPS_H
#define TP_DERIVE_DERIVESTEPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "tp/Derive/GenerateOptions.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tp {

/// The number of positions that a module's program is known to hold for: the
/// last one may be a chunk's, or the one before which a scale begins.
inline constexpr llvm::StringLiteral positionsAttrName = "tp.positions";

/// Emits at the builder the scales f32[1, heads], or f32[1, 1], of the keys (0)
/// or values (1) of an attention of the forward program, or gives null if each
/// cell has its own.
using CacheScales = llvm::function_ref<mlir::Value(
    mlir::OpBuilder &builder, mlir::Operation *attention, unsigned which,
    int64_t heads)>;

/// Adds to the module of `source`, a causal program `ids [B, S] -> logits
/// [B, S, V]` on one device, the functions @step_T of `request`, the states
/// that they share, and the attribute tp.generation, which keeps what it says
/// already. Returns the options with what the request left open: the context is
/// at most what the program's tables of positions have. Emits an error that
/// names the operation if the program does with the sequence what steps cannot
/// do.
mlir::FailureOr<GenerateOptions> deriveSteps(mlir::func::FuncOp source,
                                             const GenerateRequest &request,
                                             CacheScales scales = nullptr);

/// tp-derive-steps with what was asked for.
std::unique_ptr<mlir::Pass> createDeriveSteps(const GenerateRequest &request);

} // namespace tp

#endif // TP_DERIVE_DERIVESTEPS_H
