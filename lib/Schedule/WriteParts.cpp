//===- WriteParts.cpp - The parts of a row plan as operations -------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations in parts form segments, which end at collectives: a task is one
// part of a segment. Tasks are put in order as if they ran, with a processor
// and a link that take equally long for all of the block: the next task is one
// whose operands are there, of those the furthest, so that the link is busy
// early.
//
// Example, a product, its all-reduce and what follows, in two parts:
//
//   product 0, start 0, product 1, start 1, await 0, follow 0, await 1, ...
//
//===----------------------------------------------------------------------===//

#include "RowPlan.h"

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

/// Operations in parts of which each part is written without a break.
struct Segment {
  SmallVector<Operation *> ops;
  /// Products, and what needs their results.
  llvm::SmallPtrSet<Operation *, 8> afterProduct;
  unsigned parts = 0;
  double work = 0, bytes = 0; ///< of one part
  llvm::SmallBitVector done;
  /// When the results of each part are there.
  SmallVector<double> ready;
};

class PartWriter {
public:
  PartWriter(Block &block, RowPlan &plan)
      : block(block), plan(plan), end(block.getTerminator()), builder(end) {}

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
  Operation *end;
  OpBuilder builder;
  DenseMap<Value, SmallVector<Value>> parts;
  DenseMap<Value, Value> wholes;
  /// Parts taken from a whole, by value, dimension, blocks, begin and end.
  std::map<std::tuple<void *, unsigned, int64_t, int64_t, int64_t>, Value>
      taken;
  SmallVector<Segment> segments;
  DenseMap<Operation *, unsigned> segmentOf;
  SmallVector<Operation *> replaced;
  double now = 0, linkFree = 0, rate = 1;
  unsigned numCut = 0;

  void addToSegment(Operation *op);
  bool startsSegment(Operation *op, const Segment &last);
  bool needsRun(Operation *op);
  void flush();
  /// When the operands of a part are there; nothing if some is not made yet.
  std::optional<double> getStart(const Segment &segment, unsigned part);
  void write(Segment &segment, unsigned part);
  void writePart(Operation *op, unsigned part);
  void writeWhole(Operation *op);
  void writeLoop(RepeatOp loop, RowPlan &body);
  Value getOperand(Value value, const OperandPart &operand, unsigned part);
};

} // namespace

/// Arithmetic of a product, by its rule.
static double getProductWork(Operation *op, const OpParts &parts) {
  auto library = dyn_cast<LibraryOpInterface>(op);
  double work = library ? library.getFlopsPerPoint() : 0;
  if (work > 0)
    for (auto [f, factor] : llvm::enumerate(parts.rule.factors))
      if (isIterated(parts.rule, f))
        work *= factor.size;
  return work;
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

bool PartWriter::startsSegment(Operation *op, const Segment &last) {
  if (isa<CollectiveOpInterface>(last.ops.back()))
    return true;
  const OpParts &cut = plan.ops.at(op);
  if (cut.results.front().getNumParts() != last.parts)
    return true;
  unsigned number = segments.size() - 1;
  for (auto [operand, part] : llvm::zip(op->getOperands(), cut.operands)) {
    Operation *producer = operand.getDefiningOp();
    auto found = segmentOf.find(producer);
    if (!producer || found == segmentOf.end() || found->second != number)
      continue;
    // All parts must be there, or a product that others could stand before.
    if (!part || !plan.has(operand, *part) ||
        (isProduct(op) && last.afterProduct.contains(producer)))
      return true;
  }
  return false;
}

void PartWriter::addToSegment(Operation *op) {
  const OpParts &cut = plan.ops.at(op);
  if (segments.empty() || startsSegment(op, segments.back())) {
    segments.emplace_back();
    segments.back().parts = cut.results.front().getNumParts();
    segments.back().done.resize(segments.back().parts);
    segments.back().ready.resize(segments.back().parts);
  }
  Segment &segment = segments.back();
  bool isAfter = isProduct(op) || llvm::any_of(op->getOperands(), [&](Value v) {
                   return segment.afterProduct.contains(v.getDefiningOp());
                 });
  if (isAfter)
    segment.afterProduct.insert(op);
  segment.ops.push_back(op);
  segmentOf[op] = segments.size() - 1;
  segment.work += getProductWork(op, cut) / segment.parts;
  if (auto collective = dyn_cast<CollectiveOpInterface>(op))
    segment.bytes += double(getCallBytes(collective)) / segment.parts;
}

/// Whether `op`, or what is in it, reads a value of the segments at hand.
bool PartWriter::needsRun(Operation *op) {
  WalkResult walk = op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (Operation *producer = operand.getDefiningOp();
          producer && segmentOf.contains(producer))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return walk.wasInterrupted();
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

std::optional<double> PartWriter::getStart(const Segment &segment,
                                           unsigned part) {
  double start = now;
  for (Operation *op : segment.ops)
    for (auto [operand, wanted] :
         llvm::zip(op->getOperands(), plan.ops.at(op).operands)) {
      auto found = segmentOf.find(operand.getDefiningOp());
      if (found == segmentOf.end() || &segments[found->second] == &segment)
        continue;
      const Segment &producer = segments[found->second];
      bool isOne = wanted && plan.has(operand, *wanted);
      for (unsigned i = 0; i < producer.parts; ++i) {
        if (isOne && i != part)
          continue;
        if (!producer.done.test(i))
          return std::nullopt;
        start = std::max(start, producer.ready[i]);
      }
    }
  return start;
}

/// Writes the parts of all segments at hand.
void PartWriter::flush() {
  size_t left = 0;
  for (Segment &segment : segments)
    left += segment.parts;
  for (; left > 0; --left) {
    Segment *best = nullptr;
    unsigned bestPart = 0;
    double bestStart = 0;
    for (Segment &segment : llvm::reverse(segments)) {
      int part = segment.done.find_first_unset();
      if (part < 0)
        continue;
      std::optional<double> start = getStart(segment, part);
      if (start && (!best || *start < bestStart)) {
        best = &segment;
        bestPart = part;
        bestStart = *start;
      }
    }
    assert(best && "the first part that is left needs only what was before");
    now = bestStart + best->work;
    best->ready[bestPart] = now;
    if (best->bytes > 0)
      best->ready[bestPart] = linkFree =
          std::max(now, linkFree) + best->bytes * rate;
    write(*best, bestPart);
    best->done.set(bestPart);
  }
  segments.clear();
  segmentOf.clear();
}

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

void PartWriter::write(Segment &segment, unsigned part) {
  for (Operation *op : segment.ops)
    writePart(op, part);
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
  PartWriter writer(inside, body);
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

/// Work and bytes of all that is cut: what makes the two equally long.
static double getRate(const RowPlan &plan) {
  double work = 0, bytes = 0;
  for (const auto &[op, cut] : plan.ops) {
    work += getProductWork(op, cut);
    if (auto collective = dyn_cast<CollectiveOpInterface>(op))
      bytes += getCallBytes(collective);
  }
  return bytes > 0 ? work / bytes : 1;
}

unsigned PartWriter::run() {
  rate = getRate(plan);
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  for (Operation *op : ops) {
    if (plan.ops.contains(op)) {
      addToSegment(op);
      replaced.push_back(op);
      numCut += isa<CollectiveOpInterface>(op);
      continue;
    }
    if (needsRun(op))
      flush();
    writeWhole(op);
  }
  flush();
  return numCut;
}

unsigned tp::writeParts(Block &block, RowPlan &plan) {
  PartWriter writer(block, plan);
  unsigned numCut = writer.run();
  writer.replaceWithWholes(block.getTerminator());
  writer.eraseReplaced();
  return numCut;
}
