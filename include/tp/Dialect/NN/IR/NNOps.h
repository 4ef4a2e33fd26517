//===- NNOps.h - The nn dialect ---------------------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compute vocabulary of transformers: see NNOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef TP_DIALECT_NN_IR_NNOPS_H
#define TP_DIALECT_NN_IR_NNOPS_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tp/Dialect/TP/IR/OwnAttributes.h"
#include "tp/Interfaces/LibraryInterface.h"
#include "tp/Interfaces/ShardingInterface.h"

#include "tp/Dialect/NN/IR/NNDialect.h.inc"
#include "tp/Dialect/NN/IR/NNEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "tp/Dialect/NN/IR/NNAttrs.h.inc"
#define GET_OP_CLASSES
#include "tp/Dialect/NN/IR/NNOps.h.inc"

#endif // TP_DIALECT_NN_IR_NNOPS_H
