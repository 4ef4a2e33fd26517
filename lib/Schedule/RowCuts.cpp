//===- RowCuts.cpp - Tensors and operations in parts of rows --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See RowCuts.h.
//
//===----------------------------------------------------------------------===//

#include "RowCuts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Matchers.h"
#include "tp/Interfaces/LibraryInterface.h"
#include "tp/Rules/Rules.h"
#include "tp/Schedule/Views.h"
#include "tp/Support/Bytes.h"
#include "tprt/abi.h"

using namespace mlir;
using namespace tp;

Cut tp::getEvenCut(unsigned dim, int64_t size, unsigned parts) {
  Cut cut{dim};
  for (unsigned part = 0; part <= parts; ++part)
    cut.bounds.push_back((part * size + parts - 1) / parts);
  return cut;
}

RankedTensorType tp::getPartType(Value value, const Cut &cut, unsigned part) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[cut.dim] = cut.getSize(part);
  return type.clone(shape);
}

bool tp::isProduct(Operation *op) {
  auto library = dyn_cast<LibraryOpInterface>(op);
  return library && library.getFlopsPerPoint() > 0;
}

//===----------------------------------------------------------------------===//
// Between tensors and factors
//===----------------------------------------------------------------------===//

/// `cut` in units of `size` positions; nothing if it cuts one apart.
static std::optional<Cut> divide(Cut cut, int64_t size) {
  for (int64_t &bound : cut.bounds) {
    if (bound % size != 0)
      return std::nullopt;
    bound /= size;
  }
  return cut;
}

/// The first factor of a dimension that has more than one position, and the
/// size of what is minor to it.
static std::optional<std::pair<unsigned, int64_t>>
getMajor(const ShardingRule &rule, ArrayRef<unsigned> dim) {
  std::optional<unsigned> major;
  int64_t minor = 1;
  for (unsigned f : dim) {
    // The last block of such a product may be short.
    if (rule.factors[f].total != 0)
      return std::nullopt;
    if (major)
      minor *= rule.factors[f].size;
    else if (rule.factors[f].size > 1)
      major = f;
  }
  if (!major)
    return std::nullopt;
  return std::pair(*major, minor);
}

/// The cut of a factor (as `dim`) that a cut of the tensor's dimension is.
static std::optional<Cut> toFactor(const ShardingRule &rule,
                                   const TensorFactors &tensor,
                                   const Cut &cut) {
  auto major = getMajor(rule, tensor.dims[cut.dim]);
  if (!major)
    return std::nullopt;
  std::optional<Cut> result = divide(cut, major->second);
  if (result)
    result->dim = major->first;
  return result;
}

namespace {
enum class Carries { No, Yes, Otherwise };
} // namespace

/// Returns whether a tensor carries a factor: as the major one of a dimension,
/// which `dim` becomes, or in a way that no cut of the tensor follows from.
static Carries findFactor(const ShardingRule &rule, const TensorFactors &tensor,
                          unsigned factor, unsigned &dim, int64_t &minor) {
  Carries result = Carries::No;
  for (auto [number, factors] : llvm::enumerate(tensor.dims)) {
    if (!llvm::is_contained(factors, factor))
      continue;
    auto major = getMajor(rule, factors);
    if (result != Carries::No || !major || major->first != factor)
      return Carries::Otherwise;
    result = Carries::Yes;
    dim = number;
    minor = major->second;
  }
  return result;
}

static Cut multiply(Cut cut, unsigned dim, int64_t size) {
  cut.dim = dim;
  for (int64_t &bound : cut.bounds)
    bound *= size;
  return cut;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// The cut of a collective's result that follows from its operand's, or the
/// other way round.
static std::optional<Cut> followCollective(CollectiveOpInterface op, Cut cut,
                                           bool fromOperand) {
  const CollectiveRow &row = op.getRow();
  bool isSum = row.reduces() && !row.cuts();
  bool isGather = row.gathers() && !row.cuts() && !row.reduces();
  bool isScatter = row.reduces() && row.cuts() && !row.gathers();
  if (row.permutes() || !(isSum || isGather || isScatter))
    return std::nullopt;
  int64_t along = isGather    ? op.getGatheredDim()
                  : isScatter ? op.getCutDim()
                              : -1;
  if (int64_t(cut.dim) != along)
    return cut;
  // Parts of a rank's positions are parts of a block of all ranks' positions.
  int64_t
      before =
          cast<RankedTensorType>(op->getOperand(0).getType()).getDimSize(along),
      after =
          cast<RankedTensorType>(op->getResult(0).getType()).getDimSize(along);
  int64_t most = std::max(before, after), least = std::min(before, after);
  if (most % least != 0 || (isGather ? after : before) != most)
    return std::nullopt;
  MeshOp mesh = lookupMesh(op, op.getGroupMesh());
  FailureOr<AxisList> axes =
      resolveAxes(op.getGroupAxes(), mesh.getMesh().toMesh(),
                  [&] { return op->emitOpError(); });
  if (failed(axes) || getShardCount(*axes) * least != most)
    return std::nullopt;
  int64_t ranks = most / least;
  if (fromOperand == isGather)
    cut.blocks *= ranks;
  else if (cut.blocks % ranks == 0)
    cut.blocks /= ranks;
  else
    return std::nullopt;
  return cut;
}

static std::optional<OpParts> getCollectiveParts(CollectiveOpInterface op,
                                                 Value value, const Cut &cut) {
  bool fromOperand = value == op->getOperand(0);
  std::optional<Cut> other = followCollective(op, cut, fromOperand);
  if (!other)
    return std::nullopt;
  OpParts parts;
  parts.operands.emplace_back(OperandPart{fromOperand ? cut : *other});
  parts.results.push_back(fromOperand ? *other : cut);
  return parts;
}

/// Returns the form in which parts of the factor are computed; nothing if it
/// may not be cut.
static std::optional<PartForm> getForm(Operation *op, const ShardingRule &rule,
                                       const Cut &cut) {
  const Factor &factor = rule.factors[cut.dim];
  if (factor.readsIndex || !divide(cut, factor.grain))
    return std::nullopt;
  if (factor.kind == FactorKind::Parallel && !isReduced(rule, cut.dim))
    return PartForm();
  auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
  std::optional<PartForm> form =
      ruled ? ruled.getPartForm(cut.dim) : std::nullopt;
  // All positions before one must be in one piece.
  if (form && form->prefix && cut.blocks != 1)
    return std::nullopt;
  return form;
}

/// The part of an operand; fails if it has no part of this cut.
static FailureOr<std::optional<OperandPart>>
getOperandPart(const ShardingRule &rule, const TensorFactors &tensor,
               const Cut &cut, std::optional<unsigned> prefix) {
  unsigned dim = 0;
  int64_t minor = 1;
  std::optional<OperandPart> part;
  Carries carries = findFactor(rule, tensor, cut.dim, dim, minor);
  if (carries == Carries::Otherwise)
    return failure();
  if (carries == Carries::Yes)
    part = OperandPart{multiply(cut, dim, minor)};
  if (!prefix)
    return part;
  carries = findFactor(rule, tensor, *prefix, dim, minor);
  if (carries == Carries::No)
    return part;
  // A tensor with both (a bias of each query and key) is cut in two ways.
  if (carries == Carries::Otherwise || part)
    return failure();
  Cut seen = cut;
  int64_t longer = rule.factors[*prefix].size - rule.factors[cut.dim].size;
  for (int64_t &bound : llvm::drop_begin(seen.bounds))
    bound += longer;
  return std::optional(OperandPart{multiply(seen, dim, minor), true});
}

std::optional<OpParts> tp::getOpParts(Operation *op, Value value,
                                      const Cut &cut) {
  if (auto collective = dyn_cast<CollectiveOpInterface>(op))
    return getCollectiveParts(collective, value, cut);
  if (op->getNumResults() == 0 ||
      isa<RepeatOp, JoinOp, ReshardStepOpInterface>(op))
    return std::nullopt;
  OpParts parts;
  {
    // An operation without a rule is computed whole.
    ScopedDiagnosticHandler quiet(op->getContext(),
                                  [](Diagnostic &) { return success(); });
    FailureOr<ShardingRule> rule = getShardingRule(op);
    if (failed(rule))
      return std::nullopt;
    parts.rule = std::move(*rule);
  }
  const ShardingRule &rule = parts.rule;
  bool isOperand = llvm::is_contained(op->getOperands(), value);
  const TensorFactors &tensor =
      isOperand ? rule.operands[llvm::find(op->getOperands(), value) -
                                op->operand_begin()]
                : rule.results[cast<OpResult>(value).getResultNumber()];
  std::optional<Cut> factor = toFactor(rule, tensor, cut);
  if (!factor)
    return std::nullopt;
  std::optional<PartForm> form = getForm(op, rule, *factor);
  if (!form)
    return std::nullopt;
  parts.factor = factor->dim;
  for (const TensorFactors &operand : rule.operands) {
    FailureOr<std::optional<OperandPart>> part =
        getOperandPart(rule, operand, *factor, form->prefix);
    if (failed(part))
      return std::nullopt;
    parts.operands.push_back(*part);
  }
  for (const TensorFactors &result : rule.results) {
    FailureOr<std::optional<OperandPart>> part =
        getOperandPart(rule, result, *factor, std::nullopt);
    if (failed(part) || !*part)
      return std::nullopt;
    parts.results.push_back((*part)->cut);
  }
  return parts;
}

//===----------------------------------------------------------------------===//
// Parts and wholes
//===----------------------------------------------------------------------===//

/// Dimension `dim` as the blocks of a cut and what is in each.
static std::pair<RankedTensorType, SmallVector<ReassociationIndices>>
getBlockType(RankedTensorType type, unsigned dim, int64_t blocks) {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] /= blocks;
  shape.insert(shape.begin() + dim, blocks);
  SmallVector<ReassociationIndices> groups;
  for (int64_t i = 0; i < type.getRank(); ++i) {
    int64_t at = i > dim ? i + 1 : i;
    groups.push_back(i == dim ? ReassociationIndices{at, at + 1}
                              : ReassociationIndices{at});
  }
  return {type.clone(shape), groups};
}

static Value buildSlice(OpBuilder &builder, Value whole, unsigned dim,
                        int64_t begin, int64_t end) {
  auto type = cast<RankedTensorType>(whole.getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0)),
      sizes, strides(type.getRank(), builder.getIndexAttr(1));
  for (int64_t size : type.getShape())
    sizes.push_back(builder.getIndexAttr(size));
  if (begin == 0 && end == type.getDimSize(dim))
    return whole;
  offsets[dim] = builder.getIndexAttr(begin);
  sizes[dim] = builder.getIndexAttr(end - begin);
  return tensor::ExtractSliceOp::create(builder, whole.getLoc(), whole, offsets,
                                        sizes, strides);
}

Value tp::buildPart(OpBuilder &builder, Value whole, const OperandPart &operand,
                    unsigned part) {
  const Cut &cut = operand.cut;
  int64_t begin = operand.isPrefix ? 0 : cut.bounds[part],
          end = cut.bounds[part + 1];
  auto type = cast<RankedTensorType>(whole.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[cut.dim] = cut.blocks * (end - begin);
  SplatElementsAttr splat;
  if (matchPattern(whole, m_Constant(&splat)))
    return arith::ConstantOp::create(builder, whole.getLoc(),
                                     splat.resizeSplat(type.clone(shape)));
  if (whole.getDefiningOp<tensor::EmptyOp>())
    return tensor::EmptyOp::create(builder, whole.getLoc(), shape,
                                   type.getElementType());
  if (cut.blocks == 1)
    return buildSlice(builder, whole, cut.dim, begin, end);
  auto [wide, groups] = getBlockType(type, cut.dim, cut.blocks);
  Value blocks = tensor::ExpandShapeOp::create(builder, whole.getLoc(), wide,
                                               whole, groups);
  Value slice = buildSlice(builder, blocks, cut.dim + 1, begin, end);
  return tensor::CollapseShapeOp::create(builder, whole.getLoc(),
                                         type.clone(shape), slice, groups);
}

/// True if the parts lie one behind the other in the whole, each where a joined
/// tensor begins.
static bool isJoin(ValueRange parts, const Cut &cut) {
  auto type = cast<RankedTensorType>(parts.front().getType());
  bool isOuter = llvm::all_of(type.getShape().take_front(cut.dim),
                              [](int64_t size) { return size == 1; });
  return cut.blocks == 1 && isOuter &&
         llvm::all_of(parts.drop_back(), [](Value part) {
           return getTensorBytes(cast<RankedTensorType>(part.getType())) %
                      TPRT_STATE_ALIGNMENT ==
                  0;
         });
}

Value tp::buildWhole(OpBuilder &builder, RankedTensorType type,
                     ValueRange parts, const Cut &cut) {
  Location loc = parts.front().getLoc();
  if (isJoin(parts, cut)) {
    Value joined = JoinOp::create(builder, loc, parts, /*inPlace=*/false);
    if (type.getRank() == 1)
      return joined;
    ReassociationIndices all;
    llvm::append_range(all, llvm::seq<int64_t>(0, type.getRank()));
    return tensor::ExpandShapeOp::create(builder, loc, type, joined,
                                         ArrayRef{all});
  }
  if (cut.blocks == 1)
    return tensor::ConcatOp::create(builder, loc, type, cut.dim, parts);
  SmallVector<Value> blocks;
  for (Value part : parts) {
    auto [wide, groups] = getBlockType(cast<RankedTensorType>(part.getType()),
                                       cut.dim, cut.blocks);
    blocks.push_back(
        tensor::ExpandShapeOp::create(builder, loc, wide, part, groups));
  }
  auto [wide, groups] = getBlockType(type, cut.dim, cut.blocks);
  Value joined =
      tensor::ConcatOp::create(builder, loc, wide, cut.dim + 1, blocks);
  return tensor::CollapseShapeOp::create(builder, loc, type, joined, groups);
}
