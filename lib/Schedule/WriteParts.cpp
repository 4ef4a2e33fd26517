//===- WriteParts.cpp - The parts of a row plan as operations -------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See RowPlan.h. RowOrder says in which order the parts are written.
//
//===----------------------------------------------------------------------===//

#include "RowOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tp/Dialect/TP/IR/ParameterNames.h"
#include "tp/Interfaces/LibraryInterface.h"
#include "tp/Ledger/Ledger.h"
#include "tp/Rules/Rules.h"
#include "tp/Schedule/Buffers.h"
#include "llvm/ADT/SmallBitVector.h"
#include <map>

using namespace mlir;
using namespace tp;

namespace {

class PartWriter {
public:
  PartWriter(Block &block, RowPlan &plan, const CostModel *model)
      : block(block), plan(plan), model(model), end(block.getTerminator()),
        builder(end), costs(model ? RowCosts(*model) : RowCosts(plan)),
        order(plan, costs) {}

  /// Values that exist in parts already: arguments of the block.
  void setParts(Value value, ValueRange values) {
    parts[value] = SmallVector<Value>(values);
  }

  unsigned run();
  /// Erases what was written in parts, which nothing reads any more.
  void eraseReplaced();
  void replaceWithWholes(Operation *op);
  /// The parts of `value`, of which the plan says that they exist, or of which
  /// they are taken.
  SmallVector<Value> getParts(Value value, const Cut &cut);
  Value getWhole(Value value);

private:
  Block &block;
  RowPlan &plan;
  const CostModel *model;
  Operation *end;
  OpBuilder builder;
  RowCosts costs;
  RowOrder order;
  DenseMap<Value, SmallVector<Value>> parts;
  DenseMap<Value, Value> wholes;
  /// Parts taken from a whole, by value, dimension, blocks, begin and end.
  std::map<std::tuple<void *, unsigned, int64_t, int64_t, int64_t>, Value>
      taken;
  SmallVector<Operation *> replaced;
  unsigned numCut = 0;

  /// Writes the parts of all operations that are waiting for it.
  void flush();
  void writePart(Operation *op, unsigned part);
  void writeWhole(Operation *op);
  void writeLoop(RepeatOp loop, RowPlan &body);
  Value getOperand(Value value, const OperandPart &operand, unsigned part);
};

} // namespace

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value PartWriter::getWhole(Value value) {
  auto cut = plan.values.find(value);
  if (cut == plan.values.end())
    return value;
  Value &whole = wholes[value];
  if (!whole)
    whole = buildWhole(builder, cast<RankedTensorType>(value.getType()),
                       parts.at(value), cut->second);
  return whole;
}

Value PartWriter::getOperand(Value value, const OperandPart &operand,
                             unsigned part) {
  if (plan.has(value, operand))
    return parts.at(value)[part];
  int64_t begin = operand.isPrefix ? 0 : operand.cut.bounds[part];
  auto key =
      std::tuple(value.getAsOpaquePointer(), operand.cut.dim,
                 operand.cut.blocks, begin, operand.cut.bounds[part + 1]);
  Value &made = taken[key];
  if (!made)
    made = buildPart(builder, getWhole(value), operand, part);
  return made;
}

SmallVector<Value> PartWriter::getParts(Value value, const Cut &cut) {
  SmallVector<Value> values;
  for (unsigned part = 0; part < cut.getNumParts(); ++part)
    values.push_back(getOperand(value, {cut}, part));
  return values;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// The operation on parts of its operands.
static SmallVector<Value> buildOp(OpBuilder &builder, Operation *op,
                                  const OpParts &cut, ValueRange operands,
                                  TypeRange types) {
  if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
    StepAttrs attrs;
    attrs.reduction = collective.getReductionName();
    attrs.mesh = collective.getGroupMesh();
    attrs.axes = collective.getGroupAxes();
    attrs.ledger = collective.getLedgerEntry();
    attrs.gatheredDim = collective.getGatheredDim();
    attrs.cutDim = collective.getCutDim();
    Operation *step =
        createStep(builder, op->getLoc(), collective.getRow().kind,
                   types.front(), operands.front(), attrs);
    return SmallVector<Value>(step->getResults());
  }
  MeshOp mesh = getUniqueMesh(op);
  // Nothing is sharded: the parts are those of one rank.
  FactorShardings shardings(cut.rule.factors.size());
  FailureOr<SmallVector<Value>> built = buildLocal(
      op, builder, operands, types,
      LocalContext(mesh.getMesh().toMesh(), FlatSymbolRefAttr::get(mesh),
                   cut.rule, shardings));
  assert(succeeded(built) && "partition has built it already");
  return *built;
}

void PartWriter::writePart(Operation *op, unsigned part) {
  const OpParts &cut = plan.ops.at(op);
  SmallVector<Value> operands;
  for (auto [operand, wanted] : llvm::zip(op->getOperands(), cut.operands))
    operands.push_back(wanted ? getOperand(operand, *wanted, part)
                              : getWhole(operand));
  SmallVector<Type> types;
  for (auto [result, made] : llvm::zip(op->getResults(), cut.results))
    types.push_back(getPartType(result, made, part));
  Operation *before = end->getPrevNode();
  SmallVector<Value> built = buildOp(builder, op, cut, operands, types);
  // Notes of the whole are not true of a part.
  for (Operation *made = before ? before->getNextNode() : &block.front();
       made != end; made = made->getNextNode()) {
    made->removeAttr("tp.rule");
    made->removeAttr(valueIdAttrName);
    made->removeAttr(TPDialect::getShardingsAttrName());
    if (isa<CollectiveOpInterface>(made))
      made->setAttr(partAttrName,
                    builder.getDenseI64ArrayAttr(
                        {part, cut.results.front().getNumParts()}));
  }
  for (auto [result, value] : llvm::zip(op->getResults(), built))
    parts[result].push_back(value);
}

void PartWriter::flush() {
  order.run([&](const RowOrder::Segment &segment, unsigned part) {
    for (Operation *op : segment.ops)
      writePart(op, part);
  });
}

void PartWriter::replaceWithWholes(Operation *op) {
  op->walk([&](Operation *inner) {
    for (OpOperand &operand : inner->getOpOperands())
      if (plan.values.contains(operand.get()))
        operand.set(getWhole(operand.get()));
  });
}

void PartWriter::writeWhole(Operation *op) {
  if (auto loop = dyn_cast<RepeatOp>(op))
    if (RowPlan &body = *plan.loops.at(loop); body.cutsAnything())
      return writeLoop(loop, body);
  replaceWithWholes(op);
  op->moveBefore(end);
}

/// Returns the number of values that stand for a carried argument.
static unsigned getNumParts(const RowPlan &body, Value argument) {
  auto cut = body.values.find(argument);
  return cut == body.values.end() ? 1 : cut->second.getNumParts();
}

void PartWriter::eraseReplaced() {
  for (Operation *op : llvm::reverse(replaced))
    op->erase();
}

void PartWriter::writeLoop(RepeatOp loop, RowPlan &body) {
  // Make whole the values that the body reads from above and does not carry.
  for (Operation &inner : *loop.getBodyBlock())
    replaceWithWholes(&inner);
  SmallVector<Value> inits, stacked;
  for (auto [init, argument] :
       llvm::zip(loop.getInits(), loop.getCarriedArgs()))
    if (auto cut = body.values.find(argument); cut != body.values.end())
      llvm::append_range(inits, getParts(init, cut->second));
    else
      inits.push_back(getWhole(init));
  for (Value value : loop.getStacked())
    stacked.push_back(getWhole(value));
  auto made = RepeatOp::create(builder, loop.getLoc(), loop.getCount(), inits,
                               stacked, loop.getStackedResults().getTypes(),
                               loop.getFirstIndex(), loop.getReverse());
  made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  made->removeAttr(valueIdAttrName);
  made->removeAttr(TPDialect::getShardingsAttrName());
  Block &inside = *made.getBodyBlock();
  Block &old = *loop.getBodyBlock();
  loop.getIndex().replaceAllUsesWith(made.getIndex());
  for (auto [from, to] :
       llvm::zip(loop.getStackedArgs(), made.getStackedArgs()))
    from.replaceAllUsesWith(to);
  SmallVector<Value> arguments(loop.getCarriedArgs());
  Operation *loopYield = loop.getYield();
  inside.getOperations().splice(inside.end(), old.getOperations());
  PartWriter writer(inside, body, model);
  // A carried value in parts is one of each part.
  unsigned next = 0;
  for (Value argument : arguments) {
    unsigned count = getNumParts(body, argument);
    auto values = made.getCarriedArgs().slice(next, count);
    if (body.values.contains(argument))
      writer.setParts(argument, SmallVector<Value>(values));
    else
      argument.replaceAllUsesWith(values.front());
    next += count;
  }
  numCut += writer.run();
  SmallVector<Value> yielded;
  for (auto [i, value] : llvm::enumerate(loopYield->getOperands())) {
    auto cut = i < arguments.size() ? body.values.find(arguments[i])
                                    : body.values.end();
    if (cut != body.values.end())
      llvm::append_range(yielded, writer.getParts(value, cut->second));
    else
      yielded.push_back(writer.getWhole(value));
  }
  loopYield->setOperands(yielded);
  writer.eraseReplaced();
  next = 0;
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    unsigned count = getNumParts(body, argument);
    auto values = made->getResults().slice(next, count);
    if (body.values.contains(argument))
      setParts(loop.getResult(i), values);
    else
      loop.getResult(i).replaceAllUsesWith(values.front());
    next += count;
  }
  for (auto [from, to] :
       llvm::zip(loop.getStackedResults(), made.getStackedResults()))
    from.replaceAllUsesWith(to);
  replaced.push_back(loop);
}

unsigned PartWriter::run() {
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  for (Operation *op : ops) {
    if (plan.ops.contains(op)) {
      order.add(op);
      replaced.push_back(op);
      numCut += isa<CollectiveOpInterface>(op);
      continue;
    }
    if (order.isReadBy(op))
      flush();
    writeWhole(op);
  }
  flush();
  return numCut;
}

unsigned tp::writeParts(Block &block, RowPlan &plan, const CostModel *model) {
  PartWriter writer(block, plan, model);
  unsigned numCut = writer.run();
  writer.replaceWithWholes(block.getTerminator());
  writer.eraseReplaced();
  return numCut;
}
