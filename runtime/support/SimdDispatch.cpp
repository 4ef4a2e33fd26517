//===- SimdDispatch.cpp - picks a CPU level -------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses among the levels of Simd.cpp by the features of the machine.
//
//===----------------------------------------------------------------------===//

#include "Cpu.h"
#include "Simd.h"
#include "SimdQuantized.h"
#include "SimdRecurrence.h"

#include <cstdlib>
#include <initializer_list>
#include <string_view>

using namespace tprt;

static bool hasAll(std::initializer_list<const char *> features) {
  for (const char *feature : features)
    if (!cpuFeature(feature).value_or(false))
      return false;
  return true;
}

static const Simd &choose() {
  const char *limit = std::getenv("TPRT_SIMD");
  std::string_view level = limit ? limit : "";
  bool v3 = hasAll({"avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "movbe"});
  bool v4 =
      v3 && hasAll({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"});
  if (v4 && level != "x86-64" && level != "x86-64-v3")
    return simdV4();
  if (v3 && level != "x86-64")
    return simdV3();
  return simdBase();
}

const Simd &tprt::simd() {
  static const Simd &table = choose();
  return table;
}

namespace tprt {
const QuantizedLoops &simdBaseQuantized();
const QuantizedLoops &simdV3Quantized();
const QuantizedLoops &simdV4Quantized();
const QuantizedLoops &simdVnniQuantized();
const RecurrenceLoops &simdBaseRecurrence();
const RecurrenceLoops &simdV3Recurrence();
const RecurrenceLoops &simdV4Recurrence();
} // namespace tprt

const QuantizedLoops &tprt::quantizedLoops() {
  const char *limit = std::getenv("TPRT_SIMD");
  static const bool hasVnni =
      hasAll({"avx512vnni"}) &&
      (!limit || std::string_view(limit) != "x86-64-v4");
  if (&simd() == &simdV4())
    return hasVnni ? simdVnniQuantized() : simdV4Quantized();
  if (&simd() == &simdV3())
    return simdV3Quantized();
  return simdBaseQuantized();
}

const RecurrenceLoops &tprt::recurrenceLoops() {
  if (&simd() == &simdV4())
    return simdV4Recurrence();
  if (&simd() == &simdV3())
    return simdV3Recurrence();
  return simdBaseRecurrence();
}
