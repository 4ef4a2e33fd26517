//===- Version.cpp - --version of the compiler's tools --------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Version.h.
//
//===----------------------------------------------------------------------===//

#include "tp/Support/Version.h"

#include "tprt/version.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

void tp::setVersionPrinter(llvm::StringRef program) {
  llvm::cl::SetVersionPrinter(
      [text = tprt::versionText(program.str())](llvm::raw_ostream &os) {
        os << text << ", LLVM " << LLVM_VERSION_STRING << "\n";
      });
}
