//===- AttributeTable.cpp - The discardable attributes of tp --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table, and what is said of an attribute that is not in it. What a value
// must be beside its kind (a sharding that fits the type, a symbol that there
// is) is verified where it is known.
//
//===----------------------------------------------------------------------===//

#include "AttributeTable.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tp/Dialect/TP/IR/OwnAttributes.h"
#include "tp/Dialect/TP/IR/ParameterNames.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tp;

namespace {

struct Row {
  StringLiteral name;
  unsigned places;
  bool (*isKind)(Attribute);
  StringLiteral kind;
};

template <typename... Kinds>
bool is(Attribute attribute) {
  return isa<Kinds...>(attribute);
}
bool isTensorType(Attribute attribute) {
  auto type = dyn_cast<TypeAttr>(attribute);
  return type && isa<RankedTensorType>(type.getValue());
}

bool isSymbols(Attribute attribute) {
  auto list = dyn_cast<ArrayAttr>(attribute);
  return list && llvm::all_of(list, llvm::IsaPred<FlatSymbolRefAttr>);
}

bool isTexts(Attribute attribute) {
  auto list = dyn_cast<ArrayAttr>(attribute);
  return list && llvm::all_of(list, llvm::IsaPred<StringAttr>);
}

bool isFlags(Attribute attribute) {
  auto dictionary = dyn_cast<DictionaryAttr>(attribute);
  return dictionary && llvm::all_of(dictionary, [](NamedAttribute entry) {
           return isa<BoolAttr>(entry.getValue());
         });
}

bool isTensorPart(Attribute attribute) {
  auto part = dyn_cast<DictionaryAttr>(attribute);
  bool isJoined = part && part.contains("joined");
  if (!part || part.size() != (isJoined ? 9 : 8) ||
      !part.getAs<StringAttr>("part") || !part.getAs<StringAttr>("whole") ||
      !part.getAs<IntegerAttr>("first") || !part.getAs<IntegerAttr>("count"))
    return false;
  auto type = part.getAs<TypeAttr>("type");
  auto shape = part.getAs<DenseI64ArrayAttr>("shape"),
       offsets = part.getAs<DenseI64ArrayAttr>("offsets"),
       sizes = part.getAs<DenseI64ArrayAttr>("sizes");
  if (isJoined) {
    auto joined = part.getAs<IntegerAttr>("joined");
    if (!joined || !shape || joined.getInt() < 1 ||
        joined.getInt() > shape.size())
      return false;
  }
  return type && isa<FloatType>(type.getValue()) && shape && offsets && sizes &&
         offsets.size() == shape.size() && sizes.size() == shape.size();
}

bool isTensorParts(Attribute attribute) {
  auto list = dyn_cast<ArrayAttr>(attribute);
  return list && llvm::all_of(list, isTensorPart);
}

constexpr unsigned onValue = OnArgument | OnResult;

constexpr Row rows[] = {
    // Attributes by which a user or an importer describes a program.
    {"tp.name", onValue, is<StringAttr>, "a string"},
    {"tp.sharding", onValue, is<ShardingAttr>, "a #tp.sharding"},
    {"tp.shardings", OnOperation, is<ArrayAttr>, "a list of #tp.sharding"},
    {"tp.state", onValue, is<FlatSymbolRefAttr>, "the symbol of a tp.state"},
    {"tp.comm_budget", OnFunction | OnRepeat, is<CommBudgetAttr>,
     "a #tp.comm_budget"},
    {"tp.loss", OnResult, is<UnitAttr>, "without a value"},
    {"tp.gradient", OnResult, is<GradientAttr>, "a #tp.gradient"},
    {"tp.training", OnModule, is<DictionaryAttr>, "a dictionary"},
    {"tp.generation", OnModule, is<DictionaryAttr>, "a dictionary"},
    {"tp.positions", OnModule, is<IntegerAttr>, "an integer"},
    {"tp.model_name", OnModule, is<StringAttr>, "a string"},
    {"tp.architecture", OnModule, is<StringAttr>, "a string"},
    {"tp.model_type", OnModule, is<StringAttr>, "a string"},
    {"tp.ignored_tensors", OnModule, is<ArrayAttr>, "a list of strings"},
    {"tp.excluded_tensors", OnModule, isTexts, "a list of strings"},
    {"tp.quantize", OnModule, is<StringAttr>, "a string"},
    {"tp.tensor_parts", OnModule, isTensorParts,
     "a list of dictionaries of part, whole, shape, offsets, sizes, type, "
     "first and count, perhaps joined"},
    {"tp.changed_config", OnModule, isFlags, "a dictionary of booleans"},
    {"tp.noted_parameters", OnModule, is<ArrayAttr>, "a list"},
    {"tp.unnamed_parameters", OnModule, is<ArrayAttr>, "a list of strings"},
    {"tp.default", OnArgument, is<StringAttr>, "a string"},
    {"tp.range", OnArgument, is<DenseI64ArrayAttr>,
     "two numbers, as array<i64: 0, 9>"},
    {"tp.values", OnArgument, is<StringAttr>, "a string"},
    {"tp.right_padded", OnArgument, is<UnitAttr>, "without a value"},
    {"tp.unshifted", OnArgument, is<StringAttr>, "a string"},
    {"tp.sequences", onValue, is<UnitAttr>, "without a value"},
    {"tp.init", OnParameter | OnState, is<StringAttr, DictionaryAttr>,
     "a string or a dictionary"},
    // Notes of passes.
    {"tp.because", OnOperation | onValue, is<ArrayAttr>, "a list"},
    {"tp.value_id", OnOperation, is<IntegerAttr>, "an integer"},
    {"tp.global_type", OnParameter | OnState | onValue, isTensorType,
     "a ranked tensor type"},
    {integerEndAttrName, OnParameter, is<IntegerAttr>, "an integer"},
    {packedGroupsAttrName, OnParameter, is<IntegerAttr>, "an integer"},
    {storedTypeAttrName, OnParameter, isTensorType, "a ranked tensor type"},
    {"tp.rule", OnOperation, is<RuleAttr>, "a #tp.rule"},
    {"tp.partial", OnParameter, is<AxisListAttr>, "a #tp<axes>"},
    {"tp.part", OnOperation, is<DenseI64ArrayAttr>,
     "two numbers, as array<i64: 0, 2>"},
    {"tp.whole", OnOperation, is<StringAttr>, "a string"},
    {"tp.library", OnOperation, is<StringAttr>, "a string"},
    {"tp.origin", OnOperation, is<StringAttr>, "a string"},
    {"tp.kernel", OnFunction | OnOperation, is<StringAttr, FlatSymbolRefAttr>,
     "a string, or the symbol of a kernel"},
    {"tp.row_dims", OnFunction, is<IntegerAttr>, "an integer"},
    {"tp.label", OnFunction, is<StringAttr>, "a string"},
    {"tp.in_place", OnFunction, is<UnitAttr>, "without a value"},
    {"tp.buffers", OnOperation, is<ArrayAttr, UnitAttr>,
     "a list of #tp.buffer"},
    {"tp.arena_bytes", OnFunction, is<IntegerAttr>, "an integer"},
    {"tp.comm_bytes", OnFunction, is<IntegerAttr>, "an integer"},
    {"tp.slot_bytes", OnFunction, is<IntegerAttr>, "an integer"},
    {"tp.row_count", OnFunction, is<IntegerAttr>, "an integer"},
    {"tp.least_rows", OnFunction, is<IntegerAttr>, "an integer"},
    {"tp.body", OnFunction, is<FlatSymbolRefAttr>, "the symbol of a function"},
    {"tp.scratch_bytes", OnFunction | OnOperation, is<IntegerAttr>,
     "an integer"},
    {"tp.then", OnOperation, isSymbols, "a list of symbols of kernels"},
    {"tp.grid", OnFunction, is<DenseI64ArrayAttr>, "three integers"},
    {"tp.block", OnFunction, is<DenseI64ArrayAttr>, "three integers"},
    {"tp.shared_bytes", OnFunction, is<IntegerAttr>, "an integer"},
    {"tp.integer_input", OnOperation, is<UnitAttr>, "without a value"},
    {"tp.code", OnFunction, is<FlatSymbolRefAttr>, "the symbol of a kernel"},
    {"tp.numbers", OnFunction, is<DenseI64ArrayAttr>, "a list of integers"},
    {"tp.device_entry", OnFunction, is<DictionaryAttr>, "a dictionary"},
    {"tp.images", OnFunction, is<DictionaryAttr>, "a dictionary"},
    {"tp.manifest", OnModule, is<StringAttr>, "a string"},
    {"tp.constants", OnModule, is<StringAttr>, "a string"},
    {"tp.entries", OnModule, is<ArrayAttr>, "a list of symbols"},
};

struct PlaceName {
  Place place;
  StringLiteral name;
};
constexpr PlaceName placeNames[] = {
    {OnModule, "the module"},    {OnFunction, "a function"},
    {OnRepeat, "tp.repeat"},     {OnParameter, "tp.parameter"},
    {OnState, "tp.state"},       {OnOperation, "an operation"},
    {OnArgument, "an argument"}, {OnResult, "a result of a function"},
};

/// "a function or tp.repeat".
std::string describe(unsigned places) {
  SmallVector<StringRef> names;
  for (const PlaceName &entry : placeNames)
    if (places & entry.place)
      names.push_back(entry.name);
  std::string last = names.pop_back_val().str();
  return names.empty() ? last : llvm::join(names, ", ") + " or " + last;
}

/// The attributes of a place may be looked for under these.
unsigned getWidened(Place place) {
  return place == OnArgument || place == OnResult ? place : place | OnOperation;
}

} // namespace

Place tp::getPlace(Operation *op) {
  return isa<ModuleOp>(op)              ? OnModule
         : isa<FunctionOpInterface>(op) ? OnFunction
         : isa<RepeatOp>(op)            ? OnRepeat
         : isa<ParameterOp>(op)         ? OnParameter
         : isa<StateOp>(op)             ? OnState
                                        : OnOperation;
}

LogicalResult tp::verifyAttributePlace(Operation *op, Place place,
                                       NamedAttribute attribute,
                                       const Twine &where) {
  StringRef name = attribute.getName();
  const Row *row =
      llvm::find_if(rows, [&](const Row &row) { return row.name == name; });
  std::string prefix = where.isTriviallyEmpty() ? "" : (where + ": ").str();
  if (row != std::end(rows) && (row->places & getWidened(place))) {
    if (row->isKind(attribute.getValue()))
      return success();
    return op->emitOpError() << prefix << "expected " << name << " to be "
                             << row->kind << ", got " << attribute.getValue();
  }
  SmallVector<StringRef> known;
  for (const Row &row : rows)
    if (row.places & getWidened(place))
      known.push_back(row.name);
  if (row == std::end(rows))
    return refuseUnknownAttribute(op, where, name, known);
  auto diag = op->emitOpError()
              << prefix << "expected " << name << " on "
              << describe(row->places) << ", got it on " << describe(place);
  if (StringRef nearest = getNearestName(name, known); !nearest.empty())
    diag << "; the nearest that " << describe(place) << " may have is "
         << nearest;
  return diag;
}
