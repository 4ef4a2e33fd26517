//===- RollLayers.cpp - Identical layers in a row become tp.repeat --------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Works on the straight line of a block's compute operations (parameters,
// constants and empty tensors are no part of it: they are described by name or
// content where they are used). Layer k is anchored at the first operation that
// reads one of its parameters. A segment is one layer, or the p layers after
// which they repeat; two of them are P operations apart. Operation t is the
// same as t + P if both do the same on operands that are the same value, the
// same constant, the same parameter p layers on, or made equally far back. A
// run is a number of segments in a row that are the same; where between two
// anchors a segment begins is chosen so that most layers fit and fewest values
// cross. Which p is taken where: Periods.h.
//
// Example: anchors of x -> norm(w0) -> add -> norm(w1) -> add -> head are the
// norms; segments [norm, add] repeat, the sum is the carried value.
//
//===----------------------------------------------------------------------===//

#include "Periods.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "tp/Dialect/TP/IR/Phase.h"
#include "tp/Import/Passes.h"
#include "tprt/names.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include <map>
#include <set>
#include <unordered_map>

namespace tp {
#define GEN_PASS_DEF_ROLLLAYERS
#include "tp/Import/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {

/// A parameter's name with one number taken out.
struct LayerName {
  StringAttr pattern; ///< `{i}` in place of the number; null if there is none.
  ArrayAttr alternatives; ///< The same for the other names.
  int64_t number = -1;
};

/// Operands of this kind of one segment that the one before it made.
struct Carried {
  unsigned position; ///< In the segment.
  unsigned result;
  Value init;
};

struct Run {
  unsigned begin = 0, period = 0, count = 0;
  int64_t first = 0;  ///< The number of the first layer.
  int64_t layers = 1; ///< In each segment.
  SmallVector<Carried> carried;

  unsigned end() const { return begin + period * count; }
};

class Roller {
public:
  explicit Roller(Block &block) : block(block) {}
  /// Rolls what it can; returns the numbers of repeats and of layers.
  std::pair<unsigned, unsigned> run();

private:
  void isolateFreeValues();
  void collect();
  void findKinds();
  void findNames();
  bool sameConstant(Value a, Value b) const;
  bool sameOperation(Operation *a, Operation *b) const;
  bool sameOperand(unsigned t, Value a, Value b, int64_t &sharedAt) const;
  void compare(unsigned period, int64_t layers);
  std::optional<Run> tryRun(Run run, unsigned maxCount);
  std::optional<unsigned> checkFirst(Run &run) const;
  bool leavesCleanly(const Run &run) const;
  /// The first operation that reads a parameter of a layer.
  struct Anchor {
    int64_t layer;
    unsigned at;
  };
  SmallVector<SmallVector<Anchor>> getAnchors() const;
  std::optional<Run> findRun(ArrayRef<Anchor> anchors, int64_t layers,
                             unsigned done);
  void findRuns(ArrayRef<Anchor> anchors, unsigned &done,
                SmallVectorImpl<Run> &runs);
  void build(const Run &run);
  void copyParameter(const Run &run, Value value, OpBuilder &inner,
                     IRMapping &mapping);

  int64_t positionOf(Value value) const {
    Operation *op = value.getDefiningOp();
    auto it = op ? positions.find(op) : positions.end();
    return it == positions.end() ? int64_t(-1) : int64_t(it->second);
  }
  /// The layer's name of the parameter that a value is, if it has a number.
  const LayerName *getName(Value value) const {
    Operation *op = value.getDefiningOp();
    auto it = op ? names.find(op) : names.end();
    return it == names.end() || !it->second.pattern ? nullptr : &it->second;
  }

  Block &block;
  std::vector<Operation *> line;
  llvm::DenseMap<Operation *, unsigned> positions;
  llvm::DenseMap<Operation *, LayerName> names;
  /// The name of the first numbered parameter that line[t] reads, or null.
  std::vector<const LayerName *> layers;
  /// Equal where operations differ in operands and locations alone.
  std::vector<unsigned> kinds;
  /// For the current period: whether line[t] is the same as line[t + P], and
  /// the latest position whose value both read.
  unsigned comparedPeriod = 0;
  int64_t comparedLayers = 0;
  std::vector<bool> same;
  std::vector<int64_t> shared;
};

} // namespace

//===----------------------------------------------------------------------===//
// The straight line
//===----------------------------------------------------------------------===//

static bool isConstant(Operation *op) {
  return op->hasTrait<OpTrait::ConstantLike>();
}

/// Each use of `op` in `block` gets an operation of its own before it. What
/// regions capture stays where it is.
static void isolate(Operation *op, Block &block) {
  SmallVector<OpOperand *> uses;
  bool isCaptured = false;
  for (OpOperand &use : op->getUses()) {
    if (use.getOwner()->getBlock() == &block)
      uses.push_back(&use);
    else
      isCaptured = true;
  }
  bool moves = !isCaptured && !uses.empty();
  if (moves)
    op->moveBefore(uses.front()->getOwner());
  for (OpOperand *use : ArrayRef(uses).drop_front(moves)) {
    OpBuilder builder(use->getOwner());
    use->set(builder.clone(*op)->getResult(0));
  }
}

/// Fills of empty tensors go next to their use, one for each, so that zeros
/// that several layers share do not tie them.
void Roller::isolateFreeValues() {
  SmallVector<Operation *> candidates;
  for (Operation &op : block) {
    auto fill = dyn_cast<linalg::FillOp>(op);
    if (isa<tensor::EmptyOp>(op) ||
        (fill && fill->getNumResults() == 1 &&
         fill.getOutputs()[0].getDefiningOp<tensor::EmptyOp>()))
      candidates.push_back(&op);
  }
  // Users before what they use: a copied fill gets its own empty tensor.
  for (Operation *op : llvm::reverse(candidates))
    isolate(op, block);
  // Copied fills share the empty tensor that they fill.
  SmallVector<tensor::EmptyOp> empties(block.getOps<tensor::EmptyOp>());
  for (tensor::EmptyOp op : empties)
    isolate(op, block);
}

/// Replace the digits [begin, end) by {i}.
static std::string toPattern(StringRef name, size_t begin, size_t end) {
  return (name.take_front(begin) + "{i}" + name.drop_front(end)).str();
}

/// Runs of digits in a name.
static SmallVector<std::pair<size_t, size_t>, 2> getNumbers(StringRef name) {
  SmallVector<std::pair<size_t, size_t>, 2> numbers;
  for (size_t i = 0; i < name.size();) {
    if (!llvm::isDigit(name[i])) {
      ++i;
      continue;
    }
    size_t begin = i;
    while (i < name.size() && llvm::isDigit(name[i]))
      ++i;
    // `01` would not come back as 1.
    if (i - begin <= 9 && (name[begin] != '0' || i - begin == 1))
      numbers.push_back({begin, i});
  }
  return numbers;
}

void Roller::findNames() {
  // For every place of a number, the values that it takes.
  llvm::StringMap<std::set<int64_t>> values;
  auto forEach = [&](StringRef name, auto action) {
    for (auto [begin, end] : getNumbers(name)) {
      int64_t number;
      if (!name.slice(begin, end).getAsInteger(10, number))
        action(toPattern(name, begin, end), number);
    }
  };
  // A pattern that a loop inside uses is not one of this block's: see the
  // verifier of tp.parameter.
  std::set<StringRef> nested;
  for (auto repeat : block.getOps<RepeatOp>())
    repeat.walk([&](ParameterOp op) { nested.insert(op.getName()); });
  for (auto parameter : block.getOps<ParameterOp>())
    forEach(parameter.getName(),
            [&](const std::string &pattern, int64_t number) {
              values[pattern].insert(number);
            });
  MLIRContext *context = block.getParentOp()->getContext();
  for (auto parameter : block.getOps<ParameterOp>()) {
    if (parameter.isTemplate())
      continue;
    LayerName best;
    size_t bestCount = 1;
    forEach(parameter.getName(),
            [&](const std::string &pattern, int64_t number) {
              size_t count = values[pattern].size();
              if (count > bestCount && !nested.count(pattern)) {
                bestCount = count;
                best.pattern = StringAttr::get(context, pattern);
                best.number = number;
              }
            });
    // Other names must have the same number somewhere.
    if (best.pattern && parameter.getAlternativesAttr()) {
      SmallVector<Attribute> others;
      for (auto name :
           parameter.getAlternativesAttr().getAsRange<StringAttr>()) {
        std::optional<std::string> found;
        forEach(name, [&](const std::string &pattern, int64_t number) {
          if (!found && number == best.number)
            found = pattern;
        });
        if (found)
          others.push_back(StringAttr::get(context, *found));
      }
      if (others.size() == parameter.getAlternativesAttr().size())
        best.alternatives = ArrayAttr::get(context, others);
      else
        best.pattern = {};
    }
    names[parameter] = best;
  }
}

void Roller::collect() {
  for (Operation &op : block.without_terminator()) {
    if (isa<ParameterOp>(op) || isConstant(&op))
      continue;
    positions[&op] = line.size();
    line.push_back(&op);
    const LayerName *layer = nullptr;
    for (Value operand : op.getOperands())
      if ((layer = getName(operand)))
        break;
    layers.push_back(layer);
  }
}

//===----------------------------------------------------------------------===//
// Sameness
//===----------------------------------------------------------------------===//

bool Roller::sameConstant(Value a, Value b) const {
  Operation *x = a.getDefiningOp(), *y = b.getDefiningOp();
  return x && y && isConstant(x) && isConstant(y) &&
         a.getType() == b.getType() && x->getName() == y->getName() &&
         x->getAttrDictionary() == y->getAttrDictionary();
}

/// All but operands and the location.
bool Roller::sameOperation(Operation *a, Operation *b) const {
  if (a->getName() != b->getName() ||
      a->getNumOperands() != b->getNumOperands() ||
      a->getResultTypes() != b->getResultTypes() ||
      a->getNumRegions() != b->getNumRegions() ||
      a->getAttrDictionary() != b->getAttrDictionary())
    return false;
  // Inside regions values correspond; captured ones must be the same.
  llvm::DenseMap<Value, Value> pairs;
  auto corresponds = [&](Value x, Value y) {
    auto it = pairs.find(x);
    return success(it != pairs.end() ? it->second == y
                                     : x == y || sameConstant(x, y));
  };
  auto mark = [&](Value x, Value y) { pairs[x] = y; };
  for (auto [x, y] : llvm::zip(a->getRegions(), b->getRegions()))
    if (!OperationEquivalence::isRegionEquivalentTo(
            &x, &y, corresponds, mark, OperationEquivalence::IgnoreLocations))
      return false;
  return true;
}

void Roller::findKinds() {
  // By what is quick to compare, one of each kind.
  std::unordered_map<size_t, SmallVector<unsigned, 1>> byHash;
  for (auto [t, op] : llvm::enumerate(line)) {
    size_t hash =
        llvm::hash_combine(op->getName(), op->getAttrDictionary(),
                           llvm::hash_combine_range(op->result_type_begin(),
                                                    op->result_type_end()));
    SmallVector<unsigned, 1> &seen = byHash[hash];
    auto found = llvm::find_if(seen, [&](unsigned other) {
      return sameOperation(line[other], line[t]);
    });
    if (found == seen.end())
      found = seen.insert(found, t);
    kinds.push_back(*found);
  }
}

/// Both are parameters without a number, of one name.
static bool sameShared(Value a, Value b) {
  auto x = a.getDefiningOp<ParameterOp>(), y = b.getDefiningOp<ParameterOp>();
  return x && y && x->getAttrDictionary() == y->getAttrDictionary();
}

static bool sameButName(ParameterOp a, ParameterOp b) {
  auto strip = [](ParameterOp op) {
    NamedAttrList attrs(op->getAttrDictionary());
    attrs.erase(op.getNameAttrName());
    attrs.erase(op.getAlternativesAttrName());
    return attrs.getDictionary(op.getContext());
  };
  return a.getType() == b.getType() && strip(a) == strip(b);
}

static bool sameParameter(const LayerName &a, const LayerName &b,
                          int64_t layers, Value x, Value y) {
  return a.pattern == b.pattern && a.alternatives == b.alternatives &&
         a.number + layers == b.number &&
         sameButName(x.getDefiningOp<ParameterOp>(),
                     y.getDefiningOp<ParameterOp>());
}

/// Compares operands of line[t] and line[t + comparedPeriod].
bool Roller::sameOperand(unsigned t, Value a, Value b,
                         int64_t &sharedAt) const {
  const LayerName *x = getName(a), *y = getName(b);
  if (x || y)
    return x && y && sameParameter(*x, *y, comparedLayers, a, b);
  if (a == b) {
    sharedAt = std::max(sharedAt, positionOf(a));
    return true;
  }
  if (sameConstant(a, b) || sameShared(a, b))
    return true;
  int64_t p = positionOf(a), q = positionOf(b);
  return p >= 0 && q >= 0 && p + comparedPeriod == q &&
         cast<OpResult>(a).getResultNumber() ==
             cast<OpResult>(b).getResultNumber();
}

void Roller::compare(unsigned period, int64_t layers) {
  if (comparedPeriod == period && comparedLayers == layers)
    return;
  comparedPeriod = period;
  comparedLayers = layers;
  same.assign(line.size(), false);
  shared.assign(line.size(), -1);
  for (unsigned t = 0; t + period < line.size(); ++t) {
    if (kinds[t] != kinds[t + period])
      continue;
    bool all = true;
    for (auto [x, y] :
         llvm::zip(line[t]->getOperands(), line[t + period]->getOperands()))
      all = all && sameOperand(t, x, y, shared[t]);
    same[t] = all;
  }
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

/// The first segment against the second, whose operands from before it tell
/// what is carried. Fills `run.carried`; false if they are not the same.
std::optional<unsigned> Roller::checkFirst(Run &run) const {
  unsigned begin = run.begin, period = run.period;
  std::map<std::pair<unsigned, unsigned>, Value> inits;
  for (unsigned t = begin; t < begin + period; ++t) {
    Operation *a = line[t], *b = line[t + period];
    if (kinds[t] != kinds[t + period])
      return std::nullopt;
    for (auto [x, y] : llvm::zip(a->getOperands(), b->getOperands())) {
      if (const LayerName *name = getName(x)) {
        const LayerName *next = getName(y);
        if (!next || !sameParameter(*name, *next, run.layers, x, y) ||
            name->number < run.first || name->number >= run.first + run.layers)
          return std::nullopt;
        continue;
      }
      int64_t p = positionOf(x), q = positionOf(y);
      if (q >= begin + period) {
        // Made in the segment.
        if (p + period != q || cast<OpResult>(x).getResultNumber() !=
                                   cast<OpResult>(y).getResultNumber())
          return std::nullopt;
        continue;
      }
      if (q >= static_cast<int64_t>(begin)) {
        // Made in the segment before: carried.
        if (p >= static_cast<int64_t>(begin) || x.getType() != y.getType() ||
            getName(x))
          return std::nullopt;
        auto key = std::make_pair(
            static_cast<unsigned>(q) - begin,
            static_cast<unsigned>(cast<OpResult>(y).getResultNumber()));
        auto [it, isNew] = inits.try_emplace(key, x);
        if (!isNew && it->second != x)
          return std::nullopt;
        continue;
      }
      if (x != y && !sameConstant(x, y) && !sameShared(x, y))
        return std::nullopt;
    }
  }
  run.carried.clear();
  for (auto [key, init] : inits)
    run.carried.push_back({key.first, key.second, init});
  return run.carried.size();
}

/// Values made in the run are used in their segment, as carried values in the
/// next one, and after it only as carried values of the last.
bool Roller::leavesCleanly(const Run &run) const {
  unsigned end = run.end(), last = end - run.period;
  for (unsigned t = run.begin; t < end; ++t)
    for (OpResult result : line[t]->getResults())
      for (OpOperand &use : result.getUses()) {
        Operation *user = block.findAncestorOpInBlock(*use.getOwner());
        auto it = user ? positions.find(user) : positions.end();
        // Captured by a region, or used by the terminator.
        bool isDirect = user == use.getOwner();
        unsigned at = it == positions.end() ? line.size() : it->second;
        if (at < end && isDirect)
          continue; // the comparison covers it
        if (at < end && at >= run.begin &&
            (t - run.begin) / run.period == (at - run.begin) / run.period)
          continue;
        bool isCarried = llvm::any_of(run.carried, [&](const Carried &value) {
          return value.position == (t - run.begin) % run.period &&
                 value.result == result.getResultNumber();
        });
        if (t < last || !isCarried)
          return false;
      }
  return true;
}

/// `run` with as many segments as there are, at least two.
std::optional<Run> Roller::tryRun(Run run, unsigned maxCount) {
  unsigned begin = run.begin, period = run.period;
  if (begin + 2 * period > line.size() || !checkFirst(run))
    return std::nullopt;
  run.count = 2;
  // Segment count - 1 against the next one.
  while (run.count < maxCount) {
    unsigned from = begin + (run.count - 1) * period;
    if (from + 2 * period > line.size())
      break;
    bool all = true;
    for (unsigned t = from; t < from + period && all; ++t)
      all = same[t] && shared[t] < static_cast<int64_t>(begin);
    if (!all)
      break;
    ++run.count;
  }
  // Shorter runs may leave more cleanly, but a run that is cut short only
  // because its values are read elsewhere is no run of layers.
  if (!leavesCleanly(run))
    return std::nullopt;
  return run;
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

/// The number of a layer of the run, as names in the loop have it. Where an
/// iteration has several layers, numbers begin at iteration 0.
static std::string writeNumber(const Run &run, int64_t number) {
  return run.layers == 1 ? "{i}" : tprt::writeLayerNumber(run.layers, number);
}

static StringAttr instantiate(const Run &run, StringAttr pattern,
                              int64_t number) {
  auto [before, after] = pattern.getValue().split("{i}");
  return StringAttr::get(pattern.getContext(),
                         before + writeNumber(run, number) + after);
}

/// Finds where in a name the number of a layer of the run's first segment is,
/// and which.
static std::optional<std::pair<size_t, int64_t>> findNumber(const Run &run,
                                                            StringRef text) {
  for (auto [begin, end] : getNumbers(text)) {
    int64_t value;
    if (!text.slice(begin, end).getAsInteger(10, value) && value >= run.first &&
        value < run.first + run.layers)
      return std::make_pair(begin, value);
  }
  return std::nullopt;
}

/// The location with what names have in place of the layer's number.
static Location generalize(Location loc, const Run &run) {
  auto name = dyn_cast<NameLoc>(loc);
  auto found =
      name ? findNumber(run, name.getName()) : decltype(findNumber(run, ""))();
  if (!found)
    return loc;
  StringRef text = name.getName();
  StringRef after = text.drop_front(found->first).drop_while(llvm::isDigit);
  return NameLoc::get(
      StringAttr::get(loc.getContext(), text.take_front(found->first) +
                                            writeNumber(run, found->second) +
                                            after),
      name.getChildLoc());
}

/// The location of the loop: that of the first operation, or the numbers of
/// several layers.
static Location getLoopLocation(Location loc, const Run &run) {
  auto name = dyn_cast<NameLoc>(loc);
  if (run.layers == 1 || !name)
    return generalize(loc, run);
  auto found = findNumber(run, name.getName());
  if (!found)
    return loc;
  std::string layers = writeNumber(run, run.first) + ".." +
                       writeNumber(run, run.first + run.layers - 1);
  return NameLoc::get(StringAttr::get(
      loc.getContext(),
      name.getName().getValue().take_front(found->first) + layers));
}

/// The parameter in the loop.
void Roller::copyParameter(const Run &run, Value value, OpBuilder &inner,
                           IRMapping &mapping) {
  if (mapping.contains(value))
    return;
  const LayerName *name = getName(value);
  auto parameter = value.getDefiningOp<ParameterOp>();
  auto copy = cast<ParameterOp>(inner.clone(*parameter.getOperation()));
  copy.setNameAttr(instantiate(run, name->pattern, name->number));
  if (name->alternatives) {
    SmallVector<Attribute> names;
    for (auto other : name->alternatives.getAsRange<StringAttr>())
      names.push_back(instantiate(run, other, name->number));
    copy.setAlternativesAttr(inner.getArrayAttr(names));
  }
  copy->setLoc(generalize(parameter.getLoc(), run));
  mapping.map(value, copy.getResult());
}

void Roller::build(const Run &run) {
  unsigned end = run.end();
  OpBuilder builder(line[end - 1]->getContext());
  builder.setInsertionPointAfter(line[end - 1]);
  SmallVector<Value> inits;
  for (const Carried &value : run.carried)
    inits.push_back(value.init);
  Location loc = getLoopLocation(line[run.begin]->getLoc(), run);
  auto repeat = RepeatOp::create(builder, loc, run.count, inits, ValueRange(),
                                 TypeRange(), run.layers == 1 ? run.first : 0);
  Block *body = repeat.getBodyBlock();
  OpBuilder inner = OpBuilder::atBlockEnd(body);
  IRMapping mapping;
  for (unsigned t = run.begin; t < run.begin + run.period; ++t) {
    Operation *op = line[t], *next = line[t + run.period];
    // Operands as the second segment has them tell what is carried.
    SmallVector<Value> operands;
    for (auto [x, y] : llvm::zip(op->getOperands(), next->getOperands())) {
      if (getName(x)) {
        copyParameter(run, x, inner, mapping);
        operands.push_back(mapping.lookup(x));
        continue;
      }
      int64_t q = positionOf(y);
      if (q >= static_cast<int64_t>(run.begin) &&
          q < static_cast<int64_t>(run.begin + run.period)) {
        for (auto [index, value] : llvm::enumerate(run.carried))
          if (value.position == q - run.begin &&
              value.result == cast<OpResult>(y).getResultNumber())
            operands.push_back(repeat.getCarriedArgs()[index]);
        continue;
      }
      // Constants of its own for each layer become one inside.
      if (x != y && !mapping.contains(x) &&
          (sameConstant(x, y) || sameShared(x, y)))
        mapping.map(x, inner.clone(*x.getDefiningOp())->getResult(0));
      operands.push_back(mapping.lookupOrDefault(x));
    }
    Operation *copy = op->clone(mapping);
    copy->setOperands(operands);
    copy->setLoc(generalize(op->getLoc(), run));
    inner.insert(copy);
    mapping.map(op->getResults(), copy->getResults());
  }
  SmallVector<Value> yielded;
  for (const Carried &value : run.carried)
    yielded.push_back(mapping.lookup(
        line[run.begin + value.position]->getResult(value.result)));
  YieldOp::create(inner, loc, yielded);

  unsigned last = end - run.period;
  for (auto [index, value] : llvm::enumerate(run.carried))
    line[last + value.position]
        ->getResult(value.result)
        .replaceAllUsesWith(repeat.getResult(index));
  for (unsigned t = end; t-- > run.begin;)
    line[t]->erase();
}

/// Finds where each layer begins to read its parameters, by what their names
/// begin with: conv1 and conv2 are no layers of layers.0, layers.1, ...
SmallVector<SmallVector<Roller::Anchor>> Roller::getAnchors() const {
  llvm::MapVector<StringRef, SmallVector<Anchor>> families;
  for (auto [t, name] : llvm::enumerate(layers)) {
    if (!name)
      continue;
    StringRef prefix = name->pattern.getValue().split("{i}").first;
    SmallVector<Anchor> &family = families[prefix];
    if (llvm::none_of(family, [&, layer = name->number](const Anchor &anchor) {
          return anchor.layer == layer;
        }))
      family.push_back({name->number, unsigned(t)});
  }
  return llvm::to_vector(llvm::make_second_range(families));
}

/// The longest run from the first of `anchors` on of segments of so many
/// layers, behind position `done`; nothing if there are not two of them.
std::optional<Run> Roller::findRun(ArrayRef<Anchor> anchors, int64_t layers,
                                   unsigned done) {
  auto [layer, at] = anchors.front();
  // As many layers as follow each other.
  auto stray = llvm::find_if(llvm::enumerate(anchors), [&](auto entry) {
    return entry.value().layer != layer + int64_t(entry.index());
  });
  size_t chain = stray == llvm::enumerate(anchors).end() ? anchors.size()
                                                         : (*stray).index();
  if (at < done || chain < size_t(2 * layers))
    return std::nullopt;
  unsigned period = anchors[layers].at - at;
  unsigned maxCount = 1;
  while ((maxCount + 1) * layers <= int64_t(chain) &&
         anchors[maxCount * layers].at == at + maxCount * period)
    ++maxCount;
  // All but the last layer, whose end is not known, must be of one kind.
  unsigned last = anchors[layers - 1].at;
  if (maxCount < 2 || last + period >= line.size() ||
      !std::equal(kinds.begin() + at, kinds.begin() + last + 1,
                  kinds.begin() + at + period))
    return std::nullopt;
  compare(period, layers);
  std::optional<Run> best;
  unsigned size = anchors[1].at - at; // of a layer
  for (unsigned back = 0; back < size && back + done <= at; ++back) {
    std::optional<Run> run =
        tryRun({at - back, period, /*count=*/0, layer, layers, {}}, maxCount);
    if (run && (!best || run->count > best->count ||
                (run->count == best->count &&
                 run->carried.size() < best->carried.size())))
      best = std::move(run);
  }
  return best;
}

/// Adds the runs of layers that begin at `anchors`, behind position `done`.
void Roller::findRuns(ArrayRef<Anchor> anchors, unsigned &done,
                      SmallVectorImpl<Run> &runs) {
  while (!anchors.empty()) {
    auto getCount = [&](int64_t first, int64_t period) -> int64_t {
      auto run = findRun(anchors.drop_front(first), period, /*done=*/0);
      return run ? run->count : 1;
    };
    ArrayRef<Anchor> rest = anchors;
    for (Period piece : findPeriods(anchors.size(), getCount)) {
      std::optional<Run> run;
      if (piece.count > 1)
        run = findRun(rest, piece.period, done);
      rest = rest.drop_front(run ? piece.period * run->count : 1);
      if (run) {
        done = run->end();
        runs.push_back(*run);
      }
      // The run before may leave less: the rest is cut anew.
      if ((run ? run->count : 1) != piece.count)
        break;
    }
    anchors = rest;
  }
}

std::pair<unsigned, unsigned> Roller::run() {
  unsigned numRepeats = 0, numLayers = 0;
  findNames();
  bool any = llvm::any_of(
      names, [](const auto &entry) { return bool(entry.second.pattern); });
  if (!any)
    return {0, 0};
  isolateFreeValues();
  collect();
  findKinds();

  SmallVector<Run> runs;
  unsigned done = 0; // operations before this are in a run already
  for (ArrayRef<Anchor> family : getAnchors())
    findRuns(family, done, runs);
  // Later runs first: building one changes only what comes after it.
  for (const Run &run : llvm::reverse(runs)) {
    build(run);
    ++numRepeats;
    numLayers += run.layers * run.count;
  }
  if (runs.empty())
    return {0, 0};
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.use_empty() && (isa<ParameterOp>(op) || isConstant(&op)))
      op.erase();
  return {numRepeats, numLayers};
}

/// A repeat of no iterations is its initial values, and nothing in it is read.
static void dropEmptyRepeats(func::FuncOp function) {
  function.walk([](RepeatOp op) {
    // The verifier lets none of these have stacked results.
    if (op.getCount() != 0)
      return;
    op->replaceAllUsesWith(op.getInits());
    op.erase();
  });
}

namespace {
struct RollLayersPass : public tp::impl::RollLayersBase<RollLayersPass> {
  using RollLayersBase::RollLayersBase;

  void runOnOperation() override {
    if (failed(expectGlobal(getOperation())))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      dropEmptyRepeats(function);
      for (Block &block : function.getBody()) {
        auto [repeats, layers] = Roller(block).run();
        numRepeats += repeats;
        numLayers += layers;
      }
    }
  }
};
} // namespace
