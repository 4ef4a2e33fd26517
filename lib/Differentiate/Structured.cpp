//===- Structured.cpp - Derivatives of linalg operations ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The derivative by an operand is a linalg operation over the same loops: its
// output has the operand's map, its body is the forward body and then that body
// in reverse, and what the output's map lacks is summed. Where a result is a
// sum, each term has the result's cotangent; where it is a maximum or minimum,
// the terms that attain it share it evenly. Example, y[m, n] += a[m, k] b[k,
// n]:
//
//   da[m, k] += dy[m, n] * b[k, n]      db[k, n] += dy[m, n] * a[m, k]
//
//===----------------------------------------------------------------------===//

#include "Vjp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tp/Rules/Combiner.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tp;
using namespace tp::differentiate;

namespace {
/// A result that has a cotangent.
struct Result {
  unsigned number;
  Value cotangent;
  AffineMap map;
  /// None: each element is computed once.
  std::optional<Combiner> combiner;
  /// The result of a maximum or minimum, and how many terms attain it.
  Value value, count;

  bool isExtremum() const { return value != nullptr; }
};

/// A tensor (or scalar) that the derivative's body reads.
struct Input {
  Value value;
  AffineMap map;
};

class StructuredVjp {
public:
  StructuredVjp(OpBuilder &builder, linalg::GenericOp op,
                const Request &request)
      : b(op.getLoc(), builder), op(op), request(request),
        numInputs(op.getNumDpsInputs()) {}

  Contributions build();

private:
  ImplicitLocOpBuilder b;
  linalg::GenericOp op;
  const Request &request;
  unsigned numInputs;
  SmallVector<Result> results;

  AffineMap getMap(unsigned operand) {
    return op.getIndexingMapsArray()[operand];
  }
  bool isReduced(unsigned result) {
    AffineMap map = getMap(numInputs + result);
    return map.getNumResults() < map.getNumDims();
  }
  /// The type that sums of `element` are in.
  Type widen(Type element) {
    return element.getIntOrFloatBitWidth() < 32 ? Type(b.getF32Type())
                                                : element;
  }
  LogicalResult collectResults();
  LogicalResult expectOwnElements();
  Value countTerms(const Result &result);
  FailureOr<Value> buildFor(unsigned operand);
  /// The contributions to a result's initial value, which no loop changes.
  Value buildForInit(const Result &result);

  /// Clone the forward body to `builder`; block arguments become `arguments`.
  IRMapping cloneBody(ImplicitLocOpBuilder &builder, ValueRange arguments);
  /// The derivative of the results by `variable`, in a body that `mapping` has
  /// cloned; null if they do not depend on it.
  FailureOr<Value> reverseBody(ImplicitLocOpBuilder &builder,
                               const IRMapping &mapping, Value variable,
                               ArrayRef<std::array<Value, 3>> seeds);
  Value
  makeGeneric(ArrayRef<Input> inputs, AffineMap map, Type type,
              ValueRange inits,
              function_ref<Value(ImplicitLocOpBuilder &, ValueRange)> body);
};
} // namespace

/// Values of the block that depend on `variable` through floats.
static DenseSet<Value> getDependents(Block &block, ValueRange variables) {
  DenseSet<Value> dependents(variables.begin(), variables.end());
  for (Operation &inner : block) {
    bool depends = false;
    inner.walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        depends |= dependents.contains(operand);
    });
    if (!depends)
      continue;
    for (Value result : inner.getResults())
      if (isDifferentiable(result.getType()))
        dependents.insert(result);
  }
  return dependents;
}

LogicalResult StructuredVjp::collectResults() {
  for (auto [number, cotangent] : llvm::enumerate(request.cotangents)) {
    if (!cotangent)
      continue;
    AffineMap map = getMap(numInputs + number);
    if (!map.isProjectedPermutation())
      return refuse(request.op) << ": the map of result " << number
                                << " is no projected permutation";
    Result result{unsigned(number), cotangent, map, std::nullopt, {}, {}};
    if (isReduced(number)) {
      result.combiner = matchCombiner(op, number);
      if (!result.combiner)
        return refuse(request.op)
               << ": result " << number
               << " is neither a sum nor a maximum or minimum of terms";
      if (result.combiner->kind != CombinerKind::Sum) {
        result.value = request.op->getResult(number);
        for (OpOperand *term : getTermOperands(op, number))
          if (term->get().getType() !=
              getElementTypeOrSelf(result.value.getType()))
            return refuse(request.op)
                   << ": terms of result " << number << " are rounded before "
                   << "they are compared";
      }
    }
    results.push_back(result);
  }
  return success();
}

/// A result that is computed once may not read what another one sums up.
LogicalResult StructuredVjp::expectOwnElements() {
  SmallVector<Value> accumulators;
  for (unsigned number = 0; number < op.getNumDpsInits(); ++number)
    if (isReduced(number))
      accumulators.push_back(op.getRegionOutputArgs()[number]);
  DenseSet<Value> dependents = getDependents(*op.getBody(), accumulators);
  for (const Result &result : results)
    if (!result.combiner &&
        dependents.contains(
            op.getBody()->getTerminator()->getOperand(result.number)))
      return refuse(request.op) << ": result " << result.number
                                << " reads a sum that is not complete";
  return success();
}

Value StructuredVjp::makeGeneric(
    ArrayRef<Input> inputs, AffineMap map, Type type, ValueRange inits,
    function_ref<Value(ImplicitLocOpBuilder &, ValueRange)> body) {
  SmallVector<Value> values;
  SmallVector<AffineMap> maps;
  for (const Input &input : inputs) {
    values.push_back(input.value);
    maps.push_back(input.map);
  }
  maps.push_back(map);
  SmallVector<utils::IteratorType> iterators(map.getNumDims(),
                                             utils::IteratorType::reduction);
  for (AffineExpr expr : map.getResults())
    iterators[cast<AffineDimExpr>(expr).getPosition()] =
        utils::IteratorType::parallel;
  auto generic = linalg::GenericOp::create(
      b, TypeRange{type}, values, inits, maps, iterators,
      [&](OpBuilder &inner, Location loc, ValueRange args) {
        ImplicitLocOpBuilder at(loc, inner);
        linalg::YieldOp::create(at, body(at, args));
      });
  // Inputs that nothing reads are not kept for it.
  Block *block = generic.getBody();
  for (Operation &dead : llvm::make_early_inc_range(llvm::reverse(*block)))
    if (isOpTriviallyDead(&dead))
      dead.erase();
  SmallVector<Value> read;
  SmallVector<AffineMap> readMaps;
  llvm::SmallBitVector covered(map.getNumDims());
  auto cover = [&](AffineMap other) {
    for (AffineExpr expr : other.getResults())
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        covered.set(dim.getPosition());
  };
  for (int64_t i = int64_t(values.size()) - 1; i >= 0; --i) {
    if (block->getArgument(i).use_empty()) {
      block->eraseArgument(i);
      continue;
    }
    cover(maps[i]);
    read.insert(read.begin(), values[i]);
    readMaps.insert(readMaps.begin(), maps[i]);
  }
  cover(map);
  // Loops whose length no operand says any more.
  SmallVector<int64_t> ranges = op.getStaticLoopRanges(), missing;
  SmallVector<AffineExpr> exprs;
  for (unsigned dim = 0; dim < map.getNumDims(); ++dim)
    if (!covered.test(dim)) {
      missing.push_back(ranges[dim]);
      exprs.push_back(b.getAffineDimExpr(dim));
    }
  Type element = cast<RankedTensorType>(type).getElementType();
  if (!missing.empty()) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(generic);
    read.push_back(tensor::EmptyOp::create(b, missing, element));
    readMaps.push_back(
        AffineMap::get(map.getNumDims(), 0, exprs, b.getContext()));
    block->insertArgument(read.size() - 1, element, generic.getLoc());
  }
  readMaps.push_back(map);
  generic.getInputsMutable().assign(read);
  generic.setIndexingMapsAttr(b.getAffineMapArrayAttr(readMaps));
  return generic.getResult(0);
}

IRMapping StructuredVjp::cloneBody(ImplicitLocOpBuilder &builder,
                                   ValueRange arguments) {
  IRMapping mapping;
  mapping.map(op.getBody()->getArguments(), arguments);
  for (Operation &inner : op.getBody()->without_terminator())
    builder.clone(inner, mapping);
  return mapping;
}

FailureOr<Value>
StructuredVjp::reverseBody(ImplicitLocOpBuilder &builder,
                           const IRMapping &mapping, Value variable,
                           ArrayRef<std::array<Value, 3>> seeds) {
  DenseSet<Value> dependents = getDependents(*op.getBody(), {variable});
  DenseMap<Value, Value> cotangents;
  auto add = [&](Value value, Value contribution) {
    if (!contribution || !dependents.contains(value))
      return;
    Value &sum = cotangents[value];
    // A value of 16 bits may have a wider contribution: what it was extended to
    // reads it.
    if (sum && sum.getType() != contribution.getType()) {
      Type type = widen(sum.getType());
      sum = convert(builder, sum, type);
      contribution = convert(builder, contribution, type);
    }
    sum = sum ? arith::AddFOp::create(builder, sum, contribution).getResult()
              : contribution;
  };
  // Reads each result's cotangent, value and count.
  for (auto [result, seed] : llvm::zip_equal(results, seeds)) {
    auto [cotangent, value, count] = seed;
    if (!result.isExtremum()) {
      add(op.getBody()->getTerminator()->getOperand(result.number), cotangent);
      continue;
    }
    Type wide = count.getType(), element = value.getType();
    Value share =
        convert(builder,
                arith::DivFOp::create(builder,
                                      convert(builder, cotangent, wide), count),
                element);
    for (OpOperand *term : getTermOperands(op, result.number)) {
      Value attains =
          arith::CmpFOp::create(builder, arith::CmpFPredicate::OEQ,
                                mapping.lookupOrDefault(term->get()), value);
      add(term->get(),
          arith::SelectOp::create(builder, attains, share,
                                  makeConstant(builder, element, 0)));
    }
  }
  for (Operation &forward : llvm::reverse(op.getBody()->without_terminator())) {
    if (forward.getNumResults() != 1)
      continue;
    Value cotangent = cotangents.lookup(forward.getResult(0));
    if (!cotangent)
      continue;
    // Terms of a sum are not rounded before they are added.
    if (isa<arith::ExtFOp>(forward)) {
      add(forward.getOperand(0), cotangent);
      continue;
    }
    cotangent = convert(builder, cotangent, forward.getResult(0).getType());
    Operation *clone =
        mapping.lookupOrNull(forward.getResult(0)).getDefiningOp();
    Request inner{clone, {cotangent}, {}, {}};
    FailureOr<SmallVector<Value>> parts = buildElementwiseVjp(builder, inner);
    if (failed(parts))
      return failure();
    for (auto [operand, part] : llvm::zip(forward.getOperands(), *parts))
      add(operand, part);
  }
  return cotangents.lookup(variable);
}

/// How many terms of a maximum attain it, its initial value among them.
Value StructuredVjp::countTerms(const Result &result) {
  auto type = cast<RankedTensorType>(result.value.getType());
  Type wide = widen(type.getElementType());
  auto countType = cast<RankedTensorType>(type.clone(wide));
  auto count = [&](ImplicitLocOpBuilder &at, Value hit, Type as) -> Value {
    return arith::SelectOp::create(at, hit, makeConstant(at, as, 1),
                                   makeConstant(at, as, 0));
  };
  Value init = op.getDpsInits()[result.number];
  Value start = count(
      b,
      arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, init, result.value),
      countType);
  SmallVector<Input> inputs;
  for (auto [i, value] : llvm::enumerate(op.getDpsInputs()))
    inputs.push_back({value, getMap(i)});
  inputs.push_back({result.value, result.map});
  return makeGeneric(
      inputs, result.map, countType, start,
      [&](ImplicitLocOpBuilder &at, ValueRange args) {
        SmallVector<Value> arguments(args.take_front(numInputs));
        // No term depends on an output.
        for (BlockArgument output : op.getRegionOutputArgs())
          arguments.push_back(
              arith::ConstantOp::create(at, at.getZeroAttr(output.getType())));
        IRMapping mapping = cloneBody(at, arguments);
        Value sum = args.back();
        for (OpOperand *term : getTermOperands(op, result.number)) {
          Value hit = arith::CmpFOp::create(
              at, arith::CmpFPredicate::OEQ,
              mapping.lookupOrDefault(term->get()), args[numInputs]);
          sum = arith::AddFOp::create(at, sum, count(at, hit, wide));
        }
        return sum;
      });
}

FailureOr<Value> StructuredVjp::buildFor(unsigned operand) {
  AffineMap map = getMap(operand);
  if (!map.isProjectedPermutation())
    return refuse(request.op) << ": the map of operand " << operand
                              << " is no projected permutation";
  SmallVector<Input> inputs;
  for (auto [i, value] : llvm::enumerate(op->getOperands()))
    inputs.push_back({value, getMap(i)});
  unsigned numOperands = inputs.size();
  for (const Result &result : results) {
    inputs.push_back({result.cotangent, result.map});
    if (result.isExtremum()) {
      inputs.push_back({result.value, result.map});
      inputs.push_back({result.count, result.map});
    }
  }
  Type given = op->getOperand(operand).getType();
  Type element = getElementTypeOrSelf(given);
  auto shaped = dyn_cast<RankedTensorType>(given);
  ArrayRef<int64_t> shape = shaped ? shaped.getShape() : ArrayRef<int64_t>();
  bool sums = map.getNumResults() < map.getNumDims();
  Type sumElement = sums || request.wide[operand] ? widen(element) : element;
  auto type = RankedTensorType::get(shape, sumElement);
  Value init = sums ? makeConstant(b, type, 0)
                    : tensor::EmptyOp::create(b, shape, sumElement).getResult();
  bool hasFailed = false, depends = true;
  Value sum = makeGeneric(
      inputs, map, type, init,
      [&](ImplicitLocOpBuilder &at, ValueRange args) -> Value {
        SmallVector<Value> arguments(args.take_front(numOperands));
        // Nobody reads what is summed up: see expectOwnElements.
        for (unsigned i = 0; i < op.getNumDpsInits(); ++i)
          if (isReduced(i))
            arguments[numInputs + i] = arith::ConstantOp::create(
                at, at.getZeroAttr(arguments[numInputs + i].getType()));
        IRMapping mapping = cloneBody(at, arguments);
        SmallVector<std::array<Value, 3>> seeds;
        unsigned next = numOperands;
        for (const Result &result : results) {
          seeds.push_back({args[next], Value(), Value()});
          ++next;
          if (!result.isExtremum())
            continue;
          seeds.back()[1] = args[next++];
          seeds.back()[2] = args[next++];
        }
        FailureOr<Value> value =
            reverseBody(at, mapping, op.getBody()->getArgument(operand), seeds);
        hasFailed = failed(value);
        depends = !hasFailed && *value;
        if (!depends)
          return makeConstant(at, sumElement, 0);
        Value term = convert(at, *value, sumElement);
        return sums ? arith::AddFOp::create(at, args.back(), term).getResult()
                    : term;
      });
  if (hasFailed || !depends) {
    sum.getDefiningOp()->erase();
    return hasFailed ? FailureOr<Value>(failure()) : Value();
  }
  sum = convert(b, sum, element);
  if (!shaped)
    return tensor::ExtractOp::create(b, sum, ValueRange()).getResult();
  return sum;
}

Value StructuredVjp::buildForInit(const Result &result) {
  if (!result.isExtremum())
    return result.cotangent;
  Value init = op.getDpsInits()[result.number];
  Type element = getElementTypeOrSelf(init.getType());
  Type wide = getElementTypeOrSelf(result.count.getType());
  Value share =
      convert(b,
              arith::DivFOp::create(b, convert(b, result.cotangent, wide),
                                    result.count),
              element);
  Value attains =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, init, result.value);
  return arith::SelectOp::create(b, attains, share,
                                 makeConstant(b, init.getType(), 0));
}

Contributions StructuredVjp::build() {
  if (failed(collectResults()) || failed(expectOwnElements()))
    return failure();
  for (Result &result : results)
    if (result.isExtremum())
      result.count = countTerms(result);
  SmallVector<Value> values(op->getNumOperands());
  for (unsigned operand = 0; operand < values.size(); ++operand) {
    if (!request.wanted[operand])
      continue;
    if (operand >= numInputs && isReduced(operand - numInputs)) {
      for (const Result &result : results)
        if (result.number == operand - numInputs)
          values[operand] = buildForInit(result);
      continue;
    }
    FailureOr<Value> value = buildFor(operand);
    if (failed(value))
      return failure();
    values[operand] = *value;
  }
  return values;
}

Contributions tp::differentiate::buildStructuredVjp(OpBuilder &builder,
                                                    const Request &request) {
  if (auto generic = dyn_cast<linalg::GenericOp>(request.op))
    return StructuredVjp(builder, generic, request).build();
  // A named one is written out first, for as long as it is looked at.
  IRRewriter rewriter(builder);
  auto named = cast<linalg::LinalgOp>(rewriter.clone(*request.op));
  FailureOr<linalg::GenericOp> generic =
      linalg::generalizeNamedOp(rewriter, named);
  if (failed(generic)) {
    rewriter.eraseOp(named);
    return refuse(request.op);
  }
  Contributions values = StructuredVjp(builder, *generic, request).build();
  generic->erase();
  return values;
}
