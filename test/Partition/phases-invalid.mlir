// A program before partition is none for each rank, and the other way round: what takes
// the one refuses the other.

// RUN: not tp-opt %s --tp-propagate-pipeline --tp-schedule-pipeline 2>&1 | FileCheck %s --check-prefix=GLOBAL
// RUN: not tp-opt %s --tp-schedule-pipeline 2>&1 | FileCheck %s --check-prefix=GLOBAL
// RUN: not tp-opt %s --tp-propagate-pipeline --tp-plan-buffers 2>&1 | FileCheck %s --check-prefix=GLOBAL
// RUN: not tp-opt %s --tp-propagate-pipeline --tp-lower-step 2>&1 | FileCheck %s --check-prefix=GLOBAL
// RUN: not tp-opt %s --tp-propagate-pipeline --tp-number-collectives 2>&1 | FileCheck %s --check-prefix=GLOBAL
// RUN: not tp-opt %s --tp-propagate-pipeline --tp-form-gemms 2>&1 | FileCheck %s --check-prefix=GLOBAL
// RUN: not tp-opt %s --tp-propagate-pipeline --tp-form-kernels 2>&1 | FileCheck %s --check-prefix=GLOBAL
// GLOBAL: error: expected a program for each rank, got one before partition: run tp-partition-pipeline first
// GLOBAL: note: the mesh is declared here

// RUN: not tp-opt %s --tp-propagate-pipeline --tp-partition-pipeline --tp-annotate 2>&1 | FileCheck %s --check-prefix=LOCAL
// RUN: not tp-opt %s --tp-propagate-pipeline --tp-partition-pipeline --tp-differentiate 2>&1 | FileCheck %s --check-prefix=LOCAL
// RUN: not tp-opt %s --tp-propagate-pipeline --tp-partition-pipeline --tp-make-training-step 2>&1 | FileCheck %s --check-prefix=LOCAL
// RUN: not tp-opt %s --tp-propagate-pipeline --tp-partition-pipeline --tp-mark-experts 2>&1 | FileCheck %s --check-prefix=LOCAL
// RUN: not tp-opt %s --tp-propagate-pipeline --tp-partition-pipeline --tp-roll-layers 2>&1 | FileCheck %s --check-prefix=LOCAL
// RUN: not tp-opt %s --tp-propagate-pipeline --tp-partition-pipeline --tp-split-norms 2>&1 | FileCheck %s --check-prefix=LOCAL
// RUN: not tp-opt %s --tp-propagate-pipeline --tp-partition-pipeline --tp-split-sampling 2>&1 | FileCheck %s --check-prefix=LOCAL
// RUN: not tp-opt %s --tp-propagate-pipeline --tp-partition-pipeline --tp-explain-shardings 2>&1 | FileCheck %s --check-prefix=LOCAL
// LOCAL: error: 'func.func' op expected a program before partition, got one for each rank

// One rank has all of it in either.
// RUN: sed 's/"tp"=4/"tp"=1/' %s | tp-opt --tp-schedule-pipeline | FileCheck %s
// CHECK: tp.arena_bytes

tp.mesh @mesh <["tp"=4]>
func.func @main(%x: tensor<8x64xf32> {tp.sharding = #tp.sharding<@mesh, [{"tp"}, {}]>}) -> tensor<8x64xf32> {
  %0 = math.tanh %x : tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}
