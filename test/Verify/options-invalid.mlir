// RUN: not tp-verify %s --mesh tp=1 --plan replicated --entry other 2>&1 | FileCheck %s --check-prefix=ENTRY
// RUN: not tp-fuzz --programs 0 2>&1 | FileCheck %s --check-prefix=PROGRAMS
// RUN: not tp-fuzz --stages lowr 2>&1 | FileCheck %s --check-prefix=STAGES

// What is asked for and is not there is no success.

// ENTRY: error: expected an entry of the program, got 'other'
// PROGRAMS: for the --programs option: expected at least one, got 0
// STAGES: for the --stages option: expected some of propagate, partition, collectives, lower, rows, peers, got 'lowr'
func.func @main(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = arith.addf %x, %x : tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
