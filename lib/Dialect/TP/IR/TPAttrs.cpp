//===- TPAttrs.cpp - Attributes of the tp dialect ---------------------------
//-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Assembly and verification of meshes, axes and shardings, and their conversion
// to and from the algebra's values.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp;

#define GET_ATTRDEF_CLASSES
#include "tp/Dialect/TP/IR/TPAttrs.cpp.inc"

void TPDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tp/Dialect/TP/IR/TPAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

Attribute MeshAxisAttr::parse(AsmParser &parser, Type) {
  std::string name;
  int64_t size;
  if (parser.parseString(&name) || parser.parseEqual() ||
      parser.parseInteger(size))
    return {};
  return MeshAxisAttr::get(parser.getContext(),
                           StringAttr::get(parser.getContext(), name), size);
}

void MeshAxisAttr::print(AsmPrinter &printer) const {
  printer << getName() << "=" << getSize();
}

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SmallVector<MeshAxisAttr> axes;
  SmallVector<int64_t> deviceIds;
  SMLoc loc = parser.getCurrentLocation();
  auto parseAxis = [&]() -> ParseResult {
    auto axis = dyn_cast_or_null<MeshAxisAttr>(MeshAxisAttr::parse(parser, {}));
    if (!axis)
      return failure();
    axes.push_back(axis);
    return success();
  };
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseAxis))
    return {};
  if (succeeded(parser.parseOptionalComma())) {
    auto parseId = [&]() -> ParseResult {
      return parser.parseInteger(deviceIds.emplace_back());
    };
    if (parser.parseKeyword("device_ids") || parser.parseEqual() ||
        parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseId))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return MeshAttr::getChecked([&] { return parser.emitError(loc); },
                              parser.getContext(), axes, deviceIds);
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getAxes(), printer,
                        [&](MeshAxisAttr axis) { axis.print(printer); });
  printer << "]";
  if (!getDeviceIds().empty()) {
    printer << ", device_ids=[";
    llvm::interleaveComma(getDeviceIds(), printer);
    printer << "]";
  }
  printer << ">";
}

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<MeshAxisAttr> axes,
                               ArrayRef<int64_t> deviceIds) {
  llvm::StringSet<> names;
  int64_t ranks = 1;
  for (MeshAxisAttr axis : axes) {
    if (axis.getName().getValue().empty())
      return emitError() << "expected a mesh axis to have a name";
    if (!names.insert(axis.getName().getValue()).second)
      return emitError() << "expected distinct axis names, got "
                         << axis.getName() << " twice";
    if (axis.getSize() < 1)
      return emitError() << "expected axis " << axis.getName()
                         << " to have a positive size, got " << axis.getSize();
    if (axis.getSize() > (int64_t(1) << 20) ||
        ranks * axis.getSize() > (int64_t(1) << 20))
      return emitError() << "expected a mesh of at most 1048576 ranks";
    ranks *= axis.getSize();
  }
  if (deviceIds.empty())
    return success();
  if (static_cast<int64_t>(deviceIds.size()) != ranks)
    return emitError() << "expected device_ids to list all " << ranks
                       << " ranks, got " << deviceIds.size();
  SmallVector<bool> seen(ranks, false);
  for (int64_t id : deviceIds) {
    if (id < 0 || id >= ranks || seen[id])
      return emitError() << "expected device_ids to be a permutation of 0.."
                         << ranks - 1 << ", got " << id
                         << (id >= 0 && id < ranks ? " twice" : "");
    seen[id] = true;
  }
  return success();
}

Mesh MeshAttr::toMesh() const {
  SmallVector<Mesh::Axis> axes;
  for (MeshAxisAttr axis : getAxes())
    axes.push_back({axis.getName().str(), axis.getSize()});
  return Mesh(axes, getDeviceIds());
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

Attribute AxisRefAttr::parse(AsmParser &parser, Type) {
  std::string name;
  int64_t pre = 1, size = 0;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseString(&name))
    return {};
  if (succeeded(parser.parseOptionalColon())) {
    if (parser.parseLParen() || parser.parseInteger(pre) ||
        parser.parseRParen() || parser.parseInteger(size))
      return {};
    if (size == 0) {
      parser.emitError(loc) << "expected a sub-axis to have a size of 2 or "
                               "more, got 0";
      return {};
    }
  }
  return AxisRefAttr::getChecked(
      [&] { return parser.emitError(loc); }, parser.getContext(),
      StringAttr::get(parser.getContext(), name), pre, size);
}

void AxisRefAttr::print(AsmPrinter &printer) const {
  printer << getName();
  if (getSize() != 0)
    printer << ":(" << getPre() << ")" << getSize();
}

LogicalResult AxisRefAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  StringAttr name, int64_t pre, int64_t size) {
  if (pre < 1)
    return emitError() << "expected the sub-axis of " << name
                       << " to begin at 1 or more, got " << pre;
  if (size == 0 ? pre != 1 : size < 2)
    return emitError() << "expected the sub-axis of " << name
                       << " to have a size of 2 or more, got " << size;
  return success();
}

static ParseResult parseAxes(AsmParser &parser,
                             SmallVectorImpl<AxisRefAttr> &axes) {
  auto axis = dyn_cast_or_null<AxisRefAttr>(AxisRefAttr::parse(parser, {}));
  if (!axis)
    return failure();
  axes.push_back(axis);
  return success();
}

Attribute AxisListAttr::parse(AsmParser &parser, Type) {
  SmallVector<AxisRefAttr> axes;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parseAxes(parser, axes); }))
    return {};
  return AxisListAttr::get(parser.getContext(), axes);
}

void AxisListAttr::print(AsmPrinter &printer) const {
  printer << "[";
  llvm::interleaveComma(getAxes(), printer,
                        [&](AxisRefAttr axis) { axis.print(printer); });
  printer << "]";
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

Attribute DimShardingAttr::parse(AsmParser &parser, Type) {
  SmallVector<AxisRefAttr> axes;
  int64_t grain = 1, block = 0, outer = 1;
  bool isOpen = false;
  SMLoc loc = parser.getCurrentLocation();
  auto parseElement = [&]() -> ParseResult {
    if (isOpen)
      return parser.emitError(parser.getCurrentLocation(),
                              "expected nothing after '?'");
    if (succeeded(parser.parseOptionalQuestion())) {
      isOpen = true;
      return success();
    }
    if (failed(parseAxes(parser, axes)))
      return failure();
    if (succeeded(parser.parseOptionalKeyword("grain")) &&
        parser.parseInteger(grain))
      return failure();
    if (failed(parser.parseOptionalKeyword("block")))
      return success();
    return failure(parser.parseInteger(block) || parser.parseKeyword("by") ||
                   parser.parseInteger(outer));
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces,
                                     parseElement))
    return {};
  if (grain < 1) {
    parser.emitError(loc) << "expected a positive grain, got " << grain;
    return {};
  }
  if (block < 0 || outer < 1) {
    parser.emitError(loc) << "expected positive blocks and shards of them, got "
                          << block << " by " << outer;
    return {};
  }
  return DimShardingAttr::get(parser.getContext(), axes, grain, isOpen, block,
                              outer);
}

void DimShardingAttr::print(AsmPrinter &printer) const {
  printer << "{";
  llvm::interleaveComma(getAxes(), printer,
                        [&](AxisRefAttr axis) { axis.print(printer); });
  if (getGrain() != 1)
    printer << " grain " << getGrain();
  if (getBlock())
    printer << " block " << getBlock() << " by " << getOuter();
  if (getIsOpen())
    printer << (getAxes().empty() ? "?" : ", ?");
  printer << "}";
}

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  FlatSymbolRefAttr mesh;
  SmallVector<DimShardingAttr> dims;
  SmallVector<AxisRefAttr> partial;
  ReductionKind reduction = ReductionKind::Sum;
  SMLoc loc = parser.getCurrentLocation();
  auto parseDim = [&]() -> ParseResult {
    auto dim =
        dyn_cast_or_null<DimShardingAttr>(DimShardingAttr::parse(parser, {}));
    if (!dim)
      return failure();
    dims.push_back(dim);
    return success();
  };
  if (parser.parseLess() || parser.parseAttribute(mesh) ||
      parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim))
    return {};
  if (succeeded(parser.parseOptionalComma())) {
    StringRef kind;
    SMLoc kindLoc;
    if (parser.parseKeyword("partial"))
      return {};
    kindLoc = parser.getCurrentLocation();
    if (parser.parseKeyword(&kind))
      return {};
    std::optional<ReductionKind> symbol = symbolizeReductionKind(kind);
    if (!symbol) {
      parser.emitError(kindLoc)
          << "expected 'sum', 'max' or 'min', got '" << kind << "'";
      return {};
    }
    reduction = *symbol;
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, [&] {
          return parseAxes(parser, partial);
        }))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return ShardingAttr::getChecked([&] { return parser.emitError(loc); },
                                  parser.getContext(), mesh, dims, partial,
                                  reduction);
}

void ShardingAttr::print(AsmPrinter &printer) const {
  printer << "<" << getMesh() << ", [";
  llvm::interleaveComma(getDims(), printer,
                        [&](DimShardingAttr dim) { dim.print(printer); });
  printer << "]";
  if (!getPartial().empty()) {
    printer << ", partial " << stringify(getReduction()) << " {";
    llvm::interleaveComma(getPartial(), printer,
                          [&](AxisRefAttr axis) { axis.print(printer); });
    printer << "}";
  }
  printer << ">";
}

LogicalResult ShardingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   FlatSymbolRefAttr mesh,
                                   ArrayRef<DimShardingAttr> dims,
                                   ArrayRef<AxisRefAttr> partial,
                                   ReductionKind reduction) {
  llvm::SmallDenseSet<Attribute, 4> seen;
  auto check = [&](ArrayRef<AxisRefAttr> axes) -> LogicalResult {
    for (AxisRefAttr axis : axes)
      if (!seen.insert(axis).second)
        return emitError() << "expected each axis at most once in a sharding, "
                              "got "
                           << axis.getName() << " twice";
    return success();
  };
  for (DimShardingAttr dim : dims)
    if (failed(check(dim.getAxes())))
      return failure();
  return check(partial);
}

/// Resolve names against `mesh`.
static FailureOr<AxisList>
resolve(ArrayRef<AxisRefAttr> axes, const Mesh &mesh,
        function_ref<InFlightDiagnostic()> emitError) {
  AxisList result;
  for (AxisRefAttr ref : axes) {
    std::optional<unsigned> index = mesh.findAxis(ref.getName());
    if (!index) {
      SmallVector<std::string> names;
      for (const Mesh::Axis &axis : mesh.getAxes())
        names.push_back("\"" + axis.name + "\"");
      return emitError() << "expected an axis of the mesh ("
                         << llvm::join(names, ", ") << "), got "
                         << ref.getName();
    }
    int64_t whole = mesh.getAxis(*index).size;
    int64_t size = ref.getSize() == 0 ? whole : ref.getSize();
    if (ref.getPre() > whole || size > whole ||
        whole % (ref.getPre() * size) != 0)
      return emitError() << "expected sub-axis " << ref.getName() << ":("
                         << ref.getPre() << ")" << size
                         << " to divide the axis of size " << whole;
    result.push_back({*index, ref.getPre(), size});
  }
  return result;
}

FailureOr<AxisList>
tp::resolveAxes(AxisListAttr axes, const Mesh &mesh,
                function_ref<InFlightDiagnostic()> emitError) {
  return resolve(axes.getAxes(), mesh, emitError);
}

static SmallVector<AxisRefAttr> toAttrs(MLIRContext *context, const Mesh &mesh,
                                        ArrayRef<AxisRef> axes) {
  SmallVector<AxisRefAttr> result;
  for (const AxisRef &ref : axes) {
    bool whole = ref == mesh.getWhole(ref.axis);
    result.push_back(AxisRefAttr::get(
        context, StringAttr::get(context, mesh.getAxis(ref.axis).name), ref.pre,
        whole ? 0 : ref.size));
  }
  return result;
}

AxisListAttr tp::getAxisListAttr(MLIRContext *context, const Mesh &mesh,
                                 ArrayRef<AxisRef> axes) {
  return AxisListAttr::get(context, toAttrs(context, mesh, axes));
}

FailureOr<TensorSharding>
ShardingAttr::toSharding(const Mesh &mesh,
                         function_ref<InFlightDiagnostic()> emitError) const {
  TensorSharding sharding;
  for (DimShardingAttr dim : getDims()) {
    FailureOr<AxisList> axes = resolve(dim.getAxes(), mesh, emitError);
    if (failed(axes))
      return failure();
    sharding.dims.push_back({*axes, dim.getGrain(), dim.getIsOpen(),
                             dim.getBlock(), dim.getOuter()});
  }
  FailureOr<AxisList> partial = resolve(getPartial(), mesh, emitError);
  if (failed(partial))
    return failure();
  sharding.partial = *partial;
  sharding.reduction = getReduction();
  return sharding;
}

TensorSharding ShardingAttr::toSharding(const Mesh &mesh) const {
  FailureOr<TensorSharding> sharding = toSharding(
      mesh, [&] { return mlir::emitError(UnknownLoc::get(getContext())); });
  assert(succeeded(sharding) && "the attribute was not verified on this mesh");
  return std::move(*sharding);
}

ShardingAttr ShardingAttr::get(MLIRContext *context, FlatSymbolRefAttr symbol,
                               const Mesh &mesh,
                               const TensorSharding &sharding) {
  SmallVector<DimShardingAttr> dims;
  for (const DimSharding &dim : sharding.dims)
    dims.push_back(
        DimShardingAttr::get(context, toAttrs(context, mesh, dim.axes),
                             dim.grain, dim.open, dim.block, dim.outer));
  return ShardingAttr::get(context, symbol, dims,
                           toAttrs(context, mesh, sharding.partial),
                           sharding.reduction);
}
