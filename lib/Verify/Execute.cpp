//===- Execute.cpp - The stage lower: compile, run, compare ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Native results have no operations to name, only results. When one differs,
// every value that is a part of a global one becomes a result too (those inside
// a repeated layer one slice per iteration), and the first that differs in the
// order of the program is the answer. The runtime is opened as a library, so
// that nothing but tp-verify at this stage needs it.
//
//===----------------------------------------------------------------------===//

#include "Session.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Verify/Passes.h"
#include "tp/Verify/Verify.h"

using namespace mlir;
using namespace tp::interp;

namespace tp {

static std::string compareNative(const Tensor &got,
                                 const Reference::Value &expected,
                                 Reference &reference, double &worst) {
  // Float outputs come as f32.
  Tensor converted(got.getShape(), expected.tensor.getElementType());
  if (got.getElementType().isFloat() != converted.getElementType().isFloat())
    return "expected the element type of the one-device program";
  for (int64_t i = 0; i < got.getNumElements(); ++i) {
    if (got.getElementType().isFloat())
      converted.setFloat(i, got.getFloat(i));
    else
      converted.setInt(i, got.getInt(i));
  }
  return compareValue({converted}, expected,
                      TensorSharding::replicated(got.getRank()), Mesh(),
                      reference, worst);
}

namespace {
/// A value that was made a result.
struct Exposed {
  std::string what, location;
  ValueKey key;
  /// The tp.repeat around it, if any, and its iterations.
  Operation *repeat = nullptr;
  int64_t count = 0, first = 0;
};
} // namespace

/// The sharding of a local value if it can be a result: whole, and of a type
/// that artifacts have.
static ShardingAttr getExposable(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  Operation *op = value.getDefiningOp();
  if (!type || type.getRank() == 0 || !op || !op->hasAttr(valueIdAttrName) ||
      isa<ParameterOp, arith::ConstantOp, tensor::EmptyOp, RepeatOp>(op))
    return ShardingAttr();
  Type element = type.getElementType();
  if (!element.isF32() && !element.isBF16() && !element.isF16() &&
      !element.isInteger(32) && !element.isInteger(64))
    return ShardingAttr();
  ShardingAttr sharding = getSharding(value);
  return sharding && sharding.getPartial().empty() ? sharding : ShardingAttr();
}

/// `sharding` with a leading dimension that is whole.
static ShardingAttr addLeadingDim(ShardingAttr sharding) {
  MLIRContext *context = sharding.getContext();
  SmallVector<DimShardingAttr> dims(sharding.getDims());
  dims.insert(dims.begin(), DimShardingAttr::get(context, {}, 1, false));
  return ShardingAttr::get(context, sharding.getMesh(), dims, {},
                           sharding.getReduction());
}

/// Hand the values of a repeated layer out, one slice per iteration.
static RepeatOp exposeInRepeat(RepeatOp op, ArrayRef<Value> values) {
  OpBuilder builder(op);
  SmallVector<Type> stackedTypes(op.getStackedResults().getTypes());
  auto list = op->getAttrOfType<ArrayAttr>(TPDialect::getShardingsAttrName());
  if (!list)
    return RepeatOp();
  SmallVector<Attribute> shardings(list.getValue());
  for (Value value : values) {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape.insert(shape.begin(), op.getCount());
    stackedTypes.push_back(type.clone(shape));
    shardings.push_back(addLeadingDim(getExposable(value)));
  }
  auto wide =
      RepeatOp::create(builder, op.getLoc(), op.getCount(), op.getInits(),
                       op.getStacked(), stackedTypes, op.getFirstIndex());
  wide->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  wide->setAttr(TPDialect::getShardingsAttrName(),
                builder.getArrayAttr(shardings));
  wide.getBody().takeBody(op.getBody());
  wide.getYield()->insertOperands(wide.getYield()->getNumOperands(), values);
  op->replaceAllUsesWith(wide.getResults().take_front(op->getNumResults()));
  op->erase();
  return wide;
}

/// Make the values of `function` results, in the order of the program.
static SmallVector<Exposed> exposeValues(func::FuncOp function,
                                         const Reference &reference) {
  Builder builder(function.getContext());
  Operation *terminator = function.getBody().front().getTerminator();
  SmallVector<Exposed> exposed;
  auto add = [&](Value value, Operation *from, unsigned number,
                 ShardingAttr sharding, ArrayRef<int64_t> globalShape,
                 RepeatOp repeat) {
    auto type = cast<RankedTensorType>(value.getType());
    unsigned index = terminator->getNumOperands();
    terminator->insertOperands(index, value);
    DictionaryAttr attributes = builder.getDictionaryAttr(
        {builder.getNamedAttr(TPDialect::getShardingAttrName(), sharding),
         builder.getNamedAttr(TPDialect::getGlobalTypeAttrName(),
                              TypeAttr::get(type.clone(globalShape))),
         builder.getNamedAttr(
             TPDialect::getNameAttrName(),
             builder.getStringAttr("value" + std::to_string(index)))});
    (void)function.insertResult(index, type, attributes);
    int64_t id = from->getAttrOfType<IntegerAttr>(valueIdAttrName).getInt();
    exposed.push_back({from->getName().getStringRef().str(),
                       formatLocation(from->getLoc()),
                       ValueKey{id, number, false, {}}});
    if (repeat) {
      exposed.back().repeat = repeat;
      exposed.back().count = repeat.getCount();
      exposed.back().first = repeat.getFirstIndex();
    }
  };
  auto getKey = [](Value value) {
    Operation *op = value.getDefiningOp();
    return ValueKey{op->getAttrOfType<IntegerAttr>(valueIdAttrName).getInt(),
                    cast<OpResult>(value).getResultNumber(),
                    false,
                    {}};
  };
  for (Operation &op : llvm::make_early_inc_range(function.getBody().front())) {
    if (auto repeat = dyn_cast<RepeatOp>(&op)) {
      SmallVector<Value> values;
      for (Operation &inner : *repeat.getBodyBlock())
        for (Value value : inner.getResults()) {
          if (!getExposable(value))
            continue;
          ValueKey key = getKey(value);
          key.iterations = {repeat.getFirstIndex()};
          if (reference.find(key))
            values.push_back(value);
        }
      unsigned old = repeat->getNumResults();
      RepeatOp wide = exposeInRepeat(repeat, values);
      if (!wide)
        continue;
      for (auto [index, value] : llvm::enumerate(values)) {
        ValueKey key = getKey(value);
        key.iterations = {wide.getFirstIndex()};
        SmallVector<int64_t> shape(reference.find(key)->tensor.getShape());
        shape.insert(shape.begin(), wide.getCount());
        add(wide.getResult(old + index), value.getDefiningOp(), key.number,
            addLeadingDim(getExposable(value)), shape, wide);
      }
      continue;
    }
    for (Value value : op.getResults()) {
      ShardingAttr sharding = getExposable(value);
      const Reference::Value *expected =
          sharding ? reference.find(getKey(value)) : nullptr;
      if (expected)
        add(value, &op, cast<OpResult>(value).getResultNumber(), sharding,
            expected->tensor.getShape(), RepeatOp());
    }
  }
  return exposed;
}

/// Element `i` of the leading dimension.
static Tensor takeSlice(const Tensor &whole, int64_t i) {
  SmallVector<int64_t> sizes(whole.getShape());
  SmallVector<int64_t> zero(sizes.size(), 0), from = zero;
  sizes[0] = 1;
  from[0] = i;
  Tensor slice(sizes, whole.getElementType());
  slice.copyBox(whole, from, zero, sizes);
  return slice.reshaped(ArrayRef(sizes).drop_front());
}

/// The first value that differs, if handing all of them out shows one.
static std::optional<Divergence>
findFirstDivergence(ModuleOp perRank, StringRef name, Reference &reference,
                    const VerifyOptions &options) {
  OwningOpRef<ModuleOp> copy = perRank.clone();
  auto function = copy->lookupSymbol<func::FuncOp>(name);
  unsigned numResults = function.getNumResults();
  SmallVector<Exposed> exposed = exposeValues(function, reference);
  // Naming the operation is a courtesy: a program that does not compile with
  // more results still has its difference reported.
  ScopedDiagnosticHandler quiet(perRank.getContext(),
                                [](Diagnostic &) { return success(); });
  std::string fault;
  FailureOr<SmallVector<Tensor>> outputs =
      executeProgram(*copy, name, reference.getInputs(), options, fault);
  if (failed(outputs))
    return std::nullopt;
  double worst = 0;
  // The values of one repeated layer iteration by iteration.
  for (size_t begin = 0, end; begin < exposed.size(); begin = end) {
    const Exposed &head = exposed[begin];
    end = begin + 1;
    while (end < exposed.size() && head.repeat &&
           exposed[end].repeat == head.repeat)
      ++end;
    for (int64_t i = 0; i < std::max<int64_t>(head.count, 1); ++i)
      for (size_t index = begin; index < end; ++index) {
        const Exposed &value = exposed[index];
        ValueKey key = value.key;
        if (value.repeat)
          key.iterations = {value.first + i};
        const Reference::Value *expected = reference.find(key);
        if (!expected)
          continue;
        Tensor tensor = (*outputs)[numResults + index];
        if (value.repeat)
          tensor = takeSlice(tensor, i);
        std::string problem =
            compareNative(tensor, *expected, reference, worst);
        if (!problem.empty())
          return Divergence{value.what, value.location,
                            llvm::to_vector<6>(key.iterations), problem};
      }
  }
  return std::nullopt;
}

FailureOr<Comparison> compareExecuted(ModuleOp perRank, StringRef name,
                                      Reference &reference,
                                      const VerifyOptions &options) {
  std::string fault;
  FailureOr<SmallVector<Tensor>> outputs =
      executeProgram(perRank, name, reference.getInputs(), options, fault);
  Comparison comparison;
  auto function = perRank.lookupSymbol<func::FuncOp>(name);
  if (!fault.empty()) {
    std::string location = formatLocation(function.getLoc());
    if (reference.mayStop())
      comparison.unjudged.push_back(
          {"the compiled program",
           location,
           {},
           "it stops (" + fault +
               "), and so does the one-device program with another rounding (" +
               reference.getStop().str() + ")"});
    else
      comparison.divergence =
          Divergence{"the compiled program", location, {}, fault};
    return comparison;
  }
  if (failed(outputs))
    return failure();
  for (auto [index, expected] : llvm::enumerate(reference.getResults())) {
    ++comparison.numResults;
    std::string problem =
        compareNative((*outputs)[index], expected, reference, comparison.worst);
    std::string what = "result " + std::to_string(index) + " of @" + name.str();
    std::string location = formatLocation(function.getLoc());
    if (problem.empty()) {
      noteUnjudged(comparison, expected, what, location, {},
                   reference.getStop());
      continue;
    }
    comparison.divergence =
        findFirstDivergence(perRank, name, reference, options);
    if (!comparison.divergence)
      comparison.divergence = Divergence{what, location, {}, problem};
    break;
  }
  return comparison;
}

} // namespace tp
