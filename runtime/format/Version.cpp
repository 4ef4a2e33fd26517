//===- Version.cpp - which tp-mlir this is --------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one file that is compiled again after every commit: Commit.cmake writes
// what it includes.
//
//===----------------------------------------------------------------------===//

#include "tprt/version.h"

#include "tprt-commit.h"

std::string tprt::version() {
  std::string commit = TPRT_COMMIT;
  return TPRT_VERSION + (commit.empty() ? "" : " (commit " + commit + ")");
}

std::string tprt::versionText(const std::string &program) {
  return program + ": tp-mlir " + version();
}
