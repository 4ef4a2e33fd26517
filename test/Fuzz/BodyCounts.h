//===- BodyCounts.h - What kinds of body a program has ----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts that say what a generator really draws, read off the program, so that
// they hold for every generator.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_FUZZ_BODYCOUNTS_H
#define TP_TEST_FUZZ_BODYCOUNTS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <string>

namespace tp::fuzz {

/// "group: kind" to how often the program has it.
std::map<std::string, int64_t> countBodies(mlir::ModuleOp module);

/// One line per group.
void printCounts(const std::map<std::string, int64_t> &counts,
                 llvm::raw_ostream &os);

} // namespace tp::fuzz

#endif // TP_TEST_FUZZ_BODYCOUNTS_H
