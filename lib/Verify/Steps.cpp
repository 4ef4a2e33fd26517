//===- Steps.cpp - Steps that carry states, one after the other -----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ranks carry their states: parts with whatever lies past their end,
// addends where a state is partial. Before each step those are put together,
// and the one-device program makes the step from that. So a difference is of
// one step, and no rounding of the steps before it is held against it; that
// each step begins with what the last one was compared at makes it one chain
// from the initial values on.
//
//===----------------------------------------------------------------------===//

#include "Steps.h"
#include "Replay.h"
#include "Session.h"

#include "tp/Dialect/TP/IR/ParameterNames.h"
#include "tp/Interpreter/Distribute.h"

using namespace mlir;
using namespace tp::interp;

namespace tp {

/// The tensors of the checkpoint that a state begins with, one after the other.
static FailureOr<Tensor> readParameter(StateOp state,
                                       ParameterProvider &provider) {
  RankedTensorType type = state.getGlobalType();
  Tensor all(type.getShape(), *getElementType(type));
  SmallVector<NameRange, 2> names = getAllNames(state);
  for (int64_t i = 0; i < names.front().count; ++i) {
    ParameterRequest request;
    int64_t layer = names.front().first + i;
    request.name = instantiate(names.front().pattern, layer);
    for (const NameRange &other : ArrayRef(names).drop_front())
      request.alternatives.push_back(instantiate(other.pattern, layer));
    request.source = state.getSourceAttr();
    llvm::append_range(request.shape, state.getParameterType().getShape());
    request.type = *getElementType(type);
    FailureOr<Tensor> tensor =
        provider.get(request, [&] { return state.emitError(); });
    if (failed(tensor) || !state.isStack())
      return tensor;
    SmallVector<int64_t> sizes(type.getShape()), to(sizes.size(), 0);
    SmallVector<int64_t> from = to;
    sizes[0] = 1;
    to[0] = i;
    all.copyBox(tensor->reshaped(sizes), from, to, sizes);
  }
  return all;
}

static FailureOr<Tensor> makeInitial(StateOp state,
                                     const VerifyOptions &options) {
  RandomParameters random(options.seed);
  if (state.getParameter())
    return readParameter(state,
                         options.parameters ? *options.parameters : random);
  RankedTensorType type = state.getGlobalType();
  Tensor tensor(type.getShape(), *getElementType(type));
  for (int64_t i = 0; state.getOnes() && i < tensor.getNumElements(); ++i)
    if (tensor.getElementType().isFloat())
      tensor.setFloat(i, 1);
    else
      tensor.setInt(i, 1);
  return tensor;
}

namespace {
/// Carries the states through the steps of the per-rank program.
class Carrier {
public:
  virtual ~Carrier() = default;
  virtual FailureOr<NamedTensors> getStates() = 0;
  /// Makes pages of pools no number, where that is in our hands: of a compiled
  /// program the memory is its own, and holds what was there before.
  virtual void poison(const FreedPages &freed) {}
  /// Makes the step that `reference` is of, and compares it.
  virtual FailureOr<Comparison> step(StringRef function,
                                     Reference &reference) = 0;
};

class InterpretedCarrier : public Carrier {
public:
  InterpretedCarrier(ModuleOp perRank, const Mesh &mesh,
                     const NamedTensors &initial, const VerifyOptions &options)
      : perRank(perRank), mesh(mesh), options(options) {
    for (auto state : perRank.getOps<StateOp>()) {
      std::string name = state.getSymName().str();
      const Tensor &whole = initial.at(name);
      shapes[name] = SmallVector<int64_t>(whole.getShape());
      layouts[name] = getBoundaryLayout(state.getShardingAttr(), whole, mesh);
      states[name] =
          distribute(whole, layouts[name], mesh, PaddingFill::Poison);
    }
  }
  FailureOr<NamedTensors> getStates() override {
    NamedTensors whole;
    for (const auto &[name, locals] : states)
      whole[name] = assemble(locals, shapes[name], layouts[name], mesh);
    return whole;
  }
  void poison(const FreedPages &freed) override {
    for (auto &[name, locals] : states)
      for (Tensor &local : locals)
        poisonPages(name, local, freed);
  }
  FailureOr<Comparison> step(StringRef function,
                             Reference &reference) override {
    return compareStep(perRank.lookupSymbol<func::FuncOp>(function), mesh,
                       reference, states, options);
  }

private:
  ModuleOp perRank;
  const Mesh &mesh;
  const VerifyOptions &options;
  RankStates states;
  std::map<std::string, SmallVector<int64_t>> shapes;
  std::map<std::string, TensorSharding> layouts;
};

class NativeCarrier : public Carrier {
public:
  NativeCarrier(ModuleOp perRank, std::unique_ptr<NativeProgram> program,
                const VerifyOptions &options)
      : perRank(perRank), program(std::move(program)), options(options) {}
  FailureOr<NamedTensors> getStates() override;
  FailureOr<Comparison> step(StringRef function, Reference &reference) override;

private:
  ModuleOp perRank;
  std::unique_ptr<NativeProgram> program;
  const VerifyOptions &options;
};
} // namespace

FailureOr<NamedTensors> NativeCarrier::getStates() {
  NamedTensors whole;
  int64_t index = 0;
  for (auto state : perRank.getOps<StateOp>()) {
    FailureOr<Tensor> got = program->getState(index++);
    if (failed(got))
      return failure();
    // Floats come as f32.
    Tensor tensor(got->getShape(), *getElementType(state.getType()));
    for (int64_t i = 0; i < tensor.getNumElements(); ++i)
      if (tensor.getElementType().isFloat())
        tensor.setFloat(i, got->getFloat(i));
      else
        tensor.setInt(i, got->getInt(i));
    whole[state.getSymName().str()] = tensor;
  }
  return whole;
}

FailureOr<Comparison> NativeCarrier::step(StringRef name,
                                          Reference &reference) {
  auto function = perRank.lookupSymbol<func::FuncOp>(name);
  SmallVector<Tensor> inputs;
  for (auto [index, input] : llvm::enumerate(reference.getInputs()))
    if (!getArgState(function, index))
      inputs.push_back(input);
  Comparison comparison;
  std::string fault;
  FailureOr<SmallVector<Tensor>> outputs = program->run(name, inputs, fault);
  if (failed(outputs)) {
    if (fault.empty())
      return failure();
    comparison.divergence = Divergence{
        "the compiled program", formatLocation(function.getLoc()), {}, fault};
    return comparison;
  }
  FailureOr<NamedTensors> states = getStates();
  if (failed(states))
    return failure();
  size_t next = 0;
  for (auto [index, expected] : llvm::enumerate(reference.getResults())) {
    FlatSymbolRefAttr state = getResultState(function, index);
    Observation observation = observeNative(
        state ? (*states)[state.getValue().str()] : (*outputs)[next++],
        expected);
    observation.resultNumber = index;
    observation.what = "result " + std::to_string(index) + " of @" + name.str();
    observation.location = formatLocation(function.getLoc());
    if (failed(compareObservation(observation, Mesh(), reference, comparison)))
      break;
  }
  if (!comparison.divergence && comparison.numUnjudgedElements == 0)
    return comparison;
  // If the states are values, a difference has a name; and if the program hangs
  // on rounding, each operation is judged.
  FailureOr<Comparison> named =
      compareExecuted(perRank, name, reference, options);
  if (failed(named) || named->divergence || named->isByOperation)
    return named;
  return comparison;
}

FailureOr<SmallVector<Tensor>> makeStepInputs(func::FuncOp function,
                                              const NamedTensors &states,
                                              const NamedTensors *given,
                                              uint64_t seed) {
  FailureOr<SmallVector<Tensor>> inputs = makeInputs(function, seed);
  if (failed(inputs))
    return failure();
  for (auto [index, input] : llvm::enumerate(*inputs))
    if (FlatSymbolRefAttr state = getArgState(function, index))
      input = states.at(state.getValue().str());
  if (given)
    for (const auto &[name, tensor] : *given) {
      FailureOr<unsigned> index = findArgument(function, name);
      if (failed(index))
        return failure();
      Tensor &input = (*inputs)[*index];
      if (input.getShape() != tensor.getShape())
        return function.emitError()
               << "expected input '" << name << "' of @"
               << function.getSymName() << " to be as tp.generation says";
      input = tensor;
    }
  return inputs;
}

/// The difference between the states that a program begins with and those that
/// it should; empty if there is none.
static std::string compareInitial(const NamedTensors &expected,
                                  const NamedTensors &got) {
  for (const auto &[name, tensor] : expected) {
    auto found = got.find(name);
    if (found == got.end() || found->second.getShape() != tensor.getShape())
      return "state @" + name + " is not kept by the ranks as it is declared";
    const Tensor &other = found->second;
    for (int64_t i = 0; i < tensor.getNumElements(); ++i)
      if (tensor.getNumber(i) != other.getNumber(i))
        return "state @" + name + " begins with " +
               std::to_string(other.getNumber(i)) + " instead of " +
               std::to_string(tensor.getNumber(i)) + " at element " +
               std::to_string(i);
  }
  return "";
}

void append(Comparison &all, Comparison step, int64_t number) {
  all.numValues += step.numValues;
  all.numResults += step.numResults;
  all.numUnjudgedElements += step.numUnjudgedElements;
  all.worst = std::max(all.worst, step.worst);
  all.isByOperation |= step.isByOperation;
  std::string where = "in step " + std::to_string(number) + ", ";
  for (Unjudged &value : step.unjudged) {
    value.reason = where + value.reason;
    all.unjudged.push_back(std::move(value));
  }
  if (step.divergence) {
    all.divergence = std::move(step.divergence);
    all.divergence->problem = where + all.divergence->problem;
  }
}

FailureOr<NamedTensors> makeInitialStates(ModuleOp module,
                                          const VerifyOptions &options) {
  NamedTensors states;
  for (auto state : module.getOps<StateOp>()) {
    FailureOr<Tensor> tensor = makeInitial(state, options);
    if (failed(tensor))
      return failure();
    states[state.getSymName().str()] = *tensor;
  }
  return states;
}

static FailureOr<std::unique_ptr<Carrier>>
makeCarrier(ModuleOp perRank, const Mesh &mesh, Check check,
            const VerifyOptions &options) {
  if (check == Check::Execute) {
    auto native = NativeProgram::open(perRank, /*keepsStates=*/true, options);
    if (failed(native))
      return failure();
    return std::unique_ptr<Carrier>(
        std::make_unique<NativeCarrier>(perRank, std::move(*native), options));
  }
  FailureOr<NamedTensors> initial = makeInitialStates(perRank, options);
  if (failed(initial))
    return failure();
  return std::unique_ptr<Carrier>(
      std::make_unique<InterpretedCarrier>(perRank, mesh, *initial, options));
}

/// One run: what the ranks make of their states against what the one-device
/// program makes of them.
static FailureOr<Comparison> compareRun(ModuleOp program, const EntryRun &run,
                                        const NamedTensors &states,
                                        Carrier &carrier,
                                        const VerifyOptions &options) {
  auto function = program.lookupSymbol<func::FuncOp>(run.entry);
  FailureOr<SmallVector<Tensor>> inputs = makeStepInputs(
      function, states, run.scripted ? &run.scripted->inputs : nullptr,
      options.seed + run.number);
  if (failed(inputs))
    return failure();
  FailureOr<Reference> reference = Reference::run(function, *inputs, options);
  if (failed(reference))
    return failure();
  return carrier.step(run.entry, *reference);
}

FailureOr<Comparison> compareSteps(ModuleOp program, ModuleOp perRank,
                                   const Mesh &mesh, Check check,
                                   ArrayRef<EntryRun> runs,
                                   const VerifyOptions &options) {
  FailureOr<NamedTensors> initial = makeInitialStates(program, options);
  auto carrier = makeCarrier(perRank, mesh, check, options);
  if (failed(initial) || failed(carrier))
    return failure();
  Comparison all;
  FailureOr<NamedTensors> states = (*carrier)->getStates();
  if (failed(states))
    return failure();
  if (std::string problem = compareInitial(*initial, *states);
      !problem.empty()) {
    all.divergence = Divergence{
        "the program", formatLocation(program.getLoc()), {}, problem};
    return all;
  }
  for (const EntryRun &run : runs) {
    if (run.scripted)
      (*carrier)->poison(run.scripted->freed);
    states = (*carrier)->getStates();
    FailureOr<Comparison> step =
        failed(states) ? FailureOr<Comparison>(failure())
                       : compareRun(program, run, *states, **carrier, options);
    if (failed(step))
      return failure();
    append(all, std::move(*step), run.number);
    if (all.divergence)
      break;
  }
  return all;
}

} // namespace tp
