//===- AttentionParts.h - Attention and its derivative ----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nn.attention, its derivative and attention over pages have in common how
// scores are changed, which keys a query sees, and the entry of the manifest.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_DIALECT_NN_IR_ATTENTIONPARTS_H
#define TP_LIB_DIALECT_NN_IR_ATTENTIONPARTS_H

#include "Parts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "tp/Interfaces/LibraryInterface.h"

namespace tp::nn {

/// Verifies that the query heads share KV heads, and the soft cap.
template <typename Op>
llvm::LogicalResult verifyScores(Op op, int64_t heads, int64_t kvHeads) {
  if (kvHeads < 1 || heads % kvHeads != 0)
    return op.emitOpError()
           << "expected the query heads to be a multiple of the " << kvHeads
           << " KV heads, got " << heads;
  if (auto cap = op.getSoftCap(); cap && !(cap->convertToDouble() > 0))
    return op.emitOpError()
           << "expected a soft cap above 0, got " << cap->convertToDouble();
  return llvm::success();
}

/// One number for each query head.
template <typename Op>
llvm::LogicalResult verifySinks(Op op) {
  if (!op.getSinks())
    return llvm::success();
  return expectShape(op, "sinks", op.getSinks(), {shapeOf(op.getQuery())[2]});
}

/// The heads, what is added to scores, and what hides them.
template <typename Op>
llvm::LogicalResult verifySight(Op op) {
  llvm::ArrayRef<int64_t> query = shapeOf(op.getQuery());
  llvm::ArrayRef<int64_t> key = shapeOf(op.getKey());
  if (failed(verifyScores(op, query[2], key[2])))
    return llvm::failure();
  if (op.getMask()) {
    if (failed(expectShape(op, "mask", op.getMask(), {key[0], key[1]})))
      return llvm::failure();
    mlir::Type type = typeOf(op.getMask()).getElementType();
    if (!type.isSignlessInteger())
      return op.emitOpError()
             << "expected mask of an integer element type, got " << type;
  }
  if (op.getBias()) {
    if (failed(expectRank(op, "bias", op.getBias(), 3)))
      return llvm::failure();
    int64_t heads = shapeOf(op.getBias())[0] == 1 ? 1 : query[2];
    if (failed(
            expectShape(op, "bias", op.getBias(), {heads, query[1], key[1]})))
      return llvm::failure();
  }
  if (op.getWindow().value_or(1) < 1)
    return op.emitOpError()
           << "expected a window of 1 or more keys, got " << *op.getWindow();
  return llvm::success();
}

/// `value`[b, s, hq, ...] as [b, s, g, r, ...].
inline mlir::Value splitHeads(Emitter &emitter, mlir::Value value,
                              int64_t groups) {
  return emitter.split(value, 2, {groups, shapeOf(value)[2] / groups});
}

/// A bias of the dimensions `dims`, or of all heads.
inline void addBias(ShardingRule &rule, mlir::Value bias, Dims dims) {
  if (shapeOf(bias)[0] == 1)
    dims[0].clear();
  addOperand(rule, std::move(dims), Linearity::None);
}

/// How far from its own position a query sees, before and behind; an end
/// without a number is not bounded.
struct Reach {
  std::optional<int64_t> before, after;
};
template <typename Op>
Reach getReach(Op op) {
  Reach reach;
  if (op.getCausal())
    reach.after = 0;
  if (std::optional<uint64_t> window = op.getWindow()) {
    reach.before = op.getCausal() ? *window - 1 : *window / 2;
    if (!op.getCausal())
      reach.after = reach.before;
  }
  return reach;
}

/// 0: there is none.
template <typename Op>
double softCapOf(Op op) {
  return op.getSoftCap() ? op.getSoftCap()->convertToDouble() : 0;
}

/// The soft cap of a score.
template <typename Op>
mlir::Value capScore(Scalar &e, Op op, mlir::Value score) {
  if (!op.getSoftCap())
    return score;
  mlir::Value cap = e.number(op.getSoftCap()->convertToDouble());
  return e.mul(mlir::math::TanhOp::create(e.b, e.div(score, cap)), cap);
}

/// The parts of the score of a query and key beside their product, each an
/// operand of a body over the loops b, s, g, r, t.
template <typename Op>
class ScoreParts {
public:
  ScoreParts(Emitter &emitter, Op op, const Loops &d) : op(op) {
    if (op.getMask())
      operands.push_back({op.getMask(), {d[0], d[4]}});
    mlir::Value bias = op.getBias();
    if (!bias)
      return;
    if (shapeOf(bias)[0] == 1)
      operands.push_back({emitter.join(bias, 0, 2), {d[1], d[4]}});
    else
      operands.push_back(
          {emitter.split(bias, 0, splitSizes()), {d[2], d[3], d[1], d[4]}});
  }

  llvm::SmallVector<Operand> operands;

  /// The score, before anything is hidden: `own` are the elements of operands.
  mlir::Value compute(Scalar &e, mlir::Value product, mlir::ValueRange own) {
    mlir::Value scale = e.number(op.getScale().convertToDouble());
    mlir::Value score = capScore(e, op, e.mul(product, scale));
    return op.getBias() ? e.add(score, own.back()) : score;
  }
  /// True if the query at loop 1 sees the key at loop 4; null if it sees all.
  mlir::Value isVisible(Scalar &e, mlir::ValueRange own);

private:
  llvm::SmallVector<int64_t> splitSizes() {
    int64_t groups = shapeOf(op.getKey())[2];
    return {groups, shapeOf(op.getQuery())[2] / groups};
  }

  Op op;
};

template <typename Op>
mlir::Value ScoreParts<Op>::isVisible(Scalar &e, mlir::ValueRange own) {
  namespace arith = mlir::arith;
  using Predicate = arith::CmpIPredicate;
  mlir::Value visible;
  auto require = [&](mlir::Value condition) {
    visible = visible ? e.both(visible, condition) : condition;
  };
  if (op.getMask())
    require(e.compare(Predicate::ne, own[0], 0));
  if (!op.getCausal() && !op.getWindow())
    return visible;
  // The query stands at position i + (t - s) of the keys.
  int64_t shift = shapeOf(op.getKey())[1] - shapeOf(op.getQuery())[1];
  mlir::Value key = e.index(4);
  auto at = [&](int64_t distance) -> mlir::Value {
    return e.add(e.index(1), shift + distance);
  };
  Reach reach = getReach(op);
  if (reach.after)
    require(e.compare(Predicate::sle, key, at(*reach.after)));
  if (reach.before)
    require(e.compare(Predicate::sge, key, at(-*reach.before)));
  return visible;
}

/// The fields in which descriptions of attention are not as usual.
template <typename Op>
void describeScores(Op op, mlir::Value values, llvm::json::Object &fields) {
  if (int64_t size = shapeOf(values).back();
      size != shapeOf(op.getQuery()).back())
    fields["value_size"] = size;
  if (double cap = softCapOf(op))
    fields["soft_cap"] = cap;
  if constexpr (requires { op.getSinks(); })
    if (op.getSinks())
      fields["sinks_type"] =
          getTypeName(typeOf(op.getSinks()).getElementType());
}

/// An entry of the manifest's `attentions`.
template <typename Op>
LibraryDescription describeAttention(Op op) {
  llvm::ArrayRef<int64_t> query = shapeOf(op.getQuery());
  llvm::ArrayRef<int64_t> key = shapeOf(op.getKey());
  auto typeName = [](mlir::Value value) {
    return getTypeName(typeOf(value).getElementType());
  };
  llvm::json::Object fields{{"batch", query[0]},
                            {"q_len", query[1]},
                            {"kv_capacity", key[1]},
                            {"q_heads", query[2]},
                            {"kv_heads", key[2]},
                            {"head_size", query[3]},
                            {"type", typeName(op.getQuery())},
                            {"causal", op.getCausal()},
                            {"window", op.getWindow().value_or(0)},
                            {"scale", op.getScale().convertToDouble()},
                            {"mask", op.getMask() ? "key_padding" : "none"}};
  if (op.getMask())
    fields["mask_type"] = typeName(op.getMask());
  describeScores(op, op.getValue(), fields);
  if (op.getBias()) {
    fields["bias_type"] = typeName(op.getBias());
    fields["bias_heads"] = shapeOf(op.getBias())[0];
  }
  return {"attentions", std::move(fields)};
}

} // namespace tp::nn

#endif // TP_LIB_DIALECT_NN_IR_ATTENTIONPARTS_H
