//===- TPAttrs.td - Attributes of the tp dialect ----------*- tablegen -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shardings as attributes name axes by string, so that they read without the
// mesh at hand; passes convert them to the algebra's values (tp/Sharding) with
// the helpers of TPOps.h, which resolve the names against a mesh.
//
//===----------------------------------------------------------------------===//

#ifndef TP_DIALECT_TP_IR_TPATTRS_TD
#define TP_DIALECT_TP_IR_TPATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "tp/Dialect/TP/IR/TPDialect.td"

class TP_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<TP_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def TP_MeshAxisAttr : TP_Attr<"MeshAxis", "axis"> {
  let summary = "A named mesh axis and its size";
  let parameters = (ins "::mlir::StringAttr":$name, "int64_t":$size);
  let hasCustomAssemblyFormat = 1;
}

def TP_MeshAttr : TP_Attr<"Mesh", "mesh"> {
  let summary = "A grid of ranks with named axes";
  let description = [{
    Axes are outermost first; the last varies fastest, so its groups are
    contiguous ranks. `device_ids`, if given, places the ranks: entry i is the
    rank at linear position i of the grid.

    ```mlir
    #tp.mesh<["dp"=2, "tp"=4]>
    #tp.mesh<["tp"=4], device_ids=[0, 2, 1, 3]>
    ```
  }];
  let parameters = (ins
    ArrayRefParameter<"::tp::MeshAxisAttr">:$axes,
    ArrayRefParameter<"int64_t">:$deviceIds);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The algebra's form of this mesh.
    ::tp::Mesh toMesh() const;
  }];
}

def TP_AxisRefAttr : TP_Attr<"AxisRef", "axis_ref"> {
  let summary = "A mesh axis or a sub-axis, by name";
  let description = [{
    `"tp"` is the whole axis; `"tp":(1)8` is its major factor 8. A whole axis
    has `pre` = 1 and `size` = 0.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "int64_t":$pre, "int64_t":$size);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def TP_AxisListAttr : TP_Attr<"AxisList", "axes"> {
  let summary = "Axes of a mesh, major first";
  let parameters = (ins ArrayRefParameter<"::tp::AxisRefAttr">:$axes);
  let hasCustomAssemblyFormat = 1;
}

def TP_DimShardingAttr : TP_Attr<"DimSharding", "dim"> {
  let summary = "The axes that cut one dimension";
  let parameters = (ins
    ArrayRefParameter<"::tp::AxisRefAttr">:$axes,
    "int64_t":$grain, "bool":$isOpen, DefaultValuedParameter<"int64_t", "0">:$block,
    DefaultValuedParameter<"int64_t", "1">:$outer);
  let builders = [
    AttrBuilder<(ins "::llvm::ArrayRef<::tp::AxisRefAttr>":$axes,
                     "int64_t":$grain, "bool":$isOpen), [{
      return $_get($_ctxt, axes, grain, isOpen, int64_t(0), int64_t(1));
    }]>];
  let hasCustomAssemblyFormat = 1;
}

def TP_ShardingAttr : TP_Attr<"Sharding", "sharding"> {
  let summary = "How a tensor is spread over a mesh";
  let description = [{
    For each dimension the axes that cut it, major first, and the axes over
    which the value is partial. A dimension with `?` is open: propagation may
    append axes; all others are closed and never overridden. A `grain` says
    that only multiples of so many elements may be cut apart. `block B by A` says
    that blocks of B elements are cut by the first A shards, and each block by
    the rest, both perhaps unevenly: 28 query heads of 4 KV heads on 8 ranks.

    ```mlir
    #tp.sharding<@mesh, [{}, {"tp"} ]>
    #tp.sharding<@mesh, [{?}, {"dp", "tp":(1)2, ?} ]>
    #tp.sharding<@mesh, [{}, {} ], partial sum {"tp"}>
    #tp.sharding<@mesh, [{"tp" grain 64} ]>
    #tp.sharding<@mesh, [{"tp" grain 64 block 448 by 4} ]>
    ```
  }];
  let parameters = (ins
    "::mlir::FlatSymbolRefAttr":$mesh,
    ArrayRefParameter<"::tp::DimShardingAttr">:$dims,
    ArrayRefParameter<"::tp::AxisRefAttr">:$partial,
    "::tp::ReductionKind":$reduction);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The algebra's value; fails (with a diagnostic through `emitError`) on an
    /// axis that `mesh` lacks or a sub-axis that does not fit.
    ::mlir::FailureOr<::tp::TensorSharding>
    toSharding(const ::tp::Mesh &mesh,
               ::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError) const;
    /// The same for an attribute already verified.
    ::tp::TensorSharding toSharding(const ::tp::Mesh &mesh) const;
    static ShardingAttr get(::mlir::MLIRContext *context,
                            ::mlir::FlatSymbolRefAttr symbol,
                            const ::tp::Mesh &mesh,
                            const ::tp::TensorSharding &sharding);
  }];
}

def TP_LedgerAttr : TP_Attr<"Ledger", "ledger"> {
  let summary = "Why a collective exists";
  let description = [{
    `id` is unique in the program; `cause` names what made the collective
    needed (the contraction whose partial sum it finishes, the two shardings in
    conflict, a sequence-parallel boundary); `annotation` the annotation that
    led to it; `pass` the pass that placed or last changed it. The source
    location is the operation's.

    ```mlir
    #tp.ledger<3, cause = "partial sum of nn.linear over k", annotation = "model.layers.{i}.mlp.down_proj.weight dim 1 on \"tp\"", pass = "tp-insert-reshards">
    ```
  }];
  let parameters = (ins "int64_t":$id, "::mlir::StringAttr":$cause,
                        "::mlir::StringAttr":$annotation,
                        "::mlir::StringAttr":$pass);
  let assemblyFormat = "`<` $id `,` `cause` `=` $cause `,` `annotation` `=` $annotation `,` `pass` `=` $pass `>`";
}

def TP_ParameterSourceAttr : TP_Attr<"ParameterSource", "source"> {
  let summary = "Where in a checkpoint tensor a parameter comes from";
  let description = [{
    The parameter is a box of the checkpoint tensor of shape `shape`: the box
    starts at `offsets`, has the parameter's shape before `permutation`, and
    dimension i of the parameter is dimension `permutation[i]` of the box. This
    is how one of the three matrices of a fused, transposed QKV tensor is read:

    ```mlir
    #tp.source<shape = [768, 2304], offsets = [0, 768], permutation = [1, 0]>
    ```

    With `steps` neighbours in dimension d of the box are `steps[d]` apart in the
    tensor. This is how the second of two interleaved matrices is read, every
    other row from row 1 on:

    ```mlir
    #tp.source<shape = [512, 64], offsets = [1, 0], permutation = [0, 1], steps = [2, 1]>
    ```
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t">:$shape,
    ArrayRefParameter<"int64_t">:$offsets,
    ArrayRefParameter<"int64_t">:$permutation,
    OptionalArrayRefParameter<"int64_t">:$steps);
  let builders = [AttrBuilder<(ins "::llvm::ArrayRef<int64_t>":$shape,
      "::llvm::ArrayRef<int64_t>":$offsets,
      "::llvm::ArrayRef<int64_t>":$permutation), [{
    return $_get($_ctxt, shape, offsets, permutation, ::llvm::ArrayRef<int64_t>());
  }]>];
  let assemblyFormat = "`<` `shape` `=` `[` $shape `]` `,` `offsets` `=` `[` $offsets `]` `,` `permutation` `=` `[` $permutation `]` (`,` `steps` `=` `[` $steps^ `]`)? `>`";
  let extraClassDeclaration = [{
    /// How far apart neighbours in dimension `dim` of the box are.
    int64_t getStep(size_t dim) const {
      return getSteps().empty() ? 1 : getSteps()[dim];
    }
  }];
}

def TP_StorageAttr : TP_Attr<"Storage", "storage"> {
  let summary = "How a checkpoint stores the elements of a quantised tensor";
  let description = [{
    The element type of the checkpoint's tensor as safetensors names it, and how
    the elements of the unpacked tensor (the parameter, or the shape of its
    `source`) lie in it:

    - `bits` wide elements are packed into words along dimension `dim`, from the
      low bits up. Element j of a word is the one at position `order[j]` of the
      word's part of the dimension; without an order, at position j.
    - The value of an element is the number in the file minus `offset`.
    - An element of the file stands for `repeat[d]` neighbours in dimension d:
      one scale of a block of 128 rows for 128 rows of scales.

    Dimensions of size one do not count when shapes are compared, and of a packed
    tensor the file may have the last dimension as two: groups, and what is in
    each.

    ```mlir
    #tp.storage<"I32", bits = 4, dim = 1, offset = 8>
    #tp.storage<"I32", bits = 4, dim = 1, order = [0, 2, 4, 6, 1, 3, 5, 7], offset = 8>
    #tp.storage<"F32", repeat = [128, 1]>
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$fileType,
    DefaultValuedParameter<"int64_t", "0">:$bits,
    DefaultValuedParameter<"int64_t", "0">:$dim,
    OptionalArrayRefParameter<"int64_t">:$order,
    DefaultValuedParameter<"int64_t", "0">:$offset,
    OptionalArrayRefParameter<"int64_t">:$repeat);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Elements of a word; 1 if they are not packed.
    int64_t getElementsPerWord() const;
    /// The shape of the checkpoint's tensor, given the unpacked one.
    ::llvm::SmallVector<int64_t>
    getFileShape(::llvm::ArrayRef<int64_t> unpacked) const;
    /// Returns true if a tensor of shape `got` has the elements of one of shape
    /// `expected`, which getFileShape gives, in the same order.
    bool accepts(::llvm::ArrayRef<int64_t> got,
                 ::llvm::ArrayRef<int64_t> expected) const;
    /// Returns where an unpacked element lies: the position in the file's tensor, and
    /// the number of the element in the word.
    std::pair<int64_t, int64_t>
    locate(::llvm::ArrayRef<int64_t> unpacked,
           ::llvm::ArrayRef<int64_t> index) const;
  }];
}

def TP_GradientAttr : TP_Attr<"Gradient", "gradient"> {
  let summary = "The parameter that a function's result is the gradient of";
  let description = [{
    Its name and source, as tp.parameter has them. Of a template the result has
    one slice for each layer, the first of which is layer `from` (zero unless
    given):

    ```mlir
    #tp.gradient<"layers.{i}.mlp.up_proj.weight" from 2>
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$name,
    DefaultValuedParameter<"int64_t", "0">:$first,
    OptionalParameter<"::tp::ParameterSourceAttr">:$source);
  let assemblyFormat = "`<` $name (`from` $first^)? (`source` $source^)? `>`";
}

def TP_RuleFactorAttr : TP_Attr<"RuleFactor", "factor"> {
  let summary = "One factor of a sharding rule";
  let parameters = (ins "::mlir::StringAttr":$name, "int64_t":$size,
                        "::tp::FactorKind":$kind, "int64_t":$grain,
                        "::tp::ReductionKind":$reduction, "bool":$readsIndex,
                        "int64_t":$total);
  let hasCustomAssemblyFormat = 1;
}

def TP_RuleAttr : TP_Attr<"Rule", "rule"> {
  let summary = "The sharding rule of the operation before it became local";
  let description = [{
    Discardable attribute `tp.rule` that partition leaves on operations with
    tensor operands or results: the rule on global types, from which the
    verifiers derive again what every local value is. Factors with their kind,
    then the factors of each dimension of each operand (with what the operation
    does to a partial one), then those of the results.

    ```mlir
    #tp.rule<["s" 128, "k" 64 sum, "n" 256], ([0], [1]) multilinear, ([2], [1]) multilinear -> ([0], [2])>
    ```
  }];
  let parameters = (ins
    ArrayRefParameter<"::tp::RuleFactorAttr">:$factors,
    "::mlir::ArrayAttr":$operands, "::mlir::ArrayAttr":$results,
    ArrayRefParameter<"int64_t">:$linearity);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static RuleAttr get(::mlir::MLIRContext *context,
                        const ::tp::ShardingRule &rule);
    ::tp::ShardingRule toRule() const;
  }];
}

def TP_CommLimitAttr : TP_Attr<"CommLimit", "comm_limit"> {
  let summary = "How much of one kind of collective is allowed";
  let description = [{
    `kind` is a collective's name, or `any` for all kinds that have no limit of
    their own, together; `count` calls and `bytes` in total are allowed, -1 for
    as many as needed.
  }];
  let parameters = (ins "::mlir::StringAttr":$kind, "int64_t":$count,
                        "int64_t":$bytes);
  let hasCustomAssemblyFormat = 1;
}

def TP_CommBudgetAttr : TP_Attr<"CommBudget", "comm_budget"> {
  let summary = "The communication allowed in a function or a repeated layer";
  let description = [{
    Discardable attribute `tp.comm_budget` on a function (one run of it, repeats
    counted) or on tp.repeat (one iteration). Each kind of collective has a
    count of calls, a number of bytes, or both; `none` forbids it and
    `unlimited` leaves it free. `any` limits all kinds that are not listed,
    together; without it they are forbidden, so that `none` alone forbids all.
    Bytes are those of the ledger: the full logical tensor of each call.

    ```mlir
    #tp.comm_budget<none>
    #tp.comm_budget<all_reduce count 2 bytes 2097152>
    #tp.comm_budget<all_gather none, any unlimited>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"::tp::CommLimitAttr">:$limits);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def TP_BufferAttr : TP_Attr<"Buffer", "buffer"> {
  let summary = "Where a scheduled tensor lies";
  let description = [{
    `space` is "arena" or "comm" (an arena, at byte `offset`), "output" (result
    number `offset` of the entry), and inside `tp.repeat` "next" (the place of
    carried value number `offset` for the next iteration) or "stacked" (this
    iteration's slice of stacked result number `offset`). "slot" is a place in the
    communication arena, at byte `offset`, that all functions keep for addends
    which other ranks read, and "peer" the memory of member number `offset` of a
    group (`tp.peers`).

    ```mlir
    #tp.buffer<"arena", 4096>
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$space, "int64_t":$offset);
  let assemblyFormat = "`<` $space `,` $offset `>`";
}

#endif // TP_DIALECT_TP_IR_TPATTRS_TD
