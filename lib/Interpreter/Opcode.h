//===- Opcode.h - The bytecode's instruction set ----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The enumeration behind Kernel.h's Opcode, from the list in Opcodes.def plus
// the instructions of irregular form.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_INTERPRETER_OPCODE_H
#define TP_LIB_INTERPRETER_OPCODE_H

#include "tp/Interpreter/Kernel.h"

namespace tp::interp {

/// Lanes of a register.
constexpr int64_t kLanes = 64;

enum class Opcode : uint16_t {
#define FLOAT1(NAME, OP, VALUE) NAME,
#define FLOAT2(NAME, OP, VALUE) NAME,
#define INT2(NAME, OP, VALUE) NAME,
#define UNSIGNED2(NAME, OP, VALUE) NAME,
#include "Opcodes.def"
  Fma,
  FPowI,
  CmpF,
  CmpI,
  SelectF,
  SelectI,
  SIToFP,
  UIToFP,
  FPToSI,
  FPToUI,
  SignExtend,
  ZeroExtend,
  AbsI,
  MulHighU,
  MulHighS,
  BitcastToFloat,
  BitcastToInt,
  LoopIndex,
  ExtractF,
  ExtractI,
  MoveF,
  MoveI,
  Jump,
  JumpIfZero,
};

} // namespace tp::interp

#endif // TP_LIB_INTERPRETER_OPCODE_H
