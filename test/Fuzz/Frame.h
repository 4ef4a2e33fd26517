//===- Frame.h - What every random program has ------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chance, a module with one mesh (one or two axes, other device orders), and
// shardings on it (sub-axes, sizes that do not divide). The same seed gives the
// same everywhere, so no distribution of the standard library is used.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_FUZZ_FRAME_H
#define TP_TEST_FUZZ_FRAME_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include <random>

namespace tp::fuzz {

class Frame {
public:
  using Shape = llvm::SmallVector<int64_t, 4>;

  Frame(mlir::MLIRContext *context, uint64_t seed);

  int64_t below(int64_t bound) { return int64_t(random() % uint64_t(bound)); }
  bool chance(int64_t percent) { return below(100) < percent; }
  /// A chance of its own sequence: what is drawn by it was added later, and the
  /// programs without it are those that their seeds always made.
  bool rarely(int64_t percent) { return rare() % 100 < uint64_t(percent); }
  int64_t pick(llvm::ArrayRef<int64_t> choices) {
    return choices[below(choices.size())];
  }
  /// One of several things, of whatever type.
  template <typename T>
  T oneOf(std::initializer_list<T> choices) {
    return *(choices.begin() + below(choices.size()));
  }

  void makeMesh();
  void makeMesh(llvm::ArrayRef<Mesh::Axis> axes,
                llvm::ArrayRef<int64_t> order = {});
  /// A sharding that a tensor of `shape` may have; null if chance gave none.
  /// With `full`, no shard is empty.
  ShardingAttr someSharding(llvm::ArrayRef<int64_t> shape, bool full = true);
  void cutBlocks(int64_t size, DimSharding &dim);
  /// On every rank whole.
  ShardingAttr replicated(int64_t rank);
  static Shape shapeOf(mlir::Value value);

protected:
  mlir::MLIRContext *context;
  std::mt19937_64 random, rare;

public:
  mlir::OpBuilder builder;
  mlir::Location loc;

protected:
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Mesh mesh;
  mlir::FlatSymbolRefAttr meshSymbol;
};

} // namespace tp::fuzz

#endif // TP_TEST_FUZZ_FRAME_H
