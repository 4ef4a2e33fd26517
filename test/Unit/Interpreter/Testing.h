//===- Testing.h - Run a program given as text ------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interpreter's unit tests share this: parse a module, make tensors from
// numbers, run the function @main, and read results back.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_UNIT_INTERPRETER_TESTING_H
#define TP_TEST_UNIT_INTERPRETER_TESTING_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "tp/InitAll.h"
#include "tp/Interpreter/Interpreter.h"
#include "tp/Interpreter/Parameters.h"
#include "gtest/gtest.h"

namespace tp::interp {

inline mlir::MLIRContext &getContext() {
  static mlir::MLIRContext *context = [] {
    mlir::DialectRegistry registry;
    tp::registerAllDialects(registry);
    auto *result =
        new mlir::MLIRContext(registry, mlir::MLIRContext::Threading::DISABLED);
    // A test builds operations of dialects that its program does not have.
    result->loadAllAvailableDialects();
    return result;
  }();
  return *context;
}

inline const ElementType kF32{ElementType::F32, 32};
inline const ElementType kBF16{ElementType::BF16, 16};
inline const ElementType kI64{ElementType::Int, 64};

inline Tensor makeTensor(llvm::ArrayRef<int64_t> shape,
                         llvm::ArrayRef<double> values,
                         ElementType type = kF32) {
  Tensor tensor(shape, type);
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    if (type.isFloat())
      tensor.setFloat(i, values[i]);
    else
      tensor.setInt(i, int64_t(values[i]));
  }
  return tensor;
}

/// Numbers that look random, in -1 .. 1.
inline Tensor makeRandom(llvm::ArrayRef<int64_t> shape, uint64_t seed,
                         ElementType type = kF32) {
  Tensor tensor(shape, type);
  for (int64_t i = 0; i < tensor.getNumElements(); ++i)
    tensor.setFloat(i, 2 * uniform(seed, "random", i) - 1);
  return tensor;
}

inline std::vector<double> getNumbers(const Tensor &tensor) {
  std::vector<double> numbers;
  for (int64_t i = 0; i < tensor.getNumElements(); ++i)
    numbers.push_back(tensor.getNumber(i));
  return numbers;
}

/// Run @main of a program for one or more ranks.
inline mlir::FailureOr<llvm::SmallVector<RankTensors>>
runRanks(llvm::StringRef text, llvm::ArrayRef<RankTensors> arguments,
         const InterpreterOptions &options) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &getContext());
  if (!module) {
    ADD_FAILURE() << "the program does not parse";
    return mlir::failure();
  }
  auto function = module->lookupSymbol<mlir::func::FuncOp>("main");
  return interpret(function, arguments, options);
}

/// The same for one rank; an empty result is a failure that was reported.
inline llvm::SmallVector<Tensor> run(llvm::StringRef text,
                                     llvm::ArrayRef<Tensor> arguments,
                                     InterpreterOptions options = {}) {
  llvm::SmallVector<RankTensors> ranked;
  for (const Tensor &argument : arguments)
    ranked.push_back({argument});
  llvm::SmallVector<Tensor> results;
  auto values = runRanks(text, ranked, options);
  if (mlir::failed(values)) {
    ADD_FAILURE() << "the program does not run";
    return results;
  }
  for (const RankTensors &value : *values)
    results.push_back(value[0]);
  return results;
}

/// The first error that running @main reports, with its notes about other
/// places; empty if it runs.
inline std::string runError(llvm::StringRef text,
                            llvm::ArrayRef<Tensor> arguments,
                            InterpreterOptions options = {}) {
  std::string message;
  auto keepFirst = [&](mlir::Diagnostic &diagnostic) {
    if (!message.empty())
      return mlir::success();
    message = diagnostic.str();
    for (auto &note : diagnostic.getNotes())
      if (std::string more = note.str();
          !llvm::StringRef(more).starts_with("see current operation"))
        message += "; " + more;
    return mlir::success();
  };
  mlir::ScopedDiagnosticHandler handler(&getContext(), keepFirst);
  llvm::SmallVector<RankTensors> ranked;
  for (const Tensor &argument : arguments)
    ranked.push_back({argument});
  auto values = runRanks(text, ranked, options);
  EXPECT_EQ(mlir::failed(values), !message.empty());
  return message;
}

} // namespace tp::interp

#endif // TP_TEST_UNIT_INTERPRETER_TESTING_H
