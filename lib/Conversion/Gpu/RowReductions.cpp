//===- RowReductions.cpp - One value from all elements of a row -----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The values of a row's lanes, threads and warps are put together: by combining
// operations, or by selecting the element with the best key. Selections carry
// along where their element stood, so that of equal keys the one is kept that a
// loop in order would keep.
//
//===----------------------------------------------------------------------===//

#include "BlockReduce.h"
#include "RowWriter.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tp;

/// True if an element with `key` takes the place of one with the key `than`.
Value RowWriter::emitCondition(const Selection &selection, KernelOp &op,
                               Value key, Value than) {
  Value accumulator =
      op.op.getBody()->getArgument(op.op.getNumDpsInputs() + selection.key);
  SmallVector<LaneValue> operands;
  for (Value operand : selection.condition->getOperands())
    operands.push_back({operand == accumulator ? than : key, false, nullptr});
  emitter.width = 1;
  return emitter.emitElementwise(selection.condition, operands)->value;
}

/// The better of two elements; of equals the earlier or the later one. What is
/// no element stands at -1, which is behind all when read without a sign.
SmallVector<Value> RowWriter::select(ArrayRef<Accumulator> group,
                                     ArrayRef<Value> a, ArrayRef<Value> b) {
  const Selection &selection = *group.front().selection;
  KernelOp &op = *group.front().op;
  Value isBetter =
      emitCondition(selection, op, b[selection.key], a[selection.key]);
  Value isWorse =
      emitCondition(selection, op, a[selection.key], b[selection.key]);
  Value isTrue = number(builder.getI1Type(), 1);
  Value isNotWorse = arith::XOrIOp::create(builder, loc, isWorse, isTrue);
  // Equal keys are better and worse if equal ones replace, else neither.
  Value isTaken;
  if (selection.keepsLast) {
    Value isLater = e.compare(arith::CmpIPredicate::sgt, b.back(), a.back());
    isTaken = e.bitAnd(isBetter, e.bitOr(isNotWorse, isLater));
  } else {
    Value isEarlier = e.compare(arith::CmpIPredicate::ult, b.back(), a.back());
    isTaken = e.bitOr(isBetter, e.bitAnd(isNotWorse, isEarlier));
  }
  SmallVector<Value> result;
  for (auto [own, other] : llvm::zip_equal(a, b))
    result.push_back(e.select(isTaken, other, own));
  return result;
}

SmallVector<Value> RowWriter::combine(ArrayRef<Accumulator> accumulators,
                                      ArrayRef<Value> a, ArrayRef<Value> b) {
  SmallVector<Value> result;
  for (size_t i = 0; i < accumulators.size();) {
    const Selection *selection = accumulators[i].selection;
    size_t count = 1;
    while (selection && i + count < accumulators.size() &&
           accumulators[i + count].selection == selection)
      ++count;
    if (selection)
      llvm::append_range(result, select(accumulators.slice(i, count),
                                        a.slice(i, count), b.slice(i, count)));
    else
      result.push_back(
          combinePartials(builder, loc, *accumulators[i].combiner, a[i], b[i]));
    i += count;
  }
  return result;
}

Value RowWriter::getIdentity(const Accumulator &accumulator) {
  const Selection *selection = accumulator.selection;
  if (!selection)
    return getStart(accumulator, accumulator.type);
  TypedAttr value = cast<TypedAttr>(builder.getZeroAttr(accumulator.type));
  if (accumulator.position == selection->key)
    value = selection->worst;
  else if (accumulator.position == accumulator.op->op.getNumDpsInits())
    value = builder.getI32IntegerAttr(-1);
  return arith::ConstantOp::create(builder, loc, value);
}

/// Lets threads, and lanes, share what is a selection among `accumulators`.
void RowWriter::addSelections(SmallVectorImpl<Accumulator> &accumulators) {
  SmallVector<Accumulator> result;
  for (Accumulator &accumulator : accumulators) {
    KernelOp &op = *accumulator.op;
    unsigned last = op.op.getNumDpsInits() - 1;
    if (accumulator.position == 0 && !accumulator.combiner)
      if (std::optional<Selection> selection = findSelection(op.op))
        selections.push_back(std::make_unique<Selection>(*selection));
    if (!accumulator.combiner)
      accumulator.selection = selections.back().get();
    result.push_back(accumulator);
    if (accumulator.selection && accumulator.position == last) {
      Accumulator place{&op, last + 1, std::nullopt, builder.getI32Type(), {}};
      place.selection = accumulator.selection;
      result.push_back(place);
    }
  }
  accumulators = result;
}

/// The lanes of selected elements.
void RowWriter::reduceLanes(MutableArrayRef<Accumulator> accumulators) {
  if (shape->width == 1)
    return;
  SmallVector<Accumulator> selected;
  for (Accumulator &accumulator : accumulators)
    if (accumulator.selection)
      selected.push_back(accumulator);
  if (selected.empty())
    return;
  auto get = [&](auto visit) {
    SmallVector<Value> values;
    for (Accumulator &accumulator : selected)
      values.push_back(visit(accumulator));
    return values;
  };
  SmallVector<Value> values =
      get([](Accumulator &accumulator) { return accumulator.values.back(); });
  for (int64_t lane = 0; lane < shape->width; ++lane)
    values =
        combine(selected, values, get([&](Accumulator &accumulator) {
                  return vector::ExtractOp::create(
                             builder, loc, accumulator.values.front(), lane)
                      .getResult();
                }));
  size_t next = 0;
  for (Accumulator &accumulator : accumulators)
    if (accumulator.selection)
      accumulator.values.back() = values[next++];
}

/// Combines what the threads of a row have.
void RowWriter::reduceThreads(MutableArrayRef<Accumulator> accumulators) {
  auto combineAll = [&](ArrayRef<Value> a, ArrayRef<Value> b) {
    return combine(accumulators, a, b);
  };
  SmallVector<Value> values;
  for (Accumulator &accumulator : accumulators)
    values.push_back(accumulator.values.back());
  values =
      reduceInWarp(builder, loc, values,
                   std::min<int64_t>(32, schedule.threadsPerRow), combineAll);
  if (schedule.threadsPerRow > 32) {
    SmallVector<WarpPartial> partials;
    for (auto [value, accumulator] : llvm::zip_equal(values, accumulators))
      partials.push_back({value, getIdentity(accumulator)});
    Value slots = LLVM::GEPOp::create(
        builder, loc, shared.getType(), builder.getI8Type(), shared,
        ArrayRef<LLVM::GEPArg>{int32_t(numPartials * schedule.getWarps() * 8)});
    numPartials += partials.size();
    values = reduceWarps(builder, loc, partials, schedule.getWarps(), thread,
                         slots, combineAll);
  }
  for (auto [accumulator, value] : llvm::zip_equal(accumulators, values))
    accumulator.values.back() = value;
}

/// A selection's initial element stays if no element takes its place.
void RowWriter::finishSelections(MutableArrayRef<Accumulator> accumulators) {
  for (size_t i = 0; i < accumulators.size(); ++i) {
    const Selection *selection = accumulators[i].selection;
    if (!selection)
      continue;
    KernelOp &op = *accumulators[i].op;
    unsigned count = op.op.getNumDpsInits();
    emitter.width = 1;
    SmallVector<Value> initial;
    for (unsigned j = 0; j < count; ++j)
      initial.push_back(
          loadOperand(op, *op.op.getDpsInitOperand(j), rowIndices, -1).value);
    auto group = accumulators.slice(i, count + 1);
    Value isElement =
        e.compare(arith::CmpIPredicate::ne, group.back().values.back(), -1);
    Value isBetter =
        emitCondition(*selection, op, group[selection->key].values.back(),
                      initial[selection->key]);
    Value isTaken = e.bitAnd(isElement, isBetter);
    for (auto [accumulator, value] :
         llvm::zip_equal(group.drop_back(), initial))
      accumulator.values.back() =
          e.select(isTaken, accumulator.values.back(), value);
    i += count;
  }
}
