//===- AttentionParts.h - Attention and its derivative ----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What nn.attention and nn.attention_backward have in common: which keys a
// query sees, and what the runtime is told of it.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_DIALECT_NN_IR_ATTENTIONPARTS_H
#define TP_LIB_DIALECT_NN_IR_ATTENTIONPARTS_H

#include "Parts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tp/Interfaces/LibraryInterface.h"

namespace tp::nn {

/// The heads and the mask, and that a window is of a causal mask.
template <typename Op>
llvm::LogicalResult verifySight(Op op) {
  llvm::ArrayRef<int64_t> key = shapeOf(op.getKey());
  int64_t heads = shapeOf(op.getQuery())[2], kvHeads = key[2];
  if (kvHeads < 1 || heads % kvHeads != 0)
    return op.emitOpError()
           << "expected the query heads to be a multiple of the " << kvHeads
           << " KV heads, got " << heads;
  if (op.getMask()) {
    if (failed(expectShape(op, "mask", op.getMask(), {key[0], key[1]})))
      return llvm::failure();
    mlir::Type type = typeOf(op.getMask()).getElementType();
    if (!type.isSignlessInteger())
      return op.emitOpError()
             << "expected mask of an integer element type, got " << type;
  }
  if (!op.getWindow())
    return llvm::success();
  if (!op.getCausal())
    return op.emitOpError("expected 'causal' beside 'window': the window is "
                          "the last keys that a causal query sees");
  if (*op.getWindow() < 1)
    return op.emitOpError()
           << "expected a window of 1 or more keys, got " << *op.getWindow();
  return llvm::success();
}

/// `value`[b, s, hq, ...] as [b, s, g, r, ...].
inline mlir::Value splitHeads(Emitter &emitter, mlir::Value value,
                              int64_t groups) {
  return emitter.split(value, 2, {groups, shapeOf(value)[2] / groups});
}

/// Whether the query at loop 1 sees the key at loop 4; null if it sees all.
template <typename Op>
mlir::Value computeVisible(Scalar &e, Op op, mlir::Value mask) {
  namespace arith = mlir::arith;
  mlir::Value visible;
  auto require = [&](mlir::Value condition) {
    visible =
        visible ? arith::AndIOp::create(e.b, visible, condition) : condition;
  };
  if (mask)
    require(arith::CmpIOp::create(e.b, arith::CmpIPredicate::ne, mask,
                                  e.integer(0, mask.getType())));
  if (!op.getCausal())
    return visible;
  // The query stands at position i + (t - s) of the keys.
  int64_t shift = shapeOf(op.getKey())[1] - shapeOf(op.getQuery())[1];
  mlir::Type index = e.b.getIndexType();
  mlir::Value key = e.index(4);
  mlir::Value last =
      arith::AddIOp::create(e.b, e.index(1), e.integer(shift, index));
  require(arith::CmpIOp::create(e.b, arith::CmpIPredicate::sle, key, last));
  if (op.getWindow()) {
    mlir::Value first =
        arith::SubIOp::create(e.b, last, e.integer(*op.getWindow(), index));
    require(arith::CmpIOp::create(e.b, arith::CmpIPredicate::sgt, key, first));
  }
  return visible;
}

/// An entry of the manifest's `attentions`.
template <typename Op>
LibraryDescription describeAttention(Op op) {
  llvm::ArrayRef<int64_t> query = shapeOf(op.getQuery());
  llvm::ArrayRef<int64_t> key = shapeOf(op.getKey());
  llvm::json::Object fields{
      {"batch", query[0]},
      {"q_len", query[1]},
      {"kv_capacity", key[1]},
      {"q_heads", query[2]},
      {"kv_heads", key[2]},
      {"head_size", query[3]},
      {"type", getTypeName(typeOf(op.getQuery()).getElementType())},
      {"causal", op.getCausal()},
      {"window", op.getWindow().value_or(0)},
      {"scale", op.getScale().convertToDouble()},
      {"mask", op.getMask() ? "key_padding" : "none"}};
  if (op.getMask())
    fields["mask_type"] = getTypeName(typeOf(op.getMask()).getElementType());
  return {"attentions", std::move(fields)};
}

} // namespace tp::nn

#endif // TP_LIB_DIALECT_NN_IR_ATTENTIONPARTS_H
