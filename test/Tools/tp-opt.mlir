// tp-opt has what mlir-opt has: pass timing, crash reproducers, IR printing,
// bytecode, and a non-zero exit code for invalid input.

// RUN: tp-opt %s --canonicalize --mlir-timing 2>&1 | FileCheck %s --check-prefix=TIMING
// TIMING: Execution time report
// TIMING: Canonicalizer

// RUN: rm -f %t.repro.mlir
// RUN: not tp-opt %s --pass-pipeline='builtin.module(test-tp-fail)' --mlir-pass-pipeline-crash-reproducer=%t.repro.mlir 2>&1 | FileCheck %s --check-prefix=CRASH
// CRASH: failed, because it was told to
// A diagnostic is followed by no module, unless that is asked for.
// RUN: not tp-opt %s --pass-pipeline='builtin.module(test-tp-fail)' 2>&1 | FileCheck %s --check-prefix=BRIEF --implicit-check-not='see current operation'
// RUN: not tp-opt %s --pass-pipeline='builtin.module(test-tp-fail)' --mlir-print-op-on-diagnostic 2>&1 | FileCheck %s --check-prefix=WHOLE
// BRIEF: failed, because it was told to
// WHOLE: see current operation
// RUN: FileCheck %s --check-prefix=REPRO < %t.repro.mlir
// REPRO: pipeline: "builtin.module(test-tp-fail)"
// RUN: not tp-opt %t.repro.mlir --run-reproducer

// RUN: tp-opt %s --emit-bytecode -o %t.mlirbc
// RUN: tp-opt %t.mlirbc | FileCheck %s
// RUN: not tp-opt %s --no-such-pass

// The output may be the input, and stays what it was where a pass fails.
// RUN: cp %s %t.same.mlir
// RUN: not tp-opt %t.same.mlir --pass-pipeline='builtin.module(test-tp-fail)' -o %t.same.mlir
// RUN: diff %s %t.same.mlir
// RUN: tp-opt %t.same.mlir -o %t.same.mlir
// RUN: FileCheck %s < %t.same.mlir

// A pipeline has the options that its stage reads.
// RUN: not tp-opt %s --tp-propagate-pipeline=plan=megatron 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: no such option plan

// CHECK: tp.mesh @mesh <["tp"=4]>
tp.mesh @mesh <["tp"=4]>
