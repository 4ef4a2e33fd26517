//===- TestTarget.cpp - A target that lacks what others have --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `target=test` runs row kernels and no function of a library, for tests of
// what is refused then.
//
//===----------------------------------------------------------------------===//

#include "TestPasses.h"
#include "tp/Target/Target.h"

using namespace tp;

namespace {
struct TestTarget : Target {
  using Target::Target;

  TargetTraits getTraits() const override { return {}; }
  HostCpu getHost() const override { return {}; }
  EpilogueSet getEpilogues() const override { return {}; }
  bool hasFunction(llvm::StringRef) const override { return false; }
  void buildKernels(mlir::OpPassManager &) const override {}
};
} // namespace

void tp::test::registerTestTarget() {
  registerTarget(
      {"test", "test", {"test"}, [](llvm::StringRef text, ErrorFunction) {
         return mlir::FailureOr<TargetHandle>(
             TargetHandle(std::make_shared<TestTarget>(text)));
       }});
}
