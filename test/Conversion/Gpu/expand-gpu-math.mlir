// RUN: tp-opt %s --tp-expand-gpu-math --tp-expand-math --tp-math-to-intrinsics | FileCheck %s

// One special instruction for each lane; 2^n comes of integer arithmetic.
// CHECK-LABEL: func @exp
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"({{.*}}) : (f32) -> f32
// CHECK-NOT: llvm.call_intrinsic
// CHECK: return
func.func @exp(%x: vector<2xf32>) -> vector<2xf32> {
  %0 = math.exp %x : vector<2xf32>
  return %0 : vector<2xf32>
}

// No function of the dialect is left for upstream's conversion, which would call
// a device library.
// CHECK-LABEL: func @instructions
// CHECK-NOT: math.
// CHECK: "llvm.sqrt"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
// CHECK: "llvm.fabs"
// CHECK: "llvm.minnum"
// CHECK: "llvm.maxnum"
// CHECK: "llvm.roundeven"({{.*}}) : (f64) -> f64
// CHECK: "llvm.ctlz"({{.*}}, %false) : (i32, i1) -> i32
// CHECK-NOT: math.
// CHECK: return
func.func @instructions(%x: vector<4xf32>, %d: f64, %i: i32) -> (vector<4xf32>, f64, i32) {
  %0 = math.sqrt %x : vector<4xf32>
  %1 = math.absf %0 : vector<4xf32>
  %2 = arith.minnumf %1, %x : vector<4xf32>
  %3 = arith.maxnumf %2, %x : vector<4xf32>
  %4 = math.roundeven %d : f64
  %5 = math.ctlz %i : i32
  return %3, %4, %5 : vector<4xf32>, f64, i32
}

// CHECK-LABEL: func @polynomials
// CHECK-NOT: math.
// CHECK: return
func.func @polynomials(%x: vector<4xf32>) -> vector<4xf32> {
  %0 = math.tanh %x : vector<4xf32>
  %1 = math.erf %0 : vector<4xf32>
  %2 = math.rsqrt %1 : vector<4xf32>
  return %2 : vector<4xf32>
}

// Upstream has a floor of a quotient in no instruction.
// CHECK-LABEL: func @quotient
// CHECK-NOT: floordivsi
// CHECK: return
func.func @quotient(%x: index, %y: index) -> index {
  %0 = arith.floordivsi %x, %y : index
  return %0 : index
}
