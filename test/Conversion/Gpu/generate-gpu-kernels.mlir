// RUN: tp-opt %s --tp-generate-gpu-kernels --split-input-file | FileCheck %s

// Residual and RMSNorm of 4096 columns: 256 threads of two vectors of 16 bytes
// each. All operands are read once and before the first of them is waited for,
// the weights before the one barrier; what is added stays in registers.
// CHECK-LABEL: llvm.mlir.global internal @norm_shared() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<64 x i8>
// CHECK: gpu.func @norm(
// CHECK-SAME: %[[X:.*]]: !llvm.ptr {llvm.noalias, llvm.readonly}, %[[R:.*]]: !llvm.ptr {llvm.noalias, llvm.readonly}, %[[W:.*]]: !llvm.ptr {llvm.noalias, llvm.readonly}, %[[S:.*]]: !llvm.ptr {llvm.noalias}, %[[Y:.*]]: !llvm.ptr {llvm.noalias}) kernel
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>
// CHECK-SAME: tp.block = array<i64: 256, 1, 1>, tp.grid = array<i64: 8, 1, 1>, tp.shared_bytes = 0 : i64
// CHECK-NOT: scf.for
// CHECK-COUNT-4: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<8xi16>
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xi16>, !llvm.ptr
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<8xi16>
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xi16>, !llvm.ptr
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<8xi16>
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: scf.if
// CHECK: llvm.store {{.*}} : f32, !llvm.ptr<3>
// CHECK: gpu.barrier
// CHECK: llvm.load {{.*}} : !llvm.ptr<3> -> f32
// CHECK-COUNT-3: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle
// CHECK-NOT: gpu.barrier
// CHECK-NOT: llvm.load
// CHECK: math.rsqrt
// CHECK-NOT: llvm.load
// CHECK-COUNT-2: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xi16>, !llvm.ptr
// CHECK-NOT: llvm.load
// CHECK: gpu.return
#id = affine_map<(s, h) -> (s, h)>
#row = affine_map<(s, h) -> (s)>
#column = affine_map<(s, h) -> (h)>
func.func private @norm(%x: tensor<8x4096xbf16>, %r: tensor<8x4096xbf16>, %w: tensor<4096xbf16>) -> (tensor<8x4096xbf16>, tensor<8x4096xbf16>) attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %c = arith.constant 4096.0 : f32
  %e = tensor.empty() : tensor<8x4096xbf16>
  %er = tensor.empty() : tensor<8xf32>
  %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %r : tensor<8x4096xbf16>, tensor<8x4096xbf16>) outs(%e : tensor<8x4096xbf16>) {
  ^bb0(%a: bf16, %b: bf16, %out: bf16):
    %v = arith.addf %a, %b : bf16
    linalg.yield %v : bf16
  } -> tensor<8x4096xbf16>
  %ss = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%s : tensor<8x4096xbf16>) outs(%zero : tensor<8xf32>) {
  ^bb0(%in: bf16, %acc: f32):
    %f = arith.extf %in : bf16 to f32
    %sq = arith.mulf %f, %f : f32
    %sum = arith.addf %acc, %sq : f32
    linalg.yield %sum : f32
  } -> tensor<8xf32>
  %q = linalg.generic {indexing_maps = [affine_map<(s) -> (s)>, affine_map<(s) -> (s)>], iterator_types = ["parallel"]} ins(%ss : tensor<8xf32>) outs(%er : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %m = arith.divf %in, %c : f32
    %v = math.rsqrt %m : f32
    linalg.yield %v : f32
  } -> tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #column, #id], iterator_types = ["parallel", "parallel"]} ins(%s, %q, %w : tensor<8x4096xbf16>, tensor<8xf32>, tensor<4096xbf16>) outs(%e : tensor<8x4096xbf16>) {
  ^bb0(%in: bf16, %scale: f32, %weight: bf16, %out: bf16):
    %f = arith.extf %in : bf16 to f32
    %v = arith.mulf %f, %scale : f32
    %n = arith.truncf %v : f32 to bf16
    %o = arith.mulf %n, %weight : bf16
    linalg.yield %o : bf16
  } -> tensor<8x4096xbf16>
  return %s, %y : tensor<8x4096xbf16>, tensor<8x4096xbf16>
}

// -----

// Rows of 1037 that every access walks through as one are one line of 8296
// elements; so few that each multiprocessor takes a warp.
// CHECK-LABEL: gpu.func @add(
// CHECK-SAME: tp.block = array<i64: 32, 1, 1>, tp.grid = array<i64: 33, 1, 1>
// CHECK-DAG: arith.constant 1037 : i32
// CHECK-COUNT-2: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<8xf16>
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xf16>, !llvm.ptr
// CHECK-NOT: llvm.load
// CHECK: gpu.return
#id = affine_map<(s, h) -> (s, h)>
func.func private @add(%x: tensor<8x1037xf16>, %y: tensor<8x1037xf16>) -> tensor<8x1037xf16> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %e = tensor.empty() : tensor<8x1037xf16>
  %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<8x1037xf16>, tensor<8x1037xf16>) outs(%e : tensor<8x1037xf16>) {
  ^bb0(%a: f16, %b: f16, %out: f16):
    %v = arith.addf %a, %b : f16
    linalg.yield %v : f16
  } -> tensor<8x1037xf16>
  return %s : tensor<8x1037xf16>
}

// -----

// What vectors leave at the end of a line is done in smaller ones: 7 = 4 + 2 + 1
// elements, or of f32 2 + 1.
// CHECK-LABEL: gpu.func @line(
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK: arith.cmpi eq
// CHECK: llvm.load {{.*}} {alignment = 8 : i64} : !llvm.ptr -> vector<2xf32>
// CHECK: llvm.load {{.*}} : !llvm.ptr -> f32
#id = affine_map<(h) -> (h)>
func.func private @line(%x: tensor<103xf32>) -> tensor<103xf32> attributes {tp.kernel = "rows", tp.row_dims = 0 : i64} {
  %e = tensor.empty() : tensor<103xf32>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<103xf32>) outs(%e : tensor<103xf32>) {
  ^bb0(%a: f32, %out: f32):
    %v = arith.negf %a : f32
    linalg.yield %v : f32
  } -> tensor<103xf32>
  return %s : tensor<103xf32>
}

// -----

// A weight per column keeps rows of odd length apart. A thread has a line of 16
// bytes, of which a row touches 20 at most; the weights lie otherwise, and what
// is beside whole lines is done element by element.
// CHECK-LABEL: gpu.func @weighted(
// CHECK-SAME: tp.grid = array<i64: 5, 1, 1>
// CHECK: arith.remui {{.*}} : i32
// CHECK: scf.if
// CHECK-NEXT: arith.index_cast
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK: llvm.load {{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr
// CHECK: } else {
// CHECK: scf.for
// CHECK-COUNT-2: llvm.load {{.*}} : !llvm.ptr -> f32
// CHECK: llvm.store {{.*}} : f32, !llvm.ptr
// CHECK: gpu.return
#id = affine_map<(s, h) -> (s, h)>
#column = affine_map<(s, h) -> (h)>
func.func private @weighted(%x: tensor<8x77xf32>, %w: tensor<77xf32>) -> tensor<8x77xf32> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %e = tensor.empty() : tensor<8x77xf32>
  %s = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %w : tensor<8x77xf32>, tensor<77xf32>) outs(%e : tensor<8x77xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %v = arith.mulf %a, %b : f32
    linalg.yield %v : f32
  } -> tensor<8x77xf32>
  return %s : tensor<8x77xf32>
}

// -----

// Short rows share a warp, eight threads each, without a barrier; the last
// block has threads without a row.
// CHECK-LABEL: gpu.func @short(
// CHECK-SAME: tp.block = array<i64: 32, 1, 1>, tp.grid = array<i64: 3, 1, 1>
// CHECK: arith.minui
// CHECK: scf.if
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK-COUNT-3: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle
// CHECK-NOT: gpu.barrier
// CHECK: scf.if
// CHECK: llvm.store {{.*}} : f32, !llvm.ptr
#id = affine_map<(s, h) -> (s, h)>
#row = affine_map<(s, h) -> (s)>
func.func private @short(%x: tensor<10x32xf32>) -> tensor<10xf32> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %low = arith.constant dense<0xFF800000> : tensor<10xf32>
  %m = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<10x32xf32>) outs(%low : tensor<10xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %v = arith.maximumf %acc, %in : f32
    linalg.yield %v : f32
  } -> tensor<10xf32>
  return %m : tensor<10xf32>
}

// -----

// Exponentials of a row that is too long for registers and shared memory wait
// in scratch, each read by the thread that wrote it: no barrier but that of the
// sum. Four vectors of a thread are under way together.
// CHECK-LABEL: func.func private @long(
// CHECK-SAME: tp.scratch_bytes = 1026048 : i64
// CHECK: gpu.func @long({{.*}}, %[[SCRATCH:.*]]: !llvm.ptr {llvm.noalias}) kernel
// CHECK: scf.for {{.*}} -> (f32)
// CHECK-COUNT-4: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK-COUNT-4: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr
// CHECK: gpu.barrier
// CHECK-NOT: gpu.barrier
// CHECK: scf.for
// CHECK: gpu.return
#id = affine_map<(s, h) -> (s, h)>
#row = affine_map<(s, h) -> (s)>
func.func private @long(%x: tensor<2x128256xf32>) -> tensor<2x128256xf32> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %zero = arith.constant dense<0.0> : tensor<2xf32>
  %e = tensor.empty() : tensor<2x128256xf32>
  %exp = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x128256xf32>) outs(%e : tensor<2x128256xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = math.exp %in : f32
    linalg.yield %v : f32
  } -> tensor<2x128256xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%exp : tensor<2x128256xf32>) outs(%zero : tensor<2xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %v = arith.addf %acc, %in : f32
    linalg.yield %v : f32
  } -> tensor<2xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%exp, %sum : tensor<2x128256xf32>, tensor<2xf32>) outs(%e : tensor<2x128256xf32>) {
  ^bb0(%in: f32, %s: f32, %out: f32):
    %v = arith.divf %in, %s : f32
    linalg.yield %v : f32
  } -> tensor<2x128256xf32>
  return %y : tensor<2x128256xf32>
}

// -----

// A selection: each lane keeps its best element, and where it stood, then
// threads compare theirs. Of rows of 100 a warp takes one, four lanes to a thread.
// CHECK-LABEL: gpu.func @argmax(
// CHECK-NOT: scf.for
// CHECK: scf.if {{.*}} -> (vector<4xf32>, f32, vector<4xi64>, i64, vector<4xi32>, i32)
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK: arith.cmpf ogt, {{.*}} : vector<4xf32>
// CHECK-COUNT-20: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle
// CHECK: llvm.store {{.*}} : i64, !llvm.ptr
// CHECK: gpu.return
#id = affine_map<(s, h) -> (s, h)>
#row = affine_map<(s, h) -> (s)>
func.func private @argmax(%x: tensor<8x100xf32>) -> tensor<8xi64> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %low = arith.constant dense<0xFF800000> : tensor<8xf32>
  %zero = arith.constant dense<0> : tensor<8xi64>
  %m:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x100xf32>) outs(%low, %zero : tensor<8xf32>, tensor<8xi64>) {
  ^bb0(%in: f32, %best: f32, %at: i64):
    %i = linalg.index 1 : index
    %here = arith.index_cast %i : index to i64
    %greater = arith.cmpf ogt, %in, %best : f32
    %b = arith.select %greater, %in, %best : f32
    %p = arith.select %greater, %here, %at : i64
    linalg.yield %b, %p : f32, i64
  } -> (tensor<8xf32>, tensor<8xi64>)
  return %m#1 : tensor<8xi64>
}

// -----

// Rows of 50257 elements of 2 bytes: vectors follow the lines of 16 bytes, four of
// a thread under way, and one element beside them. Few long rows have a block of
// 640 threads each.
// CHECK-LABEL: gpu.func @logits(
// CHECK-SAME: nvvm.minctasm = 1 : i32, tp.block = array<i64: 640, 1, 1>, tp.grid = array<i64: 2, 1, 1>
// CHECK: arith.andi
// CHECK: llvm.load {{.*}} : !llvm.ptr -> i16
// CHECK: scf.for {{.*}} -> (f32)
// CHECK-COUNT-4: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<8xi16>
// CHECK-NOT: llvm.load
// CHECK: scf.for {{.*}} -> (f32)
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<8xi16>
// CHECK-NOT: llvm.load {{.*}}!llvm.ptr ->
// CHECK: gpu.barrier
// CHECK: gpu.return
#id = affine_map<(s, h) -> (s, h)>
#row = affine_map<(s, h) -> (s)>
func.func private @logits(%x: tensor<2x50257xbf16>) -> tensor<2xbf16> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %low = arith.constant dense<0xFF80> : tensor<2xbf16>
  %m = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<2x50257xbf16>) outs(%low : tensor<2xbf16>) {
  ^bb0(%in: bf16, %best: bf16):
    %b = arith.maximumf %in, %best : bf16
    linalg.yield %b : bf16
  } -> tensor<2xbf16>
  return %m : tensor<2xbf16>
}

// -----

// What keeps the greatest in another way than by its condition has neither
// combiner nor selection: a thread goes through its row in order.
// CHECK-LABEL: gpu.func @ordered(
// CHECK: scf.for {{.*}} -> (f32, i64)
// CHECK-NOT: gpu.shuffle
// CHECK: gpu.return
#id = affine_map<(s, h) -> (s, h)>
#row = affine_map<(s, h) -> (s)>
func.func private @ordered(%x: tensor<8x100xf32>) -> tensor<8xi64> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %low = arith.constant dense<0xFF800000> : tensor<8xf32>
  %zero = arith.constant dense<0> : tensor<8xi64>
  %m:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x100xf32>) outs(%low, %zero : tensor<8xf32>, tensor<8xi64>) {
  ^bb0(%in: f32, %best: f32, %at: i64):
    %i = linalg.index 1 : index
    %here = arith.index_cast %i : index to i64
    %greater = arith.cmpf ogt, %in, %best : f32
    %b = arith.maximumf %in, %best : f32
    %p = arith.select %greater, %here, %at : i64
    linalg.yield %b, %p : f32, i64
  } -> (tensor<8xf32>, tensor<8xi64>)
  return %m#1 : tensor<8xi64>
}

// -----

// A sum over the rows of each column: a thread per vector of outputs.
// CHECK-LABEL: gpu.func @columns(
// CHECK: scf.for {{.*}} -> (f32)
// CHECK: llvm.load {{.*}} : !llvm.ptr -> f32
// CHECK: gpu.return
func.func private @columns(%x: tensor<2x8x64xf32>) -> tensor<2x64xf32> attributes {tp.kernel = "rows", tp.row_dims = 1 : i64} {
  %zero = arith.constant dense<0.0> : tensor<2x64xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(b, s, h) -> (b, s, h)>, affine_map<(b, s, h) -> (b, h)>], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%x : tensor<2x8x64xf32>) outs(%zero : tensor<2x64xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %v = arith.addf %acc, %in : f32
    linalg.yield %v : f32
  } -> tensor<2x64xf32>
  return %y : tensor<2x64xf32>
}

// -----

// An operand that is a view at an odd offset is not aligned: its vectors say so.
// CHECK-LABEL: gpu.func @copy(
// CHECK: llvm.load {{.*}} {alignment = 2 : i64} : !llvm.ptr -> vector<8xi16>
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xi16>, !llvm.ptr
#id = affine_map<(h) -> (h)>
func.func @main(%x: tensor<65xbf16>) -> tensor<64xbf16> {
  %v = tensor.extract_slice %x[1] [64] [1] : tensor<65xbf16> to tensor<64xbf16>
  %0 = call @copy(%v) : (tensor<64xbf16>) -> tensor<64xbf16>
  return %0 : tensor<64xbf16>
}
func.func private @copy(%x: tensor<64xbf16>) -> tensor<64xbf16> attributes {tp.kernel = "rows", tp.row_dims = 0 : i64} {
  %e = tensor.empty() : tensor<64xbf16>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<64xbf16>) outs(%e : tensor<64xbf16>) {
  ^bb0(%a: bf16, %out: bf16):
    linalg.yield %a : bf16
  } -> tensor<64xbf16>
  return %s : tensor<64xbf16>
}

// -----

// Output 1 begins where a buffer does; in an arena, byte 34 is one of any number.
// CHECK-LABEL: gpu.func @outputs(
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xi16>, !llvm.ptr
// CHECK: llvm.store {{.*}} {alignment = 2 : i64} : vector<8xi16>, !llvm.ptr
#id = affine_map<(h) -> (h)>
func.func @main(%x: tensor<64xbf16>) -> (tensor<64xbf16>, tensor<64xbf16>) {
  %0:2 = call @outputs(%x) {tp.buffers = [#tp.buffer<"output", 1>, #tp.buffer<"arena", 34>]} : (tensor<64xbf16>) -> (tensor<64xbf16>, tensor<64xbf16>)
  return %0#1, %0#0 : tensor<64xbf16>, tensor<64xbf16>
}
func.func private @outputs(%x: tensor<64xbf16>) -> (tensor<64xbf16>, tensor<64xbf16>) attributes {tp.kernel = "rows", tp.row_dims = 0 : i64} {
  %e = tensor.empty() : tensor<64xbf16>
  %s:2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%x : tensor<64xbf16>) outs(%e, %e : tensor<64xbf16>, tensor<64xbf16>) {
  ^bb0(%a: bf16, %o0: bf16, %o1: bf16):
    %n = arith.negf %a : bf16
    linalg.yield %a, %n : bf16, bf16
  } -> (tensor<64xbf16>, tensor<64xbf16>)
  return %s#0, %s#1 : tensor<64xbf16>, tensor<64xbf16>
}
