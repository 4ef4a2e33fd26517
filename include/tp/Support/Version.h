//===- Version.h - --version of the compiler's tools ------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ours, the commit, and LLVM's.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SUPPORT_VERSION_H
#define TP_SUPPORT_VERSION_H

#include "llvm/ADT/StringRef.h"

namespace tp {

/// Makes --version print `program: tp-mlir 0.1.0 (commit ...), LLVM 22.1.0`.
/// Before the command line is parsed.
void setVersionPrinter(llvm::StringRef program);

} // namespace tp

#endif // TP_SUPPORT_VERSION_H
