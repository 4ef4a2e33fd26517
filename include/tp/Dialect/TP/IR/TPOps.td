//===- TPOps.td - Operations of the tp dialect ------------*- tablegen -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Meshes, sharding constraints, parameters, the repeated layer, reshards, and
// the collectives that reshards become.
//
//===----------------------------------------------------------------------===//

#ifndef TP_DIALECT_TP_IR_TPOPS_TD
#define TP_DIALECT_TP_IR_TPOPS_TD

include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "tp/Dialect/TP/IR/TPAttrs.td"
include "tp/Dialect/TP/IR/CollectiveInterface.td"
include "tp/Dialect/TP/IR/OwnAttributes.td"

class TP_Op<string opMnemonic, list<Trait> traits = []>
    : Op<TP_Dialect, opMnemonic, !listconcat(traits, [TP_OwnAttributes])>;

//===----------------------------------------------------------------------===//
// Mesh, shardings, parameters
//===----------------------------------------------------------------------===//

def TP_MeshOp : TP_Op<"mesh", [Symbol]> {
  let summary = "declare a mesh of ranks";
  let description = [{
    ```mlir
    tp.mesh @mesh <["dp"=2, "tp"=4]>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TP_MeshAttr:$mesh);
  let assemblyFormat = "$sym_name $mesh attr-dict";
}

def TP_StateOp : TP_Op<"state", [Symbol]> {
  let summary = "a tensor that lives between the steps of a program";
  let description = [{
    A cache, an accumulator, a counter: one type, one sharding and one place in
    memory for all functions of the module. A function reads it as the argument
    and returns its successor as the result that carries `tp.state = @name`, so
    that functions stay pure: a step has the old value in all that it computes.
    A function may read it alone (no result) or overwrite it (no argument).

    Before the first step all elements are zero, or one with `ones`, or those
    of a `parameter` of the checkpoint, with `source` and `alternatives` as in
    `tp.parameter`. A name with `{i}` stands for one tensor for each element of
    the first dimension (layers that `tp.repeat` stacks), from `from` on; that
    dimension is not cut then. A state without `sharding` takes that of the first
    argument or result that has one, and is replicated if none has. After
    partition the type is local and `tp.global_type` is that before.

    A state may be partial: what the ranks hold of it is its addends (or what its
    maximum or minimum is taken of), and its value their sum. Its initial value is
    the first rank's alone. It stays so through steps that are linear in it, and
    one that needs the sum is refused if it also makes the successor.

    ```mlir
    tp.state @total : tensor<8x64xf32> sharding <@mesh, [{"tp"}, {} ]>
    tp.state @scales : tensor<4x64xf32> parameter "layers.{i}.norm.weight" from 2
    tp.state @gradient : tensor<8x64xf32> sharding <@mesh, [{}, {} ], partial sum {"dp"}>
    func.func @add(%x: tensor<8x64xf32>, %old: tensor<8x64xf32> {tp.state = @total})
        -> (tensor<8x64xf32> {tp.state = @total}) {
      %new = arith.addf %old, %x : tensor<8x64xf32>
      return %new : tensor<8x64xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$type,
                       OptionalAttr<TP_ShardingAttr>:$sharding,
                       UnitAttr:$ones, OptionalAttr<StrAttr>:$parameter,
                       OptionalAttr<I64Attr>:$first,
                       OptionalAttr<TP_ParameterSourceAttr>:$source,
                       OptionalAttr<StrArrayAttr>:$alternatives);
  let assemblyFormat = [{
    $sym_name `:` $type (`ones` $ones^)?
    (`parameter` $parameter^ (`from` $first^)? (`source` $source^)?
     (`alternatives` $alternatives^)?)?
    (`sharding` $sharding^)? attr-dict
  }];
  let extraClassDeclaration = [{
    /// The type before partition.
    mlir::RankedTensorType getGlobalType();
    /// True if it holds one tensor of the checkpoint after the other.
    bool isStack() {
      return getParameter() && getParameter()->contains("{i}");
    }
    /// The type of what one name of the checkpoint gives, before partition.
    mlir::RankedTensorType getParameterType();
  }];
  let hasVerifier = 1;
}

def TP_ShardingConstraintOp : TP_Op<"sharding_constraint",
    [Pure, SameOperandsAndResultType]> {
  let summary = "the value has this sharding here";
  let description = [{
    An annotation on a value in the middle of a program. Closed dimensions are
    never overridden; open ones may be extended by propagation.

    ```mlir
    %1 = tp.sharding_constraint %0 <@mesh, [{}, {"tp"}, {} ]> : tensor<1x128x64xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, TP_ShardingAttr:$sharding);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input $sharding attr-dict `:` type($input)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TP_ReshardOp : TP_Op<"reshard", [Pure, SameOperandsAndResultType]> {
  let summary = "change the sharding of a value";
  let description = [{
    Global types; exists only while partition runs. `from` is the sharding of
    the operand, `to` that of the result.
  }];
  let arguments = (ins AnyRankedTensor:$input, TP_ShardingAttr:$from,
                       TP_ShardingAttr:$to, OptionalAttr<TP_LedgerAttr>:$ledger);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `from` $from `to` $to attr-dict `:` type($input)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TP_ParameterOp : TP_Op<"parameter", [Pure]> {
  let summary = "a tensor of the checkpoint";
  let description = [{
    The value of a parameter by its checkpoint name. Within `tp.repeat`, `{i}`
    in the name stands for the iteration index of the innermost one around the
    operation; a loop around that one may not name the same template, and a loop
    inside reads this one's by the value. `{2*{i}+1}` stands for that number, of
    one layer of two that a loop has (`tprt/names.h`). `{e}` stands for a position of the
    first dimension of the checkpoint's tensor, which lies there as one tensor
    for each (the matrices of experts). `alternatives` are further names
    under which checkpoints store the same tensor, tried in order. `source` says
    which box of the checkpoint tensor it is, and in which order of dimensions,
    where it is not all of it. `storage` says how the checkpoint packs a quantised
    tensor; name, source and type are those of the unpacked one. Two operations
    with the same name and source are one parameter (tied weights).

    ```mlir
    %w = tp.parameter "model.layers.{i}.mlp.up_proj.weight" : tensor<8192x2048xf32>
    %e = tp.parameter "model.layers.{i}.mlp.experts.{e}.up_proj.weight" : tensor<8x8192x2048xf32>
    %k = tp.parameter "h.{i}.attn.c_attn.weight" source <shape = [768, 2304], offsets = [0, 768], permutation = [1, 0]> : tensor<768x768xf32>
    %q = tp.parameter "layers.{i}.up.weight_packed" storage <"I32", bits = 4, dim = 1, offset = 8> : tensor<768x256xi4>
    ```
  }];
  let arguments = (ins StrAttr:$name,
                       OptionalAttr<TP_ParameterSourceAttr>:$source,
                       OptionalAttr<StrArrayAttr>:$alternatives,
                       OptionalAttr<TP_StorageAttr>:$storage);
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::mlir::StringRef":$name,
      "::tp::ParameterSourceAttr":$source, "::mlir::ArrayAttr":$alternatives), [{
      build($_builder, $_state, type, $_builder.getStringAttr(name), source,
            alternatives, ::tp::StorageAttr());
    }]>];
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$name (`source` $source^)? (`storage` $storage^)? (`alternatives` $alternatives^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// True if the name has the iteration placeholder `{i}`.
    bool isTemplate() { return getName().contains("{i}"); }
  }];
}

//===----------------------------------------------------------------------===//
// The repeated layer
//===----------------------------------------------------------------------===//

def TP_RepeatOp : TP_Op<"repeat", [
    AttrSizedOperandSegments, RecursiveMemoryEffects,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "identical layers, one after the other";
  let description = [{
    Runs its region `count` times; no times, and the results are the initial
    values (there are no stacks of no layers). Loops may be nested, with 2^20
    iterations in all. Block arguments: the iteration index (it
    begins at `first`, zero unless given; with `reverse` the last iteration is
    the first to run, and index and slices are those of its place), the carried values, then for each `stacked` operand of type tensor<count x T>
    the iteration's slice of type T. The terminator yields the next carried
    values, then for each stacked result the iteration's slice. Results: the
    last carried values, then the stacked results. Values from above may be
    used inside. Parameters inside are templates: `{i}` is the index, so the
    operation is deliberately no LoopLikeOpInterface (nothing may be hoisted).

    ```mlir
    %h = tp.repeat 32 times iter(%x) : (tensor<1x8x64xf32>) -> tensor<1x8x64xf32> {
    ^bb0(%i: index, %c: tensor<1x8x64xf32>):
      %w = tp.parameter "model.layers.{i}.input_layernorm.weight" : tensor<64xf32>
      %n = nn.rms_norm %c, %w {epsilon = 1.0e-5 : f64} : ...
      tp.yield %n : tensor<1x8x64xf32>
    }
    ```
  }];
  let arguments = (ins I64Attr:$count, UnitAttr:$reverse,
                       OptionalAttr<I64Attr>:$first,
                       Variadic<AnyType>:$inits,
                       Variadic<AnyRankedTensor>:$stacked);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $count `times` (`reverse` $reverse^)? (`from` $first^)? (`iter` `(` $inits^ `)`)? (`stacked` `(` $stacked^ `)`)?
    attr-dict `:` functional-type(operands, results) $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "int64_t":$count, "::mlir::ValueRange":$inits,
      "::mlir::ValueRange":$stacked, "::mlir::TypeRange":$stackedResults,
      CArg<"int64_t", "0">:$first, CArg<"bool", "false">:$reverse)>];
  let extraClassDeclaration = [{
    /// The index of the first iteration: `{i}` of the first layer.
    int64_t getFirstIndex() { return getFirst().value_or(0); }
    ::mlir::Block *getBodyBlock() { return &getBody().front(); }
    ::mlir::BlockArgument getIndex() { return getBody().getArgument(0); }
    ::mlir::Block::BlockArgListType getCarriedArgs() {
      return getBody().getArguments().slice(1, getInits().size());
    }
    ::mlir::Block::BlockArgListType getStackedArgs() {
      return getBody().getArguments().drop_front(1 + getInits().size());
    }
    ::mlir::ResultRange getCarriedResults() {
      return getResults().take_front(getInits().size());
    }
    ::mlir::ResultRange getStackedResults() {
      return getResults().drop_front(getInits().size());
    }
    ::tp::YieldOp getYield();
  }];
}

def TP_YieldOp : TP_Op<"yield", [Pure, Terminator, HasParent<"RepeatOp">]> {
  let summary = "end of one iteration of tp.repeat";
  let arguments = (ins Variadic<AnyType>:$operands);
  let assemblyFormat = "($operands^ `:` type($operands))? attr-dict";
  let builders = [OpBuilder<(ins), [{ $_state.addOperands({}); }]>];
}

//===----------------------------------------------------------------------===//
// The per-rank program
//===----------------------------------------------------------------------===//

def TP_RankOp : TP_Op<"rank", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "this rank's position along axes of the mesh";
  let description = [{
    ```mlir
    %r = tp.rank @mesh ["tp"]
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$mesh, TP_AxisListAttr:$axes);
  let results = (outs Index:$result);
  let assemblyFormat = "$mesh $axes attr-dict";
}

/// A row of tprt/collectives.h as an operation. What the ranks hold `from` and
/// `to` must be the row's, which Collectives.cpp checks; operands, attributes
/// and syntax follow from it here, verifier and folder in C++.
class TP_StepOp<string kind, string opMnemonic, string from, string to,
                dag ledger, list<Trait> traits>
    : TP_Op<opMnemonic, !listconcat([Pure], traits)> {
  bit reduces = !eq(from, "Partial");
  bit gathers = !eq(from, "Split");
  bit cuts = !eq(to, "Split");
  bit permutes = !eq(from, "Permuted");
  let arguments = !con(
    (ins AnyStaticShapeTensor:$input),
    !if(reduces, (ins StrAttr:$reduction), (ins)),
    !if(!and(gathers, cuts), (ins I64Attr:$split_dim, I64Attr:$gather_dim),
        !if(!or(gathers, cuts), (ins I64Attr:$dim), (ins))),
    (ins FlatSymbolRefAttr:$mesh, TP_AxisListAttr:$axes),
    !if(permutes, (ins I64ElementsAttr:$pairs), (ins)),
    (ins OptionalAttr<TP_ShardingAttr>:$from, OptionalAttr<TP_ShardingAttr>:$to),
    ledger);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = !strconcat(
    !if(reduces, "custom<ReductionName>($reduction) ", ""), "$input ",
    !if(!and(gathers, cuts), "`split` $split_dim `gather` $gather_dim ",
        !if(!or(gathers, cuts), "`dim` $dim ", "")),
    "`over` $mesh $axes ", !if(permutes, "`pairs` $pairs ", ""),
    "attr-dict `:` type($input) `->` type($result)");
  let hasFolder = 1;
  code declaration = "static constexpr ::tp::CollectiveKind kind = ::tp::CollectiveKind::" # kind
    # ";\nstatic constexpr ::tp::Holding holdsBefore = ::tp::Holding::" # from
    # ", holdsAfter = ::tp::Holding::" # to # ";";
  let extraClassDeclaration = declaration;
  let extraClassDefinition = [{
    ::mlir::OpFoldResult $cppClass::fold(FoldAdaptor) {
      return ::tp::detail::foldStep(*this);
    }
  }];
}

/// One that moves nothing between ranks.
class TP_LocalStepOp<string kind, string opMnemonic, string from, string to,
                     list<Trait> traits = []>
    : TP_StepOp<kind, opMnemonic, from, to, (ins),
                !listconcat(traits, [TP_ReshardStepOpInterface])>;

/// One that does, and so has an entry in the ledger.
class TP_CollectiveOp<string kind, string opMnemonic, string from, string to,
                      list<Trait> traits = []>
    : TP_StepOp<kind, opMnemonic, from, to, (ins OptionalAttr<TP_LedgerAttr>:$ledger),
                !listconcat(traits, [TP_CollectiveOpInterface])> {
  code collectiveDescription = [{
    Local types. `axes` of `mesh` make the groups; `from` and `to` are the
    shardings of the global value before and after.
  }];
}

def TP_AllReduceOp
    : TP_CollectiveOp<"AllReduce", "all_reduce", "Partial", "Replicated"> {
  let summary = "combine the addends of all ranks of a group; all get the result";
  let description = collectiveDescription # [{
    ```mlir
    %1 = tp.all_reduce sum %0 over @mesh ["tp"] : tensor<1x8x64xf32> -> tensor<1x8x64xf32>
    ```
  }];
}

def TP_ReduceScatterOp
    : TP_CollectiveOp<"ReduceScatter", "reduce_scatter", "Partial", "Split"> {
  let summary = "combine the addends; each rank of a group gets its part of a dimension";
  let description = collectiveDescription # [{
    A dimension whose size the group does not divide is padded with zeros to
    parts of ceil(size / group).

    ```mlir
    %1 = tp.reduce_scatter sum %0 dim 1 over @mesh ["tp"] : tensor<1x8x64xf32> -> tensor<1x2x64xf32>
    ```
  }];
}

def TP_AllGatherOp
    : TP_CollectiveOp<"AllGather", "all_gather", "Split", "Replicated"> {
  let summary = "concatenate the parts of a group along a dimension on every rank";
  let description = collectiveDescription # [{
    The result may be smaller than parts times group: the padding at the end is
    stripped.

    ```mlir
    %1 = tp.all_gather %0 dim 1 over @mesh ["tp"] : tensor<1x2x64xf32> -> tensor<1x8x64xf32>
    ```
  }];
}

def TP_AllToAllOp : TP_CollectiveOp<"AllToAll", "all_to_all", "Split", "Split"> {
  let summary = "split one dimension over the group and gather another";
  let description = collectiveDescription # [{
    ```mlir
    %1 = tp.all_to_all %0 split 2 gather 1 over @mesh ["tp"] : tensor<1x2x64xf32> -> tensor<1x8x16xf32>
    ```
  }];
}

def TP_CollectivePermuteOp
    : TP_CollectiveOp<"CollectivePermute", "collective_permute", "Permuted", "Permuted"> {
  let summary = "each rank sends its part to one other rank";
  let description = collectiveDescription # [{
    `pairs` lists source and target ranks; every rank is a target exactly once.
    The result differs in shape from the input only in padding.

    ```mlir
    %1 = tp.collective_permute %0 over @mesh ["x", "y"] pairs dense<[[0, 0], [1, 2], [2, 1], [3, 3]]> : tensor<4x2xi64> : tensor<4xf32> -> tensor<4xf32>
    ```
  }];
}

def TP_SliceOp : TP_LocalStepOp<"Slice", "slice", "Replicated", "Split"> {
  let summary = "this rank's part of a dimension (no communication)";
  let description = [{
    A dimension whose size the group does not divide is padded with zeros.

    ```mlir
    %1 = tp.slice %0 dim 1 over @mesh ["tp"] : tensor<1x8x64xf32> -> tensor<1x2x64xf32>
    ```
  }];
}

def TP_KeepFirstOp : TP_LocalStepOp<"KeepFirst", "keep_first", "Replicated", "Partial",
    [SameOperandsAndResultType]> {
  let summary = "the value on the first rank of each group, zero on the others";
  let description = [{
    Turns a replicated value into a partial sum (no communication), so that a
    bias or an initial value counts once.

    ```mlir
    %1 = tp.keep_first %0 over @mesh ["tp"] : tensor<64xf32>
    ```
  }];
  let assemblyFormat = "$input `over` $mesh $axes attr-dict `:` type($input)";
}

def TP_JoinOp : TP_Op<"join", [Pure]> {
  let summary = "tensors one behind the other in one buffer";
  let description = [{
    What one call of a collective moves. Each tensor begins on a multiple of 256
    bytes; what lies between two of them is anything. Exists in the stage
    schedule and after it: where an operand can be computed in its place, nothing
    is copied. `in_place`: the operands are states, which lie so already, and the
    result is their memory.

    ```mlir
    %1 = tp.join %a, %b : tensor<4xf32>, tensor<2x3xf32> -> tensor<70xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyStaticShapeTensor>:$inputs,
                       UnitAttr:$in_place);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "(`in_place` $in_place^)? $inputs attr-dict `:` type($inputs) `->` type($result)";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$inputs, "bool":$inPlace)>];
  let extraClassDeclaration = [{
    /// The element at which each input begins, and behind them the size of all.
    ::llvm::SmallVector<int64_t> getOffsets();
  }];
}

def TP_AwaitOp : TP_Op<"await", [SameOperandsAndResultType]> {
  let summary = "the result of a collective, once it is there";
  let description = [{
    A collective whose result is awaited is asynchronous: it is started where it
    stands, and until the await its operand may not be overwritten and its
    result may not be read. The await is its only use, in the same block. The
    value and its place in memory are the collective's result.

    ```mlir
    %1 = tp.all_reduce sum %0 over @mesh ["tp"] : tensor<1x8x64xf32>
    %2 = tp.await %1 : tensor<1x8x64xf32>
    ```
  }];
  let arguments = (ins AnyStaticShapeTensor:$started);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$started attr-dict `:` type($started)";
  let hasVerifier = 1;
}

def TP_PeersOp : TP_Op<"peers", [Pure, TP_CollectiveOpInterface]> {
  let summary = "the addends of all ranks of a group, where each rank has its own";
  let description = [{
    A reduction in the form that has no collective call: every rank of the group
    gets the addends of all of them, in the group's order, and adds them up
    itself. Nothing is moved: each result is the memory of one member's operand,
    which the reader reads there. The operation waits until all are written.
    It exists in the stage schedule and after it (`tp-read-peers`).

    ```mlir
    %a, %b = tp.peers sum %0 over @mesh ["tp"] : tensor<1x8x64xf32> -> tensor<1x8x64xf32>, tensor<1x8x64xf32>
    ```
  }];
  let arguments = (ins AnyStaticShapeTensor:$input, StrAttr:$reduction,
                       FlatSymbolRefAttr:$mesh, TP_AxisListAttr:$axes,
                       OptionalAttr<TP_ShardingAttr>:$from,
                       OptionalAttr<TP_ShardingAttr>:$to,
                       OptionalAttr<TP_LedgerAttr>:$ledger);
  let results = (outs Variadic<AnyStaticShapeTensor>:$addends);
  let assemblyFormat = [{
    custom<ReductionName>($reduction) $input `over` $mesh $axes attr-dict
    `:` type($input) `->` type($addends)
  }];
  let extraClassDeclaration = [{
    static constexpr ::tp::CollectiveKind kind = ::tp::CollectiveKind::AllReduce;
  }];
}

def TP_MeetOp : TP_Op<"meet", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "wait until all ranks of a group are here";
  let description = [{
    Stands where the addends that `tp.peers` of the ledger entry `ledger` gave
    have been read, and no other `tp.peers` tells their owners so in time: behind
    it they may be overwritten. Placed by `tp-plan-buffers`.

    ```mlir
    tp.meet over @mesh ["tp"]
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$mesh, TP_AxisListAttr:$axes,
                       OptionalAttr<TP_LedgerAttr>:$ledger);
  let assemblyFormat = "`over` $mesh $axes attr-dict";
}

#endif // TP_DIALECT_TP_IR_TPOPS_TD
