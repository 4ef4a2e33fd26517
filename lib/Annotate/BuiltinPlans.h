//===- BuiltinPlans.h - The plans that come with the compiler ---*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The built-in plans as JSON, in the schema of docs/Annotate.md.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_ANNOTATE_BUILTINPLANS_H
#define TP_LIB_ANNOTATE_BUILTINPLANS_H

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace tp {

/// The JSON text of the built-in plan of that name, if there is one.
std::optional<std::string> getBuiltinPlan(llvm::StringRef name);

} // namespace tp

#endif // TP_LIB_ANNOTATE_BUILTINPLANS_H
