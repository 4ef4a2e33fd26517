//===- TestPasses.h - Passes that only tests use ----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One line per test pass; tp-opt registers them all.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_LIB_TESTPASSES_H
#define TP_TEST_LIB_TESTPASSES_H

namespace tp::test {

/// Known mistakes, for tests of tp-verify.
void registerFaultPass();
/// A pass that fails: crash reproducers and exit codes.
void registerFailPass();
/// A loss of whatever a function computes.
void registerMakeLossPass();
/// One operation broken, wherever it is.
void registerInjectAtPass();
/// Registers a pass that prints the descriptions of operations that a library
/// computes.
void registerLibraryPass();
/// Sharding rules, padding states and per-rank forms of single operations.
void registerRulePasses();
/// A target that lacks what others have.
void registerTestTarget();
/// Repeated layers written out.
void registerUnrollPass();
/// The derivative of a single operation.
void registerVjpPass();

inline void registerTestPasses() {
  registerFailPass();
  registerFaultPass();
  registerInjectAtPass();
  registerLibraryPass();
  registerMakeLossPass();
  registerRulePasses();
  registerTestTarget();
  registerUnrollPass();
  registerVjpPass();
}

} // namespace tp::test

#endif // TP_TEST_LIB_TESTPASSES_H
