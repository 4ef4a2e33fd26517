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
// CHECK: "llvm.sqrt"({{.*}}) : (f64) -> f64
// CHECK: "llvm.fabs"
// CHECK: "llvm.minnum"
// CHECK: "llvm.maxnum"
// CHECK: "llvm.roundeven"({{.*}}) : (f64) -> f64
// CHECK: "llvm.ctlz"({{.*}}, %false) : (i32, i1) -> i32
// CHECK-NOT: math.
// CHECK: return
func.func @instructions(%x: vector<4xf32>, %d: f64, %i: i32) -> (vector<4xf32>, f64, i32) {
  %0 = math.sqrt %d : f64
  %1 = math.absf %x : vector<4xf32>
  %2 = arith.minnumf %1, %x : vector<4xf32>
  %3 = arith.maxnumf %2, %x : vector<4xf32>
  %4 = math.roundeven %0 : f64
  %5 = math.ctlz %i : i32
  return %3, %4, %5 : vector<4xf32>, f64, i32
}

// The approximations' own quotients are by the reciprocal's instruction.
// CHECK-LABEL: func @polynomials
// CHECK-NOT: math.
// CHECK-COUNT-4: "llvm.nvvm.rcp.approx.ftz.f"
// CHECK-NOT: math.
// CHECK-NOT: fdiv
// CHECK-NOT: divf
// CHECK: "llvm.nvvm.rsqrt.approx.f"
// CHECK: return
func.func @polynomials(%x: vector<4xf32>) -> vector<4xf32> {
  %0 = math.tanh %x : vector<4xf32>
  %1 = math.erf %0 : vector<4xf32>
  %2 = math.rsqrt %1 : vector<4xf32>
  return %2 : vector<4xf32>
}

// A program's quotient is a product with the reciprocal and its correction, or
// the fast instruction's where the operands are extreme. A constant's reciprocal
// is known, and a power of two's exact.
// CHECK-LABEL: func @quotients
// CHECK: %[[A:.*]] = llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"(%arg1)
// CHECK: %[[M:.*]] = arith.negf %arg1
// CHECK: %[[E:.*]] = llvm.intr.fma(%[[M]], %[[A]], {{.*}})
// CHECK: %[[I:.*]] = llvm.intr.fma(%[[E]], %[[A]], %[[A]])
// CHECK: %[[P:.*]] = arith.mulf %arg0, %[[I]]
// CHECK: %[[S:.*]] = llvm.intr.fma(%[[M]], %[[P]], %arg0)
// CHECK: %[[C:.*]] = llvm.intr.fma(%[[S]], %[[I]], %[[P]])
// CHECK: %[[F:.*]] = llvm.call_intrinsic "llvm.nvvm.div.full"(%arg0, %arg1)
// CHECK: arith.select {{.*}}, %[[C]], %[[F]] : f32
// CHECK: %[[Q:.*]] = arith.mulf
// CHECK: %[[R:.*]] = llvm.intr.fma(%[[Q]], {{.*}}, %[[X:.*]])
// CHECK: llvm.intr.fma(%[[R]], {{.*}}, %[[Q]])
// CHECK: arith.select
// CHECK: arith.mulf {{.*}} : f32
// CHECK-NOT: fma
// CHECK: call_intrinsic "llvm.nvvm.rsqrt.approx.f"
// CHECK-NOT: fdiv
// CHECK: return
func.func @quotients(%x: f32, %y: f32) -> f32 {
  %n = arith.constant 4095.0 : f32
  %p = arith.constant 4096.0 : f32
  %one = arith.constant 1.0 : f32
  %0 = arith.divf %x, %y : f32
  %1 = arith.divf %0, %n : f32
  %2 = arith.divf %1, %p : f32
  %3 = math.sqrt %2 : f32
  %4 = arith.divf %one, %3 : f32
  return %4 : f32
}

// So is a square root, with the instruction for 1/sqrt(x).
// CHECK-LABEL: func @roots
// CHECK-NOT: "llvm.sqrt"
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.f"
// CHECK: %[[A:.*]] = arith.mulf %arg0, %[[I:.*]] : vector<2xf32>
// CHECK: %[[M:.*]] = arith.negf %[[A]]
// CHECK: %[[S:.*]] = llvm.intr.fma(%[[M]], %[[A]], %arg0)
// CHECK: %[[H:.*]] = arith.mulf %[[I]]
// CHECK: %[[C:.*]] = llvm.intr.fma(%[[S]], %[[H]], %[[A]])
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.nvvm.sqrt.approx.f"
// CHECK: arith.select {{.*}}, %[[C]]
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.nvvm.sqrt.approx.f"
// CHECK-NOT: fma
// CHECK: arith.truncf
func.func @roots(%x: vector<2xf32>) -> (vector<2xf32>, vector<2xbf16>) {
  %0 = math.sqrt %x : vector<2xf32>
  %1 = math.sqrt %x : vector<2xf32>
  %2 = arith.truncf %1 : vector<2xf32> to vector<2xbf16>
  return %0, %2 : vector<2xf32>, vector<2xbf16>
}

// CHECK-LABEL: func @narrow
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.nvvm.div.full"
// CHECK-NOT: fma
// CHECK: arith.truncf
func.func @narrow(%x: vector<2xf32>, %y: vector<2xf32>) -> vector<2xbf16> {
  %0 = arith.divf %x, %y : vector<2xf32>
  %1 = arith.truncf %0 : vector<2xf32> to vector<2xbf16>
  return %1 : vector<2xbf16>
}

// CHECK-LABEL: func @wide
// CHECK: llvm.fdiv %arg0, %arg1 : f64
func.func @wide(%x: f64, %y: f64) -> f64 {
  %0 = arith.divf %x, %y : f64
  return %0 : f64
}

// Upstream has a floor of a quotient in no instruction.
// CHECK-LABEL: func @quotient
// CHECK-NOT: floordivsi
// CHECK: return
func.func @quotient(%x: index, %y: index) -> index {
  %0 = arith.floordivsi %x, %y : index
  return %0 : index
}
