//===- Target.cpp - What code is made for ---------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of targets, and how one is chosen.
//
//===----------------------------------------------------------------------===//

#include "tp/Target/Target.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"

using namespace tp;

static llvm::SmallVector<TargetRow> &getTable() {
  static llvm::SmallVector<TargetRow> table;
  return table;
}

llvm::ArrayRef<TargetRow> tp::getTargetRows() { return getTable(); }

void tp::registerTarget(const TargetRow &row) {
  if (!llvm::is_contained(
          llvm::map_range(getTable(), [](auto &known) { return known.name; }),
          row.name))
    getTable().push_back(row);
}

void tp::emitUnknownTarget(llvm::StringRef text, ErrorFunction emitError) {
  llvm::SmallVector<llvm::StringRef> examples;
  for (const TargetRow &row : getTargetRows())
    llvm::append_range(examples, row.examples);
  llvm::StringRef last = examples.pop_back_val();
  emitError("unknown target '" + text + "': expected " +
            llvm::join(examples, ", ") + " or " + last);
}

mlir::FailureOr<TargetHandle> tp::parseTarget(llvm::StringRef text,
                                              ErrorFunction emitError) {
  for (const TargetRow &row : getTargetRows())
    if (text.split(':').first == row.name)
      return row.parse(text, emitError);
  emitUnknownTarget(text, emitError);
  return mlir::failure();
}

std::string tp::getTargetSyntax() {
  return llvm::join(
      llvm::map_range(getTargetRows(),
                      [](const TargetRow &row) { return row.syntax; }),
      "|");
}

const Target &TargetHandle::operator*() const {
  if (target)
    return *target;
  static const TargetHandle host = [] {
    auto parsed = parseTarget(defaultTarget, [](const llvm::Twine &text) {
      llvm::report_fatal_error(text);
    });
    return *parsed;
  }();
  return *host;
}

bool llvm::cl::parser<TargetHandle>::parse(Option &option, StringRef,
                                           StringRef text,
                                           TargetHandle &target) {
  auto parsed =
      parseTarget(text, [&](const Twine &message) { option.error(message); });
  if (failed(parsed))
    return true;
  target = *parsed;
  return false;
}
