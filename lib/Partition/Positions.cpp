//===- Positions.cpp - What scalars know of the rank ----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums, differences and products with constants are followed exactly; any other
// operation needs operands that are the same wherever they are computed, or its
// result depends on the rank in a way that nothing may use.
//
//===----------------------------------------------------------------------===//

#include "Positions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "tp/Dialect/TP/IR/TPOps.h"

using namespace mlir;
using namespace tp;

using Forms = DenseMap<Value, RankForm>;

//===----------------------------------------------------------------------===//
// Sums of positions
//===----------------------------------------------------------------------===//

template <typename Key>
static void addTimes(std::map<Key, int64_t> &to,
                     const std::map<Key, int64_t> &from, int64_t times) {
  for (auto [key, count] : from)
    if ((to[key] += count * times) == 0)
      to.erase(key);
}

static RankForm add(const RankForm &a, const RankForm &b, int64_t times) {
  RankForm sum = a;
  addTimes(sum.digits, b.digits, times);
  addTimes(sum.loops, b.loops, times);
  sum.number.reset();
  if (a.number && b.number)
    sum.number = *a.number + *b.number * times;
  sum.others.append(b.others);
  return sum;
}

static AxisList getAxes(const RankForm &form) {
  AxisList axes = form.others;
  for (auto [digit, count] : form.digits)
    axes.push_back(digit);
  llvm::sort(axes);
  return canonicalize(axes);
}

/// One digit per prime factor, so that an axis and its sub-axes, each with its
/// weight, give the same sum.
void Positions::addDigits(RankForm &form, ArrayRef<AxisRef> axes,
                          int64_t times) const {
  int64_t weight = times;
  for (const AxisRef &ref : llvm::reverse(axes)) {
    SmallVector<int64_t> primes;
    int64_t rest = ref.size;
    for (int64_t prime = 2; rest > 1; ++prime)
      for (; rest % prime == 0; rest /= prime)
        primes.push_back(prime);
    int64_t pre = ref.pre * ref.size;
    for (int64_t prime : llvm::reverse(primes)) {
      pre /= prime;
      AxisRef digit{ref.axis, pre, prime};
      if ((form.digits[digit] += weight) == 0)
        form.digits.erase(digit);
      weight *= prime;
    }
  }
}

RankForm Positions::getOffset(const LoopCut &cut) const {
  RankForm form;
  addDigits(form, canonicalize(cut.axes), cut.localSize);
  return form;
}

std::string Positions::describe(const RankForm &form) const {
  if (!form.others.empty())
    return "another function of tp.rank " + mesh.getName(getAxes(form));
  if (form.digits.empty())
    return "none";
  std::string text;
  for (auto [digit, count] : form.digits)
    text += (text.empty() ? "tp.rank " : " + tp.rank ") + mesh.getName(digit) +
            " * " + std::to_string(count);
  return text;
}

std::string Positions::checkOffset(Value offset, const LoopCut &cut) const {
  RankForm want = getOffset(cut);
  RankForm have = offset ? get(offset) : RankForm();
  if (have.others.empty() && have.digits == want.digits)
    return "";
  return "expected the offset " + describe(want) + ", got " + describe(have);
}

//===----------------------------------------------------------------------===//
// Scalar code
//===----------------------------------------------------------------------===//

/// The form of `op`'s result, if that is a sum of positions again.
static std::optional<RankForm> transfer(Operation *op,
                                        ArrayRef<RankForm> operands) {
  if (isa<arith::AddIOp>(op))
    return add(operands[0], operands[1], 1);
  if (isa<arith::SubIOp>(op))
    return add(operands[0], operands[1], -1);
  if (isa<arith::IndexCastOp>(op))
    return operands[0];
  if (isa<arith::MulIOp>(op))
    for (unsigned side : {0, 1})
      if (operands[1 - side].number)
        return add(RankForm{{}, {}, 0, {}}, operands[side],
                   *operands[1 - side].number);
  APInt number;
  if (op->getNumResults() == 1 && matchPattern(op, m_ConstantInt(&number)) &&
      number.getBitWidth() <= 64)
    return RankForm{{}, {}, number.getSExtValue(), {}};
  return std::nullopt;
}

RankForm Positions::get(Value value) const {
  auto found = forms.find(value);
  return found == forms.end() ? RankForm() : found->second;
}

void Positions::evaluate(Operation *op) {
  if (auto rankOp = dyn_cast<RankOp>(op)) {
    FailureOr<AxisList> axes =
        resolveAxes(rankOp.getAxes(), mesh, [&] { return op->emitOpError(); });
    if (succeeded(axes))
      addDigits(forms[rankOp.getResult()], canonicalize(*axes), 1);
    return;
  }
  SmallVector<RankForm> operands;
  for (Value operand : op->getOperands())
    operands.push_back(get(operand));
  std::optional<RankForm> form = transfer(op, operands);
  if (!form) {
    form.emplace();
    for (const RankForm &operand : operands)
      form->others.append(getAxes(operand));
    // Values that regions read count as well.
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        form->others.append(getAxes(get(operand)));
      if (auto rankOp = dyn_cast<RankOp>(inner)) {
        FailureOr<AxisList> axes = resolveAxes(
            rankOp.getAxes(), mesh, [&] { return inner->emitOpError(); });
        if (succeeded(axes))
          form->others.append(*axes);
      }
    });
  }
  for (Value result : op->getResults())
    forms[result] = *form;
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

std::string Positions::checkRegions(Operation *op,
                                    ArrayRef<LoopCut> cuts) const {
  Forms inner;
  auto getForm = [&](Value value) {
    auto found = inner.find(value);
    return found == inner.end() ? get(value) : found->second;
  };
  auto cutOf = [&](unsigned loop) {
    return loop < cuts.size() ? cuts[loop] : LoopCut();
  };
  // A use that is no sum: global positions only.
  auto settle = [&](const RankForm &form) -> std::string {
    RankForm want;
    for (auto [loop, times] : form.loops)
      addTimes(want.digits, getOffset(cutOf(loop)).digits, times);
    if (form.others.empty() && form.digits == want.digits)
      return "";
    if (form.loops.empty())
      return "expected what it computes to be the same on every rank, got a "
             "value that depends on tp.rank " +
             mesh.getName(getAxes(form));
    return "expected a position along dimension " +
           std::to_string(form.loops.begin()->first) + ", which is cut by {" +
           mesh.getName(cutOf(form.loops.begin()->first).axes) +
           "}, to be the global one: expected the offset " + describe(want) +
           ", got " + describe(form);
  };
  std::string problem;
  if (isa<tensor::PadOp>(op))
    for (BlockArgument arg : op->getRegion(0).getArguments())
      inner[arg].loops[arg.getArgNumber()] = 1;
  op->walk<WalkOrder::PreOrder>([&](Operation *nested) {
    if (nested == op)
      return WalkResult::advance();
    if (auto index = dyn_cast<linalg::IndexOp>(nested)) {
      inner[index.getResult()].loops[index.getDim()] = 1;
      return WalkResult::advance();
    }
    if (isa<RankOp>(nested)) {
      problem = "expected tp.rank outside of its regions";
      return WalkResult::interrupt();
    }
    SmallVector<RankForm> operands;
    for (Value operand : nested->getOperands())
      operands.push_back(getForm(operand));
    if (std::optional<RankForm> form = transfer(nested, operands)) {
      inner[nested->getResult(0)] = std::move(*form);
      return WalkResult::advance();
    }
    for (const RankForm &operand : operands) {
      problem = settle(operand);
      if (!problem.empty())
        return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return problem;
}
