//===- Outline.cpp - Operations into functions ----------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Outline.h.
//
//===----------------------------------------------------------------------===//

#include "tp/Schedule/Outline.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tp;

Outliner::Outliner(ModuleOp module, StringRef kind)
    : module(module), kind(kind), symbols(module) {}

/// Values that are copied into the function rather than passed.
static bool isCopied(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (isa<tensor::EmptyOp>(op))
    return true;
  auto constant = dyn_cast<arith::ConstantOp>(op);
  if (!constant)
    return false;
  auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
  return !elements || elements.isSplat();
}

/// A hash of the operations in `function`, their types and attributes.
static size_t hashFunction(func::FuncOp function) {
  llvm::hash_code hash =
      llvm::hash_value(function.getFunctionType().getAsOpaquePointer());
  function.getBody().walk([&](Operation *op) {
    hash = llvm::hash_combine(hash, op->getName(),
                              op->getRawDictionaryAttrs().getAsOpaquePointer(),
                              op->hashProperties());
  });
  return hash;
}

namespace {
/// The values that the operations of a group read from outside, and those that
/// are read of them.
struct GroupBoundary {
  llvm::SetVector<Value> operands;
  SmallVector<Value> results;

  explicit GroupBoundary(ArrayRef<Operation *> ops) {
    llvm::SmallPtrSet<Operation *, 8> group(ops.begin(), ops.end());
    auto isOutside = [&](Operation *op) {
      while (op && !group.contains(op))
        op = op->getParentOp();
      return op == nullptr;
    };
    for (Operation *op : ops) {
      op->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands()) {
          Operation *definition = operand.getDefiningOp();
          bool isInside =
              op->isAncestor(operand.getParentBlock()->getParentOp()) ||
              (definition && group.contains(definition));
          if (!isInside)
            operands.insert(operand);
        }
      });
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUsers(), isOutside))
          results.push_back(result);
    }
  }
};
} // namespace

func::FuncOp DistinctFunctions::add(func::FuncOp function) {
  SmallVector<func::FuncOp> &alike = byHash[hashFunction(function)];
  for (func::FuncOp candidate : alike)
    if (candidate.getFunctionType() == function.getFunctionType() &&
        candidate->getAttr(rowDimsAttrName) ==
            function->getAttr(rowDimsAttrName) &&
        OperationEquivalence::isRegionEquivalentTo(
            &candidate.getBody(), &function.getBody(),
            OperationEquivalence::IgnoreLocations))
      return candidate;
  alike.push_back(function);
  ++count;
  return function;
}

func::CallOp Outliner::outline(ArrayRef<Operation *> ops,
                               ArrayRef<NamedAttribute> attributes) {
  OpBuilder builder(module.getContext());
  GroupBoundary boundary(ops);
  // A library reads its operands from memory, constants too.
  bool copiesConstants = kind == "rows";
  SmallVector<Value> arguments, copied;
  for (Value value : boundary.operands)
    (copiesConstants && isCopied(value) ? copied : arguments).push_back(value);
  Location loc = builder.getFusedLoc(llvm::map_to_vector(
      ops, [](Operation *op) -> Location { return op->getLoc(); }));

  auto function = func::FuncOp::create(
      loc, kind,
      builder.getFunctionType(ValueRange(arguments).getTypes(),
                              ValueRange(boundary.results).getTypes()));
  function.setPrivate();
  function->setAttr(kernelAttrName, builder.getStringAttr(kind));
  for (NamedAttribute attribute : attributes)
    function->setAttr(attribute.getName(), attribute.getValue());
  builder.setInsertionPointToStart(function.addEntryBlock());
  IRMapping mapping;
  mapping.map(ValueRange(arguments), function.getArguments());
  for (Value value : copied)
    builder.clone(*value.getDefiningOp(), mapping);
  for (Operation *op : ops)
    builder.clone(*op, mapping);
  func::ReturnOp::create(
      builder, loc, llvm::map_to_vector(boundary.results, [&](Value result) {
        return mapping.lookup(result);
      }));

  std::string name = kind + "_" + std::to_string(functions.size());
  func::FuncOp callee = functions.add(function);
  if (callee == function) {
    function.setName(name);
    symbols.insert(function, module.getBody()->end());
  } else {
    function->erase();
  }
  builder.setInsertionPoint(ops.back());
  auto call = func::CallOp::create(builder, loc, callee, arguments);
  for (auto [result, value] :
       llvm::zip_equal(boundary.results, call.getResults()))
    result.replaceAllUsesWith(value);
  for (Operation *op : llvm::reverse(ops))
    op->erase();
  return call;
}
