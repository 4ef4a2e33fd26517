// RUN: tp-opt %s --tp-merge-gpu-kernels --split-input-file | FileCheck %s

// Numbers that a position is compared with, and added to it, are passed; equal ones
// are passed once, and one that is multiplied by zero is nobody's.
// CHECK-LABEL: gpu.module @kernels
// CHECK: gpu.func @few(%[[P:.*]]: !llvm.ptr, %[[A:.*]]: i64, %[[B:.*]]: i64) kernel
// CHECK-SAME: tp.grid = array<i64: 1, 1, 1>
// CHECK-SAME: tp.numbers = array<i64: 3, 8>
// CHECK-DAG: %[[ADDED:.*]] = arith.trunci %[[A]] : i64 to i32
// CHECK-DAG: %[[BOUND:.*]] = arith.trunci %[[B]] : i64 to i32
// CHECK-DAG: %[[WIDE:.*]] = arith.index_cast %[[B]] : i64 to index
// CHECK: %[[I:.*]] = nvvm.read.ptx.sreg.tid.x
// CHECK: arith.cmpi ult, %[[I]], %[[BOUND]]
// CHECK: arith.addi %[[I]], %[[ADDED]]
// CHECK: arith.constant 5 : index
// CHECK: llvm.func @many(!llvm.ptr, i64, i64) attributes
// CHECK-SAME: tp.code = @few
// CHECK-SAME: tp.grid = array<i64: 9, 1, 1>
// CHECK-SAME: tp.numbers = array<i64: 4, 16>
gpu.module @kernels {
  gpu.func @few(%x: !llvm.ptr) kernel attributes {tp.block = array<i64: 32, 1, 1>, tp.grid = array<i64: 1, 1, 1>, tp.shared_bytes = 0 : i64} {
    %i = nvvm.read.ptx.sreg.tid.x : i32
    %bound = arith.constant 8 : i32
    %isIn = arith.cmpi ult, %i, %bound : i32
    %three = arith.constant 3 : i32
    %moved = arith.addi %i, %three : i32
    %unused = arith.constant 5 : index
    %zero = arith.constant 0 : index
    %base = arith.muli %zero, %unused : index
    %wide = arith.constant 8 : index
    %at = arith.index_cast %i : i32 to index
    %scaled = arith.muli %at, %wide : index
    %place = arith.addi %base, %scaled : index
    %offset = arith.index_cast %place : index to i64
    scf.if %isIn {
      %to = llvm.getelementptr %x[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i32
      llvm.store %moved, %to : i32, !llvm.ptr
    }
    gpu.return
  }
  gpu.func @many(%x: !llvm.ptr) kernel attributes {tp.block = array<i64: 32, 1, 1>, tp.grid = array<i64: 9, 1, 1>, tp.shared_bytes = 0 : i64} {
    %i = nvvm.read.ptx.sreg.tid.x : i32
    %bound = arith.constant 16 : i32
    %isIn = arith.cmpi ult, %i, %bound : i32
    %three = arith.constant 4 : i32
    %moved = arith.addi %i, %three : i32
    %unused = arith.constant 6 : index
    %zero = arith.constant 0 : index
    %base = arith.muli %zero, %unused : index
    %wide = arith.constant 16 : index
    %at = arith.index_cast %i : i32 to index
    %scaled = arith.muli %at, %wide : index
    %place = arith.addi %base, %scaled : index
    %offset = arith.index_cast %place : index to i64
    scf.if %isIn {
      %to = llvm.getelementptr %x[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i32
      llvm.store %moved, %to : i32, !llvm.ptr
    }
    gpu.return
  }
}

// -----

// A divisor, also one that is computed from constants, a loop's bound and a choice
// that is made when the kernel is compiled stay what they are.
// CHECK-LABEL: gpu.module @kernels
// CHECK-NOT: tp.code
// CHECK-NOT: tp.numbers
// CHECK: gpu.func @divides_by_6(
// CHECK: gpu.func @divides_by_8(
// CHECK: gpu.func @loops_to_3(
// CHECK: gpu.func @loops_to_4(
// CHECK: gpu.func @chooses_1(
// CHECK: gpu.func @chooses_9(
gpu.module @kernels {
  gpu.func @divides_by_6(%x: !llvm.ptr) kernel attributes {tp.block = array<i64: 32, 1, 1>, tp.grid = array<i64: 1, 1, 1>} {
    %i = nvvm.read.ptx.sreg.tid.x : i32
    %a = arith.constant 3 : i32
    %two = arith.constant 2 : i32
    %b = arith.muli %a, %two : i32
    %y = arith.divui %i, %b : i32
    llvm.store %y, %x : i32, !llvm.ptr
    gpu.return
  }
  gpu.func @divides_by_8(%x: !llvm.ptr) kernel attributes {tp.block = array<i64: 32, 1, 1>, tp.grid = array<i64: 1, 1, 1>} {
    %i = nvvm.read.ptx.sreg.tid.x : i32
    %a = arith.constant 4 : i32
    %two = arith.constant 2 : i32
    %b = arith.muli %a, %two : i32
    %y = arith.divui %i, %b : i32
    llvm.store %y, %x : i32, !llvm.ptr
    gpu.return
  }
  gpu.func @loops_to_3(%x: !llvm.ptr) kernel attributes {tp.block = array<i64: 32, 1, 1>, tp.grid = array<i64: 1, 1, 1>} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %end = arith.constant 3 : i32
    scf.for %j = %zero to %end step %one : i32 {
      llvm.store volatile %j, %x : i32, !llvm.ptr
    }
    gpu.return
  }
  gpu.func @loops_to_4(%x: !llvm.ptr) kernel attributes {tp.block = array<i64: 32, 1, 1>, tp.grid = array<i64: 1, 1, 1>} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %end = arith.constant 4 : i32
    scf.for %j = %zero to %end step %one : i32 {
      llvm.store volatile %j, %x : i32, !llvm.ptr
    }
    gpu.return
  }
  gpu.func @chooses_1(%x: !llvm.ptr) kernel attributes {tp.block = array<i64: 32, 1, 1>, tp.grid = array<i64: 1, 1, 1>} {
    %a = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %is = arith.cmpi ult, %a, %two : i32
    scf.if %is {
      llvm.store %two, %x : i32, !llvm.ptr
    }
    gpu.return
  }
  gpu.func @chooses_9(%x: !llvm.ptr) kernel attributes {tp.block = array<i64: 32, 1, 1>, tp.grid = array<i64: 1, 1, 1>} {
    %a = arith.constant 9 : i32
    %two = arith.constant 2 : i32
    %is = arith.cmpi ult, %a, %two : i32
    scf.if %is {
      llvm.store %two, %x : i32, !llvm.ptr
    }
    gpu.return
  }
}

// -----

// What differs otherwise has its own code: threads, a float, an operand's place.
// CHECK-LABEL: gpu.module @kernels
// CHECK-NOT: tp.code
gpu.module @kernels {
  gpu.func @base(%x: !llvm.ptr, %y: !llvm.ptr) kernel attributes {tp.block = array<i64: 32, 1, 1>, tp.grid = array<i64: 1, 1, 1>} {
    %a = arith.constant 1.0 : f32
    llvm.store %a, %x : f32, !llvm.ptr
    gpu.return
  }
  gpu.func @threads(%x: !llvm.ptr, %y: !llvm.ptr) kernel attributes {tp.block = array<i64: 64, 1, 1>, tp.grid = array<i64: 1, 1, 1>} {
    %a = arith.constant 1.0 : f32
    llvm.store %a, %x : f32, !llvm.ptr
    gpu.return
  }
  gpu.func @float(%x: !llvm.ptr, %y: !llvm.ptr) kernel attributes {tp.block = array<i64: 32, 1, 1>, tp.grid = array<i64: 1, 1, 1>} {
    %a = arith.constant 2.0 : f32
    llvm.store %a, %x : f32, !llvm.ptr
    gpu.return
  }
  gpu.func @operand(%x: !llvm.ptr, %y: !llvm.ptr) kernel attributes {tp.block = array<i64: 32, 1, 1>, tp.grid = array<i64: 1, 1, 1>} {
    %a = arith.constant 1.0 : f32
    llvm.store %a, %y : f32, !llvm.ptr
    gpu.return
  }
}

// -----

// Kernels in CUDA C++ share their code if they bind the same numbers.
// CHECK-LABEL: gpu.module @kernels
// CHECK: llvm.func @a(i64) {{.*}}tp.device_entry
// CHECK: llvm.func @b(i64) {{.*}}tp.code = @a, tp.grid = array<i64: 2, 1, 1>
// CHECK: llvm.func @c(i64) {{.*}}tp.device_entry
gpu.module @kernels {
  llvm.func @a(i64) attributes {tp.block = array<i64: 32, 1, 1>, tp.grid = array<i64: 1, 1, 1>, tp.device_entry = {entry = "e", source = "s", shape = {n = 1 : i64}}}
  llvm.func @b(i64) attributes {tp.block = array<i64: 32, 1, 1>, tp.grid = array<i64: 2, 1, 1>, tp.device_entry = {entry = "e", source = "s", shape = {n = 1 : i64}}}
  llvm.func @c(i64) attributes {tp.block = array<i64: 32, 1, 1>, tp.grid = array<i64: 1, 1, 1>, tp.device_entry = {entry = "e", source = "s", shape = {n = 2 : i64}}}
}
