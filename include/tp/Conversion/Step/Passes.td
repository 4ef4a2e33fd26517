//===- Passes.td - Passes for the step ------------------- -*- tablegen -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of the lower stage: entries as steps that call the runtime.
//
//===----------------------------------------------------------------------===//

#ifndef TP_CONVERSION_STEP_PASSES_TD
#define TP_CONVERSION_STEP_PASSES_TD

include "mlir/Pass/PassBase.td"
include "tp/Target/TargetOption.td"

def LowerStep : Pass<"tp-lower-step", "::mlir::ModuleOp"> {
  let summary = "turn entry functions into steps that call the runtime";
  let description = [{
    An entry function on tensors becomes `tprt_step` (runtime/include/tprt/abi.h):
    addresses are computed from the places that `tp-plan-buffers` chose, GEMMs,
    attention and collectives are calls through the function table, row kernels
    calls of `parallel_for`, `tp.repeat` is a loop over the layer index. Every
    call's status is checked and returned.

    The manifest that belongs to the code is written to `tp.manifest`, the
    bytes of dense constants to `tp.constants`, the entries to `tp.entries`.

    For a device, row kernels are started by `launch` with the addresses in the
    order of their parameters, `tp.await` is a call of `wait`, and the manifest
    says how each kernel is started.

    Precondition: tp-plan-buffers, tp-generate-kernels; for a device
    tp-generate-gpu-kernels and tp-generate-gpu-attention.

    Before:
    ```mlir
    func.func @main(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.arena_bytes = 0 : i64, tp.comm_bytes = 0 : i64} {
      %y = call @rows_0(%x) {tp.buffers = [#tp.buffer<"output", 0>]} : (tensor<8x64xf32>) -> tensor<8x64xf32>
      return %y : tensor<8x64xf32>
    }
    func.func private @rows_0.body(!llvm.ptr, i64, i64, i64) attributes {tp.kernel = "body"}
    func.func private @rows_0(tensor<8x64xf32>) -> tensor<8x64xf32> attributes {tp.body = @rows_0.body, tp.least_rows = 127 : i64, tp.kernel = "rows", tp.row_count = 8 : i64, tp.row_dims = 1 : i64, tp.scratch_bytes = 0 : i64}
    ```
    After:
    ```mlir
    module attributes {tp.constants = "", tp.entries = [@main.step], tp.manifest = "{...}"} {
      func.func private @main.step(%runtime: !llvm.ptr, %rank: !llvm.ptr, %step: !llvm.ptr) -> i32 {
        ...
        %body = constant @rows_0.body : (!llvm.ptr, i64, i64, i64) -> ()
        %b = builtin.unrealized_conversion_cast %body : (!llvm.ptr, i64, i64, i64) -> () to !llvm.ptr
        ...
        %status = llvm.call %parallel_for(%rank, %b, %context, %rows, %least) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64) -> i32
        ...
        %failed = arith.cmpi ne, %status, %ok : i32
        cf.cond_br %failed, ^exit(%status : i32), ^next
        ...
    ```
  }];
  let options = [TP_TargetOption];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::arith::ArithDialect"];
}

def MergeBodies : Pass<"tp-merge-bodies", "::mlir::ModuleOp"> {
  let summary = "let steps share the code of kernels that came out the same";
  let description = [{
    A kernel is given the rows that it computes, so that of steps for other
    numbers of tokens many have the same code. One of these is kept, and the
    steps use it in place of the others.

    Precondition: tp-lower-step. What is to be merged must be written alike:
    the canonicalizer comes first.

    Before:
    ```mlir
    func.func private @four.step() {
      %a = constant @rows_0.body : (i64, i64) -> i64
      return
    }
    func.func private @eight.step() {
      %b = constant @rows_1.body : (i64, i64) -> i64
      return
    }
    func.func private @rows_0.body(%x: i64, %y: i64) -> i64 {
      %z = arith.addi %x, %y : i64
      return %z : i64
    }
    func.func private @rows_1.body(%x: i64, %y: i64) -> i64 {
      %z = arith.addi %x, %y : i64
      return %z : i64
    }
    ```
    After:
    ```mlir
    func.func private @four.step() {
      %a = constant @rows_0.body : (i64, i64) -> i64
      return
    }
    func.func private @eight.step() {
      %b = constant @rows_0.body : (i64, i64) -> i64
      return
    }
    func.func private @rows_0.body(%x: i64, %y: i64) -> i64 {
      %z = arith.addi %x, %y : i64
      return %z : i64
    }
    ```
  }];
  let statistics = [Statistic<"numMerged", "bodies-merged",
    "Number of bodies that another one stands for">];
}

#endif // TP_CONVERSION_STEP_PASSES_TD
