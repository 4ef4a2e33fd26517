//===- Work.h - The arithmetic and the bytes of operations ------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The figures that the ledger's report gives of each kernel, and that times are
// computed from.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_SCHEDULE_WORK_H
#define TP_LIB_SCHEDULE_WORK_H

#include "tp/Ledger/Ledger.h"

namespace tp {

/// Returns the floating point operations of a library's operation or a loop
/// nest. Fails, after an error, if it has no iteration space.
mlir::FailureOr<double> getFlops(mlir::Operation *op);

/// Returns the kind, type, rows and runs of an operation as if a library
/// computed it, without flops and bytes.
KernelWork getLibraryWork(mlir::Operation *op);

/// Returns the work of one call of a kernel; nothing if `op` is none. Fails,
/// after an error, if it has no iteration space.
mlir::FailureOr<std::optional<KernelWork>> readWork(mlir::Operation *op);

} // namespace tp

#endif // TP_LIB_SCHEDULE_WORK_H
