// An id that hangs on rounding inside one operation cannot be judged: the report
// says so and the exit code is that of an equal program. Exact integers are
// judged.
// RUN: tp-verify %s --stages partition 2> %t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=WARNING --input-file=%t.err
// RUN: tp-verify %s --stages partition --report=json 2> %t.err | FileCheck %s --check-prefix=JSON
// RUN: sed 's/^  %r = math/%b = arith.truncf %x : tensor<16x64xf32> to tensor<16x64xbf16>\n  &/' %s > %t.mlir
// RUN: tp-verify %t.mlir --stages partition 2>&1 | FileCheck %s --check-prefix=NARROW
// CHECK: partition @main: equal, {{[0-9]+}} values and 2 results compared, largest difference {{.*}} of the tolerance, operation by operation, {{[1-9][0-9]*}} elements not judged
// CHECK: partition @main: cannot judge linalg.generic at ids: {{[1-9][0-9]?}} of 16 elements hang on the rounding of the one-device program
// CHECK-NOT: cannot judge arith.fptosi at counts
// WARNING: tp-verify: warning: nothing differs, but {{[1-9]}} values hang on rounding and cannot be judged
// NARROW: cannot be judged; of 16 bits little can be: verify the same program in f32
// JSON: "equal": true
// JSON: "unjudged": {
// JSON-NEXT: "elements": {{[1-9]}}
// JSON: "reason": "{{[1-9][0-9]?}} of 16 elements hang on the rounding of the one-device program"

#row = affine_map<(i) -> (i)>
tp.mesh @mesh <["tp"=4]>
func.func @main(%x: tensor<16x64xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}]>}) -> (tensor<16xi32>, tensor<16xi32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16xf32>
  %n = tensor.empty() : tensor<16xi32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<16x64xf32>) outs(%init : tensor<16xf32>) dimensions = [1] loc("sum")
  %ids = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]} ins(%s : tensor<16xf32>) outs(%n : tensor<16xi32>) {
  ^bb0(%in: f32, %out: i32):
    %large = arith.constant 1.0e+07 : f32
    %m = arith.mulf %in, %large : f32
    %i = arith.fptosi %m : f32 to i32
    linalg.yield %i : i32
  } -> tensor<16xi32> loc("ids")
  %r = math.roundeven %x : tensor<16x64xf32>
  %k = linalg.reduce { arith.addf } ins(%r : tensor<16x64xf32>) outs(%init : tensor<16xf32>) dimensions = [1]
  %counts = arith.fptosi %k : tensor<16xf32> to tensor<16xi32> loc("counts")
  return %ids, %counts : tensor<16xi32>, tensor<16xi32>
}
