//===- AttentionArguments.cpp - What attention's kernels are told ---------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See AttentionArguments.h.
//
//===----------------------------------------------------------------------===//

#include "AttentionArguments.h"

#include "AbiKinds.h"

using namespace mlir;
using namespace tp;

/// X(name, its kind: an address p, an i64 8), in order.
#define ATTENTION_PARAMETERS(X)                                                \
  X(query, 'p')                                                                \
  X(queryStride, '8')                                                          \
  X(key, 'p')                                                                  \
  X(keyStride, '8')                                                            \
  X(value, 'p')                                                                \
  X(valueStride, '8')                                                          \
  X(mask, 'p')                                                                 \
  X(bias, 'p')                                                                 \
  X(sinks, 'p')                                                                \
  X(keyLength, '8')                                                            \
  X(queryOffset, '8')                                                          \
  X(output, 'p')                                                               \
  X(outputStride, '8')                                                         \
  X(logSumExp, 'p')
#define PAGED_PARAMETERS(X)                                                    \
  X(query, 'p')                                                                \
  X(key, 'p')                                                                  \
  X(value, 'p')                                                                \
  X(rows, 'p')                                                                 \
  X(positions, 'p')                                                            \
  X(table, 'p')                                                                \
  X(bias, 'p')                                                                 \
  X(sinks, 'p')                                                                \
  X(output, 'p')

namespace {
#define KIND(name, kind) kind,
constexpr char attentionKinds[] = {'4', ATTENTION_PARAMETERS(KIND)};
// The number of tokens is the shape's.
constexpr char pagedKinds[] = {'4', '8', PAGED_PARAMETERS(KIND)};
#undef KIND
static_assert(abiKinds[TPRT_SLOT_attention] ==
                  std::string_view(attentionKinds, std::size(attentionKinds)),
              "kernels get what the function gets");
static_assert(abiKinds[TPRT_SLOT_paged_attention] ==
                  std::string_view(pagedKinds, std::size(pagedKinds)),
              "kernels get what the function gets");
} // namespace

SmallVector<Type> AttentionArguments::getTypes(OpBuilder &builder,
                                               const AttentionShape &shape,
                                               const AttentionTiles &tiles) {
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Type i64 = builder.getI64Type();
  SmallVector<Type> types;
#define TYPE(name, kind) types.push_back(kind == 'p' ? pointer : i64);
  if (shape.pages) {
    types.push_back(i64);
    PAGED_PARAMETERS(TYPE)
  } else {
    ATTENTION_PARAMETERS(TYPE)
  }
#undef TYPE
  if (tiles.hasScratch)
    types.push_back(pointer);
  return types;
}

AttentionArguments AttentionArguments::read(KernelEmitter &e,
                                            const AttentionShape &shape,
                                            const AttentionTiles &tiles,
                                            ArrayRef<BlockArgument> arguments) {
  AttentionArguments own;
  auto next = arguments.begin();
  auto get = [&]() -> Value {
    Value argument = *next++;
    if (!isa<LLVM::LLVMPointerType>(argument.getType()))
      return argument;
    return LLVM::AddrSpaceCastOp::create(e.builder, e.loc, e.globalPointer,
                                         argument);
  };
#define READ(name, kind) own.name = get();
  if (shape.pages) {
    ++next; // the tokens
    PAGED_PARAMETERS(READ)
    own.queryStride = e.int64(shape.queryHeads * shape.headSize);
    own.outputStride = e.int64(shape.queryHeads * shape.valueSize);
  } else {
    ATTENTION_PARAMETERS(READ)
  }
#undef READ
  if (tiles.hasScratch)
    own.scratch = get();
  return own;
}
