//===- Artifact.cpp - From the LLVM dialect to an artifact ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything in the module is internal but the query function, which is added
// to the LLVM IR here. No function of the C library may be assumed: loops must
// not be turned into memset or memcpy.
//
//===----------------------------------------------------------------------===//

#include "tp/CodeGen/Artifact.h"

#include "tp/CodeGen/CodeGen.h"
#include "tp/Support/OutputFile.h"
#include "tprt/abi.h"
#include "tprt/artifact.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;
using namespace tp;

void tp::registerTargetDialects(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  for (const TargetRow &row : getTargetRows())
    if (row.registerDialects)
      row.registerDialects(registry);
}

static std::unique_ptr<llvm::TargetMachine>
makeTargetMachine(const HostCpu &target, std::string &error) {
  static bool initialised = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)initialised;
  llvm::Triple triple(target.triple);
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found)
    return nullptr;
  std::string features;
  for (const std::string &feature : target.features)
    features += (features.empty() ? "+" : ",+") + feature;
  llvm::TargetOptions options;
  // Products and sums may share one rounding.
  options.AllowFPOpFusion = llvm::FPOpFusion::Fast;
  return std::unique_ptr<llvm::TargetMachine>(found->createTargetMachine(
      triple, "x86-64", features, options, llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Default));
}

/// Adds tprt_query, which returns the table of `entries`.
static void addQuery(llvm::Module &module, ArrayAttr entries) {
  llvm::LLVMContext &context = module.getContext();
  llvm::IRBuilder<> builder(context);
  llvm::Type *pointer = builder.getPtrTy();
  llvm::Type *i32 = builder.getInt32Ty();
  SmallVector<llvm::Constant *> steps;
  for (Attribute entry : entries)
    steps.push_back(
        module.getFunction(cast<FlatSymbolRefAttr>(entry).getValue()));
  auto *arrayType = llvm::ArrayType::get(pointer, steps.size());
  auto makeConstant = [&](llvm::Constant *value, StringRef name) {
    return new llvm::GlobalVariable(module, value->getType(), true,
                                    llvm::GlobalValue::InternalLinkage, value,
                                    name);
  };
  auto *array =
      makeConstant(llvm::ConstantArray::get(arrayType, steps), "entries");
  static_assert(offsetof(tprt_program, abi_version) == 0 &&
                offsetof(tprt_program, entry_count) == 4 &&
                offsetof(tprt_program, entries) == 8 &&
                sizeof(tprt_program) == 16);
  auto *program = makeConstant(
      llvm::ConstantStruct::getAnon({builder.getInt32(TPRT_ABI_VERSION),
                                     builder.getInt32(steps.size()), array}),
      "program");
  auto *query = llvm::Function::Create(
      llvm::FunctionType::get(pointer, {i32}, false),
      llvm::GlobalValue::ExternalLinkage, TPRT_QUERY_SYMBOL, module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "", query));
  llvm::Value *known = builder.CreateICmpEQ(query->getArg(0),
                                            builder.getInt32(TPRT_ABI_VERSION));
  builder.CreateRet(builder.CreateSelect(
      known, program, llvm::ConstantPointerNull::get(builder.getPtrTy())));
}

/// Adds __truncsfbf2, f32 to bf16 to nearest even. Where the target has no
/// instruction for it, the code generator calls it when it makes a choice or a
/// move of single bf16 values in f32; compiled code imports nothing, so it
/// brings its own.
static void addNarrowing(llvm::Module &module) {
  llvm::LLVMContext &context = module.getContext();
  llvm::IRBuilder<> builder(context);
  auto *function = llvm::Function::Create(
      llvm::FunctionType::get(builder.getBFloatTy(), {builder.getFloatTy()},
                              false),
      llvm::GlobalValue::ExternalLinkage, "__truncsfbf2", module);
  function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "", function));
  llvm::Value *value = function->getArg(0);
  llvm::Value *bits = builder.CreateBitCast(value, builder.getInt32Ty());
  llvm::Value *upper = builder.CreateLShr(bits, 16);
  llvm::Value *bias =
      builder.CreateAdd(builder.CreateAnd(upper, 1), builder.getInt32(0x7fff));
  llvm::Value *rounded = builder.CreateLShr(builder.CreateAdd(bits, bias), 16);
  llvm::Value *quiet = builder.CreateOr(upper, 0x40);
  llvm::Value *chosen =
      builder.CreateSelect(builder.CreateFCmpUNO(value, value), quiet, rounded);
  llvm::Value *half = builder.CreateTrunc(chosen, builder.getInt16Ty());
  builder.CreateRet(builder.CreateBitCast(half, builder.getBFloatTy()));
}

/// Links `object` to a shared object; returns its bytes.
static FailureOr<std::string> link(StringRef object, ModuleOp module) {
  llvm::ErrorOr<std::string> linker = std::string(TP_LLD);
  if (!llvm::sys::fs::can_execute(*linker))
    linker = llvm::sys::findProgramByName("ld.lld-22");
  if (!linker)
    linker = llvm::sys::findProgramByName("ld.lld");
  if (!linker)
    return module.emitError("cannot link: expected LLVM's linker as " TP_LLD
                            ", or ld.lld on the path; install lld-22");
  TemporaryFile input("o"), output("so"), log("txt");
  std::string error;
  for (const TemporaryFile *file : {&input, &output, &log})
    if (error.empty())
      error = file->error;
  if (error.empty())
    error = writeFile(input.path, object);
  if (!error.empty())
    return module.emitError("for the linker: ") << error;
  SmallVector<StringRef> arguments{
      *linker,         "-shared", "--no-undefined", "-z",
      "now",           "-z",      "relro",          "--build-id=none",
      "--gc-sections", "-o",      output.path,      input.path};
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(log.path),
                                          StringRef(log.path)};
  std::string message;
  int status = llvm::sys::ExecuteAndWait(*linker, arguments, std::nullopt,
                                         redirects, 0, 0, &message);
  if (status != 0) {
    if (auto text = llvm::MemoryBuffer::getFile(log.path))
      message += (*text)->getBuffer();
    return module.emitError("linking the generated code failed: ") << message;
  }
  auto bytes = llvm::MemoryBuffer::getFile(output.path);
  if (!bytes)
    return module.emitError("cannot read the linked code: ")
           << bytes.getError().message();
  return (*bytes)->getBuffer().str();
}

/// The step's shared object.
static FailureOr<std::string> compileStep(ModuleOp module, ArrayAttr entries,
                                          const HostCpu &target) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(module, context);
  if (!code)
    return failure();
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine =
      makeTargetMachine(target, error);
  if (!machine)
    return module.emitError("no code generator for ")
           << target.triple << ": " << error;
  code->setTargetTriple(machine->getTargetTriple());
  code->setDataLayout(machine->createDataLayout());
  for (llvm::Function &function : *code) {
    if (function.isDeclaration())
      continue;
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.addFnAttr("no-builtins");
    function.addFnAttr("prefer-vector-width",
                       std::to_string(target.vectorBits));
    function.addFnAttr("min-legal-vector-width",
                       std::to_string(target.vectorBits));
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
  // A step is calls in a row: there is nothing in it to optimise.
  for (auto entry : entries.getAsRange<FlatSymbolRefAttr>()) {
    llvm::Function *step = code->getFunction(entry.getValue());
    step->addFnAttr(llvm::Attribute::OptimizeNone);
    step->addFnAttr(llvm::Attribute::NoInline);
  }
  addQuery(*code, entries);
  optimise(*code, *machine, Passes::PerFunction);
  addNarrowing(*code);

  SmallVector<char> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager emitter;
  [[maybe_unused]] bool isWithout = machine->addPassesToEmitFile(
      emitter, stream, nullptr, llvm::CodeGenFileType::ObjectFile);
  assert(!isWithout && "x86-64 has object files");
  emitter.run(*code);

  return link(StringRef(object.data(), object.size()), module);
}

static llvm::json::Object describeTarget(const HostCpu &host,
                                         const KernelCode *kernels) {
  llvm::json::Object result{{"triple", host.triple},
                            {"features", llvm::json::Array(host.features)}};
  if (kernels)
    kernels->describe(result);
  return result;
}

FailureOr<Program> tp::compileProgram(ModuleOp module, const Target &target) {
  auto manifestText = module->getAttrOfType<StringAttr>("tp.manifest");
  auto constants = module->getAttrOfType<StringAttr>("tp.constants");
  auto entries = module->getAttrOfType<ArrayAttr>("tp.entries");
  assert(manifestText && constants && entries &&
         "the module is not one after tp-lower-step");
  Program program;
  FailureOr<std::unique_ptr<KernelCode>> kernels =
      target.compileKernels(module);
  if (failed(kernels))
    return failure();
  program.kernels = std::move(*kernels);
  HostCpu host = target.getHost();
  FailureOr<std::string> step = compileStep(module, entries, host);
  if (failed(step))
    return failure();
  program.code = std::move(*step);
  program.constants = constants.getValue().str();
  llvm::json::Value manifest =
      llvm::cantFail(llvm::json::parse(manifestText.getValue()));
  (*manifest.getAsObject())["target"] =
      describeTarget(host, program.kernels.get());
  llvm::raw_string_ostream(program.manifest) << manifest;
  tprt::Status checked = tprt::checkManifest(program.manifest);
  if (!checked.ok())
    return module.emitError("the artifact's manifest is wrong: ")
           << checked.message();
  return program;
}

std::string tp::writeProgram(const Program &program, llvm::StringRef path) {
  std::vector<tprt::Section> sections{{"manifest", program.manifest},
                                      {"code", program.code}};
  if (program.kernels)
    for (NamedBytes &section : program.kernels->getSections())
      sections.push_back({std::move(section.name), std::move(section.bytes)});
  sections.push_back({"constants", program.constants});
  return writeFile(path, tprt::writeArtifact(sections));
}

std::string tp::saveKernels(const Program &program, StringRef directory) {
  assert(program.kernels && "the target launches kernels");
  if (std::error_code error = llvm::sys::fs::create_directories(directory))
    return ("cannot make " + directory + ": " + error.message()).str();
  for (const NamedBytes &file : program.kernels->getFiles()) {
    SmallString<128> path(directory);
    llvm::sys::path::append(path, file.name);
    if (std::string error = writeFile(path, file.bytes); !error.empty())
      return error;
  }
  return "";
}
