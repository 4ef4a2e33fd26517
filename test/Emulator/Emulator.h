//===- Emulator.h - Run GPU kernels on the CPU -------------------*- C -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface of the shared object tp-emulator (test only). It runs kernels
// that tp-emulate-kernels made from the bitcode that PTX is made from: blocks
// one after the other, a fiber per GPU thread, every access checked. Functions
// may be called from several threads at once; a launch runs in the thread that
// calls it and returns when the kernel has finished.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_EMULATOR_EMULATOR_H
#define TP_TEST_EMULATOR_EMULATOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The kernels of one shared object made by tp-emulate-kernels.
typedef struct TpEmulator TpEmulator;

typedef struct TpEmulatorDim {
  uint32_t x, y, z;
} TpEmulatorDim;

/// Open the shared object at `path`. Returns null on failure and writes why to
/// `message` (cut to `messageBytes`, always terminated).
TpEmulator *tpEmulatorOpen(const char *path, char *message,
                           size_t messageBytes);
void tpEmulatorClose(TpEmulator *emulator);

/// XXH3-64 of the PTX that the same bitcode gives.
uint64_t tpEmulatorPtxHash(const TpEmulator *emulator);
/// 1 if accesses are checked, 0 if the kernels were made with --no-checks.
int32_t tpEmulatorIsChecked(const TpEmulator *emulator);
/// Kernels are numbered 0 .. count - 1; Find returns -1 for an unknown name.
int32_t tpEmulatorKernelCount(const TpEmulator *emulator);
const char *tpEmulatorKernelName(const TpEmulator *emulator, int32_t kernel);
int32_t tpEmulatorFindKernel(const TpEmulator *emulator, const char *name);
/// Number of parameters, or -1 for an unknown kernel.
int32_t tpEmulatorParameterCount(const TpEmulator *emulator, int32_t kernel);
/// Bytes of static shared memory of the kernel, without redzones.
int64_t tpEmulatorStaticSharedBytes(const TpEmulator *emulator, int32_t kernel);

/// Tell that the kernels of this process may access `bytes` bytes from `base`
/// on (a device allocation). An access that is not wholly inside one registered
/// range is reported as out of bounds. Ranges must not overlap.
void tpEmulatorRegister(void *base, size_t bytes);
/// Forget the range that begins at `base`.
void tpEmulatorUnregister(void *base);

/// Give up a launch, with a finding, after so many checked accesses; 0, as it
/// is at first: never. For kernels that may not end.
void tpEmulatorSetAccessLimit(uint64_t accesses);

/// True if a launch ends at its first finding, when the thread at work next
/// waits or accesses memory, instead of running on to find more; 0, as it is at
/// first: no.
void tpEmulatorSetEndsAtFinding(int32_t ends);

/// Sets which fault of kernels that have some happens (armFaults in
/// EmulateKernels.h numbers them); 0, as it is at first: none.
void tpEmulatorSetFault(int32_t fault);

/// Called with the text of each finding (distinct in kind and place), e.g.
/// "kernel add: data race ... block (0, 0, 0) thread (5, 0, 0) at [...]".
typedef void (*TpEmulatorReport)(void *context, const char *text);

/// Run a kernel as cuLaunchKernel would: `arguments[i]` points to the value of
/// parameter i. `seed` chooses the order of blocks and threads and the errors
/// of approximate instructions; 0 is the order of their indices with results
/// rounded to nearest. Findings go to `report`, or to stderr if it is null.
/// Returns their number: 0 says that the kernel ran and nothing was found. What
/// cannot run at all (an unknown kernel, a block that is too large) is a
/// finding too.
int32_t tpEmulatorLaunch(const TpEmulator *emulator, const char *kernel,
                         TpEmulatorDim grid, TpEmulatorDim block,
                         uint32_t dynamicSharedBytes, void **arguments,
                         uint64_t seed, TpEmulatorReport report,
                         void *reportContext);

#ifdef __cplusplus
}
#endif

#endif // TP_TEST_EMULATOR_EMULATOR_H
