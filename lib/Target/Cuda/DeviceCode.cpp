//===- DeviceCode.cpp - Machine code of device kernels --------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One PTX serves every device from sm_80 on; the assembler makes the best of it
// for each architecture. Kernels that an architecture has for itself are
// modules of their own beside it.
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

/// The architecture of portable kernels.
static constexpr StringLiteral portableArchitecture = "sm_80";
/// The named metadata of a module whose kernels are of an image.
static constexpr StringLiteral imageMetadataName = "tp.image";

static std::unique_ptr<llvm::TargetMachine>
makeDeviceMachine(StringRef image, std::string &error) {
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
      triple, image.empty() ? StringRef(portableArchitecture) : image,
      // tensormap.replace is of PTX 8.3.
      image.empty() ? "+ptx80" : "+ptx83", options, std::nullopt, std::nullopt,
      llvm::CodeGenOptLevel::Aggressive));
}

static void setImage(llvm::Module &module, StringRef image) {
  llvm::LLVMContext &context = module.getContext();
  module.getOrInsertNamedMetadata(imageMetadataName)
      ->addOperand(
          llvm::MDNode::get(context, llvm::MDString::get(context, image)));
}

static StringRef getImage(const llvm::Module &module) {
  const llvm::NamedMDNode *node = module.getNamedMetadata(imageMetadataName);
  if (!node || node->getNumOperands() == 0)
    return "";
  return cast<llvm::MDString>(node->getOperand(0)->getOperand(0))->getString();
}

llvm::Expected<std::string> tp::makePtx(llvm::StringRef bitcode) {
  llvm::LLVMContext context;
  auto module = llvm::parseBitcodeFile(
      llvm::MemoryBufferRef(bitcode, "kernels.bc"), context);
  if (!module)
    return module.takeError();
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine =
      makeDeviceMachine(getImage(**module), error);
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
  llvm::json::Array warnings;
  auto add = [&](const Cubin &cubin) {
    for (const std::string &warning : cubin.warnings)
      warnings.push_back(cubin.architecture + ": " + warning);
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
  };
  llvm::for_each(cubins, add);
  for (const DeviceImage &image : images)
    if (image.cubin)
      add(*image.cubin);
  std::string release = ptxas.empty() ? "" : getPtxasRelease(ptxas);
  llvm::json::Value root = llvm::json::Object{
      {"ptxas", release.empty() ? llvm::json::Value(nullptr) : release},
      {"kernels", std::move(kernels)},
      {"warnings", std::move(warnings)}};
  std::string text;
  llvm::raw_string_ostream(text) << llvm::formatv("{0:2}\n", root);
  return text;
}

void DeviceCode::describe(llvm::json::Object &target) const {
  llvm::json::Array architectures;
  for (const Cubin &cubin : cubins)
    architectures.push_back(cubin.architecture);
  llvm::json::Array imageNames;
  for (const DeviceImage &image : images) {
    imageNames.push_back(image.name);
    if (image.cubin)
      architectures.push_back(image.name);
  }
  target["device"] = "cuda";
  target["architectures"] = std::move(architectures);
  if (!imageNames.empty())
    target["images"] = std::move(imageNames);
}

std::vector<NamedBytes> DeviceCode::getSections() const {
  // The driver reads PTX to its null.
  std::vector<NamedBytes> sections{{"kernels.ptx", ptx + '\0'}};
  for (const Cubin &cubin : cubins)
    sections.push_back({"kernels." + cubin.architecture, cubin.code});
  for (const DeviceImage &image : images) {
    std::string name = "kernels." + image.name;
    sections.push_back({name + ".ptx", image.ptx + '\0'});
    if (image.cubin)
      sections.push_back({name, image.cubin->code});
  }
  return sections;
}

std::vector<NamedBytes> DeviceCode::getFiles() const {
  std::vector<NamedBytes> files{{"kernels.bc", bitcode},
                                {"kernels.ptx", ptx},
                                {"kernels.json", getResourcesAsJson()}};
  for (const Cubin &cubin : cubins)
    files.push_back({"kernels." + cubin.architecture + ".cubin", cubin.code});
  for (const DeviceImage &image : images) {
    std::string name = "kernels." + image.name;
    files.push_back({name + ".bc", image.bitcode});
    files.push_back({name + ".ptx", image.ptx});
    if (image.cubin)
      files.push_back({name + ".cubin", image.cubin->code});
  }
  return files;
}

/// The image of this name that a kernel has, if any.
static std::optional<KernelImage> findImage(Operation *kernel, StringRef name) {
  for (KernelImage &image : getKernelImages(kernel))
    if (image.image == name)
      return std::move(image);
  return std::nullopt;
}

/// Gives each kernel the body that `kind` says, or removes it.
static LogicalResult bindKernels(gpu::GPUModuleOp kernels, llvm::Module &module,
                                 const BitcodeKind &kind) {
  for (FunctionOpInterface kernel : getDeviceKernels(kernels)) {
    llvm::Function *function = module.getFunction(kernel.getName());
    if (kernel->hasAttr(codeAttrName)) {
      function->eraseFromParent();
      continue;
    }
    std::optional<DeviceEntry> entry = getDeviceEntry(kernel);
    std::optional<Launch> launch = getLaunch(kernel);
    if (std::optional<KernelImage> own = findImage(kernel, kind.image)) {
      function->deleteBody();
      entry = own->entry;
      launch = own->launch;
    } else if (!kind.isWhole) {
      function->eraseFromParent();
      continue;
    }
    if (!entry)
      continue;
    if (llvm::Error error =
            bindDeviceKernel(module, kernel.getName(), *entry, *launch))
      return kernel.emitError(llvm::toString(std::move(error)));
  }
  return success();
}

SmallVector<std::string> tp::findImages(ModuleOp program) {
  SmallVector<std::string> names;
  auto kernels = program.lookupSymbol<gpu::GPUModuleOp>(kernelsModuleName);
  if (!kernels)
    return names;
  for (FunctionOpInterface kernel : getDeviceKernels(kernels))
    for (const KernelImage &image : getKernelImages(kernel))
      if (!llvm::is_contained(names, image.image))
        names.push_back(image.image);
  return names;
}

FailureOr<std::string> tp::makeBitcode(ModuleOp program,
                                       const BitcodeKind &kind) {
  auto kernels = program.lookupSymbol<gpu::GPUModuleOp>(kernelsModuleName);
  if (!kernels)
    return program.emitError(
        "expected gpu.module @kernels, as the lower stage makes it for a "
        "device");
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine =
      makeDeviceMachine(kind.image, error);
  if (!machine)
    return kernels.emitError("no code generator for NVPTX: ") << error;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module =
      translateModuleToLLVMIR(kernels, context, "kernels");
  if (!module)
    return failure();
  module->setTargetTriple(machine->getTargetTriple());
  module->setDataLayout(machine->createDataLayout());
  if (failed(bindKernels(kernels, *module, kind)))
    return failure();
  if (!kind.image.empty())
    setImage(*module, kind.image);
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

/// Machine code of the portable kernels. What spills is given more registers,
/// and all is made again.
static llvm::Error assemblePortable(DeviceCode &code,
                                    ArrayRef<std::string> architectures,
                                    function_ref<void(StringRef)> onUnknown) {
  auto assemble = [&]() -> llvm::Error {
    auto cubins = assemblePtx(code.ptxas, code.ptx, architectures, onUnknown);
    if (!cubins)
      return cubins.takeError();
    code.cubins = std::move(*cubins);
    return llvm::Error::success();
  };
  if (llvm::Error error = assemble())
    return error;
  llvm::StringSet<> spilling = findSpilling(code.cubins);
  if (spilling.empty())
    return llvm::Error::success();
  llvm::Expected<bool> changed = giveRegisters(code.bitcode, spilling);
  if (!changed)
    return changed.takeError();
  if (!*changed)
    return llvm::Error::success();
  llvm::Expected<std::string> ptx = makePtx(code.bitcode);
  if (!ptx)
    return ptx.takeError();
  code.ptx = std::move(*ptx);
  // The kernels that are left out have been reported.
  auto ignore = [](StringRef) {};
  if (onUnknown)
    onUnknown = ignore;
  return assemble();
}

/// True if a device for which machine code is made can run kernels of `image`,
/// which is for the very architecture: "sm_90a" for "sm_90".
static bool isWanted(StringRef image, const CudaArchitectures &architectures) {
  return llvm::is_contained(architectures.names, image.drop_back());
}

/// Bitcode and PTX of the portable kernels, and of the images that some device
/// of `architectures` runs.
static LogicalResult printKernels(ModuleOp module, DeviceCode &code,
                                  const CudaArchitectures &architectures) {
  auto print = [&](const BitcodeKind &kind, std::string &bitcode,
                   std::string &ptx) -> LogicalResult {
    FailureOr<std::string> made = makeBitcode(module, kind);
    if (failed(made))
      return failure();
    bitcode = std::move(*made);
    llvm::Expected<std::string> text = makePtx(bitcode);
    if (!text)
      return module.emitError() << llvm::toString(text.takeError());
    ptx = std::move(*text);
    return success();
  };
  if (failed(print({}, code.bitcode, code.ptx)))
    return failure();
  for (const std::string &name : findImages(module)) {
    if (!isWanted(name, architectures))
      continue;
    DeviceImage &image = code.images.emplace_back();
    image.name = name;
    if (failed(print({name, /*isWhole=*/false}, image.bitcode, image.ptx)))
      return failure();
  }
  return success();
}

FailureOr<DeviceCode>
tp::compileDevice(ModuleOp module, const CudaArchitectures &architectures) {
  DeviceCode code;
  if (failed(printKernels(module, code, architectures)))
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
  auto report = [&](llvm::Error error) {
    return module.emitError() << llvm::toString(std::move(error));
  };
  if (llvm::Error error =
          assemblePortable(code, architectures.names, onUnknown))
    return report(std::move(error));
  for (DeviceImage &image : code.images) {
    auto cubins = assemblePtx(code.ptxas, image.ptx, {image.name}, onUnknown);
    if (!cubins)
      return report(cubins.takeError());
    if (!cubins->empty())
      image.cubin = std::move(cubins->front());
  }
  return code;
}
