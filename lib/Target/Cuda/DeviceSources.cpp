//===- DeviceSources.cpp - Kernels in CUDA C++ ----------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each kernel is linked from a copy of its source's module in which all but the
// entry point is internal: two kernels may bind the same functions to different
// numbers.
//
//===----------------------------------------------------------------------===//

#include "tp/Target/Cuda/DeviceSources.h"

#include "tp/CodeGen/CodeGen.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace tp;

namespace {
struct DeviceSource {
  StringLiteral name;
  StringRef bitcode;
};
} // namespace

template <size_t size>
static StringRef bytesOf(const unsigned char (&bytes)[size]) {
  return StringRef(reinterpret_cast<const char *>(bytes), size);
}
#include "DeviceSources.inc"

/// The source of the primitives' definitions.
static constexpr StringLiteral primitivesSource = "primitives_device";

static llvm::Expected<std::unique_ptr<llvm::Module>>
loadSource(StringRef name, llvm::LLVMContext &context) {
  for (const DeviceSource &source : deviceSources)
    if (source.name == name)
      return llvm::parseBitcodeFile(llvm::MemoryBufferRef(source.bitcode, name),
                                    context);
  return llvm::createStringError("there is no source kernels/device/" + name +
                                 ".cu");
}

/// Erases what `kept` functions do not use.
static void eraseUnused(llvm::Module &module,
                        const llvm::SmallPtrSetImpl<llvm::Function *> &kept) {
  for (llvm::Function &function : module)
    if (!kept.contains(&function) && !function.isDeclaration())
      function.deleteBody();
  for (llvm::Function &function : llvm::make_early_inc_range(module))
    if (function.isDeclaration() && function.use_empty())
      function.eraseFromParent();
  for (llvm::GlobalVariable &variable :
       llvm::make_early_inc_range(module.globals())) {
    variable.removeDeadConstantUsers();
    if (variable.use_empty())
      variable.eraseFromParent();
  }
}

/// The functions with a body that `entry` calls, itself included.
static llvm::SmallPtrSet<llvm::Function *, 16>
findReachable(llvm::Function *entry) {
  llvm::SmallPtrSet<llvm::Function *, 16> reached{entry};
  SmallVector<llvm::Function *> work{entry};
  while (!work.empty())
    for (llvm::Instruction &instruction :
         llvm::instructions(*work.pop_back_val()))
      for (llvm::Value *operand : instruction.operands())
        if (auto *function = dyn_cast<llvm::Function>(operand))
          if (!function->isDeclaration() && reached.insert(function).second)
            work.push_back(function);
  return reached;
}

/// Attributes of clang that would differ from those of generated kernels, or
/// keep a function from being inlined.
static void clearAttributes(llvm::Function &function) {
  for (StringRef name :
       {"target-cpu", "target-features", "tune-cpu", "frame-pointer",
        "no-builtins", "stack-protector-buffer-size", "no-trapping-math",
        "uniform-work-group-size"})
    function.removeFnAttr(name);
  for (llvm::Attribute::AttrKind kind :
       {llvm::Attribute::NoInline, llvm::Attribute::OptimizeNone})
    function.removeFnAttr(kind);
}

/// The number as a constant of `type`; null if that cannot hold it.
static llvm::Constant *makeConstant(llvm::Type *type, Attribute number) {
  if (auto value = dyn_cast<IntegerAttr>(number)) {
    llvm::APInt bits = value.getValue();
    if (!type->isIntegerTy())
      return nullptr;
    unsigned width = type->getIntegerBitWidth();
    if (bits.getSignificantBits() > width && bits.getActiveBits() > width)
      return nullptr;
    return llvm::ConstantInt::get(type, bits.sextOrTrunc(width));
  }
  auto value = dyn_cast<FloatAttr>(number);
  if (!value || !type->isFloatingPointTy())
    return nullptr;
  return llvm::ConstantFP::get(type, value.getValueAsDouble());
}

/// Gives `shape.<name>` and `launch.<name>` bodies.
static llvm::Error defineNumbers(llvm::Module &module, const DeviceEntry &entry,
                                 const Launch &launch) {
  Builder builder(entry.shape.getContext());
  NamedAttrList numbers;
  for (NamedAttribute named : entry.shape)
    numbers.append(("shape." + named.getName().getValue()).str(),
                   named.getValue());
  auto append = [&](StringRef name, int64_t value) {
    numbers.append(name, builder.getI64IntegerAttr(value));
  };
  append("launch.threads", launch.block[0] * launch.block[1] * launch.block[2]);
  for (llvm::Function &function : module) {
    StringRef name = function.getName();
    if (!name.starts_with("shape.") && !name.starts_with("launch."))
      continue;
    Attribute number = numbers.get(name);
    if (!number)
      return llvm::createStringError("it asks for " + name +
                                     ", which is not bound");
    llvm::Type *type = function.getReturnType();
    llvm::Constant *value = makeConstant(type, number);
    if (!value)
      return llvm::createStringError("the value of " + name +
                                     " does not fit its type");
    auto *block = llvm::BasicBlock::Create(module.getContext(), "", &function);
    llvm::ReturnInst::Create(module.getContext(), value, block);
  }
  return llvm::Error::success();
}

/// Makes everything of the module internal that has a definition.
static void internalize(llvm::Module &module) {
  for (llvm::Function &function : module) {
    clearAttributes(function);
    if (function.isDeclaration())
      continue;
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.setComdat(nullptr);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
  for (llvm::GlobalVariable &variable : module.globals()) {
    if (variable.isDeclaration())
      continue;
    variable.setLinkage(llvm::GlobalValue::InternalLinkage);
    variable.setComdat(nullptr);
  }
  for (StringRef name : {"llvm.ident", "nvvmir.version"})
    if (llvm::NamedMDNode *node = module.getNamedMetadata(name))
      module.eraseNamedMetadata(node);
}

static void makeKernel(llvm::Function &function, StringRef name,
                       const Launch &launch) {
  function.setName(name);
  function.setLinkage(llvm::GlobalValue::ExternalLinkage);
  function.removeFnAttr(llvm::Attribute::AlwaysInline);
  function.addFnAttr(deviceSourceAttrName);
  // The assembler gives each thread as many registers as this leaves.
  function.addFnAttr("nvvm.maxntid",
                     llvm::formatv("{0},{1},{2}", launch.block[0],
                                   launch.block[1], launch.block[2])
                         .str());
}

llvm::Error tp::bindDeviceKernel(llvm::Module &module, StringRef kernel,
                                 const DeviceEntry &entry,
                                 const Launch &launch) {
  auto fail = [&](const llvm::Twine &why) {
    return llvm::createStringError("kernel '" + kernel + "' is '" +
                                   entry.entry + "' of kernels/device/" +
                                   entry.source + ".cu, but " + why);
  };
  auto source = loadSource(entry.source, module.getContext());
  if (!source)
    return fail(llvm::toString(source.takeError()));
  llvm::Function *function = (*source)->getFunction(entry.entry);
  if (!function || function->isDeclaration())
    return fail("that has no such entry point");
  llvm::Function *declared = module.getFunction(kernel);
  if (!declared || !declared->isDeclaration() ||
      declared->getFunctionType() != function->getFunctionType())
    return fail("its parameters are not those of the operation");
  eraseUnused(**source, findReachable(function));
  if (llvm::Error error = defineNumbers(**source, entry, launch))
    return fail(llvm::toString(std::move(error)));
  internalize(**source);
  makeKernel(*function, kernel, launch);
  (*source)->setTargetTriple(module.getTargetTriple());
  (*source)->setDataLayout(module.getDataLayout());
  if (llvm::Linker::linkModules(module, std::move(*source)))
    return fail("it cannot be linked");
  return llvm::Error::success();
}

static bool isPrimitive(const llvm::Function &function) {
  return function.isDeclaration() && !function.use_empty() &&
         function.getName().starts_with(primitivePrefix);
}

bool tp::callsPrimitives(const llvm::Module &module) {
  return llvm::any_of(module, isPrimitive);
}

llvm::Error tp::linkPrimitives(llvm::Module &module) {
  auto source = loadSource(primitivesSource, module.getContext());
  if (!source)
    return source.takeError();
  for (const llvm::Function &function : module)
    if (isPrimitive(function)) {
      llvm::Function *found = (*source)->getFunction(function.getName());
      if (!found || found->isDeclaration())
        return llvm::createStringError("the primitive '" + function.getName() +
                                       "' has no instructions");
      if (found->getFunctionType() != function.getFunctionType())
        return llvm::createStringError("the primitive '" + function.getName() +
                                       "' is declared otherwise than defined");
    }
  (*source)->setTargetTriple(module.getTargetTriple());
  (*source)->setDataLayout(module.getDataLayout());
  if (llvm::Linker::linkModules(module, std::move(*source),
                                llvm::Linker::LinkOnlyNeeded))
    return llvm::createStringError("the primitives cannot be linked");
  for (llvm::Function &function : module)
    if (function.getName().starts_with(primitivePrefix) &&
        !function.isDeclaration()) {
      clearAttributes(function);
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
      function.addFnAttr(llvm::Attribute::AlwaysInline);
    }
  return llvm::Error::success();
}

llvm::Error tp::checkResolved(const llvm::Module &module) {
  for (const llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    for (const llvm::Instruction &instruction : llvm::instructions(function)) {
      std::string place = ("kernel '" + function.getName() + "'").str();
      if (const llvm::DebugLoc &location = instruction.getDebugLoc())
        place += llvm::formatv(" ({0}:{1})", location->getFilename(),
                               location.getLine())
                     .str();
      if (isa<llvm::AllocaInst>(instruction))
        return llvm::createStringError(
            place + " keeps a variable in local memory: expected all in "
                    "registers or shared memory");
      auto *call = dyn_cast<llvm::CallBase>(&instruction);
      if (!call || call->isInlineAsm())
        continue;
      const llvm::Function *callee = call->getCalledFunction();
      if (!callee || !callee->isIntrinsic())
        return llvm::createStringError(
            place + " calls a function: expected all to be inlined");
    }
  }
  return llvm::Error::success();
}
