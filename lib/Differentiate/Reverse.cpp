//===- Reverse.cpp - Blocks in reverse ------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds which values depend on a parameter, and walks from the loss back to
// them.
//
//===----------------------------------------------------------------------===//

#include "Reverse.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Dialect/TP/IR/Stacks.h"

using namespace mlir;
using namespace tp;
using namespace tp::differentiate;

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

ParameterKey tp::differentiate::getKey(ParameterOp op) {
  ParameterKey key{op.getNameAttr(), op.getSourceAttr()};
  if (op.isTemplate()) {
    NameRange names = getNames(op);
    key.first = names.first;
    key.count = names.count;
  }
  return key;
}

RankedTensorType tp::differentiate::getValueType(ParameterOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  if (!op.isTemplate())
    return type;
  return getStackType(type, getKey(op).count);
}

RankedTensorType tp::differentiate::getGradientType(ParameterOp op) {
  RankedTensorType type = getValueType(op);
  if (type.getElementTypeBitWidth() >= 32)
    return type;
  return type.clone(Float32Type::get(op.getContext()));
}

SmallVector<ParameterOp>
tp::differentiate::collectParameters(func::FuncOp function) {
  SmallVector<ParameterOp> parameters;
  function.walk([&](ParameterOp op) {
    if (isDifferentiable(op.getType()) &&
        llvm::none_of(parameters, [&](ParameterOp other) {
          return getKey(other) == getKey(op);
        }))
      parameters.push_back(op);
  });
  return parameters;
}

void ParameterGradients::add(OpBuilder &builder, const ParameterKey &key,
                             Value value) {
  for (Entry &entry : entries)
    if (entry.key == key) {
      entry.value =
          arith::AddFOp::create(builder, value.getLoc(), entry.value, value);
      return;
    }
  entries.push_back({key, value});
}

Value ParameterGradients::lookup(const ParameterKey &key) const {
  for (const Entry &entry : entries)
    if (entry.key == key)
      return entry.value;
  return {};
}

//===----------------------------------------------------------------------===//
// Activity
//===----------------------------------------------------------------------===//

Reverser::Reverser(Block &program, Recompute recompute) : recompute(recompute) {
  markActive(program);
}

Reverser::~Reverser() {
  for (Operation *op : replaced)
    op->erase();
}

/// The operation around `op` that stands in a block of the program, not in a
/// body of an operation.
static Operation *getProgramOp(Operation *op) {
  while (!isa<func::FuncOp, RepeatOp>(op->getParentOp()))
    op = op->getParentOp();
  return op;
}

/// All that depends on a parameter through floats.
void Reverser::markActive(Block &program) {
  SmallVector<Value> worklist;
  auto mark = [&](Value value) {
    if (isDifferentiable(value.getType()) && active.insert(value).second)
      worklist.push_back(value);
  };
  program.walk([&](ParameterOp op) { mark(op.getResult()); });
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    for (OpOperand &use : value.getUses()) {
      Operation *user = getProgramOp(use.getOwner());
      unsigned number = use.getOperandNumber();
      if (auto yield = dyn_cast<YieldOp>(user)) {
        auto repeat = cast<RepeatOp>(yield->getParentOp());
        mark(repeat.getResult(number));
        if (number < repeat.getInits().size())
          mark(repeat.getCarriedArgs()[number]);
      } else if (auto repeat = dyn_cast<RepeatOp>(user)) {
        mark(repeat.getBodyBlock()->getArgument(1 + number));
        if (number < repeat.getInits().size())
          mark(repeat.getResult(number));
      } else {
        llvm::for_each(user->getResults(), mark);
      }
    }
  }
}

//===----------------------------------------------------------------------===//
// Gradients of 16-bit parameters
//===----------------------------------------------------------------------===//

/// True if `value` is a parameter or a part of one as it is.
static bool isPartOfParameter(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && isa<tensor::ExtractSliceOp, tensor::ExpandShapeOp,
                   tensor::CollapseShapeOp, tensor::CastOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return op && isa<ParameterOp>(op);
}

/// The value that `value` rounds, in an operation of its own; null if it does
/// not.
static Value getUnrounded(Value value) {
  if (auto truncate = value.getDefiningOp<arith::TruncFOp>())
    return truncate.getIn();
  auto generic = value.getDefiningOp<linalg::GenericOp>();
  if (!generic || generic.getNumDpsInputs() != 1 ||
      generic->getNumResults() != 1 ||
      !llvm::all_of(generic.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return {};
  auto truncate = generic.getBody()
                      ->getTerminator()
                      ->getOperand(0)
                      .getDefiningOp<arith::TruncFOp>();
  if (!truncate || truncate.getIn() != generic.getBody()->getArgument(0))
    return {};
  return generic.getDpsInputs()[0];
}

/// `value` in at least 32 bits: as it was before it was rounded, if it was.
static Value widen(OpBuilder &builder, Value value) {
  if (getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth() >= 32)
    return value;
  if (Value wide = getUnrounded(value);
      wide && getElementTypeOrSelf(wide.getType()).isF32())
    return wide;
  ImplicitLocOpBuilder b(value.getLoc(), builder);
  return convert(b, value, b.getF32Type());
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

void Reverser::add(OpBuilder &builder, Cotangents &cotangents, Value value,
                   Value contribution) {
  if (!contribution || !isActive(value))
    return;
  if (isPartOfParameter(value))
    contribution = widen(builder, contribution);
  Value &sum = cotangents[value];
  sum = sum ? arith::AddFOp::create(builder, contribution.getLoc(), sum,
                                    contribution)
                  .getResult()
            : contribution;
}

LogicalResult Reverser::reverseOp(OpBuilder &builder, Operation *op,
                                  Cotangents &cotangents) {
  Request request{op, {}, {}, {}};
  for (Value result : op->getResults())
    request.cotangents.push_back(cotangents.lookup(result));
  if (llvm::none_of(request.cotangents, [](Value value) { return !!value; }))
    return success();
  for (Value operand : op->getOperands())
    request.wanted.push_back(isActive(operand));
  for (Value operand : op->getOperands())
    request.wide.push_back(isPartOfParameter(operand));
  WalkResult captured = op->walk([&](Operation *inner) {
    bool isBody = inner != op;
    return isBody && llvm::any_of(inner->getOperands(),
                                  [&](Value value) { return isActive(value); })
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  if (captured.wasInterrupted())
    return refuse(op) << ": its body reads a value from outside that depends "
                         "on a parameter; give it as an operand";
  Contributions parts = buildVjp(builder, request);
  if (failed(parts))
    return failure();
  for (auto [operand, part] : llvm::zip(op->getOperands(), *parts))
    add(builder, cotangents, operand, part);
  return success();
}

LogicalResult Reverser::reverseBlock(OpBuilder &builder, Block &block,
                                     Cotangents &cotangents,
                                     ParameterGradients &parameters) {
  // The walk inserts operations elsewhere, or behind those that it has passed.
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    if (llvm::any_of(op.getResults(),
                     [&](Value result) { return isActive(result); }))
      ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops)) {
    if (auto parameter = dyn_cast<ParameterOp>(op)) {
      if (Value value = cotangents.lookup(parameter.getResult()))
        parameters.add(builder, getKey(parameter), value);
      continue;
    }
    auto repeat = dyn_cast<RepeatOp>(op);
    if (failed(repeat ? reverseRepeat(builder, repeat, cotangents, parameters)
                      : reverseOp(builder, op, cotangents)))
      return failure();
  }
  return success();
}

FailureOr<ParameterGradients> Reverser::run(OpBuilder &builder, Value loss) {
  Cotangents cotangents;
  ParameterGradients parameters;
  ImplicitLocOpBuilder b(loss.getLoc(), builder);
  add(builder, cotangents, loss, makeConstant(b, loss.getType(), 1));
  if (failed(reverseBlock(builder, *builder.getInsertionBlock(), cotangents,
                          parameters)))
    return failure();
  return parameters;
}
