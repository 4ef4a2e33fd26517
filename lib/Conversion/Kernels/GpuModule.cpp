//===- GpuModule.cpp - Where generated device kernels stand ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See GpuModule.h.
//
//===----------------------------------------------------------------------===//

#include "tp/Conversion/Kernels/GpuModule.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tp;

LogicalResult tp::checkKernelsName(ModuleOp module) {
  Operation *found = module.lookupSymbol(kernelsModuleName);
  if (!found || isa<gpu::GPUModuleOp>(found))
    return success();
  return found->emitOpError("expected another name than '")
         << kernelsModuleName << "', which a device's kernels have";
}

gpu::GPUModuleOp tp::getOrCreateKernelsModule(ModuleOp module) {
  if (auto found = module.lookupSymbol<gpu::GPUModuleOp>(kernelsModuleName))
    return found;
  auto builder = OpBuilder::atBlockEnd(module.getBody());
  return gpu::GPUModuleOp::create(builder, module.getLoc(), kernelsModuleName);
}

LLVM::GlobalOp tp::getSharedMemory(gpu::GPUModuleOp module, Location loc) {
  static constexpr StringLiteral name = "dynamic_shared_memory";
  if (auto found = module.lookupSymbol<LLVM::GlobalOp>(name))
    return found;
  auto builder = OpBuilder::atBlockBegin(module.getBody());
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), 0);
  return LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/false,
                                LLVM::Linkage::External, name, Attribute(),
                                /*alignment=*/16, /*addrSpace=*/3);
}

gpu::GPUFuncOp tp::createKernel(gpu::GPUModuleOp module, OpBuilder &builder,
                                Location loc, StringRef name,
                                TypeRange parameters, const Launch &launch) {
  builder.setInsertionPointToEnd(module.getBody());
  auto kernel = gpu::GPUFuncOp::create(builder, loc, name,
                                       builder.getFunctionType(parameters, {}));
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                  builder.getUnitAttr());
  setLaunch(kernel, launch);
  builder.setInsertionPointToStart(&kernel.getBody().front());
  return kernel;
}

void tp::setLaunch(gpu::GPUFuncOp kernel, const Launch &launch) {
  OpBuilder builder(kernel.getContext());
  kernel->setAttr(gridAttrName, builder.getDenseI64ArrayAttr(launch.grid));
  kernel->setAttr(blockAttrName, builder.getDenseI64ArrayAttr(launch.block));
  kernel->setAttr(sharedBytesAttrName,
                  builder.getI64IntegerAttr(launch.sharedBytes));
  // The assembler gives each thread as many registers as this leaves.
  SmallVector<int32_t> threads(launch.block.begin(), launch.block.end());
  kernel.setKnownBlockSize(threads);
}

std::optional<Launch> tp::getLaunch(Operation *kernel) {
  Launch launch;
  auto grid = kernel->getAttrOfType<DenseI64ArrayAttr>(gridAttrName);
  auto block = kernel->getAttrOfType<DenseI64ArrayAttr>(blockAttrName);
  if (!grid || !block || grid.size() != 3 || block.size() != 3)
    return std::nullopt;
  llvm::copy(grid.asArrayRef(), launch.grid.begin());
  llvm::copy(block.asArrayRef(), launch.block.begin());
  if (auto bytes = kernel->getAttrOfType<IntegerAttr>(sharedBytesAttrName))
    launch.sharedBytes = bytes.getInt();
  return launch;
}
