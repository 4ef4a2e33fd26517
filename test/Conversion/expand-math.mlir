// RUN: tp-opt %s --tp-expand-math --split-input-file --verify-diagnostics | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: tp-opt %s --tp-expand-math=loops-over-lanes=false --split-input-file --verify-diagnostics | FileCheck %s --check-prefixes=CHECK,CUDA

// CHECK-LABEL: func @functions
// CHECK-NOT: math.{{exp|tanh|erf|rsqrt|sin|cos|log}}
// CHECK: return
func.func @functions(%x: vector<16xf32>, %s: f32) -> (vector<16xf32>, f32) {
  %0 = math.exp %x : vector<16xf32>
  %1 = math.tanh %0 : vector<16xf32>
  %2 = math.erf %1 : vector<16xf32>
  %3 = math.rsqrt %2 : vector<16xf32>
  %4 = math.sin %s : f32
  %5 = math.cos %4 : f32
  %6 = math.log %5 : f32
  return %3, %6 : vector<16xf32>, f32
}

// -----

// The product of n and each part of pi / 2 is rounded once. If a lane is large, a
// branch sees to it, lane by lane, that those which are count quadrants in
// integers; the others keep what they had. The host does it in a loop.
// CHECK-LABEL: func @wave
// CHECK: %[[R0:.*]] = llvm.intr.fma({{.*}}, %arg0)
// CHECK: %[[R1:.*]] = llvm.intr.fma({{.*}}, %[[R0]])
// CHECK: %[[R2:.*]] = llvm.intr.fma({{.*}}, %[[R1]])
// CHECK: %[[N:.*]] = arith.bitcast {{.*}} : vector<8xf32> to vector<8xi32>
// CHECK: %[[LARGE:.*]] = arith.cmpf ogt
// CHECK: %[[ANY:.*]] = vector.reduction <or>, %[[LARGE]] : vector<8xi1> into i1
// CHECK: %[[RARE:.*]] = llvm.intr.expect %[[ANY]], %false
// CHECK: scf.if %[[RARE]] -> (vector<8xf32>, vector<8xi32>) {
// CPU: scf.for %[[I:.*]] = %{{.*}} to %c8 {{.*}} iter_args(%[[DONE:.*]] = %[[R2]], %{{.*}} = %[[N]])
// CPU: scf.if {{.*}} -> (vector<8xf32>, vector<8xi32>) {
// CPU: vector.extract %arg0[%[[I]]]
// CUDA: %[[R:.*]] = vector.extract %[[R2]][0]
// CUDA: scf.if {{.*}} -> (f32, i32) {
// CHECK-COUNT-3: arith.muli {{.*}} : i64
// CPU: vector.insert {{.*}}, %[[DONE]] [%[[I]]]
// CHECK: else
// CPU-NEXT: scf.yield %[[DONE]]
// CUDA-NEXT: scf.yield %[[R]]
// CUDA-COUNT-7: scf.if {{.*}} -> (f32, i32) {
// CUDA: vector.from_elements
// CHECK: else
// CHECK-NEXT: scf.yield %[[R2]], %[[N]]
// CHECK-NOT: math.{{sin|atan|log10}}
// CHECK: return
func.func @wave(%x: vector<8xf32>) -> (vector<8xf32>, vector<8xf32>, vector<8xf32>) {
  %0 = math.sin %x : vector<8xf32>
  %1 = math.atan %x : vector<8xf32>
  %2 = math.log10 %x : vector<8xf32>
  return %0, %1, %2 : vector<8xf32>, vector<8xf32>, vector<8xf32>
}

// No f16 is large.
// CHECK-LABEL: func @sizes
// CHECK-NOT: scf.if
// CHECK: %[[LARGE:.*]] = arith.cmpf ogt, {{.*}} : f32
// CHECK-NEXT: %[[RARE:.*]] = llvm.intr.expect %[[LARGE]], %false
// CHECK-NEXT: scf.if %[[RARE]] -> (f32, i32) {
// CHECK-NOT: scf.if
// CHECK: return
func.func @sizes(%h: f16, %x: f32) -> (f32, f32) {
  %wide = arith.extf %h : f16 to f32
  %0 = math.sin %wide : f32
  %1 = math.cos %x : f32
  return %0, %1 : f32, f32
}

// CHECK-LABEL: func @classes
// CHECK: arith.cmpf uno, %arg0, %arg0
// CHECK: arith.cmpf oeq
// CHECK: arith.cmpf olt
func.func @classes(%x: f32, %y: vector<4xf16>) -> (i1, i1, vector<4xi1>) {
  %0 = math.isnan %x : f32
  %1 = math.isinf %x : f32
  %2 = math.isfinite %y : vector<4xf16>
  return %0, %1, %2 : i1, i1, vector<4xi1>
}

// -----

func.func @remainder(%x: f32, %y: f32) -> f32 {
  // expected-error @below {{'arith.remf' op has no expansion in instructions: x - y * trunc(x / y) is one where the quotient is small}}
  %0 = arith.remf %x, %y : f32
  return %0 : f32
}

// -----

func.func @double(%x: f64) -> f64 {
  // expected-error @below {{expected a function of f32 with an expansion, got 'f64'}}
  %0 = math.exp %x : f64
  return %0 : f64
}

// -----

func.func @matrix(%x: vector<2x4xf32>) -> vector<2x4xf32> {
  // expected-error @below {{expected a function of f32 with an expansion, got 'vector<2x4xf32>'}}
  %0 = math.sin %x : vector<2x4xf32>
  return %0 : vector<2x4xf32>
}
