//===- NNRecurrence.td - The gated delta rule -------------*- tablegen -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linear attention with a matrix of state for each head, its derivative, and
// the same in a step of generation, whose tokens find the states of earlier
// steps in a pool.
//
//===----------------------------------------------------------------------===//

#ifndef TP_DIALECT_NN_IR_NNRECURRENCE_TD
#define TP_DIALECT_NN_IR_NNRECURRENCE_TD

def NN_GatedDeltaRuleOp : NN_Op<"gated_delta_rule", [NN_Vjp,
    NN_LibraryForm<["getFlopsPerPoint"]>]> {
  let summary = "linear attention with a gated, error-correcting state";
  let description = [{
    query[b, s, hk, d], key[b, s, hk, d], value[b, s, hv, e], decay[b, s, hv],
    beta[b, s, hv] -> result[b, s, hv, e], all f32. Each value head has a state S[d, e],
    zero before the first position, and at position t

        P = exp(decay[t]) S
        S = P + key[t] (beta[t] (value[t] - Pᵀ key[t]))ᵀ
        result[t] = Sᵀ query[t]

    which is the gated delta rule (Yang et al., arXiv 2412.06464). Without beta
    S = P + key[t] value[t]ᵀ, which is the recurrence of Mamba-2 (Dao and Gu, arXiv
    2405.21060). Value head j uses key head j / (hv / hk).

    Heads and batch may be sharded; the sequence is whole, as every position needs the
    state before it.

    ```mlir
    %o = nn.gated_delta_rule %q, %k, %v, %decay beta %beta : (tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x4x32xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>) -> tensor<1x8x4x32xf32>
    ```
  }];
  let arguments = (ins NN_Floats:$query, NN_Floats:$key, NN_Floats:$value,
    NN_Floats:$decay, Optional<NN_Floats>:$beta);
  let results = (outs NN_Floats:$result);
  let assemblyFormat = "$query `,` $key `,` $value `,` $decay (`beta` $beta^)? attr-dict `:` functional-type(operands, results)";
}

def NN_GatedDeltaRuleBackwardOp : NN_Op<"gated_delta_rule_backward",
    [NN_LibraryForm<["getFlopsPerPoint"]>]> {
  let summary = "derivative of nn.gated_delta_rule";
  let description = [{
    The cotangent of the result and the operands of `nn.gated_delta_rule` ->
    the derivatives by these. d_query and d_key are [b, s, hv, d], of each value head,
    to be summed over those that share a key head. There is a d_beta if there is a beta.
    States are computed again, from the first position on.

    ```mlir
    %dq, %dk, %dv, %dg, %db = nn.gated_delta_rule_backward %do, %q, %k, %v, %decay beta %beta : (tensor<1x8x4x32xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x4x32xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>) -> (tensor<1x8x4x16xf32>, tensor<1x8x4x16xf32>, tensor<1x8x4x32xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>)
    ```
  }];
  let arguments = (ins NN_Floats:$cotangent, NN_Floats:$query, NN_Floats:$key,
    NN_Floats:$value, NN_Floats:$decay, Optional<NN_Floats>:$beta);
  let results = (outs NN_Floats:$d_query, NN_Floats:$d_key, NN_Floats:$d_value,
    NN_Floats:$d_decay, Optional<NN_Floats>:$d_beta);
  let assemblyFormat = "$cotangent `,` $query `,` $key `,` $value `,` $decay (`beta` $beta^)? attr-dict `:` functional-type(operands, results)";
}

def NN_PagedGatedDeltaRuleOp : NN_Op<"paged_gated_delta_rule", [NN_Integers,
    NN_LibraryForm<["getReplacedOperand", "getFlopsPerPoint"]>]> {
  let summary = "gated delta rule of tokens that go on with rows of a cache";
  let description = [{
    query[1, T, hk, d], key[1, T, hk, d], value[1, T, hv, e], decay[1, T, hv],
    pool[P, hv, d * e], slots[T], sources[T, 1], beta[1, T, hv] ->
    result[1, T, hv, e], next_pool[P, hv, d * e]: `nn.gated_delta_rule` of each token from
    the state that its source names, as `nn.conv_places` gives them for one earlier
    position: below T, the state behind the token before it in this step; T + p, slot p
    of the pool as it was before the step; otherwise (-1) zeros. A slot of the next
    pool has the state behind the last token that names it in `slots` (-1: none), and
    what it had before if none does. Slots that are not named may hold anything.

    ```mlir
    %o, %next = nn.paged_gated_delta_rule %q, %k, %v, %decay, %pool, %slots, %sources beta %beta : (tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x4x32xf32>, tensor<1x8x4xf32>, tensor<6x4x512xf32>, tensor<8xi32>, tensor<8x1xi32>, tensor<1x8x4xf32>) -> (tensor<1x8x4x32xf32>, tensor<6x4x512xf32>)
    ```
  }];
  let arguments = (ins NN_Floats:$query, NN_Floats:$key, NN_Floats:$value,
    NN_Floats:$decay, NN_Floats:$pool, NN_Numbers:$slots, NN_Numbers:$sources,
    Optional<NN_Floats>:$beta);
  let results = (outs NN_Floats:$result, NN_Floats:$next_pool);
  let assemblyFormat = "$query `,` $key `,` $value `,` $decay `,` $pool `,` $slots `,` $sources (`beta` $beta^)? attr-dict `:` functional-type(operands, results)";
}

#endif // TP_DIALECT_NN_IR_NNRECURRENCE_TD
