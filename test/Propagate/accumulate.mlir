// A state to which a function only adds a partial sum is partial, whether its other dimensions are
// annotated or not: it is reduced where it is read, not where it is added to. So is a
// value that layers carry.
// RUN: tp-opt %s --tp-propagate-pipeline --tp-partition-pipeline --tp-collectives-pipeline | FileCheck %s
// RUN: tp-verify %s --steps 3 --stages partition,collectives,lower | FileCheck %s --check-prefix=EQUAL
// EQUAL: lower {{.*}} 3 steps: equal
// RUN: tp-opt %s --tp-propagate-pipeline --tp-explain-shardings 2>&1 | FileCheck %s --check-prefix=WHY

tp.mesh @mesh <["dp"=2, "tp"=2]>
// CHECK-DAG: tp.state @weight : {{.*}} sharding <@mesh, [{}, {"tp"}], partial sum {"dp"}>
// CHECK-DAG: tp.state @norms : {{.*}} sharding <@mesh, [{}, {}], partial sum {"dp", "tp"}>
// CHECK-DAG: tp.state @shared : {{.*}} sharding <@mesh, [{}], partial sum {"dp"}>
// CHECK-DAG: tp.state @smooth : {{.*}} sharding <@mesh, [{}]>
// CHECK-DAG: tp.state @shown : {{.*}} sharding <@mesh, [{}]>
// CHECK-DAG: tp.state @rooted : {{.*}} sharding <@mesh, [{}]>
tp.state @weight : tensor<4x6xf32> sharding <@mesh, [{}, {"tp"}]>
tp.state @norms : tensor<4x6xf32> ones
tp.state @shared : tensor<6xf32>
tp.state @smooth : tensor<4xf32>
tp.state @shown : tensor<4xf32>
tp.state @rooted : tensor<4xf32> ones

// WHY: partial on "dp"
// CHECK-LABEL: func.func @accumulate
// CHECK-NOT: tp.all_reduce
// CHECK: return
func.func @accumulate(%x: tensor<4x8xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"dp"}]>}, %dy: tensor<6x8xf32> {tp.sharding = #tp.sharding<@mesh, [{"tp"}, {"dp"}]>},
                      %a: tensor<6x8xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"dp", "tp"}]>},
                      %weight: tensor<4x6xf32> {tp.state = @weight}, %norms: tensor<4x6xf32> {tp.state = @norms}, %shared: tensor<6xf32> {tp.state = @shared})
    -> (tensor<4x6xf32> {tp.state = @weight}, tensor<4x6xf32> {tp.state = @norms}, tensor<6xf32> {tp.state = @shared}) {
  %dw = nn.linear %x, %dy : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
  %0 = arith.addf %weight, %dw : tensor<4x6xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<6xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<6xf32>) -> tensor<6xf32>
  // Stacked by the layers, and summed over them.
  %1:2 = tp.repeat 4 times iter(%init) : (tensor<6xf32>) -> (tensor<6xf32>, tensor<4x6xf32>) {
  ^bb0(%i: index, %sum: tensor<6xf32>):
    %e = tensor.empty() : tensor<6xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
    %d = linalg.reduce { arith.addf } ins(%a : tensor<6x8xf32>) outs(%f : tensor<6xf32>) dimensions = [1]
    %h = linalg.fill ins(%zero : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
    %g = linalg.reduce { arith.addf } ins(%dy : tensor<6x8xf32>) outs(%h : tensor<6xf32>) dimensions = [1]
    %next = arith.addf %sum, %g : tensor<6xf32>
    tp.yield %next, %d : tensor<6xf32>, tensor<6xf32>
  }
  %2 = arith.addf %norms, %1#1 : tensor<4x6xf32>
  %3 = arith.addf %1#0, %shared : tensor<6xf32>
  return %0, %2, %3 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<6xf32>
}

// Read and begun anew: one call over dp, and one over both axes, in the states' own memory.
// CHECK-LABEL: func.func @update
// CHECK-DAG: tp.all_reduce sum {{.*}}["dp"] {{.*}}#tp.ledger<[[#CALL:]], cause = "state @weight
// CHECK-DAG: tp.all_reduce sum {{.*}}["dp"] {{.*}}#tp.ledger<[[#CALL]], cause = "state @shared
// CHECK-DAG: tp.all_reduce sum {{.*}}["dp", "tp"] {{.*}}cause = "state @norms
// CHECK-NOT: tp.all_reduce
// CHECK: return
func.func @update(%weight: tensor<4x6xf32> {tp.state = @weight}, %norms: tensor<4x6xf32> {tp.state = @norms}, %shared: tensor<6xf32> {tp.state = @shared})
    -> (tensor<4x6xf32> {tp.name = "w"}, tensor<4x6xf32> {tp.name = "n"}, tensor<6xf32> {tp.name = "s"},
        tensor<4x6xf32> {tp.state = @weight}, tensor<4x6xf32> {tp.state = @norms}, tensor<6xf32> {tp.state = @shared}) {
  %0 = arith.constant dense<0.0> : tensor<4x6xf32>
  %1 = arith.constant dense<0.0> : tensor<4x6xf32>
  %2 = arith.constant dense<0.0> : tensor<6xf32>
  %w = math.tanh %weight : tensor<4x6xf32>
  %n = math.tanh %norms : tensor<4x6xf32>
  %s = math.tanh %shared : tensor<6xf32>
  return %w, %n, %s, %0, %1, %2 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<6xf32>
}

// Complete: what is scaled before it is added to, what is read as it is added to, and what another
// function needs to make the next one.
// CHECK-LABEL: func.func @others
// CHECK: tp.all_reduce
func.func @others(%x: tensor<4x8xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"dp"}]>}, %smooth: tensor<4xf32> {tp.state = @smooth}, %shown: tensor<4xf32> {tp.state = @shown}, %rooted: tensor<4xf32> {tp.state = @rooted})
    -> (tensor<4xf32> {tp.state = @smooth}, tensor<4xf32> {tp.state = @shown}, tensor<4xf32> {tp.state = @rooted}, tensor<4xf32> {tp.name = "shown"}) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  %d = linalg.reduce { arith.addf } ins(%x : tensor<4x8xf32>) outs(%init : tensor<4xf32>) dimensions = [1]
  %half = arith.constant dense<0.5> : tensor<4xf32>
  %old = arith.mulf %smooth, %smooth : tensor<4xf32>
  %0 = arith.addf %old, %d : tensor<4xf32>
  %1 = arith.addf %shown, %d : tensor<4xf32>
  %2 = arith.addf %rooted, %d : tensor<4xf32>
  %3 = math.exp %shown : tensor<4xf32>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
func.func @root(%rooted: tensor<4xf32> {tp.state = @rooted}) -> (tensor<4xf32> {tp.state = @rooted}) {
  %0 = math.absf %rooted : tensor<4xf32>
  return %0 : tensor<4xf32>
}
