//===- Overlap.cpp - Whether collectives run beside work ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Overlap.h.
//
//===----------------------------------------------------------------------===//

#include "tp/Schedule/Overlap.h"

using namespace tp;

std::optional<Overlap> tp::parseOverlap(llvm::StringRef text) {
  if (text == "auto")
    return Overlap{Overlap::Kind::Auto};
  if (text == "off")
    return Overlap{Overlap::Kind::Off};
  Overlap rows{Overlap::Kind::Rows};
  if (!text.consume_front("rows=") || text.getAsInteger(10, rows.chunks) ||
      rows.chunks < 2 || rows.chunks > mostChunks)
    return std::nullopt;
  return rows;
}

std::string tp::toString(const Overlap &overlap) {
  switch (overlap.kind) {
  case Overlap::Kind::Auto:
    return "auto";
  case Overlap::Kind::Off:
    return "off";
  case Overlap::Kind::Rows:
    return "rows=" + std::to_string(overlap.chunks);
  }
  llvm_unreachable("all kinds are listed");
}

bool llvm::cl::parser<Overlap>::parse(Option &option, StringRef, StringRef text,
                                      Overlap &overlap) {
  std::optional<Overlap> parsed = parseOverlap(text);
  if (!parsed)
    return option.error("expected " + overlapSyntax + ", got '" + text + "'");
  overlap = *parsed;
  return false;
}

void llvm::cl::parser<Overlap>::printOptionDiff(const Option &option,
                                                const Overlap &overlap,
                                                const OptionValue<Overlap> &,
                                                size_t width) const {
  printOptionName(option, width);
  outs() << "= " << toString(overlap) << "\n";
}
