//===- ParameterNames.cpp - What the names of parameters stand for --------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names are compared as patterns and ranges of indices, so that a deep model
// costs no more than a shallow one. Only two different patterns that begin and
// end alike are compared index by index.
//
//===----------------------------------------------------------------------===//

#include "tp/Dialect/TP/IR/ParameterNames.h"

#include "tprt/names.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tp;

bool NameRange::overlaps(const NameRange &other) const {
  return !isTemplate() ||
         (first < other.first + other.count && other.first < first + count);
}

static constexpr StringLiteral stackPlaceholder = "{e}";

static std::string replaceAll(StringRef pattern, StringRef placeholder,
                              StringRef with) {
  std::string text = pattern.str();
  for (size_t at = 0; (at = text.find(placeholder, at)) != std::string::npos;)
    text.replace(at, placeholder.size(), with);
  return text;
}

std::string tp::instantiate(StringRef pattern, int64_t index) {
  return tprt::nameOfLayer(pattern, index);
}

bool tp::isStack(StringRef name) { return name.contains(stackPlaceholder); }

SmallVector<std::string> tp::getTensorNames(StringRef name,
                                            ArrayRef<int64_t> shape) {
  SmallVector<std::string> names;
  for (int64_t e = 0; e < (isStack(name) ? shape[0] : 1); ++e)
    names.push_back(replaceAll(name, stackPlaceholder, llvm::itostr(e)));
  return names;
}

ArrayRef<int64_t> tp::getTensorShape(StringRef name, ArrayRef<int64_t> shape) {
  return isStack(name) ? shape.drop_front() : shape;
}

/// More than the number of any layer has.
static constexpr size_t maxDigits = 18;

std::optional<int64_t> NameRange::findIndex(StringRef name) const {
  if (!isTemplate())
    return name == pattern ? std::optional<int64_t>(0) : std::nullopt;
  // As many digits as there are may belong to the number, or fewer.
  std::optional<tprt::LayerNumber> number = tprt::findLayerNumber(pattern);
  StringRef digits = name.substr(number->begin)
                         .take_while([](char c) { return llvm::isDigit(c); })
                         .take_front(maxDigits);
  for (; !digits.empty(); digits = digits.drop_back()) {
    int64_t value = 0;
    digits.getAsInteger(10, value);
    int64_t index = (value - number->offset) / number->scale;
    if (index >= first && index < first + count &&
        instantiate(pattern, index) == name)
      return index;
  }
  return std::nullopt;
}

static NameRange getNames(Operation *op, StringRef pattern) {
  NameRange names{pattern};
  if (!names.isTemplate())
    return names;
  if (auto state = dyn_cast<StateOp>(op)) {
    names.first = state.getFirst().value_or(0);
    names.count = state.getGlobalType().getDimSize(0);
  } else if (auto repeat = op->getParentOfType<RepeatOp>()) {
    names.first = repeat.getFirstIndex();
    names.count = repeat.getCount();
  }
  return names;
}

NameRange tp::getNames(ParameterOp op) { return ::getNames(op, op.getName()); }

/// The alternatives of an operation that reads the checkpoint.
static ArrayAttr getAlternativesOf(Operation *op) {
  if (auto state = dyn_cast<StateOp>(op))
    return state.getAlternativesAttr();
  return cast<ParameterOp>(op).getAlternativesAttr();
}

SmallVector<NameRange, 2> tp::getAllNames(Operation *op) {
  auto state = dyn_cast<StateOp>(op);
  auto parameter = dyn_cast<ParameterOp>(op);
  if (!parameter && !(state && state.getParameter()))
    return {};
  SmallVector<NameRange, 2> all{
      ::getNames(op, state ? *state.getParameter() : parameter.getName())};
  if (auto alternatives = getAlternativesOf(op))
    for (auto name : alternatives.getAsRange<StringAttr>())
      all.push_back(::getNames(op, name.getValue()));
  return all;
}

RankedTensorType tp::getUnpackedType(ParameterOp op) {
  auto find = [&](StringRef name) {
    auto attr = op->getAttrOfType<TypeAttr>(name);
    return attr ? cast<RankedTensorType>(attr.getValue()) : RankedTensorType();
  };
  // After partition the type is this rank's. A program that is written with
  // bytes has one rank, and no global type but that of the bytes.
  RankedTensorType global = find(TPDialect::getGlobalTypeAttrName()),
                   stored = find(storedTypeAttrName);
  if (stored && (!global || global.getElementType() != stored.getElementType()))
    return stored;
  return global ? global : cast<RankedTensorType>(op.getType());
}

RankedTensorType tp::getCheckpointType(Operation *op) {
  RankedTensorType type;
  ParameterSourceAttr source;
  if (auto state = dyn_cast<StateOp>(op)) {
    type = state.getParameterType();
    source = state.getSourceAttr();
  } else {
    auto parameter = cast<ParameterOp>(op);
    type = getUnpackedType(parameter);
    source = parameter.getSourceAttr();
  }
  return source ? type.clone(source.getShape()) : type;
}

//===----------------------------------------------------------------------===//
// One name, one tensor
//===----------------------------------------------------------------------===//

/// The parts of a name before its first number and behind its last one; all of
/// it if it has no number.
static std::pair<StringRef, StringRef> getEnds(StringRef pattern) {
  std::pair<StringRef, StringRef> ends{pattern, pattern};
  size_t from = 0;
  while (auto number = tprt::findLayerNumber(pattern, from)) {
    if (from == 0)
      ends.first = pattern.take_front(number->begin);
    from = number->end;
    ends.second = pattern.drop_front(from);
  }
  return ends;
}

std::optional<std::pair<std::string, int64_t>>
tp::findCommonName(const NameRange &a, const NameRange &b) {
  if (a.count == 0 || b.count == 0)
    return std::nullopt;
  if (a.pattern == b.pattern) {
    if (!a.overlaps(b))
      return std::nullopt;
    int64_t index = std::max(a.first, b.first);
    return std::make_pair(instantiate(a.pattern, index), index);
  }
  auto startsAlike = [](StringRef x, StringRef y) {
    return x.starts_with(y) || y.starts_with(x);
  };
  auto endsAlike = [](StringRef x, StringRef y) {
    return x.ends_with(y) || y.ends_with(x);
  };
  auto [aBegin, aEnd] = getEnds(a.pattern);
  auto [bBegin, bEnd] = getEnds(b.pattern);
  if (!startsAlike(aBegin, bBegin) || !endsAlike(aEnd, bEnd))
    return std::nullopt;
  const NameRange &shorter = a.count <= b.count ? a : b;
  const NameRange &longer = a.count <= b.count ? b : a;
  for (int64_t i = 0; i < shorter.count; ++i) {
    std::string name = instantiate(shorter.pattern, shorter.first + i);
    if (longer.findIndex(name))
      return std::make_pair(name, a.findIndex(name).value_or(0));
  }
  return std::nullopt;
}

namespace {
/// One way in which a pattern is used.
struct NameUse {
  Operation *op;
  NameRange names;
  RankedTensorType type;
  /// True if the pattern is the parameter's own, and no alternative.
  bool isOwn;
  bool isSame(const NameUse &other) const {
    return names.first == other.names.first &&
           names.count == other.names.count && type == other.type &&
           isOwn == other.isOwn &&
           (!isOwn || getAlternativesOf(op) == getAlternativesOf(other.op));
  }
};
} // namespace

/// The alternatives of `use` under which it is the tensor `name`.
static SmallVector<std::string> getAlternatives(NameUse use, StringRef name) {
  SmallVector<std::string> list;
  int64_t index = use.names.findIndex(name).value_or(0);
  for (const NameRange &other : ArrayRef(getAllNames(use.op)).drop_front())
    list.push_back(instantiate(other.pattern, index));
  return list;
}

static LogicalResult verifySame(NameUse first, NameUse second) {
  auto common = findCommonName(first.names, second.names);
  if (!common)
    return success();
  const std::string &name = common->first;
  auto attachNote = [&](InFlightDiagnostic diag) -> LogicalResult {
    Diagnostic &note = diag.attachNote(first.op->getLoc());
    note << "it is named here first";
    if (first.names.isTemplate())
      note << ", by '" << first.names.pattern << "' in iteration "
           << common->second;
    return diag;
  };
  // A state may hold in 32 bits all of a parameter in 16 bits.
  bool isConverted = isa<StateOp>(first.op) || isa<StateOp>(second.op);
  if (isConverted ? first.type.getShape() != second.type.getShape()
                  : first.type != second.type)
    return attachNote(second.op->emitOpError()
                      << "expected '" << name << "' to be a " << first.type
                      << " of the checkpoint, got " << second.type
                      << ": one name is one tensor");
  if (!first.isOwn || !second.isOwn)
    return success();
  SmallVector<std::string> expected = getAlternatives(first, name);
  SmallVector<std::string> got = getAlternatives(second, name);
  if (expected == got)
    return success();
  auto list = [](ArrayRef<std::string> names) {
    return names.empty()
               ? "no alternatives"
               : "the alternatives '" + llvm::join(names, "', '") + "'";
  };
  return attachNote(second.op->emitOpError()
                    << "expected '" << name << "' to have " << list(expected)
                    << ", got " << list(got) << ": one name is one tensor");
}

LogicalResult tp::verifyParameterNames(ModuleOp module) {
  // The distinct uses of each pattern, and the patterns that are templates.
  llvm::MapVector<StringRef, SmallVector<NameUse, 1>> uses;
  SmallVector<StringRef> templates;
  WalkResult walk = module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (auto [i, names] : llvm::enumerate(getAllNames(op))) {
      NameUse use{op, names, getCheckpointType(op), i == 0};
      auto [found, isNew] = uses.try_emplace(names.pattern);
      if (isNew && names.isTemplate())
        templates.push_back(names.pattern);
      if (llvm::any_of(found->second,
                       [&](const NameUse &other) { return other.isSame(use); }))
        continue;
      for (const NameUse &other : found->second)
        if (failed(verifySame(other, use)))
          return WalkResult::interrupt();
      found->second.push_back(use);
    }
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  // A template against every other pattern; of two templates once. The later
  // place is the one in error.
  llvm::DenseMap<Operation *, unsigned> order;
  if (!templates.empty())
    module.walk<WalkOrder::PreOrder>(
        [&](Operation *op) { order.try_emplace(op, order.size()); });
  for (StringRef pattern : templates)
    for (auto &[other, list] : uses) {
      bool isTemplate = NameRange{other}.isTemplate();
      if (other == pattern || (isTemplate && other < pattern))
        continue;
      for (const NameUse &a : uses.find(pattern)->second)
        for (const NameUse &b : list) {
          bool inOrder = order.lookup(a.op) < order.lookup(b.op);
          if (failed(inOrder ? verifySame(a, b) : verifySame(b, a)))
            return failure();
        }
    }
  return success();
}

//===----------------------------------------------------------------------===//
// Names without a use
//===----------------------------------------------------------------------===//

SmallVector<std::string> tp::getUnusedNames(ArrayRef<NameRange> all,
                                            ArrayRef<NameRange> used) {
  llvm::StringMap<SmallVector<NameRange, 1>> byPattern;
  SmallVector<NameRange> templates;
  for (const NameRange &names : used) {
    byPattern[names.pattern].push_back(names);
    if (names.isTemplate())
      templates.push_back(names);
  }
  auto isUsed = [&](const NameRange &names) {
    if (auto found = byPattern.find(names.pattern); found != byPattern.end())
      for (const NameRange &other : found->second)
        if (!names.isTemplate() ||
            (other.first <= names.first &&
             names.first + names.count <= other.first + other.count))
          return true;
    return !names.isTemplate() &&
           llvm::any_of(templates, [&](const NameRange &other) {
             return other.findIndex(names.pattern).has_value();
           });
  };
  llvm::StringSet<> seen;
  SmallVector<std::string> globs;
  for (const NameRange &names : all) {
    if (isUsed(names))
      continue;
    std::string glob = replaceAll(
        tprt::replaceLayerNumbers(
            names.pattern, [](const tprt::LayerNumber &) { return "*"; }),
        stackPlaceholder, "*");
    if (seen.insert(glob).second)
      globs.push_back(std::move(glob));
  }
  return globs;
}
