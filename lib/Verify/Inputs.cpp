//===- Inputs.cpp - Random inputs that a program accepts ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The values that an integer may have follow from the importer's attributes, or
// else by what reads it: rows of a table, classes of a loss, keys of a mask.
//
//===----------------------------------------------------------------------===//

#include "tp/Dialect/TP/IR/ModelAttributes.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Interfaces/ShardingInterface.h"
#include "tp/Verify/Verify.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <cmath>

using namespace mlir;
using namespace tp::interp;

namespace tp {

namespace {
/// The values that an integer argument may have.
struct IntegerDomain {
  int64_t low = 0, high = 2;
  /// Each row is ones and then zeros.
  bool isMask = false;
  bool isKnown = false;

  void restrict(int64_t newHigh) {
    high = isKnown ? std::min(high, newHigh) : newHigh;
    isKnown = true;
  }
};
} // namespace

/// Follow `value` to the operations that read it as numbers of something.
static void inspectUses(Value value, IntegerDomain &domain) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (auto reader = dyn_cast<IntegerOperandsOpInterface>(user)) {
      if (std::optional<IntegerRange> range = reader.getIntegerRange(use)) {
        domain.restrict(range->end);
        domain.isMask |= range->isMask;
      }
    } else if (auto gather = dyn_cast<tensor::GatherOp>(user)) {
      if (use.get() == gather.getIndices())
        for (int64_t dim : gather.getGatherDims())
          domain.restrict(gather.getSourceType().getDimSize(dim));
    } else if (isa<ShardingConstraintOp, tensor::ExpandShapeOp,
                   tensor::CollapseShapeOp, tensor::CastOp,
                   tensor::ExtractSliceOp>(user)) {
      inspectUses(user->getResult(0), domain);
    }
  }
}

static Tensor makeMask(ArrayRef<int64_t> shape, ElementType type, uint64_t seed,
                       StringRef name) {
  Tensor mask(shape, type);
  int64_t width = shape.empty() ? 1 : shape.back();
  for (int64_t i = 0; i < mask.getNumElements(); ++i) {
    // At least one key of each row is valid.
    int64_t valid = 1 + int64_t(uniform(seed, name, i / width) * double(width));
    mask.setInt(i, i % width < valid ? 1 : 0);
  }
  return mask;
}

/// A float of the kind that tp.values names; `u` and `v` are uniform.
static double drawFloat(StringRef kind, double u, double v) {
  double plain = 2 * u - 1;
  if (kind == "zeros") // Half of them zeros of either sign.
    return v < 0.3 ? 0.0 : v < 0.5 ? -0.0 : plain;
  if (kind == "integers")
    return std::floor(9 * u) - 4;
  if (kind == "positive")
    return 0.5 + 1.5 * u;
  if (kind == "fraction")
    return u;
  if (kind == "large")
    return 1e4 * plain;
  if (kind == "wide") // All magnitudes; one in eight is zero.
    return v < 0.125 ? 0.0
                     : std::copysign(std::pow(10.0, 40 * (v - 0.5)), plain);
  llvm_unreachable("the dialect verifies the kinds");
}

/// An integer near zero or near the limits of its type.
static int64_t drawNearLimits(unsigned width, double u) {
  int64_t most = width == 64 ? INT64_MAX : (int64_t(1) << (width - 1)) - 1;
  const int64_t choices[] = {-most - 1, -most, -2, -1, 0, 1, 2, most - 1, most};
  return choices[int64_t(u * std::size(choices))];
}

/// The values that `kind` names, which fits the type.
static void fill(Tensor &tensor, StringRef kind, uint64_t seed,
                 StringRef name) {
  ElementType type = tensor.getElementType();
  std::string second = (name + " again").str();
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    double u = uniform(seed, name, i), v = uniform(seed, second, i);
    if (type.isFloat())
      tensor.setFloat(i, drawFloat(kind, u, v));
    else
      tensor.setInt(i, drawNearLimits(type.width, u));
  }
}

FailureOr<SmallVector<Tensor>> makeInputs(func::FuncOp function,
                                          uint64_t seed) {
  SmallVector<Tensor> inputs;
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    std::string name = "argument " + std::to_string(index);
    std::optional<ElementType> type = getElementType(argument.getType());
    auto shaped = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || (!shaped && isa<ShapedType>(argument.getType())) ||
        (shaped && !shaped.hasStaticShape()))
      return function.emitError()
             << "no random values for argument " << index << " of "
             << argument.getType()
             << ": expected a scalar or a tensor of static shape, of floats, "
                "integers or index";
    if (failed(checkNumElements(function, argument.getType(),
                                InterpreterOptions().maxElements)))
      return failure();
    ArrayRef<int64_t> shape = shaped ? shaped.getShape() : ArrayRef<int64_t>();
    if (auto kind =
            function.getArgAttrOfType<StringAttr>(index, valuesAttrName)) {
      Tensor tensor(shape, *type);
      fill(tensor, kind, seed, name);
      inputs.push_back(tensor);
      continue;
    }
    if (type->isFloat()) {
      Tensor tensor(shape, *type);
      for (int64_t i = 0; i < tensor.getNumElements(); ++i)
        tensor.setFloat(i, 2 * uniform(seed, name, i) - 1);
      inputs.push_back(tensor);
      continue;
    }
    IntegerDomain domain;
    inspectUses(argument, domain);
    if (auto range =
            function.getArgAttrOfType<DenseI64ArrayAttr>(index, rangeAttrName);
        range) {
      // The argument's attribute goes before its uses.
      domain.low = range[0];
      domain.high = range[1];
    }
    if (domain.isMask || function.getArgAttr(index, rightPaddedAttrName)) {
      inputs.push_back(makeMask(shape, *type, seed, name));
      continue;
    }
    Tensor tensor(shape, *type);
    for (int64_t i = 0; i < tensor.getNumElements(); ++i)
      tensor.setInt(i, domain.low + int64_t(uniform(seed, name, i) *
                                            double(domain.high - domain.low)));
    inputs.push_back(tensor);
  }
  return inputs;
}

} // namespace tp
