//===- Break.cpp - Faults made on purpose ---------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each fault is one small change of the kernel's IR, of the kind that a wrong
// generator would make, at every place where it can be made.
//
//===----------------------------------------------------------------------===//

#include "EmulateKernels.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/ModuleSlotTracker.h"

using namespace llvm;
using namespace tp::emulator;

static constexpr std::pair<Fault, StringLiteral> faultNames[] = {
    {Fault::DropBarrier, "drop-barrier"},
    {Fault::DropCopyWait, "drop-cp-async-wait"},
    {Fault::SkipInit, "skip-init"},
    {Fault::WrongLane, "wrong-lane"},
    {Fault::OffByOneBound, "off-by-one-bound"},
    {Fault::OverlapBlocks, "overlap-blocks"},
    {Fault::WrongPart, "wrong-part"}};

ArrayRef<Fault> tp::emulator::getFaults() {
  static const SmallVector<Fault> faults(make_first_range(faultNames));
  return faults;
}

StringRef tp::emulator::getFaultName(Fault fault) {
  return find_if(faultNames, [&](auto &named) { return named.first == fault; })
      ->second;
}

std::optional<Fault> tp::emulator::parseFault(StringRef name) {
  auto *found =
      find_if(faultNames, [&](auto &named) { return named.second == name; });
  if (found == std::end(faultNames))
    return std::nullopt;
  return found->first;
}

/// Whether the fault can be made at `instruction`.
static bool isPlace(Instruction &instruction, Fault fault) {
  StringRef callee;
  if (auto *call = dyn_cast<CallInst>(&instruction))
    if (Function *function = call->getCalledFunction())
      callee = function->getName();
  switch (fault) {
  case Fault::DropBarrier:
    return callee.starts_with("llvm.nvvm.barrier.cta.sync") ||
           callee == "llvm.nvvm.bar.warp.sync";
  case Fault::DropCopyWait:
    return callee.starts_with("llvm.nvvm.cp.async.wait");
  case Fault::SkipInit: {
    auto *store = dyn_cast<StoreInst>(&instruction);
    return store && store->getPointerAddressSpace() == 3;
  }
  case Fault::WrongLane:
    return callee.starts_with("llvm.nvvm.shfl.sync");
  case Fault::OffByOneBound: {
    auto *compare = dyn_cast<ICmpInst>(&instruction);
    return compare && compare->isRelational() &&
           compare->getOperand(0)->getType()->isIntegerTy();
  }
  case Fault::OverlapBlocks:
    return callee.starts_with("llvm.nvvm.read.ptx.sreg.ctaid");
  case Fault::WrongPart:
    return (instruction.getOpcode() == Instruction::UDiv ||
            instruction.getOpcode() == Instruction::LShr) &&
           instruction.getType()->isIntegerTy() &&
           isa<ConstantInt>(instruction.getOperand(1));
  }
  return false;
}

static SmallVector<Instruction *> getPlaces(Module &module, StringRef kernel,
                                            Fault fault) {
  SmallVector<Instruction *> places;
  for (Instruction &instruction : instructions(*module.getFunction(kernel)))
    if (isPlace(instruction, fault))
      places.push_back(&instruction);
  return places;
}

std::vector<std::string>
tp::emulator::listFaultPlaces(Module &module, StringRef kernel, Fault fault) {
  ModuleSlotTracker tracker(&module);
  tracker.incorporateFunction(*module.getFunction(kernel));
  std::vector<std::string> texts;
  for (Instruction *place : getPlaces(module, kernel, fault)) {
    std::string text;
    raw_string_ostream stream(text);
    place->print(stream, tracker);
    texts.push_back(StringRef(text).trim().str());
  }
  return texts;
}

void tp::emulator::breakKernel(Module &module, StringRef kernel, Fault fault,
                               size_t index) {
  Instruction *place = getPlaces(module, kernel, fault)[index];
  IRBuilder<> builder(place);
  switch (fault) {
  case Fault::DropBarrier:
  case Fault::DropCopyWait:
  case Fault::SkipInit:
    place->eraseFromParent();
    return;
  case Fault::WrongLane:
    // The third operand is a lane or a distance to one. A butterfly of another
    // distance may still reach every lane, one of none does not.
    place->setOperand(
        2,
        cast<CallInst>(place)->getCalledFunction()->getName().contains("bfly")
            ? builder.getInt32(0)
            : builder.CreateAdd(place->getOperand(2), builder.getInt32(1)));
    return;
  case Fault::OffByOneBound: {
    auto *compare = cast<ICmpInst>(place);
    CmpInst::Predicate predicate = compare->getPredicate();
    compare->setPredicate(CmpInst::isStrictPredicate(predicate)
                              ? CmpInst::getNonStrictPredicate(predicate)
                              : CmpInst::getStrictPredicate(predicate));
    compare->setSameSign(false);
    return;
  }
  case Fault::WrongPart: {
    auto *divisor = cast<ConstantInt>(place->getOperand(1));
    place->setOperand(
        1, ConstantInt::get(divisor->getType(), divisor->getZExtValue() + 1));
    place->dropPoisonGeneratingFlags();
    return;
  }
  case Fault::OverlapBlocks: {
    builder.SetInsertPoint(place->getNextNode());
    Value *half = builder.CreateLShr(place, builder.getInt32(1));
    place->replaceUsesWithIf(half,
                             [&](Use &use) { return use.getUser() != half; });
    return;
  }
  }
}

void tp::emulator::probeKernel(Module &module, StringRef kernel, Fault fault,
                               size_t index) {
  IRBuilder<> builder(getPlaces(module, kernel, fault)[index]);
  builder.CreateStore(
      builder.getInt8(0),
      builder.CreateIntToPtr(builder.getInt64(1), builder.getPtrTy()));
}

void tp::emulator::keepKernels(Module &module, const StringSet<> &kept) {
  for (Function &function : make_early_inc_range(module)) {
    if (function.getCallingConv() != CallingConv::PTX_Kernel ||
        kept.contains(function.getName()))
      continue;
    function.replaceAllUsesWith(PoisonValue::get(function.getType()));
    function.eraseFromParent();
  }
}
