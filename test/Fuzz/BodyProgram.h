//===- BodyProgram.h - Programs with odd bodies -----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The second generator: small one-device programs, one to six operations whose
// scalar bodies, indexing maps, types and values are drawn from what MLIR
// defines, not from what the compiler is made for. Partial, padded and
// position-dependent operands are brought about by annotations; whether a
// program can be compiled is not asked here.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_FUZZ_BODYPROGRAM_H
#define TP_TEST_FUZZ_BODYPROGRAM_H

#include "ScalarBody.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace tp::fuzz {

mlir::OwningOpRef<mlir::ModuleOp> makeBodyProgram(mlir::MLIRContext *context,
                                                  uint64_t seed);

/// Reductions over a dimension that the ranks do not divide.
mlir::OwningOpRef<mlir::ModuleOp> makeUnevenProgram(mlir::MLIRContext *context,
                                                    uint64_t seed);

/// Chains of tensor operations that canonicalisation folds.
mlir::OwningOpRef<mlir::ModuleOp> makeFoldProgram(mlir::MLIRContext *context,
                                                  uint64_t seed);

class BodyLoops;

class BodyProgram : public Frame {
public:
  using Frame::Frame;
  mlir::OwningOpRef<mlir::ModuleOp> make();
  mlir::OwningOpRef<mlir::ModuleOp> makeUneven();
  mlir::OwningOpRef<mlir::ModuleOp> makeFolds();

private:
  using Value = mlir::Value;
  using Type = mlir::Type;

  //===-- Types and sizes -------------------------------------------------===//
  int64_t someSize();
  Shape someShape(int64_t maxRank = 3);
  Type someElement();
  static Type elementOf(Value value) {
    return mlir::getElementTypeOrSelf(value.getType());
  }
  static mlir::RankedTensorType tensor(llvm::ArrayRef<int64_t> shape,
                                       Type element) {
    return mlir::RankedTensorType::get(shape, element);
  }
  static bool isFloat(Value value) {
    return llvm::isa<mlir::FloatType>(elementOf(value));
  }

  //===-- Operands (BodyOperands.cpp) -------------------------------------===//
  llvm::StringRef someValues();
  Value argument(llvm::ArrayRef<int64_t> shape, Type element);
  Value integerArgument(llvm::ArrayRef<int64_t> shape, Type element,
                        int64_t low, int64_t high);
  Value parameter(llvm::ArrayRef<int64_t> shape, Type element);
  Value constantTensor(llvm::ArrayRef<int64_t> shape, Type element);
  /// Infinities of one sign, alone or here and there among equal numbers.
  Value infinities(llvm::ArrayRef<int64_t> shape, Type element);
  Value filled(llvm::ArrayRef<int64_t> shape, Type element, double value);
  Value scalarConstant(Type element, double value);
  Value empty(llvm::ArrayRef<int64_t> shape, Type element);
  /// A value that nothing else reads yet, from wherever values come.
  Value source(llvm::ArrayRef<int64_t> shape, Type element);
  /// A sum (or maximum) over a dimension that is cut, so that it may be
  /// partial.
  Value partialSource(llvm::ArrayRef<int64_t> shape, Type element);
  Value whole(llvm::ArrayRef<int64_t> shape, Type element);
  Value fromPool();
  Value likeOne(Value value);
  /// A part of a larger value that has the type of `value`, if there is one.
  Value partLike(Value value);
  /// The initial value of an output that is read.
  Value initial(llvm::ArrayRef<int64_t> shape, Type element);
  Value constrained(Value value);
  /// `value`, or something computed of it, cut along `dim` by an annotation.
  Value cutAlong(Value value, unsigned dim);
  /// `value` after it was elsewhere, at `home` again.
  Value travelled(Value value, ShardingAttr home);
  void annotate(Value value, int64_t percent);
  /// A sharding that cuts dimension `dim`.
  ShardingAttr cutting(llvm::ArrayRef<int64_t> shape, unsigned dim);
  /// One that cuts a dimension by `axes`; null if none is long enough.
  ShardingAttr cuttingBy(llvm::ArrayRef<int64_t> shape, const AxisList &axes);

  //===-- Structured operations (BodyStructured.cpp) ----------------------===//
  llvm::SmallVector<Value> drawTerms(ScalarBody &body, const BodyLoops &loops,
                                     mlir::ValueRange outs);
  Value structured(Value value);
  Value extractAlong(Value table, int64_t loop, llvm::ArrayRef<int64_t> sizes);
  Value named(Value value);
  Value reduceOp(Value value);
  Value reduceAlike(Value value, int64_t dim);
  Value mapOp(Value value);
  Value mapOp(Value value, Type element);
  Value matmul(Value value);
  /// The sum over one dimension of products with operands along any of them.
  Value contraction(Value value);
  /// A chain of element-wise operations on whole tensors.
  Value elementwise(Value value);
  Value sumOver(Value value, int64_t dim);
  /// A product and a term, added by one operation, `value` the term or a
  /// factor; or a quotient.
  Value withProduct(Value value);
  /// Two or three sums that are added, something between them.
  Value meeting(Value value);

  //===-- Other operations (BodyTensors.cpp) ------------------------------===//
  Value moving(Value value);
  Value look(Value value);
  Value transformer(Value value);
  Value sliced(Value value);
  Value inserted(Value value);
  Value padded(Value value);
  Value concatenated(Value value);
  Value expanded(Value value);
  Value collapsed(Value value);
  Value gather();
  Value embedding();
  Value ids(llvm::ArrayRef<int64_t> shape, Type element, int64_t rows,
            bool mayMiss);
  Value table(llvm::ArrayRef<int64_t> shape, Type element);
  Value fromScalars(llvm::ArrayRef<int64_t> shape, Type element);
  Value dropout(Value value);

  //===-- Control (BodyControl.cpp) ---------------------------------------===//
  struct Layers {
    int64_t count, first;
    bool reverse;
    llvm::SmallVector<Value> inits, stacked;
    Value shared;

    /// A stack of no layers has no elements: the definition leaves it out.
    bool mayStack() const { return count > 0; }
  };
  Layers drawLayers(Value value, int64_t depth);
  Value carriedOn(Value inner, llvm::ArrayRef<Value> read, int64_t depth);
  llvm::SmallVector<Type> fillLayer(RepeatOp draft, const Layers &layers,
                                    int64_t depth);
  Value repeat(Value value, int64_t depth);
  Value parameterOfBoth(RepeatOp loop, mlir::Type type);
  Value call(Value value);
  Value keepingType(Value value);

  //===-- Uneven reductions (BodyUneven.cpp) ------------------------------===//
  Type unevenElement();
  Shape drawUneven(unsigned &cutDim);
  Value unevenSource(llvm::ArrayRef<int64_t> shape, Type element, unsigned dim);
  Value unevenMap(llvm::ArrayRef<int64_t> shape, Type element);
  Value unevenReduction(llvm::ArrayRef<int64_t> shape, unsigned dim);
  Value unevenSpread(Value reduced, llvm::ArrayRef<int64_t> shape);

  //===-- Chains that fold (BodyFolds.cpp) --------------------------------===//
  struct Slice {
    Shape from, sizes, steps;
  };
  mlir::OpFoldResult foldedIndex(int64_t number);
  llvm::SmallVector<mlir::OpFoldResult>
  foldedIndices(llvm::ArrayRef<int64_t> numbers);
  Shape withoutSomeOnes(llvm::ArrayRef<int64_t> shape);
  Slice drawSlice(llvm::ArrayRef<int64_t> shape);
  Value foldedSource(llvm::ArrayRef<int64_t> shape, Type element);
  Value foldedSlice(Value value);
  Value foldedInsert(Value value);
  Value foldedPad(Value value);
  Value foldedReshape(Value value);
  Value foldedTranspose(Value value);
  Value foldedBroadcast(Value value);
  Value foldedScalar(Value value);
  Value foldable(Value value);

  void addOperation();
  void addSingle();
  /// Later operations may read the value.
  void keep(Value value) {
    if (value)
      pool.push_back(value);
  }
  void finish();

  mlir::func::FuncOp function;
  llvm::SmallVector<Value> pool;
  /// Arguments of integers above zero.
  llvm::SmallPtrSet<mlir::Value, 4> positive;
  int64_t numParameters = 0, numFunctions = 0, numDropouts = 0;
  int64_t repeatDepth = 0;
  /// The values of most of the arguments, if they hold special values: two
  /// operands that both hold zeros show more than one.
  llvm::StringRef usualValues;
  bool hasInfinities = false;
  friend class BodyLoops;
};

} // namespace tp::fuzz

#endif // TP_TEST_FUZZ_BODYPROGRAM_H
