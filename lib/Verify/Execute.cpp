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

#include "Replay.h"
#include "Session.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Dialect/TP/IR/Stacks.h"
#include "tp/Verify/Passes.h"
#include "tp/Verify/Verify.h"

using namespace mlir;
using namespace tp::interp;

namespace tp {

Observation observeNative(const Tensor &got, const Reference::Value &expected) {
  Observation observation;
  observation.sharding = TensorSharding::replicated(got.getRank());
  bool isFloat = got.getElementType().isFloat();
  if (isFloat != expected.tensor.getElementType().isFloat()) {
    observation.locals = {got};
    return observation;
  }
  // Float outputs come as f32.
  Tensor converted(got.getShape(), expected.tensor.getElementType());
  for (int64_t i = 0; i < got.getNumElements(); ++i) {
    if (isFloat)
      converted.setFloat(i, got.getFloat(i));
    else
      converted.setInt(i, got.getInt(i));
  }
  observation.locals = {converted};
  return observation;
}

namespace {
/// A value that was made a result.
struct Exposed {
  std::string what, location;
  ValueKey key;
  /// The tp.repeat around it, if any, and its iterations.
  Operation *repeat = nullptr;
  int64_t count = 0, first = 0;
  /// A collective made it of addends, which are no results.
  bool isSum = false;
};
} // namespace

/// The sharding of a local value if it can be a result: complete, and of a type
/// that artifacts have.
static ShardingAttr getExposable(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  Operation *op = value.getDefiningOp();
  if (!type || !op || !op->hasAttr(valueIdAttrName) ||
      isa<ParameterOp, arith::ConstantOp, tensor::EmptyOp, RepeatOp>(op))
    return ShardingAttr();
  Type element = type.getElementType();
  if (!element.isF32() && !element.isBF16() && !element.isF16() &&
      !element.isInteger(32) && !element.isInteger(64))
    return ShardingAttr();
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  ShardingAttr sharding =
      collective ? collective.getToSharding() : getSharding(value);
  return sharding && sharding.getPartial().empty() ? sharding : ShardingAttr();
}

/// A collective makes another part of the same value, perhaps the first that is
/// no addend.
static void identifyCollectives(func::FuncOp function) {
  function.walk([](CollectiveOpInterface op) {
    auto operand = dyn_cast<OpResult>(op->getOperand(0));
    if (operand && operand.getResultNumber() == 0 &&
        operand.getOwner()->hasAttr(valueIdAttrName))
      op->setAttr(valueIdAttrName,
                  operand.getOwner()->getAttr(valueIdAttrName));
  });
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
  StringRef name = TPDialect::getShardingsAttrName();
  auto list = op->getAttrOfType<ArrayAttr>(name);
  if (!list)
    return RepeatOp();
  SmallVector<Attribute> shardings(list.getValue());
  for (Value value : values)
    shardings.push_back(addLeadingDim(getExposable(value)));
  RepeatOp wide = stackResults(op, values);
  wide->setAttr(name, ArrayAttr::get(op.getContext(), shardings));
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
    auto collective = dyn_cast<CollectiveOpInterface>(from);
    exposed.back().isSum =
        collective && collective.getRow().reduces() &&
        collective.getReductionName() == stringify(ReductionKind::Sum);
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

static std::vector<Observation> observeResults(ArrayRef<Tensor> outputs,
                                               func::FuncOp function,
                                               const Reference &reference) {
  std::vector<Observation> observations;
  for (auto [index, expected] : llvm::enumerate(reference.getResults())) {
    observations.push_back(observeNative(outputs[index], expected));
    Observation &observation = observations.back();
    observation.resultNumber = index;
    observation.what = "result " + std::to_string(index) + " of @" +
                       function.getSymName().str();
    observation.location = formatLocation(function.getLoc());
  }
  return observations;
}

/// Run the program with every value handed out; the values in the order of the
/// program, those of a repeated layer iteration by iteration, then the results.
/// Nothing if the program does not compile with more results.
static std::vector<Observation> observeExecuted(ModuleOp perRank,
                                                StringRef name,
                                                const Reference &reference,
                                                const VerifyOptions &options) {
  OwningOpRef<ModuleOp> copy = perRank.clone();
  auto function = copy->lookupSymbol<func::FuncOp>(name);
  unsigned numResults = function.getNumResults();
  identifyCollectives(function);
  SmallVector<Exposed> exposed = exposeValues(function, reference);
  ScopedDiagnosticHandler quiet(perRank.getContext(),
                                [](Diagnostic &) { return success(); });
  std::string fault;
  FailureOr<SmallVector<Tensor>> outputs =
      executeProgram(*copy, name, reference.getInputs(), options, fault);
  if (failed(outputs))
    return {};
  std::vector<Observation> observations;
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
        Observation observation = observeNative(tensor, *expected);
        observation.key = key;
        observation.what = value.what;
        observation.location = value.location;
        observation.addsUnseen = value.isSum;
        observations.push_back(std::move(observation));
      }
  }
  llvm::append_range(observations,
                     observeResults(*outputs, function, reference));
  return observations;
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
  for (const Observation &observation :
       observeResults(*outputs, function, reference))
    if (failed(compareObservation(observation, Mesh(), reference, comparison)))
      break;
  if (!comparison.divergence && comparison.numUnjudgedElements == 0)
    return comparison;
  std::vector<Observation> observations =
      observeExecuted(perRank, name, reference, options);
  // The operation that differs is a better name than the result.
  Comparison named;
  if (comparison.divergence)
    for (const Observation &observation : observations)
      if (failed(compareObservation(observation, Mesh(), reference, named))) {
        comparison.divergence = named.divergence;
        break;
      }
  auto run = [&](ObservationVisitor visit,
                 const Disturbance &disturbance) -> LogicalResult {
    // Compiled code rounds as it does.
    if (disturbance.direction != Disturbance::None)
      return failure();
    for (Observation &observation : observations)
      if (failed(visit(observation)))
        return failure();
    return success();
  };
  return judgeByOperation(std::move(comparison), Mesh(), reference, run,
                          options);
}

} // namespace tp
