// RUN: not tp-check-kernels %s --break=drop-everything 2>&1 | FileCheck %s --check-prefix=FAULT
// RUN: not tp-check-kernels %s --seeds=0 2>&1 | FileCheck %s --check-prefix=SEEDS
// RUN: not tp-check-kernels %s --no-checks --break=drop-barrier 2>&1 | FileCheck %s --check-prefix=NOCHECKS
// RUN: not tp-check-kernels %s --all 2>&1 | FileCheck %s --check-prefix=ALL
// RUN: not tp-check-kernels %s 2>&1 | FileCheck %s

// FAULT: tp-check-kernels: for the --break option: expected drop-barrier, drop-cp-async-wait, drop-mbarrier-wait, drop-wgmma-wait, drop-proxy-fence, skip-init, wrong-lane, off-by-one-bound, overlap-blocks, wrong-part, got 'drop-everything'
// SEEDS: tp-check-kernels: for the --seeds option: expected at least 1, got 0
// NOCHECKS: tp-check-kernels: --no-checks goes without --break
// ALL: tp-check-kernels: --all goes with --break
// CHECK: error: the program has no kernel
func.func @main(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %y = nn.linear %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}
