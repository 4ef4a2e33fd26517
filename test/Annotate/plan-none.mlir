// The plan `none` takes a module as it is annotated: names that a plan of ours
// knows are left alone, and an axis that cuts nothing is told.
// RUN: tp-opt %s --tp-annotate='plan=none mesh=dp=2,tp=2' 2> %t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=WARNING --input-file=%t.err
// RUN: tp-compile %s --plan none --mesh dp=2,tp=2 --compile-to=annotate 2>/dev/null | FileCheck %s
// RUN: not tp-compile %s --plan none --mesh tp=4 --compile-to=annotate 2>&1 | FileCheck %s --check-prefix=OTHER

// WARNING: warning: axis "dp" of the mesh cuts nothing: its 2 ranks would all hold and compute the same; leave it out, or annotate what it cuts
// WARNING-NOT: ; plan
// OTHER: error: mesh 'tp=4' is not the one that the module declares, #tp.mesh<["dp"=2, "tp"=2]>

tp.mesh @mesh <["dp"=2, "tp"=2]>
func.func @main(%x: tensor<4x16xf32>) -> tensor<4x8xf32> {
  // CHECK: tp.parameter "o_proj.weight" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]}
  %w = tp.parameter "o_proj.weight" {tp.shardings = [#tp.sharding<@mesh, [{"tp"}, {}]>]} : tensor<8x16xf32>
  // CHECK: tp.parameter "up_proj.weight" : tensor<8x16xf32>
  %u = tp.parameter "up_proj.weight" : tensor<8x16xf32>
  %0 = arith.addf %w, %u : tensor<8x16xf32>
  %1 = nn.linear %x, %0 : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
