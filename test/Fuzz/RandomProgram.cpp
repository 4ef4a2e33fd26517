//===- RandomProgram.cpp - Programs, meshes and annotations by seed -------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The frame of a program: mesh, arguments, parameters, annotations, results.
//
//===----------------------------------------------------------------------===//

#include "RandomProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tp::fuzz {

ProgramMaker::ProgramMaker(MLIRContext *context, uint64_t seed)
    : Frame(context, seed) {}

OwningOpRef<ModuleOp> makeRandomProgram(MLIRContext *context, uint64_t seed) {
  return ProgramMaker(context, seed).make();
}

Value ProgramMaker::someValue(int64_t minRank) {
  // The last ones more often, so that programs get deep.
  for (int attempt = 0; attempt < 8; ++attempt) {
    int64_t size = pool.size();
    int64_t from = chance(60) ? std::max<int64_t>(0, size - 2) : 0;
    Value value = pool[from + below(size - from)];
    if (int64_t(shapeOf(value).size()) >= minRank)
      return value;
  }
  return Value();
}

Value ProgramMaker::argument(Type type) {
  unsigned index = function.getNumArguments();
  (void)function.insertArgument(index, type, DictionaryAttr(), loc);
  BlockArgument value = function.getArgument(index);
  auto shaped = dyn_cast<RankedTensorType>(type);
  if (shaped && chance(50))
    if (ShardingAttr sharding = someSharding(shaped.getShape()))
      setSharding(value, sharding);
  return value;
}

Value ProgramMaker::parameter(RankedTensorType type, StringRef suffix,
                              StorageAttr storage) {
  // Now and then one that is there already, as a tied table is.
  if (!inRepeat && chance(15))
    for (auto old : function.getOps<ParameterOp>())
      if (old.getType() == type && !old.getSource() &&
          old.getStorageAttr() == storage &&
          StringRef(old.getName()).ends_with(suffix)) {
        if (chance(50))
          return old.getResult();
        return builder.clone(*old)->getResult(0);
      }
  std::string name = (inRepeat ? "layers.{i}.p" : "p") +
                     std::to_string(numParameters++) + "." + suffix.str();
  auto made = ParameterOp::create(builder, loc, type, name,
                                  ParameterSourceAttr(), ArrayAttr());
  if (storage)
    made.setStorageAttr(storage);
  Value value = made;
  if (chance(60))
    if (ShardingAttr sharding = someSharding(type.getShape()))
      setSharding(value, sharding);
  return value;
}

Value ProgramMaker::scalar(double value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getFloatAttr(element, value));
}

Value ProgramMaker::filled(ArrayRef<int64_t> shape, double value) {
  Value empty = tensor::EmptyOp::create(builder, loc, shape, element);
  return linalg::FillOp::create(builder, loc, scalar(value), empty)
      .getResult(0);
}

ShardingAttr ProgramMaker::someStateSharding(ArrayRef<int64_t> shape) {
  if (chance(50))
    return someSharding(shape);
  if (chance(30))
    return ShardingAttr();
  TensorSharding sharding = TensorSharding::replicated(shape.size());
  sharding.partial = {mesh.getWhole(below(mesh.getNumAxes()))};
  return ShardingAttr::get(context, meshSymbol, mesh, sharding);
}

/// Results become the successors of states, some of an argument's old value.
void ProgramMaker::makeStates() {
  StringRef sharded = TPDialect::getShardingAttrName();
  StringRef stateName = TPDialect::getStateAttrName();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(function);
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    Type type = function.getResultTypes()[i];
    if (chance(40))
      continue;
    std::string name = "s" + std::to_string(i);
    ShardingAttr sharding =
        someStateSharding(cast<RankedTensorType>(type).getShape());
    int64_t initial = below(3);
    StateOp::create(builder, loc, builder.getStringAttr(name),
                    TypeAttr::get(type), sharding,
                    initial == 1 ? builder.getUnitAttr() : UnitAttr(),
                    initial == 2 ? builder.getStringAttr(name) : StringAttr(),
                    IntegerAttr(), ParameterSourceAttr(), ArrayAttr());
    auto symbol = FlatSymbolRefAttr::get(context, name);
    function.removeResultAttr(i, builder.getStringAttr(sharded));
    function.setResultAttr(i, stateName, symbol);
    for (BlockArgument argument : function.getArguments()) {
      unsigned index = argument.getArgNumber();
      if (argument.getType() != type || getArgState(function, index) ||
          chance(30))
        continue;
      function.removeArgAttr(index, sharded);
      function.setArgAttr(index, stateName, symbol);
      break;
    }
  }
}

OwningOpRef<ModuleOp> ProgramMaker::make() {
  module = ModuleOp::create(loc);
  builder.setInsertionPointToStart(module->getBody());
  element = chance(85) ? FloatType(builder.getF32Type())
                       : FloatType(builder.getBF16Type());
  makeMesh();
  function = func::FuncOp::create(builder, loc, "main",
                                  builder.getFunctionType({}, {}));
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);

  int64_t batch = pick({1, 2, 3}), sequence = pick({3, 4, 6, 8});
  int64_t hidden = someWidth();
  keep(argument(tensor({batch, sequence, hidden})));
  if (chance(50))
    keep(argument(tensor({batch, sequence, hidden})));
  if (chance(30))
    keep(argument(tensor({someWidth(), hidden})));
  for (int64_t count = 2 + below(9); count > 0; --count)
    addOperation();

  SmallVector<Value> results{pool.back()};
  for (int64_t extra = below(3); extra > 0; --extra)
    results.push_back(pool[below(pool.size())]);
  func::ReturnOp::create(builder, loc, results);
  // An operation that nothing uses is no part of the program.
  function->walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op))
      op->erase();
  });
  SmallVector<Type> types(ValueRange(results).getTypes());
  function.setFunctionType(
      builder.getFunctionType(function.getArgumentTypes(), types));
  for (auto [index, value] : llvm::enumerate(results))
    if (chance(30))
      if (ShardingAttr sharding = someSharding(shapeOf(value)))
        function.setResultAttr(index, TPDialect::getShardingAttrName(),
                               sharding);
  if (chance(30))
    makeStates();
  return std::move(module);
}

} // namespace tp::fuzz
