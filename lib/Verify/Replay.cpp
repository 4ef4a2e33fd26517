//===- Replay.cpp - Judge a program one operation at a time ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ranks' program runs once more and everything that it makes is kept; the
// one-device program then goes on, after each operation, with what the ranks
// had there. Both are done only where the plain comparison does not decide.
//
//===----------------------------------------------------------------------===//

#include "Replay.h"

#include "tp/Interpreter/Distribute.h"

#include <cmath>

using namespace mlir;
using namespace tp::interp;

namespace tp {

LogicalResult compareObservation(const Observation &observation,
                                 const Mesh &mesh, Reference &reference,
                                 Comparison &comparison) {
  const Reference::Value *expected =
      observation.key ? reference.find(*observation.key)
                      : &reference.getResults()[observation.resultNumber];
  if (!expected)
    return success();
  ++(observation.key ? comparison.numValues : comparison.numResults);
  int64_t overflows = reference.getNumOverflows();
  std::string problem =
      compareValue(observation, *expected, mesh, reference, comparison.worst);
  comparison.numUnjudgedElements += reference.getNumOverflows() - overflows;
  ArrayRef<int64_t> iterations;
  if (observation.key)
    iterations = observation.key->iterations;
  if (problem.empty()) {
    if (observation.isOriginal)
      noteUnjudged(comparison, *expected, observation.what,
                   observation.location, iterations, reference.getStop());
    return success();
  }
  comparison.divergence =
      Divergence{observation.what, observation.location,
                 SmallVector<int64_t>(iterations), observation.which + problem};
  return failure();
}

/// The ranks' parts of each value, put together: of these the one that is no
/// sum over ranks, if there is one, for that part was read.
static std::map<ValueKey, Tensor>
assembleAll(ArrayRef<Observation> observations, const Mesh &mesh,
            const Reference &reference) {
  std::map<ValueKey, const Observation *> chosen;
  for (const Observation &observation : observations) {
    if (!observation.key || observation.key->isArgument)
      continue;
    const Observation *&best = chosen[*observation.key];
    if (!best || best->sharding.isPartial() ||
        !observation.sharding.isPartial())
      best = &observation;
  }
  std::map<ValueKey, Tensor> assembled;
  for (const auto &[key, observation] : chosen)
    if (const Reference::Value *value = reference.find(key))
      assembled.insert(
          {key, assemble(observation->locals, value->tensor.getShape(),
                         observation->sharding, mesh)});
  return assembled;
}

/// Keep all that a run of the ranks hands out. Nothing where it is too much, or
/// where a value has no whole: another shape is wrong whatever the operands.
static std::optional<std::vector<Observation>>
observeAll(const Mesh &mesh, const Reference &reference, RanksRun run,
           const VerifyOptions &options, bool mayStop) {
  std::vector<Observation> observations;
  int64_t bytes = 0;
  bool isUsable = true, isTracked = false;
  LogicalResult hasRun = run(
      [&](Observation &observation) {
        for (const Tensor &local : observation.locals)
          bytes += local.getByteSize();
        isUsable &= bytes <= options.maxKeptBytes;
        if (observation.key)
          if (const Reference::Value *value =
                  reference.find(*observation.key)) {
            isTracked = true;
            isUsable &= checkLayout(observation.locals, *value,
                                    observation.sharding, mesh)
                            .empty();
          }
        observations.push_back(observation);
        return success(isUsable);
      },
      Disturbance());
  if (!isUsable || !isTracked || (failed(hasRun) && !mayStop))
    return std::nullopt;
  return observations;
}

/// A sum over ranks has the error of its addends, and so has what a collective
/// makes of it. The whole program's disturbances know that from the sum's
/// terms; those of one operation do not know that its operands cancelled.
static void allowAddends(ArrayRef<Observation> observations, const Mesh &mesh,
                         Reference &replayed) {
  for (const Observation &observation : observations) {
    const Reference::Value *value =
        observation.key ? replayed.find(*observation.key) : nullptr;
    if (!value)
      continue;
    std::optional<Tensor> magnitudes =
        getMagnitudes(observation.locals, value->tensor.getShape(),
                      observation.sharding, mesh);
    if (!magnitudes)
      continue;
    double epsilon = std::max(getEpsilon(value->tensor.getElementType()),
                              value->addendEpsilon);
    SmallVector<double> slack;
    for (int64_t i = 0; i < magnitudes->getNumElements(); ++i)
      slack.push_back(2 * epsilon * magnitudes->getFloat(i));
    replayed.allow(*observation.key, slack);
  }
}

/// Allows for the ranks' own roundings of each operation, which goes on with
/// its operands: parts may be larger than the whole, and cancel within an
/// operation.
static void allowRoundings(ArrayRef<Observation> observations, const Mesh &mesh,
                           Reference &replayed, RanksRun run) {
  std::map<ValueKey, SmallVector<double>> slacks;
  for (const Disturbance &disturbance :
       makeDisturbances(replayed.getNumPairs())) {
    size_t next = 0;
    (void)run(
        [&](Observation &observation) -> LogicalResult {
          if (next == observations.size())
            return failure();
          const Observation &kept = observations[next++];
          const Reference::Value *value =
              kept.key ? replayed.find(*kept.key) : nullptr;
          if (!value)
            return success();
          RankTensors disturbed =
              std::exchange(observation.locals, kept.locals);
          if (!value->tensor.getElementType().isFloat())
            return success();
          ArrayRef<int64_t> shape = value->tensor.getShape();
          Tensor was = assemble(kept.locals, shape, kept.sharding, mesh);
          Tensor is = assemble(disturbed, shape, kept.sharding, mesh);
          SmallVector<double> &slack = slacks[*kept.key];
          slack.resize(was.getNumElements(), 0);
          for (auto [i, most] : llvm::enumerate(slack))
            if (double change = std::abs(was.getFloat(i) - is.getFloat(i));
                std::isfinite(change))
              most = std::max(most, change);
          return success();
        },
        disturbance);
  }
  for (const auto &[key, slack] : slacks)
    replayed.allow(key, slack);
}

Comparison judgeByOperation(Comparison first, const Mesh &mesh,
                            const Reference &reference, RanksRun run,
                            const VerifyOptions &options) {
  bool isDecided = !first.divergence && first.numUnjudgedElements == 0;
  if (isDecided || reference.getNumDropped())
    return first;
  auto observations =
      observeAll(mesh, reference, run, options, /*mayStop=*/false);
  if (!observations)
    return first;
  FailureOr<Reference> replayed =
      reference.replay(assembleAll(*observations, mesh, reference));
  if (failed(replayed))
    return first;
  allowAddends(*observations, mesh, *replayed);
  allowRoundings(*observations, mesh, *replayed, run);
  Comparison second;
  second.isByOperation = true;
  for (const Observation &observation : *observations)
    if (failed(compareObservation(observation, mesh, *replayed, second)))
      break;
  // The first of the program that differs is what a reader can make sense of.
  if (first.divergence && second.divergence)
    return first;
  return second;
}

std::string findStopByOperation(const Mesh &mesh, const Reference &reference,
                                RanksRun run, const VerifyOptions &options) {
  if (reference.getNumDropped())
    return "";
  auto observations =
      observeAll(mesh, reference, run, options, /*mayStop=*/true);
  if (!observations)
    return "";
  return reference.findStop(assembleAll(*observations, mesh, reference));
}

} // namespace tp
