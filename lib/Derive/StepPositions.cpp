//===- StepPositions.cpp - What depends on positions, in a step -----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A forward program knows its positions: they are 0 to S - 1, and what depends
// on them alone may be a constant, a part of a parameter, a table of rotations
// or a computation on linalg.index. A step has other positions, one for each
// token, and a bias of attention has those of all keys. Such values are written
// again from where they come from, by the dimensions that they are needed in.
//
//===----------------------------------------------------------------------===//

#include "StepWriter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tp/Dialect/TP/IR/ModelAttributes.h"
#include "tp/Rules/Rules.h"

using namespace mlir;

namespace tp {

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// Returns `value` with the same elements in another shape.
static Value reshape(OpBuilder &builder, Location loc, Value value,
                     ArrayRef<int64_t> shape) {
  auto from = cast<RankedTensorType>(value.getType());
  RankedTensorType to = from.clone(shape);
  if (from == to)
    return value;
  auto groups = getReassociationIndicesForReshape(from, to);
  if (groups && from.getRank() > to.getRank())
    return tensor::CollapseShapeOp::create(builder, loc, to, value, *groups);
  if (groups)
    return tensor::ExpandShapeOp::create(builder, loc, to, value, *groups);
  RankedTensorType flat = from.clone({from.getNumElements()});
  auto all = [](int64_t rank) {
    SmallVector<ReassociationIndices> group(1);
    llvm::append_range(group.front(), llvm::seq<int64_t>(0, rank));
    return group;
  };
  value = tensor::CollapseShapeOp::create(builder, loc, flat, value,
                                          all(from.getRank()));
  return tensor::ExpandShapeOp::create(builder, loc, to, value,
                                       all(to.getRank()));
}

void StepWriter::noteLimit(Operation *op, int64_t size) {
  if (positionLimit != 0 && positionLimit <= size)
    return;
  positionLimit = size;
  limitingOp = op;
}

//===----------------------------------------------------------------------===//
// As it is
//===----------------------------------------------------------------------===//

FailureOr<Value> StepWriter::copy(Value value) {
  auto known = values.find(value);
  if (known != values.end())
    return known->second;
  Operation *op = value.getDefiningOp();
  if (!op)
    return refuse(source, cast<BlockArgument>(value));
  OpBuilder::InsertionGuard guard(builder);
  if (Operation *loop = loops.lookup(op->getBlock()))
    builder.setInsertionPoint(loop);
  llvm::SetVector<Value> used;
  used.insert(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), used);
  IRMapping mapping;
  for (Value operand : used) {
    FailureOr<Value> copied = copy(operand);
    if (failed(copied))
      return failure();
    mapping.map(operand, *copied);
  }
  Operation *clone = builder.clone(*op, mapping);
  for (auto [before, now] : llvm::zip(op->getResults(), clone->getResults()))
    values[before] = now;
  return values.at(value);
}

//===----------------------------------------------------------------------===//
// At the tokens' positions
//===----------------------------------------------------------------------===//

void StepWriter::readPositions(Operation *op, const FactorParts &factors,
                               SmallVectorImpl<Value> &results) {
  for (auto [f, parts] : llvm::enumerate(factors)) {
    if (!parts || !hasRole(*parts, Role::Sequence) || !readsIndex(op, f))
      continue;
    auto old = cast<linalg::GenericOp>(results.front().getDefiningOp());
    SmallVector<Value> inputs(old.getInputs());
    SmallVector<AffineMap> maps = old.getIndexingMapsArray();
    unsigned place = inputs.size();
    inputs.push_back(positions);
    maps.insert(maps.begin() + place,
                AffineMap::get(old.getNumLoops(), 0,
                               builder.getAffineDimExpr(unsigned(f))));
    auto now = linalg::GenericOp::create(
        builder, old.getLoc(), old.getResultTypes(), inputs, old.getOutputs(),
        maps, old.getIteratorTypesArray());
    now.getRegion().takeBody(old.getRegion());
    Value position = now.getRegion().insertArgument(place, builder.getI32Type(),
                                                    old.getLoc());
    SmallVector<linalg::IndexOp> reads;
    now.getBlock()->walk([&](linalg::IndexOp index) {
      if (index.getDim() == f)
        reads.push_back(index);
    });
    OpBuilder::InsertionGuard guard(builder);
    for (linalg::IndexOp index : reads) {
      builder.setInsertionPoint(index);
      index.replaceAllUsesWith(
          arith::IndexCastOp::create(builder, index.getLoc(),
                                     builder.getIndexType(), position)
              .getResult());
      index.erase();
    }
    results.assign(now->result_begin(), now->result_end());
    old.erase();
  }
}

FailureOr<Value> StepWriter::gatherRows(Operation *op, Value rowsOf,
                                        unsigned dim, int64_t first,
                                        int64_t size) {
  Location loc = op->getLoc();
  auto type = cast<RankedTensorType>(rowsOf.getType());
  if (!isa<FloatType>(type.getElementType()))
    return refuse(op) << "is a table of " << type.getElementType()
                      << " by positions, of which floats alone are looked up";
  noteLimit(op, size);
  // Rows come first.
  SmallVector<int64_t> order{dim};
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (d != dim)
      order.push_back(d);
  SmallVector<int64_t> shape;
  for (int64_t d : order)
    shape.push_back(type.getDimSize(d));
  if (dim != 0) {
    Value empty =
        tensor::EmptyOp::create(builder, loc, shape, type.getElementType());
    rowsOf = linalg::TransposeOp::create(builder, loc, rowsOf, empty, order)
                 ->getResult(0);
  }
  int64_t width = type.getNumElements() / shape.front();
  rowsOf = reshape(builder, loc, rowsOf, {shape.front(), width});
  Value numbers = positions;
  if (first != 0) {
    auto offset =
        DenseElementsAttr::get(cast<RankedTensorType>(numbers.getType()),
                               builder.getI32IntegerAttr(int32_t(first)));
    numbers = arith::AddIOp::create(
        builder, loc, numbers, arith::ConstantOp::create(builder, loc, offset));
  }
  Value result = nn::EmbeddingOp::create(
      builder, loc, type.clone({tokens, width}), numbers, rowsOf,
      /*offset=*/Value(), /*padding_row=*/IntegerAttr());
  shape.front() = tokens;
  result = reshape(builder, loc, result, shape);
  if (dim == 0)
    return result;
  SmallVector<int64_t> back(order.size()), original(order.size());
  for (auto [from, to] : llvm::enumerate(order)) {
    back[to] = from;
    original[to] = shape[from];
  }
  Value empty =
      tensor::EmptyOp::create(builder, loc, original, type.getElementType());
  return linalg::TransposeOp::create(builder, loc, result, empty, back)
      ->getResult(0);
}

void StepWriter::noteLookup(nn::EmbeddingOp op) {
  DenseElementsAttr numbers = plan.realTokens.fold(op.getIds());
  if (!numbers)
    return;
  SmallVector<int64_t> rows;
  for (const APInt &number : numbers.getValues<APInt>())
    rows.push_back(number.getSExtValue());
  if (llvm::all_equal(rows))
    return;
  int64_t length = shapeOf(op.getIds()).back();
  bool counts = true;
  for (auto [i, row] : llvm::enumerate(rows))
    counts &= row == rows.front() + int64_t(i) % length;
  int64_t most = shapeOf(op.getTable()).front() - rows.front();
  Operation *table = op.getTable().getDefiningOp<ParameterOp>();
  noteLimit(counts && table ? table : op, counts ? most : length);
}

Value &StepWriter::getPlaced(Value value, const DimParts &dims) {
  std::string text = std::to_string(count);
  for (const Parts &parts : dims) {
    text += ';';
    for (Part part : parts)
      text += std::to_string(int(part.role)) + ':' + std::to_string(part.size) +
              ',';
  }
  return placed[std::pair(value, builder.getStringAttr(text))];
}

FailureOr<Value> StepWriter::place(Value value, const DimParts &dims) {
  if (Value known = getPlaced(value, dims))
    return known;
  Operation *op = value.getDefiningOp();
  if (plan.realTokens.isMask(value)) {
    RankedTensorType type = getType(value, dims);
    return arith::ConstantOp::create(
               builder, value.getLoc(),
               DenseElementsAttr::get(
                   type, IntegerAttr::get(type.getElementType(), 1)))
        .getResult();
  }
  if (!op)
    return copy(value);
  OpBuilder::InsertionGuard guard(builder);
  if (Operation *loop = loops.lookup(op->getBlock()))
    builder.setInsertionPoint(loop);
  auto remember = [&](FailureOr<Value> made) {
    if (succeeded(made))
      getPlaced(value, dims) = *made;
    return made;
  };
  DenseElementsAttr elements;
  if (matchPattern(op, m_Constant(&elements)) ||
      (elements = plan.realTokens.fold(value)))
    return remember(placeConstant(op, elements, dims));
  if (auto parameter = dyn_cast<ParameterOp>(op))
    return remember(placeParameter(parameter, dims));
  if (auto rotation = dyn_cast<nn::RotaryTableOp>(op);
      rotation && !rotation.getPositions()) {
    if (failed(placeRotaryTable(rotation, dims)))
      return failure();
    return getPlaced(value, dims);
  }
  FailureOr<ShardingRule> rule = getShardingRule(op);
  if (failed(rule))
    return failure();
  unsigned number = cast<OpResult>(value).getResultNumber();
  FactorParts factors(rule->factors.size());
  if (!distribute(*rule, rule->results[number], dims, factors))
    return refuse(op) << "regroups positions";
  for (auto [f, parts] : llvm::enumerate(factors)) {
    if (!parts || !hasTokens(ArrayRef(*parts)))
      continue;
    if (rule->factors[f].kind == FactorKind::Whole &&
        isa<tensor::ExtractSliceOp>(op))
      return remember(placeSlice(op, dims));
    bool isStructured = isa<linalg::LinalgOp>(op);
    if (rule->factors[f].kind != FactorKind::Parallel ||
        (rule->factors[f].readsIndex && !isStructured))
      return refuse(op) << "combines positions";
    bool isOne = parts->size() == 1;
    Role role = parts->front().role;
    if (readsIndex(op, f) &&
        !(isOne && (role == Role::Sequence || role == Role::Key)))
      return refuse(op) << (hasRole(*parts, Role::Query)
                                ? "makes the bias of a key depend on the query"
                                : "reads the number of a text in the batch");
  }
  if (auto lookup = dyn_cast<nn::EmbeddingOp>(op))
    noteLookup(lookup);
  SmallVector<Value> operands;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    FailureOr<Value> made =
        isa<RankedTensorType>(operand.getType())
            ? get(operand, project(*rule, rule->operands[i], factors))
            : copy(operand);
    if (failed(made))
      return failure();
    operands.push_back(*made);
  }
  FailureOr<SmallVector<Value>> results = rebuild(op, *rule, factors, operands);
  if (failed(results))
    return failure();
  for (auto [result, tensor, made] :
       llvm::zip_equal(op->getResults(), rule->results, *results))
    getPlaced(result, project(*rule, tensor, factors)) = made;
  return (*results)[number];
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

LogicalResult StepWriter::placeRotaryTable(nn::RotaryTableOp op,
                                           const DimParts &dims) {
  if (op.getOffset() || dims[0].size() != 1 ||
      dims[0].front().role != Role::Sequence || hasTokens(ArrayRef(dims[1])))
    return refuse(op) << "has other positions than the sequence's";
  RankedTensorType type = getType(op.getCos(), dims);
  auto now = nn::RotaryTableOp::create(
      builder, op.getLoc(), type, type, /*offset=*/Value(), positions,
      op.getInvFreqAttr(), op.getAttentionScalingAttr());
  getPlaced(op.getCos(), dims) = now.getCos();
  getPlaced(op.getSin(), dims) = now.getSin();
  return success();
}

/// Returns the dimension that is the sequence and nothing else, if no other one
/// has tokens.
static std::optional<unsigned> findSequence(const DimParts &dims) {
  std::optional<unsigned> found;
  for (auto [dim, parts] : llvm::enumerate(dims)) {
    if (!hasTokens(ArrayRef(parts)))
      continue;
    if (found || parts.size() != 1 || parts.front().role != Role::Sequence)
      return std::nullopt;
    found = dim;
  }
  return found;
}

FailureOr<Value> StepWriter::placeParameter(ParameterOp op,
                                            const DimParts &dims) {
  std::optional<unsigned> dim = findSequence(dims);
  if (!dim)
    return refuse(op) << "is a parameter of each text or key";
  FailureOr<Value> whole = copy(op.getResult());
  if (failed(whole))
    return failure();
  int64_t size = shapeOf(*whole)[*dim];
  if (ParameterSourceAttr box = op.getSourceAttr()) {
    int64_t in = box.getPermutation()[*dim];
    int64_t all = box.getShape()[in] - box.getOffsets()[in];
    if (box.getStep(in) == 1 && all > size) {
      size = all;
      parts.insert({op, *dim});
    }
  }
  return gatherRows(op, *whole, *dim, 0, size);
}

/// Looks positions up in the table that `operation` takes some rows of.
FailureOr<Value> StepWriter::placeSlice(Operation *operation,
                                        const DimParts &dims) {
  auto op = cast<tensor::ExtractSliceOp>(operation);
  std::optional<unsigned> dim = findSequence(dims);
  if (!dim || op.getDroppedDims().any() || op.isDynamicOffset(*dim) ||
      op.getStaticStride(*dim) != 1 || plan.dims.find(op.getSource()))
    return refuse(op) << "takes some positions in a way that has no form for "
                         "tokens";
  FailureOr<Value> source = copy(op.getSource());
  if (failed(source))
    return failure();
  int64_t first = op.getStaticOffset(*dim);
  int64_t size = shapeOf(*source)[*dim] - first;
  SmallVector<OpFoldResult> offsets = op.getMixedOffsets(),
                            sizes = op.getMixedSizes();
  bool isCut = false;
  for (auto [d, extent] : llvm::enumerate(op.getStaticSizes()))
    isCut |= d != *dim && extent != shapeOf(*source)[d];
  Value rowsOf = *source;
  if (isCut) {
    offsets[*dim] = builder.getIndexAttr(0);
    sizes[*dim] = builder.getIndexAttr(shapeOf(*source)[*dim]);
    rowsOf = tensor::ExtractSliceOp::create(
        builder, op.getLoc(), rowsOf, offsets, sizes, op.getMixedStrides());
  }
  return gatherRows(op, rowsOf, *dim, first, size);
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

namespace {
/// A SeenConstant has the elements of a constant by the parts of its
/// dimensions, less those of which nothing depends.
struct SeenConstant {
  SmallVector<Part> parts;
  SmallVector<Attribute> elements;
};
} // namespace

static int64_t getProduct(ArrayRef<Part> parts) {
  int64_t product = 1;
  for (Part part : parts)
    product *= part.size;
  return product;
}

/// Returns whether elements are the same along part `p`.
static bool isSameAlong(const SeenConstant &seen, unsigned p) {
  int64_t inner = getProduct(ArrayRef(seen.parts).drop_front(p + 1));
  int64_t size = seen.parts[p].size;
  for (auto [i, element] : llvm::enumerate(seen.elements))
    if (element != seen.elements[i - i / inner % size * inner])
      return false;
  return true;
}

/// Leaves the first position of part `p` alone.
static void dropPart(SeenConstant &seen, unsigned p) {
  int64_t inner = getProduct(ArrayRef(seen.parts).drop_front(p + 1));
  int64_t size = seen.parts[p].size;
  SmallVector<Attribute> kept;
  for (auto [i, element] : llvm::enumerate(seen.elements))
    if (i / inner % size == 0)
      kept.push_back(element);
  seen.elements = std::move(kept);
  seen.parts.erase(seen.parts.begin() + p);
}

/// Returns first + step * position in the element's type, rounded as the
/// compiler's scalar operations round.
static Attribute getTerm(Attribute first, Attribute step, int64_t position) {
  if (auto number = dyn_cast<IntegerAttr>(step)) {
    int64_t start = cast<IntegerAttr>(first).getInt();
    return IntegerAttr::get(number.getType(),
                            start + number.getInt() * position);
  }
  auto number = cast<FloatAttr>(step);
  float product = float(number.getValueAsDouble()) * float(position);
  APFloat value(product);
  bool loses;
  value.convert(cast<FloatType>(number.getType()).getFloatSemantics(),
                APFloat::rmNearestTiesToEven, &loses);
  return FloatAttr::get(number.getType(), value);
}

/// Returns the numbers first and step of each series along part `p`; nothing if
/// the elements are not those. Floats begin at zero.
static std::optional<std::pair<SmallVector<Attribute>, SmallVector<Attribute>>>
findSeries(const SeenConstant &seen, unsigned p) {
  int64_t inner = getProduct(ArrayRef(seen.parts).drop_front(p + 1));
  int64_t size = seen.parts[p].size;
  SmallVector<Attribute> firsts, steps;
  if (auto number = dyn_cast<IntegerAttr>(seen.elements.front());
      number && number.getType().isInteger(1))
    return std::nullopt;
  for (auto [i, element] : llvm::enumerate(seen.elements)) {
    int64_t position = i / inner % size, start = i - position * inner;
    Attribute first = seen.elements[start],
              second = seen.elements[start + inner];
    Attribute step = second;
    if (auto number = dyn_cast<IntegerAttr>(second))
      step =
          IntegerAttr::get(number.getType(),
                           number.getInt() - cast<IntegerAttr>(first).getInt());
    else if (!cast<FloatAttr>(first).getValue().isPosZero() ||
             cast<FloatAttr>(first).getType().isF64())
      return std::nullopt;
    if (element != getTerm(first, step, position))
      return std::nullopt;
    if (position == 0) {
      firsts.push_back(first);
      steps.push_back(step);
    }
  }
  return std::pair(std::move(firsts), std::move(steps));
}

/// Replaces numbers step * (key - query), as far as the query sees keys, by
/// step * key: what is left out is the same for all keys, and changes no
/// weight. Returns false if they are no such numbers. `q` and `k` are the parts
/// of query and key.
static bool leaveQueryOut(SeenConstant &seen, unsigned q, unsigned k) {
  auto number = dyn_cast<FloatAttr>(seen.elements.front());
  if (!number || number.getType().isF64() ||
      seen.parts[q].size != seen.parts[k].size)
    return false;
  auto stride = [&](unsigned p) {
    return getProduct(ArrayRef(seen.parts).drop_front(p + 1));
  };
  int64_t size = seen.parts[q].size, ofQuery = stride(q), ofKey = stride(k);
  SmallVector<Attribute> changed(seen.elements);
  Attribute zero = FloatAttr::get(number.getType(), 0.0);
  for (size_t i = 0; i < seen.elements.size(); ++i) {
    int64_t query = i / ofQuery % size, key = i / ofKey % size;
    int64_t start = i - query * ofQuery - key * ofKey;
    auto before = cast<FloatAttr>(seen.elements[start + ofQuery]);
    Attribute step = FloatAttr::get(number.getType(), -before.getValue());
    // A zero may have either sign.
    auto is = cast<FloatAttr>(seen.elements[i]).getValueAsDouble();
    auto expected = cast<FloatAttr>(getTerm(zero, step, key - query));
    if (key <= query && is != expected.getValueAsDouble())
      return false;
    changed[i] = getTerm(zero, step, key);
  }
  seen.elements = std::move(changed);
  return true;
}

/// Replaces numbers first + step * key by step * key, if that is what they are
/// but for rounding: what is left out is the same for all keys. `k` is the part
/// of the key.
static void leaveFirstOut(SeenConstant &seen, unsigned k) {
  auto number = dyn_cast<FloatAttr>(seen.elements.front());
  if (!number || number.getType().isF64())
    return;
  int64_t inner = getProduct(ArrayRef(seen.parts).drop_front(k + 1));
  int64_t size = seen.parts[k].size;
  auto at = [&](int64_t i) {
    return cast<FloatAttr>(seen.elements[i]).getValueAsDouble();
  };
  const auto &semantics = cast<FloatType>(number.getType()).getFloatSemantics();
  double precision =
      std::ldexp(1.0, 1 - int(APFloat::semanticsPrecision(semantics)));
  Attribute zero = FloatAttr::get(number.getType(), 0.0);
  SmallVector<Attribute> changed(seen.elements);
  for (size_t i = 0; i < seen.elements.size(); ++i) {
    int64_t key = i / inner % size, start = i - key * inner,
            end = start + (size - 1) * inner;
    // Over all keys the step is rounded least.
    double step = (at(end) - at(start)) / double(size - 1);
    double largest = std::max(std::abs(at(start)), std::abs(at(end)));
    if (std::abs(at(i) - at(start) - step * double(key)) >
        2 * precision * largest)
      return;
    changed[i] = getTerm(zero, FloatAttr::get(number.getType(), step), key);
  }
  seen.elements = std::move(changed);
}

/// Emits first + step * position at an element of `type`.
static Value emitTerm(OpBuilder &b, Location loc, Type type, Value first,
                      Value step, Value position) {
  if (isa<IntegerType>(type)) {
    position = arith::IndexCastOp::create(b, loc, type, position);
    return arith::AddIOp::create(b, loc, first,
                                 arith::MulIOp::create(b, loc, step, position));
  }
  Type f32 = b.getF32Type();
  position = arith::IndexCastOp::create(b, loc, b.getI32Type(), position);
  position = arith::SIToFPOp::create(b, loc, f32, position);
  if (type != f32)
    step = arith::ExtFOp::create(b, loc, f32, step);
  Value term = arith::MulFOp::create(b, loc, step, position);
  return type == f32 ? term : arith::TruncFOp::create(b, loc, type, term);
}

FailureOr<Value> StepWriter::placeConstant(Operation *op,
                                           DenseElementsAttr elements,
                                           const DimParts &dims) {
  Location loc = op->getLoc();
  RankedTensorType type = getType(op->getResult(0), dims);
  if (elements.isSplat())
    return arith::ConstantOp::create(
               builder, loc,
               DenseElementsAttr::get(type,
                                      elements.getSplatValue<Attribute>()))
        .getResult();
  SeenConstant seen;
  for (const Parts &parts : dims)
    llvm::append_range(seen.parts, parts);
  llvm::append_range(seen.elements, elements.getValues<Attribute>());
  auto findRole = [&](Role role) {
    const Part *found =
        llvm::find_if(seen.parts, [&](Part part) { return part.role == role; });
    return found == seen.parts.end()
               ? std::optional<unsigned>()
               : std::optional<unsigned>(found - seen.parts.begin());
  };
  auto query = findRole(Role::Query), key = findRole(Role::Key);
  if (query && key && ignoresShifts && !isSameAlong(seen, *query))
    leaveQueryOut(seen, *query, *key);
  // Along the sequence or the keys elements may be the same, too.
  SmallVector<std::pair<unsigned, Part>> same;
  std::optional<unsigned> along;
  for (unsigned p = 0, place = 0; p < seen.parts.size(); ++place) {
    Part part = seen.parts[p];
    bool isPlaced = part.role == Role::Sequence || part.role == Role::Key;
    if (part.role == Role::Other) {
      ++p;
      continue;
    }
    if (isSameAlong(seen, p)) {
      dropPart(seen, p);
      if (isPlaced)
        same.push_back({place, part});
      else
        --place;
      continue;
    }
    if (!isPlaced)
      return refuse(op) << (part.role == Role::Query
                                ? "makes the bias of a key depend on the query"
                                : "is another for each text of the batch");
    assert(!along && "a tensor has the sequence, or the keys, once");
    along = p++;
  }
  if (along && ignoresShifts && seen.parts[*along].role == Role::Key)
    leaveFirstOut(seen, *along);
  Type element = type.getElementType();
  auto constant = [&](ArrayRef<Attribute> numbers,
                      ArrayRef<int64_t> shape) -> Value {
    return arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(RankedTensorType::get(shape, element), numbers));
  };
  // The numbers of each part that is left, as many as there are here.
  SmallVector<int64_t> shape;
  for (Part part : seen.parts)
    shape.push_back(getSize(part));
  Value result;
  if (!along) {
    result = constant(seen.elements, shape);
  } else if (auto series = findSeries(seen, *along)) {
    SmallVector<int64_t> others(shape);
    others.erase(others.begin() + *along);
    unsigned rank = shape.size();
    SmallVector<AffineExpr> left;
    for (unsigned d = 0; d < rank; ++d)
      if (d != *along)
        left.push_back(builder.getAffineDimExpr(d));
    AffineMap each = AffineMap::get(rank, 0, left, builder.getContext());
    bool isOfTokens = seen.parts[*along].role == Role::Sequence;
    // Floats begin at zero.
    bool hasFirst = isa<IntegerType>(element);
    SmallVector<Value> inputs{constant(series->second, others)};
    if (hasFirst)
      inputs.push_back(constant(series->first, others));
    SmallVector<AffineMap> maps(inputs.size(), each);
    if (isOfTokens) {
      inputs.push_back(positions);
      maps.push_back(AffineMap::get(rank, 0, builder.getAffineDimExpr(*along)));
    }
    maps.push_back(builder.getMultiDimIdentityMap(rank));
    Value empty = tensor::EmptyOp::create(builder, loc, shape, element);
    SmallVector<utils::IteratorType> loopsOf(rank,
                                             utils::IteratorType::parallel);
    result = linalg::GenericOp::create(
                 builder, loc, empty.getType(), inputs, empty, maps, loopsOf,
                 [&](OpBuilder &b, Location l, ValueRange args) {
                   Value position =
                       isOfTokens
                           ? arith::IndexCastOp::create(b, l, b.getIndexType(),
                                                        args[inputs.size() - 1])
                                 .getResult()
                           : linalg::IndexOp::create(b, l, *along).getResult();
                   linalg::YieldOp::create(
                       b, l,
                       emitTerm(b, l, element, hasFirst ? args[1] : Value(),
                                args[0], position));
                 })
                 .getResult(0);
  } else if (seen.parts[*along].role == Role::Sequence) {
    SmallVector<int64_t> sizes;
    for (Part part : seen.parts)
      sizes.push_back(part.size);
    FailureOr<Value> gathered = gatherRows(op, constant(seen.elements, sizes),
                                           *along, 0, seen.parts[*along].size);
    if (failed(gathered))
      return failure();
    result = *gathered;
  } else {
    return refuse(op) << "is a bias of keys by a table, which has no form in "
                         "which texts go on beyond it: expected a multiple of "
                         "the position, as ALiBi has";
  }
  for (auto [place, part] : same) {
    shape.insert(shape.begin() + place, getSize(part));
    Value empty = tensor::EmptyOp::create(builder, loc, shape, element);
    result = linalg::BroadcastOp::create(builder, loc, result, empty,
                                         ArrayRef<int64_t>{int64_t(place)})
                 ->getResult(0);
  }
  return reshape(builder, loc, result, type.getShape());
}

} // namespace tp
