//===- Approximate.cpp - Instructions that are not exact ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each gives the correctly rounded result with seed 0, and otherwise one that
// is off by up to what the PTX ISA documents, drawn from seed and operand: a
// kernel that needs more than is promised fails for some seed.
//
//===----------------------------------------------------------------------===//

#include "Intrinsics.h"
#include <bit>
#include <cmath>
#include <limits>

using namespace tp::emulator;

/// The relative error that an instruction may have.
static constexpr double ulps(double count) { return count * 0x1p-23; }

static uint64_t hash(uint64_t value) {
  value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9ull;
  value = (value ^ value >> 27) * 0x94D049BB133111EBull;
  return value ^ value >> 31;
}

double Launch::error(const char *operation, uint64_t operand) const {
  if (seed == 0)
    return 0;
  uint64_t state = hash(seed);
  for (; *operation; ++operation)
    state = hash(state + uint8_t(*operation));
  state = hash(state ^ operand);
  return double(int64_t(state)) * 0x1p-63;
}

/// Subnormal numbers become zero of the same sign.
static float flush(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value)
                                                : value;
}

/// `exact` with a relative and an absolute error.
static float approximate(const char *operation, uint64_t operand, double exact,
                         double relative, double absolute = 0) {
  double bound = std::fabs(exact) * relative + absolute;
  if (std::isfinite(bound))
    exact += bound * current->error(operation, operand);
  return float(exact);
}

/// `exact` is an expression of the double x.
#define TP_APPROXIMATE(name, flushed, relative, absolute, exact)               \
  TP_EMULATE(name) {                                                           \
    float operand = get<float>(in[0]);                                         \
    double x = flushed ? flush(operand) : operand;                             \
    float result = approximate(#name, std::bit_cast<uint32_t>(operand), exact, \
                               relative, absolute);                            \
    put(out[0], flushed ? flush(result) : result);                             \
  }
#define TP_APPROXIMATE_BOTH(name, suffix, relative, absolute, exact)           \
  TP_APPROXIMATE(name##_##suffix, false, relative, absolute, exact)            \
  TP_APPROXIMATE(name##_ftz_##suffix, true, relative, absolute, exact)

/// The base-2 logarithm's error is absolute near 1.
static double logAbsolute(double x) { return x > 0.5 && x < 2 ? 0x1p-22 : 0; }
static double logRelative(double x) { return x > 0.5 && x < 2 ? 0 : 0x1p-22; }

TP_APPROXIMATE_BOTH(ex2_approx, f, ulps(2), 0, std::exp2(x))
TP_APPROXIMATE_BOTH(ex2_approx, f32, ulps(2), 0, std::exp2(x))
TP_APPROXIMATE_BOTH(lg2_approx, f, logRelative(x), logAbsolute(x), std::log2(x))
TP_APPROXIMATE_BOTH(rcp_approx, f, ulps(1), 0, 1 / x)
TP_APPROXIMATE_BOTH(sqrt_approx, f, 0x1p-23, 0, std::sqrt(x))
TP_APPROXIMATE_BOTH(rsqrt_approx, f, 0x1.6p-23, 0, 1 / std::sqrt(x))
TP_APPROXIMATE_BOTH(sin_approx, f, 0, 0x1.2p-21, std::sin(x))
TP_APPROXIMATE_BOTH(cos_approx, f, 0, 0x1.2p-21, std::cos(x))
TP_APPROXIMATE(tanh_approx_f32, false, 0x1p-11, 0, std::tanh(x))

static void divide(const char *operation, uint64_t *out, uint64_t *in,
                   double relative, bool flushed) {
  float a = get<float>(in[0]), b = get<float>(in[1]);
  if (flushed)
    a = flush(a), b = flush(b);
  uint64_t operand =
      uint64_t(std::bit_cast<uint32_t>(a)) << 32 | std::bit_cast<uint32_t>(b);
  float result = approximate(operation, operand, double(a) / b, relative);
  put(out[0], flushed ? flush(result) : result);
}
TP_EMULATE(div_full) { divide("div.full", out, in, ulps(2), false); }
TP_EMULATE(div_full_ftz) { divide("div.full", out, in, ulps(2), true); }
TP_EMULATE(div_approx_f) { divide("div.approx", out, in, ulps(2), false); }
TP_EMULATE(div_approx_ftz_f) { divide("div.approx", out, in, ulps(2), true); }

// LLVM's own operations where the code generator for NVPTX takes an
// approximate instruction: the rewriter names them.
TP_APPROXIMATE(llvm_exp2, false, ulps(2), 0, std::exp2(x))
TP_APPROXIMATE(llvm_log2, false, logRelative(x), logAbsolute(x), std::log2(x))
TP_APPROXIMATE(llvm_sqrt_approx, false, 0x1p-23, 0, std::sqrt(x))
TP_APPROXIMATE(llvm_sin, false, 0, 0x1.2p-21, std::sin(x))
TP_APPROXIMATE(llvm_cos, false, 0, 0x1.2p-21, std::cos(x))
TP_APPROXIMATE(llvm_tanh, false, 0x1p-11, 0, std::tanh(x))
TP_EMULATE(llvm_fdiv_approx) { divide("div.approx", out, in, ulps(2), false); }
