// RUN: tp-opt %s --tp-generate-gpu-attention --split-input-file | FileCheck %s

// bf16 on tensor cores: grouped queries share a kernel's rows (37 queries of two
// heads are 74 rows, in blocks of 64), a causal kernel starts with the last.

// CHECK-LABEL: func.func @bf16
// Hopper's kernel in its place needs scratch, for tensor maps.
// CHECK: nn.attention {{.*}} {causal, scale = 1.250000e-01 : f64, tp.kernel = @attention_0, tp.scratch_bytes = 50688 : i64}
// CHECK: gpu.module @kernels
// CHECK: llvm.mlir.global external @dynamic_shared_memory() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
// CHECK: gpu.func @attention_0(%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %[[LENGTH:.*]]: i64, %{{.*}}: i64, %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr) kernel
// CHECK-SAME: known_block_size = array<i32: 128, 1, 1>
// CHECK-SAME: tp.block = array<i64: 128, 1, 1>
// CHECK-SAME: tp.grid = array<i64: 128, 1, 1>
// CHECK-SAME: tp.images = {sm_90a = {block = array<i64: 512, 1, 1>, entry = "attention_sm90_bf16_64", grid = array<i64: 64, 1, 1>, shape = {batch = 32 : i64, {{.*}}sharing = 2 : i64{{.*}}}, shared_bytes = 116223 : i64, source = "attention_sm90"}}
// CHECK-SAME: tp.shared_bytes = 46080
// Queries, then the first tile, then the rest of them in the loop.
// CHECK: nvvm.cp.async.shared.global {{.*}}, 16, cache = cg
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.cp.async.wait.group 0
// CHECK: gpu.barrier
// CHECK: nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<row>, num = 4
// CHECK: scf.for
// CHECK: nvvm.cp.async.wait.group 0
// CHECK: gpu.barrier
// CHECK: nvvm.cp.async.shared.global {{.*}}, 16, cache = cg
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<row>, num = 4
// CHECK: nvvm.mma.sync {{.*}} multiplicandAPtxType = #nvvm.mma_type<bf16>{{.*}} shape = #nvvm.shape<m = 16, n = 8, k = 16>
// What was summed is scaled anew if a lane's row needs it.
// CHECK: arith.cmpf ogt
// CHECK: %[[ANY:.*]] = nvvm.vote.sync ballot
// CHECK: %[[IS_ANY:.*]] = arith.cmpi ne, %[[ANY]]
// CHECK: scf.if %[[IS_ANY]]
// CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"
// CHECK: } else {
// CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"
// CHECK: nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<col>, num = 4
// CHECK: nvvm.mma.sync
// CHECK: scf.yield
// CHECK: gpu.return
func.func @bf16(%q: tensor<32x37x4x64xbf16>, %k: tensor<32x37x2x64xbf16>, %v: tensor<32x37x2x64xbf16>) -> tensor<32x37x4x64xbf16> {
  %o = nn.attention %q, %k, %v {causal, scale = 0.125 : f64} : (tensor<32x37x4x64xbf16>, tensor<32x37x2x64xbf16>, tensor<32x37x2x64xbf16>) -> tensor<32x37x4x64xbf16>
  return %o : tensor<32x37x4x64xbf16>
}

// -----

// f32 by fused multiply-adds, in no tensor core. Heads of 5 elements are copied
// four bytes at a time; their padding is cleared.

// CHECK-LABEL: func.func @f32
// CHECK: gpu.func @attention_0
// CHECK-NOT: nvvm.mma.sync
// CHECK-NOT: nvvm.ldmatrix
// CHECK: nvvm.cp.async.shared.global {{.*}}, 4, cache = ca
// CHECK: scf.for
// CHECK: llvm.intr.fma
// CHECK: nvvm.shfl.sync idx
// CHECK: llvm.intr.fma
// CHECK-NOT: nvvm.mma.sync
// CHECK: gpu.return
func.func @f32(%q: tensor<1x65x1x5xf32>, %k: tensor<1x65x1x5xf32>, %v: tensor<1x65x1x5xf32>) -> tensor<1x65x1x5xf32> {
  %o = nn.attention %q, %k, %v {scale = 1.0 : f64} : (tensor<1x65x1x5xf32>, tensor<1x65x1x5xf32>, tensor<1x65x1x5xf32>) -> tensor<1x65x1x5xf32>
  return %o : tensor<1x65x1x5xf32>
}

// -----

// Equal attentions share a kernel. One query of seven heads is seven rows: four
// warps share them and split the keys, so they exchange sums after the loop.
// The mask is a vote of the warp.

// CHECK-LABEL: func.func @decode
// CHECK: nn.attention {{.*}} tp.kernel = @attention_0
// CHECK: nn.attention {{.*}} tp.kernel = @attention_0
// CHECK: nn.attention {{.*}} tp.kernel = @attention_1
// CHECK: gpu.func @attention_0
// CHECK-SAME: tp.grid = array<i64: 2, 1, 1>
// CHECK: scf.for
// CHECK: nvvm.mma.sync {{.*}} : (vector<2xf16>, vector<2xf16>, f32)
// CHECK: gpu.barrier
// CHECK: gpu.barrier
// CHECK: gpu.return
// CHECK: gpu.func @attention_1
// CHECK: nvvm.vote.sync ballot
// CHECK: gpu.return
func.func @decode(%q: tensor<1x1x14x128xf16>, %k: tensor<1x99x2x128xf16>, %v: tensor<1x99x2x128xf16>, %m: tensor<1x99xi64>) -> tensor<1x1x14x128xf16> {
  %0 = nn.attention %q, %k, %v {causal, scale = 0.1 : f64} : (tensor<1x1x14x128xf16>, tensor<1x99x2x128xf16>, tensor<1x99x2x128xf16>) -> tensor<1x1x14x128xf16>
  %1 = nn.attention %0, %k, %v {causal, scale = 0.1 : f64} : (tensor<1x1x14x128xf16>, tensor<1x99x2x128xf16>, tensor<1x99x2x128xf16>) -> tensor<1x1x14x128xf16>
  %2 = nn.attention %1, %k, %v mask %m {causal, scale = 0.1 : f64} : (tensor<1x1x14x128xf16>, tensor<1x99x2x128xf16>, tensor<1x99x2x128xf16>, tensor<1x99xi64>) -> tensor<1x1x14x128xf16>
  return %2 : tensor<1x1x14x128xf16>
}

// -----

// One query over 8192 keys: with 8 KV heads 33 blocks share the 128 tiles of one
// head, two for each multiprocessor of a card. Each writes its sums in f32 to
// scratch and no result; the second kernel reads a column and a pair of each
// split with a thread, all before the first is needed.

// CHECK-LABEL: func.func @split
// CHECK: nn.attention {{.*}} {causal, scale = {{.*}} : f64, tp.kernel = @attention_0, tp.scratch_bytes = 549120 : i64, tp.then = [@attention_0_combine]}
// CHECK: gpu.func @attention_0(
// CHECK-SAME: %[[OUT:[a-z0-9]*]]: !llvm.ptr, %{{[a-z0-9]*}}: i64, %{{[a-z0-9]*}}: !llvm.ptr, %[[SCRATCH:[a-z0-9]*]]: !llvm.ptr) kernel
// CHECK-SAME: tp.grid = array<i64: 264, 1, 1>
// CHECK: %[[PARTS:.*]] = llvm.addrspacecast %[[SCRATCH]]
// CHECK: nvvm.read.ptx.sreg.ctaid.x
// CHECK: arith.remui
// CHECK: arith.divui
// CHECK: scf.for
// CHECK: llvm.getelementptr %[[PARTS]]
// CHECK: llvm.store {{.*}} {alignment = 8 : i64} : vector<2xf32>, !llvm.ptr<1>
// CHECK-NOT: llvm.store {{.*}}i16, !llvm.ptr<1>
// CHECK: gpu.return
// CHECK: gpu.func @attention_0_combine(%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr) kernel
// CHECK-SAME: tp.block = array<i64: 512, 1, 1>, tp.grid = array<i64: 4, 8, 1>, tp.shared_bytes = 2048
// CHECK-COUNT-2: llvm.load {{.*}} {alignment = 8 : i64} : !llvm.ptr<1> -> vector<2xf32>
// CHECK-COUNT-10: nvvm.shfl.sync bfly
// CHECK-COUNT-18: llvm.load {{.*}} : !llvm.ptr<1> -> f32
// CHECK-NOT: llvm.load {{.*}} : !llvm.ptr<1>
// CHECK: gpu.barrier
// CHECK-COUNT-3: llvm.load {{.*}} : !llvm.ptr<3> -> f32
// CHECK: llvm.store {{.*}} {alignment = 2 : i64} : i16, !llvm.ptr<1>
// CHECK: gpu.return
func.func @split(%q: tensor<1x1x32x128xbf16>, %k: tensor<1x8192x8x128xbf16>, %v: tensor<1x8192x8x128xbf16>) -> tensor<1x1x32x128xbf16> {
  %0 = nn.attention %q, %k, %v {causal, scale = 0.1 : f64} : (tensor<1x1x32x128xbf16>, tensor<1x8192x8x128xbf16>, tensor<1x8192x8x128xbf16>) -> tensor<1x1x32x128xbf16>
  return %0 : tensor<1x1x32x128xbf16>
}

// -----

// As many splits as there are pairs of tiles, of what a window lets through: 515
// keys at one query are 9 tiles of 64 at most. Fewer than 8 tiles, or blocks
// enough for a card: no split.

// CHECK-LABEL: func.func @bounds
// CHECK: gpu.func @attention_0(
// CHECK-SAME: tp.grid = array<i64: 4, 1, 1>
// CHECK: gpu.func @attention_0_combine(
// CHECK: gpu.func @attention_1(
// CHECK-SAME: tp.grid = array<i64: 1, 1, 1>
// CHECK: gpu.func @attention_2(
// CHECK-SAME: tp.grid = array<i64: 128, 1, 1>
// CHECK-NOT: gpu.func
func.func @bounds(%q: tensor<1x1x1x64xf16>, %k: tensor<1x9000x1x64xf16>, %s: tensor<1x448x1x64xf16>, %qs: tensor<16x1x32x64xf16>, %ks: tensor<16x9000x8x64xf16>) {
  %0 = nn.attention %q, %k, %k {causal, window = 515 : i64, scale = 0.1 : f64} : (tensor<1x1x1x64xf16>, tensor<1x9000x1x64xf16>, tensor<1x9000x1x64xf16>) -> tensor<1x1x1x64xf16>
  %1 = nn.attention %q, %s, %s {scale = 0.1 : f64} : (tensor<1x1x1x64xf16>, tensor<1x448x1x64xf16>, tensor<1x448x1x64xf16>) -> tensor<1x1x1x64xf16>
  %2 = nn.attention %qs, %ks, %ks {scale = 0.1 : f64} : (tensor<16x1x32x64xf16>, tensor<16x9000x8x64xf16>, tensor<16x9000x8x64xf16>) -> tensor<16x1x32x64xf16>
  return
}

// -----

// Over pages. No more tokens than rows: each is a batch entry, of whose row and
// position the kernel reads its own, and the pages of keys come from the table.

// CHECK-LABEL: func.func @decode
// CHECK: nn.paged_attention {{.*}} {page = 32 : i64, scale = 1.250000e-01 : f64, tp.kernel = @paged_attention_0, tp.scratch_bytes = 270336 : i64, tp.then = [@paged_attention_0_combine]}
// CHECK: gpu.func @paged_attention_0(%{{[^)]*}}: i64, %{{[^)]*}}: !llvm.ptr, %{{[^)]*}}: !llvm.ptr, %{{[^)]*}}: !llvm.ptr, %[[ROWS:[a-z0-9]*]]: !llvm.ptr, %{{[^)]*}}: !llvm.ptr, %{{[^)]*}}: !llvm.ptr, %{{[^)]*}}: !llvm.ptr, %{{[^)]*}}: !llvm.ptr, %{{[^)]*}}: !llvm.ptr) kernel
// CHECK-SAME: tp.grid = array<i64: 256, 1, 1>
// CHECK: %[[OWN:.*]] = llvm.addrspacecast %[[ROWS]]
// CHECK: llvm.getelementptr %[[OWN]]
// CHECK-NOT: nvvm.vote
// CHECK: nvvm.cp.async.shared.global
// CHECK: gpu.func @paged_attention_0_combine(
func.func @decode(%q: tensor<1x4x8x64xbf16>, %k: tensor<16384x2x64xbf16>, %rows: tensor<4xi32>, %positions: tensor<4xi32>, %table: tensor<16x128xi32>) -> tensor<1x4x8x64xbf16> {
  %o = nn.paged_attention %q, %k, %k, %rows, %positions, %table {page = 32 : i64, scale = 0.125 : f64} : (tensor<1x4x8x64xbf16>, tensor<16384x2x64xbf16>, tensor<16384x2x64xbf16>, tensor<4xi32>, tensor<4xi32>, tensor<16x128xi32>) -> tensor<1x4x8x64xbf16>
  return %o : tensor<1x4x8x64xbf16>
}

// -----

// More tokens: every one has a block, which works if it begins a run, and counts
// its tokens by a vote.

// CHECK-LABEL: func.func @prefill
// CHECK: gpu.func @paged_attention_0(
// CHECK-SAME: tp.grid = array<i64: 4096, 1, 1>
// CHECK: scf.if
// CHECK: nvvm.vote.sync ballot
// CHECK: llvm.intr.cttz
// CHECK: nvvm.cp.async.shared.global
func.func @prefill(%q: tensor<1x512x32x64xbf16>, %k: tensor<16384x8x64xbf16>, %rows: tensor<512xi32>, %positions: tensor<512xi32>, %table: tensor<16x128xi32>) -> tensor<1x512x32x64xbf16> {
  %o = nn.paged_attention %q, %k, %k, %rows, %positions, %table {page = 32 : i64, scale = 0.125 : f64} : (tensor<1x512x32x64xbf16>, tensor<16384x8x64xbf16>, tensor<16384x8x64xbf16>, tensor<512xi32>, tensor<512xi32>, tensor<16x128xi32>) -> tensor<1x512x32x64xbf16>
  return %o : tensor<1x512x32x64xbf16>
}

// -----

// A cache of another type than the queries: converted on the way to shared
// memory, products in f32, results in the type of the queries.

// CHECK-LABEL: func.func @mixed
// CHECK: gpu.func @paged_attention_0(
// CHECK-NOT: cp.async.shared.global
// CHECK: arith.extf {{.*}} : vector<4xf16> to vector<4xf32>
// CHECK: arith.truncf {{.*}} : vector<4xf32> to vector<4xbf16>
func.func @mixed(%q: tensor<1x2x4x64xbf16>, %k: tensor<64x2x64xf16>, %rows: tensor<2xi32>, %positions: tensor<2xi32>, %table: tensor<2x2xi32>) -> tensor<1x2x4x64xbf16> {
  %o = nn.paged_attention %q, %k, %k, %rows, %positions, %table {page = 32 : i64, scale = 0.125 : f64} : (tensor<1x2x4x64xbf16>, tensor<64x2x64xf16>, tensor<64x2x64xf16>, tensor<2xi32>, tensor<2xi32>, tensor<2x2xi32>) -> tensor<1x2x4x64xbf16>
  return %o : tensor<1x2x4x64xbf16>
}

// -----

// The derivative: a kernel by queries, and one by keys that runs behind it. Blocks
// of 64 rows of one query head; equal ones share both.

// CHECK-LABEL: func.func @backward
// CHECK: nn.attention_backward {{.*}} {causal, scale = 1.250000e-01 : f64, tp.kernel = @attention_backward_0, tp.then = [@attention_backward_0_keys]}
// CHECK: nn.attention_backward {{.*}} {causal, scale = 1.250000e-01 : f64, tp.kernel = @attention_backward_0, tp.then = [@attention_backward_0_keys]}
// CHECK: gpu.func @attention_backward_0(%{{[^)]*}}: !llvm.ptr, %{{[^)]*}}: !llvm.ptr) kernel
// CHECK-SAME: tp.block = array<i64: 128, 1, 1>
// CHECK-SAME: tp.grid = array<i64: 256, 1, 1>
// CHECK: nvvm.cp.async.shared.global
// CHECK: nvvm.mma.sync
// CHECK-NOT: llvm.atomicrmw
// CHECK: gpu.func @attention_backward_0_keys(
// CHECK-SAME: tp.grid = array<i64: 256, 1, 1>
// CHECK-NOT: llvm.atomicrmw
// CHECK: gpu.return
!q = tensor<1x512x32x64xbf16>
!k = tensor<1x512x8x64xbf16>
!r = tensor<1x512x32xf32>
!e = tensor<1x512x32x64xf32>
func.func @backward(%do: !q, %k: !k, %r: !r) -> (!q, !e, !e, !q) {
  %0:3 = nn.attention_backward %do, %do, %k, %k, %r, %r {causal, scale = 0.125 : f64} : (!q, !q, !k, !k, !r, !r) -> (!q, !e, !e)
  %1:3 = nn.attention_backward %0#0, %do, %k, %k, %r, %r {causal, scale = 0.125 : f64} : (!q, !q, !k, !k, !r, !r) -> (!q, !e, !e)
  return %0#0, %0#1, %0#2, %1#0 : !q, !e, !e, !q
}

// -----

// In f32 dk and dv are made by a block each; few rows have fewer warps.

// CHECK-LABEL: func.func @single
// CHECK: gpu.func @attention_backward_0(
// CHECK-SAME: tp.block = array<i64: 32, 1, 1>
// CHECK-SAME: tp.grid = array<i64: 4, 1, 1>
// CHECK: gpu.func @attention_backward_0_keys(
// CHECK-SAME: tp.grid = array<i64: 8, 1, 1>
func.func @single(%q: tensor<1x32x2x16xf32>, %r: tensor<1x32x2xf32>) -> tensor<1x32x2x16xf32> {
  %0:3 = nn.attention_backward %q, %q, %q, %q, %r, %r {scale = 0.125 : f64} : (tensor<1x32x2x16xf32>, tensor<1x32x2x16xf32>, tensor<1x32x2x16xf32>, tensor<1x32x2x16xf32>, tensor<1x32x2xf32>, tensor<1x32x2xf32>) -> (tensor<1x32x2x16xf32>, tensor<1x32x2x16xf32>, tensor<1x32x2x16xf32>)
  return %0#0 : tensor<1x32x2x16xf32>
}
