//===- Break.cpp - Faults made on purpose ---------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each fault is one small change of the kernel's IR, of the kind that a wrong
// generator would make, at every place where it can be made. All are in one
// module, asleep: a word in the emulator says which of them happens.
//
//===----------------------------------------------------------------------===//

#include "EmulateKernels.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/ModuleSlotTracker.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;
using namespace tp::emulator;

static constexpr std::pair<Fault, StringLiteral> faultNames[] = {
    {Fault::DropBarrier, "drop-barrier"},
    {Fault::DropCopyWait, "drop-cp-async-wait"},
    {Fault::SkipInit, "skip-init"},
    {Fault::WrongLane, "wrong-lane"},
    {Fault::OffByOneBound, "off-by-one-bound"},
    {Fault::OverlapBlocks, "overlap-blocks"},
    {Fault::WrongPart, "wrong-part"},
    {Fault::DropProductWait, "drop-wgmma-wait"},
    {Fault::DropProductFence, "drop-wgmma-fence"},
    {Fault::DropProxyFence, "drop-proxy-fence"},
    {Fault::DropPhaseWait, "drop-mbarrier-wait"},
    {Fault::DropArrival, "drop-mbarrier-arrive"},
    {Fault::WrongBytes, "wrong-bytes"}};

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

/// True if the fault can be made at `instruction`.
static bool isPlace(Instruction &instruction, Fault fault) {
  StringRef callee;
  if (auto *call = dyn_cast<CallInst>(&instruction))
    if (Function *function = call->getCalledFunction())
      callee = function->getName();
  switch (fault) {
  case Fault::DropBarrier:
    return callee.starts_with("llvm.nvvm.barrier.cta.sync") ||
           callee == "llvm.nvvm.bar.warp.sync" || callee == "tp_named_sync";
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
  case Fault::DropProductWait:
    return callee.starts_with("tp_wgmma_wait");
  case Fault::DropProductFence:
    return callee == "tp_wgmma_fence";
  case Fault::DropProxyFence:
    return callee == "tp_proxy_fence";
  case Fault::DropPhaseWait:
    return callee == "tp_mbarrier_wait";
  case Fault::DropArrival:
    return callee == "tp_mbarrier_arrive";
  case Fault::WrongBytes:
    return callee == "tp_mbarrier_expect";
  }
  return false;
}

namespace {
/// Puts faults into a module.
class Breaker {
public:
  explicit Breaker(Module &module)
      : module(module), builder(module.getContext()) {}

  /// Number `number` (from 1 on) is the fault at `place`, -number a finding
  /// there.
  void arm(Instruction &place, Fault fault, int32_t number);

private:
  Value *isChosen(int32_t number);
  /// `instruction` happens unless `number` is chosen.
  void skip(Instruction &instruction, int32_t number);
  /// The value for which `place` is used is `changed` if `number` is chosen.
  void replace(Instruction &place, Value *changed, int32_t number);

  Module &module;
  IRBuilder<> builder;
};
} // namespace

Value *Breaker::isChosen(int32_t number) {
  Type *type = builder.getInt32Ty();
  Value *chosen = builder.CreateLoad(
      type, module.getOrInsertGlobal(chosenFaultSymbol, type));
  return builder.CreateICmpEQ(chosen, builder.getInt32(number));
}

void Breaker::skip(Instruction &instruction, int32_t number) {
  builder.SetInsertPoint(&instruction);
  Value *happens = builder.CreateNot(isChosen(number));
  Instruction *end = SplitBlockAndInsertIfThen(
      happens, instruction.getIterator(), /*Unreachable=*/false);
  instruction.moveBefore(end->getIterator());
}

void Breaker::replace(Instruction &place, Value *changed, int32_t number) {
  Value *value = builder.CreateSelect(isChosen(number), changed, &place);
  place.replaceUsesWithIf(value, [&](Use &use) {
    return use.getUser() != changed && use.getUser() != value;
  });
}

void Breaker::arm(Instruction &place, Fault fault, int32_t number) {
  builder.SetInsertPoint(&place);
  Instruction *end = SplitBlockAndInsertIfThen(
      isChosen(-number), place.getIterator(), /*Unreachable=*/false);
  builder.SetInsertPoint(end);
  builder.CreateStore(
      builder.getInt8(0),
      builder.CreateIntToPtr(builder.getInt64(1), builder.getPtrTy()));
  builder.SetInsertPoint(&place);
  switch (fault) {
  case Fault::DropBarrier:
  case Fault::DropCopyWait:
  case Fault::SkipInit:
  case Fault::DropProductWait:
  case Fault::DropProductFence:
  case Fault::DropProxyFence:
  case Fault::DropPhaseWait:
  case Fault::DropArrival:
    return skip(place, number);
  case Fault::WrongBytes: {
    Value *bytes = place.getOperand(1);
    Value *more = builder.CreateAdd(bytes, builder.getInt32(16));
    place.setOperand(1, builder.CreateSelect(isChosen(number), more, bytes));
    return;
  }
  case Fault::WrongLane: {
    // The third operand is a lane or a distance to one. A butterfly of another
    // distance may still reach every lane, one of none does not.
    Value *lane = place.getOperand(2);
    bool isButterfly =
        cast<CallInst>(place).getCalledFunction()->getName().contains("bfly");
    Value *other = isButterfly ? builder.getInt32(0)
                               : builder.CreateAdd(lane, builder.getInt32(1));
    place.setOperand(2, builder.CreateSelect(isChosen(number), other, lane));
    return;
  }
  case Fault::OffByOneBound: {
    auto &compare = cast<ICmpInst>(place);
    builder.SetInsertPoint(place.getNextNode());
    CmpInst::Predicate predicate = compare.getPredicate();
    Value *other =
        builder.CreateICmp(CmpInst::isStrictPredicate(predicate)
                               ? CmpInst::getNonStrictPredicate(predicate)
                               : CmpInst::getStrictPredicate(predicate),
                           compare.getOperand(0), compare.getOperand(1));
    return replace(place, other, number);
  }
  case Fault::WrongPart: {
    auto *divisor = cast<ConstantInt>(place.getOperand(1));
    Constant *other =
        ConstantInt::get(divisor->getType(), divisor->getZExtValue() + 1);
    place.setOperand(1, builder.CreateSelect(isChosen(number), other, divisor));
    place.dropPoisonGeneratingFlags();
    return;
  }
  case Fault::OverlapBlocks:
    builder.SetInsertPoint(place.getNextNode());
    return replace(place, builder.CreateLShr(&place, builder.getInt32(1)),
                   number);
  }
}

std::vector<FaultPlace> tp::emulator::armFaults(Module &module,
                                                ArrayRef<Fault> faults) {
  std::vector<FaultPlace> places;
  SmallVector<Instruction *> instructions;
  ModuleSlotTracker tracker(&module);
  for (Function &function : module) {
    if (function.getCallingConv() != CallingConv::PTX_Kernel)
      continue;
    tracker.incorporateFunction(function);
    for (Fault fault : faults)
      for (Instruction &instruction : llvm::instructions(function))
        if (isPlace(instruction, fault)) {
          std::string text;
          raw_string_ostream stream(text);
          instruction.print(stream, tracker);
          instructions.push_back(&instruction);
          places.push_back(
              {function.getName().str(), fault, StringRef(text).trim().str()});
        }
  }
  Breaker breaker(module);
  for (auto [i, instruction] : enumerate(instructions))
    breaker.arm(*instruction, places[i].fault, int32_t(i + 1));
  return places;
}
