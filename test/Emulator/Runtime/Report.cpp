//===- Report.cpp - Findings ----------------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each finding names kernel, block, thread and instruction; the same kind at
// the same instruction is told once per launch.
//
//===----------------------------------------------------------------------===//

#include "Launch.h"
#include <cstdarg>
#include <cstdio>

using namespace tp::emulator;

static std::string nameIndex(const uint32_t *index) {
  return "(" + std::to_string(index[0]) + ", " + std::to_string(index[1]) +
         ", " + std::to_string(index[2]) + ")";
}

void Launch::find(const char *kind, Site site, const char *format, ...) {
  // A fault in a loop is found many times: the addresses tell it apart from
  // others without a copy of the texts.
  if (!seenAddresses.insert({kind, site}).second ||
      !seen.insert({kind, site}).second)
    return;
  over |= endsAtFinding;
  va_list list, again;
  va_start(list, format);
  va_copy(again, list);
  std::string details(vsnprintf(nullptr, 0, format, list), '\0');
  vsnprintf(details.data(), details.size() + 1, format, again);
  va_end(again);
  va_end(list);
  std::string text = std::string("kernel ") + kernel.name + ": " + kind + ": " +
                     details + "; block " + nameIndex(blockIndex) + " thread " +
                     nameIndex(thread().index) + " at [" + site + "]";
  findings.push_back(text);
}

int32_t Launch::tellFindings() const {
  for (const std::string &text : findings)
    if (report)
      report(reportContext, text.c_str());
    else
      fprintf(stderr, "emulator: %s\n", text.c_str());
  return findings.size();
}
