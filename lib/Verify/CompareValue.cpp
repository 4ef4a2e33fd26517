//===- CompareValue.cpp - The parts of one value against the whole --------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every replica of every part, element by element, each with its own tolerance.
//
//===----------------------------------------------------------------------===//

#include "CompareValue.h"

#include "tp/Interpreter/Distribute.h"
#include "tp/Resolve/Provenance.h"

#include <cmath>

using namespace mlir;
using namespace tp::interp;

namespace tp {

/// "1.25", "-inf", with the digits that tell floats apart.
static std::string formatNumber(const Tensor &tensor, double value) {
  if (!tensor.getElementType().isFloat())
    return std::to_string(int64_t(value));
  std::string text;
  bool isWide = tensor.getElementType().kind == ElementType::F64;
  llvm::raw_string_ostream(text)
      << llvm::format(isWide ? "%.17g" : "%.9g", value);
  return text;
}

static std::string formatShape(ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(shape, os, "x");
  return "[" + text + "]";
}

std::string formatLocation(Location loc) {
  std::string text = toString(loc);
  return text.empty() ? "an unknown location" : text;
}

std::optional<Tensor> getMagnitudes(const RankTensors &locals,
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
                  ArrayRef<int64_t> local, ArrayRef<int64_t> sizes) {
                SmallVector<int64_t> partStrides = part.getStrides();
                int64_t count = 1;
                for (int64_t size : sizes)
                  count *= std::max<int64_t>(size, 0);
                SmallVector<int64_t> index(sizes.size(), 0);
                for (int64_t n = 0; n < count && goesOn; ++n) {
                  int64_t from = 0, at = 0;
                  for (auto [dim, i] : llvm::enumerate(index)) {
                    from += (local[dim] + i) * partStrides[dim];
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
static std::string compareNumbers(const Observation &observation,
                                  const Reference::Value &expected,
                                  const Mesh &mesh, Reference &reference,
                                  double &worst) {
  const auto &[locals, sharding] =
      std::tie(observation.locals, observation.sharding);
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
        bool overflows = magnitudes
                             ? std::isinf(magnitudes->getFloat(at)) ||
                                   (observation.scalesParts && std::isinf(want))
                             : observation.addsUnseen && std::isinf(want);
        if (std::isnan(got) &&
            (overflows ||
             reference.mayFollowOverflow(expected, observation.isOriginal))) {
          reference.noteOverflow(expected);
          return true;
        }
        // A value that hangs on rounding alone has no largest change (quotients
        // by what cancels); only gross errors show.
        bool isJudged = expected.isJudged(at);
        if (!isJudged && !std::isfinite(got))
          return true;
        if (!isJudged)
          allowed *= 16;
        else if (allowed >= std::abs(want))
          allowed *= 4;
        if (magnitudes)
          allowed +=
              std::max(getUnit(type, magnitudes->getFloat(at)),
                       expected.addendEpsilon * magnitudes->getFloat(at));
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

std::string checkLayout(const RankTensors &locals,
                        const Reference::Value &expected,
                        const TensorSharding &sharding, const Mesh &mesh) {
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
  return "";
}

std::string compareValue(const Observation &observation,
                         const Reference::Value &expected, const Mesh &mesh,
                         Reference &reference, double &worst) {
  std::string misfit =
      checkLayout(observation.locals, expected, observation.sharding, mesh);
  if (!misfit.empty())
    return misfit;
  while (true) {
    std::string problem =
        compareNumbers(observation, expected, mesh, reference, worst);
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

} // namespace tp
