//===- Differentiate.cpp - The gradient function of a loss ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tp-differentiate: a copy of the function that has the loss, with the
// derivative behind it, and a result for each parameter.
//
//===----------------------------------------------------------------------===//

#include "Reverse.h"
#include "UnitDims.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/TP/IR/Phase.h"
#include "tp/Differentiate/Passes.h"

namespace tp {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "tp/Differentiate/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::differentiate;

static constexpr StringLiteral gradientName = "gradient";

/// The first result of `function` with the attribute; none if it has none.
static std::optional<unsigned> findResult(func::FuncOp function,
                                          StringRef attribute) {
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (function.getResultAttr(i, attribute))
      return i;
  return std::nullopt;
}

/// The statistics that derivatives read, as of attention, norms and the loss:
/// as results of the forward operation they are not computed twice.
static void addStatistics(func::FuncOp function) {
  SmallVector<DifferentiableOpInterface> ops;
  function.walk([&](DifferentiableOpInterface op) { ops.push_back(op); });
  for (DifferentiableOpInterface op : ops) {
    unsigned wanted = op.getNumStatistics() + 1;
    if (wanted == 1 || op->getNumResults() == wanted)
      continue;
    auto type = cast<RankedTensorType>(op->getOperand(0).getType());
    OpBuilder builder(op);
    OperationState state(op->getLoc(), op->getName());
    state.addOperands(op->getOperands());
    state.addAttributes(op->getAttrs());
    state.addTypes(op->getResultTypes());
    for (unsigned i = op->getNumResults(); i < wanted; ++i)
      state.addTypes(RankedTensorType::get(type.getShape().drop_back(),
                                           builder.getF32Type()));
    if (auto list =
            op->getAttrOfType<ArrayAttr>(TPDialect::getShardingsAttrName())) {
      SmallVector<Attribute> shardings(list.getValue());
      shardings.resize(wanted, builder.getUnitAttr());
      state.attributes.set(TPDialect::getShardingsAttrName(),
                           builder.getArrayAttr(shardings));
    }
    Operation *wide = builder.create(state);
    op->replaceAllUsesWith(wide->getResults().take_front(op->getNumResults()));
    op->erase();
  }
}

/// True if elements of one name and another are the same: their boxes of the
/// checkpoint's tensor meet.
static bool boxesMeet(ParameterOp a, ParameterOp b) {
  ParameterSourceAttr from = a.getSourceAttr(), other = b.getSourceAttr();
  if (!from || !other)
    return true;
  auto sizeOf = [](ParameterOp op, ParameterSourceAttr source, size_t dim) {
    auto type = cast<RankedTensorType>(op.getType());
    auto at = llvm::find(source.getPermutation(), int64_t(dim));
    return type.getDimSize(at - source.getPermutation().begin());
  };
  for (size_t dim = 0; dim < from.getShape().size(); ++dim) {
    int64_t begin = from.getOffsets()[dim], start = other.getOffsets()[dim];
    // Interleaved boxes begin at different places of one step.
    int64_t step = from.getStep(dim), otherStep = other.getStep(dim);
    if (step == otherStep && begin % step != start % step)
      return false;
    if (step > 1 || otherStep > 1)
      continue;
    if (begin >= start + sizeOf(b, other, dim) ||
        start >= begin + sizeOf(a, from, dim))
      return false;
  }
  return true;
}

/// One tensor must have one gradient.
static LogicalResult verifyDisjoint(ArrayRef<ParameterOp> parameters) {
  for (size_t i = 0; i < parameters.size(); ++i)
    for (ParameterOp b : parameters.drop_front(i + 1)) {
      ParameterOp a = parameters[i];
      if (!findCommonName(getNames(a), getNames(b)) || !boxesMeet(a, b))
        continue;
      InFlightDiagnostic diag =
          b.emitError() << "expected parameters that are one tensor to have "
                           "one name, source and range of layers, got '"
                        << b.getName() << "', of which some is part of '"
                        << a.getName() << "'";
      diag.attachNote(a.getLoc()) << "the other one is here";
      return diag;
    }
  return success();
}

/// An attention's derivative by a bias that is no parameter: nobody reads it.
static void dropUnreadResults(func::FuncOp function) {
  SmallVector<nn::AttentionBackwardOp> ops;
  function.walk([&](nn::AttentionBackwardOp op) { ops.push_back(op); });
  PatternRewriter rewriter(function.getContext());
  for (nn::AttentionBackwardOp op : ops) {
    rewriter.setInsertionPoint(op);
    (void)nn::AttentionBackwardOp::canonicalize(op, rewriter);
  }
}

namespace {
struct DifferentiatePass : tp::impl::DifferentiateBase<DifferentiatePass> {
  using DifferentiateBase::DifferentiateBase;

  void runOnOperation() override {
    if (failed(expectGlobal(getOperation())))
      return signalPassFailure();
    func::FuncOp function;
    for (auto other : getOperation().getOps<func::FuncOp>()) {
      if (findResult(other, TPDialect::getGradientAttrName()))
        return; // somebody's derivative
      if (!findResult(other, TPDialect::getLossAttrName()))
        continue;
      if (function) {
        InFlightDiagnostic diag =
            other.emitError() << "expected one function with a result marked "
                              << TPDialect::getLossAttrName() << ", got two";
        diag.attachNote(function.getLoc()) << "the other one is here";
        return signalPassFailure();
      }
      function = other;
    }
    if (function && failed(differentiate(function)))
      signalPassFailure();
  }

  LogicalResult differentiate(func::FuncOp function);
  void addResults(func::FuncOp gradient, ArrayRef<ParameterOp> parameters,
                  const ParameterGradients &gradients);
};
} // namespace

LogicalResult DifferentiatePass::differentiate(func::FuncOp function) {
  if (Operation *other = getOperation().lookupSymbol(gradientName)) {
    InFlightDiagnostic diag = function.emitError()
                              << "expected no @gradient in a module whose loss "
                                 "is to be differentiated";
    diag.attachNote(other->getLoc()) << "it is here";
    return diag;
  }
  if (!function.getBody().hasOneBlock())
    return function.emitError() << "expected a loss to differentiate from a "
                                   "function of one block";
  func::FuncOp gradient = function.clone();
  gradient.setName(gradientName);
  // The budget is the forward's.
  gradient->removeAttr(TPDialect::getCommBudgetAttrName());
  getOperation().insert(std::next(function->getIterator()), gradient);
  if (failed(verifyDisjoint(collectParameters(gradient))))
    return failure();
  addStatistics(gradient);
  dropUnitDims(gradient);
  Block &block = gradient.getBody().front();
  Operation *end = block.getTerminator();
  Value loss =
      end->getOperand(*findResult(function, TPDialect::getLossAttrName()));
  FailureOr<ParameterGradients> gradients = failure();
  OpBuilder builder(end);
  {
    Reverser reverser(block, recompute);
    gradients = reverser.run(builder, loss);
    numKept += reverser.getNumKept();
  }
  if (failed(gradients))
    return failure();
  addResults(gradient, collectParameters(gradient), *gradients);
  for (Operation &dead : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&dead))
      dead.erase();
  dropUnreadResults(gradient);
  return success();
}

void DifferentiatePass::addResults(func::FuncOp gradient,
                                   ArrayRef<ParameterOp> parameters,
                                   const ParameterGradients &gradients) {
  Operation *end = gradient.getBody().front().getTerminator();
  OpBuilder builder(end);
  ImplicitLocOpBuilder b(gradient.getLoc(), builder);
  SmallVector<Type> types(gradient.getResultTypes());
  SmallVector<Value> values(end->getOperands());
  SmallVector<Attribute> marks;
  for (ParameterOp parameter : parameters) {
    ParameterKey key = getKey(parameter);
    RankedTensorType type = getGradientType(parameter);
    if (parameter.isTemplate() && key.count == 0)
      continue;
    Value value = gradients.lookup(key);
    values.push_back(value ? value : makeConstant(b, type, 0));
    types.push_back(type);
    marks.push_back(
        GradientAttr::get(&getContext(), key.name, key.first, key.source));
    ++numGradients;
  }
  unsigned first = gradient.getNumResults();
  end->setOperands(values);
  SmallVector<Attribute> attributes;
  for (unsigned i = 0; i < first; ++i)
    attributes.push_back(gradient.getResultAttrDict(i)
                             ? gradient.getResultAttrDict(i)
                             : builder.getDictionaryAttr({}));
  for (Attribute mark : marks)
    attributes.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr(TPDialect::getGradientAttrName(), mark)));
  gradient.setFunctionType(
      builder.getFunctionType(gradient.getArgumentTypes(), types));
  gradient.setResAttrsAttr(builder.getArrayAttr(attributes));
}
