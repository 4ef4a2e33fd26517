//===- MutateValues.cpp - Offsets, masks, numbers and operands changed ----===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Changes of what a rank computes itself: where its part begins, where padding
// begins and what is put there, and the operations' own numbers and operands.
//
//===----------------------------------------------------------------------===//

#include "Mutations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Dominance.h"
#include "tp/Dialect/NN/IR/NNOps.h"

using namespace mlir;

namespace tp::mutate {

namespace {

template <typename Op>
SmallVector<Op> find(ModuleOp module, llvm::function_ref<bool(Op)> wanted) {
  SmallVector<Op> ops;
  module->walk([&](Op op) {
    if (wanted(op))
      ops.push_back(op);
  });
  return ops;
}

/// The purpose of a constant of the program.
enum class Purpose { Offset, Bound, PadValue, Other };

Purpose getPurpose(arith::ConstantOp op) {
  for (Operation *user : op->getUsers()) {
    if (isa<arith::MulIOp>(user) &&
        llvm::any_of(user->getOperands(), [](Value operand) {
          return operand.getDefiningOp<RankOp>();
        }))
      return Purpose::Offset;
    auto body = user->getParentOfType<linalg::GenericOp>();
    if (!body || op->getParentOp() == body)
      continue;
    if (isa<arith::CmpIOp>(user))
      return Purpose::Bound;
    if (isa<arith::SelectOp>(user))
      return Purpose::PadValue;
  }
  return Purpose::Other;
}

TypedAttr changeNumber(OpBuilder &builder, TypedAttr value, Chance &chance) {
  if (auto integer = dyn_cast<IntegerAttr>(value)) {
    int64_t old = integer.getValue().getBitWidth() > 1
                      ? integer.getValue().getSExtValue()
                      : 0;
    int64_t numbers[] = {old + 1, old - 1, old * 2 + 3};
    return builder.getIntegerAttr(integer.getType(), numbers[chance.below(3)]);
  }
  auto number = cast<FloatAttr>(value);
  double old = number.getValueAsDouble();
  double numbers[] = {old == 0 ? 1.0 : -old, std::isinf(old) ? 0.0 : old + 2};
  return builder.getFloatAttr(number.getType(), numbers[chance.below(2)]);
}

template <Purpose purpose>
std::string changeConstant(ModuleOp module, const Mesh &, Chance &chance) {
  auto constants = find<arith::ConstantOp>(module, [](arith::ConstantOp op) {
    return isa<IntegerAttr, FloatAttr>(op.getValue()) && !op->use_empty() &&
           getPurpose(op) == purpose;
  });
  if (constants.empty())
    return "";
  arith::ConstantOp op = chance.pick(constants);
  OpBuilder builder(op);
  std::string text;
  llvm::raw_string_ostream stream(text);
  TypedAttr changed = changeNumber(builder, op.getValue(), chance);
  if (changed == op.getValue())
    return "";
  stream << op.getValue() << " to " << changed << " in "
         << describe(*op->getUsers().begin());
  op.setValueAttr(changed);
  return text;
}

std::string changeRank(ModuleOp module, const Mesh &mesh, Chance &chance) {
  auto ranks = find<RankOp>(module, [](RankOp) { return true; });
  if (ranks.empty())
    return "";
  RankOp op = chance.pick(ranks);
  if (chance.half()) {
    OpBuilder builder(op);
    op.replaceAllUsesWith(
        arith::ConstantIndexOp::create(builder, op.getLoc(), 0).getResult());
    op.erase();
    return "to zero";
  }
  FailureOr<AxisList> axes =
      resolveAxes(op.getAxes(), mesh, [&] { return op->emitError(); });
  AxisList other = changeAxes(*axes, mesh, chance);
  op.setAxesAttr(getAxisListAttr(op.getContext(), mesh, other));
  return "to " + mesh.getName(other);
}

/// An index without its offset, in a body or of an operation that takes one.
std::string dropOffset(ModuleOp module, const Mesh &, Chance &chance) {
  auto sums = find<arith::AddIOp>(module, [](arith::AddIOp op) {
    return op.getLhs().getDefiningOp<linalg::IndexOp>();
  });
  auto products = find<arith::MulIOp>(module, [](arith::MulIOp op) {
    return op.getLhs().getDefiningOp<RankOp>() && !op->use_empty();
  });
  if (!products.empty() && (sums.empty() || chance.half())) {
    arith::MulIOp op = chance.pick(products);
    OpOperand *use = chance.pick(llvm::to_vector(
        llvm::map_range(op->getUses(), [](OpOperand &one) { return &one; })));
    OpBuilder builder(op);
    use->set(arith::ConstantIndexOp::create(builder, op.getLoc(), 0));
    return describe(use->getOwner());
  }
  if (sums.empty())
    return "";
  arith::AddIOp op = chance.pick(sums);
  op.replaceAllUsesWith(op.getLhs());
  return "in a body";
}

/// Arithmetic of positions: another operation or predicate.
std::string changeArithmetic(ModuleOp module, const Mesh &, Chance &chance) {
  auto sums = find<Operation *>(module, [](Operation *op) {
    return isa<arith::AddIOp, arith::MulIOp, arith::CmpIOp>(op) &&
           op->getOperand(0).getType().isIndex();
  });
  if (sums.empty())
    return "";
  Operation *op = chance.pick(sums);
  std::string what = describe(op);
  OpBuilder builder(op);
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    auto predicate = arith::CmpIPredicate(
        (int(compare.getPredicate()) + 1 + chance.below(9)) % 10);
    compare.setPredicate(predicate);
    return what + " to " + arith::stringifyCmpIPredicate(predicate).str();
  }
  Value other =
      isa<arith::AddIOp>(op)
          ? arith::SubIOp::create(builder, op->getLoc(), op->getOperand(0),
                                  op->getOperand(1))
                .getResult()
          : arith::AddIOp::create(builder, op->getLoc(), op->getOperand(0),
                                  op->getOperand(1))
                .getResult();
  op->getResult(0).replaceAllUsesWith(other);
  return what;
}

/// The two values of a selection by position, the other way around.
std::string swapSelect(ModuleOp module, const Mesh &, Chance &chance) {
  auto selects = find<arith::SelectOp>(module, [](arith::SelectOp op) {
    return op.getTrueValue() != op.getFalseValue();
  });
  if (selects.empty())
    return "";
  arith::SelectOp op = chance.pick(selects);
  Value first = op.getTrueValue();
  op.setOperand(1, op.getFalseValue());
  op.setOperand(2, first);
  return describe(op->getParentOp());
}

/// A mask is gone.
std::string dropMask(ModuleOp module, const Mesh &, Chance &chance) {
  auto masks = find<linalg::GenericOp>(module, [](linalg::GenericOp op) {
    return !op->hasAttr("tp.value_id") && op.getNumDpsInputs() == 1 &&
           op->getNumResults() == 1 &&
           op.getDpsInputs()[0].getType() == op.getResult(0).getType();
  });
  if (masks.empty())
    return "";
  linalg::GenericOp op = chance.pick(masks);
  op.getResult(0).replaceAllUsesWith(op.getDpsInputs()[0]);
  return "of " + describe(op.getDpsInputs()[0].getDefiningOp());
}

/// Changes an attribute by which an operation scales, rounds or selects.
std::string changeAttribute(ModuleOp module, const Mesh &, Chance &chance) {
  SmallVector<std::pair<Operation *, NamedAttribute>> numbers;
  module->walk([&](Operation *op) {
    if (op->getName().getDialectNamespace() != "nn")
      return;
    for (NamedAttribute attribute : op->getAttrs())
      if (isa<FloatAttr>(attribute.getValue()))
        numbers.push_back({op, attribute});
  });
  if (numbers.empty())
    return "";
  auto [op, attribute] = chance.pick(numbers);
  double old = cast<FloatAttr>(attribute.getValue()).getValueAsDouble();
  op->setAttr(attribute.getName(),
              OpBuilder(op).getF64FloatAttr(old * 0.5 + 0.01));
  return describe(op) + " " + attribute.getName().str();
}

/// Another value of the same type, or two operands in each other's place.
std::string changeOperand(ModuleOp module, const Mesh &, Chance &chance) {
  SmallVector<OpOperand *> uses;
  SmallVector<Value> values;
  module->walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (isa<RankedTensorType>(operand.get().getType()))
        uses.push_back(&operand);
    for (Value result : op->getResults())
      values.push_back(result);
    for (Region &region : op->getRegions())
      for (BlockArgument arg : region.getArguments())
        values.push_back(arg);
  });
  if (uses.empty())
    return "";
  OpOperand *use = chance.pick(uses);
  DominanceInfo dominance(module);
  llvm::erase_if(values, [&](Value value) {
    return value == use->get() || value.getType() != use->get().getType() ||
           !dominance.properlyDominates(value, use->getOwner());
  });
  if (values.empty())
    return "";
  use->set(chance.pick(values));
  return describe(use->getOwner()) + " operand " +
         std::to_string(use->getOperandNumber());
}

std::string changeCount(ModuleOp module, const Mesh &, Chance &chance) {
  auto repeats = find<RepeatOp>(module, [](RepeatOp op) {
    return op.getStacked().empty() && op.getStackedResults().empty() &&
           op.getCount() > 1;
  });
  if (repeats.empty())
    return "";
  RepeatOp op = chance.pick(repeats);
  op.setCount(op.getCount() + (chance.half() ? 1 : -1));
  return describe(op);
}

/// Another row of a table has no derivative, or every row has one.
std::string changePaddingRow(ModuleOp module, const Mesh &, Chance &chance) {
  auto ops = find<nn::EmbeddingBackwardOp>(
      module, [](nn::EmbeddingBackwardOp op) { return !!op.getPaddingRow(); });
  if (ops.empty())
    return "";
  nn::EmbeddingBackwardOp op = chance.pick(ops);
  if (chance.half()) {
    op.removePaddingRowAttr();
    return describe(op) + " without a row";
  }
  int64_t row = *op.getPaddingRow();
  op.setPaddingRow(row + (chance.half() || row == 0 ? 1 : -1));
  return describe(op) + " to " + std::to_string(*op.getPaddingRow());
}

constexpr StringLiteral lanes = "lanes past the end that hold what the mask "
                                "would put there, or that do not "
                                "count";
constexpr StringLiteral unread =
    "an operand that is not read, or a value that is the same on these inputs";

} // namespace

ArrayRef<Mutation> getValueMutations() {
  static const Mutation mutations[] = {
      {"offset-size", changeConstant<Purpose::Offset>, ""},
      {"mask-bound", changeConstant<Purpose::Bound>, lanes,
       Noticed::ByComparison},
      {"mask-value", changeConstant<Purpose::PadValue>, lanes,
       Noticed::ByComparison},
      {"constant", changeConstant<Purpose::Other>, unread,
       Noticed::ByComparison},
      {"rank-axes", changeRank, "the same axes in other words"},
      {"offset-dropped", dropOffset, ""},
      {"position-arithmetic", changeArithmetic, lanes, Noticed::ByComparison},
      {"select", swapSelect, unread, Noticed::ByComparison},
      {"mask-dropped", dropMask, lanes, Noticed::ByComparison},
      {"attribute", changeAttribute, unread, Noticed::ByComparison},
      {"operand", changeOperand, unread, Noticed::ByComparison},
      {"padding-row", changePaddingRow, "ids without the row",
       Noticed::ByComparison},
      {"repeat-count", changeCount, unread, Noticed::ByComparison},
  };
  return mutations;
}

} // namespace tp::mutate
