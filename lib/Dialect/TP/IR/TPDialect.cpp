//===- TPDialect.cpp - The tp dialect --------------------------------------
//-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration, the verification of sharding attributes wherever they stand,
// and the helpers that read and write them.
//
//===----------------------------------------------------------------------===//

#include "AttributeTable.h"
#include "Notes.h"
#include "tp/Dialect/TP/IR/ParameterNames.h"
#include "tp/Dialect/TP/IR/TPOps.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/InliningUtils.h"

using namespace mlir;
using namespace tp;

#include "tp/Dialect/TP/IR/TPDialect.cpp.inc"

namespace {
/// Calls are inlined at the start of the import stage, whatever they contain.
struct TPInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final {
    return true;
  }
};

/// Rules are long and mostly the same: print them once.
struct TPAsmInterface : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;
  AliasResult getAlias(Attribute attribute,
                       raw_ostream &stream) const override {
    if (!isa<RuleAttr>(attribute))
      return AliasResult::NoAlias;
    stream << "rule";
    return AliasResult::FinalAlias;
  }
};
} // namespace

void TPDialect::initialize() {
  addInterfaces<TPAsmInterface, TPInlinerInterface>();
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "tp/Dialect/TP/IR/TPOps.cpp.inc"
      >();
}

MeshOp tp::lookupMesh(Operation *from, FlatSymbolRefAttr symbol) {
  return SymbolTable::lookupNearestSymbolFrom<MeshOp>(from, symbol);
}

MeshOp tp::getUniqueMesh(Operation *from) {
  auto module = dyn_cast<ModuleOp>(from);
  if (!module)
    module = from->getParentOfType<ModuleOp>();
  if (!module)
    return {};
  MeshOp unique;
  for (MeshOp mesh : module.getOps<MeshOp>()) {
    if (unique)
      return {};
    unique = mesh;
  }
  return unique;
}

ShardingAttr tp::getSharding(Value value) {
  StringRef name = TPDialect::getShardingsAttrName();
  if (auto result = dyn_cast<OpResult>(value)) {
    auto list = result.getOwner()->getAttrOfType<ArrayAttr>(name);
    if (!list || result.getResultNumber() >= list.size())
      return {};
    return dyn_cast<ShardingAttr>(list[result.getResultNumber()]);
  }
  auto arg = cast<BlockArgument>(value);
  Operation *parent = arg.getOwner()->getParentOp();
  if (auto function = dyn_cast_or_null<FunctionOpInterface>(parent)) {
    if (!arg.getOwner()->isEntryBlock())
      return {};
    return function.getArgAttrOfType<ShardingAttr>(
        arg.getArgNumber(), TPDialect::getShardingAttrName());
  }
  auto repeat = dyn_cast_or_null<RepeatOp>(parent);
  if (!repeat || arg.getArgNumber() == 0)
    return {};
  unsigned index = arg.getArgNumber() - 1;
  if (index < repeat.getInits().size())
    return getSharding(repeat.getResult(index));
  // The slice of a stacked operand: its sharding without the first dimension.
  ShardingAttr whole =
      getSharding(repeat.getStacked()[index - repeat.getInits().size()]);
  if (!whole || whole.getDims().empty())
    return {};
  return ShardingAttr::get(whole.getContext(), whole.getMesh(),
                           whole.getDims().drop_front(), whole.getPartial(),
                           whole.getReduction());
}

void tp::setSharding(Value value, ShardingAttr sharding) {
  StringRef name = TPDialect::getShardingsAttrName();
  if (auto result = dyn_cast<OpResult>(value)) {
    Operation *op = result.getOwner();
    SmallVector<Attribute> list(op->getNumResults(),
                                UnitAttr::get(op->getContext()));
    if (auto old = op->getAttrOfType<ArrayAttr>(name))
      llvm::copy(old.getValue().take_front(list.size()), list.begin());
    list[result.getResultNumber()] = sharding;
    op->setAttr(name, ArrayAttr::get(op->getContext(), list));
    return;
  }
  auto arg = cast<BlockArgument>(value);
  Operation *parent = arg.getOwner()->getParentOp();
  if (auto function = dyn_cast_or_null<FunctionOpInterface>(parent)) {
    function.setArgAttr(arg.getArgNumber(), TPDialect::getShardingAttrName(),
                        sharding);
    return;
  }
  auto repeat = cast<RepeatOp>(parent);
  unsigned index = arg.getArgNumber() - 1;
  assert(index < repeat.getInits().size() &&
         "the slice of a stacked operand has the operand's sharding");
  setSharding(repeat.getResult(index), sharding);
}

ShardingAttr tp::getResultSharding(Operation *function, unsigned index) {
  return cast<FunctionOpInterface>(function).getResultAttrOfType<ShardingAttr>(
      index, TPDialect::getShardingAttrName());
}

LogicalResult tp::verifyShardingOn(Operation *op, ShardingAttr sharding,
                                   Type type, StringRef where) {
  auto shaped = dyn_cast<RankedTensorType>(type);
  if (!shaped)
    return op->emitOpError() << where << ": expected a ranked tensor to carry "
                             << "a sharding, got " << type;
  MeshOp mesh = lookupMesh(op, sharding.getMesh());
  if (!mesh)
    return op->emitOpError() << where << ": expected " << sharding.getMesh()
                             << " to be a tp.mesh, got no such mesh";
  Mesh resolved = mesh.getMesh().toMesh();
  FailureOr<TensorSharding> value = sharding.toSharding(resolved, [&] {
    return noteMesh(op->emitOpError() << where << ": ", mesh);
  });
  if (failed(value))
    return failure();
  // After partition types are local; only the rank can be held against them.
  if (value->getRank() != shaped.getRank())
    return op->emitOpError()
           << where << ": expected a sharding of rank " << shaped.getRank()
           << " for " << type << ", got " << value->getRank();
  // Local sizes are multiples of grains, but blocks are cut up: propagation
  // holds them against the global type.
  SmallVector<int64_t> shape(shaped.getShape());
  for (auto [size, dim] : llvm::zip_equal(shape, value->dims))
    if (dim.hasBlocks())
      size = dim.block;
  std::string problem = verifySharding(shape, *value, resolved);
  if (!problem.empty())
    return op->emitOpError() << where << ": " << problem;
  return success();
}

LogicalResult TPDialect::verifyOperationAttribute(Operation *op,
                                                  NamedAttribute attribute) {
  if (failed(verifyAttributePlace(op, getPlace(op), attribute, "")))
    return failure();
  // Its calls are inlined, and the function with its budget is gone before
  // there is a collective.
  auto symbol = dyn_cast<SymbolOpInterface>(op);
  if (attribute.getName() == getCommBudgetAttrName() && symbol &&
      symbol.isPrivate())
    return op->emitOpError()
           << "expected " << getCommBudgetAttrName()
           << " on a public function or tp.repeat, got it on a private "
              "function, whose calls are inlined: give the budget to the "
              "function that calls it";
  if (attribute.getName() != getShardingsAttrName())
    return success();
  auto list = cast<ArrayAttr>(attribute.getValue());
  if (list.size() != op->getNumResults())
    return op->emitOpError()
           << "expected " << getShardingsAttrName() << " to list "
           << op->getNumResults() << " shardings, one per result, got "
           << attribute.getValue();
  for (auto [index, entry] : llvm::enumerate(list)) {
    if (isa<UnitAttr>(entry))
      continue;
    auto sharding = dyn_cast<ShardingAttr>(entry);
    if (!sharding)
      return op->emitOpError() << "expected " << getShardingsAttrName()
                               << " to hold #tp.sharding, got " << entry;
    // Bytes are cut where the elements in them are.
    auto stored = op->getAttrOfType<TypeAttr>(storedTypeAttrName);
    Type type = stored ? stored.getValue() : op->getResult(index).getType();
    if (failed(verifyShardingOn(op, sharding, type,
                                ("result " + Twine(index)).str())))
      return failure();
  }
  return success();
}

LogicalResult TPDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                  unsigned index,
                                                  NamedAttribute attribute) {
  std::string where = ("argument " + Twine(index)).str();
  if (failed(verifyAttributePlace(op, OnArgument, attribute, where)))
    return failure();
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return success();
  if (attribute.getName() == getNameAttrName())
    return verifyValueName(op, index, /*isResult=*/false, attribute, where);
  if (attribute.getName() == getStateAttrName())
    return verifyStateUse(op, index, /*isResult=*/false, attribute, where);
  if (attribute.getName() == sequencesName)
    return verifySequences(op, index, /*isResult=*/false, where);
  if (attribute.getName() == getShardingAttrName())
    return verifyShardingOn(op, cast<ShardingAttr>(attribute.getValue()),
                            function.getArgumentTypes()[index], where);
  return verifyArgumentNote(op, index, attribute, where);
}

LogicalResult TPDialect::verifyRegionResultAttribute(Operation *op, unsigned,
                                                     unsigned index,
                                                     NamedAttribute attribute) {
  std::string where = ("result " + Twine(index)).str();
  if (failed(verifyAttributePlace(op, OnResult, attribute, where)))
    return failure();
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return success();
  if (attribute.getName() == getNameAttrName())
    return verifyValueName(op, index, /*isResult=*/true, attribute, where);
  if (attribute.getName() == getStateAttrName())
    return verifyStateUse(op, index, /*isResult=*/true, attribute, where);
  if (attribute.getName() == sequencesName)
    return verifySequences(op, index, /*isResult=*/true, where);
  if (attribute.getName() == getLossAttrName()) {
    auto type = dyn_cast<RankedTensorType>(function.getResultTypes()[index]);
    if (!type || type.getRank() != 0 || !isa<FloatType>(type.getElementType()))
      return op->emitOpError()
             << "result " << index << ": expected " << getLossAttrName()
             << " on a float tensor of rank 0, got "
             << function.getResultTypes()[index];
    return success();
  }
  if (attribute.getName() == getShardingAttrName())
    return verifyShardingOn(op, cast<ShardingAttr>(attribute.getValue()),
                            function.getResultTypes()[index], where);
  return success();
}
