//===- RandomProgram.h - Programs, meshes and annotations by seed -*- C++
//-*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One-device programs of nn and upstream operations with random annotations on
// a random mesh: one or two axes, other device orders, sub-axes, sizes that do
// not divide. The same seed makes the same program everywhere.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_FUZZ_RANDOMPROGRAM_H
#define TP_TEST_FUZZ_RANDOMPROGRAM_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include <random>

namespace tp::fuzz {

/// A module with one mesh and a function @main.
mlir::OwningOpRef<mlir::ModuleOp> makeRandomProgram(mlir::MLIRContext *context,
                                                    uint64_t seed);

/// Grows one function. Values of rank 1 to 4 that later operations may use are
/// in a pool.
class ProgramMaker {
public:
  ProgramMaker(mlir::MLIRContext *context, uint64_t seed);
  mlir::OwningOpRef<mlir::ModuleOp> make();

private:
  using Shape = llvm::SmallVector<int64_t, 4>;

  //===-- Chance ----------------------------------------------------------===//
  int64_t below(int64_t bound) { return int64_t(random() % uint64_t(bound)); }
  bool chance(int64_t percent) { return below(100) < percent; }
  int64_t pick(llvm::ArrayRef<int64_t> choices) {
    return choices[below(choices.size())];
  }
  int64_t someWidth() { return pick({6, 8, 10, 12, 16, 24}); }

  //===-- Values ----------------------------------------------------------===//
  mlir::RankedTensorType tensor(llvm::ArrayRef<int64_t> shape) {
    return mlir::RankedTensorType::get(shape, element);
  }
  static Shape shapeOf(mlir::Value value);
  /// Any value of the pool of at least this rank; null if there is none.
  mlir::Value someValue(int64_t minRank = 1);
  mlir::Value argument(mlir::Type type);
  mlir::Value parameter(llvm::ArrayRef<int64_t> shape, llvm::StringRef suffix);
  mlir::Value scalar(double value);
  mlir::Value filled(llvm::ArrayRef<int64_t> shape, double value);
  void keep(mlir::Value value) {
    if (value)
      pool.push_back(value);
  }

  //===-- Annotations -----------------------------------------------------===//
  void makeMesh();
  /// A sharding that a tensor of `shape` may have; null if chance gave none.
  ShardingAttr someSharding(llvm::ArrayRef<int64_t> shape);

  //===-- Operations (RandomOps.cpp)
  //---------------------------------------===//
  void addOperation();
  /// An operation whose result has the type of its operand.
  mlir::Value shapePreserving(mlir::Value value);
  mlir::Value linear(mlir::Value value, int64_t width);
  mlir::Value activation(mlir::Value value);
  mlir::Value norm(mlir::Value value);
  mlir::Value feedForward(mlir::Value value);
  mlir::Value constraint(mlir::Value value);
  mlir::Value positions(mlir::Value value);
  mlir::Value dropout(mlir::Value value);
  mlir::Value binary(mlir::Value value);
  mlir::Value narrow(mlir::Value value);
  mlir::Value addVector(mlir::Value value);
  mlir::Value reduce(mlir::Value value);
  mlir::Value contract(mlir::Value value);
  mlir::Value transpose(mlir::Value value);
  mlir::Value split(mlir::Value value);
  mlir::Value merge(mlir::Value value);
  mlir::Value slice(mlir::Value value);
  mlir::Value concat(mlir::Value value);
  mlir::Value pad(mlir::Value value);
  mlir::Value gather(mlir::Value value);
  mlir::Value embedding();
  mlir::Value crossEntropy(mlir::Value value);
  mlir::Value attention();
  mlir::Value product(mlir::Value value);
  mlir::Value insert(mlir::Value value);
  mlir::Value fused(mlir::Value value);
  mlir::Value withStatistics(mlir::Value value);
  mlir::Value repeat(mlir::Value value);

  mlir::MLIRContext *context;
  std::mt19937_64 random;
  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  Mesh mesh;
  mlir::FlatSymbolRefAttr meshSymbol;
  mlir::FloatType element;
  llvm::SmallVector<mlir::Value> pool;
  int64_t numParameters = 0, numDropouts = 0;
  /// In a tp.repeat, whose parameters are templates.
  bool inRepeat = false;
};

} // namespace tp::fuzz

#endif // TP_TEST_FUZZ_RANDOMPROGRAM_H
