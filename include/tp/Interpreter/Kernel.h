//===- Kernel.h - Scalar bodies as register bytecode ------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The body of a structured operation, or one element-wise operation, compiled
// once to instructions over registers of many lanes. A loop nest runs it: one
// parallel dimension goes over the lanes, the others and all reductions are
// loops in their order, so that every element of a result sees its reduction in
// the order of the iteration space.
//
// Rounding: every instruction computes in double (exact for f32 and narrower
// before rounding) and rounds to its result's type. One exception: a sum into
// an f32 output keeps a double and is rounded once at the end, which is nearer
// to the exact sum than any order. Sixteen-bit sums are rounded at every step,
// as the program says, unless a disturbed run asks for them to be wide too;
// recurrences always are.
//
//===----------------------------------------------------------------------===//

#ifndef TP_INTERPRETER_KERNEL_H
#define TP_INTERPRETER_KERNEL_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Operation.h"
#include "tp/Interpreter/Disturbance.h"
#include "tp/Interpreter/Tensor.h"
#include "llvm/ADT/DenseMap.h"

namespace tp::interp {

/// A lane register: of the float file or of the integer file.
struct Register {
  bool isFloat = true;
  uint16_t index = 0;
};

enum class Opcode : uint16_t;

struct Instruction {
  Opcode opcode;
  /// Type of the result, and of the first operand.
  ElementType type, from;
  uint16_t target = 0, a = 0, b = 0, c = 0;
  /// A predicate, a dimension, where in `indices`, or the instruction that a
  /// jump leads to.
  int64_t immediate = 0;
};

class Kernel {
public:
  /// Compile a block that ends in a terminator whose operands are the results.
  /// `wideOutputs` says for each terminator operand whether it is a sum into
  /// the block argument `firstOutput` + i that is kept in double. Emits an
  /// error at the operation that is not supported.
  static mlir::FailureOr<std::unique_ptr<Kernel>>
  compile(mlir::Block &body, unsigned firstOutput,
          llvm::ArrayRef<bool> wideOutputs);
  /// Compile a block whose arguments are the positions in the loops.
  static mlir::FailureOr<std::unique_ptr<Kernel>>
  compileIndexed(mlir::Block &body);
  /// Compile one operation whose operands are the arguments, element by
  /// element.
  static mlir::FailureOr<std::unique_ptr<Kernel>>
  compileElementwise(mlir::Operation *op);
  /// True if `op` is an operation that the bytecode has.
  static bool isSupported(mlir::Operation *op);

  /// Values from above that the body uses; they are given to LoopNest::run.
  llvm::ArrayRef<mlir::Value> getCaptured() const { return captured; }

private:
  friend class KernelBuilder;
  friend class NestRun;

  struct Argument {
    Register target;
    bool used = false;
  };
  struct Constant {
    Register target;
    double number = 0;
    int64_t integer = 0;
  };
  struct Capture {
    /// The register of a scalar; none for a tensor.
    std::optional<Register> target;
  };

  unsigned numFloatRegisters = 0, numIntRegisters = 0;
  /// Lanes may part ways: one runs at a time.
  bool hasJumps = false;
  llvm::SmallVector<Argument> arguments;
  llvm::SmallVector<Constant> constants;
  llvm::SmallVector<mlir::Value> captured;
  llvm::SmallVector<Capture> captures;
  /// Index registers of tensor.extract, referred to by Instruction::immediate.
  llvm::SmallVector<uint16_t> indices;
  llvm::SmallVector<Instruction> instructions;
  llvm::SmallVector<Register> yields;
  /// How an output is accumulated: rounded at every step, or a sum in a double.
  enum class Accumulator : uint8_t { Rounded, Sum };
  llvm::SmallVector<Accumulator> accumulators;
};

/// A rectangular iteration space and the tensors accessed in it.
class LoopNest {
public:
  struct Access {
    Tensor tensor;
    mlir::AffineMap map;
  };
  llvm::SmallVector<int64_t> ranges;
  llvm::SmallVector<bool> isReduction;
  llvm::SmallVector<Access> inputs;
  /// Initial values; run() returns the results in new memory.
  llvm::SmallVector<Access> outputs;

  /// Run `kernel`, whose arguments are the inputs then the outputs (or the
  /// inputs alone). `disturber`, if not null, changes what is rounded. Returns
  /// nothing and sets `error` if an index is out of range.
  std::optional<llvm::SmallVector<Tensor>> run(const Kernel &kernel,
                                               llvm::ArrayRef<Tensor> captured,
                                               Disturber *disturber,
                                               std::string &error) const;
};

/// The contraction output += a * b of a nest with two inputs and one output,
/// accumulated in double. Nothing if a map is no projected permutation or a
/// loop is none of batch, m, n and k.
std::optional<Tensor> runContraction(const LoopNest &nest,
                                     Disturber *disturber);

} // namespace tp::interp

#endif // TP_INTERPRETER_KERNEL_H
