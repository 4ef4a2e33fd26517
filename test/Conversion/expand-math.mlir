// RUN: tp-opt %s --tp-expand-math --split-input-file --verify-diagnostics | FileCheck %s

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

// The product of n and each part of pi / 2 is rounded once.
// CHECK-LABEL: func @wave
// CHECK-COUNT-3: llvm.intr.fma
// CHECK-NOT: math.{{sin|atan|log10}}
// CHECK: return
func.func @wave(%x: vector<8xf32>) -> (vector<8xf32>, vector<8xf32>, vector<8xf32>) {
  %0 = math.sin %x : vector<8xf32>
  %1 = math.atan %x : vector<8xf32>
  %2 = math.log10 %x : vector<8xf32>
  return %0, %1, %2 : vector<8xf32>, vector<8xf32>, vector<8xf32>
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
