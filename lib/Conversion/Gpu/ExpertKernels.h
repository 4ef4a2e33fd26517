//===- ExpertKernels.h - The kernels of experts -----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One behind the other. All have the arguments of `experts`, of
// `quantized_experts` or of `experts_backward` in tprt/abi.h behind `id`, and
// scratch (ExpertShape.h):
//
//   nn.experts           nn.experts_backward
//   mark                 mark       which experts each row uses
//   place                place      the slots of each expert, and its tiles
//   gate                            inner = activation(gate x) * up x, by slot
//   down                            outer = down inner
//                        inner      the derivative by inner
//                        sides      those by gate x, up x and the weights, and
//                                   inner times the weight
//                        input      outer: that by x, of a slot
//   combine              combine    each row's sum of its slots, by expert
//                        gates      those by gate and up: sums over slots
//                        downs      that by down
//
// No atomics and no order but that of rows and experts: the same bits in every
// run. Nothing depends on the host, so that one recorded launch of each is
// right for any routing.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CONVERSION_GPU_EXPERTKERNELS_H
#define TP_LIB_CONVERSION_GPU_EXPERTKERNELS_H

#include "ExpertShape.h"
#include "tp/Conversion/Kernels/GpuModule.h"

namespace tp {

/// The addresses that they have, in global memory; those of the other operation
/// are null.
struct ExpertArguments {
  mlir::Value cotangent, input, routing, gate, up, down;
  /// The scales and zero points of quantised matrices, whose bytes gate, up and
  /// down are.
  mlir::Value gateScales, gateZeros, upScales, upZeros, downScales, downZeros;
  mlir::Value gateBias, upBias;
  mlir::Value inside;
  /// The rows' sums: the result, or the derivative by the input.
  mlir::Value result;
  mlir::Value byRouting, byGate, byUp, byDown;
  mlir::Value byGateBias, byUpBias; ///< null
  mlir::Value scratch;

  static llvm::SmallVector<mlir::Type> getTypes(mlir::OpBuilder &builder,
                                                const ExpertShape &shape);
  static ExpertArguments read(KernelEmitter &e, const ExpertShape &shape,
                              llvm::ArrayRef<mlir::BlockArgument> arguments);
};

/// Each writes one, called `name`, at the end of `module`.
using GenerateExpertKernel = void(mlir::gpu::GPUModuleOp module,
                                  llvm::StringRef name,
                                  const ExpertShape &shape, mlir::Location loc);
/// ExpertRowKernels.cpp
GenerateExpertKernel generateExpertMark, generateExpertPlace,
    generateExpertCombine;
/// ExpertProductKernels.cpp
GenerateExpertKernel generateExpertGate, generateExpertDown,
    generateExpertInner, generateExpertSides, generateExpertInput,
    generateExpertGates, generateExpertDowns;

} // namespace tp

#endif // TP_LIB_CONVERSION_GPU_EXPERTKERNELS_H
