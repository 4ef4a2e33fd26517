//===- NNQuantized.td - Quantised weights -----------------*- tablegen -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nn.dequantize says what the numbers of a quantised weight mean; it is cut,
// executed and verified like any other operation. Schedule makes one product of
// it and a linear layer, which reads the weight as it lies in memory.
//
//===----------------------------------------------------------------------===//

#ifndef TP_DIALECT_NN_IR_NNQUANTIZED_TD
#define TP_DIALECT_NN_IR_NNQUANTIZED_TD

def NN_Quantized : StaticShapeTensorOf<[I<4>, I8, F8E4M3FN, F8E5M2, F4E2M1FN]>;
/// I8 are the bytes of F8E8M0FNU.
def NN_Scales : StaticShapeTensorOf<[F32, F16, BF16, F8E8M0FNU, F8E4M3FN, I8]>;
def NN_Zeros : StaticShapeTensorOf<[I8, F32]>;
def NN_Storage : StaticShapeTensorOf<[I8]>;

def NN_DequantizeOp : NN_Op<"dequantize", [AttrSizedOperandSegments, NN_Integers]> {
  let summary = "the numbers that a quantised tensor stands for";
  let description = [{
    values[...], scales[...] (and `zeros`[...] of the scales' shape) -> result[...]
    (f32) of the values' shape: (value - zero) * scale, computed in f32. Integers
    are signed. Scales in i8 are bytes of f8E8M0FNU, which `tp-store-quantized`
    makes of these: powers of two, the exponent plus 127.

    `group` says for each dimension of the values how many neighbours share a
    scale; there the scales have one position for each group, the last of which
    may be short. Zero stands for all of the dimension, of which the scales have
    one position. So `[1, 128]` are groups of 128 inputs of each output, `[1, 0]`
    a scale of each output, `[128, 128]` blocks, `[0, 0]` one scale.

    With `groups`[k] the last dimension's position k belongs to group groups[k]
    of the scales, whatever the order (act-order, or `g_idx`); `group` is zero
    there.

    A group is not cut: of a degree that would cut one, the last ranks have
    fewer groups. The position of a group that `groups` names may be cut
    anywhere, for every rank has all of its scales.

    ```mlir
    %w = nn.dequantize %q, %s {group = array<i64: 1, 32>} : (tensor<64x128xi4>, tensor<64x4xf16>) -> tensor<64x128xf32>
    %v = nn.dequantize %q, %s zeros %z groups %g {group = array<i64: 1, 0>} : (tensor<64x128xi4>, tensor<64x4xf16>, tensor<64x4xi8>, tensor<128xi32>) -> tensor<64x128xf32>
    ```
  }];
  let arguments = (ins NN_Quantized:$values, NN_Scales:$scales,
    Optional<NN_Zeros>:$zeros, Optional<NN_Numbers>:$groups,
    DenseI64ArrayAttr:$group);
  let results = (outs StaticShapeTensorOf<[F32]>:$result);
  let assemblyFormat = "$values `,` $scales (`zeros` $zeros^)? (`groups` $groups^)? attr-dict `:` functional-type(operands, results)";
}

def NN_ActivationScalesOp : NN_Op<"activation_scales"> {
  let summary = "the scales by which rows of activations are quantised";
  let description = [{
    input[..., k] -> scales[..., groups] (f32): of each group of `group`
    neighbours of a row, the last of which may be short, the largest magnitude
    divided by the largest number of `element`: 448 of f8E4M3FN, 57344 of
    f8E5M2, 127 of i8. Zero stands for all of the row. With `bound` no magnitude
    above it counts.

    A maximum over rows that ranks have parts of is an all-reduce of one number
    a group.

    ```mlir
    %s = nn.activation_scales %x {element = f8E4M3FN, group = 0} : (tensor<1x8x64xf32>) -> tensor<1x8x1xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$input, TypeAttr:$element, I64Attr:$group,
    OptionalAttr<F64Attr>:$bound);
  let results = (outs StaticShapeTensorOf<[F32]>:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
}

def NN_QuantizeOp : NN_Op<"quantize"> {
  let summary = "the elements that stand for numbers once these are divided by scales";
  let description = [{
    input[...], scales[...] (f32) -> result[...] of the input's shape: input /
    scale in f32, rounded to the nearest element of the result's type, of two to
    the even one, and no larger than the largest; zero where the scale is zero.
    `group` is as in `nn.dequantize`, which gives the rounded numbers back. No
    tensor of them remains in memory: schedule makes one expression of the two.

    ```mlir
    %q = nn.quantize %x, %s {group = array<i64: 1, 1, 0>} : (tensor<1x8x64xf32>, tensor<1x8x1xf32>) -> tensor<1x8x64xf8E4M3FN>
    ```
  }];
  let arguments = (ins NN_Tensor:$input, StaticShapeTensorOf<[F32]>:$scales,
    DenseI64ArrayAttr:$group);
  let results = (outs StaticShapeTensorOf<[I8, F8E4M3FN, F8E5M2]>:$result);
  let assemblyFormat = "$input `,` $scales attr-dict `:` functional-type(operands, results)";
}

def NN_QuantizedLinearOp : NN_Op<"quantized_linear", [AttrSizedOperandSegments,
    NN_LibraryForm<["getLibraryDescription", "getEpilogues", "getFlopsPerPoint"]>]> {
  let summary = "y = x dequantize(w)ᵀ + bias, from the weight as it lies in memory";
  let description = [{
    `nn.linear` of input[..., k] and of what `nn.dequantize` makes of a weight
    [n, k] of `element`s, which are bytes here: one of each element, or, where
    these have four bits, one of two neighbours of k, the first of which is in
    the low bits; a row begins with a byte. `tp-store-quantized` makes it.

    With `packed` = P the scales of P neighbouring groups of a row are P + 2
    bytes of i8: an f16, and a signed byte for each group, which multiplies it.
    `zeros` are such bytes too, of the number `least` that is subtracted from
    (value + c) * scale, c being 8 for elements of four bits and else 0: the zero
    point is least / scale - c.

    ```mlir
    %y = nn.quantized_linear %x, %w, %s {element = i4, group = array<i64: 1, 32>} : (tensor<1x8x128xf32>, tensor<64x64xi8>, tensor<64x4xf16>) -> tensor<1x8x64xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$input, NN_Storage:$values, NN_Scales:$scales,
    Optional<NN_Zeros>:$zeros, Optional<NN_Numbers>:$groups,
    Optional<NN_Tensor>:$bias, TypeAttr:$element, DenseI64ArrayAttr:$group,
    DefaultValuedAttr<I64Attr, "0">:$packed);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input `,` $values `,` $scales (`zeros` $zeros^)? (`groups` $groups^)? (`bias` $bias^)? attr-dict `:` functional-type(operands, results)";
}

def NN_QuantizedExpertsOp : NN_Op<"quantized_experts", [AttrSizedOperandSegments,
    NN_LibraryForm<["getLibraryDescription", "getFlopsPerPoint", "getReadPart"]>]> {
  let summary = "experts whose matrices are read as they lie in memory";
  let description = [{
    `nn.experts` of what `nn.dequantize` makes of the matrices gate, up and down,
    with its biases and attributes:
    their bytes as `values`, as of `nn.quantized_linear`, their `scales`, and
    their `zeros`, three of each. All have `element`s of one type; `group` is
    that of gate and up, `down_group` that of down; `packed` is as in `nn.quantized_linear`. `tp-store-quantized` makes
    it.

    ```mlir
    %y = nn.quantized_experts %x, %weights values %g, %u, %d scales %gs, %us, %ds {activation = "silu", element = i8, group = array<i64: 1, 1, 0>, down_group = array<i64: 1, 1, 0>} : (tensor<8x64xf32>, tensor<8x16xf32>, tensor<16x32x64xi8>, tensor<16x32x64xi8>, tensor<16x64x32xi8>, tensor<16x32x1xf32>, tensor<16x32x1xf32>, tensor<16x64x1xf32>) -> tensor<8x64xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$input, NN_Tensor:$routing,
    Variadic<NN_Storage>:$values, Variadic<NN_Scales>:$scales,
    Variadic<NN_Zeros>:$zeros, Variadic<NN_ExpertBiases>:$biases,
    Optional<NN_Numbers>:$inside, StrAttr:$activation,
    DefaultValuedAttr<F64Attr, "1.0">:$active, OptionalAttr<I64Attr>:$top_k,
    DefaultValuedAttr<F64Attr, "1.0">:$alpha, OptionalAttr<F64Attr>:$limit,
    DefaultValuedAttr<F64Attr, "0.0">:$up_offset, UnitAttr:$scales_input,
    TypeAttr:$element, DenseI64ArrayAttr:$group,
    DenseI64ArrayAttr:$down_group, DefaultValuedAttr<I64Attr, "0">:$packed);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input `,` $routing `values` $values `scales` $scales (`zeros` $zeros^)? (`biases` $biases^)? (`inside` $inside^)? attr-dict `:` functional-type(operands, results)";
}

#endif // TP_DIALECT_NN_IR_NNQUANTIZED_TD
