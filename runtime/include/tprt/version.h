//===- tprt/version.h - which tp-mlir this is -------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The version and the commit that a binary was built from, for `--version` of
// every program and for what an artifact says of its compiler.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_VERSION_H
#define TPRT_VERSION_H

#include <string>

namespace tprt {

/// `0.1.0 (commit 1a2b3c4d5e6f)`; outside of a git checkout `0.1.0`.
std::string version();
/// `program: tp-mlir 0.1.0 (commit 1a2b3c4d5e6f)`: what --version prints.
std::string versionText(const std::string &program);

} // namespace tprt

#endif // TPRT_VERSION_H
