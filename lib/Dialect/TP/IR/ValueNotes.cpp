//===- ValueNotes.cpp - What is said of arguments and results -------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names under which values are given and read, what an argument is if nobody
// gives it, and which values it may have. The manifest carries these to the
// runtime, whose options are written NAME=FILE; tp-verify draws inputs by them.
//
//===----------------------------------------------------------------------===//

#include "Notes.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace tp;

static constexpr StringLiteral unshiftedName = "tp.unshifted";

/// The names that values go by, and which ones.
static StringAttr getGivenName(ArrayAttr attrs, unsigned index,
                               StringRef attribute) {
  return attrs ? cast<DictionaryAttr>(attrs[index]).getAs<StringAttr>(attribute)
               : StringAttr();
}

/// An error unless a user can write the name, in NAME=FILE.
static LogicalResult verifySpelling(Operation *op, const Twine &where,
                                    StringRef attribute, StringRef name) {
  auto refuse = [&](const Twine &problem) {
    return op->emitOpError() << where.str() << ": expected " << attribute
                             << " to " << problem.str();
  };
  if (name.empty())
    return refuse("have a character at least, got \"\"");
  if (!llvm::json::isUTF8(name) ||
      llvm::any_of(name, [](char c) { return c >= 0 && c < ' '; }))
    return refuse("be UTF-8 without control characters");
  if (name.contains('='))
    return refuse("have no '=', which ends the name in NAME=FILE, got \"" +
                  name + "\"");
  if (name.starts_with("@"))
    return refuse("begin with another character than '@', which is for "
                  "states, got \"" +
                  name + "\"");
  return success();
}

LogicalResult tp::verifyValueName(Operation *op, unsigned index, bool isResult,
                                  NamedAttribute attribute,
                                  const Twine &where) {
  auto function = cast<FunctionOpInterface>(op);
  auto name = cast<StringAttr>(attribute.getValue());
  if (failed(verifySpelling(op, where, attribute.getName(), name)))
    return failure();
  ArrayAttr attrs =
      isResult ? function.getResAttrsAttr() : function.getArgAttrsAttr();
  StringRef kind = isResult ? "result" : "argument";
  auto refuse = [&](unsigned other, StringRef why) {
    return op->emitOpError()
           << where.str() << ": expected a name of its own, got " << name
           << ", " << why << kind << " " << other << " has";
  };
  bool isUnshifted = attribute.getName() == unshiftedName;
  unsigned count =
      isResult ? function.getNumResults() : function.getNumArguments();
  for (unsigned other = 0; other < count; ++other) {
    StringAttr given = getGivenName(attrs, other, TPDialect::getNameAttrName());
    StringAttr second = getGivenName(attrs, other, unshiftedName);
    // The later one of two equal names is at fault.
    bool isTaken = (given == name && (isUnshifted || other < index)) ||
                   (second == name && isUnshifted && other < index);
    if (isTaken)
      return refuse(other, "which ");
    // A value without a name goes by its number.
    std::string fallback = ((isResult ? "result" : "arg") + Twine(other)).str();
    bool isState = attrs && cast<DictionaryAttr>(attrs[other])
                                .contains(TPDialect::getStateAttrName());
    if (!given && !isState && other != index && name.getValue() == fallback)
      return refuse(other, "which without a name ");
  }
  return success();
}

static LogicalResult verifyDefault(Operation *op, StringAttr value,
                                   const Twine &where) {
  if (value.getValue() == "ones" || value.getValue() == "zeros")
    return success();
  return op->emitOpError() << where.str()
                           << ": expected tp.default to be \"ones\" or "
                              "\"zeros\", got "
                           << value;
}

/// The element type of a tensor or scalar.
static Type getElement(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped ? shaped.getElementType() : type;
}

static LogicalResult verifyRange(Operation *op, ArrayRef<int64_t> range,
                                 Type type, const Twine &where) {
  Type element = getElement(type);
  if (range.size() != 2 || range[0] >= range[1])
    return op->emitOpError()
           << where.str()
           << ": expected tp.range to be the least value and the one past the "
              "greatest, as array<i64: 0, 9>, got ["
           << range << "]";
  if (!element.isIntOrIndex())
    return op->emitOpError()
           << where.str() << ": expected tp.range on integers, got " << type;
  unsigned width = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  bool isUnsigned = width == 1 || element.isUnsignedInteger();
  bool fits =
      isUnsigned
          ? range[0] >= 0 && (width >= 63 || range[1] <= int64_t(1) << width)
          : width >= 64 || (range[0] >= -(int64_t(1) << (width - 1)) &&
                            range[1] <= int64_t(1) << (width - 1));
  if (!fits)
    return op->emitOpError() << where.str() << ": expected tp.range within "
                             << element << ", got [" << range << "]";
  return success();
}

static LogicalResult verifyValues(Operation *op, StringAttr kind, Type type,
                                  const Twine &where) {
  Type element = getElement(type);
  constexpr StringLiteral ofFloats[] = {"zeros",    "integers", "positive",
                                        "fraction", "wide",     "large"};
  bool fits = isa<FloatType>(element)
                  ? llvm::is_contained(ofFloats, kind.getValue())
                  : kind.getValue() == "limits" && !element.isInteger(1);
  if (fits)
    return success();
  return op->emitOpError()
         << where.str()
         << ": expected tp.values to be \"zeros\", \"integers\", "
            "\"positive\", \"fraction\", \"wide\" or \"large\" for floats, "
            "or \"limits\" for integers of more than a bit, got "
         << kind << " for " << type;
}

/// tp.right_padded and tp.unshifted are of tensors [batch, positions].
static LogicalResult verifyTokens(Operation *op, StringRef name, Type type,
                                  const Twine &where) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (tensor && tensor.getRank() == 2 && tensor.getElementType().isInteger())
    return success();
  return op->emitOpError()
         << where.str() << ": expected " << name
         << " on a tensor [batch, positions] of integers, got " << type;
}

LogicalResult tp::verifyArgumentNote(Operation *op, unsigned index,
                                     NamedAttribute attribute,
                                     const Twine &where) {
  Type type = cast<FunctionOpInterface>(op).getArgumentTypes()[index];
  StringRef name = attribute.getName();
  Attribute value = attribute.getValue();
  if (name == "tp.default")
    return verifyDefault(op, cast<StringAttr>(value), where);
  if (name == "tp.range")
    return verifyRange(op, cast<DenseI64ArrayAttr>(value), type, where);
  if (name == "tp.values")
    return verifyValues(op, cast<StringAttr>(value), type, where);
  if (name == "tp.right_padded")
    return verifyTokens(op, name, type, where);
  if (name != unshiftedName)
    return success();
  if (failed(verifyTokens(op, name, type, where)))
    return failure();
  return verifyValueName(op, index, /*isResult=*/false, attribute, where);
}
