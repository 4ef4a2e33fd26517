// RUN: tp-opt %s --pass-pipeline='builtin.module(func.func(tp-read-peers{form=peer}),tp-form-kernels)' --split-input-file | FileCheck %s
// RUN: tp-opt %s --pass-pipeline='builtin.module(func.func(tp-read-peers))' --split-input-file | FileCheck %s --check-prefix=AUTO
// RUN: tp-opt %s --pass-pipeline='builtin.module(func.func(tp-read-peers{most-bytes=256}))' --split-input-file | FileCheck %s --check-prefix=SMALL
// RUN: tp-opt %s --pass-pipeline='builtin.module(func.func(tp-read-peers{link=h100}))' --split-input-file | FileCheck %s --check-prefix=LINKED
// RUN: tp-opt %s --pass-pipeline='builtin.module(func.func(tp-read-peers{target=cuda}))' --split-input-file | FileCheck %s --check-prefix=DEVICE

tp.mesh @mesh <["tp"=3]>

#map = affine_map<(d0, d1) -> (d0, d1)>

// The sum, in the group's order and in f32, shares a kernel with a user's own
// operation; another reader gets what that kernel writes.
// CHECK-LABEL: func.func @main
// CHECK: %[[P:.*]]:3 = tp.peers sum %arg0 over @mesh ["tp"]
// CHECK: %[[K:.*]]:2 = call @rows_0(%[[P]]#0, %[[P]]#1, %[[P]]#2)
// CHECK: tp.all_gather %[[K]]#{{[01]}}
// CHECK: func.func private @rows_0
// CHECK-COUNT-3: arith.extf
// CHECK-COUNT-2: arith.addf {{.*}} : f32
// CHECK: arith.truncf
// CHECK: math.absf
// AUTO-LABEL: func.func @main
// AUTO: tp.peers
// DEVICE-LABEL: func.func @main
// DEVICE: tp.library = "kernels of cuda cannot read other ranks' memory"
// SMALL-LABEL: func.func @main
// SMALL: tp.all_reduce sum {{.*}} {tp.library = "it has 256 B or more, and can run beside other work"}
func.func @main(%x: tensor<2x64xbf16>) -> (tensor<2x64xbf16>, tensor<6x64xbf16>) {
  %s = tp.all_reduce sum %x over @mesh ["tp"] : tensor<2x64xbf16> -> tensor<2x64xbf16>
  %e = tensor.empty() : tensor<2x64xbf16>
  %y = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<2x64xbf16>) outs(%e : tensor<2x64xbf16>) {
  ^bb0(%a: bf16, %out: bf16):
    %b = math.absf %a : bf16
    linalg.yield %b : bf16
  } -> tensor<2x64xbf16>
  %g = tp.all_gather %s dim 0 over @mesh ["tp"] : tensor<2x64xbf16> -> tensor<6x64xbf16>
  return %y, %g : tensor<2x64xbf16>, tensor<6x64xbf16>
}

// -----

tp.mesh @mesh <["tp"=2]>

// CHECK-LABEL: func.func @maximum
// CHECK: tp.all_reduce max {{.*}} {tp.library = "it is a max and no sum"}
func.func @maximum(%x: tensor<2x64xf32>) -> tensor<2x64xf32> {
  %s = tp.all_reduce max %x over @mesh ["tp"] : tensor<2x64xf32> -> tensor<2x64xf32>
  return %s : tensor<2x64xf32>
}

// -----

tp.mesh @mesh <["tp"=2]>

// CHECK-LABEL: func.func @joined
// CHECK: tp.all_reduce sum {{.*}} {tp.library = "it is one call for several"}
func.func @joined(%a: tensor<4xf32>, %b: tensor<6xf32>) -> tensor<70xf32> {
  %j = tp.join %a, %b : tensor<4xf32>, tensor<6xf32> -> tensor<70xf32>
  %s = tp.all_reduce sum %j over @mesh ["tp"] : tensor<70xf32> -> tensor<70xf32>
  return %s : tensor<70xf32>
}

// -----

tp.mesh @mesh <["tp"=8]>

// Eight ranks that each read all of 4 MiB from eight lose.
// AUTO-LABEL: func.func @large
// AUTO: tp.all_reduce sum {{.*}} {tp.library = "kernels of 8 ranks that read 4.0 MiB of each would take 4.2 ms, and a call takes 1.58 ms"}
// CHECK-LABEL: func.func @large
// CHECK: tp.peers
func.func @large(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %s = tp.all_reduce sum %x over @mesh ["tp"] : tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  return %s : tensor<1024x1024xf32>
}

// -----

tp.mesh @mesh <["tp"=2]>

// CHECK-LABEL: func.func @others
// CHECK: tp.library = "it is one number"
// CHECK: tp.library = "its elements are no numbers of a kernel"
// CHECK: tp.peers
// AUTO-LABEL: func.func @others
// AUTO: tp.library = "its parts run beside products"
func.func @others(%x: tensor<f32>, %y: tensor<4xcomplex<f32>>, %z: tensor<4xf32>) -> (tensor<f32>, tensor<4xcomplex<f32>>, tensor<4xf32>) {
  %s = tp.all_reduce sum %x over @mesh ["tp"] : tensor<f32> -> tensor<f32>
  %t = tp.all_reduce sum %y over @mesh ["tp"] : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
  %u = tp.all_reduce sum %z over @mesh ["tp"] {tp.part = array<i64: 0, 2>} : tensor<4xf32> -> tensor<4xf32>
  return %s, %t, %u : tensor<f32>, tensor<4xcomplex<f32>>, tensor<4xf32>
}

// -----

// A node of the profile has eight ranks.
tp.mesh @mesh <["dp"=2, "tp"=8]>

// LINKED-LABEL: func.func @nodes
// LINKED: tp.peers {{.*}} ["tp"]
// LINKED: tp.library = "its ranks are on several nodes"
// AUTO-LABEL: func.func @nodes
// AUTO-COUNT-2: tp.peers
func.func @nodes(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %s = tp.all_reduce sum %x over @mesh ["tp"] : tensor<4xf32> -> tensor<4xf32>
  %t = tp.all_reduce sum %x over @mesh ["dp"] : tensor<4xf32> -> tensor<4xf32>
  return %s, %t : tensor<4xf32>, tensor<4xf32>
}
