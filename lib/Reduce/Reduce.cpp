//===- Reduce.cpp - A smaller program that fails as well ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each kind of edit has numbered places. An edit is made on a clone; where the
// clone still fails it takes the program's place.
//
//===----------------------------------------------------------------------===//

#include "tp/Reduce/Reduce.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "tp/Dialect/TP/IR/ModelAttributes.h"
#include "tp/Dialect/TP/IR/TPOps.h"

using namespace mlir;
using namespace tp;

/// Makes the edit at the `index`-th place; false if there are fewer places.
using Edit = bool (*)(ModuleOp module, unsigned index);

static SmallVector<func::FuncOp> getFunctions(ModuleOp module) {
  return llvm::to_vector(module.getOps<func::FuncOp>());
}

static void setResults(func::FuncOp function, ValueRange values) {
  Operation *end = function.getBody().front().getTerminator();
  end->setOperands(values);
  function.removeResAttrsAttr();
  function.setFunctionType(FunctionType::get(
      function.getContext(), function.getArgumentTypes(), values.getTypes()));
}

/// One value of a public function as its only result, early ones first.
static bool returnOne(ModuleOp module, unsigned index) {
  for (func::FuncOp function : getFunctions(module)) {
    if (function.isPrivate())
      continue;
    for (Operation &op : function.getBody().front().without_terminator())
      for (Value result : op.getResults())
        if (isa<RankedTensorType>(result.getType()) && index-- == 0) {
          setResults(function, result);
          return true;
        }
  }
  return false;
}

static bool eraseFunction(ModuleOp module, unsigned index) {
  SmallVector<func::FuncOp> functions = getFunctions(module);
  if (index >= functions.size())
    return false;
  if (functions.size() > 1 &&
      SymbolTable::symbolKnownUseEmpty(functions[index], module))
    functions[index].erase();
  return true;
}

/// The result of an operation comes in as an argument instead.
static bool makeArgument(ModuleOp module, unsigned index) {
  for (func::FuncOp function : getFunctions(module)) {
    if (function.isPrivate())
      continue;
    for (Operation &op : function.getBody().front().without_terminator())
      for (Value result : op.getResults()) {
        auto type = dyn_cast<RankedTensorType>(result.getType());
        if (!type || op.getNumOperands() == 0 || result.use_empty() ||
            index-- != 0)
          continue;
        unsigned number = function.getNumArguments();
        (void)function.insertArgument(number, type, DictionaryAttr(),
                                      op.getLoc());
        result.replaceAllUsesWith(function.getArgument(number));
        return true;
      }
  }
  return false;
}

/// A result gives way to an operand or another value of its type nearby.
static bool bypass(ModuleOp module, unsigned index) {
  return module
      ->walk([&](Operation *op) {
        for (Value result : op->getResults()) {
          if (result.use_empty())
            continue;
          for (Value operand : op->getOperands())
            if (operand.getType() == result.getType() && index-- == 0) {
              result.replaceAllUsesWith(operand);
              return WalkResult::interrupt();
            }
          for (BlockArgument argument : op->getBlock()->getArguments())
            if (argument.getType() == result.getType() && index-- == 0) {
              result.replaceAllUsesWith(argument);
              return WalkResult::interrupt();
            }
        }
        return WalkResult::advance();
      })
      .wasInterrupted();
}

static bool dropSharding(ModuleOp module, unsigned index) {
  for (func::FuncOp function : getFunctions(module)) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      for (StringRef name :
           {StringRef(TPDialect::getShardingAttrName()),
            StringRef(valuesAttrName), StringRef(rangeAttrName)})
        if (function.getArgAttr(i, name) && index-- == 0) {
          function.removeArgAttr(i, name);
          return true;
        }
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (function.getResultAttr(i, TPDialect::getShardingAttrName()) &&
          index-- == 0) {
        function.removeResultAttr(
            i, StringAttr::get(module.getContext(),
                               TPDialect::getShardingAttrName()));
        return true;
      }
  }
  return module
      ->walk([&](Operation *op) {
        if (op->hasAttr(TPDialect::getShardingsAttrName()) && index-- == 0) {
          op->removeAttr(TPDialect::getShardingsAttrName());
          return WalkResult::interrupt();
        }
        return WalkResult::advance();
      })
      .wasInterrupted();
}

static bool eraseUnusedArgument(ModuleOp module, unsigned index) {
  for (func::FuncOp function : getFunctions(module)) {
    if (function.isPrivate())
      continue;
    for (BlockArgument argument : function.getArguments())
      if (argument.use_empty() && index-- == 0)
        return succeeded(function.eraseArgument(argument.getArgNumber()));
  }
  return false;
}

/// Operands and results of structured operations that nothing reads.
static bool eraseUnusedOperands(ModuleOp module, unsigned index) {
  if (index > 0)
    return false;
  RewritePatternSet patterns(module.getContext());
  linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
  (void)applyPatternsGreedily(module, std::move(patterns));
  return true;
}

static bool simplifyMesh(ModuleOp module, unsigned index) {
  MeshOp op = index == 0 ? getUniqueMesh(module) : MeshOp();
  if (!op)
    return false;
  op.setMeshAttr(
      MeshAttr::get(module.getContext(), op.getMesh().getAxes(), {}));
  return true;
}

static void eraseDead(ModuleOp module) {
  module->walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op))
      op->erase();
  });
}

/// True if something reads what nobody wrote.
static bool readsUndefined(ModuleOp module) {
  return module
      ->walk([](tensor::EmptyOp op) {
        for (OpOperand &use : op->getUses()) {
          auto structured = dyn_cast<linalg::LinalgOp>(use.getOwner());
          if (!structured || !structured.isDpsInit(&use) ||
              structured.payloadUsesValueFromOperand(&use))
            return WalkResult::interrupt();
        }
        return WalkResult::advance();
      })
      .wasInterrupted();
}

static int64_t measure(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream(text) << module;
  return text.size();
}

OwningOpRef<ModuleOp> tp::reduceProgram(ModuleOp module,
                                        function_ref<bool(ModuleOp)> fails) {
  static const Edit edits[] = {
      returnOne,    eraseFunction,       makeArgument,        bypass,
      dropSharding, eraseUnusedOperands, eraseUnusedArgument, simplifyMesh};
  bool mayReadUndefined = readsUndefined(module);
  OwningOpRef<ModuleOp> best = module.clone();
  bool smaller = true;
  while (smaller) {
    smaller = false;
    for (Edit edit : edits)
      for (unsigned index = 0;;) {
        OwningOpRef<ModuleOp> next = best->clone();
        if (!edit(*next, index))
          break;
        eraseDead(*next);
        ScopedDiagnosticHandler quiet(module.getContext(),
                                      [](Diagnostic &) { return success(); });
        if (measure(*next) < measure(*best) && succeeded(verify(*next)) &&
            (mayReadUndefined || !readsUndefined(*next)) && fails(*next)) {
          best = std::move(next);
          smaller = true;
          // The places have moved up.
        } else {
          ++index;
        }
      }
  }
  return best;
}
