//===- Compare.cpp - The ranks' values against the reference --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An operation that the stages carried along has the id of its original and the
// sharding of its results. A collective has neither, but its operand does, and
// it says what it makes of it: so every collective is compared too.
//
//===----------------------------------------------------------------------===//

#include "tp/Interpreter/Distribute.h"
#include "tp/Verify/Passes.h"
#include "tp/Verify/Verify.h"

#include <cmath>

using namespace mlir;
using namespace tp::interp;

namespace tp {

/// "1.25", "-inf", with the digits that tell floats apart.
static std::string formatNumber(const Tensor &tensor, double value) {
  if (!tensor.getElementType().isFloat())
    return std::to_string(int64_t(value));
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.9g", value);
  return text;
}

static std::string formatShape(ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(shape, os, "x");
  return "[" + text + "]";
}

/// The location without the debug syntax: loc("x") is x.
std::string formatLocation(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName().str();
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (!isa<UnknownLoc>(part))
        return formatLocation(part);
  if (auto file = dyn_cast<FileLineColLoc>(loc))
    return file.getFilename().str() + ":" + std::to_string(file.getLine()) +
           ":" + std::to_string(file.getColumn());
  if (isa<UnknownLoc>(loc))
    return "an unknown location";
  std::string text;
  llvm::raw_string_ostream os(text);
  loc.print(os);
  return text;
}

/// Where the value is partial: what the ranks' addends come to in magnitude,
/// for each was rounded on its own.
static std::optional<Tensor> getMagnitudes(const RankTensors &locals,
                                           ArrayRef<int64_t> shape,
                                           const TensorSharding &sharding,
                                           const Mesh &mesh) {
  ElementType type = locals[0].getElementType();
  if (!type.isFloat() || !sharding.isPartial())
    return std::nullopt;
  RankTensors magnitudes;
  for (const Tensor &local : locals) {
    Tensor magnitude(local.getShape(), type);
    for (int64_t i = 0; i < local.getNumElements(); ++i)
      magnitude.setFloat(i, std::abs(local.getFloat(i)));
    magnitudes.push_back(magnitude);
  }
  return assemble(magnitudes, shape, sharding, mesh);
}

/// Call `visit` with the position in the whole, the number found there, and the
/// rank it was found on, until that returns false.
static void forEachNumber(
    const RankTensors &locals, ArrayRef<int64_t> shape,
    ArrayRef<int64_t> strides, const TensorSharding &sharding, const Mesh &mesh,
    llvm::function_ref<bool(int64_t at, double got, int64_t rank)> visit) {
  bool goesOn = true;
  forEachPart(locals, shape, sharding, mesh,
              [&](const Tensor &part, int64_t rank, ArrayRef<int64_t> offsets,
                  ArrayRef<int64_t> sizes) {
                SmallVector<int64_t> partStrides = part.getStrides();
                int64_t count = 1;
                for (int64_t size : sizes)
                  count *= std::max<int64_t>(size, 0);
                SmallVector<int64_t> index(sizes.size(), 0);
                for (int64_t n = 0; n < count && goesOn; ++n) {
                  int64_t from = 0, at = 0;
                  for (auto [dim, i] : llvm::enumerate(index)) {
                    from += i * partStrides[dim];
                    at += (offsets[dim] + i) * strides[dim];
                  }
                  goesOn = visit(at, part.getNumber(from), rank);
                  for (int64_t dim = int64_t(sizes.size()) - 1; dim >= 0;
                       --dim) {
                    if (++index[dim] < sizes[dim])
                      break;
                    index[dim] = 0;
                  }
                }
              });
}

/// The first number that is too far off, or an empty text.
static std::string compareNumbers(const RankTensors &locals,
                                  const Reference::Value &expected,
                                  const TensorSharding &sharding,
                                  const Mesh &mesh, Reference &reference,
                                  double &worst) {
  const Tensor &global = expected.tensor;
  ElementType type = global.getElementType();
  std::optional<Tensor> magnitudes =
      getMagnitudes(locals, global.getShape(), sharding, mesh);
  std::string problem;
  double largest = 0;
  forEachNumber(
      locals, global.getShape(), global.getStrides(), sharding, mesh,
      [&](int64_t at, double got, int64_t rank) {
        double want = global.getNumber(at);
        double allowed = expected.tolerances[at];
        if (allowed < 0 || got == want || (std::isnan(got) && std::isnan(want)))
          return true;
        bool overflows = magnitudes && std::isinf(magnitudes->getFloat(at));
        if (std::isnan(got) && (overflows || reference.getNumOverflows())) {
          reference.noteOverflow();
          return true;
        }
        // What hangs on rounding alone has no largest change
        // (quotients by what cancels); only what is gross shows.
        bool isJudged = expected.isJudged(at);
        if (!isJudged && !std::isfinite(got))
          return true;
        if (!isJudged)
          allowed *= 16;
        else if (allowed >= std::abs(want))
          allowed *= 4;
        if (magnitudes)
          allowed += getUnit(type, magnitudes->getFloat(at));
        double difference = std::abs(got - want);
        if (difference <= allowed) {
          largest = std::max(largest, difference / allowed);
          return true;
        }
        problem = "element " + formatIndex(global.getShape(), at) +
                  " on rank " + std::to_string(rank) + ": expected " +
                  formatNumber(global, want) + ", got " +
                  formatNumber(global, got);
        if (type.isFloat())
          problem +=
              " (tolerance " + formatNumber(global, float(allowed)) + ")";
        return false;
      });
  if (problem.empty())
    worst = std::max(worst, largest);
  return problem;
}

std::string compareValue(const RankTensors &locals,
                         const Reference::Value &expected,
                         const TensorSharding &sharding, const Mesh &mesh,
                         Reference &reference, double &worst) {
  const Tensor &global = expected.tensor;
  ArrayRef<int64_t> shape = global.getShape();
  if (sharding.getRank() != shape.size())
    return "expected a sharding of rank " + std::to_string(shape.size());
  SmallVector<int64_t> local = getLocalShape(shape, sharding);
  if (locals[0].getShape() != ArrayRef<int64_t>(local))
    return "expected the local shape " + formatShape(local) + " of " +
           formatShape(shape) + " sharded " + toString(sharding, mesh) +
           ", got " + formatShape(locals[0].getShape());
  if (locals[0].getElementType() != global.getElementType())
    return "expected the element type of the one-device program";
  while (true) {
    std::string problem =
        compareNumbers(locals, expected, sharding, mesh, reference, worst);
    // A difference that no disturbance explains is one.
    if (problem.empty() || !reference.refine())
      return problem;
  }
}

void noteUnjudged(Comparison &comparison, const Reference::Value &expected,
                  StringRef what, StringRef location,
                  ArrayRef<int64_t> iterations, StringRef stop) {
  int64_t count = expected.countUnjudged();
  int64_t total = expected.tensor.getNumElements();
  comparison.numUnjudgedElements += count;
  if (count * 4 <= total)
    return;
  std::string reason = std::to_string(count) + " of " + std::to_string(total) +
                       " elements hang on the rounding of the one-device "
                       "program";
  if (expected.numRuns == 0)
    reason = "with another rounding the one-device program stops before it: " +
             stop.str();
  comparison.unjudged.push_back(
      {what.str(), location.str(), SmallVector<int64_t>(iterations), reason});
}

namespace {
/// Follows one run of the per-rank program.
class Comparer {
public:
  Comparer(const Mesh &mesh, Reference &reference, Comparison &result)
      : mesh(mesh), reference(reference), result(result) {}

  LogicalResult observe(Operation *op, ValueRange values,
                        ArrayRef<RankTensors> tensors,
                        ArrayRef<int64_t> iterations) {
    for (auto [number, value] : llvm::enumerate(values)) {
      std::optional<ValueKey> key = getKey(op, value, number, iterations);
      if (!key)
        continue;
      keys[value] = *key;
      const Reference::Value *expected = reference.find(*key);
      std::optional<TensorSharding> sharding = getLayout(op, value);
      if (!expected || !sharding)
        continue;
      ++result.numValues;
      int64_t overflows = reference.getNumOverflows();
      std::string problem = compareValue(tensors[number], *expected, *sharding,
                                         mesh, reference, result.worst);
      result.numUnjudgedElements += reference.getNumOverflows() - overflows;
      if (problem.empty()) {
        if (op->hasAttr(valueIdAttrName))
          noteUnjudged(result, *expected, describe(op),
                       formatLocation(op->getLoc()), iterations,
                       reference.getStop());
        continue;
      }
      if (values.size() > 1)
        problem = (isa<BlockArgument>(value) ? "argument " : "result ") +
                  std::to_string(number) + ", " + problem;
      result.divergence = Divergence{describe(op), formatLocation(op->getLoc()),
                                     SmallVector<int64_t>(iterations), problem};
      return failure();
    }
    return success();
  }

private:
  std::optional<ValueKey> getKey(Operation *op, Value value, unsigned number,
                                 ArrayRef<int64_t> iterations) {
    if (auto id = op->getAttrOfType<IntegerAttr>(valueIdAttrName))
      return ValueKey{id.getInt(), number, isa<BlockArgument>(value),
                      SmallVector<int64_t, 2>(iterations)};
    // A collective makes another part of the same value.
    if (isa<CollectiveOpInterface, SliceOp, KeepFirstOp>(op)) {
      auto found = keys.find(op->getOperand(0));
      if (found != keys.end())
        return found->second;
    }
    return std::nullopt;
  }

  std::optional<TensorSharding> getLayout(Operation *op, Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return std::nullopt;
    ShardingAttr sharding;
    if (auto collective = dyn_cast<CollectiveOpInterface>(op))
      sharding = collective.getToSharding();
    else if (auto slice = dyn_cast<SliceOp>(op))
      sharding = slice.getToAttr();
    else if (auto keep = dyn_cast<KeepFirstOp>(op))
      sharding = keep.getToAttr();
    else
      sharding = getSharding(value);
    // Before partition, on one device.
    if (mesh.getNumRanks() == 1)
      return TensorSharding::replicated(type.getRank());
    if (!sharding)
      return std::nullopt;
    return sharding.toSharding(mesh);
  }

  static std::string describe(Operation *op) {
    std::string what = op->getName().getStringRef().str();
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    if (LedgerAttr ledger = collective ? collective.getLedgerEntry() : nullptr)
      what += " (ledger " + std::to_string(ledger.getId()) + ": " +
              ledger.getCause().getValue().str() + ")";
    return what;
  }

  const Mesh &mesh;
  Reference &reference;
  Comparison &result;
  DenseMap<Value, ValueKey> keys;
};
} // namespace

/// The sharding of an argument or result of a per-rank function; replicated if
/// none is written.
static TensorSharding getBoundaryLayout(ShardingAttr sharding,
                                        const Tensor &tensor,
                                        const Mesh &mesh) {
  if (!sharding || mesh.getNumRanks() == 1)
    return TensorSharding::replicated(tensor.getRank());
  return sharding.toSharding(mesh);
}

static void compareResults(func::FuncOp function, const Mesh &mesh,
                           Reference &reference, ArrayRef<RankTensors> results,
                           Comparison &comparison) {
  for (auto [index, expected] : llvm::enumerate(reference.getResults())) {
    TensorSharding layout = getBoundaryLayout(
        getResultSharding(function, index), expected.tensor, mesh);
    ++comparison.numResults;
    std::string problem = compareValue(results[index], expected, layout, mesh,
                                       reference, comparison.worst);
    std::string name = std::to_string(index);
    if (auto given = function.getResultAttrOfType<StringAttr>(
            index, TPDialect::getNameAttrName()))
      name = "'" + given.getValue().str() + "'";
    std::string what = "result " + name + " of @" + function.getSymName().str();
    std::string location = formatLocation(function.getLoc());
    if (problem.empty()) {
      noteUnjudged(comparison, expected, what, location, {},
                   reference.getStop());
      continue;
    }
    comparison.divergence = Divergence{what, location, {}, problem};
    return;
  }
}

Comparison compareWithReference(func::FuncOp function, const Mesh &mesh,
                                Reference &reference,
                                const VerifyOptions &options) {
  Comparison comparison;
  auto differ = [&](const std::string &what, Location loc,
                    const std::string &problem) {
    comparison.divergence = Divergence{what, formatLocation(loc), {}, problem};
    return comparison;
  };
  std::string name = "func.func @" + function.getSymName().str();
  ArrayRef<Tensor> inputs = reference.getInputs();
  if (function.getNumArguments() != inputs.size() ||
      function.getNumResults() != reference.getResults().size())
    return differ(
        name, function.getLoc(),
        "expected " + std::to_string(inputs.size()) + " arguments and " +
            std::to_string(reference.getResults().size()) + " results, got " +
            std::to_string(function.getNumArguments()) + " and " +
            std::to_string(function.getNumResults()));
  SmallVector<RankTensors> arguments;
  for (auto [index, input] : llvm::enumerate(inputs)) {
    ShardingAttr sharding = function.getArgAttrOfType<ShardingAttr>(
        index, TPDialect::getShardingAttrName());
    arguments.push_back(
        distribute(input, getBoundaryLayout(sharding, input, mesh), mesh));
  }

  RandomParameters random(options.seed);
  Comparer comparer(mesh, reference, comparison);
  InterpreterOptions run;
  run.numRanks = mesh.getNumRanks();
  run.parameters = options.parameters ? options.parameters : &random;
  run.observer = [&](Operation *op, ValueRange values,
                     ArrayRef<RankTensors> tensors,
                     ArrayRef<int64_t> iterations) {
    return comparer.observe(op, values, tensors, iterations);
  };
  // A program that does not run diverges where it stops.
  std::string error;
  Location errorLoc = function.getLoc();
  ScopedDiagnosticHandler handler(function.getContext(),
                                  [&](Diagnostic &diagnostic) {
                                    if (error.empty()) {
                                      error = diagnostic.str();
                                      errorLoc = diagnostic.getLocation();
                                    }
                                    return success();
                                  });
  FailureOr<SmallVector<RankTensors>> results =
      interpret(function, arguments, run);
  if (comparison.divergence)
    return comparison;
  std::string program =
      "the program of " + std::to_string(mesh.getNumRanks()) + " ranks";
  if (failed(results)) {
    if (!reference.mayStop())
      return differ(program, errorLoc, error);
    comparison.unjudged.push_back(
        {program,
         formatLocation(errorLoc),
         {},
         "it stops (" + error +
             "), and so does the one-device program with another rounding (" +
             reference.getStop().str() + ")"});
    return comparison;
  }
  compareResults(function, mesh, reference, *results, comparison);
  return comparison;
}

void Divergence::print(llvm::raw_ostream &os) const {
  os << what << " at " << location;
  if (!iterations.empty()) {
    os << ", iteration ";
    llvm::interleaveComma(iterations, os);
  }
  os << ": " << problem;
}

} // namespace tp
