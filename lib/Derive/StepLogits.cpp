//===- StepLogits.cpp - The tokens that a step gives ----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step needs the logits of each row's last token alone, so that what follows
// the last operation which mixes positions is done for these. Where that begins
// is a cut of the program: the first value through which all ways to the logits
// lead and behind which every operation does to a token what it does to any.
//
//===----------------------------------------------------------------------===//

#include "StepWriter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "tp/Dialect/TP/IR/ModelAttributes.h"

using namespace mlir;

namespace tp {

//===----------------------------------------------------------------------===//
// The cut
//===----------------------------------------------------------------------===//

/// Returns whether `value`, which no token reaches, is the same at all
/// positions.
static bool isSameEverywhere(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (isa<tensor::EmptyOp, tensor::SplatOp, linalg::FillOp>(op))
    return true;
  DenseElementsAttr elements;
  return matchPattern(op, m_Constant(&elements)) && elements.isSplat();
}

/// Returns whether `op` does the same to each token, wherever it stands.
static bool ignoresPositions(Operation *op, const TokenDims &dims) {
  const TokenOp *entry = dims.findOp(op);
  if (!entry || entry->isMixing || isa<RepeatOp>(op) ||
      isa<nn::ExpertsOp, nn::QuantizedExpertsOp>(op))
    return false;
  for (auto [f, parts] : llvm::enumerate(entry->factors))
    if (parts && hasTokens(ArrayRef(*parts)) && readsIndex(op, f))
      return false;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    if (dims.find(operand) || !isa<RankedTensorType>(operand.getType()))
      continue;
    DimParts parts =
        project(entry->rule, entry->rule.operands[i], entry->factors);
    if (hasTokens(parts) && !isSameEverywhere(operand))
      return false;
  }
  return true;
}

/// Returns whether `value` is floats [batch, sequence, ...].
static bool canBeCut(Value value, const TokenDims &dims) {
  const DimParts *parts = dims.find(value);
  auto type = cast<RankedTensorType>(value.getType());
  if (!isa<FloatType>(type.getElementType()) || parts->size() < 3)
    return false;
  auto isRole = [&](unsigned dim, Role role) {
    const Parts &all = (*parts)[dim];
    return all.size() == 1 && all.front().role == role;
  };
  return ((*parts)[0].empty() || isRole(0, Role::Batch)) &&
         isRole(1, Role::Sequence);
}

static Value findCut(Value logits, const TokenDims &dims) {
  Block *block = logits.getDefiningOp()->getBlock();
  llvm::SmallSetVector<Value, 8> frontier;
  frontier.insert(logits);
  Value cut;
  while (true) {
    if (frontier.size() == 1 && canBeCut(frontier.front(), dims))
      cut = frontier.front();
    Operation *last = nullptr;
    for (Value value : frontier) {
      Operation *op = value.getDefiningOp();
      if (!op || op->getBlock() != block)
        return cut;
      if (!last || last->isBeforeInBlock(op))
        last = op;
    }
    if (!ignoresPositions(last, dims))
      return cut;
    for (Value result : last->getResults())
      frontier.remove(result);
    for (Value operand : last->getOperands())
      if (dims.find(operand))
        frontier.insert(operand);
  }
}

/// Returns the result of floats [batch, sequence, vocabulary]; the one named
/// "logits" if there are several.
static FailureOr<Value> findResult(func::FuncOp source, const TokenDims &dims) {
  auto values = source.getBody().front().getTerminator()->getOperands();
  Value found;
  unsigned count = 0;
  for (auto [i, value] : llvm::enumerate(values)) {
    if (!dims.find(value) || !canBeCut(value, dims) ||
        dims.find(value)->size() != 3 || !value.getDefiningOp())
      continue;
    auto name =
        source.getResultAttrOfType<StringAttr>(i, TPDialect::getNameAttrName());
    if (name && name.getValue() == "logits")
      return value;
    found = value;
    ++count;
  }
  if (count == 1)
    return found;
  return mlir::emitError(source.getLoc())
         << "steps of generation cannot be derived: expected one result of "
            "logits, floats [batch, sequence, vocabulary]"
         << (count ? ", or one of them named \"logits\", got " : ", got ")
         << count;
}

FailureOr<LogitsPath> findLogits(func::FuncOp source, const TokenDims &dims) {
  FailureOr<Value> logits = findResult(source, dims);
  if (failed(logits))
    return failure();
  LogitsPath path;
  path.logits = *logits;
  auto range = source.getArgAttrOfType<DenseI64ArrayAttr>(
      dims.getIds().getArgNumber(), rangeAttrName);
  int64_t vocabulary =
      cast<RankedTensorType>(logits->getType()).getShape().back();
  if (range && range.size() == 2 && range[1] > vocabulary)
    return mlir::emitError(source.getLoc())
           << "steps of generation cannot be derived: expected logits of each "
              "of the "
           << range[1] << " ids, got " << vocabulary << " numbers for a token";
  path.cut = findCut(*logits, dims);
  SmallVector<Operation *> work{logits->getDefiningOp()};
  Block *block = &source.getBody().front();
  while (!work.empty()) {
    Operation *op = block->findAncestorOpInBlock(*work.pop_back_val());
    if (!op || !path.needed.insert(op).second)
      continue;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *made = operand.getDefiningOp())
          work.push_back(made);
    });
  }
  return path;
}

//===----------------------------------------------------------------------===//
// Logits and tokens
//===----------------------------------------------------------------------===//

/// Returns the last token of each row, and zeros for a row that has none: it is
/// looked up by number in a table of tokens.
Value StepWriter::takeLast(Location loc, Value x) {
  auto type = RankedTensorType::get({1, numRows}, builder.getI32Type());
  auto part = [&](int64_t from) -> Value {
    Value bounds = tensor::ExtractSliceOp::create(
        builder, loc, starts,
        ArrayRef<OpFoldResult>{builder.getIndexAttr(from)},
        ArrayRef<OpFoldResult>{builder.getIndexAttr(numRows)},
        ArrayRef<OpFoldResult>{builder.getIndexAttr(1)});
    return tensor::ExpandShapeOp::create(
        builder, loc, type, bounds, SmallVector<ReassociationIndices>{{0, 1}});
  };
  auto splat = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(type, builder.getI32IntegerAttr(value)));
  };
  Value first = part(0), end = part(1), none = splat(-1);
  Value isEmpty =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, first, end);
  Value last = arith::AddIOp::create(builder, loc, end, none);
  last = arith::SelectOp::create(builder, loc, isEmpty, none, last);
  auto from = cast<RankedTensorType>(x.getType());
  SmallVector<ReassociationIndices> groups{{0, 1}, {}};
  for (int64_t d = 2; d < from.getRank(); ++d)
    groups.back().push_back(d);
  Value rowsOf = tensor::CollapseShapeOp::create(builder, loc, x, groups);
  int64_t width = cast<RankedTensorType>(rowsOf.getType()).getDimSize(1);
  Value taken = nn::EmbeddingOp::create(
      builder, loc, from.clone({1, numRows, width}), last, rowsOf,
      /*offset=*/Value(), /*padding_row=*/IntegerAttr());
  if (from.getRank() == 3)
    return taken;
  SmallVector<int64_t> shape(from.getShape());
  shape[1] = numRows;
  groups = {{0}, {1}, {}};
  for (int64_t d = 2; d < from.getRank(); ++d)
    groups.back().push_back(d);
  return tensor::ExpandShapeOp::create(builder, loc, from.clone(shape), taken,
                                       groups);
}

/// Chooses the token that follows in each row that is to have one, whose
/// position is not negative, and returns it with the logarithm of its
/// probability.
LogicalResult StepWriter::writeLogits() {
  Location loc = plan.path.logits.getLoc();
  Type f32 = builder.getF32Type(), i32 = builder.getI32Type();
  Value all = values.at(plan.path.logits);
  auto type = cast<RankedTensorType>(all.getType());
  // 16-bit logits tie often: a product's are those of its accumulator.
  auto product = all.getDefiningOp<nn::LinearOp>();
  if (!type.getElementType().isF32() && product)
    product.getResult().setType(type.clone(f32));
  else if (type.getElementTypeBitWidth() < 32)
    all = arith::ExtFOp::create(builder, loc, type.clone(f32), all);
  else if (!type.getElementType().isF32())
    return refuse(plan.path.logits.getDefiningOp())
           << "gives logits of " << type.getElementType()
           << ": expected f32, bf16 or f16";
  Value logits = tensor::CollapseShapeOp::create(
      builder, loc, all, SmallVector<ReassociationIndices>{{0, 1}, {2}});
  Value at = addNumbers("positions", {numRows}, -1, options.context + 1);
  Value seeds = addSetting("seeds", builder.getI64Type());
  Value temperatures = addSetting("temperatures", f32);
  Value topK = addSetting("top_k", i32),
        topP = addSetting("top_p", f32, "ones");
  Value minP = addSetting("min_p", f32);
  auto sample =
      nn::SampleOp::create(builder, loc, RankedTensorType::get({numRows}, i32),
                           RankedTensorType::get({numRows}, f32), logits, at,
                           seeds, temperatures, topK, topP, minP);
  finish({{"logits", logits},
          {"tokens", sample.getToken()},
          {"logprobs", sample.getLogprob()}});
  return success();
}

} // namespace tp
