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

func.func @double(%x: f64) -> f64 {
  // expected-error @below {{expected a function of f32 with an expansion, got 'f64'}}
  %0 = math.exp %x : f64
  return %0 : f64
}
