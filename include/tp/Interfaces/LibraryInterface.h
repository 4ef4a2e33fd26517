//===- LibraryInterface.h - What a library computes -------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The library form of an operation as data: the call that computes it, what
// the manifest says of it, and what a library does to a result before it writes
// it. How calls are emitted and tables numbered is lower's business, so that an
// operation's file needs nothing of it.
//
//===----------------------------------------------------------------------===//

#ifndef TP_INTERFACES_LIBRARYINTERFACE_H
#define TP_INTERFACES_LIBRARYINTERFACE_H

#include "mlir/IR/OpDefinition.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>
#include <variant>

namespace tp {

/// The operations that a library applies to the result of an operation, in this
/// order, before it rounds it to the result's type.
struct Epilogue {
  float scale = 1;
  /// As the manifest names it: none, relu, silu, gelu_erf, gelu_tanh.
  llvm::StringRef activation = "none";
  mlir::Value residual; ///< added; null if none
};

/// The operations that schedule may make part of another one.
struct EpilogueSet {
  bool scale = false, residual = false;
  llvm::SmallVector<llvm::StringRef> activations;
};

/// How the scheduled program has an operation.
struct LibraryUse {
  Epilogue epilogue;
  /// The packed operand is a parameter, so that its address is a handle.
  bool isPacked = false;
};

/// One description in a list of the manifest.
struct LibraryDescription {
  llvm::StringLiteral list; ///< the manifest's key: "gemms"
  llvm::json::Object fields;
  /// Calls share a description if they differ in this field alone, of which it
  /// has the largest. Without it every operation has its own.
  std::optional<std::pair<llvm::StringLiteral, int64_t>> largest = std::nullopt;
};

/// The address of an operand or result of an operation; null for a null value.
/// The packed operand is given as such: that of a parameter is a handle.
struct LibraryAddress {
  mlir::Value value;
  bool isPacked = false;

  LibraryAddress(mlir::Value value) : value(value) {}
  LibraryAddress(std::nullptr_t) {}
  LibraryAddress(mlir::OpOperand &packed)
      : value(packed.get()), isPacked(true) {}
};

using LibraryArgument = std::variant<LibraryAddress, int64_t>;

/// A call of a function of tprt/abi.h without its rank and id.
struct LibraryCall {
  unsigned slot;
  llvm::StringLiteral name; ///< of the function
  bool hasId;               ///< it takes the position of a description
  llvm::SmallVector<LibraryArgument> arguments;
};

/// How operations that read one operand are computed together.
struct JoinedForm {
  mlir::OpOperand *shared;  ///< that operand
  unsigned slot;            ///< of the function of tprt/abi.h
  llvm::StringLiteral name; ///< of the function
};

/// Name of an element type in the manifest; empty if the runtime has none.
std::string getTypeName(mlir::Type type);

} // namespace tp

#include "tp/Interfaces/LibraryInterface.h.inc"

#endif // TP_INTERFACES_LIBRARYINTERFACE_H
