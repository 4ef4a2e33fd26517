//===- TokenDims.cpp - Dimensions that tokens are in ----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See TokenDims.h. An operation whose rule has the sequence as a parallel
// factor, in all results, does to each token what it does to any, and can be
// done to a few of them. What sums over the sequence, or has it whole, mixes
// positions: attention, short convolutions and linear attention have a form
// with a cache, and everything else is refused.
//
//===----------------------------------------------------------------------===//

#include "TokenDims.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/TP/IR/ModelAttributes.h"
#include "tp/Rules/Rules.h"

using namespace mlir;

namespace tp {

InFlightDiagnostic refuse(Operation *op) {
  return op->emitError() << "steps of generation cannot be derived: '"
                         << op->getName() << "' ";
}

bool readsIndex(Operation *op, unsigned loop) {
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  if (!structured)
    return false;
  return structured.getBlock()
      ->walk([&](linalg::IndexOp index) {
        return index.getDim() == loop ? WalkResult::interrupt()
                                      : WalkResult::advance();
      })
      .wasInterrupted();
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

void append(Parts &parts, Part part) {
  if (part.size == 1)
    return;
  if (part.role == Role::Other && !parts.empty() &&
      parts.back().role == Role::Other)
    parts.back().size *= part.size;
  else
    parts.push_back(part);
}

bool hasRole(ArrayRef<Part> parts, Role role) {
  return llvm::any_of(parts, [&](Part part) { return part.role == role; });
}

bool hasTokens(ArrayRef<Part> parts) {
  return llvm::any_of(parts,
                      [](Part part) { return part.role != Role::Other; });
}

bool hasTokens(const DimParts &dims) {
  return llvm::any_of(dims,
                      [](const Parts &parts) { return hasTokens(parts); });
}

DimParts getPlain(ArrayRef<int64_t> shape) {
  DimParts dims(shape.size());
  for (auto [parts, size] : llvm::zip_equal(dims, shape))
    append(parts, {Role::Other, size});
  return dims;
}

DimParts project(const ShardingRule &rule, const TensorFactors &tensor,
                 const FactorParts &factors) {
  DimParts dims(tensor.dims.size());
  for (auto [parts, dim] : llvm::zip_equal(dims, tensor.dims)) {
    // The last blocks of a product may be short of it.
    if (dim.size() > 1 && rule.factors[dim.back()].total) {
      append(parts, {Role::Other, getDimSize(rule, dim)});
      continue;
    }
    for (unsigned f : dim) {
      if (!factors[f]) {
        append(parts, {Role::Other, rule.factors[f].size});
        continue;
      }
      for (Part part : *factors[f])
        append(parts, part);
    }
  }
  return dims;
}

/// Takes parts of product `size` from the front of `parts`; returns nothing if
/// they do not end there.
static std::optional<Parts> takeParts(Parts &parts, int64_t size) {
  Parts taken;
  while (size > 1) {
    if (parts.empty())
      return std::nullopt;
    Part &part = parts.front();
    if (size % part.size == 0) {
      size /= part.size;
      append(taken, part);
      parts.erase(parts.begin());
      continue;
    }
    if (part.role != Role::Other || part.size % size != 0)
      return std::nullopt;
    append(taken, {Role::Other, size});
    part.size /= size;
    size = 1;
  }
  return taken;
}

bool distribute(const ShardingRule &rule, const TensorFactors &tensor,
                const DimParts &dims, FactorParts &factors) {
  for (auto [dim, all] : llvm::zip_equal(tensor.dims, dims)) {
    bool isPlain = !hasTokens(ArrayRef(all));
    Parts left = all;
    for (unsigned f : dim) {
      std::optional<Parts> parts;
      if (isPlain) {
        parts.emplace();
        append(*parts, {Role::Other, rule.factors[f].size});
      } else {
        parts = takeParts(left, rule.factors[f].size);
      }
      if (!parts || (factors[f] && *factors[f] != *parts))
        return false;
      factors[f] = std::move(parts);
    }
    if (!isPlain && !left.empty())
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// Returns whether dimension `dim` of a tensor is the sequence and nothing
/// else.
static bool isSequence(const DimParts &dims, unsigned dim) {
  return dims[dim].size() == 1 && dims[dim].front().role == Role::Sequence;
}

/// Returns whether a value is x[batch, sequence, ...], the rest of which has no
/// tokens.
static bool isOfTokens(const DimParts *dims) {
  if (!dims || dims->size() < 2 || !isSequence(*dims, 1) ||
      hasRole((*dims)[0], Role::Sequence) || hasRole((*dims)[0], Role::Other))
    return false;
  return llvm::none_of(ArrayRef(*dims).drop_front(2), [](const Parts &parts) {
    return hasTokens(ArrayRef(parts));
  });
}

LogicalResult TokenDims::visitMixing(Operation *op, TokenOp &entry) {
  entry.isMixing = true;
  unsigned numTensors = 1;
  if (auto attention = dyn_cast<nn::AttentionOp>(op)) {
    numTensors = 3;
    if (!attention.getCausal())
      return refuse(op) << "lets tokens see later ones (it is not causal)";
    if (attention.getLse())
      return refuse(op) << "has a second result, which its form with a cache "
                           "has not";
    if (attention.getMask() && find(attention.getMask()))
      return refuse(op) << "has a mask that depends on tokens";
    if (attention.getBias() && find(attention.getBias()))
      return refuse(op) << "has a bias that depends on tokens";
  } else if (isa<nn::GatedDeltaRuleOp>(op)) {
    numTensors = op->getNumOperands();
  } else if (cast<nn::CausalConvOp>(op).getReversed()) {
    return refuse(op) << "reads later positions";
  }
  for (unsigned i = 0; i < numTensors; ++i)
    if (!isOfTokens(find(op->getOperand(i))))
      return refuse(op) << "attends to something else than the tokens (operand "
                        << i << ")";
  auto shape = cast<RankedTensorType>(op->getResult(0).getType()).getShape();
  DimParts result = getPlain(shape);
  result[0] = (*find(op->getOperand(0)))[0];
  result[1] = (*find(op->getOperand(0)))[1];
  dims[op->getResult(0)] = std::move(result);
  return success();
}

/// Names the operand and the dimension that have factor `f`, for a message.
static std::string describeFactor(const ShardingRule &rule, unsigned f) {
  for (auto [i, operand] : llvm::enumerate(rule.operands))
    for (auto [d, dim] : llvm::enumerate(operand.dims))
      if (llvm::is_contained(dim, f))
        return "dimension " + std::to_string(d) + " of operand " +
               std::to_string(i);
  return "a dimension";
}

LogicalResult TokenDims::visit(Operation *op) {
  if (auto repeat = dyn_cast<RepeatOp>(op))
    return visitRepeat(repeat);
  if (op->hasTrait<OpTrait::IsTerminator>())
    return success();
  auto isOfTokens = [&](Value value) { return find(value) != nullptr; };
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  if (llvm::none_of(captured, isOfTokens) &&
      llvm::none_of(op->getOperands(), isOfTokens))
    return success();
  FailureOr<ShardingRule> rule = getShardingRule(op);
  if (failed(rule))
    return failure();
  TokenOp &entry = ops[op] = {*rule, FactorParts(rule->factors.size())};
  if (isa<nn::AttentionOp, nn::CausalConvOp, nn::GatedDeltaRuleOp>(op))
    return visitMixing(op, entry);
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    const DimParts *given = find(operand);
    if (given && !distribute(*rule, rule->operands[i], *given, entry.factors))
      return refuse(op) << "regroups the positions of a sequence (operand " << i
                        << ")";
  }
  for (auto [f, parts] : llvm::enumerate(entry.factors)) {
    if (!parts || !hasTokens(ArrayRef(*parts)))
      continue;
    const Factor &factor = rule->factors[f];
    bool isKept = llvm::all_of(rule->results, [&](const TensorFactors &result) {
      return llvm::any_of(result.dims, [&](ArrayRef<unsigned> dim) {
        return llvm::is_contained(dim, f);
      });
    });
    if (factor.kind != FactorKind::Parallel || !isKept)
      return refuse(op) << "combines the "
                        << (hasRole(*parts, Role::Sequence)
                                ? "positions of a "
                                  "sequence"
                                : "texts of a batch")
                        << " (" << describeFactor(*rule, f)
                        << "), which steps compute some at a time";
    bool isPosition =
        parts->size() == 1 && parts->front().role == Role::Sequence;
    if (factor.readsIndex && !isa<linalg::LinalgOp>(op))
      return refuse(op) << "depends on where each element stands in all of its "
                           "operand";
    if (readsIndex(op, f) && !isPosition)
      return refuse(op) << "reads the number of a text in the batch, or that "
                           "of a token in all texts";
  }
  for (auto [result, tensor] : llvm::zip_equal(op->getResults(), rule->results))
    dims[result] = project(*rule, tensor, entry.factors);
  return success();
}

LogicalResult TokenDims::visitRepeat(RepeatOp repeat) {
  for (Value stacked : repeat.getStacked())
    if (find(stacked))
      return refuse(repeat) << "is given a stack of values of tokens";
  for (auto [init, argument] :
       llvm::zip_equal(repeat.getInits(), repeat.getCarriedArgs()))
    if (const DimParts *given = find(init))
      dims[argument] = DimParts(*given);
  for (bool hasChanged = true; hasChanged;) {
    hasChanged = false;
    if (failed(visit(*repeat.getBodyBlock())))
      return failure();
    for (auto [argument, next] :
         llvm::zip(repeat.getCarriedArgs(), repeat.getYield().getOperands())) {
      const DimParts *given = find(argument), *made = find(next);
      if (!made)
        continue;
      if (!given) {
        dims[argument] = DimParts(*made);
        hasChanged = true;
      } else if (*given != *made) {
        return refuse(repeat) << "carries a value whose dimensions change from "
                                 "one iteration to the next";
      }
    }
  }
  for (Value made : repeat.getYield().getOperands().drop_front(
           repeat.getCarriedArgs().size()))
    if (find(made))
      return refuse(repeat) << "stacks values of tokens";
  for (auto [argument, result] :
       llvm::zip_equal(repeat.getCarriedArgs(), repeat.getCarriedResults()))
    if (const DimParts *given = find(argument))
      dims[result] = DimParts(*given);
  return success();
}

LogicalResult TokenDims::visit(Block &block) {
  for (Operation &op : block)
    if (failed(visit(&op)))
      return failure();
  return success();
}

InFlightDiagnostic refuse(func::FuncOp source, BlockArgument argument) {
  auto text = source.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                  TPDialect::getNameAttrName());
  return mlir::emitError(source.getLoc())
         << "steps of generation cannot be derived: expected ids alone, and "
            "a mask that attention reads, got argument "
         << argument.getArgNumber()
         << (text ? " (\"" + text.getValue() + "\")" : Twine(""))
         << ": make the program without it, if it can do without";
}

BlockArgument findIds(func::FuncOp source) {
  BlockArgument ids;
  for (BlockArgument argument : source.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    StringRef name;
    if (auto attr = source.getArgAttrOfType<StringAttr>(
            argument.getArgNumber(), TPDialect::getNameAttrName()))
      name = attr.getValue();
    bool hasDefault =
        source.getArgAttr(argument.getArgNumber(), defaultAttrName) != nullptr;
    if (!type || type.getRank() != 2 ||
        !type.getElementType().isSignlessInteger() ||
        type.getElementType().isInteger(1) || hasDefault ||
        name == "attention_mask")
      continue;
    if (name == "input_ids" || name == "ids")
      return argument;
    if (ids)
      return {};
    ids = argument;
  }
  return ids;
}

FailureOr<TokenDims> TokenDims::analyse(func::FuncOp source) {
  TokenDims analysis;
  if (source.isExternal())
    return mlir::emitError(source.getLoc())
           << "steps of generation cannot be derived from a "
              "function without a body";
  analysis.ids = findIds(source);
  if (!analysis.ids)
    return mlir::emitError(source.getLoc())
           << "steps of generation cannot be derived: expected one argument of "
              "token ids, integers [batch, sequence], such as \"input_ids\"";
  auto shape = cast<RankedTensorType>(analysis.ids.getType()).getShape();
  auto module = source->getParentOfType<ModuleOp>();
  if (module && module.lookupSymbol("step_1"))
    return mlir::emitError(source.getLoc())
           << "steps of generation cannot be derived: the "
              "module has a function @step_1 already";
  if (ShapedType::isDynamicShape(shape) || shape[1] < 2)
    return mlir::emitError(source.getLoc())
           << "steps of generation cannot be derived from a program on "
              "sequences of one token: expected at least 2";
  DimParts dims(2);
  append(dims[0], {Role::Batch, shape[0]});
  append(dims[1], {Role::Sequence, shape[1]});
  analysis.dims[analysis.ids] = std::move(dims);
  if (failed(analysis.visit(source.getBody().front())))
    return failure();
  return analysis;
}

} // namespace tp
