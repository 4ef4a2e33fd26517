//===- GenerateGpuKernels.cpp - Row kernels for a device ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans, schedules and generates each row kernel. What is known of the
// addresses it will get follows from its calls: buffers are aligned, views and
// slices of stacked results may begin anywhere.
//
//===----------------------------------------------------------------------===//

#include "RowGenerator.h"
#include "tp/Conversion/Gpu/Passes.h"
#include "tp/Conversion/Kernels/GpuModule.h"
#include "tp/Conversion/Kernels/Kernels.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Schedule/Buffers.h"
#include "tp/Schedule/Views.h"
#include "tp/Support/Bytes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <numeric>

namespace tp {
#define GEN_PASS_DEF_GENERATEGPUKERNELS
#include "tp/Conversion/Gpu/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// Every buffer begins at a multiple of this.
static constexpr int64_t bufferAlignment = 64;

/// The alignment of a place. Only in an arena is its offset one in bytes.
static int64_t getBufferAlignment(BufferAttr buffer) {
  StringRef space = buffer.getSpace().getValue();
  if (space == "arena" || space == "comm")
    return std::gcd(bufferAlignment, buffer.getOffset());
  return bufferAlignment;
}

/// The alignment of all places of the results of `op`, and of the values that
/// it carries.
static int64_t getPlacesAlignment(Operation *op) {
  int64_t alignment = bufferAlignment;
  if (auto buffers = op->getAttrOfType<ArrayAttr>(buffersAttrName))
    for (auto buffer : buffers.getAsRange<BufferAttr>())
      alignment = std::gcd(alignment, getBufferAlignment(buffer));
  return alignment;
}

/// The alignment of result `index` of `op` in the place it has.
static int64_t getPlaceAlignment(Operation *op, unsigned index) {
  if (isa<RepeatOp>(op))
    return getPlacesAlignment(op);
  auto buffers = op->getAttrOfType<ArrayAttr>(buffersAttrName);
  if (!buffers || index >= buffers.size())
    return bufferAlignment;
  auto buffer = dyn_cast<BufferAttr>(buffers[index]);
  if (!buffer)
    return bufferAlignment;
  int64_t alignment = getBufferAlignment(buffer);
  StringRef space = buffer.getSpace().getValue();
  // One slice after the other.
  if (space == "stacked")
    alignment = std::gcd(alignment, getTensorBytes(cast<RankedTensorType>(
                                        op->getResult(index).getType())));
  if (space == "stacked" || space == "next")
    alignment = std::gcd(alignment,
                         getPlacesAlignment(op->getParentOfType<RepeatOp>()));
  return alignment;
}

static int64_t getAddressAlignment(Value tensor) {
  ViewedTensor view = getViewedTensor(tensor);
  int64_t alignment = std::gcd(bufferAlignment, view.byteOffset);
  if (auto result = dyn_cast<OpResult>(view.root))
    return std::gcd(alignment, getPlaceAlignment(result.getOwner(),
                                                 result.getResultNumber()));
  auto argument = cast<BlockArgument>(view.root);
  auto repeat = dyn_cast<RepeatOp>(argument.getOwner()->getParentOp());
  if (!repeat)
    return alignment;
  // A carried value begins as what the loop is given; of a stacked one this is
  // a slice, one after the other.
  alignment = std::gcd(alignment, getPlacesAlignment(repeat));
  unsigned number = argument.getArgNumber() - 1;
  if (number < repeat.getInits().size())
    return std::gcd(alignment, getAddressAlignment(repeat.getInits()[number]));
  Value stacked = repeat.getStacked()[number - repeat.getInits().size()];
  alignment = std::gcd(
      alignment, getTensorBytes(cast<RankedTensorType>(argument.getType())));
  return std::gcd(alignment, getAddressAlignment(stacked));
}

namespace {
struct GenerateGpuKernelsPass
    : tp::impl::GenerateGpuKernelsBase<GenerateGpuKernelsPass> {
  void runOnOperation() override {
    if (failed(checkKernelsName(getOperation())))
      return signalPassFailure();
    llvm::MapVector<StringAttr, KernelAlignment> alignments;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      auto kind = function->getAttrOfType<StringAttr>(kernelAttrName);
      if (!kind || kind.getValue() != "rows")
        continue;
      KernelAlignment &own = alignments[function.getNameAttr()];
      own.arguments.assign(function.getNumArguments(), bufferAlignment);
      own.results.assign(function.getNumResults(), bufferAlignment);
    }
    getOperation().walk([&](func::CallOp call) {
      auto found = alignments.find(call.getCalleeAttr().getAttr());
      if (found == alignments.end())
        return;
      for (auto [operand, known] :
           llvm::zip_equal(call.getOperands(), found->second.arguments))
        if (isa<RankedTensorType>(operand.getType()))
          known = std::gcd(known, getAddressAlignment(operand));
      for (auto [i, known] : llvm::enumerate(found->second.results))
        known = std::gcd(known, getPlaceAlignment(call, i));
    });
    for (auto &[name, alignment] : alignments)
      if (failed(generate(getOperation().lookupSymbol<func::FuncOp>(name),
                          alignment)))
        return signalPassFailure();
  }

  LogicalResult generate(func::FuncOp function,
                         const KernelAlignment &alignment) {
    FailureOr<KernelPlan> plan = KernelPlan::build(function);
    if (failed(plan))
      return failure();
    RowSchedule schedule = RowSchedule::build(*plan);
    FailureOr<gpu::GPUFuncOp> kernel =
        generateGpuRows(function, *plan, schedule, alignment,
                        getOrCreateKernelsModule(getOperation()));
    if (failed(kernel))
      return failure();
    setLaunch(*kernel, {{schedule.gridBlocks, 1, 1},
                        {schedule.blockThreads, 1, 1},
                        /*sharedBytes=*/0});
    OpBuilder builder(&getContext());
    function->setAttr(scratchBytesAttrName,
                      builder.getI64IntegerAttr(schedule.scratchBytesPerBlock *
                                                schedule.gridBlocks));
    return success();
  }
};
} // namespace
