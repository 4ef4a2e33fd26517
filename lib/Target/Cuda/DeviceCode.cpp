//===- DeviceCode.cpp - Machine code of device kernels --------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One PTX serves every device from sm_80 on; the assembler makes the best of it
// for each architecture.
//
//===----------------------------------------------------------------------===//

#include "tp/Target/Cuda/DeviceCode.h"

#include "tp/CodeGen/CodeGen.h"
#include "tp/Target/Cuda/DeviceSources.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Config/Targets.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;
using namespace tp;

static std::unique_ptr<llvm::TargetMachine>
makeDeviceMachine(std::string &error) {
#if LLVM_HAS_NVPTX_TARGET
  static bool initialised = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)initialised;
#endif
  llvm::Triple triple("nvptx64-nvidia-cuda");
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found)
    return nullptr;
  llvm::TargetOptions options;
  // Products and sums may share one rounding.
  options.AllowFPOpFusion = llvm::FPOpFusion::Fast;
  return std::unique_ptr<llvm::TargetMachine>(found->createTargetMachine(
      triple, "sm_80", "+ptx80", options, std::nullopt, std::nullopt,
      llvm::CodeGenOptLevel::Aggressive));
}

llvm::Expected<std::string> tp::makePtx(llvm::StringRef bitcode) {
  llvm::LLVMContext context;
  auto module = llvm::parseBitcodeFile(
      llvm::MemoryBufferRef(bitcode, "kernels.bc"), context);
  if (!module)
    return module.takeError();
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = makeDeviceMachine(error);
  if (!machine)
    return llvm::createStringError("no code generator for NVPTX: " + error);
  if ((*module)->getTargetTriple() != machine->getTargetTriple())
    return llvm::createStringError("expected bitcode for " +
                                   machine->getTargetTriple().str() + ", got " +
                                   (*module)->getTargetTriple().str());
  if (callsPrimitives(**module)) {
    if (llvm::Error error = linkPrimitives(**module))
      return error;
    optimise(**module, *machine, Passes::Default);
  }
  if (llvm::Error error = checkResolved(**module))
    return error;
  SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager emitter;
  [[maybe_unused]] bool isWithout = machine->addPassesToEmitFile(
      emitter, stream, nullptr, llvm::CodeGenFileType::AssemblyFile);
  assert(!isWithout && "NVPTX has PTX");
  emitter.run(**module);
  return text.str().str();
}

std::string DeviceCode::getResourcesAsJson() const {
  llvm::json::Object kernels;
  for (const Cubin &cubin : cubins)
    for (const auto &[name, used] : cubin.kernels) {
      llvm::json::Value &kernel =
          kernels.try_emplace(name, llvm::json::Object()).first->second;
      (*kernel.getAsObject())[cubin.architecture] =
          llvm::json::Object{{"registers", used.registers},
                             {"shared", used.shared},
                             {"spill_stores", used.spillStores},
                             {"spill_loads", used.spillLoads},
                             {"stack", used.stack}};
    }
  std::string release = ptxas.empty() ? "" : getPtxasRelease(ptxas);
  llvm::json::Value root = llvm::json::Object{
      {"ptxas", release.empty() ? llvm::json::Value(nullptr) : release},
      {"kernels", std::move(kernels)}};
  std::string text;
  llvm::raw_string_ostream(text) << llvm::formatv("{0:2}\n", root);
  return text;
}

void DeviceCode::describe(llvm::json::Object &target) const {
  llvm::json::Array architectures;
  for (const Cubin &cubin : cubins)
    architectures.push_back(cubin.architecture);
  target["device"] = "cuda";
  target["architectures"] = std::move(architectures);
}

std::vector<NamedBytes> DeviceCode::getSections() const {
  // The driver reads PTX to its null.
  std::vector<NamedBytes> sections{{"kernels.ptx", ptx + '\0'}};
  for (const Cubin &cubin : cubins)
    sections.push_back({"kernels." + cubin.architecture, cubin.code});
  return sections;
}

std::vector<NamedBytes> DeviceCode::getFiles() const {
  std::vector<NamedBytes> files{{"kernels.bc", bitcode},
                                {"kernels.ptx", ptx},
                                {"kernels.json", getResourcesAsJson()}};
  for (const Cubin &cubin : cubins)
    files.push_back({"kernels." + cubin.architecture + ".cubin", cubin.code});
  return files;
}

FailureOr<std::string> tp::makeBitcode(ModuleOp program) {
  auto kernels = program.lookupSymbol<gpu::GPUModuleOp>("kernels");
  if (!kernels)
    return program.emitError(
        "expected gpu.module @kernels, as the lower stage makes it for a "
        "device");
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = makeDeviceMachine(error);
  if (!machine)
    return kernels.emitError("no code generator for NVPTX: ") << error;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module =
      translateModuleToLLVMIR(kernels, context, "kernels");
  if (!module)
    return failure();
  module->setTargetTriple(machine->getTargetTriple());
  module->setDataLayout(machine->createDataLayout());
  for (FunctionOpInterface kernel : getDeviceKernels(kernels))
    if (std::optional<DeviceEntry> entry = getDeviceEntry(kernel))
      if (llvm::Error error = bindDeviceKernel(*module, kernel.getName(), *entry,
                                               *getLaunch(kernel)))
        return kernel.emitError(llvm::toString(std::move(error)));
  for (llvm::Function &function : *module) {
    if (!function.isDeclaration())
      function.addFnAttr(llvm::Attribute::NoUnwind);
    else if (!function.isIntrinsic() && !function.use_empty() &&
             !function.getName().starts_with(primitivePrefix))
      return kernels.emitError("a kernel calls '")
             << function.getName()
             << "', which no device has: expected arithmetic and intrinsics";
  }
  optimise(*module, *machine, Passes::Default);
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(*module, &stream))
    return kernels.emitError("the kernels' LLVM IR is wrong: ") << problem;
  SmallString<0> bitcode;
  llvm::raw_svector_ostream out(bitcode);
  llvm::WriteBitcodeToFile(*module, out);
  return bitcode.str().str();
}

/// Kernels that keep registers in memory on some architecture.
static llvm::StringSet<> findSpilling(ArrayRef<Cubin> cubins) {
  llvm::StringSet<> names;
  for (const Cubin &cubin : cubins)
    for (const auto &[name, used] : cubin.kernels)
      if (used.spillStores || used.spillLoads)
        names.insert(name);
  return names;
}

/// Lets one block of each of these kernels have all registers of a
/// multiprocessor, where not so already. The assembler otherwise aims at more
/// blocks, the kernel's wish or its own, for which it spills. False if there is
/// nothing to change.
static llvm::Expected<bool> giveRegisters(std::string &bitcode,
                                          const llvm::StringSet<> &names) {
  llvm::LLVMContext context;
  auto module = llvm::parseBitcodeFile(
      llvm::MemoryBufferRef(bitcode, "kernels.bc"), context);
  if (!module)
    return module.takeError();
  StringRef wanted = NVVM::NVVMDialect::getMinctasmAttrName();
  bool changed = false;
  for (const auto &name : names.keys()) {
    llvm::Function *kernel = (*module)->getFunction(name);
    if (!kernel || kernel->getFnAttribute(wanted).getValueAsString() == "1")
      continue;
    kernel->addFnAttr(wanted, "1");
    changed = true;
  }
  SmallString<0> text;
  llvm::raw_svector_ostream out(text);
  llvm::WriteBitcodeToFile(**module, out);
  bitcode = text.str();
  return changed;
}

FailureOr<DeviceCode>
tp::compileDevice(ModuleOp module, const CudaArchitectures &architectures) {
  FailureOr<std::string> bitcode = makeBitcode(module);
  if (failed(bitcode))
    return failure();
  DeviceCode code;
  code.bitcode = std::move(*bitcode);
  auto report = [&](llvm::Error error) {
    return module.emitError() << llvm::toString(std::move(error));
  };
  auto print = [&]() -> LogicalResult {
    llvm::Expected<std::string> ptx = makePtx(code.bitcode);
    if (!ptx)
      return report(ptx.takeError());
    code.ptx = std::move(*ptx);
    return success();
  };
  if (failed(print()))
    return failure();
  if (architectures.names.empty())
    return code;
  llvm::Expected<std::string> ptxas = findPtxas();
  if (!ptxas) {
    std::string where = llvm::toString(ptxas.takeError());
    if (architectures.isExplicit)
      return module.emitError("no machine code for ")
             << llvm::join(architectures.names, ", ") << ": " << where
             << "; install NVIDIA's CUDA toolkit, 12.8 or later, or name its "
                "bin/ptxas in TP_PTXAS; --target cuda:ptx needs none";
    module.emitRemark() << where
                        << ": the artifact has PTX alone, which the driver "
                           "assembles when the program is loaded";
    return code;
  }
  code.ptxas = *ptxas;
  auto leaveOut = [&](StringRef architecture) {
    module.emitRemark() << *ptxas << " does not know " << architecture
                        << ": the artifact has no machine code for it";
  };
  llvm::function_ref<void(StringRef)> onUnknown = leaveOut;
  if (architectures.isExplicit)
    onUnknown = nullptr;
  auto assemble = [&]() -> LogicalResult {
    auto cubins = assemblePtx(*ptxas, code.ptx, architectures.names, onUnknown);
    if (!cubins)
      return report(cubins.takeError());
    code.cubins = std::move(*cubins);
    return success();
  };
  if (failed(assemble()))
    return failure();
  llvm::StringSet<> spilling = findSpilling(code.cubins);
  if (spilling.empty())
    return code;
  llvm::Expected<bool> changed = giveRegisters(code.bitcode, spilling);
  if (!changed)
    return report(changed.takeError());
  if (!*changed)
    return code;
  // What is left out has been said.
  auto ignore = [](StringRef) {};
  if (onUnknown)
    onUnknown = ignore;
  if (failed(print()) || failed(assemble()))
    return failure();
  return code;
}
