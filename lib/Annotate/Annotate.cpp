//===- Annotate.cpp - tp-annotate -----------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declares the mesh and applies the rules of a plan to parameters, arguments,
// results, values and carried values. For each tensor the first rule that
// matches counts; what is annotated already stays. A built-in plan that finds
// nothing to split, a rule of a user's plan that matches nothing, or an axis of
// the mesh that cuts nothing, is an error: a program must never be replicated
// silently.
//
//===----------------------------------------------------------------------===//

#include "Annotator.h"
#include "Axes.h"
#include "DeclareMesh.h"
#include "Groups.h"
#include "Heads.h"
#include "Kept.h"
#include "Weights.h"
#include "tp/Annotate/Passes.h"
#include "tp/Dialect/TP/IR/ModelAttributes.h"
#include "tp/Dialect/TP/IR/ParameterNames.h"
#include "tp/Dialect/TP/IR/Phase.h"
#include "tp/Resolve/Provenance.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

namespace tp {
#define GEN_PASS_DEF_ANNOTATE
#include "tp/Annotate/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// `sharding` with other dimensions.
static ShardingAttr replaceDims(ShardingAttr sharding,
                                ArrayRef<DimShardingAttr> dims) {
  return ShardingAttr::get(sharding.getContext(), sharding.getMesh(), dims, {},
                           ReductionKind::Sum);
}

/// `sharding` of each slice as that of a stack of them, in which none is cut
/// off.
static ShardingAttr addWholeDim(ShardingAttr sharding) {
  SmallVector<DimShardingAttr> dims(sharding.getDims());
  dims.insert(dims.begin(), DimShardingAttr::get(sharding.getContext(), {}, 1,
                                                 /*isOpen=*/false));
  return replaceDims(sharding, dims);
}

Location RuleTarget::getLoc() const {
  return weight  ? weight->getLoc()
         : value ? value.getLoc()
                 : const_cast<RuleTarget *>(this)->function.getLoc();
}

ShardingAttr RuleTarget::getSharding() const {
  if (kind == PlanRule::Kind::Kept) {
    ShardingAttr stack = tp::getSharding(value);
    return stack ? replaceDims(stack, stack.getDims().drop_front()) : stack;
  }
  return weight  ? getWeightSharding(weight)
         : value ? tp::getSharding(value)
                 : getResultSharding(function, index);
}

void RuleTarget::setSharding(ShardingAttr sharding) const {
  if (kind == PlanRule::Kind::Kept)
    tp::setSharding(value, addWholeDim(sharding));
  else if (weight)
    setWeightSharding(weight, sharding);
  else if (value)
    tp::setSharding(value, sharding);
  else
    const_cast<RuleTarget *>(this)->function.setResultAttr(
        index, TPDialect::getShardingAttrName(), sharding);
}

//===----------------------------------------------------------------------===//
// Tensors that rules can match
//===----------------------------------------------------------------------===//

void Annotator::collectWeight(Operation *weight, RankedTensorType type) {
  RuleTarget target;
  target.kind = PlanRule::Kind::Parameter;
  for (const NameRange &names : getAllNames(weight))
    target.names.push_back(names.pattern.str());
  // Rules name the weight of a layer; its scales are cut as its values are.
  if (nn::DequantizeOp user = getDequantize(weight)) {
    if (user.getValues() != weight->getResult(0))
      return;
    auto names = target.names;
    for (StringRef name : names) {
      StringRef stack = name;
      // A stack of all experts is named as if it were not quantised.
      target.names.push_back(stack.consume_back("_blocks")
                                 ? stack.str()
                                 : (name.rsplit('.').first + ".weight").str());
    }
  }
  target.weight = weight;
  target.type = type;
  targets.push_back(std::move(target));
}

/// `value` of a layer as what rules with "kept" match; the sharding will be its
/// stack's.
static RuleTarget getKeptTarget(OpResult value) {
  RuleTarget target;
  target.kind = PlanRule::Kind::Kept;
  target.names.push_back(toString(value.getLoc()));
  target.value = value;
  target.type = cast<RankedTensorType>(value.getType());
  return target;
}

void Annotator::keepMatched(ModuleOp module) {
  if (llvm::none_of(plan.rules, [](const PlanRule &rule) {
        return rule.kind == PlanRule::Kind::Kept;
      }))
    return;
  keepValues(module, [&](OpResult value) {
    RuleTarget target = getKeptTarget(value);
    bool isMatched = llvm::any_of(plan.rules, [&](const PlanRule &rule) {
      return isMatch(rule, target);
    });
    // For the list of nearest names.
    if (!isMatched)
      notKept.push_back(target.names.front());
    return isMatched;
  });
}

void Annotator::collectResults(Operation *op) {
  if (auto parameter = dyn_cast<ParameterOp>(op))
    return collectWeight(op, cast<RankedTensorType>(parameter.getType()));
  auto repeat = dyn_cast<RepeatOp>(op);
  for (OpResult result : op->getResults()) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (!type)
      continue;
    if (OpResult kept = getKeptValue(result)) {
      targets.push_back(getKeptTarget(kept));
      targets.back().value = result;
      continue;
    }
    RuleTarget target;
    target.kind = PlanRule::Kind::Value;
    target.at = toString(op->getLoc());
    target.names.push_back(op->getName().getStringRef().str());
    target.value = result;
    target.type = type;
    if (repeat) {
      if (result.getResultNumber() >= repeat.getInits().size())
        continue;
      target.kind = PlanRule::Kind::Carried;
      target.names = {target.at};
    }
    targets.push_back(std::move(target));
  }
}

void Annotator::collect(ModuleOp module) {
  // These follow their weights.
  SmallVector<StateOp> companions = getTrainingStates(module);
  for (auto state : module.getOps<StateOp>())
    if (state.getParameter() && !llvm::is_contained(companions, state))
      collectWeight(state, state.getParameterType());
  auto isWeight = [&](FlatSymbolRefAttr symbol) {
    StateOp state = symbol ? lookupState(module, symbol) : StateOp();
    return state &&
           (state.getParameter() || llvm::is_contained(companions, state));
  };
  for (auto function : module.getOps<func::FuncOp>()) {
    auto add = [&](PlanRule::Kind kind, Type type, DictionaryAttr attrs,
                   unsigned index, Value value) {
      auto shaped = dyn_cast<RankedTensorType>(type);
      if (!shaped)
        return;
      RuleTarget target;
      target.kind = kind;
      auto given = attrs ? attrs.getAs<StringAttr>(TPDialect::getNameAttrName())
                         : StringAttr();
      target.names.push_back(given ? given.str() : std::to_string(index));
      target.type = shaped;
      target.value = value;
      target.function = function;
      target.index = index;
      targets.push_back(std::move(target));
    };
    if (!function.isExternal())
      for (BlockArgument arg : function.getArguments())
        if (!isWeight(getArgState(function, arg.getArgNumber())))
          add(PlanRule::Kind::Argument, arg.getType(),
              function.getArgAttrDict(arg.getArgNumber()), arg.getArgNumber(),
              arg);
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (!isWeight(getResultState(function, i)))
        add(PlanRule::Kind::Result, function.getResultTypes()[i],
            function.getResultAttrDict(i), i, Value());
    // Only what runs on tensors: not the bodies of linalg operations.
    auto visit = [&](Block &block, auto &self) -> void {
      for (Operation &op : block) {
        collectResults(&op);
        if (auto repeat = dyn_cast<RepeatOp>(op))
          self(*repeat.getBodyBlock(), self);
      }
    };
    for (Block &block : function.getBody())
      visit(block, visit);
  }
}

//===----------------------------------------------------------------------===//
// Applying a rule
//===----------------------------------------------------------------------===//

bool Annotator::knowsAllAxes() const {
  return plan.isBuiltin &&
         llvm::all_of(mesh.getAxes(), [&](const Mesh::Axis &known) {
           return llvm::any_of(plan.rules, [&](const PlanRule &rule) {
             return llvm::any_of(rule.dims, [&](const PlanDim &dim) {
               return llvm::any_of(dim.axes, [&](const PlanAxis &axis) {
                 return axis.name == known.name;
               });
             });
           });
         });
}

/// The axes that rules of the plan name, each once.
SmallVector<StringRef> Annotator::getPlanAxes() const {
  SmallVector<StringRef> names;
  for (const PlanRule &rule : plan.rules)
    for (const PlanDim &dim : rule.dims)
      for (const PlanAxis &axis : dim.axes)
        if (!llvm::is_contained(names, axis.name))
          names.push_back(axis.name);
  llvm::sort(names);
  return names;
}

/// A rule names an axis that the mesh does not have. A plan of ours is known by
/// all of its axes; of a file, the rule is what is to be mended.
LogicalResult Annotator::refuseAxis(const PlanRule &rule,
                                    const RuleTarget &target, StringRef name) {
  auto quoted = [](StringRef axis) { return ("\"" + axis + "\"").str(); };
  std::string known = llvm::join(llvm::map_range(mesh.getAxes(),
                                                 [&](const Mesh::Axis &axis) {
                                                   return quoted(axis.name);
                                                 }),
                                 ", ");
  if (!plan.isBuiltin)
    return error(rule, &target) << "expected an axis of the mesh (" << known
                                << "), got " << quoted(name);
  std::string all = llvm::join(llvm::map_range(getPlanAxes(), quoted), " and ");
  return error(rule, &target)
         << "shards over axes " << all << ", and the mesh has " << known;
}

/// Says once that the last of the parts is short.
void Annotator::reportPadding(StringRef what, int64_t size, int64_t shards) {
  if (!reported.insert({what.str(), size, shards}).second)
    return;
  int64_t part = llvm::divideCeil(size, shards);
  emitRemark(meshOp.getLoc())
      << "a " << what << " of " << size << " over " << shards << " ranks is "
      << part << " on each, " << part * shards - size << " of " << part * shards
      << " padding";
}

LogicalResult Annotator::resolve(const PlanRule &rule, const PlanDim &dim,
                                 const RuleTarget &target, unsigned index,
                                 DimSharding &out) {
  out.open = dim.open;
  for (const PlanAxis &axis : dim.axes) {
    std::optional<unsigned> found = mesh.findAxis(axis.name);
    if (!found && knowsAllAxes())
      continue;
    if (!found)
      return refuseAxis(rule, target, axis.name);
    int64_t whole = mesh.getAxis(*found).size;
    AxisRef ref{*found, axis.pre, axis.size == 0 ? whole : axis.size};
    if (ref.pre > whole || ref.size > whole ||
        whole % (ref.pre * ref.size) != 0)
      return error(rule, &target)
             << "expected the sub-axis \"" << axis.name << "\":(" << axis.pre
             << ")" << axis.size << " to divide the axis of size " << whole;
    out.axes.push_back(ref);
  }
  out.axes = canonicalize(out.axes);
  int64_t size = target.type.getDimSize(index);
  int64_t shards = getShardCount(out.axes);
  if (rule.even.empty() || size % shards == 0)
    return success();
  // A plan of the user's that asks for even parts gets them.
  if (plan.isBuiltin && shards <= size) {
    reportPadding(rule.even, size, shards);
    return success();
  }
  InFlightDiagnostic diag = error(rule, &target);
  diag << rule.even << " of " << size << " cannot be split over " << shards
       << " ranks of " << mesh.getName(out.axes) << ": " << shards
       << " does not divide " << size << "; lengths that fit are the multiples "
       << "of " << shards << ", such as ";
  if (int64_t below = size / shards * shards)
    diag << below << " or ";
  diag << (size / shards + 1) * shards << "; degrees that fit " << size << ": ";
  SmallVector<int64_t> degrees;
  for (int64_t d = 1; d <= std::min<int64_t>(size, 64); ++d)
    if (size % d == 0)
      degrees.push_back(d);
  llvm::interleaveComma(degrees, diag);
  if (rule.even == "batch")
    diag << "; --batch of tp-import and tp-compile sets it";
  return diag;
}

LogicalResult Annotator::apply(const PlanRule &rule, const RuleTarget &target) {
  unsigned rank = target.type.getRank();
  TensorSharding sharding = TensorSharding::replicated(rank);
  if (rule.dim) {
    if (*rule.dim >= rank)
      return error(rule, &target)
             << "expected a dimension of '" << target.names.front()
             << "' of type " << target.type << ", got " << *rule.dim;
    if (failed(resolve(rule, rule.dims[0], target, *rule.dim,
                       sharding.dims[*rule.dim])))
      return failure();
  } else if (!rule.whole) {
    if (rule.dims.size() != rank)
      return error(rule, &target)
             << "expected " << rank << " entries in dims for '"
             << target.names.front() << "' of type " << target.type << ", got "
             << rule.dims.size();
    for (unsigned d = 0; d < rank; ++d)
      if (failed(resolve(rule, rule.dims[d], target, d, sharding.dims[d])))
        return failure();
  }
  SmallVector<int64_t> shape(target.type.getShape());
  std::string why = verifySharding(shape, sharding, mesh);
  if (!why.empty())
    return error(rule, &target) << "'" << target.names.front() << "': " << why;
  auto symbol = FlatSymbolRefAttr::get(meshOp.getSymNameAttr());
  auto attr = ShardingAttr::get(meshOp.getContext(), symbol, mesh, sharding);
  anySplit |= llvm::any_of(
      sharding.dims, [](const DimSharding &dim) { return !dim.axes.empty(); });
  ++numAnnotated;
  applied.push_back({&rule, &target});
  target.setSharding(attr);
  return success();
}

//===----------------------------------------------------------------------===//
// The whole plan
//===----------------------------------------------------------------------===//

/// A step of generation has no batch and no sequence that ranks could share.
LogicalResult Annotator::checkGeneration(ModuleOp module) {
  if (!module->hasAttr(generationAttrName))
    return success();
  for (const PlanRule &rule : plan.rules)
    for (const PlanDim &dim : rule.dims)
      for (const PlanAxis &axis : dim.axes) {
        std::optional<unsigned> found = mesh.findAxis(axis.name);
        if (rule.even.empty() || !found)
          continue;
        int64_t size = axis.size ? axis.size : mesh.getAxis(*found).size;
        if (size == 1)
          continue;
        InFlightDiagnostic diag = error(rule, nullptr);
        diag << "a program that generates cannot split its " << rule.even
             << " over " << size << " ranks of \"" << axis.name
             << "\": a step takes single tokens of any requests on one cache; ";
        if (rule.even == "batch")
          return diag << "run " << size << " programs without \"" << axis.name
                      << "\", each with requests of its own";
        return diag << "plan 'megatron' leaves the " << rule.even << " whole";
      }
  return success();
}

/// The sharding that is declared of the state that an argument or result is.
static ShardingAttr getStateSharding(const RuleTarget &target) {
  Operation *function = target.function;
  FlatSymbolRefAttr symbol;
  if (target.weight)
    return {};
  if (auto argument = dyn_cast_or_null<BlockArgument>(target.value)) {
    function = argument.getOwner()->getParentOp();
    if (isa<func::FuncOp>(function))
      symbol = getArgState(function, argument.getArgNumber());
  } else if (!target.value) {
    symbol = getResultState(function, target.index);
  }
  StateOp state = symbol ? lookupState(function, symbol) : StateOp();
  return state ? state.getShardingAttr() : ShardingAttr();
}

/// A gradient is cut as its parameter is, the layers of a stack are whole.
static void annotateGradients(func::FuncOp function) {
  StringRef name = TPDialect::getShardingAttrName();
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto mark = function.getResultAttrOfType<GradientAttr>(
        i, TPDialect::getGradientAttrName());
    if (!mark || getResultSharding(function, i))
      continue;
    ShardingAttr sharding;
    function.walk([&](ParameterOp op) {
      if (op.getNameAttr() == mark.getName() &&
          op.getSourceAttr() == mark.getSource() && !sharding)
        sharding = getSharding(op.getResult());
    });
    auto type = cast<RankedTensorType>(function.getResultTypes()[i]);
    if (!sharding)
      continue;
    if (sharding.getDims().size() + 1 == size_t(type.getRank()))
      sharding = addWholeDim(sharding);
    function.setResultAttr(i, name, sharding);
  }
}

LogicalResult Annotator::run(ModuleOp module) {
  if (failed(checkGeneration(module)))
    return failure();
  keepMatched(module);
  collect(module);
  for (const RuleTarget &target : targets)
    if (!target.type.hasStaticShape())
      return emitError(target.getLoc())
             << "'" << target.names.front()
             << "': expected a tensor of static shape, got " << target.type
             << ": a program has one shape; compile one for each length";
  if (plan.isNone())
    return checkAxes(meshOp, plan);
  bool wasAnnotated = false;
  for (const RuleTarget &target : targets) {
    bool hasOwn = target.getSharding() || getStateSharding(target);
    wasAnnotated |= hasOwn;
    bool isNamed = hasOwn;
    for (auto [index, rule] : llvm::enumerate(plan.rules))
      if (isMatch(rule, target)) {
        ++matches[index];
        if (!hasOwn && failed(apply(rule, target)))
          return failure();
        isNamed = true;
        break;
      }
    if (!isNamed && target.kind == PlanRule::Kind::Parameter &&
        !llvm::is_contained(unnamed, target.names.front()))
      unnamed.push_back(target.names.front());
  }
  if (failed(checkMatched()))
    return failure();
  bool shouldSplit = plan.isBuiltin && plan.name != "replicated";
  if (shouldSplit && !anySplit && !wasAnnotated && mesh.getNumRanks() > 1)
    return refuseUncut(module);
  if (failed(fitHeads(module, mesh, allowsPadding, fitted)))
    return failure();
  if (failed(fitGroups(module, mesh)) ||
      failed(shardTrainingStates(module, meshOp)))
    return failure();
  for (auto function : module.getOps<func::FuncOp>())
    annotateGradients(function);
  if (failed(checkSizes()) || failed(checkAxes(meshOp, plan)))
    return failure();
  // Hand-annotated programs may use any names; do not warn.
  if (!plan.isBuiltin || !wasAnnotated)
    reportUnnamed(module);
  return success();
}

LogicalResult Annotator::refuseUncut(ModuleOp module) const {
  InFlightDiagnostic diag = module.emitError() << "plan '" << plan.name << "' ";
  SmallVector<StringRef> known = getPlanAxes();
  for (const Mesh::Axis &axis : mesh.getAxes())
    if (axis.size > 1 && !llvm::is_contained(known, axis.name))
      return diag << "shards over axes \"" << llvm::join(known, "\" and \"")
                  << "\", and the mesh has \"" << axis.name << "\"";
  bool hasParameters = llvm::any_of(targets, [](const RuleTarget &target) {
    return target.kind == PlanRule::Kind::Parameter;
  });
  if (!hasParameters)
    return diag << "finds nothing to cut: the program has no parameters, so "
                   "every rank would compute all of it: annotate values, give "
                   "a JSON plan, or ask for that with plan 'replicated'";
  return diag << "knows no parameter of this program by name, so every rank "
                 "would hold all of it: name the parameters as checkpoints do, "
                 "annotate some, give a JSON plan, or ask for that with plan "
                 "'replicated'";
}

/// Propagation decides how they are cut: perhaps not at all.
void Annotator::reportUnnamed(ModuleOp module) {
  if (unnamed.empty())
    return;
  module->setAttr(unnamedParametersAttrName,
                  Builder(module.getContext()).getStrArrayAttr(unnamed));
  constexpr size_t most = 5;
  InFlightDiagnostic diag = module.emitWarning();
  diag << "plan '" << plan.name << "': no rule names "
       << (unnamed.size() == 1 ? "the parameter " : "the parameters ");
  llvm::interleaveComma(ArrayRef(unnamed).take_front(most), diag,
                        [&](StringRef name) { diag << "'" << name << "'"; });
  if (unnamed.size() > most)
    diag << " and " << unnamed.size() - most << " more";
  diag << "; propagation decides how "
       << (unnamed.size() == 1 ? "it is" : "they are") << " cut";
}

std::string Annotator::nameOtherPlan(const RuleTarget &target) const {
  if (!plan.isBuiltin)
    return "";
  StringRef own = plan.name, suffix;
  if (own.consume_back("-sp"))
    suffix = "-sp";
  auto countShards = [&](const PlanDim &dim) {
    int64_t shards = 1;
    for (const PlanAxis &axis : dim.axes)
      if (std::optional<unsigned> found = mesh.findAxis(axis.name))
        shards *= axis.size ? axis.size : mesh.getAxis(*found).size;
    return shards;
  };
  for (StringRef other : {"megatron", "expert"}) {
    TextPlace place;
    std::string name = (other + suffix).str();
    Plan another = llvm::cantFail(loadPlan(name, place));
    auto rule = llvm::find_if(another.rules, [&](const PlanRule &candidate) {
      return isMatch(candidate, target);
    });
    if (other == own || rule == another.rules.end() ||
        rule->dims.size() != size_t(target.type.getRank()))
      continue;
    std::optional<unsigned> cut;
    bool fits = true;
    for (auto [index, dim] : llvm::enumerate(rule->dims)) {
      int64_t shards = countShards(dim);
      fits &= shards <= target.type.getDimSize(index);
      if (shards > 1)
        cut = index;
    }
    if (fits && cut)
      return ", or plan '" + name + "', which cuts dimension " +
             std::to_string(*cut);
  }
  return "";
}

LogicalResult Annotator::checkSizes() {
  for (auto [rule, target] : applied) {
    if (fitted.contains(target->weight))
      continue;
    TensorSharding sharding = target->getSharding().toSharding(mesh);
    for (auto [index, dim] : llvm::enumerate(sharding.dims)) {
      int64_t size = target->type.getDimSize(index);
      int64_t shards = getShardCount(dim.axes);
      if (shards > size)
        return error(*rule, target)
               << "dimension " << index << " of '" << target->names.front()
               << "' has " << size << " elements, which cannot be cut into "
               << shards << " shards: expected at most " << size
               << nameOtherPlan(*target);
    }
  }
  return success();
}

namespace {
struct AnnotatePass : public tp::impl::AnnotateBase<AnnotatePass> {
  using AnnotateBase::AnnotateBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(expectGlobal(module)))
      return signalPassFailure();
    TextPlace wrong;
    llvm::Expected<Plan> loaded = loadPlan(plan, wrong);
    if (!loaded) {
      Location loc = module.getLoc();
      if (isPlanFile(plan))
        loc =
            FileLineColLoc::get(&getContext(), plan, wrong.line, wrong.column);
      emitError(loc) << llvm::toString(loaded.takeError());
      return signalPassFailure();
    }
    MeshOp meshOp = getOrCreateMesh(module, mesh);
    if (!meshOp)
      return signalPassFailure();
    Annotator annotator(meshOp, *loaded, allowPadding);
    if (failed(annotator.run(module)))
      return signalPassFailure();
    numAnnotated = annotator.getNumAnnotated();
  }
};
} // namespace
