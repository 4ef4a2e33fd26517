// RUN: tp-opt %s --tp-propagate-pipeline --tp-partition-pipeline --tp-collectives-pipeline | FileCheck %s
// RUN: tp-verify %s --stages collectives,lower | FileCheck %s --check-prefix=EQUAL
// RUN: tp-opt %s --tp-propagate-pipeline --tp-partition-pipeline --tp-collectives-pipeline --tp-explain -o /dev/null | FileCheck %s --check-prefix=LEDGER
// RUN: tp-opt %s --tp-propagate-pipeline --tp-partition-pipeline --tp-collectives-pipeline --tp-schedule-pipeline | FileCheck %s --check-prefix=PLACE
// EQUAL: lower {{.*}}: equal

// All-reduces that do not need each other are one call, which is one line of the ledger
// and one buffer. Sizes are uneven, one result is a scalar, and there are two meshes' axes.

tp.mesh @mesh <["dp"=2, "tp"=2]>
#col = #tp.sharding<@mesh, [{}, {"tp"}]>
#row = #tp.sharding<@mesh, [{}, {"dp"}]>
#vec = #tp.sharding<@mesh, [{"tp"}]>

// What is between them goes before or behind: the exponential of a sum waits for the call.
// CHECK-LABEL: func.func @independent
// CHECK: linalg.reduce
// CHECK: linalg.reduce
// CHECK: linalg.reduce
// CHECK: %[[R:.*]] = tp.all_reduce sum {{.*}} #tp.ledger<0, {{.*}} pass = "tp-coalesce-reductions">
// CHECK-NEXT: tp.all_reduce sum {{.*}} #tp.ledger<0,
// CHECK-NEXT: tp.all_reduce sum {{.*}} #tp.ledger<0,
// CHECK-NEXT: math.exp %[[R]]
// LEDGER-LABEL: @independent
// LEDGER: 0 all_reduce tp 1 {{.*}} tensor<7xf32>, tensor<3xf32>, tensor<f32>
// Each is computed where it is moved from, and read where it was moved to.
// PLACE-LABEL: func.func @independent
// PLACE: call @{{.*}}tp.buffers = [#tp.buffer<"comm", [[#A:]]>]
// PLACE: %[[J:.*]] = tp.join {{.*}} {tp.buffers = [#tp.buffer<"comm", [[#A]]>]} : tensor<7xf32>, tensor<3xf32>, tensor<f32> -> tensor<129xf32>
// PLACE: tp.all_reduce sum %[[J]] {{.*}}tp.buffers = [#tp.buffer<"comm", [[#A]]>]
// PLACE: tensor.extract_slice {{.*}}[64] [3] [1]
// PLACE: tensor.extract_slice {{.*}}[128] [1] [1]
func.func @independent(%x: tensor<7x5xf32> {tp.sharding = #col}, %y: tensor<3x6xf32> {tp.sharding = #col}, %z: tensor<9xf32> {tp.sharding = #vec}) -> (tensor<7xf32>, tensor<3xf32>, tensor<f32>) {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<7xf32>
  %i0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<7xf32>) -> tensor<7xf32>
  %a = linalg.reduce { arith.addf } ins(%x : tensor<7x5xf32>) outs(%i0 : tensor<7xf32>) dimensions = [1]
  %r = math.exp %a : tensor<7xf32>
  %e1 = tensor.empty() : tensor<3xf32>
  %i1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<3xf32>) -> tensor<3xf32>
  %b = linalg.reduce { arith.addf } ins(%y : tensor<3x6xf32>) outs(%i1 : tensor<3xf32>) dimensions = [1]
  %e2 = tensor.empty() : tensor<f32>
  %i2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<f32>) -> tensor<f32>
  %c = linalg.reduce { arith.addf } ins(%z : tensor<9xf32>) outs(%i2 : tensor<f32>) dimensions = [0]
  return %r, %b, %c : tensor<7xf32>, tensor<3xf32>, tensor<f32>
}

// Two sums, each followed by another of it: two calls, of the first and of the second ones.
// CHECK-LABEL: func.func @chains
// CHECK: tp.all_reduce sum {{.*}} #tp.ledger<1,
// CHECK-NEXT: tp.all_reduce sum {{.*}} #tp.ledger<1,
// CHECK: tp.all_reduce sum {{.*}} #tp.ledger<2,
// CHECK-NEXT: tp.all_reduce sum {{.*}} #tp.ledger<2,
// CHECK-NOT: tp.all_reduce
func.func @chains(%x: tensor<4x6xf32> {tp.sharding = #col}, %y: tensor<4x6xf32> {tp.sharding = #col}) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %a = linalg.reduce { arith.addf } ins(%x : tensor<4x6xf32>) outs(%i : tensor<4xf32>) dimensions = [1]
  %s = math.tanh %a : tensor<4xf32>
  %sb = linalg.broadcast ins(%s : tensor<4xf32>) outs(%x : tensor<4x6xf32>) dimensions = [1]
  %xs = arith.mulf %x, %sb : tensor<4x6xf32>
  %b = linalg.reduce { arith.addf } ins(%xs : tensor<4x6xf32>) outs(%i : tensor<4xf32>) dimensions = [1]
  %c = linalg.reduce { arith.addf } ins(%y : tensor<4x6xf32>) outs(%i : tensor<4xf32>) dimensions = [1]
  %t = math.tanh %c : tensor<4xf32>
  %tb = linalg.broadcast ins(%t : tensor<4xf32>) outs(%y : tensor<4x6xf32>) dimensions = [1]
  %yt = arith.mulf %y, %tb : tensor<4x6xf32>
  %d = linalg.reduce { arith.addf } ins(%yt : tensor<4x6xf32>) outs(%i : tensor<4xf32>) dimensions = [1]
  return %b, %d : tensor<4xf32>, tensor<4xf32>
}

// Another reduction, other axes, another type: calls of their own.
// CHECK-LABEL: func.func @unlike
// CHECK-DAG: tp.all_reduce sum {{.*}}["tp"] {{.*}} -> tensor<4xf32>
// CHECK-DAG: tp.all_reduce max {{.*}}["tp"] {{.*}} -> tensor<4xf32>
// CHECK-DAG: tp.all_reduce sum {{.*}}["dp"] {{.*}} -> tensor<4xf32>
// CHECK-DAG: tp.all_reduce sum {{.*}}["tp"] {{.*}} -> tensor<4xi32>
func.func @unlike(%x: tensor<4x6xf32> {tp.sharding = #col}, %y: tensor<4x6xf32> {tp.sharding = #row}, %z: tensor<4x6xi32> {tp.sharding = #col}) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>) {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %none = arith.constant 0 : i32
  %e = tensor.empty() : tensor<4xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %j = linalg.fill ins(%least : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %f = tensor.empty() : tensor<4xi32>
  %k = linalg.fill ins(%none : i32) outs(%f : tensor<4xi32>) -> tensor<4xi32>
  %a = linalg.reduce { arith.addf } ins(%x : tensor<4x6xf32>) outs(%i : tensor<4xf32>) dimensions = [1]
  %b = linalg.reduce { arith.maximumf } ins(%x : tensor<4x6xf32>) outs(%j : tensor<4xf32>) dimensions = [1]
  %c = linalg.reduce { arith.addf } ins(%y : tensor<4x6xf32>) outs(%i : tensor<4xf32>) dimensions = [1]
  %d = linalg.reduce { arith.addi } ins(%z : tensor<4x6xi32>) outs(%k : tensor<4xi32>) dimensions = [1]
  return %a, %b, %c, %d : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>
}

// What is read elsewhere cannot be computed in the buffer: it is copied.
tp.state @a : tensor<4xf32> ones sharding <@mesh, [{}], partial sum {"tp"}>
tp.state @b : tensor<5xf32> ones sharding <@mesh, [{}], partial sum {"tp"}>
// CHECK-LABEL: func.func @read
// CHECK: tp.all_reduce sum %arg0
// CHECK-NEXT: tp.all_reduce sum %arg1
// PLACE-LABEL: func.func @read
// PLACE: %[[C:.*]] = call @{{.*}}(%arg0)
// PLACE: %[[D:.*]] = call @{{.*}}(%arg1)
// PLACE: tp.join %[[C]], %[[D]]
func.func @read(%a: tensor<4xf32> {tp.state = @a}, %b: tensor<5xf32> {tp.state = @b}) -> (tensor<4xf32>, tensor<5xf32>) {
  return %a, %b : tensor<4xf32>, tensor<5xf32>
}

// Replaced: they are reduced where they lie.
// PLACE-LABEL: func.func @replace
// PLACE: %[[J:.*]] = tp.join in_place %arg0, %arg1
// PLACE-NEXT: tp.all_reduce sum %[[J]]
func.func @replace(%a: tensor<4xf32> {tp.state = @a}, %b: tensor<5xf32> {tp.state = @b}) -> (tensor<4xf32>, tensor<5xf32>, tensor<4xf32> {tp.state = @a}, tensor<5xf32> {tp.state = @b}) {
  %0 = arith.constant dense<2.0> : tensor<4xf32>
  %1 = arith.constant dense<3.0> : tensor<5xf32>
  return %a, %b, %0, %1 : tensor<4xf32>, tensor<5xf32>, tensor<4xf32>, tensor<5xf32>
}
