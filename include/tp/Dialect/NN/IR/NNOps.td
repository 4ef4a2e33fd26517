//===- NNOps.td - Operations of the nn dialect ------------*- tablegen -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compute vocabulary of transformers, where upstream linalg, tensor, arith
// and math do not carry enough meaning. Every op has a verifier, a sharding
// rule, a decomposition to linalg (its definition and its reference) and, where
// it is differentiable, a vector-Jacobian product. Everything else a model
// needs is upstream operations: residual additions are arith.addf on tensors.
//
//===----------------------------------------------------------------------===//

#ifndef TP_DIALECT_NN_IR_NNOPS_TD
#define TP_DIALECT_NN_IR_NNOPS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "tp/Dialect/TP/IR/OwnAttributes.td"
include "tp/Interfaces/LibraryInterface.td"
include "tp/Interfaces/ShardingInterface.td"

def NN_Dialect : Dialect {
  let name = "nn";
  let cppNamespace = "::tp::nn";
  let summary = "The compute vocabulary of transformers";
  let description = [{
    Shapes use b for batch, s and t for query and key positions, h for hidden,
    n and k for the outputs and inputs of a linear layer, d for the head size,
    V for the vocabulary. Statistics (norms, softmax, cross-entropy) and
    accumulations are in f32 whatever the element type; results are rounded to
    the element type once.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

def NN_GeluKind : I32EnumAttr<"GeluKind", "which GELU", [
    I32EnumAttrCase<"Erf", 0, "erf">,
    I32EnumAttrCase<"Tanh", 1, "tanh">]> {
  let cppNamespace = "::tp::nn";
  let genSpecializedAttr = 0;
}
def NN_GeluKindAttr : EnumAttr<NN_Dialect, NN_GeluKind, "gelu_kind">;

def NN_Float : AnyTypeOf<[F16, BF16, F32, F64]>;
def NN_Tensor : StaticShapeTensorOf<[NN_Float]>;
def NN_Ids : StaticShapeTensorOf<[I32, I64]>;

class NN_Op<string opMnemonic, list<Trait> traits = []>
    : Op<NN_Dialect, opMnemonic, !listconcat(traits, [Pure, TP_OwnAttributes,
        DeclareOpInterfaceMethods<TP_ShardingRuleOpInterface,
          ["getPaddingStates"]>,
        DeclareOpInterfaceMethods<TP_DecomposeOpInterface>])> {
  let hasVerifier = 1;
}

/// An op whose per-rank form is not just a clone.
class NN_IndexedOp<string opMnemonic, list<Trait> traits = []>
    : Op<NN_Dialect, opMnemonic, !listconcat(traits, [Pure, TP_OwnAttributes,
        DeclareOpInterfaceMethods<TP_ShardingRuleOpInterface,
          ["buildLocal", "getPaddingStates"]>,
        DeclareOpInterfaceMethods<TP_DecomposeOpInterface>])> {
  let hasVerifier = 1;
}

def NN_Vjp : DeclareOpInterfaceMethods<TP_DifferentiableOpInterface>;
def NN_Integers : DeclareOpInterfaceMethods<TP_IntegerOperandsOpInterface>;

/// An op that a function of the runtime computes: docs/Adding.md.
class NN_LibraryForm<list<string> methods = []>
    : DeclareOpInterfaceMethods<TP_LibraryOpInterface, methods>;

def NN_LinearOp : NN_Op<"linear", [NN_Vjp, NN_LibraryForm<
    ["getLibraryDescription", "getEpilogues", "getPackedOperand",
     "getJoinedForm", "getFlopsPerPoint", "verifyLibraryForm"]>]> {
  let summary = "y = x wᵀ + bias";
  let description = [{
    x[..., k], weight[n, k] (as checkpoints store it), bias[n] -> y[..., n], of
    the operands' type or f32 (logits, which often tie in 16 bits). A bias
    has the input's type or the result's. A weight in f32 beside a narrower
    input, or both of them beside a narrower result, are what `nn.dequantize`
    makes; no library multiplies others.

    ```mlir
    %y = nn.linear %x, %w bias %b : (tensor<1x8x64xf32>, tensor<256x64xf32>, tensor<256xf32>) -> tensor<1x8x256xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$input, NN_Tensor:$weight, Optional<NN_Tensor>:$bias);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input `,` $weight (`bias` $bias^)? attr-dict `:` functional-type(operands, results)";
}

def NN_MatmulOp : NN_Op<"matmul", [NN_Vjp, NN_LibraryForm<
    ["getLibraryDescription", "getEpilogues", "getFlopsPerPoint"]>]> {
  let summary = "y = x w, or the sum over rows xᵀ w";
  let description = [{
    x[..., k], weight[k, n] -> y[..., n]. `transposed`: x[..., k], weight[..., n] ->
    y[k, n], with the same rows in front, over which it sums. So the derivative
    of `nn.linear` by its input is `nn.matmul` of the cotangent and the weight as
    it lies, and that by its weight `nn.matmul ... transposed` of the cotangent
    and the input. The result has the weight's type or f32, and so has x.
    `tp-recognise-linear` finds them.

    ```mlir
    %dw = nn.matmul %dy, %x {transposed} : (tensor<1x8x256xbf16>, tensor<1x8x64xbf16>) -> tensor<256x64xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$input, NN_Tensor:$weight, UnitAttr:$transposed);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input `,` $weight attr-dict `:` functional-type(operands, results)";
}

def NN_AttentionOp : NN_Op<"attention", [AttrSizedOperandSegments, NN_Vjp, NN_Integers,
    NN_LibraryForm<["getLibraryDescription", "getFlopsPerPoint"]>]> {
  let summary = "scaled dot-product attention";
  let description = [{
    query[b, s, hq, d], key[b, t, hk, d], value[b, t, hk, e] -> result[b, s, hq, e];
    query head j uses KV head j / (hq / hk). What a query at position i makes of the key
    at j, in this order:

    - The score is `scale` times their product; with `soft_cap` c it becomes
      c tanh(score / c), and then bias[head, i, j] is added (`bias`[hq, s, t], or [1, s, t]
      for all heads).
    - `mask`[b, t] (integer or i1): keys where it is zero are not attended. `causal`: it sees
      keys up to p = i + (t - s). `window` w beside `causal`: at most the last w of those;
      `window` alone: keys with |j - p| <= w / 2, rounded down.
    - The weights are the softmax over the keys that it sees. `sinks`[hq] adds
      exp(sinks[head]) to the sum that it divides by, as a key of the value zero would.

    A query that sees no key gives zeros. The optional result `lse`[b, s, hq] (f32) is
    the log of that sum of exponentials.

    ```mlir
    %o = nn.attention %q, %k, %v {causal, scale = 0.125 : f64} : (tensor<1x8x4x64xf32>, tensor<1x8x2x64xf32>, tensor<1x8x2x64xf32>) -> tensor<1x8x4x64xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$query, NN_Tensor:$key, NN_Tensor:$value,
    Optional<AnyStaticShapeTensor>:$mask, Optional<NN_Tensor>:$bias,
    Optional<NN_Tensor>:$sinks, F64Attr:$scale, UnitAttr:$causal,
    OptionalAttr<I64Attr>:$window, OptionalAttr<F64Attr>:$soft_cap);
  let results = (outs NN_Tensor:$result, Optional<NN_Tensor>:$lse);
  let assemblyFormat = "$query `,` $key `,` $value (`mask` $mask^)? (`bias` $bias^)? (`sinks` $sinks^)? attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    std::optional<::tp::PartForm> getPartForm(unsigned factor);
    unsigned getNumStatistics() { return 1; }
  }];
}

def NN_AttentionBackwardOp : NN_Op<"attention_backward", [AttrSizedOperandSegments, NN_Integers,
    NN_LibraryForm<["getLibraryDescription", "getFlopsPerPoint"]>]> {
  let summary = "derivative of attention";
  let description = [{
    By query, key and value of `nn.attention` of these operands and attributes.
    `lse`[b, s, hq] is its second result, cotangent[b, s, hq, e] the first one's, and
    delta[b, s, hq] the sum over e of cotangent * result, less the cotangent of `lse`. Results:
    d_query[b, s, hq, d], and of each query head what it contributes to the KV head
    that it uses, d_key[b, t, hq, d] and d_value[b, t, hq, e] (f32): the derivative by a KV head is
    the sum over the query heads that share it. Likewise d_bias[b, hq, s, t] (f32), if there is a
    `bias` and its derivative is asked for. The scores are computed again from `lse`, in which
    sinks are: a sink's derivative is minus the sum of exp(sink - lse) * delta.

    ```mlir
    %dq, %dk, %dv = nn.attention_backward %do, %q, %k, %v, %lse, %delta {causal, scale = 0.125 : f64} : (tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x2x64xf32>, tensor<1x8x2x64xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>) -> (tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>)
    ```
  }];
  let arguments = (ins NN_Tensor:$cotangent, NN_Tensor:$query, NN_Tensor:$key,
    NN_Tensor:$value, NN_Tensor:$lse, NN_Tensor:$delta,
    Optional<AnyStaticShapeTensor>:$mask, Optional<NN_Tensor>:$bias,
    F64Attr:$scale, UnitAttr:$causal, OptionalAttr<I64Attr>:$window,
    OptionalAttr<F64Attr>:$soft_cap);
  let results = (outs NN_Tensor:$d_query, NN_Tensor:$d_key, NN_Tensor:$d_value,
    Optional<NN_Tensor>:$d_bias);
  let hasCanonicalizeMethod = 1; // d_bias that nobody reads is left out
  let assemblyFormat = "$cotangent `,` $query `,` $key `,` $value `,` $lse `,` $delta (`mask` $mask^)? (`bias` $bias^)? attr-dict `:` functional-type(operands, results)";
}

def NN_RMSNormOp : NN_Op<"rms_norm", [NN_Vjp]> {
  let summary = "root mean square normalisation of the last dimension";
  let description = [{
    input[..., h], weight[h] -> x / sqrt(mean(x²) + epsilon) * weight. The
    optional result `rstd`[...] (f32) is 1 / sqrt(mean(x²) + epsilon).
  }];
  let arguments = (ins NN_Tensor:$input, NN_Tensor:$weight, F64Attr:$epsilon);
  let results = (outs NN_Tensor:$result, Optional<NN_Tensor>:$rstd);
  let assemblyFormat = "$input `,` $weight attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    unsigned getNumStatistics() { return 1; }
    bool isCheap() { return true; }
    bool isSplittable() { return true; }
  }];
}

def NN_LayerNormOp : NN_Op<"layer_norm", [NN_Vjp]> {
  let summary = "layer normalisation of the last dimension";
  let description = [{
    input[..., h], weight[h], bias[h] -> (x - mean) / sqrt(var + epsilon) *
    weight + bias, with the biased variance. Optional results: the mean and
    the reciprocal standard deviation [...] (f32), both or neither.
  }];
  let arguments = (ins NN_Tensor:$input, NN_Tensor:$weight,
    Optional<NN_Tensor>:$bias, F64Attr:$epsilon);
  let results = (outs NN_Tensor:$result, Variadic<NN_Tensor>:$statistics);
  let extraClassDeclaration = [{
    unsigned getNumStatistics() { return 2; }
    bool isCheap() { return true; }
    bool isSplittable() { return true; }
    /// The mean and the reciprocal standard deviation; null if not asked for.
    ::mlir::Value getMean() {
      return getStatistics().empty() ? ::mlir::Value() : getStatistics()[0];
    }
    ::mlir::Value getRstd() {
      return getStatistics().empty() ? ::mlir::Value() : getStatistics()[1];
    }
  }];
  let assemblyFormat = "$input `,` $weight (`bias` $bias^)? attr-dict `:` functional-type(operands, results)";
}

def NN_RotaryTableOp : NN_IndexedOp<"rotary_table", [AttrSizedOperandSegments]> {
  let summary = "cosines and sines of rotary position embedding";
  let description = [{
    cos[s, d/2], sin[s, d/2] in f32 of the angle position * inv_freq[j],
    multiplied by `attention_scaling`. Row s stands at position `offset` + s, or
    at `positions`[s]. The angle is the f32 product of the position and the f32
    frequency.
  }];
  let arguments = (ins Optional<Index>:$offset, Optional<NN_Ids>:$positions,
    ElementsAttr:$inv_freq,
    DefaultValuedAttr<F64Attr, "1.0">:$attention_scaling);
  let results = (outs NN_Tensor:$cos, NN_Tensor:$sin);
  let hasCanonicalizeMethod = 1;
  let assemblyFormat = "(`offset` $offset^)? (`positions` $positions^ `:` type($positions))? attr-dict `:` type($cos) `,` type($sin)";
}

def NN_RotaryOp : NN_Op<"rotary", [NN_Vjp]> {
  let summary = "apply rotary position embedding";
  let description = [{
    input[b, s, heads, d], cos[s, r], sin[s, r] with 2r <= d: the first 2r
    elements of each head are rotated, pairing element j with element j + r:
    y[j] = x[j] cos[j] - x[j + r] sin[j], y[j + r] = x[j + r] cos[j] + x[j] sin[j];
    the rest is unchanged. Computed in f32.
  }];
  let arguments = (ins NN_Tensor:$input, NN_Tensor:$cos, NN_Tensor:$sin);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input `,` $cos `,` $sin attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    bool isCheap() { return true; }
  }];
}

def NN_EmbeddingOp : NN_IndexedOp<"embedding", [NN_Vjp, NN_Integers]> {
  let summary = "rows of a table";
  let description = [{
    ids[...], table[V, h] -> result[..., h], row ids[...] of the table. An id
    outside 0 .. V gives a row of zeros. With `offset`, the table holds rows
    offset .. offset + V of a larger one, so that the sum over the parts of a
    split table is the look-up in all of it.

    `padding_row` is PyTorch's `padding_idx`: the result is the same, but the
    derivative leaves that row out. It counts rows of the whole table, whatever
    the offset.

    ```mlir
    %x = nn.embedding %ids, %table {padding_row = 0 : i64} : (tensor<1x8xi64>, tensor<100x64xf32>) -> tensor<1x8x64xf32>
    ```
  }];
  let arguments = (ins NN_Ids:$ids, NN_Tensor:$table, Optional<Index>:$offset,
    OptionalAttr<I64Attr>:$padding_row);
  let results = (outs NN_Tensor:$result);
  let hasCanonicalizeMethod = 1;
  let assemblyFormat = "$ids `,` $table (`offset` $offset^)? attr-dict `:` functional-type(operands, results)";
}

def NN_EmbeddingBackwardOp : NN_IndexedOp<"embedding_backward", [NN_Integers,
    AttrSizedOperandSegments,
    NN_LibraryForm<["verifyLibraryForm", "getReplacedOperand"]>]> {
  let summary = "derivative of an embedding by its table";
  let description = [{
    ids[...], cotangent[..., h] -> result[V, h] (f32): row v is the sum of those rows of the
    cotangent whose id is v, in their order; ids outside 0 .. V are left out. With `offset`, row v
    is that of id offset + v. With `into`[V, h] the sums are added to that. With `padding_row`,
    an id equal to it is left out too; like the ids it counts rows of the whole table.

    ```mlir
    %d = nn.embedding_backward %ids, %dx : (tensor<1x8xi64>, tensor<1x8x64xf32>) -> tensor<100x64xf32>
    ```
  }];
  let arguments = (ins NN_Ids:$ids, NN_Tensor:$cotangent, Optional<NN_Tensor>:$into,
    Optional<Index>:$offset, OptionalAttr<I64Attr>:$padding_row);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$ids `,` $cotangent (`into` $into^)? (`offset` $offset^)? attr-dict `:` functional-type(operands, results)";
}

//===----------------------------------------------------------------------===//
// Generation: ragged rows of tokens over a paged cache (docs/Generation.md)
//===----------------------------------------------------------------------===//

def NN_Numbers : StaticShapeTensorOf<[I32]>;

def NN_TokenPlacesOp : NN_Op<"token_places", [NN_Integers]> {
  let summary = "whose tokens they are, and where they stand";
  let description = [{
    starts[R + 1], context[R], table[R, P] -> rows[T], positions[T], cells[T].
    Row r owns the tokens starts[r] .. starts[r + 1] (ascending), of which the
    first stands at position context[r]; tokens past starts[R] are padding.
    Position p of row r lies in cell table[r, p / page] * page + p % page. All
    three are -1 for padding, and the cell is for a position without a page
    (past the table, or where it is negative).

    ```mlir
    %rows, %positions, %cells = nn.token_places %starts, %context, %table {page = 32 : i64} : (tensor<5xi32>, tensor<4xi32>, tensor<4x8xi32>) -> (tensor<16xi32>, tensor<16xi32>, tensor<16xi32>)
    ```
  }];
  let arguments = (ins NN_Numbers:$starts, NN_Numbers:$context,
    NN_Numbers:$table, I64Attr:$page);
  let results = (outs NN_Numbers:$rows, NN_Numbers:$positions, NN_Numbers:$cells);
  let assemblyFormat = "$starts `,` $context `,` $table attr-dict `:` functional-type(operands, results)";
}

def NN_CacheWriteOp : NN_Op<"cache_write", [NN_Integers, NN_LibraryForm<
    ["getReplacedOperand"]>]> {
  let summary = "write rows into cells of a cache";
  let description = [{
    input[T, g, d], cells[T], pool[C, g, d] -> result[C, g, d]: the pool with
    row t of the input in cell cells[t]. A cell outside 0 .. C is not written; no
    two rows are written to one cell.

    ```mlir
    %new = nn.cache_write %k, %cells, %keys : (tensor<16x2x64xf32>, tensor<16xi32>, tensor<1024x2x64xf32>) -> tensor<1024x2x64xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$input, NN_Numbers:$cells, NN_Tensor:$pool);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input `,` $cells `,` $pool attr-dict `:` functional-type(operands, results)";
}

def NN_CacheBytes : StaticShapeTensorOf<[I8]>;
def NN_CacheScales : StaticShapeTensorOf<[F32]>;
def NN_Pool : StaticShapeTensorOf<[NN_Float, I8]>;

def NN_QuantizedCacheWriteOp : NN_Op<"quantized_cache_write", [NN_Integers, NN_LibraryForm<
    ["getReplacedOperand"]>]> {
  let summary = "write rows into cells of a cache, in eight bits";
  let description = [{
    `nn.cache_write` of input[T, g, d] into pool[C, g, d], which holds the bytes
    of `element`s: input / scale in f32, rounded to the nearest element, ties to
    even, and no larger than the largest (127 of i8, 448 of f8E4M3FN); zero where
    the scale is zero.

    With a second result, scales[C, g] are kept beside the pool: each row has
    one for each head, its largest magnitude divided by the largest element.
    Without it they are given, scales[1, g] or scales[1, 1], and elements are
    f8E4M3FN.

    ```mlir
    %new, %new_scales = nn.quantized_cache_write %k, %cells, %keys, %scales {element = i8} : (tensor<16x2x64xf32>, tensor<16xi32>, tensor<1024x2x64xi8>, tensor<1024x2xf32>) -> (tensor<1024x2x64xi8>, tensor<1024x2xf32>)
    %static = nn.quantized_cache_write %k, %cells, %keys, %scale {element = f8E4M3FN} : (tensor<16x2x64xf32>, tensor<16xi32>, tensor<1024x2x64xi8>, tensor<1x1xf32>) -> tensor<1024x2x64xi8>
    ```
  }];
  let arguments = (ins NN_Tensor:$input, NN_Numbers:$cells,
    NN_CacheBytes:$pool, NN_CacheScales:$scales, TypeAttr:$element);
  let results = (outs NN_CacheBytes:$result, Optional<NN_CacheScales>:$result_scales);
  let assemblyFormat = "$input `,` $cells `,` $pool `,` $scales attr-dict `:` functional-type(operands, results)";
}

def NN_PagedAttentionOp : NN_Op<"paged_attention", [AttrSizedOperandSegments, NN_Integers, NN_LibraryForm<
    ["getLibraryDescription", "getFlopsPerPoint"]>]> {
  let summary = "causal attention of tokens to the cache of their rows";
  let description = [{
    query[b, T, hq, d] with b = 1, keys[C, hk, d], values[C, hk, e], rows[T],
    positions[T], table[R, P] -> result[b, T, hq, e], in the query's type. Token t
    sees positions 0 .. positions[t] of row rows[t], at most the last `window` of
    them; position p of a row lies in cell table[row, p / page] * page + p % page.
    Query head j uses KV head j / (hq / hk). Cells that are not seen may hold
    anything; a token without a row (-1) gives zeros. `soft_cap` and `sinks`[hq] are
    those of `nn.attention`; `bias`[hq, P * page] is added to the scores of each
    position, behind the cap, as ALiBi does.

    Keys and values in i8 are the bytes of an `element` (i8 or f8E4M3FN), as
    `nn.quantized_cache_write` writes them; each is multiplied by a scale of
    `key_scales` or `value_scales` [C, hk]. Either dimension may be 1: all cells,
    or all heads, have that scale.

    ```mlir
    %o = nn.paged_attention %q, %keys, %values, %rows, %positions, %table {page = 32 : i64, scale = 0.125 : f64} : (tensor<1x16x4x64xf32>, tensor<1024x2x64xf32>, tensor<1024x2x64xf32>, tensor<16xi32>, tensor<16xi32>, tensor<4x8xi32>) -> tensor<1x16x4x64xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$query, NN_Pool:$keys, NN_Pool:$values,
    NN_Numbers:$rows, NN_Numbers:$positions, NN_Numbers:$table,
    Optional<NN_CacheScales>:$key_scales, Optional<NN_CacheScales>:$value_scales,
    Optional<NN_Tensor>:$bias, Optional<NN_Tensor>:$sinks, I64Attr:$page, F64Attr:$scale,
    OptionalAttr<I64Attr>:$window, OptionalAttr<F64Attr>:$soft_cap,
    OptionalAttr<TypeAttr>:$element);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$query `,` $keys `,` $values `,` $rows `,` $positions `,` $table (`scales` $key_scales^ `,` $value_scales)? (`bias` $bias^)? (`sinks` $sinks^)? attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    std::optional<::tp::PartForm> getPartForm(unsigned factor);
    /// Of a row, at most: what a line of the table has cells for.
    int64_t getNumPositions();
  }];
}

//===----------------------------------------------------------------------===//
// Sampling (docs/Operations.md)
//===----------------------------------------------------------------------===//

def NN_Floats : StaticShapeTensorOf<[F32]>;
def NN_Seeds : StaticShapeTensorOf<[I64]>;

def NN_SampleOp : NN_Op<"sample", [NN_Integers]> {
  let summary = "choose a token for each row of logits";
  let description = [{
    logits[R, V] and, for each row, the position of the new token, a seed,
    temperature, top_k, top_p and min_p -> token[R], logprob[R].

    In this order: the logits are divided by the temperature (not above 0: the
    largest is taken); only the top_k largest stay (not above 0: all); only those
    at least min_p times as probable as the largest; only the fewest, from the
    largest on, that are top_p of these together (1 or more: all); of them the
    one with the largest sum of logit and Gumbel number, which is a function of
    seed, position and token. Of equals the lowest token comes first, everywhere.
    `logprob` is the logarithm of its probability under the logits as they are.

    The answer is found from the 64 best tokens, or from all if nothing is
    restricted. Where it cannot be (more than 64 may be chosen from, a sum is too
    close to top_p to tell, a logit is NaN, no finite one is the largest, the
    position is negative), token is -1 and logprob 0.

    ```mlir
    %token, %logprob = nn.sample %logits, %positions, %seed, %temperature, %top_k, %top_p, %min_p : (tensor<4x131xf32>, tensor<4xi32>, tensor<4xi64>, tensor<4xf32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>)
    ```
  }];
  let arguments = (ins NN_Floats:$logits, NN_Numbers:$positions,
    NN_Seeds:$seed, NN_Floats:$temperature, NN_Numbers:$top_k,
    NN_Floats:$top_p, NN_Floats:$min_p);
  let results = (outs NN_Numbers:$token, NN_Floats:$logprob);
  let assemblyFormat = "$logits `,` $positions `,` $seed `,` $temperature `,` $top_k `,` $top_p `,` $min_p attr-dict `:` functional-type(operands, results)";
}

def NN_SampleRecordsOp : NN_Op<"sample_records",
    [NN_Integers, NN_LibraryForm<>]> {
  let summary = "what nn.sample must know of each block of the vocabulary";
  let description = [{
    logits[R, V], blocks[S], positions[R], seed[R], temperature[R] ->
    records[S, R, 133]. The logits are S blocks of ceil(V / S) columns, the last
    ones short; block s is number blocks[s] of the vocabulary, so that its column
    i is token blocks[s] * ceil(V / S) + i. Tokens from `vocabulary` on are
    padding, and a row whose position is negative has no tokens.

    A record is the 64 largest logits in order (-inf where there are fewer
    tokens that are not -inf), their 64 tokens (-1), the largest logit x, the
    sums of exp(logit - x) and of exp((logit - x) / temperature), and the logit
    and token (-inf, -1) that win the draw among all; at temperature 0, where
    nothing is drawn, those of the largest, and the second sum is the first. If x
    is no finite number nothing else is defined.

    ```mlir
    %records = nn.sample_records %logits, %blocks, %positions, %seed, %temperature {vocabulary = 131 : i64} : (tensor<4x131xf32>, tensor<3xi32>, tensor<4xi32>, tensor<4xi64>, tensor<4xf32>) -> tensor<3x4x133xf32>
    ```
  }];
  let arguments = (ins NN_Floats:$logits, NN_Numbers:$blocks,
    NN_Numbers:$positions, NN_Seeds:$seed, NN_Floats:$temperature,
    I64Attr:$vocabulary);
  let results = (outs NN_Floats:$records);
  let assemblyFormat = "$logits `,` $blocks `,` $positions `,` $seed `,` $temperature attr-dict `:` functional-type(operands, results)";
}

def NN_SamplePickOp : NN_Op<"sample_pick", [NN_LibraryForm<>]> {
  let summary = "choose a token for each row from records of all blocks";
  let description = [{
    records[S, R, 133] and the numbers of nn.sample -> token[R], logprob[R], as
    nn.sample says.

    ```mlir
    %token, %logprob = nn.sample_pick %records, %positions, %seed, %temperature, %top_k, %top_p, %min_p : (tensor<3x4x133xf32>, tensor<4xi32>, tensor<4xi64>, tensor<4xf32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>)
    ```
  }];
  let arguments = (ins NN_Floats:$records, NN_Numbers:$positions,
    NN_Seeds:$seed, NN_Floats:$temperature, NN_Numbers:$top_k,
    NN_Floats:$top_p, NN_Floats:$min_p);
  let results = (outs NN_Numbers:$token, NN_Floats:$logprob);
  let assemblyFormat = "$records `,` $positions `,` $seed `,` $temperature `,` $top_k `,` $top_p `,` $min_p attr-dict `:` functional-type(operands, results)";
}

def NN_CrossEntropyOp : NN_Op<"cross_entropy", [NN_Vjp, NN_Integers]> {
  let summary = "negative log-likelihood of labels";
  let description = [{
    logits[..., V], labels[...] -> loss[...] (f32): log(sum(exp(logits))) -
    logits[label]. A label outside 0 .. V gives zero (ignored). The optional
    result `lse`[...] (f32) is the log of the sum of exponentials.
  }];
  let arguments = (ins NN_Tensor:$logits, NN_Ids:$labels);
  let results = (outs NN_Tensor:$loss, Optional<NN_Tensor>:$lse);
  let assemblyFormat = "$logits `,` $labels attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    unsigned getNumStatistics() { return 1; }
  }];
}

def NN_SoftmaxOp : NN_Op<"softmax", [SameOperandsAndResultType, NN_Vjp]> {
  let summary = "softmax over the last dimension";
  let arguments = (ins NN_Tensor:$input);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
  let extraClassDeclaration = [{
    bool isSplittable() { return true; }
  }];
}

def NN_GeluOp : NN_Op<"gelu", [SameOperandsAndResultType, NN_Vjp, TP_ActivationOpInterface]> {
  let summary = "Gaussian error linear unit";
  let description = [{
    `erf`: x/2 (1 + erf(x/√2)). `tanh`: x/2 (1 + tanh(√(2/π) (x + 0.044715 x³))).

    ```mlir
    %1 = nn.gelu tanh %0 : tensor<1x8x64xf32>
    ```
  }];
  let arguments = (ins NN_GeluKindAttr:$kind, NN_Tensor:$input);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "`` $kind $input attr-dict `:` type($input)";
  let extraClassDeclaration = [{
    bool isCheap() { return true; }
    ::llvm::StringRef getActivation() {
      return getKind() == GeluKind::Erf ? "gelu_erf" : "gelu_tanh";
    }
  }];
}

def NN_SiluOp : NN_Op<"silu", [SameOperandsAndResultType, NN_Vjp, TP_ActivationOpInterface]> {
  let summary = "x / (1 + exp(-x))";
  let arguments = (ins NN_Tensor:$input);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
  let extraClassDeclaration = [{
    bool isCheap() { return true; }
    ::llvm::StringRef getActivation() { return "silu"; }
  }];
}

/// A number that is known at run time only, and so never an immediate.
def NN_Counter : Type<TensorRankOf<[I64], [0]>.predicate, "tensor<i64>">,
    BuildableType<"::mlir::RankedTensorType::get({}, $_builder.getI64Type())">;

def NN_DropoutOp : NN_IndexedOp<"dropout", [AttrSizedOperandSegments, AllTypesMatch<["input", "result"]>, NN_Vjp]> {
  let summary = "zero elements at random and scale the rest";
  let description = [{
    Element e (its linear position in the global tensor) is kept if
    Philox4x32-10 of (seed, step; op id, layer, e) gives a number of at least
    `probability`, and then divided by 1 - probability: the mask, and so the
    result, does not depend on how the tensor is spread. `seed` and `step` (a
    micro-batch's number) are read from memory; `layer` is the iteration of the
    repeated layer. The key is the seed; the counter's words are the low and
    high halves of e, of which the upper 16 bits of the high one are combined
    (xor) with the layer, the op id, and the low half of the step; the first
    word of the result is compared.

    ```mlir
    %1 = nn.dropout %0, %seed, %step layer %i {op_id = 1 : i64, probability = 0.1 : f64} : tensor<1x8x64xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$input, NN_Counter:$seed, NN_Counter:$step,
    Optional<Index>:$layer, Variadic<Index>:$offsets, F64Attr:$probability,
    I64Attr:$op_id, OptionalAttr<DenseI64ArrayAttr>:$global_shape);
  let results = (outs NN_Tensor:$result);
  let hasFolder = 1;
  let assemblyFormat = "$input `,` $seed `,` $step (`layer` $layer^)? (`offsets` $offsets^)? attr-dict `:` type($input)";
  let extraClassDeclaration = [{
    bool isCheap() { return true; }
  }];
}

include "tp/Dialect/NN/IR/NNConvolution.td"
include "tp/Dialect/NN/IR/NNExperts.td"
include "tp/Dialect/NN/IR/NNQuantized.td"
include "tp/Dialect/NN/IR/NNRecurrence.td"

#endif // TP_DIALECT_NN_IR_NNOPS_TD
