//===- Passes.td - The annotate stage ---------------------*- tablegen -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a one-device program to one with a mesh and a few annotated values.
//
//===----------------------------------------------------------------------===//

#ifndef TP_ANNOTATE_PASSES_TD
#define TP_ANNOTATE_PASSES_TD

include "mlir/Pass/PassBase.td"

def Annotate : Pass<"tp-annotate", "::mlir::ModuleOp"> {
  let summary = "declare the mesh and write a plan's shardings";
  let description = [{
    Declares `tp.mesh @mesh` and writes closed shardings on the parameters and
    values that a plan names; nothing is inferred but the cut of the projections
    of attention, which falls between heads: KV heads are cut `a` ways and the
    query heads of each `b` ways, a b ranks, the cheapest of all such pairs.
    Where they do not divide, some ranks have padding, which a remark states.
    What the plan does not name is left to tp-propagate, and
    what is annotated already stays as it is. A gradient (`tp.gradient`) is cut as
    its parameter is.

    Plans: `megatron` (column- and row-parallel layers, vocabulary split),
    `megatron-sp` (the same with the residual stream split along the sequence),
    `expert` and `expert-sp` (the same but for a mixture of experts, of which
    each rank has some whole, not a part of each), `replicated`, or a JSON file (docs/Annotate.md has the schema). A rule of a
    JSON plan that matches nothing is an error.

    Refused, with the degrees that fit: more ranks than query heads, and degrees
    that would make more than half of the query heads padding (unless
    `allow-padding`); fewer positions than ranks under sequence parallelism. In a
    program that generates, all cuts of batches and sequences. An axis of the mesh
    that no sharding names is refused too. Parameters that no rule names are
    listed in a warning.

    Precondition: no tp.mesh, or one of the same shape.

    Before:
    ```mlir
    func.func @main(%x: tensor<8x256xf32>) -> tensor<8x64xf32> {
      %w = tp.parameter "layers.0.mlp.down_proj.weight" : tensor<64x256xf32>
      %y = nn.linear %x, %w : (tensor<8x256xf32>, tensor<64x256xf32>) -> tensor<8x64xf32>
      return %y : tensor<8x64xf32>
    }
    ```
    After, with `plan=megatron mesh=tp=4`:
    ```mlir
    tp.mesh @mesh <["tp"=4]>
    func.func @main(%x: tensor<8x256xf32>) -> tensor<8x64xf32> {
      %w = tp.parameter "layers.0.mlp.down_proj.weight" {tp.shardings = [#tp.sharding<@mesh, [{}, {"tp"} ]>]} : tensor<64x256xf32>
      %y = nn.linear %x, %w : (tensor<8x256xf32>, tensor<64x256xf32>) -> tensor<8x64xf32>
      return %y : tensor<8x64xf32>
    }
    ```
  }];
  let options = [
    Option<"plan", "plan", "std::string", "\"megatron\"",
           "megatron, megatron-sp, expert, expert-sp, replicated, none (as the module is annotated), or the path of a JSON plan">,
    Option<"mesh", "mesh", "std::string", "\"\"",
           "axes and sizes, outermost first: dp=2,tp=4 (the module's mesh if "
           "empty)">,
    Option<"allowPadding", "allow-padding", "bool", "false",
           "cut heads even where more than half of them would be padding">
  ];
  let statistics = [
    Statistic<"numAnnotated", "annotated", "values that the plan annotated">
  ];
  let dependentDialects = ["::tp::TPDialect"];
}

#endif // TP_ANNOTATE_PASSES_TD
