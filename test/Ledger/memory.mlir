// The memory of a rank and the work of its kernels, by hand: x and the result have 16384 bytes, w,
// of which a rank has a half, 8192, as has the half of x that is multiplied with it; the sum of
// 16384 bytes is reduced in its place. An exponential counts as 16.
// RUN: tp-compile %s --mesh tp=2 --plan %S/Inputs/memory.json --explain | FileCheck %s
// RUN: tp-compile %s --mesh tp=2 --plan %S/Inputs/memory.json --explain=json | FileCheck %s --check-prefix=JSON
// What was asked to stop before schedule knows of no memory.
// RUN: tp-compile %s --mesh tp=2 --plan %S/Inputs/memory.json --compile-to=collectives -o /dev/null --explain | FileCheck %s --check-prefix=EARLY
// RUN: tp-compile %s --mesh tp=2 --plan %S/Inputs/memory.json --compile-to=lower -o /dev/null --explain | FileCheck %s

// It is what the artifact says, and the runtime repeats.
// RUN: tp-compile %tp_source/test/fixtures/llama-gqa --mesh tp=2 --batch 2 --seq 24 --explain=json -o %t.tpa > %t.json
// RUN: tp-run %t.tpa --weights %tp_source/test/fixtures/llama-gqa --input %tp_source/test/fixtures/llama-gqa/inputs.safetensors --stats=json > %t.stats.json
// RUN: cat %t.json %t.stats.json | FileCheck %s --check-prefix=SAME
// SAME: "peak": [[PEAK:[0-9]+]]
// SAME: "stated_peak_bytes": [[PEAK]]

// CHECK: all_reduce {{.*}} tensor<64x64xf32>
// CHECK-COUNT-1: memory per rank of @main: 64.0 KiB, of it parameters 8.0 KiB, activations 8.0 KiB, communication 16.0 KiB, inputs and outputs 32.0 KiB
// CHECK-NOT: memory per rank
// EARLY: parameters per rank
// EARLY-NOT: memory per rank

// JSON: "memory": {
// JSON-NEXT: "parameters": 8192,
// JSON-NEXT: "states": 0,
// JSON-NEXT: "constants": 0,
// JSON-NEXT: "inputs_and_outputs": 32768,
// JSON-NEXT: "kept_values": 0,
// JSON-NEXT: "activations": 8192,
// JSON-NEXT: "communication": 16384,
// JSON-NEXT: "peak": 65536
// JSON: "work": [
// JSON: "kernel": "rows",
// JSON: "flops": 0,
// JSON-NEXT: "bytes": 16384
// JSON: "kernel": "gemm",
// JSON-NEXT: "type": "f32",
// JSON-NEXT: "count": 1,
// JSON-NEXT: "flops": 262144,
// JSON-NEXT: "bytes": 32768
// JSON: "kernel": "rows",
// JSON-NEXT: "type": "f32",
// JSON-NEXT: "count": 1,
// JSON-NEXT: "flops": 69632,
// JSON-NEXT: "bytes": 49152
func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %w = tp.parameter "w" : tensor<64x64xf32>
  %y = nn.linear %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %z = math.exp %y : tensor<64x64xf32>
  return %z : tensor<64x64xf32>
}
