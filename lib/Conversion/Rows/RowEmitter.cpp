//===- RowEmitter.cpp - What row kernels of all targets share -------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See RowEmitter.h.
//
//===----------------------------------------------------------------------===//

#include "tp/Conversion/Rows/RowEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tp;

/// The condition of a selection by floats that is false for NaN, or by
/// integers: whether equal keys replace, and whether greater ones do.
static bool readPredicate(Operation *condition, bool &replacesEqual,
                          bool &wantsGreater, bool &isSigned) {
  isSigned = true;
  auto set = [&](bool equal, bool greater) {
    replacesEqual = equal;
    wantsGreater = greater;
    return true;
  };
  if (auto compare = dyn_cast<arith::CmpFOp>(condition))
    switch (compare.getPredicate()) {
    case arith::CmpFPredicate::OGT:
      return set(false, true);
    case arith::CmpFPredicate::OGE:
      return set(true, true);
    case arith::CmpFPredicate::OLT:
      return set(false, false);
    case arith::CmpFPredicate::OLE:
      return set(true, false);
    default:
      return false;
    }
  auto compare = dyn_cast<arith::CmpIOp>(condition);
  if (!compare)
    return false;
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::ugt:
    isSigned = false;
    [[fallthrough]];
  case arith::CmpIPredicate::sgt:
    return set(false, true);
  case arith::CmpIPredicate::uge:
    isSigned = false;
    [[fallthrough]];
  case arith::CmpIPredicate::sge:
    return set(true, true);
  case arith::CmpIPredicate::ult:
    isSigned = false;
    [[fallthrough]];
  case arith::CmpIPredicate::slt:
    return set(false, false);
  case arith::CmpIPredicate::ule:
    isSigned = false;
    [[fallthrough]];
  case arith::CmpIPredicate::sle:
    return set(true, false);
  default:
    return false;
  }
}

std::optional<Selection> tp::findSelection(linalg::GenericOp op) {
  Operation *terminator = op.getBody()->getTerminator();
  Operation *condition = nullptr;
  std::optional<unsigned> key;
  DenseSet<Value> dependent = getOutputDependents(op);
  for (auto [i, yielded] : llvm::enumerate(terminator->getOperands())) {
    Value accumulator = op.getBody()->getArgument(op.getNumDpsInputs() + i);
    auto select = yielded.getDefiningOp<arith::SelectOp>();
    if (!select || !accumulator.getType().isIntOrFloat() ||
        accumulator.getType().getIntOrFloatBitWidth() > 64 ||
        select.getFalseValue() != accumulator ||
        dependent.contains(select.getTrueValue()))
      return std::nullopt;
    Operation *own = select.getCondition().getDefiningOp();
    if (!own || (condition && condition != own))
      return std::nullopt;
    condition = own;
    bool isKey = own->getNumOperands() == 2 &&
                 llvm::is_contained(own->getOperands(), accumulator);
    for (Operation *user : accumulator.getUsers())
      if (user != select && !(isKey && user == own))
        return std::nullopt;
    if (!isKey)
      continue;
    Value other = own->getOperand(own->getOperand(0) == accumulator);
    if (key || other != select.getTrueValue())
      return std::nullopt;
    key = i;
  }
  Selection selection{condition, key.value_or(0), false, nullptr};
  bool wantsGreater, isSigned;
  if (!key ||
      !readPredicate(condition, selection.keepsLast, wantsGreater, isSigned))
    return std::nullopt;
  Value accumulator = op.getBody()->getArgument(op.getNumDpsInputs() + *key);
  // Compared the other way round.
  if (condition->getOperand(0) == accumulator)
    wantsGreater = !wantsGreater;
  Type type = accumulator.getType();
  if (auto floats = dyn_cast<FloatType>(type)) {
    selection.worst = FloatAttr::get(
        type, APFloat::getInf(floats.getFloatSemantics(), wantsGreater));
    return selection;
  }
  unsigned bits = type.getIntOrFloatBitWidth();
  APInt worst = isSigned ? (wantsGreater ? APInt::getSignedMinValue(bits)
                                         : APInt::getSignedMaxValue(bits))
                         : (wantsGreater ? APInt::getMinValue(bits)
                                         : APInt::getMaxValue(bits));
  selection.worst = IntegerAttr::get(type, worst);
  return selection;
}

/// Converts between a narrow float and f32.
Value RowEmitter::toType(Value value, Type type) {
  if (getElementTypeOrSelf(value.getType()) == type)
    return value;
  return type.isF32() ? emitter.widen(value) : emitter.narrow(value, type);
}

FailureOr<TensorMemory> RowEmitter::findMemory(Value tensor) {
  auto found = memories.find(tensor);
  if (found != memories.end())
    return found->second;
  return kernel.emitOpError("reads a tensor by computed indices that is made "
                            "in the same kernel");
}

LogicalResult RowEmitter::emitFor(
    int64_t begin, int64_t end, int64_t step, SmallVectorImpl<Value> &carried,
    function_ref<LogicalResult(Value, SmallVectorImpl<Value> &)> body) {
  if (begin >= end)
    return success();
  if (begin + step >= end)
    return body(emitter.constantIndex(begin), carried);
  auto loop = scf::ForOp::create(builder, loc, emitter.constantIndex(begin),
                                 emitter.constantIndex(end),
                                 emitter.constantIndex(step), carried);
  OpBuilder::InsertionGuard guard(builder);
  if (carried.empty())
    builder.setInsertionPoint(loop.getBody()->getTerminator());
  else
    builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> inside(loop.getRegionIterArgs());
  if (failed(body(loop.getInductionVar(), inside)))
    return failure();
  if (!carried.empty())
    scf::YieldOp::create(builder, loc, inside);
  carried.assign(loop.getResults().begin(), loop.getResults().end());
  return success();
}

//===----------------------------------------------------------------------===//
// Operands and results
//===----------------------------------------------------------------------===//

LaneValue RowEmitter::loadOperand(KernelOp &op, OpOperand &operand,
                                  ArrayRef<Value> position, int64_t laneDim) {
  Value tensor = operand.get();
  if (auto found = scalars.find(tensor); found != scalars.end())
    return found->second;
  const TensorMemory &memory = memories.find(tensor)->second;
  AffineMap map = op.getCommonMap(op.op.getMatchingIndexingMap(&operand));
  return emitter.load(memory, LaneEmitter::getOffset(memory, map), position,
                      laneDim);
}

void RowEmitter::storeResult(KernelOp &op, unsigned result,
                             const LaneValue &lane, ArrayRef<Value> position,
                             int64_t laneDim) {
  OpResult value = op.op->getResult(result);
  const KernelTensor &info = plan.tensors.find(value)->second;
  AffineMap map = op.getCommonMap(op.op.getIndexingMapMatchingResult(value));
  auto put = [&](const TensorMemory &memory) {
    emitter.store(lane, memory, LaneEmitter::getOffset(memory, map), position,
                  laneDim);
  };
  if (info.results.empty() && isStored(value))
    put(memories.find(value)->second);
  for (unsigned index : info.results)
    put(resultMemories[index]);
}

/// Emits the body of `op` for one position; `tensors` are values made at this
/// position, `lanes` receives the block's values.
LogicalResult RowEmitter::emitOp(KernelOp &op, ArrayRef<Value> position,
                                 DenseMap<Value, LaneValue> &tensors,
                                 DenseMap<Value, LaneValue> &lanes,
                                 int64_t laneDim,
                                 ArrayRef<Operation *> skipped) {
  Block *body = op.op.getBody();
  for (OpOperand &operand : op.op->getOpOperands()) {
    BlockArgument argument = body->getArgument(operand.getOperandNumber());
    if (lanes.count(argument) || argument.use_empty())
      continue;
    auto made = tensors.find(operand.get());
    if (made != tensors.end())
      lanes[argument] = made->second;
    else if (skipped.empty() || !op.op.isDpsInit(&operand))
      lanes[argument] = loadOperand(op, operand, position, laneDim);
  }
  return emitBody(op, position, lanes, laneDim, skipped);
}

LogicalResult RowEmitter::emitBody(KernelOp &op, ArrayRef<Value> position,
                                   DenseMap<Value, LaneValue> &lanes,
                                   int64_t laneDim,
                                   ArrayRef<Operation *> skipped) {
  SmallVector<LaneValue> indices(op.op.getNumLoops());
  for (unsigned dim = 0; dim < indices.size(); ++dim) {
    indices[dim] = {emitter.constantIndex(0), false, nullptr};
    auto setIndex = [&](size_t i) {
      indices[dim] = int64_t(i) == laneDim
                         ? emitter.makeConsecutive(position[i])
                         : LaneValue{position[i], false, nullptr};
    };
    for (auto [i, row] : llvm::enumerate(op.rows))
      if (row == dim)
        setIndex(i);
    for (auto [i, column] : llvm::enumerate(op.columns))
      if (column == dim)
        setIndex(op.rows.size() + i);
  }
  return emitter.emitBody(
      *op.op.getBody(), lanes, indices,
      [&](Value tensor) { return findMemory(tensor); }, skipped);
}

LaneValue tp::findLane(const DenseMap<Value, LaneValue> &lanes, Value value) {
  auto found = lanes.find(value);
  return found == lanes.end() ? LaneValue{value, false, nullptr}
                              : found->second;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

SmallVector<Accumulator> RowEmitter::makeAccumulators(KernelOp &op) {
  // If one result is a recurrence, all are done element by element.
  std::optional<SmallVector<Combiner>> combiners = matchCombiners(op.op);
  SmallVector<Accumulator> result;
  for (auto [i, init] : llvm::enumerate(op.op.getDpsInits())) {
    Type element = getElementTypeOrSelf(init.getType());
    Accumulator accumulator{&op, unsigned(i), std::nullopt, element, {}};
    if (combiners) {
      accumulator.combiner = (*combiners)[i];
      if (element.isBF16() || element.isF16())
        accumulator.type = builder.getF32Type();
    }
    result.push_back(accumulator);
  }
  return result;
}

Value RowEmitter::getStart(const Accumulator &accumulator, Type type) {
  // Unless the initial value, which is added last, may be -0, a sum may start
  // from 0 as well, which needs no register.
  Value init = accumulator.op->op.getDpsInits()[accumulator.position];
  Attribute known;
  auto isNegativeZero = [&]() {
    auto splat = dyn_cast<SplatElementsAttr>(known);
    auto number = splat ? dyn_cast<FloatAttr>(splat.getSplatValue<Attribute>())
                        : FloatAttr();
    return !number || number.getValue().isNegZero();
  };
  if (accumulator.combiner->kind == CombinerKind::Sum &&
      matchPattern(init, m_Constant(&known)) && !isNegativeZero())
    return arith::ConstantOp::create(
        builder, loc, cast<TypedAttr>(builder.getZeroAttr(type)));
  return emitter.getIdentity(*accumulator.combiner, type);
}

OpOperand *tp::findPlainTerm(linalg::GenericOp op, unsigned position) {
  BlockArgument accumulator = op.getRegionOutputArgs()[position];
  Value yielded = op.getBody()->getTerminator()->getOperand(position);
  Operation *last = yielded.getDefiningOp();
  if (!accumulator.hasOneUse() || *accumulator.user_begin() != last ||
      last->getNumOperands() != 2 || !yielded.hasOneUse() ||
      isa<arith::SubFOp, arith::SubIOp>(last))
    return nullptr;
  return &last->getOpOperand(last->getOperand(0) == accumulator);
}

/// Combines what is left of an accumulator, adds the initial value once, and
/// puts the result where it belongs.
LogicalResult RowEmitter::finish(Accumulator &accumulator,
                                 ArrayRef<Value> position) {
  KernelOp &op = *accumulator.op;
  OpResult result = op.op->getResult(accumulator.position);
  Type element = getElementTypeOrSelf(result.getType());
  Value value = accumulator.values.back();
  emitter.width = 1;
  if (accumulator.combiner) {
    const Combiner &combiner = *accumulator.combiner;
    auto combine = [&](Value a, Value b) {
      return combinePartials(builder, loc, combiner, a, b);
    };
    SmallVector<Value> vectors(ArrayRef(accumulator.values).drop_back());
    while (vectors.size() > 1) {
      SmallVector<Value> next;
      for (size_t i = 0; i + 1 < vectors.size(); i += 2)
        next.push_back(combine(vectors[i], vectors[i + 1]));
      if (vectors.size() % 2)
        next.push_back(vectors.back());
      vectors = next;
    }
    if (!vectors.empty())
      value = combine(emitter.reduce(combiner, vectors[0]), value);
    OpOperand *init = op.op.getDpsInitOperand(accumulator.position);
    LaneValue initial = loadOperand(op, *init, position, -1);
    value = combine(toType(initial.value, accumulator.type), value);
    value = toType(value, element);
  }
  LaneValue lane{value, false, nullptr};
  if (plan.tensors.find(result)->second.isRowScalar)
    scalars[result] = lane;
  storeResult(op, accumulator.position, lane, position, -1);
  return success();
}

//===----------------------------------------------------------------------===//
// Shared loops
//===----------------------------------------------------------------------===//

/// The accumulator that the present vector goes into: the last is for what is
/// left of the row.
static Value &getPart(Accumulator &accumulator, unsigned index) {
  return index + 1 < accumulator.values.size() ? accumulator.values[index]
                                               : accumulator.values.back();
}

LogicalResult RowEmitter::emitStep(const KernelLoop &loop,
                                   ArrayRef<Value> position, int64_t width,
                                   int64_t laneDim, unsigned accumulatorIndex,
                                   MutableArrayRef<Accumulator> accumulators,
                                   DenseMap<Value, LaneValue> &tensors) {
  emitter.width = width;
  Step step{position, laneDim, accumulatorIndex, tensors};
  for (KernelOp *op : loop.ops) {
    SmallVector<Accumulator *> own;
    for (Accumulator &accumulator : accumulators)
      if (accumulator.op == op)
        own.push_back(&accumulator);
    LogicalResult emitted = op->kind == KernelOp::Kind::Map ? emitMap(*op, step)
                            : own.front()->combiner
                                ? emitCombined(*op, own, step)
                                : emitInOrder(*op, own, step);
    if (failed(emitted))
      return failure();
  }
  return success();
}

LogicalResult RowEmitter::emitMap(KernelOp &op, const Step &step) {
  DenseMap<Value, LaneValue> lanes(scalars);
  if (failed(emitOp(op, step.position, step.tensors, lanes, step.laneDim)))
    return failure();
  Operation *terminator = op.op.getBody()->getTerminator();
  for (auto [i, yielded] : llvm::enumerate(terminator->getOperands())) {
    LaneValue lane = findLane(lanes, yielded);
    Value result = op.op->getResult(i);
    step.tensors[result] = lane;
    if (plan.tensors.find(result)->second.isRowScalar && !lane.isVector)
      scalars[result] = {lane.value, false, nullptr};
    if (isStored(result))
      storeResult(op, i, lane, step.position, step.laneDim);
  }
  return success();
}

/// If there is a combiner, the accumulator is no operand of what is emitted:
/// the body makes the terms, which are combined with the accumulators here.
LogicalResult RowEmitter::emitCombined(KernelOp &op,
                                       ArrayRef<Accumulator *> accumulators,
                                       const Step &step) {
  DenseMap<Value, LaneValue> lanes(scalars);
  SmallVector<Operation *> skipped;
  SmallVector<Value> terms(op.op.getBody()->getTerminator()->getOperands());
  for (Accumulator *accumulator : accumulators) {
    unsigned i = accumulator->position;
    if (OpOperand *term = findPlainTerm(op.op, i)) {
      skipped.push_back(term->getOwner());
      terms[i] = term->get();
      continue;
    }
    BlockArgument argument = op.op.getRegionOutputArgs()[i];
    lanes[argument] = {
        emitter.getIdentity(*accumulator->combiner, argument.getType()), false,
        nullptr};
  }
  if (failed(emitOp(op, step.position, step.tensors, lanes, step.laneDim,
                    skipped)))
    return failure();
  for (Accumulator *accumulator : accumulators) {
    const Combiner &combiner = *accumulator->combiner;
    Value value =
        emitter.toVector(findLane(lanes, terms[accumulator->position]));
    value = toType(value, accumulator->type);
    Value &into = getPart(*accumulator, step.accumulatorIndex);
    if (&into == &accumulator->values.back())
      value = emitter.reduce(combiner, value);
    into = combinePartials(builder, loc, combiner, into, value);
  }
  return success();
}

/// The body reads the accumulators and makes the next ones. Of a selection
/// there is a vector of them, and one more for where the element stood.
LogicalResult RowEmitter::emitInOrder(KernelOp &op,
                                      ArrayRef<Accumulator *> accumulators,
                                      const Step &step) {
  DenseMap<Value, LaneValue> lanes(scalars);
  Operation *terminator = op.op.getBody()->getTerminator();
  const Selection *selection = accumulators.front()->selection;
  auto isPlace = [&](const Accumulator *accumulator) {
    return accumulator->position >= op.op.getNumDpsInits();
  };
  for (Accumulator *accumulator : accumulators) {
    if (isPlace(accumulator))
      continue;
    Value value = getPart(*accumulator, step.accumulatorIndex);
    lanes[op.op.getRegionOutputArgs()[accumulator->position]] = {
        value, isa<VectorType>(value.getType()), nullptr};
  }
  if (failed(emitOp(op, step.position, step.tensors, lanes, step.laneDim)))
    return failure();
  for (Accumulator *accumulator : accumulators) {
    Value &value = getPart(*accumulator, step.accumulatorIndex);
    if (isPlace(accumulator)) {
      Value isTaken =
          emitter.toVector(findLane(lanes, selection->condition->getResult(0)));
      value = arith::SelectOp::create(builder, loc, isTaken, getLanePlaces(),
                                      value);
      continue;
    }
    LaneValue lane =
        findLane(lanes, terminator->getOperand(accumulator->position));
    value = selection ? emitter.toVector(lane) : lane.value;
  }
  return success();
}

/// The positions of the lanes among the elements of the row.
Value RowEmitter::getLanePlaces() {
  Value places = emitter.getVectorOf(place);
  auto type = dyn_cast<VectorType>(places.getType());
  if (!type)
    return places;
  auto steps = llvm::to_vector(llvm::seq<int32_t>(0, type.getDimSize(0)));
  return arith::AddIOp::create(
      builder, loc, places,
      arith::ConstantOp::create(
          builder, loc,
          DenseElementsAttr::get(type, ArrayRef<int32_t>(steps))));
}

SmallVector<Value> tp::pack(ArrayRef<Accumulator> accumulators) {
  SmallVector<Value> values;
  for (const Accumulator &accumulator : accumulators)
    llvm::append_range(values, accumulator.values);
  return values;
}

void tp::unpack(MutableArrayRef<Accumulator> accumulators,
                ArrayRef<Value> values) {
  for (Accumulator &accumulator : accumulators)
    for (Value &value : accumulator.values) {
      value = values.front();
      values = values.drop_front();
    }
}

SmallVector<int64_t> tp::getStrides(RankedTensorType type, unsigned dropped) {
  SmallVector<int64_t> strides(type.getRank(), 0);
  int64_t stride = 1;
  for (int64_t dim = type.getRank() - 1; dim >= int64_t(dropped); --dim) {
    strides[dim] = stride;
    stride *= type.getDimSize(dim);
  }
  return strides;
}

//===----------------------------------------------------------------------===//
// Around the loops
//===----------------------------------------------------------------------===//

void RowEmitter::emitConstants() {
  for (auto &[value, info] : plan.tensors) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      continue;
    if (info.splat) {
      auto elements = cast<DenseElementsAttr>(
          cast<arith::ConstantOp>(info.splat.getDefiningOp()).getValue());
      auto attr = cast<TypedAttr>(elements.getSplatValue<Attribute>());
      scalars[value] = {arith::ConstantOp::create(builder, loc, attr), false,
                        nullptr};
    } else if (info.isEmpty) {
      // An accumulator that starts from nothing in particular.
      scalars[value] = {
          arith::ConstantOp::create(
              builder, loc,
              cast<TypedAttr>(builder.getZeroAttr(type.getElementType()))),
          false, nullptr};
    }
  }
  // Scalars of the function itself.
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (op.getNumResults() != 1 ||
        isa<RankedTensorType>(op.getResult(0).getType()))
      continue;
    IRMapping mapping;
    for (Value operand : op.getOperands())
      mapping.map(operand, scalars.lookup(operand).value);
    scalars[op.getResult(0)] = {builder.clone(op, mapping)->getResult(0), false,
                                nullptr};
  }
}

void RowEmitter::emitRowIndices(Value row) {
  // Last varies fastest. The first with more than one position takes what is
  // left: its size is in no kernel, which steps of other sizes can so share.
  rowIndices.assign(plan.rowSizes.size(), nullptr);
  auto isMany = [](int64_t size) { return size > 1; };
  int64_t first = llvm::find_if(plan.rowSizes, isMany) - plan.rowSizes.begin();
  Value rest = row;
  for (int64_t i = plan.rowSizes.size() - 1; i >= 0; --i) {
    if (i == first) {
      rowIndices[i] = rest;
    } else if (plan.rowSizes[i] == 1) {
      rowIndices[i] = emitter.constantIndex(0);
    } else {
      Value size = emitter.constantIndex(plan.rowSizes[i]);
      rowIndices[i] = arith::RemUIOp::create(builder, loc, rest, size);
      rest = arith::DivUIOp::create(builder, loc, rest, size);
    }
  }
}
