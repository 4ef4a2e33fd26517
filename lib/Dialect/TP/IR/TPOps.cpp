//===- TPOps.cpp - Operations of the tp dialect -----------------------------
//-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of constraints, parameters and the repeated layer. Collectives are
// in Collectives.cpp.
//
//===----------------------------------------------------------------------===//

#include "tp/Dialect/TP/IR/TPOps.h"
#include "Notes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "tp/Dialect/TP/IR/ParameterNames.h"
#include "tprt/abi.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tp;

#include "tp/Dialect/TP/IR/CollectiveInterface.cpp.inc"

/// `custom<ReductionName>`: sum, max or min as a bare keyword.
static ParseResult parseReductionName(OpAsmParser &parser, StringAttr &name) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  if (!symbolizeReductionKind(keyword))
    return parser.emitError(loc)
           << "expected 'sum', 'max' or 'min', got '" << keyword << "'";
  name = StringAttr::get(parser.getContext(), keyword);
  return success();
}

static void printReductionName(OpAsmPrinter &printer, Operation *,
                               StringAttr name) {
  printer << name.getValue();
}

#define GET_OP_CLASSES
#include "tp/Dialect/TP/IR/TPOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

static LogicalResult verifySharding(Operation *op, ShardingAttr sharding,
                                    RankedTensorType type, StringRef which) {
  MeshOp mesh = lookupMesh(op, sharding.getMesh());
  if (!mesh)
    return op->emitOpError() << "expected " << sharding.getMesh()
                             << " to be a tp.mesh, got no such mesh";
  Mesh resolved = mesh.getMesh().toMesh();
  FailureOr<TensorSharding> value = sharding.toSharding(
      resolved, [&] { return noteMesh(op->emitOpError(), mesh); });
  if (failed(value))
    return failure();
  std::string problem = ::tp::verifySharding(type.getShape(), *value, resolved);
  if (!problem.empty())
    return op->emitOpError() << which << problem;
  return success();
}

LogicalResult ShardingConstraintOp::verify() {
  if (failed(::verifySharding(*this, getSharding(),
                              cast<RankedTensorType>(getType()), "")))
    return failure();
  if (!getSharding().getPartial().empty())
    return emitOpError("expected a constraint without partial axes: what is "
                       "partial follows from the program");
  return success();
}

LogicalResult ReshardOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  if (getFrom().getMesh() != getTo().getMesh())
    return emitOpError() << "expected both shardings on one mesh, got "
                         << getFrom().getMesh() << " and " << getTo().getMesh();
  if (failed(::verifySharding(*this, getFrom(), type, "from: ")))
    return failure();
  return ::verifySharding(*this, getTo(), type, "to: ");
}

//===----------------------------------------------------------------------===//
// Parameter
//===----------------------------------------------------------------------===//

/// The meaning of `{i}` must not depend on which loop the operation is in: CSE
/// would take the outer loop's for the inner one's.
static LogicalResult verifyTemplate(ParameterOp op) {
  if (auto alternatives = op.getAlternativesAttr(); alternatives)
    for (auto name : alternatives.getAsRange<StringAttr>())
      if (name.getValue().contains("{i}") && !op.isTemplate())
        return op.emitOpError()
               << "expected no '{i}' in the alternative '" << name.getValue()
               << "', because '" << op.getName() << "' has none";
  auto inner = op->getParentOfType<RepeatOp>();
  if (!op.isTemplate() || !inner)
    return success();
  for (auto outer = inner->getParentOfType<RepeatOp>(); outer;
       outer = outer->getParentOfType<RepeatOp>())
    for (auto other : outer.getBodyBlock()->getOps<ParameterOp>()) {
      if (other.getNameAttr() != op.getNameAttr())
        continue;
      InFlightDiagnostic diag =
          op.emitOpError()
          << "expected '" << op.getName()
          << "' in one of two nested tp.repeat, because '{i}' is another "
             "iteration in each; to read the outer loop's, use its value";
      diag.attachNote(other.getLoc()) << "the outer loop names it here";
      return diag;
    }
  return success();
}

LogicalResult tp::verifyTensorNames(Operation *op, StringRef name,
                                    ArrayAttr alternatives,
                                    RankedTensorType type) {
  if (alternatives)
    for (auto other : alternatives.getAsRange<StringAttr>())
      if (isStack(other) != isStack(name))
        return op->emitOpError()
               << "expected '{e}' in '" << name << "' and in its alternative '"
               << other.getValue() << "', or in neither";
  if (isStack(name) && type.getRank() == 0)
    return op->emitOpError() << "expected a dimension for '{e}' in '" << name
                             << "' to stand for, got " << type;
  return success();
}

LogicalResult tp::verifySource(Operation *op, ParameterSourceAttr source,
                               RankedTensorType type) {
  if (!source)
    return success();
  size_t rank = type.getRank();
  if (source.getShape().size() != rank || source.getOffsets().size() != rank ||
      source.getPermutation().size() != rank)
    return op->emitOpError()
           << "expected a source of rank " << rank << " for " << type
           << ", got a shape of " << source.getShape().size() << ", offsets of "
           << source.getOffsets().size() << " and a permutation of "
           << source.getPermutation().size();
  ArrayRef<int64_t> steps = source.getSteps();
  if (!steps.empty() &&
      (steps.size() != rank ||
       llvm::any_of(steps, [](int64_t step) { return step < 1; })))
    return op->emitOpError()
           << "expected the source to have " << rank
           << " steps of at least 1, or none, got [" << steps << "]";
  SmallVector<int64_t> box(rank, -1);
  for (auto [dim, from] : llvm::enumerate(source.getPermutation())) {
    if (from < 0 || from >= static_cast<int64_t>(rank) || box[from] != -1)
      return op->emitOpError()
             << "expected the source's permutation to be one of "
                "0.."
             << rank - 1;
    box[from] = type.getDimSize(dim);
  }
  for (size_t dim = 0; dim < rank; ++dim) {
    int64_t offset = source.getOffsets()[dim], size = source.getShape()[dim];
    // Elements from the first of the box to its last.
    int64_t span = box[dim];
    bool fits = offset >= 0 && size >= 1 && span <= size;
    if (fits && span > 0 && source.getStep(dim) > 1) {
      fits = source.getStep(dim) <= size;
      span = fits ? (span - 1) * source.getStep(dim) + 1 : size;
    }
    if (!fits || offset > size - span)
      return op->emitOpError()
             << "expected the box [" << offset << ", " << offset + span
             << ") to lie in dimension " << dim
             << " of the source, which has size " << size;
  }
  return success();
}

LogicalResult ParameterOp::verify() {
  if (getName().empty())
    return emitOpError("expected the parameter's name in the checkpoint");
  if (isTemplate() && !(*this)->getParentOfType<RepeatOp>())
    return emitOpError() << "expected '" << getName()
                         << "' inside tp.repeat, because '{i}' stands for "
                            "its iteration index";
  auto type = cast<RankedTensorType>(getType());
  if (failed(verifyTemplate(*this)) ||
      failed(verifyTensorNames(*this, getName(), getAlternativesAttr(), type)))
    return failure();
  // The box is the whole's.
  type = getUnpackedType(*this);
  if (failed(verifyStorage(*this, getStorageAttr(), type)))
    return failure();
  return verifySource(*this, getSourceAttr(), type);
}

//===----------------------------------------------------------------------===//
// Repeat
//===----------------------------------------------------------------------===//

void RepeatOp::build(OpBuilder &builder, OperationState &state, int64_t count,
                     ValueRange inits, ValueRange stacked,
                     TypeRange stackedResults, int64_t first, bool reverse) {
  state.addOperands(inits);
  state.addOperands(stacked);
  auto &properties = state.getOrAddProperties<Properties>();
  properties.setCount(builder.getI64IntegerAttr(count));
  if (reverse)
    properties.setReverse(builder.getUnitAttr());
  if (first != 0)
    properties.setFirst(builder.getI64IntegerAttr(first));
  llvm::copy(ArrayRef<int32_t>{static_cast<int32_t>(inits.size()),
                               static_cast<int32_t>(stacked.size())},
             properties.operandSegmentSizes.begin());
  state.addTypes(inits.getTypes());
  state.addTypes(stackedResults);
  Region *region = state.addRegion();
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(region);
  block->addArgument(builder.getIndexType(), state.location);
  for (Value init : inits)
    block->addArgument(init.getType(), init.getLoc());
  for (Value value : stacked) {
    auto type = cast<RankedTensorType>(value.getType());
    block->addArgument(type.clone(type.getShape().drop_front()),
                       value.getLoc());
  }
}

/// Numbers of iterations name parameters and collectives, and each has a slot.
static constexpr int64_t maxIterations = 1048576;

LogicalResult RepeatOp::verify() {
  int64_t count = getCount();
  if (count < 0)
    return emitOpError() << "expected a count of 0 or more, got " << count;
  if (getFirstIndex() < 0)
    return emitOpError() << "expected a first index of 0 or more, got "
                         << getFirstIndex();
  if (getFirstIndex() > maxIterations)
    return emitOpError() << "expected a first index of at most "
                         << maxIterations << ", got " << getFirstIndex();
  int64_t runs = 1;
  for (RepeatOp loop = *this; loop; loop = loop->getParentOfType<RepeatOp>()) {
    int64_t times = std::max<int64_t>(1, loop.getCount());
    if (times > maxIterations / runs)
      return emitOpError() << "expected at most " << maxIterations
                           << " iterations, those of the loops around it "
                              "multiplied";
    runs *= times;
  }
  bool isStacked = !getStacked().empty() || getNumResults() > getInits().size();
  if (count == 0 && isStacked)
    return emitOpError("expected a count of 1 or more where values are "
                       "stacked, because a stack of no layers has no "
                       "elements, got 0");
  if (getNumResults() < getInits().size())
    return emitOpError() << "expected a result for each of the "
                         << getInits().size() << " carried values, got "
                         << getNumResults() << " results";
  for (auto [init, result] : llvm::zip(getInits(), getCarriedResults())) {
    if (!isa<RankedTensorType>(init.getType()))
      return emitOpError() << "expected a carried value to be a ranked tensor, "
                              "got "
                           << init.getType();
    if (init.getType() != result.getType())
      return noteMade(emitOpError()
                          << "expected a carried value to keep its type "
                          << init.getType() << ", got " << result.getType(),
                      "the initial value", init);
  }
  auto checkStacked = [&](Type type) -> LogicalResult {
    auto shaped = dyn_cast<RankedTensorType>(type);
    if (!shaped || shaped.getRank() < 1 || shaped.getDimSize(0) != count)
      return emitOpError() << "expected a stacked value to have " << count
                           << " slices in its first dimension, got " << type;
    return success();
  };
  for (Value value : getStacked())
    if (failed(checkStacked(value.getType())))
      return failure();
  for (Value value : getStackedResults())
    if (failed(checkStacked(value.getType())))
      return failure();
  return success();
}

LogicalResult RepeatOp::verifyRegions() {
  Block *block = getBodyBlock();
  unsigned expected = 1 + getInits().size() + getStacked().size();
  if (block->getNumArguments() != expected)
    return emitOpError() << "expected " << expected
                         << " block arguments (index, carried, slices), got "
                         << block->getNumArguments();
  if (!block->getArgument(0).getType().isIndex())
    return emitOpError() << "expected the first block argument to be the "
                            "index, got "
                         << block->getArgument(0).getType();
  auto slice = [](Type type) -> Type {
    auto shaped = cast<RankedTensorType>(type);
    return shaped.clone(shaped.getShape().drop_front());
  };
  for (auto [arg, init] : llvm::zip(getCarriedArgs(), getInits()))
    if (arg.getType() != init.getType())
      return noteMade(emitOpError()
                          << "expected block argument " << arg.getArgNumber()
                          << " to have type " << init.getType() << ", got "
                          << arg.getType(),
                      "the initial value", init);
  for (auto [arg, value] : llvm::zip(getStackedArgs(), getStacked()))
    if (arg.getType() != slice(value.getType()))
      return noteMade(emitOpError()
                          << "expected block argument " << arg.getArgNumber()
                          << " to have type " << slice(value.getType())
                          << ", got " << arg.getType(),
                      "the stacked value", value);
  YieldOp yield = getYield();
  auto noteRepeat = [&](InFlightDiagnostic diag) -> LogicalResult {
    diag.attachNote(getLoc()) << "the results are those of this tp.repeat";
    return diag;
  };
  if (yield.getNumOperands() != getNumResults())
    return noteRepeat(yield.emitOpError()
                      << "expected " << getNumResults()
                      << " operands, one per result of tp.repeat, got "
                      << yield.getNumOperands());
  for (auto [index, value] : llvm::enumerate(yield.getOperands())) {
    Type type = getResult(index).getType();
    Type want = index < getInits().size() ? type : slice(type);
    if (value.getType() != want)
      return noteRepeat(yield.emitOpError()
                        << "expected operand " << index << " to have type "
                        << want << ", got " << value.getType());
  }
  return success();
}

YieldOp RepeatOp::getYield() {
  return cast<YieldOp>(getBodyBlock()->getTerminator());
}

//===----------------------------------------------------------------------===//
// Await
//===----------------------------------------------------------------------===//

LogicalResult AwaitOp::verify() {
  Operation *collective = getStarted().getDefiningOp();
  if (!isa_and_nonnull<CollectiveOpInterface>(collective))
    return emitOpError("expected the result of a collective");
  if (collective->getBlock() != (*this)->getBlock()) {
    InFlightDiagnostic diag =
        emitOpError("expected the collective in the same block");
    diag.attachNote(collective->getLoc()) << "the collective is started here";
    return diag;
  }
  for (Operation *user : getStarted().getUsers())
    if (user != getOperation()) {
      InFlightDiagnostic diag =
          isa<AwaitOp>(user)
              ? emitOpError("expected a collective to be awaited once")
              : emitOpError("expected to be the only use of the collective");
      diag.attachNote(user->getLoc()) << "another use is here";
      return diag;
    }
  return success();
}

AwaitOp tp::getAwait(Operation *collective) {
  if (!isa<CollectiveOpInterface>(collective))
    return nullptr;
  for (Operation *user : collective->getUsers())
    if (auto await = dyn_cast<AwaitOp>(user))
      return await;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Calls of several collectives
//===----------------------------------------------------------------------===//

/// The collective at `op` if it has the ledger id of `other`.
static CollectiveOpInterface getOfCall(Operation *op,
                                       CollectiveOpInterface other) {
  auto collective = dyn_cast_if_present<CollectiveOpInterface>(op);
  LedgerAttr mine = collective ? collective.getLedgerEntry() : LedgerAttr();
  LedgerAttr theirs = other.getLedgerEntry();
  return mine && theirs && mine.getId() == theirs.getId()
             ? collective
             : CollectiveOpInterface();
}

bool tp::beginsCall(CollectiveOpInterface op) {
  return !getOfCall(op->getPrevNode(), op);
}

SmallVector<CollectiveOpInterface> tp::getCall(CollectiveOpInterface op) {
  while (auto before = getOfCall(op->getPrevNode(), op))
    op = before;
  SmallVector<CollectiveOpInterface> call;
  for (; op; op = getOfCall(op->getNextNode(), op))
    call.push_back(op);
  return call;
}

LedgerAttr tp::getCallEntry(ArrayRef<CollectiveOpInterface> call) {
  llvm::SetVector<StringRef> causes, annotations;
  for (CollectiveOpInterface op : call) {
    causes.insert(op.getLedgerEntry().getCause().getValue());
    annotations.insert(op.getLedgerEntry().getAnnotation().getValue());
  }
  LedgerAttr first = CollectiveOpInterface(call.front()).getLedgerEntry();
  auto join = [&](const llvm::SetVector<StringRef> &texts) {
    return StringAttr::get(first.getContext(), llvm::join(texts, "; and "));
  };
  return LedgerAttr::get(first.getContext(), first.getId(), join(causes),
                         join(annotations), first.getPass());
}

bool tp::areOfOneKind(CollectiveOpInterface a, CollectiveOpInterface b) {
  return isa<AllReduceOp>(a) && isa<AllReduceOp>(b) &&
         a.getReductionName() == b.getReductionName() &&
         a.getGroupMesh() == b.getGroupMesh() &&
         a.getGroupAxes() == b.getGroupAxes() &&
         getElementTypeOrSelf(a->getOperand(0)) ==
             getElementTypeOrSelf(b->getOperand(0));
}

//===----------------------------------------------------------------------===//
// Join
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> getJoinOffsets(ValueRange inputs) {
  SmallVector<int64_t> offsets{0};
  for (Value input : inputs) {
    auto type = cast<RankedTensorType>(input.getType());
    int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
    offsets.push_back(
        offsets.back() +
        llvm::alignTo(type.getNumElements(), TPRT_STATE_ALIGNMENT / bytes));
  }
  // Nothing lies behind the last one.
  if (!inputs.empty())
    offsets.back() =
        offsets[inputs.size() - 1] +
        cast<RankedTensorType>(inputs.back().getType()).getNumElements();
  return offsets;
}

SmallVector<int64_t> JoinOp::getOffsets() {
  return getJoinOffsets(getInputs());
}

void JoinOp::build(OpBuilder &builder, OperationState &state, ValueRange inputs,
                   bool inPlace) {
  state.addOperands(inputs);
  if (inPlace)
    state.addAttribute("in_place", builder.getUnitAttr());
  state.addTypes(RankedTensorType::get({getJoinOffsets(inputs).back()},
                                       getElementTypeOrSelf(inputs.front())));
}

LogicalResult JoinOp::verify() {
  if (getInputs().empty())
    return emitOpError("expected a tensor to join, got none");
  Type element = getElementTypeOrSelf(getInputs().front());
  for (Value input : getInputs())
    if (getElementTypeOrSelf(input) != element)
      return emitOpError() << "expected tensors of " << element << ", got "
                           << input.getType();
  auto want = RankedTensorType::get({getOffsets().back()}, element);
  if (getType() != want)
    return emitOpError() << "expected a result of type " << want << ", got "
                         << getType();
  return success();
}
