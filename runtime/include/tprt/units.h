//===- tprt/units.h - figures in messages -----------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Figures as people read them, the same in the compiler and the runtime:
// memory in powers of 1024, operations and seconds in powers of 1000. The
// Python package has the same in tp_mlir/plan/_units.py.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_UNITS_H
#define TPRT_UNITS_H

#include <cmath>
#include <cstdio>
#include <initializer_list>
#include <string>

namespace tprt {

/// `value` in the first unit that it reaches, or in the last one.
struct Unit {
  const char *name;
  double size;
};
inline std::string formatIn(double value, std::initializer_list<Unit> units,
                            const char *format) {
  const Unit *unit = units.begin();
  while (unit + 1 != units.end() && std::abs(value) < unit->size)
    ++unit;
  char text[48];
  std::snprintf(text, sizeof text, format, value / unit->size, unit->name);
  return text;
}

/// Bytes: 16.0 MiB, 512 B.
inline std::string formatBytes(double bytes) {
  constexpr double kib = 1024;
  if (std::abs(bytes) < kib)
    return formatIn(bytes, {{"B", 1}}, "%.0f %s");
  return formatIn(bytes,
                  {{"TiB", kib * kib * kib * kib},
                   {"GiB", kib * kib * kib},
                   {"MiB", kib * kib},
                   {"KiB", kib}},
                  "%.1f %s");
}

/// Floating-point operations: 1.07 GFLOP, 12 FLOP.
inline std::string formatFlops(double flops) {
  if (std::abs(flops) < 1e3)
    return formatIn(flops, {{"FLOP", 1}}, "%.0f %s");
  return formatIn(flops,
                  {{"PFLOP", 1e15},
                   {"TFLOP", 1e12},
                   {"GFLOP", 1e9},
                   {"MFLOP", 1e6},
                   {"kFLOP", 1e3}},
                  "%.2f %s");
}

/// Seconds: 25.3 ms.
inline std::string formatSeconds(double seconds) {
  return formatIn(seconds, {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}}, "%.3g %s");
}

} // namespace tprt

#endif // TPRT_UNITS_H
