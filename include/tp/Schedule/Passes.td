//===- Passes.td - Passes of the schedule stage -----------*- tablegen -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the per-rank program to kernels, library calls and buffers.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SCHEDULE_PASSES_TD
#define TP_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"
include "tp/Target/TargetOption.td"

def JoinCollectives : Pass<"tp-join-collectives", "::mlir::ModuleOp"> {
  let summary = "one buffer and one operation for the collectives of one call";
  let description = [{
    All-reduces under one id in the ledger (`tp-coalesce-reductions`) become one
    of the `tp.join` of their operands; their results are views of its result.
    Where all operands are states that the function replaces and reads here alone,
    declared one behind the other as `tp-coalesce-reductions` leaves them, they are
    reduced in their own memory (`in_place`).

    Before:
    ```mlir
    tp.mesh @mesh <["tp"=2]>
    func.func @main(%a: tensor<4xf32>, %b: tensor<2x3xf32>) -> (tensor<4xf32>, tensor<2x3xf32>) {
      %r = tp.all_reduce sum %a over @mesh ["tp"] {ledger = #tp.ledger<0, cause = "of a", annotation = "x", pass = "tp-coalesce-reductions">} : tensor<4xf32> -> tensor<4xf32>
      %s = tp.all_reduce sum %b over @mesh ["tp"] {ledger = #tp.ledger<0, cause = "of b", annotation = "x", pass = "tp-coalesce-reductions">} : tensor<2x3xf32> -> tensor<2x3xf32>
      return %r, %s : tensor<4xf32>, tensor<2x3xf32>
    }
    ```
    After:
    ```mlir
    %j = tp.join %a, %b : tensor<4xf32>, tensor<2x3xf32> -> tensor<70xf32>
    %c = tp.all_reduce sum %j over @mesh ["tp"] {ledger = #tp.ledger<0, cause = "of a; and of b", annotation = "x", pass = "tp-coalesce-reductions">} : tensor<70xf32> -> tensor<70xf32>
    %r = tensor.extract_slice %c[0] [4] [1] : tensor<70xf32> to tensor<4xf32>
    %t = tensor.extract_slice %c[64] [6] [1] : tensor<70xf32> to tensor<6xf32>
    %s = tensor.expand_shape %t [[0, 1]] output_shape [2, 3] : tensor<6xf32> into tensor<2x3xf32>
    return %r, %s : tensor<4xf32>, tensor<2x3xf32>
    ```
  }];
  let dependentDialects = ["::tp::TPDialect", "::mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numJoined", "joined", "Collectives that became part of another">
  ];
}

def SplitRows : Pass<"tp-split-rows", "::mlir::func::FuncOp"> {
  let summary = "compute rows in parts, beside collectives of other parts";
  let description = [{
    A collective whose operand is made by a product, or whose result a product
    reads, has nothing beside it: one needs the other. In `chunks` parts of the
    rows, the collective of one part can run beside the products of the next.

    Rows are the first dimension of more than one position (the batch, or else
    the tokens) of the side of a collective that a rank has on its own: the
    operand, or the result of a reduce-scatter. From there the cut goes on to
    whatever can be computed in parts: that is a matter of the operations'
    sharding rules (a parallel factor that carries the rows and of which no
    position is read) and of what an operation says of itself (`getPartForm`: a
    causal attention's queries see the keys up to their own), never of their
    kind. Along a gathered dimension a part is made of the same part of each rank's
    rows. A value that is carried by `tp.repeat` is one of each part. Where all
    rows are needed, the parts are put together: a `tp.join` where they lie one
    behind the other, in which they are computed, so that nothing is copied.

    A collective stays whole, with the reason in `tp.whole`, if it has one row,
    if its parts are no collectives of its kind, or if no product can be
    computed in parts before or after it. What is outside of a loop follows the
    loop's carried values up to the next product.

    With a `link`, a profile, the parts are in the order in which a processor and
    a link of these figures run them; without one, the two take equally long for
    all that is cut. If the pass is `selective`, a site is cut only if the block
    then takes less time by the cost model (`tp/Cost/CostModel.h`), by more than
    3 % of the site's own, and `tp.whole` says why a site is not: "in 2 parts it
    hides 31 us and costs 44 us of work". `--overlap=auto` of the stage chooses
    the number of parts, and whether it is selective.

    Values are the same as without, where a product's algorithm does not depend
    on the number of rows.

    Precondition: local types; before tp-form-gemms.

    Before:
    ```mlir
    tp.mesh @mesh <["tp"=2]>
    func.func @main(%x: tensor<1x8x64xf32>, %r: tensor<1x8x64xf32>) -> tensor<1x8x64xf32> {
      %w = tp.parameter "w" : tensor<64x64xf32>
      %0 = nn.linear %x, %w : (tensor<1x8x64xf32>, tensor<64x64xf32>) -> tensor<1x8x64xf32>
      %1 = tp.all_reduce sum %0 over @mesh ["tp"] : tensor<1x8x64xf32> -> tensor<1x8x64xf32>
      %2 = arith.addf %1, %r : tensor<1x8x64xf32>
      return %2 : tensor<1x8x64xf32>
    }
    ```
    After, with `chunks=2`:
    ```mlir
    %x0 = tensor.extract_slice %x[0, 0, 0] [1, 4, 64] [1, 1, 1] : tensor<1x8x64xf32> to tensor<1x4x64xf32>
    %0 = nn.linear %x0, %w : (tensor<1x4x64xf32>, tensor<64x64xf32>) -> tensor<1x4x64xf32>
    %1 = tp.all_reduce sum %0 over @mesh ["tp"] {tp.part = array<i64: 0, 2>} : tensor<1x4x64xf32> -> tensor<1x4x64xf32>
    ... // the same of %x[0, 4, 0], and the sums
    %j = tp.join %2, %5 : tensor<1x4x64xf32>, tensor<1x4x64xf32> -> tensor<512xf32>
    %e = tensor.expand_shape %j [[0, 1, 2]] output_shape [1, 8, 64] : tensor<512xf32> into tensor<1x8x64xf32>
    return %e : tensor<1x8x64xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect", "::tp::TPDialect"];
  let options = [Option<"chunks", "chunks", "int64_t", "2",
                        "parts of the rows">,
                 Option<"link", "link", "::tp::ProfileHandle", "",
                        "the profile of the device and its links">,
                 Option<"selective", "selective", "bool", "false",
                        "cut only where that saves time by the link">];
  let statistics = [Statistic<"numSplit", "split", "collectives in parts">];
}

def FormGemms : Pass<"tp-form-gemms", "::mlir::ModuleOp"> {
  let summary = "outline products, with what follows them, as GEMM calls";
  let description = [{
    Every operation whose library does something to the result on its way out
    (`getEpilogues`: `nn.linear`, with its bias) becomes a call of a private
    function with `tp.kernel = "gemm"` whose body says what it computes. An
    activation that is the only use of the product and does not feed a row
    kernel joins it (one that does is computed there, in the same pass over
    memory). Equal functions are made once.

    Operations that follow each other, read the same operand and have weights
    and results of one type (queries, keys and values; gate and up) are in one
    function if the target has the function of the runtime that computes them
    in one call (`getJoinedForm`), unless there is a library call, a collective
    or a loop between them: results that are read much later would be in memory
    for longer. On the host threads begin once, and a product that ends early
    leaves none of them idle; on a device those of few rows run beside each
    other.

    For a device the activation is `nn.gelu tanh` or max(x, 0), which cuBLASLt
    has. The latter is `arith.maximumf` with zero, or another spelling that does
    the same with NaN, and becomes the former. The sum with a tensor joins a
    product without activation if the sum has more than one reader or no row
    kernel reads it. A product of the result with one number, or a quotient
    where its inverse rounds no more, joins before both if there is no bias;
    the numbers are then constants of the function.

    cuBLASLt takes factors of one type and adds what has its result's (`mixesTypes`
    of the target): a narrower operand becomes f32 before, as in derivatives of a
    product of 16-bit factors with an f32 result, and so does a bias.

    Products of one row stay out of it for a device: they become linalg, and with
    that row kernels, which read the weights once and compute what stands around
    them (both products, the activation and the gate are one kernel).

    Precondition: local types, and no two operations that are the same (cse). Runs
    before nn operations are decomposed.

    Before:
    ```mlir
    func.func @main(%x: tensor<8x64xf32>) -> tensor<8x32xf32> {
      %w = tp.parameter "up.weight" : tensor<64x64xf32>
      %b = tp.parameter "up.bias" : tensor<64xf32>
      %v = tp.parameter "down.weight" : tensor<32x64xf32>
      %0 = nn.linear %x, %w bias %b : (tensor<8x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<8x64xf32>
      %1 = nn.gelu tanh %0 : tensor<8x64xf32>
      %2 = nn.linear %1, %v : (tensor<8x64xf32>, tensor<32x64xf32>) -> tensor<8x32xf32>
      return %2 : tensor<8x32xf32>
    }
    ```
    After:
    ```mlir
    func.func @main(%x: tensor<8x64xf32>) -> tensor<8x32xf32> {
      ... // parameters
      %1 = call @gemm_0(%x, %w, %b) : (tensor<8x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<8x64xf32>
      %2 = call @gemm_1(%1, %v) : (tensor<8x64xf32>, tensor<32x64xf32>) -> tensor<8x32xf32>
      return %2 : tensor<8x32xf32>
    }
    func.func private @gemm_0(%x: tensor<8x64xf32>, %w: tensor<64x64xf32>, %b: tensor<64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"} {
      %0 = nn.linear %x, %w bias %b : (tensor<8x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<8x64xf32>
      %1 = nn.gelu tanh %0 : tensor<8x64xf32>
      return %1 : tensor<8x64xf32>
    }
    func.func private @gemm_1(%x: tensor<8x64xf32>, %w: tensor<32x64xf32>) -> tensor<8x32xf32> attributes {tp.kernel = "gemm"} {
      %0 = nn.linear %x, %w : (tensor<8x64xf32>, tensor<32x64xf32>) -> tensor<8x32xf32>
      return %0 : tensor<8x32xf32>
    }
    ```

    A device's sum joins too.

    Before:
    ```mlir
    func.func @main(%x: tensor<8x64xf32>, %r: tensor<8x64xf32>) -> tensor<8x64xf32> {
      %w = tp.parameter "w" : tensor<64x64xf32>
      %half = arith.constant dense<0.5> : tensor<8x64xf32>
      %0 = nn.linear %x, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
      %1 = arith.mulf %0, %half : tensor<8x64xf32>
      %2 = arith.addf %1, %r : tensor<8x64xf32>
      return %2 : tensor<8x64xf32>
    }
    ```
    After, with `target=cuda`:
    ```mlir
    %2 = call @gemm_0(%x, %w, %r) : (tensor<8x64xf32>, tensor<64x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return %2 : tensor<8x64xf32>
    ```
  }];
  let options = [TP_TargetOption];
  let dependentDialects = ["::mlir::func::FuncDialect"];
  let statistics = [Statistic<"numGemms", "gemms", "calls made">];
}

def StoreQuantized : Pass<"tp-store-quantized", "::mlir::func::FuncOp"> {
  let summary = "quantised weights become the bytes that lie in memory";
  let description = [{
    Upstream stores an `i4` in a byte and has no processor's code for floats of
    eight bits, so the types of quantised weights end here. A `tp.parameter` of
    such elements becomes one of bytes, with its own type in `tp.stored_type`
    for the manifest; the loader packs it.

    | read by | becomes |
    |---|---|
    | the weight of `nn.linear` | `nn.quantized_linear`, which a library computes from the bytes |
    | the matrices of `nn.experts`, all of one kind | `nn.quantized_experts`, likewise |
    | the weight of `nn.linear`, with a scale of each output, whose input `nn.quantize` has rounded by a scale of each token | the same on the input's elements, as numbers in bf16, whose products are scaled |
    | anything else | loops that unpack all of the weight in each step, with a warning |

    Scales of a GGUF file's K types, an f16 of 256 elements times a byte of each
    group (`tp.packed_groups` on the parameter says of how many groups), become
    bytes too, and so do the minima, unless `pack-groups` is false or a rank's
    part has no whole number of blocks.

    Inputs that are rounded by groups become numbers: `nn.quantize` and the
    `nn.dequantize` behind it are one expression.

    At its end no tensor has elements of fewer than eight bits, booleans apart,
    nor floats of eight: an error names what has.

    Precondition: local types; before tp-recognise-linear.

    Before:
    ```mlir
    func.func @main(%x: tensor<8x64xf32>) -> tensor<8x32xf32> {
      %q = tp.parameter "l.weight_packed" storage <"I32", bits = 4, dim = 1, offset = 8> : tensor<32x64xi4>
      %s = tp.parameter "l.weight_scale" storage <"F16"> : tensor<32x2xf16>
      %w = nn.dequantize %q, %s {group = array<i64: 1, 32>} : (tensor<32x64xi4>, tensor<32x2xf16>) -> tensor<32x64xf32>
      %y = nn.linear %x, %w : (tensor<8x64xf32>, tensor<32x64xf32>) -> tensor<8x32xf32>
      return %y : tensor<8x32xf32>
    }
    ```
    After:
    ```mlir
    func.func @main(%x: tensor<8x64xf32>) -> tensor<8x32xf32> {
      %q = tp.parameter "l.weight_packed" storage <"I32", bits = 4, dim = 1, offset = 8> {tp.stored_type = tensor<32x64xi4>} : tensor<32x32xi8>
      %s = tp.parameter "l.weight_scale" storage <"F16"> : tensor<32x2xf16>
      %y = nn.quantized_linear %x, %q, %s {element = i4, group = array<i64: 1, 32>} : (tensor<8x64xf32>, tensor<32x32xi8>, tensor<32x2xf16>) -> tensor<8x32xf32>
      return %y : tensor<8x32xf32>
    }
    ```
  }];
  let dependentDialects = ["::tp::nn::NNDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"];
  let options = [Option<"packGroups", "pack-groups", "bool", /*default=*/"true",
                        "Whether scales in blocks stay packed">];
  let statistics = [Statistic<"numProducts", "products",
                              "products of a quantised weight">];
}

def RecogniseLinear : Pass<"tp-recognise-linear", "::mlir::func::FuncOp"> {
  let summary = "find products that are written in linalg";
  let description = [{
    The GEMM library is to compute them, whoever wrote them: a user, or a
    derivative.

    | written in linalg, in any order of the operands | becomes |
    |---|---|
    | y[rows..., n], sum over k of x[rows..., k] w[n, k] | `nn.linear` |
    | the same of w[k, n] | `nn.linear` of a parameter that nothing else reads, transposed by the loader (its `source` says so); else `nn.matmul` |
    | y[n, k], sum over rows of x[rows..., n] w[rows..., k] | `nn.matmul ... transposed` |

    bf16 and f16 are found if the sum is in f32, which a body widens its inputs
    to; an operation that only rounds the sum becomes part of it. An initial
    value that is not zero is added. What `nn.embedding_backward` is added to
    becomes its `into`; its `offset` is taken off the ids, and ids of its `padding_row` become -1,
    which no table has. Products of other shapes are left for the generated
    loops.

    Precondition: local types; before tp-form-gemms.

    Before:
    ```mlir
    func.func @main(%x: tensor<8x64xf32>) -> tensor<8x32xf32> {
      %w = tp.parameter "w" : tensor<64x32xf32>
      %zero = arith.constant dense<0.0> : tensor<8x32xf32>
      %y = linalg.matmul ins(%x, %w : tensor<8x64xf32>, tensor<64x32xf32>) outs(%zero : tensor<8x32xf32>) -> tensor<8x32xf32>
      return %y : tensor<8x32xf32>
    }
    ```
    After:
    ```mlir
    func.func @main(%x: tensor<8x64xf32>) -> tensor<8x32xf32> {
      %t = tp.parameter "w" source <shape = [64, 32], offsets = [0, 0], permutation = [1, 0]> : tensor<32x64xf32>
      ... // %w and %zero, which nothing reads any more
      %y = nn.linear %x, %t : (tensor<8x64xf32>, tensor<32x64xf32>) -> tensor<8x32xf32>
      return %y : tensor<8x32xf32>
    }
    ```
  }];
  let dependentDialects = ["::tp::nn::NNDialect", "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
  let statistics = [Statistic<"numLinears", "linear-layers", "products found">];
}

def LowerToLinalg : Pass<"tp-lower-to-linalg", "::mlir::func::FuncOp"> {
  let summary = "express everything but library calls as linalg.generic";
  let description = [{
    nn operations that no library computes are decomposed, element-wise arith and math on
    tensors, named linalg operations, slices that are no views, pads,
    concatenations, `tp.slice` and `tp.keep_first` become `linalg.generic`;
    fills of constants become constants. What is left on tensors is generic
    operations, reshapes and slices that are views of memory, collectives,
    library operations, parameters and calls.

    Upstream's element-wise conversion is used; its conversions of slices and
    pads make copies, which this avoids.

    Before:
    ```mlir
    func.func @main(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>) -> tensor<4x64xf32> {
      %0 = arith.addf %x, %y : tensor<8x64xf32>
      %1 = tensor.extract_slice %0[4, 0] [4, 64] [1, 1] : tensor<8x64xf32> to tensor<4x64xf32>
      return %1 : tensor<4x64xf32>
    }
    ```
    After (the slice is contiguous, so a view):
    ```mlir
    %0 = linalg.generic {..., iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<8x64xf32>, tensor<8x64xf32>) outs(%x : tensor<8x64xf32>) {
    ^bb0(%a: f32, %b: f32, %out: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<8x64xf32>
    %1 = tensor.extract_slice %0[4, 0] [4, 64] [1, 1] : tensor<8x64xf32> to tensor<4x64xf32>
    return %1 : tensor<4x64xf32>
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def SplitSums : Pass<"tp-split-sums", "::mlir::func::FuncOp"> {
  let summary = "sum over rows block by block";
  let description = [{
    A sum over all rows (the gradient of a norm's weight or of a bias, a loss,
    the norm of a gradient) has no row of its result to share among threads. It
    becomes a sum in each of 256 blocks, at most, and the sum of those. The
    blocks follow from the size of the loop alone, so that the result depends
    neither on the number of threads nor on the processor. Sums of few elements,
    of other types than f32, of what depends on positions, and of a size that no
    block of at least 16 divides stay as they are.

    Precondition: everything is linalg.generic; before tp-form-kernels.

    Before:
    ```mlir
    func.func @main(%x: tensor<512x64xf32>, %y: tensor<64xf32>) -> tensor<64xf32> {
      %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]}
          ins(%x : tensor<512x64xf32>) outs(%y : tensor<64xf32>) {
      ^bb0(%a: f32, %sum: f32):
        %s = arith.addf %sum, %a : f32
        linalg.yield %s : f32
      } -> tensor<64xf32>
      return %0 : tensor<64xf32>
    }
    ```
    After:
    ```mlir
    %rows = tensor.expand_shape %x [[0, 1], [2]] output_shape [32, 16, 64] : tensor<512x64xf32> into tensor<32x16x64xf32>
    %zero = arith.constant dense<0.000000e+00> : tensor<32x64xf32>
    %parts = linalg.generic {..., iterator_types = ["parallel", "reduction", "parallel"]} ins(%rows : tensor<32x16x64xf32>) outs(%zero : tensor<32x64xf32>) {
    ^bb0(%a: f32, %sum: f32):
      %s = arith.addf %sum, %a : f32
      linalg.yield %s : f32
    } -> tensor<32x64xf32>
    %0 = linalg.generic {..., iterator_types = ["reduction", "parallel"]} ins(%parts : tensor<32x64xf32>) outs(%y : tensor<64xf32>) {
    ^bb0(%a: f32, %sum: f32):
      %s = arith.addf %sum, %a : f32
      linalg.yield %s : f32
    } -> tensor<64xf32>
    return %0 : tensor<64xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
  let statistics = [Statistic<"numSums", "sums", "sums cut into blocks">];
}

def ReadPeers : Pass<"tp-read-peers", "::mlir::func::FuncOp"> {
  let summary = "sum the addends of all ranks where the sum is needed";
  let description = [{
    Where the ranks of a group can read each other's memory, a small all-reduce
    needs no call that moves anything: `tp.peers` waits until all addends are
    written, and a `linalg.generic` adds them up in the group's order, floats in
    f32 at least, rounded once, as the library's all-reduce does: the bits are the
    same. What follows row by row (a residual, a norm, a bias, a cast, a user's
    `linalg.generic`) then joins the sum in one kernel (`tp-form-kernels`), which
    knows nothing of collectives. A sum that others read too is written once, by
    that kernel.

    `form=auto` asks the cost model (`tp/Cost/CostModel.h`) of each all-reduce of
    fewer than `most-bytes`, unless it is one part of several or its group has
    ranks on several nodes of the profile `link`; `peer` takes all sums of one
    tensor, `library` none. One that stays a call says why in `tp.library`. Other
    reductions than sums, several all-reduces that are one call (`tp.join`), and
    all reductions of targets whose kernels cannot read other ranks' memory stay
    calls.

    Before:
    ```mlir
    tp.mesh @mesh <["tp"=2]>
    func.func @main(%x: tensor<1x64xf32>, %y: tensor<1x64xf32>) -> tensor<1x64xf32> {
      %0 = tp.all_reduce sum %x over @mesh ["tp"] : tensor<1x64xf32> -> tensor<1x64xf32>
      return %0 : tensor<1x64xf32>
    }
    ```
    After:
    ```mlir
    #map = affine_map<(d0, d1) -> (d0, d1)>
    ...
    tp.mesh @mesh <["tp"=2]>
    func.func @main(%x: tensor<1x64xf32>, %y: tensor<1x64xf32>) -> tensor<1x64xf32> {
      %0:2 = tp.peers sum %x over @mesh ["tp"] : tensor<1x64xf32> -> tensor<1x64xf32>, tensor<1x64xf32>
      %1 = tensor.empty() : tensor<1x64xf32>
      %2 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]}
          ins(%0#0, %0#1 : tensor<1x64xf32>, tensor<1x64xf32>) outs(%1 : tensor<1x64xf32>) attrs = {tp.origin = "sum"} {
      ^bb0(%a: f32, %b: f32, %out: f32):
        %s = arith.addf %a, %b : f32
        linalg.yield %s : f32
      } -> tensor<1x64xf32>
      return %2 : tensor<1x64xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect", "::tp::TPDialect"];
  let options = [Option<"form", "form", "::tp::SumForm", "::tp::SumForm::Auto",
                        "how ranks that share memory add up",
                        [{::tp::getSumFormValues()}]>,
                 Option<"mostBytes", "most-bytes", "int64_t", "0",
                        "auto leaves a call what has so many bytes, because it "
                        "can run beside other work; 0: any number">,
                 TP_TargetOption,
                 Option<"link", "link", "::tp::ProfileHandle", "",
                        "the profile that says which ranks are on one node "
                        "(without one, all are)">];
  let statistics = [Statistic<"numPeer", "peer", "all-reduces that are no call">];
}

def FormKernels : Pass<"tp-form-kernels", "::mlir::ModuleOp"> {
  let summary = "group linalg.generic operations into row kernels";
  let description = [{
    Operations that share their leading ("row") dimensions and read each other
    row by row are computed together, one pass over memory: residual and norm,
    the statistics of a norm and its scaling, bias and activation, gate and up.
    Each group becomes a call of a private function with `tp.kernel = "rows"`
    and `tp.row_dims`; equal functions are made once. Rows are what threads
    share: up to 32 are not given up, nor those of a matrix, of which a product
    of one row has as many as results.

    Upstream's element-wise fusion makes one operation of two and so cannot fuse
    through a reduction; here the operations stay and lower runs them side by
    side.

    Precondition: tp-lower-to-linalg.

    Before:
    ```mlir
    #id = affine_map<(i, j) -> (i, j)>
    func.func @main(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>) -> tensor<8x64xf32> {
      %e = tensor.empty() : tensor<8x64xf32>
      %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) {
      ^bb0(%in: f32, %out: f32):
        %n = math.exp %in : f32
        linalg.yield %n : f32
      } -> tensor<8x64xf32>
      %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%0, %y : tensor<8x64xf32>, tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) {
      ^bb0(%a: f32, %b: f32, %out: f32):
        %p = arith.mulf %a, %b : f32
        linalg.yield %p : f32
      } -> tensor<8x64xf32>
      return %1 : tensor<8x64xf32>
    }
    ```
    After:
    ```mlir
    func.func @main(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>) -> tensor<8x64xf32> {
      ...
      %1 = call @rows_0(%x, %y) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
      return %1 : tensor<8x64xf32>
    }
    func.func private @rows_0(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "rows", tp.label = "exp+mulf", tp.row_dims = 1 : i64} {
      ... // both operations
    }
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect"];
  let statistics = [Statistic<"numKernels", "kernels", "distinct row kernels">];
}

def OrderSteps : Pass<"tp-order-steps", "::mlir::func::FuncOp"> {
  let summary = "put products beside collectives that they do not need";
  let description = [{
    Between a collective and what reads its result goes what does not need it.
    A derivative has such work: the gradients of weights beside the all-reduce
    of the input's gradient. Products (calls of a library) that stand behind the
    reader and do not depend on the collective are moved before the reader, with
    what they need themselves. Then each collective is moved down to its first
    reader: those that are needed first come first, so that none waits for
    another that could have waited. (A gather of what is saved in parts, which a
    weight's gradient reads, so comes beside the product of the input's
    gradient.) `tp-start-collectives` moves them up again, in that order.

    No more bytes live at once than before: a move that would need more is not
    made. Collectives of less than `least-bytes` stay where they are, and
    nothing is moved for them.

    Precondition: kernels are formed; before tp-start-collectives.

    Before:
    ```mlir
    tp.mesh @mesh <["tp"=2]>
    func.func private @gemm_0(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}
    func.func @main(%dy: tensor<8x64xf32>, %x: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
      %0 = call @gemm_0(%dy) : (tensor<8x64xf32>) -> tensor<8x64xf32>
      %1 = tp.all_reduce sum %0 over @mesh ["tp"] : tensor<8x64xf32> -> tensor<8x64xf32>
      %2 = call @gemm_0(%1) : (tensor<8x64xf32>) -> tensor<8x64xf32>
      %3 = call @gemm_0(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
      return %2, %3 : tensor<8x64xf32>, tensor<8x64xf32>
    }
    ```
    After:
    ```mlir
    %0 = call @gemm_0(%dy) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %3 = call @gemm_0(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %1 = tp.all_reduce sum %0 over @mesh ["tp"] : tensor<8x64xf32> -> tensor<8x64xf32>
    %2 = call @gemm_0(%1) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    return %2, %3 : tensor<8x64xf32>, tensor<8x64xf32>
    ```
  }];
  let dependentDialects = ["::tp::TPDialect"];
  let options = [Option<"leastBytes", "least-bytes", "int64_t", "0",
                        "for collectives of so many bytes">];
  let statistics = [Statistic<"numMoved", "moved",
                              "products moved beside a collective">];
}

def StartCollectives : Pass<"tp-start-collectives", "::mlir::func::FuncOp"> {
  let summary = "start collectives early and await them late";
  let description = [{
    Makes collectives asynchronous: each is moved up to where its operand is
    ready, and a `tp.await` is placed before the first operation that needs the
    result. What stands between the two runs beside it. The order of the
    collectives among themselves does not change, so that all ranks agree on it.

    A device starts all of them. On the host a collective that is not awaited is
    over when the call returns, and to start one costs something too: with
    `least-bytes` only those are started whose tensor has so many bytes and
    which have kernels beside them that read and write as many. The others stay
    where they are.

    Before:
    ```mlir
    tp.mesh @mesh <["tp"=2]>
    func.func private @rows_0(%x: tensor<8x64xf32>) -> tensor<8x64xf32>
    func.func private @rows_1(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>) -> tensor<8x64xf32>
    func.func @main(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>) -> tensor<8x64xf32> {
      %0 = tp.all_reduce sum %x over @mesh ["tp"] : tensor<8x64xf32> -> tensor<8x64xf32>
      %1 = call @rows_0(%y) : (tensor<8x64xf32>) -> tensor<8x64xf32>
      %2 = call @rows_1(%0, %1) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
      return %2 : tensor<8x64xf32>
    }
    ```
    After:
    ```mlir
    %0 = tp.all_reduce sum %x over @mesh ["tp"] : tensor<8x64xf32> -> tensor<8x64xf32>
    %1 = call @rows_0(%y) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %3 = tp.await %0 : tensor<8x64xf32>
    %2 = call @rows_1(%3, %1) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    return %2 : tensor<8x64xf32>
    ```
  }];
  let dependentDialects = ["::tp::TPDialect"];
  let options = [Option<"leastBytes", "least-bytes", "int64_t", "0",
                        "start collectives of so many bytes, beside work on as "
                        "many; 0: all">,
                 Option<"atOnce", "at-once", "bool", "false",
                        "await each where it is started">];
  let statistics = [Statistic<"numOverlapped", "overlapped",
                              "collectives with work between start and await">];
}

def PlanBuffers : Pass<"tp-plan-buffers", "::mlir::ModuleOp"> {
  let summary = "give every tensor a place in memory";
  let description = [{
    Writes a `#tp.buffer` for each result of each call, collective, library
    operation and repeated layer into the attribute `tp.buffers`: its place in the arena,
    the communication arena, or a result of the function. Places are reused
    when lifetimes allow. Reshapes and contiguous slices share the place of
    what they view. A collective's operands and results lie in the
    communication arena; an all-reduce whose operand is not read again works in
    place. The values carried by `tp.repeat` have two places that alternate, and
    what lives only inside its body is placed once for all iterations.

    Addends that other ranks read (`tp.peers`) lie in slots, which are the same
    bytes of the communication arena in all functions of the module, so that one
    function cannot write over what a slower rank still reads in another. Two
    addends share a slot only if, between the last read of the one and the write
    of the other, every member of the group has passed a `tp.peers` of the group
    in whatever order the functions run. An addend that stands in its own way
    (the only sum of a repeated layer) is followed by a `tp.meet`.

    The sizes are written on the function: `tp.arena_bytes`, `tp.comm_bytes`,
    `tp.slot_bytes`, `tp.peak_bytes`.

    Where a value must be in a certain place and its producer cannot write
    there, a copy (a row kernel) is inserted.

    Before:
    ```mlir
    tp.mesh @mesh <["tp"=2]>
    func.func private @gemm_0(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}
    func.func @main(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
      %0 = call @gemm_0(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
      %1 = tp.all_reduce sum %0 over @mesh ["tp"] : tensor<8x64xf32> -> tensor<8x64xf32>
      %2 = call @gemm_0(%1) : (tensor<8x64xf32>) -> tensor<8x64xf32>
      %3 = call @gemm_0(%2) : (tensor<8x64xf32>) -> tensor<8x64xf32>
      return %3 : tensor<8x64xf32>
    }
    ```
    After:
    ```mlir
    func.func @main(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.arena_bytes = 2048 : i64, tp.comm_bytes = 2048 : i64} {
      %0 = call @gemm_0(%x) {tp.buffers = [#tp.buffer<"comm", 0>]} : (tensor<8x64xf32>) -> tensor<8x64xf32>
      %1 = tp.all_reduce sum %0 over @mesh ["tp"] {tp.buffers = [#tp.buffer<"comm", 0>]} : tensor<8x64xf32> -> tensor<8x64xf32>
      %2 = call @gemm_0(%1) {tp.buffers = [#tp.buffer<"arena", 0>]} : (tensor<8x64xf32>) -> tensor<8x64xf32>
      %3 = call @gemm_0(%2) {tp.buffers = [#tp.buffer<"output", 0>]} : (tensor<8x64xf32>) -> tensor<8x64xf32>
      return %3 : tensor<8x64xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect", "::tp::TPDialect"];
}

def VerifySchedule : Pass<"tp-verify-schedule", "::mlir::ModuleOp"> {
  let summary = "check the schedule stage's contract";
  let description = [{
    Every tensor has a place; the places of values that are alive at the same
    time do not overlap; an all-reduce works in place only on a value that
    nothing reads afterwards; collectives use memory that they may use; all
    places are inside the stated arenas; no operation is left that lower does
    not know. Between the start and the await of an asynchronous collective
    nothing overwrites its operand or its result.

    Addends that other ranks read lie in slots. The program is run, over its
    loops and over all orders of its functions, until nothing new is learned of
    which slots a peer may still read: an operation that writes such bytes is an
    error.

    Before:
    ```mlir
    func.func private @gemm_0(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}
    func.func private @gemm_1(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.kernel = "gemm"}
    func.func @main(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.arena_bytes = 4096 : i64, tp.comm_bytes = 0 : i64} {
      %0 = call @gemm_0(%x) {tp.buffers = [#tp.buffer<"arena", 0>]} : (tensor<8x64xf32>) -> tensor<8x64xf32>
      %1 = call @gemm_0(%0) {tp.buffers = [#tp.buffer<"arena", 1024>]} : (tensor<8x64xf32>) -> tensor<8x64xf32>
      %2 = call @gemm_1(%0, %1) {tp.buffers = [#tp.buffer<"output", 0>]} : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
      return %2 : tensor<8x64xf32>
    }
    ```
    Error:
    ```
    error: 'func.call' op writes bytes 1024 to 3072 of arena, where a value is that is still read
    note: the value is made here
    ```
  }];
  let options = [Option<"asynchronous", "asynchronous", "bool", "false",
                        "every collective must be awaited">];
}

#endif // TP_SCHEDULE_PASSES_TD
