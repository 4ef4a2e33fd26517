//===- RandomProgram.h - Programs by seed -----------------------*- C++ -*-===//
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

#include "Frame.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp::fuzz {

/// A module with one mesh and a function @main.
mlir::OwningOpRef<mlir::ModuleOp> makeRandomProgram(mlir::MLIRContext *context,
                                                    uint64_t seed);

/// The same with @main `ids [B, S] -> logits [B, S, V]`, which is causal.
mlir::OwningOpRef<mlir::ModuleOp> makeCausalProgram(mlir::MLIRContext *context,
                                                    uint64_t seed);

/// Grows one function. Values of rank 1 to 4 that later operations may use are
/// in a pool.
class ProgramMaker : Frame {
public:
  ProgramMaker(mlir::MLIRContext *context, uint64_t seed);
  mlir::OwningOpRef<mlir::ModuleOp> make();
  mlir::OwningOpRef<mlir::ModuleOp> makeCausal();

private:
  int64_t someWidth() { return pick({6, 8, 10, 12, 16, 24}); }

  //===-- Values ----------------------------------------------------------===//
  mlir::RankedTensorType tensor(llvm::ArrayRef<int64_t> shape) {
    return mlir::RankedTensorType::get(shape, element);
  }
  /// Any value of the pool of at least this rank; null if there is none.
  mlir::Value someValue(int64_t minRank = 1);
  mlir::Value argument(mlir::Type type);
  mlir::Value parameter(llvm::ArrayRef<int64_t> shape, llvm::StringRef suffix) {
    return parameter(tensor(shape), suffix);
  }
  mlir::Value parameter(mlir::RankedTensorType type, llvm::StringRef suffix,
                        StorageAttr storage = {});
  /// Null if chance gave none.
  ShardingAttr someStateSharding(llvm::ArrayRef<int64_t> shape);
  void makeStates();
  mlir::Value scalar(double value);
  mlir::Value filled(llvm::ArrayRef<int64_t> shape, double value);
  void keep(mlir::Value value) {
    if (value)
      pool.push_back(value);
  }

  //===-- Operations (RandomOps.cpp)
  //---------------------------------------===//
  void addOperation();
  /// An operation whose result has the type of its operand.
  mlir::Value shapePreserving(mlir::Value value);
  mlir::Value linear(mlir::Value value, int64_t width);
  mlir::Value activation(mlir::Value value);
  mlir::Value norm(mlir::Value value);
  mlir::Value feedForward(mlir::Value value);
  mlir::Value experts(mlir::Value value);
  mlir::Value quantizedLinear(mlir::Value value);
  mlir::Value rounded(mlir::Value value);
  mlir::Value dequantized(int64_t rows, int64_t columns);
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

  //===-- Causal programs (RandomCausal.cpp)
  //---------------------------------------===//
  void addCausal();
  mlir::Value rowsOfPositions(mlir::Value value);
  mlir::Value convolution(mlir::Value value);
  mlir::Value slopes(int64_t heads, int64_t length);

  mlir::func::FuncOp function;
  mlir::FloatType element;
  llvm::SmallVector<mlir::Value> pool;
  int64_t numParameters = 0, numDropouts = 0;
  /// In a tp.repeat, whose parameters are templates.
  bool inRepeat = false;
  /// No token sees a later one.
  bool isCausal = false;
};

} // namespace tp::fuzz

#endif // TP_TEST_FUZZ_RANDOMPROGRAM_H
