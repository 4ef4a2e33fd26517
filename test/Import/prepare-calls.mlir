// RUN: tp-opt %s --tp-prepare-calls --mlir-print-local-scope | FileCheck %s
// RUN: tp-opt %s --tp-import-pipeline --mlir-print-local-scope | FileCheck %s --check-prefix=INLINED

// Shardings of the arguments and results of called functions, and of results of
// calls, outlive the inlining. Each body is changed once, however many calls.

tp.mesh @mesh <["dp"=2, "tp"=4]>

// CHECK-LABEL: func.func @main
// CHECK: call @block
// CHECK-NEXT: %[[CALL:.*]] = call @block(%{{.*}}) : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: tp.sharding_constraint %[[CALL]] <@mesh, [{"dp"}, {?}]>

// INLINED-LABEL: func.func @main(
// INLINED-NEXT: %[[IN:.*]] = tp.sharding_constraint %{{.*}} <@mesh, [{?}, {"tp"}]>
// INLINED-NEXT: %[[S:.*]] = nn.silu %[[IN]]
// INLINED-NEXT: %[[OUT:.*]] = tp.sharding_constraint %[[S]] <@mesh, [{}, {}]>
// INLINED-NEXT: %[[IN2:.*]] = tp.sharding_constraint %[[OUT]] <@mesh, [{?}, {"tp"}]>
// INLINED-NEXT: %[[S2:.*]] = nn.silu %[[IN2]]
// INLINED-NEXT: %[[OUT2:.*]] = tp.sharding_constraint %[[S2]] <@mesh, [{}, {}]>
// INLINED-NEXT: %[[LAST:.*]] = tp.sharding_constraint %[[OUT2]] <@mesh, [{"dp"}, {?}]>
// INLINED-NEXT: return %[[LAST]]
// INLINED-NOT: @block
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = call @block(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = call @block(%0) {tp.shardings = [#tp.sharding<@mesh, [{"dp"}, {?}]>]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func private @block
// CHECK-NEXT: %[[A:.*]] = tp.sharding_constraint %{{.*}} <@mesh, [{?}, {"tp"}]>
// CHECK-NEXT: %[[B:.*]] = nn.silu %[[A]]
// CHECK-NEXT: %[[C:.*]] = tp.sharding_constraint %[[B]] <@mesh, [{}, {}]>
// CHECK-NEXT: return %[[C]]
func.func private @block(%h: tensor<4x8xf32> {tp.name = "h", tp.sharding = #tp.sharding<@mesh, [{?}, {"tp"}]>})
    -> (tensor<4x8xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {}]>}) {
  %0 = nn.silu %h : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// A function that nobody calls is an entry, whose own attributes say it.

// CHECK-LABEL: func.func @alone
// CHECK-NOT: constraint
// CHECK: return
func.func @alone(%h: tensor<4x8xf32> {tp.sharding = #tp.sharding<@mesh, [{}, {"tp"}]>}) -> tensor<4x8xf32> {
  %0 = nn.silu %h : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
