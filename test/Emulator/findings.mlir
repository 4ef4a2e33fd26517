// The emulator itself, on kernels by hand: each negates 64 numbers by way of
// shared memory, some rightly, the others each with one mistake.
// RUN: not tp-check-kernels %s | FileCheck %s

// CHECK: right: right in 2 runs
// CHECK: no_barrier: WRONG
// CHECK: kernel no_barrier: data race: shared memory {{written|read}} by thread {{[0-9]+}} of the block, no barrier between; block (0, 0, 0) thread ({{[0-9]+}}, 0, 0) at [no_barrier #
// CHECK: uninitialised: WRONG
// CHECK: kernel uninitialised: uninitialised shared memory: byte {{[0-9]+}} of @buf; block (0, 0, 0) thread ({{[0-9]+}}, 0, 0)
// CHECK: shared_bounds: WRONG
// CHECK: kernel shared_bounds: shared memory out of bounds: 4 bytes at offset {{[0-9]+}}, outside of any variable; block (0, 0, 0) thread (0, 0, 0)
// CHECK: global_bounds: WRONG
// CHECK: kernel global_bounds: global memory out of bounds: 4 bytes at offset 256 of an allocation of 256 bytes; block (0, 0, 0) thread (0, 0, 0) at [global_bounds #{{[0-9]+}}: store float
// CHECK: misaligned: WRONG
// CHECK: kernel misaligned: misaligned access: 8 bytes at 0x
// CHECK: divergent: WRONG
// CHECK: kernel divergent: divergent barrier: thread {{[0-9]+}} of the same warp is at [divergent #
// CHECK: stuck: WRONG
// CHECK: kernel stuck: threads wait for each other for ever: 0 have exited, 32 wait at [stuck #{{.*}}], 32 wait at [stuck #
// CHECK: exited: WRONG
// CHECK: kernel exited: barrier after some threads have exited: 32 of 64 left
// CHECK: warp_right: right in 2 runs
// CHECK: warp_barrier: WRONG
// CHECK: kernel warp_barrier: {{data race|uninitialised shared memory}}
// CHECK: named_right: right in 2 runs
// CHECK: shuffle_lane: WRONG
// CHECK: kernel shuffle_lane: shuffle from a lane that is not there: lane 0 reads lane 16, present 0x0000ffff
// CHECK: overlap: WRONG
// CHECK: kernel overlap: data race between blocks: global memory written by block number {{[01]}}
// CHECK: copy_right: right in 2 runs
// CHECK: copy_no_wait: WRONG
// CHECK: kernel copy_no_wait: asynchronous copy not waited for: its target is used before cp.async.wait
// CHECK: copy_late_barrier: WRONG
// CHECK: kernel copy_late_barrier: {{data race|uninitialised shared memory}}

gpu.module @kernels {
  llvm.mlir.global internal @buf() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<64 x f32>

  gpu.func @right(%x: !llvm.ptr, %y: !llvm.ptr) kernel
      attributes {tp.grid = array<i64: 1, 1, 1>, tp.block = array<i64: 64, 1, 1>} {
      %t = nvvm.read.ptx.sreg.tid.x : i32
      %buf = llvm.mlir.addressof @buf : !llvm.ptr<3>
      %xt = llvm.getelementptr %x[%t] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %st = llvm.getelementptr %buf[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %last = arith.constant 63 : i32
      %u = arith.subi %last, %t : i32
      %su = llvm.getelementptr %buf[%u] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %yu = llvm.getelementptr %y[%u] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %v = llvm.load %xt : !llvm.ptr -> f32
      llvm.store %v, %st : f32, !llvm.ptr<3>
      nvvm.barrier0
      %w = llvm.load %su : !llvm.ptr<3> -> f32
      %n = arith.negf %w : f32
      llvm.store %n, %yu : f32, !llvm.ptr
      gpu.return
  }

  gpu.func @no_barrier(%x: !llvm.ptr, %y: !llvm.ptr) kernel
      attributes {tp.grid = array<i64: 1, 1, 1>, tp.block = array<i64: 64, 1, 1>} {
      %t = nvvm.read.ptx.sreg.tid.x : i32
      %buf = llvm.mlir.addressof @buf : !llvm.ptr<3>
      %xt = llvm.getelementptr %x[%t] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %st = llvm.getelementptr %buf[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %last = arith.constant 63 : i32
      %u = arith.subi %last, %t : i32
      %su = llvm.getelementptr %buf[%u] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %yu = llvm.getelementptr %y[%u] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %v = llvm.load %xt : !llvm.ptr -> f32
      llvm.store %v, %st : f32, !llvm.ptr<3>
      %w = llvm.load %su : !llvm.ptr<3> -> f32
      %n = arith.negf %w : f32
      llvm.store %n, %yu : f32, !llvm.ptr
      gpu.return
  }

  gpu.func @uninitialised(%x: !llvm.ptr, %y: !llvm.ptr) kernel
      attributes {tp.grid = array<i64: 1, 1, 1>, tp.block = array<i64: 64, 1, 1>} {
      %t = nvvm.read.ptx.sreg.tid.x : i32
      %buf = llvm.mlir.addressof @buf : !llvm.ptr<3>
      %xt = llvm.getelementptr %x[%t] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %st = llvm.getelementptr %buf[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %last = arith.constant 63 : i32
      %u = arith.subi %last, %t : i32
      %su = llvm.getelementptr %buf[%u] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %yu = llvm.getelementptr %y[%u] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %v = llvm.load %xt : !llvm.ptr -> f32
      %c32 = arith.constant 32 : i32
      %low = arith.cmpi ult, %t, %c32 : i32
      scf.if %low {
        llvm.store %v, %st : f32, !llvm.ptr<3>
      }
      nvvm.barrier0
      %w = llvm.load %su : !llvm.ptr<3> -> f32
      %n = arith.negf %w : f32
      llvm.store %n, %yu : f32, !llvm.ptr
      gpu.return
  }

  gpu.func @shared_bounds(%x: !llvm.ptr, %y: !llvm.ptr) kernel
      attributes {tp.grid = array<i64: 1, 1, 1>, tp.block = array<i64: 64, 1, 1>} {
      %t = nvvm.read.ptx.sreg.tid.x : i32
      %buf = llvm.mlir.addressof @buf : !llvm.ptr<3>
      %xt = llvm.getelementptr %x[%t] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %st = llvm.getelementptr %buf[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %last = arith.constant 63 : i32
      %u = arith.subi %last, %t : i32
      %su = llvm.getelementptr %buf[%u] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %yu = llvm.getelementptr %y[%u] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %v = llvm.load %xt : !llvm.ptr -> f32
      llvm.store %v, %st : f32, !llvm.ptr<3>
      nvvm.barrier0
      %sb = llvm.getelementptr %su[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f32
      %w = llvm.load %sb : !llvm.ptr<3> -> f32
      %n = arith.negf %w : f32
      llvm.store %n, %yu : f32, !llvm.ptr
      gpu.return
  }

  gpu.func @global_bounds(%x: !llvm.ptr, %y: !llvm.ptr) kernel
      attributes {tp.grid = array<i64: 1, 1, 1>, tp.block = array<i64: 64, 1, 1>} {
      %t = nvvm.read.ptx.sreg.tid.x : i32
      %buf = llvm.mlir.addressof @buf : !llvm.ptr<3>
      %xt = llvm.getelementptr %x[%t] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %st = llvm.getelementptr %buf[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %last = arith.constant 63 : i32
      %u = arith.subi %last, %t : i32
      %su = llvm.getelementptr %buf[%u] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %yu = llvm.getelementptr %y[%u] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %v = llvm.load %xt : !llvm.ptr -> f32
      llvm.store %v, %st : f32, !llvm.ptr<3>
      nvvm.barrier0
      %w = llvm.load %su : !llvm.ptr<3> -> f32
      %n = arith.negf %w : f32
      %yb = llvm.getelementptr %yu[1] : (!llvm.ptr) -> !llvm.ptr, f32
      llvm.store %n, %yb : f32, !llvm.ptr
      gpu.return
  }

  gpu.func @misaligned(%x: !llvm.ptr, %y: !llvm.ptr) kernel
      attributes {tp.grid = array<i64: 1, 1, 1>, tp.block = array<i64: 64, 1, 1>} {
      %t = nvvm.read.ptx.sreg.tid.x : i32
      %buf = llvm.mlir.addressof @buf : !llvm.ptr<3>
      %xt = llvm.getelementptr %x[%t] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %st = llvm.getelementptr %buf[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %last = arith.constant 63 : i32
      %u = arith.subi %last, %t : i32
      %su = llvm.getelementptr %buf[%u] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %yu = llvm.getelementptr %y[%u] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %v = llvm.load %xt : !llvm.ptr -> f32
      llvm.store %v, %st : f32, !llvm.ptr<3>
      nvvm.barrier0
      %w = llvm.load %su : !llvm.ptr<3> -> f32
      %n = arith.negf %w : f32
      llvm.store %n, %yu : f32, !llvm.ptr
      nvvm.barrier0
      %one = arith.constant 1 : i32
      %odd = arith.ori %t, %one : i32
      %yo = llvm.getelementptr %y[%odd] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %first = arith.cmpi ult, %t, %one : i32
      %pair = vector.broadcast %w : f32 to vector<2xf32>
      scf.if %first {
        llvm.store %pair, %yo {alignment = 8 : i64} : vector<2xf32>, !llvm.ptr
      }
      gpu.return
  }

  gpu.func @divergent(%x: !llvm.ptr, %y: !llvm.ptr) kernel
      attributes {tp.grid = array<i64: 1, 1, 1>, tp.block = array<i64: 64, 1, 1>} {
      %t = nvvm.read.ptx.sreg.tid.x : i32
      %buf = llvm.mlir.addressof @buf : !llvm.ptr<3>
      %xt = llvm.getelementptr %x[%t] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %st = llvm.getelementptr %buf[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %last = arith.constant 63 : i32
      %u = arith.subi %last, %t : i32
      %su = llvm.getelementptr %buf[%u] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %yu = llvm.getelementptr %y[%u] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %v = llvm.load %xt : !llvm.ptr -> f32
      llvm.store %v, %st : f32, !llvm.ptr<3>
      %c16 = arith.constant 16 : i32
      %low = arith.cmpi ult, %t, %c16 : i32
      scf.if %low {
        nvvm.barrier0
      }
      nvvm.barrier0
      %w = llvm.load %su : !llvm.ptr<3> -> f32
      %n = arith.negf %w : f32
      llvm.store %n, %yu : f32, !llvm.ptr
      gpu.return
  }

  gpu.func @stuck(%x: !llvm.ptr, %y: !llvm.ptr) kernel
      attributes {tp.grid = array<i64: 1, 1, 1>, tp.block = array<i64: 64, 1, 1>} {
      %t = nvvm.read.ptx.sreg.tid.x : i32
      %buf = llvm.mlir.addressof @buf : !llvm.ptr<3>
      %xt = llvm.getelementptr %x[%t] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %st = llvm.getelementptr %buf[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %last = arith.constant 63 : i32
      %u = arith.subi %last, %t : i32
      %su = llvm.getelementptr %buf[%u] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %yu = llvm.getelementptr %y[%u] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %v = llvm.load %xt : !llvm.ptr -> f32
      llvm.store %v, %st : f32, !llvm.ptr<3>
      %c32 = arith.constant 32 : i32
      %low = arith.cmpi ult, %t, %c32 : i32
      %one = arith.constant 1 : i32
      %n64 = arith.constant 64 : i32
      scf.if %low {
        nvvm.barrier id = %one number_of_threads = %n64
      } else {
        nvvm.barrier0
      }
      %w = llvm.load %su : !llvm.ptr<3> -> f32
      %n = arith.negf %w : f32
      llvm.store %n, %yu : f32, !llvm.ptr
      gpu.return
  }

  gpu.func @exited(%x: !llvm.ptr, %y: !llvm.ptr) kernel
      attributes {tp.grid = array<i64: 1, 1, 1>, tp.block = array<i64: 64, 1, 1>} {
      %t = nvvm.read.ptx.sreg.tid.x : i32
      %buf = llvm.mlir.addressof @buf : !llvm.ptr<3>
      %xt = llvm.getelementptr %x[%t] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %st = llvm.getelementptr %buf[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %last = arith.constant 63 : i32
      %u = arith.subi %last, %t : i32
      %su = llvm.getelementptr %buf[%u] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %yu = llvm.getelementptr %y[%u] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %v = llvm.load %xt : !llvm.ptr -> f32
      llvm.store %v, %st : f32, !llvm.ptr<3>
      %c32 = arith.constant 32 : i32
      %low = arith.cmpi ult, %t, %c32 : i32
      scf.if %low {
        nvvm.barrier0
        %w = llvm.load %st : !llvm.ptr<3> -> f32
        %n = arith.negf %w : f32
        llvm.store %n, %yu : f32, !llvm.ptr
      }
      gpu.return
  }

  gpu.func @warp_right(%x: !llvm.ptr, %y: !llvm.ptr) kernel
      attributes {tp.grid = array<i64: 1, 1, 1>, tp.block = array<i64: 64, 1, 1>} {
      %t = nvvm.read.ptx.sreg.tid.x : i32
      %buf = llvm.mlir.addressof @buf : !llvm.ptr<3>
      %xt = llvm.getelementptr %x[%t] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %st = llvm.getelementptr %buf[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %last = arith.constant 63 : i32
      %u = arith.subi %last, %t : i32
      %su = llvm.getelementptr %buf[%u] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %yu = llvm.getelementptr %y[%u] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %v = llvm.load %xt : !llvm.ptr -> f32
      llvm.store %v, %st : f32, !llvm.ptr<3>
      %all = arith.constant -1 : i32
      nvvm.bar.warp.sync %all : i32
      %c31 = arith.constant 31 : i32
      %near = arith.xori %t, %c31 : i32
      %sn = llvm.getelementptr %buf[%near] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %yn = llvm.getelementptr %y[%near] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %w = llvm.load %sn : !llvm.ptr<3> -> f32
      %n = arith.negf %w : f32
      llvm.store %n, %yn : f32, !llvm.ptr
      gpu.return
  }

  gpu.func @warp_barrier(%x: !llvm.ptr, %y: !llvm.ptr) kernel
      attributes {tp.grid = array<i64: 1, 1, 1>, tp.block = array<i64: 64, 1, 1>} {
      %t = nvvm.read.ptx.sreg.tid.x : i32
      %buf = llvm.mlir.addressof @buf : !llvm.ptr<3>
      %xt = llvm.getelementptr %x[%t] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %st = llvm.getelementptr %buf[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %last = arith.constant 63 : i32
      %u = arith.subi %last, %t : i32
      %su = llvm.getelementptr %buf[%u] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %yu = llvm.getelementptr %y[%u] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %v = llvm.load %xt : !llvm.ptr -> f32
      llvm.store %v, %st : f32, !llvm.ptr<3>
      %all = arith.constant -1 : i32
      nvvm.bar.warp.sync %all : i32
      %w = llvm.load %su : !llvm.ptr<3> -> f32
      %n = arith.negf %w : f32
      llvm.store %n, %yu : f32, !llvm.ptr
      gpu.return
  }

  gpu.func @named_right(%x: !llvm.ptr, %y: !llvm.ptr) kernel
      attributes {tp.grid = array<i64: 1, 1, 1>, tp.block = array<i64: 64, 1, 1>} {
      %t = nvvm.read.ptx.sreg.tid.x : i32
      %buf = llvm.mlir.addressof @buf : !llvm.ptr<3>
      %xt = llvm.getelementptr %x[%t] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %st = llvm.getelementptr %buf[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %last = arith.constant 63 : i32
      %u = arith.subi %last, %t : i32
      %su = llvm.getelementptr %buf[%u] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %yu = llvm.getelementptr %y[%u] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %v = llvm.load %xt : !llvm.ptr -> f32
      llvm.store %v, %st : f32, !llvm.ptr<3>
      %one = arith.constant 1 : i32
      %n64 = arith.constant 64 : i32
      nvvm.barrier id = %one number_of_threads = %n64
      %w = llvm.load %su : !llvm.ptr<3> -> f32
      %n = arith.negf %w : f32
      llvm.store %n, %yu : f32, !llvm.ptr
      gpu.return
  }

  gpu.func @shuffle_lane(%x: !llvm.ptr, %y: !llvm.ptr) kernel
      attributes {tp.grid = array<i64: 1, 1, 1>, tp.block = array<i64: 64, 1, 1>} {
      %t = nvvm.read.ptx.sreg.tid.x : i32
      %buf = llvm.mlir.addressof @buf : !llvm.ptr<3>
      %xt = llvm.getelementptr %x[%t] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %st = llvm.getelementptr %buf[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %last = arith.constant 63 : i32
      %u = arith.subi %last, %t : i32
      %su = llvm.getelementptr %buf[%u] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %yu = llvm.getelementptr %y[%u] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %v = llvm.load %xt : !llvm.ptr -> f32
      llvm.store %v, %st : f32, !llvm.ptr<3>
      nvvm.barrier0
      %w = llvm.load %su : !llvm.ptr<3> -> f32
      %c32 = arith.constant 32 : i32
      %c5 = arith.constant 5 : i32
      %mask = arith.constant 65535 : i32
      %c31 = arith.constant 31 : i32
      %lane = arith.andi %t, %c31 : i32
      %c16 = arith.constant 16 : i32
      %low = arith.cmpi ult, %lane, %c16 : i32
      scf.if %low {
        %s = nvvm.shfl.sync bfly %mask, %w, %c16, %c31 : f32 -> f32
        %n = arith.negf %s : f32
        llvm.store %n, %yu : f32, !llvm.ptr
      }
      gpu.return
  }

  gpu.func @overlap(%x: !llvm.ptr, %y: !llvm.ptr) kernel
      attributes {tp.grid = array<i64: 2, 1, 1>, tp.block = array<i64: 64, 1, 1>} {
      %t = nvvm.read.ptx.sreg.tid.x : i32
      %buf = llvm.mlir.addressof @buf : !llvm.ptr<3>
      %xt = llvm.getelementptr %x[%t] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %st = llvm.getelementptr %buf[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %last = arith.constant 63 : i32
      %u = arith.subi %last, %t : i32
      %su = llvm.getelementptr %buf[%u] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %yu = llvm.getelementptr %y[%u] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %v = llvm.load %xt : !llvm.ptr -> f32
      llvm.store %v, %st : f32, !llvm.ptr<3>
      nvvm.barrier0
      %w = llvm.load %su : !llvm.ptr<3> -> f32
      %n = arith.negf %w : f32
      llvm.store %n, %yu : f32, !llvm.ptr
      gpu.return
  }

  gpu.func @copy_right(%x: !llvm.ptr, %y: !llvm.ptr) kernel
      attributes {tp.grid = array<i64: 1, 1, 1>, tp.block = array<i64: 64, 1, 1>} {
      %t = nvvm.read.ptx.sreg.tid.x : i32
      %buf = llvm.mlir.addressof @buf : !llvm.ptr<3>
      %xt = llvm.getelementptr %x[%t] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %st = llvm.getelementptr %buf[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %last = arith.constant 63 : i32
      %u = arith.subi %last, %t : i32
      %su = llvm.getelementptr %buf[%u] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %yu = llvm.getelementptr %y[%u] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %c16 = arith.constant 16 : i32
      %copies = arith.cmpi ult, %t, %c16 : i32
      %four = arith.constant 4 : i32
      %i4 = arith.muli %t, %four : i32
      %from = llvm.getelementptr %x[%i4] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %fromg = llvm.addrspacecast %from : !llvm.ptr to !llvm.ptr<1>
      %to = llvm.getelementptr %buf[%i4] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      scf.if %copies {
        nvvm.cp.async.shared.global %to, %fromg, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
        nvvm.cp.async.commit.group
      }
      nvvm.cp.async.wait.group 0
      nvvm.barrier0
      %w = llvm.load %su : !llvm.ptr<3> -> f32
      %n = arith.negf %w : f32
      llvm.store %n, %yu : f32, !llvm.ptr
      gpu.return
  }

  gpu.func @copy_no_wait(%x: !llvm.ptr, %y: !llvm.ptr) kernel
      attributes {tp.grid = array<i64: 1, 1, 1>, tp.block = array<i64: 64, 1, 1>} {
      %t = nvvm.read.ptx.sreg.tid.x : i32
      %buf = llvm.mlir.addressof @buf : !llvm.ptr<3>
      %xt = llvm.getelementptr %x[%t] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %st = llvm.getelementptr %buf[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %last = arith.constant 63 : i32
      %u = arith.subi %last, %t : i32
      %su = llvm.getelementptr %buf[%u] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %yu = llvm.getelementptr %y[%u] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %c16 = arith.constant 16 : i32
      %copies = arith.cmpi ult, %t, %c16 : i32
      %four = arith.constant 4 : i32
      %i4 = arith.muli %t, %four : i32
      %from = llvm.getelementptr %x[%i4] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %fromg = llvm.addrspacecast %from : !llvm.ptr to !llvm.ptr<1>
      %to = llvm.getelementptr %buf[%i4] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      scf.if %copies {
        nvvm.cp.async.shared.global %to, %fromg, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
        nvvm.cp.async.commit.group
      }
      nvvm.barrier0
      %w = llvm.load %su : !llvm.ptr<3> -> f32
      %n = arith.negf %w : f32
      llvm.store %n, %yu : f32, !llvm.ptr
      gpu.return
  }

  gpu.func @copy_late_barrier(%x: !llvm.ptr, %y: !llvm.ptr) kernel
      attributes {tp.grid = array<i64: 1, 1, 1>, tp.block = array<i64: 64, 1, 1>} {
      %t = nvvm.read.ptx.sreg.tid.x : i32
      %buf = llvm.mlir.addressof @buf : !llvm.ptr<3>
      %xt = llvm.getelementptr %x[%t] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %st = llvm.getelementptr %buf[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %last = arith.constant 63 : i32
      %u = arith.subi %last, %t : i32
      %su = llvm.getelementptr %buf[%u] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %yu = llvm.getelementptr %y[%u] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %c16 = arith.constant 16 : i32
      %copies = arith.cmpi ult, %t, %c16 : i32
      %four = arith.constant 4 : i32
      %i4 = arith.muli %t, %four : i32
      %from = llvm.getelementptr %x[%i4] : (!llvm.ptr, i32) -> !llvm.ptr, f32
      %fromg = llvm.addrspacecast %from : !llvm.ptr to !llvm.ptr<1>
      %to = llvm.getelementptr %buf[%i4] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      scf.if %copies {
        nvvm.cp.async.shared.global %to, %fromg, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
        nvvm.cp.async.commit.group
      }
      nvvm.cp.async.wait.group 0
      %w = llvm.load %su : !llvm.ptr<3> -> f32
      %n = arith.negf %w : f32
      llvm.store %n, %yu : f32, !llvm.ptr
      gpu.return
  }

}

func.func private @right(%x: tensor<64xf32>) -> tensor<64xf32> attributes {tp.kernel = "rows"} {
  %y = arith.negf %x : tensor<64xf32>
  return %y : tensor<64xf32>
}
func.func private @no_barrier(%x: tensor<64xf32>) -> tensor<64xf32> attributes {tp.kernel = "rows"} {
  %y = arith.negf %x : tensor<64xf32>
  return %y : tensor<64xf32>
}
func.func private @uninitialised(%x: tensor<64xf32>) -> tensor<64xf32> attributes {tp.kernel = "rows"} {
  %y = arith.negf %x : tensor<64xf32>
  return %y : tensor<64xf32>
}
func.func private @shared_bounds(%x: tensor<64xf32>) -> tensor<64xf32> attributes {tp.kernel = "rows"} {
  %y = arith.negf %x : tensor<64xf32>
  return %y : tensor<64xf32>
}
func.func private @global_bounds(%x: tensor<64xf32>) -> tensor<64xf32> attributes {tp.kernel = "rows"} {
  %y = arith.negf %x : tensor<64xf32>
  return %y : tensor<64xf32>
}
func.func private @misaligned(%x: tensor<64xf32>) -> tensor<64xf32> attributes {tp.kernel = "rows"} {
  %y = arith.negf %x : tensor<64xf32>
  return %y : tensor<64xf32>
}
func.func private @divergent(%x: tensor<64xf32>) -> tensor<64xf32> attributes {tp.kernel = "rows"} {
  %y = arith.negf %x : tensor<64xf32>
  return %y : tensor<64xf32>
}
func.func private @stuck(%x: tensor<64xf32>) -> tensor<64xf32> attributes {tp.kernel = "rows"} {
  %y = arith.negf %x : tensor<64xf32>
  return %y : tensor<64xf32>
}
func.func private @exited(%x: tensor<64xf32>) -> tensor<64xf32> attributes {tp.kernel = "rows"} {
  %y = arith.negf %x : tensor<64xf32>
  return %y : tensor<64xf32>
}
func.func private @warp_right(%x: tensor<64xf32>) -> tensor<64xf32> attributes {tp.kernel = "rows"} {
  %y = arith.negf %x : tensor<64xf32>
  return %y : tensor<64xf32>
}
func.func private @warp_barrier(%x: tensor<64xf32>) -> tensor<64xf32> attributes {tp.kernel = "rows"} {
  %y = arith.negf %x : tensor<64xf32>
  return %y : tensor<64xf32>
}
func.func private @named_right(%x: tensor<64xf32>) -> tensor<64xf32> attributes {tp.kernel = "rows"} {
  %y = arith.negf %x : tensor<64xf32>
  return %y : tensor<64xf32>
}
func.func private @shuffle_lane(%x: tensor<64xf32>) -> tensor<64xf32> attributes {tp.kernel = "rows"} {
  %y = arith.negf %x : tensor<64xf32>
  return %y : tensor<64xf32>
}
func.func private @overlap(%x: tensor<64xf32>) -> tensor<64xf32> attributes {tp.kernel = "rows"} {
  %y = arith.negf %x : tensor<64xf32>
  return %y : tensor<64xf32>
}
func.func private @copy_right(%x: tensor<64xf32>) -> tensor<64xf32> attributes {tp.kernel = "rows"} {
  %y = arith.negf %x : tensor<64xf32>
  return %y : tensor<64xf32>
}
func.func private @copy_no_wait(%x: tensor<64xf32>) -> tensor<64xf32> attributes {tp.kernel = "rows"} {
  %y = arith.negf %x : tensor<64xf32>
  return %y : tensor<64xf32>
}
func.func private @copy_late_barrier(%x: tensor<64xf32>) -> tensor<64xf32> attributes {tp.kernel = "rows"} {
  %y = arith.negf %x : tensor<64xf32>
  return %y : tensor<64xf32>
}

func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = call @right(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %1 = call @no_barrier(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %2 = call @uninitialised(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %3 = call @shared_bounds(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %4 = call @global_bounds(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %5 = call @misaligned(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %6 = call @divergent(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %7 = call @stuck(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %8 = call @exited(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %9 = call @warp_right(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %10 = call @warp_barrier(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %11 = call @named_right(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %12 = call @shuffle_lane(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %13 = call @overlap(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %14 = call @copy_right(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %15 = call @copy_no_wait(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %16 = call @copy_late_barrier(%x) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
