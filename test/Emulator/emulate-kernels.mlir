// The emulated code is of the bitcode that the PTX is made of: another PTX is
// refused, and so is what is no bitcode for the device.
// RUN: rm -rf %t && mkdir -p %t
// RUN: tp-compile %s --target cuda:ptx --save-kernels=%t -o %t/model.tpa
// RUN: tp-emulate-kernels %t/kernels.bc --ptx %t/kernels.ptx -o %t/kernels.so
// RUN: llvm-nm -D --defined-only %t/kernels.so | FileCheck %s
// RUN: tp-emulate-kernels %t/kernels.bc --no-checks -o %t/fast.so
// RUN: llvm-nm -D -u %t/kernels.so | FileCheck %s --check-prefix=CHECKED
// RUN: llvm-nm -D -u %t/fast.so | FileCheck %s --check-prefix=FAST
// RUN: sed 's/ret;/trap;/' %t/kernels.ptx > %t/other.ptx
// RUN: not tp-emulate-kernels %t/kernels.bc --ptx %t/other.ptx -o %t/no.so 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not tp-emulate-kernels %t/kernels.ptx -o %t/no.so 2>&1 | FileCheck %s --check-prefix=NOCODE
// RUN: not tp-emulate-kernels %t/kernels.bc -o %t/missing/no.so 2>&1 | FileCheck %s --check-prefix=NOPLACE

// CHECK-DAG: T rows_0__emu
// CHECK-DAG: D tp_emulated_module
// CHECKED: U tpEmulateAccess
// FAST-NOT: tpEmulateAccess
// OTHER: tp-emulate-kernels: {{.*}}other.ptx is not the PTX of {{.*}}kernels.bc: expected hash {{[0-9a-f]+}}, got {{[0-9a-f]+}}
// NOCODE: tp-emulate-kernels: {{.*}}kernels.ptx: {{.*}}
// NOPLACE: tp-emulate-kernels: {{.*}}kernels.bc: linking the emulated kernels failed
func.func @main(%x: tensor<8x32xf32>, %w: tensor<32xf32>) -> tensor<8x32xf32> {
  %y = nn.rms_norm %x, %w {epsilon = 1.0e-5 : f64} : (tensor<8x32xf32>, tensor<32xf32>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}
