//===- NNConvolution.td - Short causal convolutions -------*- tablegen -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A depthwise convolution along the sequence, which sees a few earlier
// positions, and the same in a step of generation, whose tokens find the inputs
// of earlier steps in a pool.
//
//===----------------------------------------------------------------------===//

#ifndef TP_DIALECT_NN_IR_NNCONVOLUTION_TD
#define TP_DIALECT_NN_IR_NNCONVOLUTION_TD

def NN_CausalConvOp : NN_Op<"causal_conv", [NN_Vjp]> {
  let summary = "depthwise convolution of each position with those before it";
  let description = [{
    input[b, s, c], weight[c, 1, k] (as checkpoints store it), bias[c] ->
    result[b, s, c]: at position i the sum over j < k of weight[c, 0, k - 1 - j] *
    input[b, i - j, c], plus bias[c]. There are zeros before the first position. The sum
    is in f32 and rounded once.

    `reversed` reads the positions behind instead, i + j, with zeros behind the last one.
    That is the derivative by the input.

    Channels and batch may be sharded; the sequence is whole, as every position
    needs those before it.

    ```mlir
    %y = nn.causal_conv %x, %w : (tensor<1x8x64xf32>, tensor<64x1x3xf32>) -> tensor<1x8x64xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$input, NN_Tensor:$weight,
    Optional<NN_Tensor>:$bias, UnitAttr:$reversed);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input `,` $weight (`bias` $bias^)? attr-dict `:` functional-type(operands, results)";
}

def NN_ConvPlacesOp : NN_Op<"conv_places", [NN_Integers]> {
  let summary = "where a step's convolutions read and keep their inputs";
  let description = [{
    rows[T], positions[T], cells[T] of `nn.token_places` and its table[R, P] ->
    slots[T], sources[T, n], for convolutions that see n earlier positions.

    Of each page a pool keeps the inputs of the last m = min(n, page) positions that were
    computed: the one at position p is in slot table[r, p / page] * m + (p % page) % m.
    slots[t] is where the input of token t is kept, -1 for padding and for tokens that a later
    one of this step replaces. sources[t, j] says where the input of the position
    j + 1 before token t is: a number below T is a token of this step, T + s
    is slot s of the pool as it was before the step, -1 is none (before the first
    position). A text's tokens stand side by side, in order of position, also where they are in several rows.

    A page that is complete keeps its last inputs, so texts that share whole pages
    may go on behind them.

    ```mlir
    %slots, %sources = nn.conv_places %rows, %positions, %cells, %table {page = 32 : i64} : (tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<4x8xi32>) -> (tensor<16xi32>, tensor<16x2xi32>)
    ```
  }];
  let arguments = (ins NN_Numbers:$rows, NN_Numbers:$positions,
    NN_Numbers:$cells, NN_Numbers:$table, I64Attr:$page);
  let results = (outs NN_Numbers:$slots, NN_Numbers:$sources);
  let assemblyFormat = "$rows `,` $positions `,` $cells `,` $table attr-dict `:` functional-type(operands, results)";
}

def NN_PagedConvOp : NN_Op<"paged_conv", [NN_Integers]> {
  let summary = "causal convolution of tokens that go on with rows of a cache";
  let description = [{
    input[1, T, c], weight[c, 1, k], pool[S, c, 1], sources[T, k - 1], bias[c] ->
    result[1, T, c]: `nn.causal_conv` of each token and the k - 1 inputs before it,
    which `sources` finds among the tokens and in the pool (`nn.conv_places`). A source
    that is neither is zero. Slots that are not named may hold anything.

    ```mlir
    %y = nn.paged_conv %x, %w, %pool, %sources : (tensor<1x16x64xf32>, tensor<64x1x3xf32>, tensor<32x64x1xf32>, tensor<16x2xi32>) -> tensor<1x16x64xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$input, NN_Tensor:$weight, NN_Tensor:$pool,
    NN_Numbers:$sources, Optional<NN_Tensor>:$bias);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input `,` $weight `,` $pool `,` $sources (`bias` $bias^)? attr-dict `:` functional-type(operands, results)";
}

#endif // TP_DIALECT_NN_IR_NNCONVOLUTION_TD
