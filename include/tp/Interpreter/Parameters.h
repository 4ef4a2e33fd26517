//===- Parameters.h - Values of tp.parameter --------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interpreter reads the tensors of a checkpoint from here: in safetensors
// files, or made up from (seed, name, element), so that every rank and every
// stage sees the same numbers without a file.
//
//===----------------------------------------------------------------------===//

#ifndef TP_INTERPRETER_PARAMETERS_H
#define TP_INTERPRETER_PARAMETERS_H

#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Import/CompareTensors.h"
#include "tp/Interpreter/Tensor.h"
#include "llvm/ADT/StringMap.h"

namespace tp::interp {

/// The request of one tp.parameter; its names have no placeholder any more.
struct ParameterRequest {
  std::string name;
  llvm::SmallVector<std::string> alternatives;
  /// Null if the parameter is the whole tensor.
  ParameterSourceAttr source;
  /// Null if the tensor's elements are the parameter's.
  StorageAttr storage;
  /// Global, logical.
  llvm::SmallVector<int64_t> shape;
  ElementType type;
  /// The bound of integers that are numbers of something: they are less. 0:
  /// any.
  int64_t end = 0;

  /// The shape of the checkpoint's tensor, unpacked.
  llvm::ArrayRef<int64_t> getCheckpointShape() const {
    return source ? source.getShape() : llvm::ArrayRef<int64_t>(shape);
  }
};

/// The numbers that a parameter of integers holds are less, whoever reads it;
/// 0: they may be any.
int64_t getIntegerEnd(ParameterOp op);

class ParameterProvider {
public:
  virtual ~ParameterProvider() = default;
  /// The global tensor; emits why not.
  virtual mlir::FailureOr<Tensor>
  get(const ParameterRequest &request,
      llvm::function_ref<mlir::InFlightDiagnostic()> emitError) = 0;
};

/// Random values: matrices uniform with variance 1 / (smaller of the last two
/// sizes), vectors uniform in 0.75 .. 1.25, biases uniform in -0.5 .. 0.5.
/// Boxes of one name are parts of one tensor.
class RandomParameters : public ParameterProvider {
public:
  explicit RandomParameters(uint64_t seed) : seed(seed) {}
  mlir::FailureOr<Tensor>
  get(const ParameterRequest &request,
      llvm::function_ref<mlir::InFlightDiagnostic()> emitError) override;

private:
  uint64_t seed;
};

/// The safetensors files of a checkpoint directory, of which tensors are read
/// when they are asked for.
class SafetensorsParameters : public ParameterProvider {
public:
  /// Reads the headers; null, after emitting why, if they are malformed or the
  /// directory has none. Tensors that `excluded` matches are as if they were
  /// not there.
  static std::unique_ptr<SafetensorsParameters>
  open(mlir::MLIRContext *context, llvm::StringRef directory,
       llvm::ArrayRef<std::string> excluded = {});
  mlir::FailureOr<Tensor>
  get(const ParameterRequest &request,
      llvm::function_ref<mlir::InFlightDiagnostic()> emitError) override;

private:
  struct Entry {
    CheckpointTensor tensor;
    const CheckpointFile *file;
  };
  explicit SafetensorsParameters(llvm::StringRef directory)
      : comparer(directory) {}

  /// An error if another spelling is there with other values.
  mlir::LogicalResult
  compare(const ParameterRequest &request, llvm::ArrayRef<std::string> names,
          llvm::function_ref<mlir::InFlightDiagnostic()> emitError);
  /// The tensors that the request is read from, one behind the other.
  mlir::FailureOr<llvm::SmallVector<const Entry *>>
  find(const ParameterRequest &request,
       llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

  /// The elements of a quantised tensor.
  mlir::FailureOr<Tensor>
  unpack(const ParameterRequest &request, llvm::ArrayRef<const Entry *> found,
         llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

  llvm::StringMap<Entry> entries;
  llvm::StringMap<std::unique_ptr<CheckpointFile>> files;
  TensorComparer comparer;
};

/// A number of [0, 1) from a counter: the same for the same arguments.
double uniform(uint64_t seed, llvm::StringRef name, uint64_t counter);

} // namespace tp::interp

#endif // TP_INTERPRETER_PARAMETERS_H
