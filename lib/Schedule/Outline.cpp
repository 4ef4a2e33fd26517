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

func::CallOp Outliner::outline(ArrayRef<Operation *> ops,
                               ArrayRef<NamedAttribute> attributes) {
  OpBuilder builder(module.getContext());
  llvm::SetVector<Value> captured;
  llvm::SmallPtrSet<Operation *, 8> group(ops.begin(), ops.end());
  SmallVector<Value> results;
  SmallVector<Location> locations;
  for (Operation *op : ops) {
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        Operation *definition = operand.getDefiningOp();
        bool isInside =
            op->isAncestor(operand.getParentBlock()->getParentOp()) ||
            (definition && group.contains(definition));
        if (!isInside)
          captured.insert(operand);
      }
    });
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            while (user && !group.contains(user))
              user = user->getParentOp();
            return user == nullptr;
          }))
        results.push_back(result);
    locations.push_back(op->getLoc());
  }
  // A library reads its operands from memory, constants too.
  bool copiesConstants = kind == "rows";
  SmallVector<Value> arguments, copied;
  for (Value value : captured)
    (copiesConstants && isCopied(value) ? copied : arguments).push_back(value);
  Location loc = builder.getFusedLoc(locations);

  auto function = func::FuncOp::create(
      loc, kind,
      builder.getFunctionType(ValueRange(arguments).getTypes(),
                              ValueRange(results).getTypes()));
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
  SmallVector<Value> returned;
  for (Value result : results)
    returned.push_back(mapping.lookup(result));
  func::ReturnOp::create(builder, loc, returned);

  auto &candidates = byHash[hashFunction(function)];
  func::FuncOp callee;
  for (func::FuncOp candidate : candidates)
    if (candidate.getFunctionType() == function.getFunctionType() &&
        candidate->getAttr(rowDimsAttrName) ==
            function->getAttr(rowDimsAttrName) &&
        OperationEquivalence::isRegionEquivalentTo(
            &candidate.getBody(), &function.getBody(),
            OperationEquivalence::IgnoreLocations))
      callee = candidate;
  if (callee) {
    function->erase();
  } else {
    callee = function;
    function.setName(kind + "_" + std::to_string(functions.size()));
    symbols.insert(function, module.getBody()->end());
    functions.push_back(function);
    candidates.push_back(function);
  }
  builder.setInsertionPoint(ops.back());
  auto call = func::CallOp::create(builder, loc, callee, arguments);
  for (auto [result, value] : llvm::zip_equal(results, call.getResults()))
    result.replaceAllUsesWith(value);
  for (Operation *op : llvm::reverse(ops))
    op->erase();
  return call;
}
