//===- LibraryInterface.cpp - What a library computes ---------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See LibraryInterface.h.
//
//===----------------------------------------------------------------------===//

#include "tp/Interfaces/LibraryInterface.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace tp;

#include "tp/Interfaces/LibraryInterface.cpp.inc"

std::string tp::getTypeName(Type type) {
  if (type.isF32())
    return "f32";
  if (type.isBF16())
    return "bf16";
  if (type.isF16())
    return "f16";
  if (type.isSignlessInteger(32))
    return "i32";
  if (type.isSignlessInteger(64))
    return "i64";
  if (type.isSignlessInteger(8) || type.isSignlessInteger(1))
    return "i8";
  return "";
}
