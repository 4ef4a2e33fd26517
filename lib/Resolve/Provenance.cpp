//===- Provenance.cpp - Why a value is spread as it is --------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading and writing of `tp.because`.
//
//===----------------------------------------------------------------------===//

#include "tp/Resolve/Provenance.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tp/Dialect/TP/IR/TPOps.h"

using namespace mlir;
using namespace tp;

static ArrayAttr toAttr(MLIRContext *context, ArrayRef<Because> entries) {
  Builder builder(context);
  SmallVector<Attribute> list;
  for (const Because &entry : entries) {
    SmallVector<NamedAttribute> fields = {
        builder.getNamedAttr("annotation",
                             builder.getStringAttr(entry.annotation)),
        builder.getNamedAttr("axis", builder.getStringAttr(entry.axis)),
        entry.dim
            ? builder.getNamedAttr("dim", builder.getI64IntegerAttr(*entry.dim))
            : builder.getNamedAttr("partial", builder.getUnitAttr())};
    if (!entry.via.empty())
      fields.push_back(
          builder.getNamedAttr("via", builder.getStringAttr(entry.via)));
    list.push_back(builder.getDictionaryAttr(fields));
  }
  return builder.getArrayAttr(list);
}

static SmallVector<Because> fromAttr(Attribute attribute) {
  SmallVector<Because> entries;
  auto list = dyn_cast_or_null<ArrayAttr>(attribute);
  if (!list)
    return entries;
  for (Attribute element : list) {
    auto fields = dyn_cast<DictionaryAttr>(element);
    if (!fields)
      continue;
    auto text = [&](StringRef name) -> std::string {
      auto value = fields.getAs<StringAttr>(name);
      return value ? value.str() : "";
    };
    Because entry;
    entry.axis = text("axis");
    entry.annotation = text("annotation");
    entry.via = text("via");
    if (auto dim = fields.getAs<IntegerAttr>("dim"))
      entry.dim = dim.getInt();
    entries.push_back(std::move(entry));
  }
  return entries;
}

SmallVector<Because> tp::getBecause(Value value) {
  if (auto result = dyn_cast<OpResult>(value)) {
    auto list = result.getOwner()->getAttrOfType<ArrayAttr>(becauseAttrName);
    if (!list || result.getResultNumber() >= list.size())
      return {};
    return fromAttr(list[result.getResultNumber()]);
  }
  auto arg = cast<BlockArgument>(value);
  Operation *parent = arg.getOwner()->getParentOp();
  if (auto function = dyn_cast_or_null<FunctionOpInterface>(parent)) {
    if (!arg.getOwner()->isEntryBlock())
      return {};
    return fromAttr(function.getArgAttr(arg.getArgNumber(), becauseAttrName));
  }
  auto repeat = dyn_cast_or_null<RepeatOp>(parent);
  if (!repeat || arg.getArgNumber() == 0)
    return {};
  unsigned index = arg.getArgNumber() - 1;
  if (index < repeat.getInits().size())
    return getBecause(repeat.getResult(index));
  SmallVector<Because> entries =
      getBecause(repeat.getStacked()[index - repeat.getInits().size()]);
  for (Because &entry : entries)
    if (entry.dim && *entry.dim > 0)
      --*entry.dim;
  return entries;
}

void tp::setBecause(Value value, ArrayRef<Because> entries) {
  MLIRContext *context = value.getContext();
  if (auto result = dyn_cast<OpResult>(value)) {
    Operation *op = result.getOwner();
    SmallVector<Attribute> list(op->getNumResults(),
                                ArrayAttr::get(context, {}));
    if (auto old = op->getAttrOfType<ArrayAttr>(becauseAttrName))
      llvm::copy(old.getValue().take_front(list.size()), list.begin());
    list[result.getResultNumber()] = toAttr(context, entries);
    bool any = llvm::any_of(
        list, [](Attribute entry) { return !cast<ArrayAttr>(entry).empty(); });
    if (any)
      op->setAttr(becauseAttrName, ArrayAttr::get(context, list));
    else
      op->removeAttr(becauseAttrName);
    return;
  }
  auto arg = cast<BlockArgument>(value);
  Operation *parent = arg.getOwner()->getParentOp();
  if (auto function = dyn_cast_or_null<FunctionOpInterface>(parent)) {
    if (entries.empty())
      function.removeArgAttr(arg.getArgNumber(), becauseAttrName);
    else
      function.setArgAttr(arg.getArgNumber(), becauseAttrName,
                          toAttr(context, entries));
    return;
  }
  setBecause(cast<RepeatOp>(parent).getResult(arg.getArgNumber() - 1), entries);
}

SmallVector<Because> tp::getResultBecause(Operation *function, unsigned index) {
  return fromAttr(cast<FunctionOpInterface>(function).getResultAttr(
      index, becauseAttrName));
}

void tp::setResultBecause(Operation *function, unsigned index,
                          ArrayRef<Because> entries) {
  auto op = cast<FunctionOpInterface>(function);
  if (entries.empty())
    op.removeResultAttr(index,
                        StringAttr::get(op->getContext(), becauseAttrName));
  else
    op.setResultAttr(index, becauseAttrName, toAttr(op->getContext(), entries));
}

std::optional<Because> tp::getBecause(Value value, StringRef axis) {
  for (Because &entry : getBecause(value))
    if (entry.axis == axis)
      return entry;
  return std::nullopt;
}

std::string tp::toString(Location location) {
  if (auto name = dyn_cast<NameLoc>(location))
    return name.getName().str();
  if (auto file = dyn_cast<FileLineColLoc>(location))
    return (file.getFilename().getValue() + ":" + Twine(file.getLine()) + ":" +
            Twine(file.getColumn()))
        .str();
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (std::string text = toString(part); !text.empty())
        return text;
  if (auto call = dyn_cast<CallSiteLoc>(location))
    return toString(call.getCallee());
  return "";
}
