// A step that shows each mistake in finding tokens and keys: three tokens of one row
// behind each other, two of another that are not, one of none that has a position; a
// window, values wider than keys, pages in no order, a cell past the end, and cells that are not seen and no
// numbers. Blocks that do the same part are noticed.
// RUN: tp-check-kernels %s --seeds=1 | FileCheck %s
// RUN: tp-check-kernels %s --seeds=1 --break=overlap-blocks | FileCheck %s --check-prefix=BROKEN

// CHECK: paged_attention_0: right in 1 runs
// CHECK: cache_write_0: right in 2 runs

// BROKEN: paged_attention_0: overlap-blocks: noticed {{.*}} data race between blocks
// BROKEN: cache_write_0: overlap-blocks: noticed

#cell = affine_map<(c, g, d) -> (c)>
#all = affine_map<(c, g, d) -> (c, g, d)>

func.func @main(%q: tensor<1x6x4x16xbf16>, %new: tensor<6x2x16xbf16>, %v: tensor<96x2x24xbf16>, %k: tensor<96x2x16xbf16>) -> (tensor<1x6x4x24xbf16>, tensor<96x2x16xbf16>) {
  %rows = arith.constant dense<[0, 0, 0, 1, 1, -1]> : tensor<6xi32>
  %positions = arith.constant dense<[15, 16, 17, 34, 33, 3]> : tensor<6xi32>
  %cells = arith.constant dense<[79, 16, 17, 34, 96, -1]> : tensor<6xi32>
  %table = arith.constant dense<[[4, 1, -1], [0, 5, 2]]> : tensor<2x3xi32>
  %alive = arith.constant dense<[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]> : tensor<96xi1>
  %nan = arith.constant 0x7FC0 : bf16
  %empty = tensor.empty() : tensor<96x2x24xbf16>
  %pool = linalg.generic {indexing_maps = [#all, #cell, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v, %alive : tensor<96x2x24xbf16>, tensor<96xi1>) outs(%empty : tensor<96x2x24xbf16>) {
  ^bb0(%in: bf16, %is: i1, %out: bf16):
    %s = arith.select %is, %in, %nan : bf16
    linalg.yield %s : bf16
  } -> tensor<96x2x24xbf16>
  %keyEmpty = tensor.empty() : tensor<96x2x16xbf16>
  %keyPool = linalg.generic {indexing_maps = [#all, #cell, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%k, %alive : tensor<96x2x16xbf16>, tensor<96xi1>) outs(%keyEmpty : tensor<96x2x16xbf16>) {
  ^bb0(%in: bf16, %is: i1, %out: bf16):
    %s = arith.select %is, %in, %nan : bf16
    linalg.yield %s : bf16
  } -> tensor<96x2x16xbf16>
  %keys = nn.cache_write %new, %cells, %keyPool : (tensor<6x2x16xbf16>, tensor<6xi32>, tensor<96x2x16xbf16>) -> tensor<96x2x16xbf16>
  %y = nn.paged_attention %q, %keys, %pool, %rows, %positions, %table {page = 16 : i64, scale = 0.25 : f64, window = 20 : i64} : (tensor<1x6x4x16xbf16>, tensor<96x2x16xbf16>, tensor<96x2x24xbf16>, tensor<6xi32>, tensor<6xi32>, tensor<2x3xi32>) -> tensor<1x6x4x24xbf16>
  return %y, %keys : tensor<1x6x4x24xbf16>, tensor<96x2x16xbf16>
}
