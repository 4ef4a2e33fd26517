//===- Epilogue.cpp - What a GEMM library does beside the product ---------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Epilogue.h.
//
//===----------------------------------------------------------------------===//

#include "tp/Schedule/Epilogue.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "tp/Interfaces/LibraryInterface.h"
#include <cfloat>
#include <cmath>

using namespace mlir;
using namespace tp;

/// The one number that all elements of `value` are.
static std::optional<APFloat> getNumber(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto op = dyn_cast<linalg::LinalgOp>(argument.getOwner()->getParentOp());
    if (!op || argument.getArgNumber() >= op.getNumDpsInputs())
      return std::nullopt;
    return getNumber(op.getDpsInputs()[argument.getArgNumber()]);
  }
  if (auto fill = value.getDefiningOp<linalg::FillOp>())
    return getNumber(fill.value());
  if (auto splat = value.getDefiningOp<tensor::SplatOp>())
    return getNumber(splat.getInput());
  APFloat number(0.0f);
  if (matchPattern(value, m_ConstantFloat(&number)))
    return number;
  return std::nullopt;
}

namespace {
/// `result` is computed from `x`, element by element: tensors, or scalars of
/// the body of a linalg operation.
struct Elementwise {
  Value x, result;
};
} // namespace

static std::optional<Elementwise> asElementwise(Operation *op, Value x) {
  if (op->getNumResults() != 1 || op->getResult(0).getType() != x.getType() ||
      !isa<FloatType>(getElementTypeOrSelf(x)))
    return std::nullopt;
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp)
    return Elementwise{x, op->getResult(0)};
  auto isOneToOne = [&](OpOperand *operand) {
    return linalgOp.getMatchingIndexingMap(operand).isIdentity();
  };
  if (linalgOp.getNumParallelLoops() != linalgOp.getNumLoops() ||
      linalgOp.getNumDpsInits() != 1 ||
      !isOneToOne(linalgOp.getDpsInitOperand(0)))
    return std::nullopt;
  for (OpOperand *input : linalgOp.getDpsInputOperands())
    if (input->get() == x && isOneToOne(input))
      return Elementwise{linalgOp.getMatchingBlockArgument(input),
                         linalgOp.getBlock()->getTerminator()->getOperand(0)};
  return std::nullopt;
}

std::optional<Scale> tp::matchScale(Operation *op, Value x) {
  std::optional<Elementwise> found = asElementwise(op, x);
  if (!found)
    return std::nullopt;
  Operation *last = found->result.getDefiningOp();
  if (!isa_and_nonnull<arith::MulFOp, arith::DivFOp>(last))
    return std::nullopt;
  bool isDivisor = isa<arith::DivFOp>(last);
  Value other = last->getOperand(1);
  if (!isDivisor && other == found->x)
    other = last->getOperand(0);
  else if (last->getOperand(0) != found->x)
    return std::nullopt;
  std::optional<APFloat> number = getNumber(other);
  auto type = cast<FloatType>(getElementTypeOrSelf(x));
  if (!number || type.getWidth() > 32)
    return std::nullopt;
  double value = number->convertToDouble();
  double multiplier = isDivisor ? 1 / value : value;
  if (!(std::fabs(multiplier) >= FLT_MIN && std::fabs(multiplier) <= FLT_MAX))
    return std::nullopt;
  int exponent;
  bool isPowerOfTwo = std::fabs(std::frexp(value, &exponent)) == 0.5;
  if (isDivisor && type.getWidth() == 32 && !isPowerOfTwo)
    return std::nullopt;
  return Scale{*number, isDivisor, float(multiplier)};
}

StringRef tp::matchActivation(Operation *op, Value x) {
  if (auto activation = dyn_cast<ActivationOpInterface>(op))
    return activation.getActivation();
  return isRelu(op, x) ? "relu" : "";
}

bool tp::isRelu(Operation *op, Value x) {
  std::optional<Elementwise> found = asElementwise(op, x);
  if (!found)
    return false;
  x = found->x;
  Operation *last = found->result.getDefiningOp();
  auto isZero = [](Value value) {
    std::optional<APFloat> number = getNumber(value);
    return number && number->isZero();
  };
  auto hasNoNaN = [](auto op) {
    return arith::bitEnumContainsAll(op.getFastmath(),
                                     arith::FastMathFlags::nnan);
  };
  auto isMaximum = [&](auto op) {
    return hasNoNaN(op) && ((op.getLhs() == x && isZero(op.getRhs())) ||
                            (op.getRhs() == x && isZero(op.getLhs())));
  };
  if (auto maximum = dyn_cast_or_null<arith::MaximumFOp>(last))
    return isMaximum(maximum);
  if (auto maximum = dyn_cast_or_null<arith::MaxNumFOp>(last))
    return isMaximum(maximum);

  auto select = dyn_cast_or_null<arith::SelectOp>(last);
  auto compare = select ? select.getCondition().getDefiningOp<arith::CmpFOp>()
                        : arith::CmpFOp();
  if (!compare || !hasNoNaN(compare))
    return false;
  // As "x > 0 ? x : 0".
  bool isGreater;
  switch (compare.getPredicate()) {
  case arith::CmpFPredicate::OGT:
  case arith::CmpFPredicate::OGE:
  case arith::CmpFPredicate::UGT:
  case arith::CmpFPredicate::UGE:
    isGreater = true;
    break;
  case arith::CmpFPredicate::OLT:
  case arith::CmpFPredicate::OLE:
  case arith::CmpFPredicate::ULT:
  case arith::CmpFPredicate::ULE:
    isGreater = false;
    break;
  default:
    return false;
  }
  if (compare.getRhs() == x && isZero(compare.getLhs()))
    isGreater = !isGreater;
  else if (compare.getLhs() != x || !isZero(compare.getRhs()))
    return false;
  Value above = isGreater ? select.getTrueValue() : select.getFalseValue();
  Value below = isGreater ? select.getFalseValue() : select.getTrueValue();
  return above == x && isZero(below);
}

EpilogueReader::EpilogueReader(LibraryOpInterface op, const EpilogueSet &known)
    : last(op->getResult(0)), knowsScale(known.scale) {
  std::optional<EpilogueSet> joins = op.getEpilogues(known);
  canScale = joins && joins->scale;
}

LogicalResult EpilogueReader::add(Operation *op) {
  auto next = step;
  if (!llvm::is_contained(op->getOperands(), last))
    return op->emitOpError("expected to read what a GEMM computed before it");
  if (StringRef name = matchActivation(op, last); !name.empty()) {
    epilogue.activation = name;
    next = Activated;
  } else if (std::optional<Scale> scale = matchScale(op, last)) {
    if (!canScale)
      return op->emitOpError("scales a GEMM: expected one ")
             << (knowsScale ? "without a bias" : "of a target that scales");
    epilogue.scale = scale->multiplier;
    next = Scaled;
  } else if (isa<arith::AddFOp>(op) &&
             llvm::any_of(op->getOperands(), llvm::IsaPred<BlockArgument>)) {
    epilogue.residual = isa<BlockArgument>(op->getOperand(0))
                            ? op->getOperand(0)
                            : op->getOperand(1);
    next = Added;
  } else {
    return op->emitOpError("is not known in a GEMM");
  }
  if (next <= step)
    return op->emitOpError("expected scale, activation and sum of a GEMM in "
                           "this order, each at most once");
  step = next;
  last = op->getResult(0);
  return success();
}
