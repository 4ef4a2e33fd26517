//===- PlanNames.h - What --plan may be -------------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_ANNOTATE_PLANNAMES_H
#define TP_ANNOTATE_PLANNAMES_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace tp {

/// Says what is wrong with the name of a plan, which is that of a built-in one
/// or of a file that ends in ".json"; empty if nothing is. Files are not
/// opened.
std::string checkPlanName(llvm::StringRef nameOrFile);

} // namespace tp

#endif // TP_ANNOTATE_PLANNAMES_H
