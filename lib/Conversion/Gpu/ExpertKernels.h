//===- ExpertKernels.h - The kernels of nn.experts --------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Five kernels, one behind the other. All have the arguments of `experts` in
// tprt/abi.h behind `id`, and scratch (ExpertShape.h):
//
//   mark      which experts each row uses                    ExpertRowKernels
//   place     the slots of each expert, and its tiles
//   gate      inner = activation(gate x) * up x, by slot ExpertProductKernel
//   down      outer = down inner
//   combine   each row's sum of its slots, by expert         ExpertRowKernels
//
// No atomics and no order but that of rows and experts: the same bits in every
// run. Nothing depends on the host, so that one recorded launch of each is
// right for any routing.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CONVERSION_GPU_EXPERTKERNELS_H
#define TP_LIB_CONVERSION_GPU_EXPERTKERNELS_H

#include "ExpertShape.h"
#include "KernelEmitter.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace tp {

/// The addresses that they have, in global memory.
struct ExpertArguments {
  mlir::Value input, routing, gate, up, down, result, scratch;

  static llvm::SmallVector<mlir::Type> getTypes(mlir::OpBuilder &builder);
  static ExpertArguments read(KernelEmitter &e,
                              llvm::ArrayRef<mlir::BlockArgument> arguments);
};

/// Each writes one, called `name`, at the end of `module`.
using GenerateExpertKernel = void(mlir::gpu::GPUModuleOp module,
                                  llvm::StringRef name,
                                  const ExpertShape &shape,
                                  const ExpertTiles &tiles, mlir::Location loc);
GenerateExpertKernel generateExpertMark, generateExpertPlace,
    generateExpertGate, generateExpertDown, generateExpertCombine;

} // namespace tp

#endif // TP_LIB_CONVERSION_GPU_EXPERTKERNELS_H
