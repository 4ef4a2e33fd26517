//===- Derivative.cpp - Gradients against differences ---------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program in f64, its parameters moved, and the comparison.
//
//===----------------------------------------------------------------------===//

#include "tp/Verify/Derivative.h"

#include "mlir/Pass/PassManager.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/NN/Transforms/Passes.h"
#include "tp/Dialect/TP/IR/ModelAttributes.h"
#include "tp/Dialect/TP/IR/ParameterNames.h"
#include "tp/Verify/Passes.h"
#include "tp/Verify/Stages.h"
#include <cmath>

using namespace mlir;
using namespace tp;
using namespace tp::interp;

namespace {
/// The parameters of another provider, one of them moved.
class MovedParameters : public ParameterProvider {
public:
  explicit MovedParameters(ParameterProvider &base) : base(base) {}

  FailureOr<Tensor> get(const ParameterRequest &request,
                        function_ref<InFlightDiagnostic()> emitError) override {
    FailureOr<Tensor> value = base.get(request, emitError);
    if (failed(value) || request.name != name || request.source != source)
      return value;
    Tensor moved = value->clone();
    for (int64_t i = 0; i < moved.getNumElements(); ++i)
      moved.setFloat(i, moved.getFloat(i) + step * direction.getFloat(i));
    return moved;
  }

  std::string name;
  ParameterSourceAttr source;
  Tensor direction;
  double step = 0;

private:
  ParameterProvider &base;
};

/// One tensor of the checkpoint, and its gradient.
struct Checked {
  std::string name;
  ParameterSourceAttr source;
  Tensor gradient;
};

class DerivativeCheck {
public:
  DerivativeCheck(ModuleOp module, const VerifyOptions &options,
                  Recompute recompute)
      : module(module), options(options), recompute(recompute),
        random(options.seed),
        moved(options.parameters ? *options.parameters : random) {}

  FailureOr<DerivativeReport> run();

private:
  ModuleOp module;
  const VerifyOptions &options;
  Recompute recompute;
  RandomParameters random;
  MovedParameters moved;
  func::FuncOp forward, gradient;
  unsigned lossResult = 0;
  SmallVector<Tensor> inputs;
  DerivativeReport report;

  LogicalResult prepare();
  FailureOr<SmallVector<Tensor>> evaluate(func::FuncOp function);
  FailureOr<double> evaluateLoss(double step);
  FailureOr<SmallVector<Checked>> getGradients();
  LogicalResult check(const Checked &checked);
  /// The first parameter of the loss that has no gradient.
  void findMissing(ArrayRef<Checked> all);
};
} // namespace

/// The first result with the attribute.
static std::optional<unsigned> findMarked(func::FuncOp function,
                                          StringRef name) {
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (function.getResultAttr(i, name))
      return i;
  return std::nullopt;
}

/// One slice of a stack.
static Tensor getSlice(const Tensor &stack, int64_t number) {
  SmallVector<int64_t> sizes(stack.getShape()), from(sizes.size(), 0);
  sizes[0] = 1;
  from[0] = number;
  Tensor slice(sizes, stack.getElementType());
  slice.copyBox(stack, from, SmallVector<int64_t>(sizes.size(), 0), sizes);
  return slice.reshaped(ArrayRef(sizes).drop_front());
}

LogicalResult DerivativeCheck::prepare() {
  bool given =
      llvm::any_of(module.getOps<func::FuncOp>(), [](func::FuncOp function) {
        return findMarked(function, TPDialect::getGradientAttrName());
      });
  // A padding row has no gradient though the loss depends on it, so that no
  // difference tells anything of it: here it is a row like any other.
  module->walk([](Operation *op) {
    if (isa<nn::EmbeddingOp, nn::EmbeddingBackwardOp>(op))
      op->removeAttr("padding_row");
  });
  // Parameters are moved, so that they stay what they are.
  module->removeAttr(TPDialect::getTrainingAttrName());
  if (!given)
    for (const VerifyStage &stage : makeFirstStages(recompute))
      if (failed(stage.run(module)))
        return failure();
  PassManager passes(module.getContext());
  passes.addPass(createDecomposeNN());
  passes.addPass(createWidenFloats());
  if (failed(passes.run(module)))
    return failure();
  for (auto function : module.getOps<func::FuncOp>()) {
    if (findMarked(function, TPDialect::getGradientAttrName()))
      gradient = function;
    else if (auto loss = findMarked(function, TPDialect::getLossAttrName());
             loss && !forward) {
      forward = function;
      lossResult = *loss;
    }
  }
  if (!forward)
    return module.emitError() << "expected a function with a result marked "
                              << TPDialect::getLossAttrName()
                              << " to check the derivative of, got none";
  FailureOr<SmallVector<Tensor>> made = makeInputs(forward, options.seed);
  if (failed(made))
    return failure();
  inputs = std::move(*made);
  return success();
}

FailureOr<SmallVector<Tensor>>
DerivativeCheck::evaluate(func::FuncOp function) {
  InterpreterOptions run;
  run.parameters = &moved;
  return interpretOneRank(function, inputs, run);
}

FailureOr<double> DerivativeCheck::evaluateLoss(double step) {
  moved.step = step;
  FailureOr<SmallVector<Tensor>> results = evaluate(forward);
  if (failed(results))
    return failure();
  return (*results)[lossResult].getFloat(0);
}

/// Run the gradient function; one entry for each tensor of the checkpoint, in
/// the order in which the backward comes to them: a fault goes on to all that
/// is before it in the program, and the first entry that has it is nearest.
FailureOr<SmallVector<Checked>> DerivativeCheck::getGradients() {
  if (!gradient) // of no parameters
    return SmallVector<Checked>();
  FailureOr<SmallVector<Tensor>> results = evaluate(gradient);
  if (failed(results))
    return failure();
  SmallVector<std::pair<GradientAttr, Tensor>> marked;
  for (auto [i, result] : llvm::enumerate(*results))
    if (auto mark = gradient.getResultAttrOfType<GradientAttr>(
            i, TPDialect::getGradientAttrName()))
      marked.push_back({mark, result});
  auto countLayers = [](const std::pair<GradientAttr, Tensor> &entry) {
    bool isTemplate = entry.first.getName().getValue().contains("{i}");
    return isTemplate ? entry.second.getShape()[0] : 0;
  };
  SmallVector<Checked> all;
  while (!marked.empty()) {
    // Templates of the same layers, the last layer first.
    auto &[last, value] = marked.back();
    int64_t count = countLayers(marked.back());
    if (count == 0) {
      all.push_back({last.getName().str(), last.getSource(), value});
      marked.pop_back();
      continue;
    }
    size_t begin = marked.size();
    while (begin > 0 && countLayers(marked[begin - 1]) == count &&
           marked[begin - 1].first.getFirst() == last.getFirst())
      --begin;
    for (int64_t layer = count - 1; layer >= 0; --layer)
      for (auto &[mark, stack] : llvm::reverse(ArrayRef(marked).slice(begin)))
        all.push_back(
            {instantiate(mark.getName().getValue(), mark.getFirst() + layer),
             mark.getSource(), getSlice(stack, layer)});
    marked.truncate(begin);
  }
  return all;
}

LogicalResult DerivativeCheck::check(const Checked &checked) {
  moved.name = checked.name;
  moved.source = checked.source;
  int64_t size = checked.gradient.getNumElements();
  double length = 0;
  for (int64_t i = 0; i < size; ++i)
    length += std::pow(checked.gradient.getFloat(i), 2);
  // A step of a thousandth of what parameters are, then shorter ones.
  double step = 1e-3;
  for (int attempt = 0; attempt < 6; ++attempt, step /= 4) {
    moved.direction =
        Tensor(checked.gradient.getShape(), checked.gradient.getElementType());
    double expected = 0;
    for (int64_t i = 0; i < size; ++i) {
      double part = 2 * uniform(options.seed + attempt,
                                "direction of " + checked.name, i) -
                    1;
      moved.direction.setFloat(i, part);
      expected += part * checked.gradient.getFloat(i);
    }
    double values[4];
    const double places[] = {step, -step, 2 * step, -2 * step};
    for (auto [value, place] : llvm::zip(values, places)) {
      FailureOr<double> loss = evaluateLoss(place);
      if (failed(loss))
        return failure();
      value = *loss;
    }
    double near = (values[0] - values[1]) / (2 * step);
    double far = (values[2] - values[3]) / (4 * step);
    double found = (4 * near - far) / 3, spread = std::abs(near - far);
    // The gradient along one of the random directions.
    double scale =
        std::abs(found) + (std::isfinite(length) ? std::sqrt(length / 3) : 0);
    double rounding = 1e-13 * std::abs(values[0]) / step;
    if (!(spread <= 3e-3 * std::abs(found) + rounding))
      continue;
    double allowed = 1e-7 * scale + spread / 16 + rounding;
    double difference = std::abs(found - expected);
    if (!(difference <= allowed))
      report.difference = {
          checked.name,
          llvm::formatv("along a random direction the loss changes by {0:e6} "
                        "a unit, and the gradient says {1:e6}: they differ by "
                        "{2:e1}, where {3:e1} is allowed",
                        found, expected, difference, allowed)};
    if (allowed > 0)
      report.worst = std::max(report.worst, difference / allowed);
    return success();
  }
  report.unjudged.push_back(checked.name);
  return success();
}

void DerivativeCheck::findMissing(ArrayRef<Checked> all) {
  forward.walk([&](ParameterOp op) {
    NameRange names = getNames(op);
    if (!isa<FloatType>(getElementTypeOrSelf(op.getType())))
      return;
    for (int64_t i = names.first; i < names.first + names.count; ++i) {
      std::string name = instantiate(names.pattern, i);
      bool known = llvm::any_of(all, [&](const Checked &checked) {
        return checked.name == name && checked.source == op.getSourceAttr();
      });
      if (!known && !report.difference)
        report.difference = {name, "the program has none"};
    }
  });
}

FailureOr<DerivativeReport> DerivativeCheck::run() {
  if (failed(prepare()))
    return failure();
  FailureOr<SmallVector<Checked>> all = getGradients();
  if (failed(all))
    return failure();
  for (const Checked &checked : *all) {
    ++report.numParameters;
    if (failed(check(checked)))
      return failure();
    if (report.difference)
      return report;
  }
  findMissing(*all);
  return report;
}

FailureOr<DerivativeReport> tp::verifyDerivative(ModuleOp module,
                                                 const VerifyOptions &options,
                                                 Recompute recompute) {
  return DerivativeCheck(module, options, recompute).run();
}

void DerivativeReport::print(llvm::raw_ostream &os) const {
  os << "derivative: ";
  if (difference)
    os << "differs first at the gradient of '" << difference->parameter
       << "': " << difference->problem << "\n";
  else
    os << "equal, gradients of " << numParameters - unjudged.size()
       << " parameters compared, largest difference "
       << llvm::format("%.2g", worst) << " of the tolerance\n";
  for (const std::string &name : unjudged)
    os << "derivative: cannot judge the gradient of '" << name
       << "': the loss bends within every step along it\n";
}

llvm::json::Value DerivativeReport::toJSON() const {
  llvm::json::Object object{{"equal", !difference.has_value()},
                            {"parameters", numParameters},
                            {"worst", worst},
                            {"unjudged", llvm::json::Array(unjudged)}};
  if (difference)
    object["difference"] = llvm::json::Object{
        {"parameter", difference->parameter}, {"problem", difference->problem}};
  return object;
}
