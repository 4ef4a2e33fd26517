//===- MergeGpuKernels.cpp - Kernels of steps share their code ------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Passes.td.
//
//===----------------------------------------------------------------------===//

#include "KernelDifferences.h"
#include "tp/Conversion/Gpu/Passes.h"
#include "tp/Conversion/Kernels/GpuModule.h"

#include <map>

namespace tp {
#define GEN_PASS_DEF_MERGEGPUKERNELS
#include "tp/Conversion/Gpu/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {
/// Kernels with the code of the first.
class SharedCode {
public:
  explicit SharedCode(gpu::GPUFuncOp first)
      : kernels{first}, integers(getIntegers(first)) {}

  /// Takes a kernel in, unless it differs in more than can be a parameter.
  bool add(gpu::GPUFuncOp kernel);
  /// Gives the first kernel its parameters, and the others its code.
  unsigned merge();

private:
  /// The numbers that each kernel passes, one list for each parameter.
  using Parameters = std::map<SmallVector<int64_t>, SmallVector<unsigned>>;

  Parameters getParameters();
  void addParameter(ArrayRef<unsigned> positions);

  SmallVector<gpu::GPUFuncOp> kernels;
  SmallVector<arith::ConstantOp> integers; ///< of the first
  llvm::SmallSetVector<unsigned, 4> differing;
};
} // namespace

bool SharedCode::add(gpu::GPUFuncOp kernel) {
  std::optional<SmallVector<unsigned>> differences =
      findDifferences(kernels.front(), kernel);
  if (!differences)
    return false;
  llvm::erase_if(*differences, [&](unsigned position) {
    return isUnused(integers[position]);
  });
  if (!llvm::all_of(*differences, [&](unsigned position) {
        return canBeParameter(integers[position]);
      }))
    return false;
  differing.insert_range(*differences);
  kernels.push_back(kernel);
  return true;
}

SharedCode::Parameters SharedCode::getParameters() {
  SmallVector<SmallVector<arith::ConstantOp>> all;
  for (gpu::GPUFuncOp kernel : kernels)
    all.push_back(getIntegers(kernel));
  Parameters parameters;
  for (unsigned position : differing)
    parameters[llvm::map_to_vector(all, [&](ArrayRef<arith::ConstantOp> own) {
      return getInteger(own[position]);
    })].push_back(position);
  return parameters;
}

/// Replaces the integers at `positions`, which are equal in every kernel.
void SharedCode::addParameter(ArrayRef<unsigned> positions) {
  gpu::GPUFuncOp kernel = kernels.front();
  auto builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  unsigned number = kernel.getNumArguments();
  (void)kernel.insertArgument(number, builder.getI64Type(), /*attrs=*/{},
                              kernel.getLoc());
  Value parameter = kernel.getArgument(number);
  for (unsigned position : positions) {
    arith::ConstantOp constant = integers[position];
    Type type = constant.getType();
    Value value = parameter;
    if (type.isIndex())
      value = arith::IndexCastOp::create(builder, constant.getLoc(), type,
                                         parameter);
    else if (type.getIntOrFloatBitWidth() < 64)
      value =
          arith::TruncIOp::create(builder, constant.getLoc(), type, parameter);
    constant.getResult().replaceAllUsesWith(value);
    constant.erase();
  }
}

/// A kernel without a body, with the code of `code`.
static void declareShared(gpu::GPUFuncOp kernel, gpu::GPUFuncOp code,
                          ArrayRef<int64_t> numbers) {
  OpBuilder builder(kernel);
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(builder.getContext()),
      llvm::to_vector(code.getFunctionType().getInputs()));
  auto shared = LLVM::LLVMFuncOp::create(builder, kernel.getLoc(),
                                         kernel.getName(), type);
  setLaunchAttributes(shared, *getLaunch(kernel));
  shared->setAttr(codeAttrName, SymbolRefAttr::get(code));
  setNumbers(shared, numbers);
  kernel.erase();
}

unsigned SharedCode::merge() {
  if (kernels.size() == 1)
    return 0;
  SmallVector<SmallVector<int64_t>> numbers(kernels.size());
  for (auto &[values, positions] : getParameters()) {
    for (auto [own, value] : llvm::zip_equal(numbers, values))
      own.push_back(value);
    addParameter(positions);
  }
  setNumbers(kernels.front(), numbers.front());
  for (auto [kernel, own] : llvm::drop_begin(llvm::zip_equal(kernels, numbers)))
    declareShared(kernel, kernels.front(), own);
  return kernels.size() - 1;
}

/// Kernels in CUDA C++: those that bind the same numbers have the same code.
static unsigned mergeDeclared(gpu::GPUModuleOp kernels) {
  llvm::DenseMap<Attribute, LLVM::LLVMFuncOp> known;
  unsigned numMerged = 0;
  for (auto kernel : kernels.getOps<LLVM::LLVMFuncOp>()) {
    auto entry = kernel->getAttrOfType<DictionaryAttr>(deviceEntryAttrName);
    if (!entry || kernel->hasAttr(imagesAttrName))
      continue;
    Attribute code = ArrayAttr::get(kernel.getContext(),
                                    {entry, kernel->getAttr(blockAttrName),
                                     kernel->getAttr(sharedBytesAttrName),
                                     TypeAttr::get(kernel.getFunctionType())});
    auto [first, isNew] = known.try_emplace(code, kernel);
    if (isNew)
      continue;
    kernel->removeAttr(deviceEntryAttrName);
    kernel->setAttr(codeAttrName, SymbolRefAttr::get(first->second));
    ++numMerged;
  }
  return numMerged;
}

/// Kernels that are written for this program.
static unsigned mergeGenerated(gpu::GPUModuleOp kernels) {
  llvm::MapVector<size_t, SmallVector<SharedCode, 1>> byHash;
  for (auto kernel : kernels.getOps<gpu::GPUFuncOp>()) {
    if (!getLaunch(kernel) || kernel->hasAttr(imagesAttrName) ||
        kernel->hasAttr(numbersAttrName))
      continue;
    SmallVector<SharedCode, 1> &alike = byHash[hashCode(kernel)];
    if (llvm::none_of(alike,
                      [&](SharedCode &code) { return code.add(kernel); }))
      alike.emplace_back(kernel);
  }
  unsigned numMerged = 0;
  for (auto &[hash, alike] : byHash)
    for (SharedCode &code : alike)
      numMerged += code.merge();
  return numMerged;
}

namespace {
struct MergeGpuKernelsPass
    : tp::impl::MergeGpuKernelsBase<MergeGpuKernelsPass> {
  void runOnOperation() override {
    auto kernels =
        getOperation().lookupSymbol<gpu::GPUModuleOp>(kernelsModuleName);
    if (kernels)
      numMerged += mergeDeclared(kernels) + mergeGenerated(kernels);
  }
};
} // namespace
