//===- Plan.h - Which values are annotated, as data -------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plan is a list of rules: what they match, by name, and how it is cut. The
// built-in plans are JSON texts read by the same parser as a user's file.
// docs/Annotate.md has the schema.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_ANNOTATE_PLAN_H
#define TP_LIB_ANNOTATE_PLAN_H

#include "tp/Support/JsonPlace.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>

namespace tp {

/// An axis or sub-axis as a plan writes it: "tp" or "tp:(1)8".
struct PlanAxis {
  std::string name;
  int64_t pre = 1;
  int64_t size = 0; ///< 0: the whole axis.
};

/// How one dimension is cut. Open ones are left to propagation.
struct PlanDim {
  llvm::SmallVector<PlanAxis, 1> axes;
  bool open = false;
};

struct PlanRule {
  enum class Kind { Parameter, Argument, Result, Value, Carried, Kept };
  Kind kind = Kind::Parameter;
  /// Globs; the rule matches what any of them matches. For values: on the
  /// operation's name.
  llvm::SmallVector<std::string, 4> patterns;
  /// For values: a glob on the location; empty matches all.
  std::string at;
  /// Matches tensors of this rank only.
  std::optional<unsigned> rank;
  /// One entry per dimension; or, with `dim`, one entry for that dimension, the
  /// others being whole; or, if `whole`, none.
  llvm::SmallVector<PlanDim, 4> dims;
  std::optional<unsigned> dim;
  bool whole = false;
  /// The rule counts only if the mesh has this axis; empty: always.
  std::string whenAxis;
  /// The name of a dimension that is cut ("sequence"), if the cut must be even;
  /// empty if padding is welcome.
  std::string even;
  /// No error if it matches nothing.
  bool optional = false;
  /// The rule's place, for messages: "rules[3]", and in the file.
  std::string path;
  TextPlace place;
};

struct Plan {
  std::string name;
  llvm::SmallVector<PlanRule, 0> rules;
  bool isBuiltin = false;

  /// True if the module is taken as it is annotated.
  bool isNone() const { return isBuiltin && name == "none"; }
};

/// True if plans of that name are files.
bool isPlanFile(llvm::StringRef nameOrFile);

/// The plan of that name, or read from the file of that name if it ends in
/// ".json". The error's text says what is wrong, `wrong` where in the file.
llvm::Expected<Plan> loadPlan(llvm::StringRef nameOrFile, TextPlace &wrong);

/// True if `name` matches `pattern`, in which `*` stands for any run of
/// characters and everything else for itself.
bool matchesGlob(llvm::StringRef pattern, llvm::StringRef name);

} // namespace tp

#endif // TP_LIB_ANNOTATE_PLAN_H
