//===- StepWriter.cpp - One step of generation ----------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The function of a step, its arguments, and the operations that do to each
// token what they do to any. These are built as partition builds the form of
// one rank: the same operation on dimensions of another size.
//
//===----------------------------------------------------------------------===//

#include "StepWriter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "tp/Dialect/TP/IR/ModelAttributes.h"
#include "tp/Rules/Rules.h"

using namespace mlir;

namespace tp {

StepWriter::StepWriter(const StepPlan &plan, int64_t tokens)
    : plan(plan), options(plan.options), source(plan.source), tokens(tokens),
      numRows(options.getRows(tokens)), count(tokens),
      builder(source->getContext()) {}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

void StepWriter::begin() {
  auto module = source->getParentOfType<ModuleOp>();
  builder.setInsertionPointToEnd(module.getBody());
  step = func::FuncOp::create(builder, source.getLoc(),
                              "step_" + std::to_string(tokens),
                              builder.getFunctionType({}, {}));
  builder.setInsertionPointToEnd(step.addEntryBlock());
}

Value StepWriter::addArgument(StringRef name, RankedTensorType type,
                              ArrayRef<NamedAttribute> attributes) {
  Block &block = step.getBody().front();
  unsigned index = block.getNumArguments();
  (void)step.insertArgument(index, type, builder.getDictionaryAttr(attributes),
                            NameLoc::get(builder.getStringAttr(name)));
  return block.getArgument(index);
}

Value StepWriter::addNumbers(StringRef name, ArrayRef<int64_t> shape,
                             int64_t first, int64_t end) {
  return addArgument(
      name, RankedTensorType::get(shape, builder.getI32Type()),
      {builder.getNamedAttr(TPDialect::getNameAttrName(),
                            builder.getStringAttr(name)),
       builder.getNamedAttr(rangeAttrName,
                            builder.getDenseI64ArrayAttr({first, end}))});
}

/// Adds a number for each row; one that is not given is `defaultValue`.
Value StepWriter::addSetting(StringRef name, Type type,
                             StringRef defaultValue) {
  auto text = [&](StringRef key, StringRef value) {
    return builder.getNamedAttr(key, builder.getStringAttr(value));
  };
  return addArgument(name, RankedTensorType::get({numRows}, type),
                     {text(TPDialect::getNameAttrName(), name),
                      text(defaultAttrName, defaultValue)});
}

/// Adds an argument for each state, which the first step declares.
void StepWriter::addStates() {
  auto module = source->getParentOfType<ModuleOp>();
  for (const auto &[op, states] : plan.states)
    for (const CacheState &state : states) {
      Location loc = NameLoc::get(builder.getStringAttr(state.name));
      if (!module.lookupSymbol(state.name)) {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToStart(module.getBody());
        StateOp::create(builder, loc, state.name, state.type, ShardingAttr(),
                        /*ones=*/false, /*parameter=*/StringAttr(),
                        /*first=*/IntegerAttr(), ParameterSourceAttr(),
                        /*alternatives=*/ArrayAttr());
      }
      auto symbol = FlatSymbolRefAttr::get(builder.getContext(), state.name);
      pools[op].push_back(addArgument(
          state.name, state.type,
          builder.getNamedAttr(TPDialect::getStateAttrName(), symbol)));
    }
}

void StepWriter::addPlaces() {
  auto numbers = RankedTensorType::get({tokens}, builder.getI32Type());
  auto places = nn::TokenPlacesOp::create(
      builder, NameLoc::get(builder.getStringAttr("places")), numbers, numbers,
      numbers, starts, context, table, builder.getI64IntegerAttr(options.page));
  rows = places.getRows();
  positions = places.getPositions();
  cells = places.getCells();
  lastPlaces = places;
}

void StepWriter::finish(ArrayRef<std::pair<StringRef, Value>> outputs) {
  SmallVector<Value> results;
  SmallVector<DictionaryAttr> attributes;
  auto add = [&](StringRef key, Attribute attribute, Value value) {
    results.push_back(value);
    attributes.push_back(
        builder.getDictionaryAttr(builder.getNamedAttr(key, attribute)));
  };
  for (auto [name, value] : outputs)
    add(TPDialect::getNameAttrName(), builder.getStringAttr(name), value);
  for (const auto &[op, states] : plan.states)
    for (auto [state, value] : llvm::zip_equal(states, pools[op]))
      add(TPDialect::getStateAttrName(),
          FlatSymbolRefAttr::get(builder.getContext(), state.name), value);
  func::ReturnOp::create(builder, step.getLoc(), results);
  step.setFunctionType(builder.getFunctionType(step.getArgumentTypes(),
                                               TypeRange(ValueRange(results))));
  for (auto [index, dictionary] : llvm::enumerate(attributes))
    step.setResultAttrs(index, dictionary);
}

LogicalResult StepWriter::write() {
  begin();
  int64_t pagesPerRow = options.getPagesPerRow();
  auto vocabulary =
      cast<RankedTensorType>(plan.path.logits.getType()).getShape().back();
  ids = addNumbers("ids", {1, tokens}, 0, vocabulary);
  starts = addNumbers("starts", {numRows + 1}, 0, tokens + 1);
  context = addNumbers("context", {numRows}, 0, options.context);
  table = addNumbers("table", {numRows, pagesPerRow}, -1,
                     options.rows * pagesPerRow);
  addStates();
  addPlaces();
  values[plan.dims.getIds()] = ids;
  if (failed(writeBlock(source.getBody().front())))
    return failure();
  return writeLogits();
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

int64_t StepWriter::getSize(ArrayRef<Part> parts) const {
  int64_t size = 1;
  for (Part part : parts) {
    switch (part.role) {
    case Role::Other:
      size *= part.size;
      break;
    case Role::Sequence:
      size *= count;
      break;
    case Role::Key:
      size *= options.getPagesPerRow() * options.page;
      break;
    case Role::Batch:
    case Role::Query:
      break;
    }
  }
  return size;
}

RankedTensorType StepWriter::getType(Value value, const DimParts &dims) const {
  SmallVector<int64_t> shape;
  for (const Parts &parts : dims)
    shape.push_back(getSize(parts));
  return cast<RankedTensorType>(value.getType()).clone(shape);
}

FailureOr<Value> StepWriter::get(Value value, const DimParts &dims) {
  if (plan.dims.find(value))
    return values.at(value);
  return hasTokens(dims) ? place(value, dims) : copy(value);
}

/// Returns whether a constraint cuts a dimension that tokens are in.
static bool cutsTokens(ShardingConstraintOp op, const ShardingRule &rule,
                       const FactorParts &factors) {
  DimParts dims = project(rule, rule.operands.front(), factors);
  for (auto [parts, dim] : llvm::zip_equal(dims, op.getSharding().getDims()))
    if (hasTokens(ArrayRef(parts)) && !dim.getAxes().empty())
      return true;
  return false;
}

FailureOr<SmallVector<Value>> StepWriter::rebuild(Operation *op,
                                                  const ShardingRule &rule,
                                                  const FactorParts &factors,
                                                  ValueRange operands) {
  // A constraint is a promise to the user, which the per-rank form has kept. Of
  // texts and positions it says nothing in a step, which has one row of tokens.
  if (auto constraint = dyn_cast<ShardingConstraintOp>(op)) {
    if (cutsTokens(constraint, rule, factors))
      return SmallVector<Value>{operands.front()};
    return cloneLocal(op, builder, operands,
                      TypeRange(ValueRange(operands.front())));
  }
  SmallVector<Type> types;
  for (auto [result, tensor] : llvm::zip_equal(op->getResults(), rule.results))
    types.push_back(getType(result, project(rule, tensor, factors)));
  Mesh mesh;
  FactorShardings uncut(rule.factors.size());
  LocalContext local(mesh, FlatSymbolRefAttr(), rule, uncut);
  FailureOr<SmallVector<Value>> results =
      buildLocal(op, builder, operands, types, local);
  if (succeeded(results))
    readPositions(op, factors, *results);
  return results;
}

LogicalResult StepWriter::writeOp(Operation *op) {
  const TokenOp *entry = plan.dims.findOp(op);
  if (auto repeat = dyn_cast<RepeatOp>(op))
    return llvm::any_of(repeat.getCarriedArgs(),
                        [&](Value v) { return plan.dims.find(v); })
               ? writeRepeat(repeat)
               : success();
  if (!entry)
    return success();
  if (entry->isMixing)
    return writeMixing(op);
  SmallVector<Value> operands;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    FailureOr<Value> value =
        isa<RankedTensorType>(operand.getType())
            ? get(operand,
                  project(entry->rule, entry->rule.operands[i], entry->factors))
            : copy(operand);
    if (failed(value))
      return failure();
    operands.push_back(*value);
  }
  // What is not multiplied costs no time; whoever else reads the routing of a
  // token that is none may as well read zeros.
  if (isa<nn::ExpertsOp, nn::QuantizedExpertsOp>(op))
    operands[1] = values[op->getOperand(1)] =
        keepTokens(op->getLoc(), operands[1]);
  FailureOr<SmallVector<Value>> results =
      rebuild(op, entry->rule, entry->factors, operands);
  if (failed(results))
    return failure();
  for (auto [result, value] : llvm::zip_equal(op->getResults(), *results))
    values[result] = value;
  return success();
}

LogicalResult StepWriter::writeBlock(Block &block) {
  bool isOuter = &block == &source.getBody().front();
  for (Operation &op : block.without_terminator()) {
    if (isOuter && !plan.path.needed.contains(&op))
      continue;
    if (failed(writeOp(&op)))
      return failure();
    if (plan.path.cut.getDefiningOp() != &op)
      continue;
    Value &cut = values[plan.path.cut];
    cut = takeLast(op.getLoc(), cut);
    count = numRows;
  }
  return success();
}

LogicalResult StepWriter::writeRepeat(RepeatOp repeat) {
  SmallVector<Value> inits, stacked;
  for (auto [init, argument] :
       llvm::zip_equal(repeat.getInits(), repeat.getCarriedArgs())) {
    const DimParts *dims = plan.dims.find(argument);
    FailureOr<Value> value = dims ? get(init, *dims) : copy(init);
    if (failed(value))
      return failure();
    inits.push_back(*value);
  }
  for (Value value : repeat.getStacked()) {
    FailureOr<Value> copied = copy(value);
    if (failed(copied))
      return failure();
    stacked.push_back(*copied);
  }
  SmallVector<Operation *> mixing;
  for (const auto &[op, states] : plan.states)
    if (repeat->isProperAncestor(op))
      mixing.push_back(op);
  SmallVector<Type> types(repeat.getStackedResults().getTypes());
  for (Operation *op : mixing)
    for (Value pool : pools[op]) {
      stacked.push_back(pool);
      types.push_back(pool.getType());
    }
  auto loop = RepeatOp::create(builder, repeat.getLoc(), repeat.getCount(),
                               inits, stacked, types, repeat.getFirstIndex(),
                               repeat.getReverse());
  for (auto [now, before] : llvm::zip(loop.getBody().getArguments(),
                                      repeat.getBody().getArguments())) {
    values[before] = now;
    now.setLoc(before.getLoc());
  }
  ValueRange left =
      loop.getStackedArgs().drop_front(repeat.getStacked().size());
  for (Operation *op : mixing) {
    SmallVector<Value, 4> &own = pools[op];
    own.assign(left.begin(), left.begin() + own.size());
    left = left.drop_front(own.size());
  }
  OpBuilder::InsertionGuard guard(builder);
  loops[repeat->getBlock()] = loop;
  builder.setInsertionPointToEnd(loop.getBodyBlock());
  if (failed(writeBlock(*repeat.getBodyBlock())))
    return failure();
  SmallVector<Value> next;
  for (auto [i, value] : llvm::enumerate(repeat.getYield().getOperands())) {
    const DimParts *dims =
        i < inits.size() ? plan.dims.find(repeat.getCarriedArgs()[i]) : nullptr;
    FailureOr<Value> made = dims ? get(value, *dims) : copy(value);
    if (failed(made))
      return failure();
    next.push_back(*made);
  }
  for (Operation *op : mixing)
    llvm::append_range(next, pools[op]);
  YieldOp::create(builder, loop.getLoc(), next);
  loops.erase(repeat->getBlock());
  for (auto [now, before] : llvm::zip(loop.getResults(), repeat.getResults()))
    values[before] = now;
  left = loop.getStackedResults().drop_front(repeat.getStackedResults().size());
  for (Operation *op : mixing) {
    SmallVector<Value, 4> &own = pools[op];
    own.assign(left.begin(), left.begin() + own.size());
    left = left.drop_front(own.size());
  }
  return success();
}

} // namespace tp
