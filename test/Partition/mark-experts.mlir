// RUN: tp-opt %s --tp-mark-experts --mlir-print-local-scope | FileCheck %s
// RUN: tp-opt %s --tp-mark-experts --tp-mark-experts --mlir-print-local-scope | FileCheck %s
// RUN: tp-opt %s --tp-partition-pipeline --mlir-print-local-scope | FileCheck %s --check-prefix=LOCAL

#rows = #tp.sharding<@mesh, [{}, {} ]>
#part = #tp.sharding<@mesh, [{}, {} ], partial sum {"tp"}>
#inner = #tp.sharding<@mesh, [{}, {"tp"}, {} ]>
#outer = #tp.sharding<@mesh, [{}, {}, {"tp"} ]>
tp.mesh @mesh <["tp"=4]>

// Of 42 positions each rank has eleven, the last one padding. The ones say so once that
// is masked; the matrices' own padding is zero.
// CHECK-LABEL: func.func @uneven
// CHECK: %[[ONES:.*]] = arith.constant {tp.shardings = [#tp.sharding<@mesh, [{"tp"}]>]} dense<1> : tensor<42xi32>
// CHECK-NEXT: nn.experts {{.*}} inside %[[ONES]] {
// LOCAL-LABEL: func.func @uneven
// LOCAL: %[[ONES:.*]] = arith.constant {{.*}}dense<1> : tensor<11xi32>
// LOCAL: %[[INSIDE:.*]] = linalg.generic {{.*}} ins(%[[ONES]] : tensor<11xi32>)
// LOCAL-NOT: linalg.generic
// LOCAL: nn.experts {{.*}} inside %[[INSIDE]] {{.*}}, tensor<8x16x11xf32>, tensor<11xi32>) -> tensor<6x16xf32>
func.func @uneven(%x: tensor<6x16xf32> {tp.sharding = #rows}, %r: tensor<6x8xf32> {tp.sharding = #rows}) -> (tensor<6x16xf32> {tp.sharding = #rows}) {
  %gate = tp.parameter "gate" {tp.shardings = [#inner]} : tensor<8x42x16xf32>
  %up = tp.parameter "up" {tp.shardings = [#inner]} : tensor<8x42x16xf32>
  %down = tp.parameter "down" {tp.shardings = [#outer]} : tensor<8x16x42xf32>
  %y = nn.experts %x, %r, %gate, %up, %down {activation = "silu", tp.shardings = [#part]} : (tensor<6x16xf32>, tensor<6x8xf32>, tensor<8x42x16xf32>, tensor<8x42x16xf32>, tensor<8x16x42xf32>) -> tensor<6x16xf32>
  %s = nn.silu %y {tp.shardings = [#rows]} : tensor<6x16xf32>
  return %s : tensor<6x16xf32>
}

// CHECK-LABEL: func.func @backward
// CHECK: %[[ONES:.*]] = arith.constant {{.*}} dense<1> : tensor<42xi32>
// CHECK-NEXT: nn.experts_backward {{.*}} inside %[[ONES]] {
// LOCAL-LABEL: func.func @backward
// LOCAL: nn.experts_backward {{.*}} inside
func.func @backward(%dy: tensor<6x16xf32> {tp.sharding = #rows}, %x: tensor<6x16xf32> {tp.sharding = #rows}, %r: tensor<6x8xf32> {tp.sharding = #rows}) -> (tensor<8x16x42xf32> {tp.sharding = #outer}) {
  %gate = tp.parameter "gate" {tp.shardings = [#inner]} : tensor<8x42x16xf32>
  %up = tp.parameter "up" {tp.shardings = [#inner]} : tensor<8x42x16xf32>
  %down = tp.parameter "down" {tp.shardings = [#outer]} : tensor<8x16x42xf32>
  %y:5 = nn.experts_backward %dy, %x, %r, %gate, %up, %down {activation = "silu", tp.shardings = [#part, #part, #inner, #inner, #outer]} : (tensor<6x16xf32>, tensor<6x16xf32>, tensor<6x8xf32>, tensor<8x42x16xf32>, tensor<8x42x16xf32>, tensor<8x16x42xf32>) -> (tensor<6x16xf32>, tensor<6x8xf32>, tensor<8x42x16xf32>, tensor<8x42x16xf32>, tensor<8x16x42xf32>)
  return %y#4 : tensor<8x16x42xf32>
}

// A width that divides, and one that is whole, need nothing.
// CHECK-LABEL: func.func @even
// CHECK-NOT: arith.constant
// CHECK-NOT: inside
func.func @even(%x: tensor<6x16xf32> {tp.sharding = #rows}, %r: tensor<6x8xf32> {tp.sharding = #rows}) -> (tensor<6x16xf32> {tp.sharding = #rows}) {
  %gate = tp.parameter "even.gate" {tp.shardings = [#inner]} : tensor<8x40x16xf32>
  %up = tp.parameter "even.up" {tp.shardings = [#inner]} : tensor<8x40x16xf32>
  %down = tp.parameter "even.down" {tp.shardings = [#outer]} : tensor<8x16x40xf32>
  %y = nn.experts %x, %r, %gate, %up, %down {activation = "silu", tp.shardings = [#part]} : (tensor<6x16xf32>, tensor<6x8xf32>, tensor<8x40x16xf32>, tensor<8x40x16xf32>, tensor<8x16x40xf32>) -> tensor<6x16xf32>
  %s = nn.silu %y {tp.shardings = [#rows]} : tensor<6x16xf32>
  %whole = tp.parameter "whole.gate" {tp.shardings = [#tp.sharding<@mesh, [{}, {}, {} ]>]} : tensor<8x42x16xf32>
  %last = tp.parameter "whole.down" {tp.shardings = [#tp.sharding<@mesh, [{}, {}, {} ]>]} : tensor<8x16x42xf32>
  %z = nn.experts %s, %r, %whole, %whole, %last {activation = "silu", tp.shardings = [#rows]} : (tensor<6x16xf32>, tensor<6x8xf32>, tensor<8x42x16xf32>, tensor<8x42x16xf32>, tensor<8x16x42xf32>) -> tensor<6x16xf32>
  return %z : tensor<6x16xf32>
}
