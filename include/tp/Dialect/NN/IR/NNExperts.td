//===- NNExperts.td - Mixture of experts ------------------*- tablegen -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A feed-forward of which each row uses a few of many copies: the choice, and
// the copies as one operation. Its meaning is dense, a sum over all experts in
// which most have the weight zero, so that it is cut like any other sum, by
// expert or by width; the library computes the rows that an expert has.
//
//===----------------------------------------------------------------------===//

#ifndef TP_DIALECT_NN_IR_NNEXPERTS_TD
#define TP_DIALECT_NN_IR_NNEXPERTS_TD

def NN_RouterOp : NN_Op<"router", [NN_Vjp]> {
  let summary = "how much each row uses each expert";
  let description = [{
    logits[..., E] -> result[..., E] (f32): the scores of the `top_k` experts
    with the largest, zero for the others. Scores are the softmax of a row, or
    with `sigmoid` 1 / (1 + exp(-logit)) of each. `bias`[E] is added to the
    scores that are compared, not to the result. Of equals the lowest expert
    comes first. `normalized`: the scores that stay are divided by their sum (of
    sigmoids, plus `epsilon`). At last all are multiplied by `scale`.

    With `groups` the experts are so many groups of neighbours, and only those
    in the best `top_groups` of them are chosen from: a group counts as much as
    the `group_best` largest of its compared scores together, and of equals the
    lowest group comes first. These groups must have `top_k` experts.

    The derivative is by the scores that are chosen, of which experts these are
    being constant: that by `bias` is zero.

    ```mlir
    %weights = nn.router %logits {normalized, top_k = 2 : i64} : (tensor<1x8x16xf32>) -> tensor<1x8x16xf32>
    %limited = nn.router %logits bias %bias {group_best = 2 : i64, groups = 4 : i64, normalized, sigmoid, top_groups = 2 : i64, top_k = 3 : i64} : (tensor<1x8x16xf32>, tensor<16xf32>) -> tensor<1x8x16xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$logits, Optional<NN_Tensor>:$bias,
    I64Attr:$top_k, UnitAttr:$sigmoid, UnitAttr:$normalized,
    DefaultValuedAttr<F64Attr, "1.0">:$scale,
    DefaultValuedAttr<I64Attr, "1">:$groups,
    DefaultValuedAttr<I64Attr, "1">:$top_groups,
    DefaultValuedAttr<I64Attr, "1">:$group_best,
    DefaultValuedAttr<F64Attr, "1e-20">:$epsilon);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$logits (`bias` $bias^)? attr-dict `:` functional-type(operands, results)";
}

def NN_ExpertBiases : StaticShapeTensorOf<[F32]>;

def NN_ExpertsOp : NN_Op<"experts", [AttrSizedOperandSegments, NN_Vjp, NN_Integers, NN_LibraryForm<
    ["getLibraryDescription", "getFlopsPerPoint", "getReadPart",
     "verifyLibraryForm"]>]> {
  let summary = "the weighted sum of gated feed-forwards";
  let description = [{
    input[..., k], routing[..., E], gate[E, f, k], up[E, f, k], down[E, n, f] ->
    result[..., n], the sum over experts e of routing[..., e] * down_e
    (activation(gate_e x) * up_e x). `activation` is relu, silu, gelu_erf or
    gelu_tanh. An expert whose weight is zero adds nothing, whatever it would
    compute. Sums are in f32; what the second product reads is rounded to the
    element type, and so is the result, once.

    More generally an expert's width is activation(min(g, limit)) * (u +
    up_offset), where g is gate_e x and u is up_e x, clamped to [-limit, limit];
    without `limit` neither is bounded. `biases`, of gate and of up, [E, f] each
    (f32), are added to g and u first. `alpha` is the slope of silu: x / (1 +
    exp(-alpha x)). A bias of down is no part of the operation: it is the product
    of the routing weights and the biases, which any `nn.matmul` computes.

    With `scales_input` a weight multiplies what an expert reads, not what it
    gives: g is routing[..., e] * gate_e x, and so is u, before biases and bounds.
    This form has no derivative.

    With `inside`[f] a position of the width whose number there is zero takes no
    part: whatever the matrices make of it, it is zero to the last product.
    `tp-mark-experts` says so of padding.

    `active` is the part of the experts that a row is expected to use, from
    which the work is estimated, nothing else. `top_k` promises that no row has
    a weight for more experts: memory is reserved for so many. A row that has (of
    weights that are NaN, say) becomes NaN on a device, the others remain what they
    are.

    ```mlir
    %y = nn.experts %x, %weights, %gate, %up, %down {activation = "silu", active = 0.25 : f64, top_k = 4 : i64} : (tensor<1x8x64xf32>, tensor<1x8x16xf32>, tensor<16x32x64xf32>, tensor<16x32x64xf32>, tensor<16x64x32xf32>) -> tensor<1x8x64xf32>
    %z = nn.experts %x, %weights, %gate, %up, %down biases %bg, %bu {activation = "silu", alpha = 1.702 : f64, limit = 7.0 : f64, up_offset = 1.0 : f64} : (tensor<1x8x64xf32>, tensor<1x8x16xf32>, tensor<16x32x64xf32>, tensor<16x32x64xf32>, tensor<16x64x32xf32>, tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<1x8x64xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$input, NN_Tensor:$routing, NN_Tensor:$gate,
    NN_Tensor:$up, NN_Tensor:$down, Variadic<NN_ExpertBiases>:$biases,
    Optional<NN_Numbers>:$inside, StrAttr:$activation,
    DefaultValuedAttr<F64Attr, "1.0">:$active, OptionalAttr<I64Attr>:$top_k,
    DefaultValuedAttr<F64Attr, "1.0">:$alpha, OptionalAttr<F64Attr>:$limit,
    DefaultValuedAttr<F64Attr, "0.0">:$up_offset, UnitAttr:$scales_input);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input `,` $routing `,` $gate `,` $up `,` $down (`biases` $biases^)? (`inside` $inside^)? attr-dict `:` functional-type(operands, results)";
}

def NN_ExpertsBackwardOp : NN_Op<"experts_backward", [AttrSizedOperandSegments, NN_Integers, NN_LibraryForm<
    ["getLibraryDescription", "getFlopsPerPoint"]>]> {
  let summary = "derivative of experts";
  let description = [{
    By all operands of `nn.experts` of these operands and attributes, from the
    cotangent[..., n] of its result: d_input[..., k], and in f32
    d_routing[..., E], d_gate[E, f, k], d_up[E, f, k] and d_down[E, n, f], and with
    `biases` d_biases, of gate and of up, [E, f] each. Beyond `limit` the
    derivative of a bounded number is zero. An expert whose weight is zero has no part in a row: d_routing is zero there.
    Nor has a position that `inside` leaves out: what it was to the last product
    is constant.
    On a device a row that breaks the promise of `top_k` has NaN for d_input and
    d_routing, and no part in the others. Sums are in f32, and what products read
    that `nn.experts` does not round is rounded on a device alone, to the element
    type: in f16 that may overflow.

    ```mlir
    %dx, %dr, %dg, %du, %dd = nn.experts_backward %dy, %x, %weights, %gate, %up, %down {activation = "silu", active = 0.25 : f64} : (tensor<1x8x64xf32>, tensor<1x8x64xf32>, tensor<1x8x16xf32>, tensor<16x32x64xf32>, tensor<16x32x64xf32>, tensor<16x64x32xf32>) -> (tensor<1x8x64xf32>, tensor<1x8x16xf32>, tensor<16x32x64xf32>, tensor<16x32x64xf32>, tensor<16x64x32xf32>)
    ```
  }];
  let arguments = (ins NN_Tensor:$cotangent, NN_Tensor:$input,
    NN_Tensor:$routing, NN_Tensor:$gate, NN_Tensor:$up, NN_Tensor:$down,
    Variadic<NN_ExpertBiases>:$biases, Optional<NN_Numbers>:$inside,
    StrAttr:$activation, DefaultValuedAttr<F64Attr, "1.0">:$active,
    OptionalAttr<I64Attr>:$top_k, DefaultValuedAttr<F64Attr, "1.0">:$alpha,
    OptionalAttr<F64Attr>:$limit, DefaultValuedAttr<F64Attr, "0.0">:$up_offset);
  let results = (outs NN_Tensor:$d_input, NN_Tensor:$d_routing,
    NN_Tensor:$d_gate, NN_Tensor:$d_up, NN_Tensor:$d_down,
    Variadic<NN_ExpertBiases>:$d_biases);
  let assemblyFormat = "$cotangent `,` $input `,` $routing `,` $gate `,` $up `,` $down (`biases` $biases^)? (`inside` $inside^)? attr-dict `:` functional-type(operands, results)";
}

#endif // TP_DIALECT_NN_IR_NNEXPERTS_TD
