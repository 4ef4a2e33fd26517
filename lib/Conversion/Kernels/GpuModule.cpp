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

void tp::setLaunchAttributes(Operation *kernel, const Launch &launch) {
  Builder builder(kernel->getContext());
  kernel->setAttr(gridAttrName, builder.getDenseI64ArrayAttr(launch.grid));
  kernel->setAttr(blockAttrName, builder.getDenseI64ArrayAttr(launch.block));
  kernel->setAttr(sharedBytesAttrName,
                  builder.getI64IntegerAttr(launch.sharedBytes));
}

static NamedAttrList writeEntry(Builder &builder, const DeviceEntry &entry) {
  NamedAttrList fields;
  fields.append("source", builder.getStringAttr(entry.source));
  fields.append("entry", builder.getStringAttr(entry.entry));
  fields.append("shape", entry.shape);
  return fields;
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

LLVM::LLVMFuncOp tp::declareKernel(gpu::GPUModuleOp module, Location loc,
                                   StringRef name, TypeRange parameters,
                                   const Launch &launch,
                                   const DeviceEntry &entry) {
  auto builder = OpBuilder::atBlockEnd(module.getBody());
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()),
                                  llvm::to_vector(parameters));
  auto kernel = LLVM::LLVMFuncOp::create(builder, loc, name, type);
  setLaunchAttributes(kernel, launch);
  kernel->setAttr(
      deviceEntryAttrName,
      writeEntry(builder, entry).getDictionary(builder.getContext()));
  return kernel;
}

void tp::addKernelImage(Operation *kernel, const KernelImage &image) {
  Builder builder(kernel->getContext());
  NamedAttrList fields = writeEntry(builder, image.entry);
  fields.append("grid", builder.getDenseI64ArrayAttr(image.launch.grid));
  fields.append("block", builder.getDenseI64ArrayAttr(image.launch.block));
  fields.append("shared_bytes",
                builder.getI64IntegerAttr(image.launch.sharedBytes));
  NamedAttrList images(kernel->getAttrOfType<DictionaryAttr>(imagesAttrName));
  images.set(image.image, fields.getDictionary(kernel->getContext()));
  kernel->setAttr(imagesAttrName, images.getDictionary(kernel->getContext()));
}

void tp::setLaunch(gpu::GPUFuncOp kernel, const Launch &launch) {
  setLaunchAttributes(kernel, launch);
  // The assembler gives each thread as many registers as this leaves.
  SmallVector<int32_t> threads(launch.block.begin(), launch.block.end());
  kernel.setKnownBlockSize(threads);
}

/// Nothing if sizes are missing or are not three.
static std::optional<Launch> readLaunch(Attribute grid, Attribute block,
                                        Attribute sharedBytes) {
  Launch launch;
  auto read = [](Attribute attribute, std::array<int64_t, 3> &sizes) {
    auto numbers = dyn_cast_if_present<DenseI64ArrayAttr>(attribute);
    if (!numbers || numbers.size() != 3)
      return false;
    llvm::copy(numbers.asArrayRef(), sizes.begin());
    return true;
  };
  if (!read(grid, launch.grid) || !read(block, launch.block))
    return std::nullopt;
  if (auto bytes = dyn_cast_if_present<IntegerAttr>(sharedBytes))
    launch.sharedBytes = bytes.getInt();
  return launch;
}

std::optional<Launch> tp::getLaunch(Operation *kernel) {
  return readLaunch(kernel->getAttr(gridAttrName),
                    kernel->getAttr(blockAttrName),
                    kernel->getAttr(sharedBytesAttrName));
}

/// Nothing if a field is missing.
static std::optional<DeviceEntry> readEntry(DictionaryAttr fields) {
  if (!fields)
    return std::nullopt;
  auto source = fields.getAs<StringAttr>("source");
  auto entry = fields.getAs<StringAttr>("entry");
  auto shape = fields.getAs<DictionaryAttr>("shape");
  if (!source || !entry || !shape)
    return std::nullopt;
  return DeviceEntry{source.str(), entry.str(), shape};
}

std::optional<DeviceEntry> tp::getDeviceEntry(Operation *kernel) {
  return readEntry(kernel->getAttrOfType<DictionaryAttr>(deviceEntryAttrName));
}

SmallVector<KernelImage, 0> tp::getKernelImages(Operation *kernel) {
  SmallVector<KernelImage, 0> images;
  auto all = kernel->getAttrOfType<DictionaryAttr>(imagesAttrName);
  if (!all)
    return images;
  for (NamedAttribute named : all) {
    auto fields = dyn_cast<DictionaryAttr>(named.getValue());
    std::optional<DeviceEntry> entry = readEntry(fields);
    if (!entry)
      continue;
    std::optional<Launch> launch = readLaunch(
        fields.get("grid"), fields.get("block"), fields.get("shared_bytes"));
    if (launch)
      images.push_back({named.getName().str(), *entry, *launch});
  }
  return images;
}

StringRef tp::getCodeName(FunctionOpInterface kernel) {
  if (auto code = kernel->getAttrOfType<FlatSymbolRefAttr>(codeAttrName))
    return code.getValue();
  return kernel.getName();
}

void tp::setNumbers(Operation *kernel, ArrayRef<int64_t> numbers) {
  if (!numbers.empty())
    kernel->setAttr(
        numbersAttrName,
        Builder(kernel->getContext()).getDenseI64ArrayAttr(numbers));
}

ArrayRef<int64_t> tp::getNumbers(Operation *kernel) {
  auto numbers = kernel->getAttrOfType<DenseI64ArrayAttr>(numbersAttrName);
  return numbers ? numbers.asArrayRef() : ArrayRef<int64_t>();
}

SmallVector<FunctionOpInterface> tp::getDeviceKernels(gpu::GPUModuleOp module) {
  SmallVector<FunctionOpInterface> kernels;
  for (auto function : module.getOps<FunctionOpInterface>())
    if (function->hasAttr(gridAttrName))
      kernels.push_back(function);
  return kernels;
}
