//===- SampleKernels.h - Sampling on a device -------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel with a block for each record, and one with a block for each row that
// picks its token from the records of all ranks. What they compute is
// nn.sample_records and nn.sample_pick. Whether a row draws, and of what, is
// read when they run.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CONVERSION_GPU_SAMPLEKERNELS_H
#define TP_LIB_CONVERSION_GPU_SAMPLEKERNELS_H

#include "SampleMath.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace tp {

struct RecordsShape {
  int64_t rows, columns, blocks, vocabulary;
  bool operator==(const RecordsShape &other) const = default;
};

struct PickShape {
  int64_t rows, blocks;
  bool operator==(const PickShape &other) const = default;
};

/// Write a kernel into `module`, whose parameters are the arguments of
/// `sample_records`, or `sample_pick`, in tprt/abi.h.
void generateSampleRecords(mlir::gpu::GPUModuleOp module, llvm::StringRef name,
                           const RecordsShape &shape, mlir::Location loc);
void generateSamplePick(mlir::gpu::GPUModuleOp module, llvm::StringRef name,
                        const PickShape &shape, mlir::Location loc);

//===----------------------------------------------------------------------===//
// What both are made of
//===----------------------------------------------------------------------===//

/// A kernel of that name with `numbers` parameters of i64, then `addresses`;
/// the builder stands at its begin.
mlir::gpu::GPUFuncOp beginSampleKernel(mlir::OpBuilder &builder,
                                       mlir::gpu::GPUModuleOp module,
                                       llvm::StringRef name, int64_t numbers,
                                       int64_t addresses, mlir::Location loc);

/// `token` over all threads of a block, on each of them. Shared memory holds
/// 24 bytes for each warp.
DrawnToken reduceDrawn(KernelEmitter &emitter, SampleMath &math,
                       const DrawnToken &token, int64_t threads,
                       mlir::Value thread, mlir::Value shared);

} // namespace tp

#endif // TP_LIB_CONVERSION_GPU_SAMPLEKERNELS_H
