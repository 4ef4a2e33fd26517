//===- Rewrite.cpp - NVPTX IR as x86-64 IR --------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Address spaces may stay: x86-64 treats those below 256 as one. Shared
// variables become offsets into the emulator's arena, because the optimiser and
// the code generator may keep the value of a variable of this module across a
// call. No pass runs after the rewrite.
//
//===----------------------------------------------------------------------===//

#include "EmulateKernels.h"

#include "../Runtime/Module.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/ModuleSlotTracker.h"
#include "llvm/IR/ReplaceConstant.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;
using namespace tp::emulator;

namespace {
constexpr unsigned sharedSpace = 3;
/// The functions that device kernels call and that exist only as PTX
/// (kernels/device/primitives.h).
constexpr StringLiteral primitivePrefix = "tp_";

/// As Launch.h numbers them.
enum Kind { Read, Write, Atomic };
enum Space { Any, Shared };

class Rewriter {
public:
  Rewriter(Module &module, uint64_t ptxHash, bool checked)
      : module(module), context(module.getContext()), ptxHash(ptxHash),
        checked(checked), tracker(&module), builder(context) {}
  Error run();

private:
  void findKernels();
  void placeShared();
  void replaceShared(GlobalVariable &variable, uint64_t offset);
  void rewriteFunction(Function &function);
  void rewriteInstruction(Instruction &instruction);
  void rewriteCall(CallInst &call);
  void widen(CallInst &call);
  void rewriteApproximate(Instruction &instruction, StringRef name);
  void checkAccess(Instruction &instruction, Value *pointer, Type *type,
                   Align alignment, Kind kind);
  Value *callEmulator(Instruction &before, StringRef name,
                      ArrayRef<Value *> operands, Type *result);
  void callIntrinsic(CallInst &call, StringRef name);
  Constant *makeSite(Instruction &instruction);
  Constant *makeText(const Twine &text, const Twine &name);
  Constant *makeTable(ArrayRef<Constant *> rows, Type *rowType,
                      const Twine &name);
  Function *addEntry(Function &kernel);
  void addSites();
  void addTables();
  void findRegisters(Function &function);
  void fail(const Twine &text) {
    if (problem.empty())
      problem = text.str();
  }

  Module &module;
  LLVMContext &context;
  uint64_t ptxHash;
  bool checked;
  ModuleSlotTracker tracker;
  IRBuilder<> builder;
  std::string problem;
  unsigned numSites = 0;
  /// The places of instructions, each ended by a zero byte, and the variable
  /// that stands for all of them until addSites. A variable for each would be
  /// printed with, and so make the time quadratic in their number.
  std::string sites;
  GlobalVariable *siteTable = nullptr;
  SmallVector<Function *> kernels;
  /// Global memory of the module.
  SmallVector<GlobalVariable *> ownVariables;
  struct SharedPlace {
    std::string name;
    uint64_t offset, size;
  };
  /// Per kernel: its variables, where its dynamic memory begins.
  MapVector<Function *, SmallVector<SharedPlace>> shared;
  DenseMap<Function *, uint64_t> dynamicOffsets;
  /// Kernels with instructions of sm_90.
  SmallPtrSet<Function *, 4> kernelsOfSm90;
  /// Variables of the present function that are given to primitives by address.
  SmallPtrSet<const Value *, 8> registers;
  /// The present function's slots for operands and results.
  Value *in = nullptr, *out = nullptr;
  static constexpr unsigned numSlots = 32;
};
} // namespace

static bool isPrimitive(const Function &function) {
  return function.isDeclaration() &&
         function.getName().starts_with(primitivePrefix);
}

Constant *Rewriter::makeText(const Twine &text, const Twine &name) {
  return builder.CreateGlobalString(text.str(), name, 0, &module);
}

Constant *Rewriter::makeSite(Instruction &instruction) {
  uint64_t offset = sites.size();
  raw_string_ostream stream(sites);
  stream << instruction.getFunction()->getName() << " #" << numSites++ << ":";
  if (DebugLoc location = instruction.getDebugLoc())
    stream << " " << location->getFilename() << ":" << location.getLine() << ":"
           << location.getCol();
  tracker.incorporateFunction(*instruction.getFunction());
  stream << " ";
  std::string printed;
  raw_string_ostream printer(printed);
  instruction.print(printer, tracker);
  stream << StringRef(printed).trim() << '\0';
  if (!siteTable)
    siteTable = new GlobalVariable(module, builder.getInt8Ty(), true,
                                   GlobalValue::ExternalLinkage, nullptr);
  return ConstantExpr::getGetElementPtr(builder.getInt8Ty(), siteTable,
                                        builder.getInt64(offset));
}

void Rewriter::addSites() {
  if (!siteTable)
    return;
  Constant *text = ConstantDataArray::getString(context, sites, false);
  auto *table = new GlobalVariable(module, text->getType(), true,
                                   GlobalValue::PrivateLinkage, text, "sites");
  siteTable->replaceAllUsesWith(table);
  siteTable->eraseFromParent();
}

/// The functions of `kernels` from which `user` can be reached.
static void addUsers(Value *value, ArrayRef<Function *> kernels,
                     SmallSetVector<Function *, 4> &found,
                     SmallPtrSetImpl<Value *> &seen) {
  for (User *user : value->users()) {
    if (!seen.insert(user).second)
      continue;
    if (auto *instruction = dyn_cast<Instruction>(user)) {
      Function *function = instruction->getFunction();
      if (is_contained(kernels, function))
        found.insert(function);
      else
        addUsers(function, kernels, found, seen);
    } else {
      addUsers(user, kernels, found, seen);
    }
  }
}

void Rewriter::findKernels() {
  for (Function &function : module)
    if (function.getCallingConv() == CallingConv::PTX_Kernel)
      kernels.push_back(&function);
  SmallSetVector<Function *, 4> found;
  SmallPtrSet<Value *, 16> seen;
  for (Function &function : module)
    if (isPrimitive(function))
      addUsers(&function, kernels, found, seen);
  kernelsOfSm90.insert(found.begin(), found.end());
}

/// Places shared variables: those of several kernels first, at one offset for
/// all; then each kernel's own. All dynamic variables of a kernel begin where
/// the static ones end, as on the device.
void Rewriter::placeShared() {
  const DataLayout &layout = module.getDataLayout();
  SmallVector<std::pair<GlobalVariable *, SmallSetVector<Function *, 4>>> users;
  for (GlobalVariable &variable : module.globals()) {
    if (variable.getAddressSpace() != sharedSpace)
      continue;
    SmallSetVector<Function *, 4> found;
    SmallPtrSet<Value *, 16> seen;
    addUsers(&variable, kernels, found, seen);
    users.push_back({&variable, found});
  }
  auto sizeOf = [&](GlobalVariable *variable) {
    return layout.getTypeAllocSize(variable->getValueType()).getFixedValue();
  };
  auto place = [&](GlobalVariable *variable, uint64_t &end) {
    Align alignment = std::max(variable->getAlign().valueOrOne(), Align(16));
    uint64_t offset = alignTo(end, alignment);
    end = offset + sizeOf(variable) + redzoneBytes;
    return offset;
  };
  DenseMap<GlobalVariable *, uint64_t> offsets;
  uint64_t common = 0, end = 0;
  for (auto &[variable, found] : users)
    if (sizeOf(variable) != 0 && found.size() > 1)
      offsets[variable] = place(variable, common);
  DenseMap<Function *, uint64_t> ends;
  for (Function *kernel : kernels)
    ends[kernel] = common;
  for (auto &[variable, found] : users)
    if (sizeOf(variable) != 0 && found.size() == 1)
      offsets[variable] = place(variable, ends[found.front()]);
  // A dynamic variable that several kernels use must be at one offset.
  for (Function *kernel : kernels)
    end = std::max(end, ends[kernel]);
  end = alignTo(end, dynamicAlignment);
  for (auto &[variable, found] : users) {
    if (sizeOf(variable) == 0)
      offsets[variable] = found.size() == 1
                              ? alignTo(ends[found.front()], dynamicAlignment)
                              : end;
    for (Function *kernel : found)
      shared[kernel].push_back(
          {variable->getName().str(), offsets[variable], sizeOf(variable)});
    if (sizeOf(variable) == 0)
      for (Function *kernel : found) {
        uint64_t &offset = dynamicOffsets[kernel];
        offset = std::max(offset, offsets[variable]);
      }
  }
  for (Function *kernel : kernels)
    if (!dynamicOffsets.count(kernel))
      dynamicOffsets[kernel] = ends[kernel];
  SmallVector<Constant *> variables;
  for (auto &[variable, found] : users)
    variables.push_back(variable);
  convertUsersOfConstantsToInstructions(variables);
  for (auto &[variable, found] : users) {
    replaceShared(*variable, offsets[variable]);
    variable->eraseFromParent();
  }
}

void Rewriter::replaceShared(GlobalVariable &variable, uint64_t offset) {
  FunctionCallee arena = module.getOrInsertFunction(
      "tpEmulateShared",
      FunctionType::get(PointerType::get(context, sharedSpace), false));
  DenseMap<Function *, Value *> addresses; // one per function
  for (Use &use : make_early_inc_range(variable.uses())) {
    Function *function = cast<Instruction>(use.getUser())->getFunction();
    Value *&address = addresses[function];
    if (!address) {
      IRBuilder<> first(&*function->getEntryBlock().getFirstInsertionPt());
      address = first.CreateConstGEP1_64(first.getInt8Ty(),
                                         first.CreateCall(arena), offset);
    }
    use.set(address);
  }
}

void Rewriter::checkAccess(Instruction &instruction, Value *pointer, Type *type,
                           Align alignment, Kind kind) {
  const Value *object = getUnderlyingObject(pointer, 0);
  if (!checked || (isa<AllocaInst>(object) && !registers.contains(object)) ||
      object->getName() == chosenFaultSymbol)
    return;
  builder.SetInsertPoint(&instruction);
  Space space = pointer->getType()->getPointerAddressSpace() == sharedSpace
                    ? Space::Shared
                    : Space::Any;
  if (pointer->getType() != builder.getPtrTy())
    pointer = builder.CreateAddrSpaceCast(pointer, builder.getPtrTy());
  FunctionCallee callee = module.getOrInsertFunction(
      "tpEmulateAccess", builder.getVoidTy(), builder.getPtrTy(),
      builder.getInt32Ty(), builder.getInt32Ty(), builder.getInt32Ty(),
      builder.getInt32Ty(), builder.getPtrTy());
  uint32_t bytes = module.getDataLayout().getTypeStoreSize(type);
  builder.CreateCall(callee, {pointer, builder.getInt32(bytes),
                              builder.getInt32(alignment.value()),
                              builder.getInt32(kind), builder.getInt32(space),
                              makeSite(instruction)});
}

/// A call of tpEmulate_<name> with operands and result in slots.
Value *Rewriter::callEmulator(Instruction &before, StringRef name,
                              ArrayRef<Value *> operands, Type *result) {
  std::string symbol = "tpEmulate_" + name.str();
  for (char &letter : symbol)
    if (!isAlnum(letter))
      letter = '_';
  builder.SetInsertPoint(&before);
  Type *slot = builder.getInt64Ty();
  if (operands.size() > numSlots) {
    fail("too many operands: " + name);
    return PoisonValue::get(result);
  }
  for (auto [i, operand] : enumerate(operands)) {
    if (module.getDataLayout().getTypeStoreSize(operand->getType()) > 8)
      fail("an operand of more than eight bytes: " + name);
    builder.CreateStore(operand, builder.CreateConstGEP1_32(slot, in, i));
  }
  FunctionCallee callee = module.getOrInsertFunction(
      symbol, builder.getVoidTy(), builder.getPtrTy(), builder.getPtrTy(),
      builder.getPtrTy());
  builder.CreateCall(callee, {out, in, makeSite(before)});
  if (result->isVoidTy())
    return nullptr;
  auto *members = dyn_cast<StructType>(result);
  if (!members)
    return builder.CreateLoad(result, out);
  Value *value = PoisonValue::get(result);
  for (auto [i, member] : enumerate(members->elements()))
    value = builder.CreateInsertValue(
        value,
        builder.CreateLoad(member, builder.CreateConstGEP1_32(slot, out, i)),
        i);
  return value;
}

void Rewriter::callIntrinsic(CallInst &call, StringRef name) {
  SmallVector<Value *> operands(call.args());
  Value *result = callEmulator(call, name, operands, call.getType());
  if (result)
    call.replaceAllUsesWith(result);
  call.eraseFromParent();
}

/// Operations of LLVM for which the code generator for NVPTX takes an
/// approximate instruction, element by element.
void Rewriter::rewriteApproximate(Instruction &instruction, StringRef name) {
  Type *type = instruction.getType();
  if (!type->getScalarType()->isFloatTy())
    return fail("an approximate operation that is not of f32: " + name);
  unsigned numOperands = isa<CallInst>(instruction)
                             ? cast<CallInst>(instruction).arg_size()
                             : instruction.getNumOperands();
  auto apply = [&](ArrayRef<Value *> operands) {
    return callEmulator(instruction, name, operands, Type::getFloatTy(context));
  };
  Value *result = nullptr;
  SmallVector<Value *> operands(instruction.op_begin(),
                                instruction.op_begin() + numOperands);
  if (auto *vector = dyn_cast<FixedVectorType>(type)) {
    result = PoisonValue::get(type);
    for (unsigned i = 0; i < vector->getNumElements(); ++i) {
      builder.SetInsertPoint(&instruction);
      SmallVector<Value *> elements;
      for (Value *operand : operands)
        elements.push_back(builder.CreateExtractElement(operand, i));
      Value *element = apply(elements);
      result = builder.CreateInsertElement(result, element, i);
    }
  } else {
    result = apply(operands);
  }
  instruction.replaceAllUsesWith(result);
  instruction.eraseFromParent();
}

/// The mnemonic of inline PTX, without a guard.
static StringRef getMnemonic(StringRef text) {
  text = text.trim();
  if (text.consume_front("@"))
    text = text.split(' ').second.ltrim();
  return text.take_until(
      [](char letter) { return letter == ' ' || letter == ';'; });
}

/// The host's code generator calls a library for those of 16 bits.
void Rewriter::widen(CallInst &call) {
  Type *type = call.getType();
  if (!type->getScalarType()->is16bitFPTy())
    return;
  builder.SetInsertPoint(&call);
  Type *wide = type->getWithNewType(builder.getFloatTy());
  Value *result = builder.CreateBinaryIntrinsic(
      call.getIntrinsicID(), builder.CreateFPExt(call.getArgOperand(0), wide),
      builder.CreateFPExt(call.getArgOperand(1), wide));
  call.replaceAllUsesWith(builder.CreateFPTrunc(result, type));
  call.eraseFromParent();
}

void Rewriter::rewriteCall(CallInst &call) {
  if (auto *assembly = dyn_cast<InlineAsm>(call.getCalledOperand()))
    return fail("inline PTX is not emulated: " +
                getMnemonic(assembly->getAsmString()));
  Function *callee = call.getCalledFunction();
  if (!callee)
    return fail("an indirect call is not emulated");
  StringRef name = callee->getName();
  if (isPrimitive(*callee) || name.consume_front("llvm.nvvm."))
    return callIntrinsic(call, name);
  if (auto *copy = dyn_cast<MemTransferInst>(&call)) {
    builder.SetInsertPoint(&call);
    Type *pointer = builder.getPtrTy();
    FunctionCallee move = module.getOrInsertFunction(
        "tpEmulateMove", builder.getVoidTy(), pointer, pointer,
        builder.getInt64Ty(), pointer);
    builder.CreateCall(
        move,
        {builder.CreateAddrSpaceCast(copy->getRawDest(), pointer),
         builder.CreateAddrSpaceCast(copy->getRawSource(), pointer),
         builder.CreateZExtOrTrunc(copy->getLength(), builder.getInt64Ty()),
         makeSite(call)});
    call.eraseFromParent();
    return;
  }
  if (auto *fill = dyn_cast<MemSetInst>(&call)) {
    builder.SetInsertPoint(&call);
    Type *pointer = builder.getPtrTy();
    FunctionCallee set = module.getOrInsertFunction(
        "tpEmulateFill", builder.getVoidTy(), pointer, builder.getInt8Ty(),
        builder.getInt64Ty(), pointer);
    builder.CreateCall(
        set,
        {builder.CreateAddrSpaceCast(fill->getRawDest(), pointer),
         fill->getValue(),
         builder.CreateZExtOrTrunc(fill->getLength(), builder.getInt64Ty()),
         makeSite(call)});
    call.eraseFromParent();
    return;
  }
  bool afn = isa<FPMathOperator>(call) && call.hasApproxFunc();
  switch (callee->getIntrinsicID()) {
  case Intrinsic::exp2:
    return rewriteApproximate(call, "llvm.exp2");
  case Intrinsic::log2:
    return rewriteApproximate(call, "llvm.log2");
  case Intrinsic::sin:
    return rewriteApproximate(call, "llvm.sin");
  case Intrinsic::cos:
    return rewriteApproximate(call, "llvm.cos");
  case Intrinsic::tanh:
    return rewriteApproximate(call, "llvm.tanh");
  case Intrinsic::sqrt:
    if (afn)
      return rewriteApproximate(call, "llvm.sqrt.approx");
    return;
  case Intrinsic::maxnum:
  case Intrinsic::minnum:
  case Intrinsic::maximum:
  case Intrinsic::minimum:
    return widen(call);
  case Intrinsic::not_intrinsic:
    if (callee->isDeclaration() && !name.starts_with("tpEmulate"))
      fail("a function without definition: " + callee->getName());
    return;
  default:
    return;
  }
}

void Rewriter::rewriteInstruction(Instruction &instruction) {
  if (auto *load = dyn_cast<LoadInst>(&instruction))
    return checkAccess(instruction, load->getPointerOperand(), load->getType(),
                       load->getAlign(), Kind::Read);
  if (auto *store = dyn_cast<StoreInst>(&instruction))
    return checkAccess(instruction, store->getPointerOperand(),
                       store->getValueOperand()->getType(), store->getAlign(),
                       Kind::Write);
  if (auto *atomic = dyn_cast<AtomicRMWInst>(&instruction))
    return checkAccess(instruction, atomic->getPointerOperand(),
                       atomic->getType(), atomic->getAlign(), Kind::Atomic);
  if (auto *exchange = dyn_cast<AtomicCmpXchgInst>(&instruction))
    return checkAccess(instruction, exchange->getPointerOperand(),
                       exchange->getNewValOperand()->getType(),
                       exchange->getAlign(), Kind::Atomic);
  if (auto *call = dyn_cast<CallInst>(&instruction))
    return rewriteCall(*call);
  if (instruction.getOpcode() == Instruction::FDiv &&
      instruction.hasApproxFunc())
    rewriteApproximate(instruction, "llvm.fdiv.approx");
}

/// A primitive takes registers by address: the emulator sees who touches them.
void Rewriter::findRegisters(Function &function) {
  registers.clear();
  for (Instruction &instruction : instructions(function)) {
    auto *call = dyn_cast<CallInst>(&instruction);
    if (!call || !call->getCalledFunction() ||
        !isPrimitive(*call->getCalledFunction()))
      continue;
    for (Value *argument : call->args())
      if (argument->getType()->isPointerTy())
        if (auto *variable =
                dyn_cast<AllocaInst>(getUnderlyingObject(argument, 0)))
          registers.insert(variable);
  }
}

void Rewriter::rewriteFunction(Function &function) {
  findRegisters(function);
  SmallVector<Instruction *> work;
  for (Instruction &instruction : instructions(function))
    work.push_back(&instruction);
  IRBuilder<> first(&*function.getEntryBlock().getFirstInsertionPt());
  Type *slots = ArrayType::get(first.getInt64Ty(), numSlots);
  in = first.CreateAlloca(slots);
  out = first.CreateAlloca(slots);
  for (Instruction *instruction : work)
    rewriteInstruction(*instruction);
  // The attributes of the device.
  for (StringRef name : {"target-cpu", "target-features", "tune-cpu"})
    function.removeFnAttr(name);
}

/// void <kernel>__emu(void **arguments)
Function *Rewriter::addEntry(Function &kernel) {
  kernel.setCallingConv(CallingConv::C);
  kernel.setLinkage(GlobalValue::InternalLinkage);
  auto *entry = Function::Create(
      FunctionType::get(builder.getVoidTy(), {builder.getPtrTy()}, false),
      GlobalValue::ExternalLinkage, kernel.getName() + "__emu", module);
  builder.SetInsertPoint(BasicBlock::Create(context, "", entry));
  SmallVector<Value *> arguments;
  for (Argument &argument : kernel.args()) {
    Value *address = builder.CreateLoad(
        builder.getPtrTy(),
        builder.CreateConstGEP1_32(builder.getPtrTy(), entry->getArg(0),
                                   argument.getArgNo()));
    arguments.push_back(argument.hasByValAttr()
                            ? address
                            : builder.CreateLoad(argument.getType(), address));
  }
  builder.CreateCall(&kernel, arguments);
  builder.CreateRetVoid();
  return entry;
}

Constant *Rewriter::makeTable(ArrayRef<Constant *> rows, Type *rowType,
                              const Twine &name) {
  auto *type = ArrayType::get(rowType, rows.size());
  return new GlobalVariable(module, type, true, GlobalValue::InternalLinkage,
                            ConstantArray::get(type, rows), name);
}

/// Up to three numbers of a function's attribute, as "128,1,1".
static SmallVector<uint32_t, 3> getDims(const Function &function,
                                        StringRef name) {
  SmallVector<uint32_t, 3> dims;
  SmallVector<StringRef> parts;
  Attribute attribute = function.getFnAttribute(name);
  if (!attribute.isValid())
    return {0, 0, 0};
  attribute.getValueAsString().split(parts, ',');
  for (StringRef part : parts) {
    uint32_t number = 0;
    part.trim().getAsInteger(10, number);
    dims.push_back(number);
  }
  dims.resize(3, 1);
  return dims;
}

/// The tables of Module.h.
void Rewriter::addTables() {
  Type *pointer = builder.getPtrTy(), *i32 = builder.getInt32Ty();
  Type *i64 = builder.getInt64Ty();
  auto number = [&](uint64_t value) { return builder.getInt32(value); };
  auto *sharedType = StructType::get(context, {pointer, i32, i32});
  auto *kernelType =
      StructType::get(context, {pointer, pointer, pointer, i32, i32, i32, i32,
                                ArrayType::get(i32, 3), i32});
  SmallVector<Constant *> rows;
  for (Function *kernel : kernels) {
    SmallVector<Constant *> places;
    for (const SharedPlace &place : shared[kernel])
      places.push_back(ConstantStruct::get(
          sharedType, {makeText(place.name, "name"), number(place.offset),
                       number(place.size)}));
    auto most = getDims(*kernel, "nvvm.maxntid");
    auto required = getDims(*kernel, "nvvm.reqntid");
    Constant *requiredRow = ConstantArray::get(
        ArrayType::get(i32, 3),
        {number(required[0]), number(required[1]), number(required[2])});
    std::string name = kernel->getName().str();
    Function *entry = addEntry(*kernel);
    rows.push_back(ConstantStruct::get(
        kernelType,
        {makeText(name, "name"), entry, makeTable(places, sharedType, "shared"),
         number(places.size()), number(dynamicOffsets[kernel]),
         number(kernel->arg_size()),
         number(uint64_t(most[0]) * most[1] * most[2]), requiredRow,
         number(kernelsOfSm90.contains(kernel) ? maxSharedSm90 : maxShared)}));
  }
  SmallVector<Constant *> constants;
  auto *constantType = StructType::get(context, {pointer, i64});
  for (GlobalVariable *variable : ownVariables) {
    uint64_t bytes =
        module.getDataLayout().getTypeAllocSize(variable->getValueType());
    constants.push_back(ConstantStruct::get(
        constantType, {ConstantExpr::getPointerBitCastOrAddrSpaceCast(
                           variable, builder.getPtrTy()),
                       builder.getInt64(bytes)}));
  }
  auto *moduleType =
      StructType::get(context, {i32, i32, i64, pointer, pointer, i32, i32});
  Constant *table = ConstantStruct::get(
      moduleType,
      {number(moduleVersion), number(checked), builder.getInt64(ptxHash),
       makeTable(rows, kernelType, "kernels"),
       makeTable(constants, constantType, "constants"), number(rows.size()),
       number(constants.size())});
  new GlobalVariable(module, moduleType, true, GlobalValue::ExternalLinkage,
                     table, moduleSymbol);
}

Error Rewriter::run() {
  Triple triple("x86_64-unknown-linux-gnu");
  if (module.getTargetTriple().getArch() != Triple::nvptx64)
    return createStringError("expected bitcode for nvptx64, got " +
                             module.getTargetTriple().str());
  findKernels();
  if (kernels.empty())
    return createStringError("the bitcode has no kernel");
  // Sizes are the same on the host.
  module.setTargetTriple(triple);
  module.setDataLayout(triple.computeDataLayout());
  placeShared();
  for (GlobalVariable &variable : module.globals())
    if (variable.hasInitializer())
      ownVariables.push_back(&variable);
  for (Function &function : make_early_inc_range(module))
    if (!function.isDeclaration())
      rewriteFunction(function);
  addSites();
  addTables();
  for (Function &function : make_early_inc_range(module))
    if (function.isIntrinsic() && function.use_empty())
      function.eraseFromParent();
  if (!problem.empty())
    return createStringError(problem);
  raw_string_ostream stream(problem);
  if (verifyModule(module, &stream))
    return createStringError("the rewritten kernels are wrong: " + problem);
  return Error::success();
}

Error tp::emulator::rewriteKernels(Module &module, uint64_t ptxHash,
                                   bool checked) {
  return Rewriter(module, ptxHash, checked).run();
}
