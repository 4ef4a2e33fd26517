//===- KernelDifferences.cpp - Kernels that differ in numbers -------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See KernelDifferences.h.
//
//===----------------------------------------------------------------------===//

#include "KernelDifferences.h"

#include "tp/Conversion/Kernels/GpuModule.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/Hashing.h"

using namespace mlir;
using namespace tp;

static bool isInteger(Operation *op) {
  auto constant = dyn_cast<arith::ConstantOp>(op);
  return constant && isa<IntegerAttr>(constant.getValue()) &&
         !constant.getType().isInteger(1);
}

/// The attributes of a kernel that are in its code: not its name and grid.
static DictionaryAttr getCodeAttributes(gpu::GPUFuncOp kernel) {
  NamedAttrList attributes(kernel->getAttrDictionary());
  attributes.erase(gridAttrName);
  attributes.erase(SymbolTable::getSymbolAttrName());
  return attributes.getDictionary(kernel.getContext());
}

llvm::hash_code tp::hashCode(gpu::GPUFuncOp kernel) {
  llvm::hash_code hash =
      llvm::hash_value(getCodeAttributes(kernel).getAsOpaquePointer());
  kernel.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    hash = llvm::hash_combine(hash, op->getName(), op->getNumOperands());
    for (Type type : op->getResultTypes())
      hash = llvm::hash_combine(hash, type);
    if (!isInteger(op))
      hash = llvm::hash_combine(hash,
                                op->getAttrDictionary().getAsOpaquePointer());
  });
  return hash;
}

SmallVector<arith::ConstantOp> tp::getIntegers(gpu::GPUFuncOp kernel) {
  SmallVector<arith::ConstantOp> integers;
  kernel.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isInteger(op))
      integers.push_back(cast<arith::ConstantOp>(op));
  });
  return integers;
}

int64_t tp::getInteger(arith::ConstantOp constant) {
  return cast<IntegerAttr>(constant.getValue()).getInt();
}

bool tp::isUnused(arith::ConstantOp constant) {
  return llvm::all_of(constant->getUsers(), [](Operation *user) {
    return isa<arith::MulIOp>(user) &&
           llvm::any_of(user->getOperands(), [](Value factor) {
             return matchPattern(factor, m_Zero());
           });
  });
}

/// True if what `value` is used for costs the same when it is known only as the
/// kernel runs. `known` are the values that are constants now and would depend
/// on it.
static bool costsTheSame(Value value) {
  auto isConstant = [](Value other) {
    return matchPattern(other, m_Constant());
  };
  SmallVector<Value> known{value};
  llvm::SmallPtrSet<Value, 8> seen{value};
  auto isKnown = [&](Value other) {
    return seen.contains(other) || isConstant(other);
  };
  while (!known.empty())
    for (Operation *user : known.pop_back_val().getUsers()) {
      bool allKnown = llvm::all_of(user->getOperands(), isKnown);
      if (isa<arith::CmpIOp>(user) && !allKnown)
        continue;
      if (isa<LLVM::GEPOp>(user))
        continue;
      if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::IndexCastOp,
               arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp,
               arith::TruncIOp>(user))
        return false;
      if (allKnown && seen.insert(user->getResult(0)).second)
        known.push_back(user->getResult(0));
    }
  return true;
}

bool tp::canBeParameter(arith::ConstantOp constant) {
  return costsTheSame(constant.getResult());
}

namespace {
/// Walks two kernels side by side.
class Comparison {
public:
  bool compare(Region &a, Region &b);
  SmallVector<unsigned> differences;

private:
  bool compare(Block &a, Block &b);
  bool compare(Operation *a, Operation *b);
  bool haveEqual(ValueRange a, ValueRange b) {
    return llvm::equal(a, b, [&](Value own, Value other) {
      return valueOf.lookup(own) == other;
    });
  }
  bool define(ValueRange a, ValueRange b) {
    if (!llvm::equal(a.getTypes(), b.getTypes()))
      return false;
    for (auto [own, other] : llvm::zip_equal(a, b))
      valueOf[own] = other;
    return true;
  }

  DenseMap<Value, Value> valueOf; ///< of the second kernel
  DenseMap<Block *, Block *> blockOf;
  unsigned numIntegers = 0;
};
} // namespace

bool Comparison::compare(Operation *a, Operation *b) {
  if (a->getName() != b->getName() ||
      !haveEqual(a->getOperands(), b->getOperands()) ||
      !define(a->getResults(), b->getResults()) ||
      a->getNumRegions() != b->getNumRegions() ||
      a->getNumSuccessors() != b->getNumSuccessors())
    return false;
  for (auto [own, other] : llvm::zip(a->getSuccessors(), b->getSuccessors()))
    if (blockOf.lookup(own) != other)
      return false;
  bool areSame = a->getAttrDictionary() == b->getAttrDictionary();
  if (isInteger(a)) {
    unsigned position = numIntegers++;
    if (!areSame)
      differences.push_back(position);
  } else if (!areSame) {
    return false;
  }
  for (auto [own, other] : llvm::zip(a->getRegions(), b->getRegions()))
    if (!compare(own, other))
      return false;
  return true;
}

bool Comparison::compare(Block &a, Block &b) {
  // The walk that numbers integers sees them in this order too.
  return llvm::equal(a, b, [&](Operation &own, Operation &other) {
    return compare(&own, &other);
  });
}

bool Comparison::compare(Region &a, Region &b) {
  if (a.getBlocks().size() != b.getBlocks().size())
    return false;
  for (auto [own, other] : llvm::zip(a, b)) {
    blockOf[&own] = &other;
    if (!define(own.getArguments(), other.getArguments()))
      return false;
  }
  for (auto [own, other] : llvm::zip(a, b))
    if (!compare(own, other))
      return false;
  return true;
}

std::optional<SmallVector<unsigned>> tp::findDifferences(gpu::GPUFuncOp a,
                                                         gpu::GPUFuncOp b) {
  Comparison comparison;
  if (getCodeAttributes(a) != getCodeAttributes(b) ||
      !comparison.compare(a.getBody(), b.getBody()))
    return std::nullopt;
  return std::move(comparison.differences);
}
