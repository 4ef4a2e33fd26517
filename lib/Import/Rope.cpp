//===- Rope.cpp - The frequencies of rotary position embeddings -----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Frequencies are computed once, here, and stored in the IR: no later stage
// knows a rope type. The arithmetic is f32 throughout, because a frequency that
// differs in its last bit turns position 100,000 by a visibly other angle.
//
//===----------------------------------------------------------------------===//

#include "tp/Import/ModelConfig.h"
#include <algorithm>
#include <cmath>
#include <numbers>

namespace tp {

/// Llama 3.1: long wavelengths are stretched by the factor, short ones kept,
/// and those between interpolated.
static float stretchLlama3(float frequency, const RopeConfig &rope) {
  float length = rope.originalMaxPositions;
  float low = rope.lowFrequencyFactor, high = rope.highFrequencyFactor;
  float wavelength = float(2 * std::numbers::pi) / frequency;
  if (wavelength > length / low)
    return frequency / float(rope.factor);
  if (wavelength < length / high || low == high)
    return frequency;
  float smooth = (length / wavelength - low) / (high - low);
  return (1 - smooth) * frequency / float(rope.factor) + smooth * frequency;
}

/// The element of a head whose angle turns `turns` times in the length of
/// training.
static double findElement(const RopeConfig &rope, double turns, double size) {
  double length = double(rope.originalMaxPositions);
  return size * std::log(length / (turns * 2 * std::numbers::pi)) /
         (2 * std::log(rope.theta));
}

/// Yarn (Peng et al., arXiv 2309.00071): frequencies that turn often in the
/// length of training are kept, those that hardly turn are stretched, and
/// between the two bounds the part that is stretched grows with the number.
static float stretchYarn(int64_t number, float wavelength, int64_t size,
                         const RopeConfig &rope) {
  double low = findElement(rope, rope.fastTurns, double(size)),
         high = findElement(rope, rope.slowTurns, double(size));
  if (rope.truncates) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, double(size - 1));
  if (low == high)
    high += 0.001;
  float part = (float(number) - float(low)) / float(high - low);
  float kept = 1 - std::clamp(part, 0.0f, 1.0f);
  float stretched = 1.0f / (float(rope.factor) * wavelength);
  return stretched * (1 - kept) + 1.0f / wavelength * kept;
}

/// Dynamic NTK: the base grows with the sequence, once it is longer than those
/// of training.
static float stretchBase(const RopeConfig &rope, int64_t size, int64_t length) {
  float ratio =
      float(rope.factor) * float(length) / float(rope.originalMaxPositions) -
      float(rope.factor - 1);
  return float(rope.theta) *
         std::pow(ratio, float(double(size) / double(size - 2)));
}

llvm::SmallVector<float>
RopeConfig::getInverseFrequencies(int64_t headDim, int64_t length) const {
  llvm::SmallVector<float> frequencies;
  int64_t size = getRotaryDim(headDim);
  bool growsBase = kind == Kind::Dynamic && changesAt(length);
  float base = growsBase ? stretchBase(*this, size, length) : float(theta);
  for (int64_t i = 0; i < size; i += 2) {
    float wavelength = std::pow(base, float(i) / float(size));
    float frequency = 1.0f / wavelength;
    switch (kind) {
    case Kind::Proportional: {
      auto turning = int64_t(rotaryPart * double(size) / 2);
      frequency = i / 2 < turning ? frequency / float(factor) : 0;
      break;
    }
    case Kind::Default:
    case Kind::Dynamic:
      break;
    case Kind::Linear:
      frequency /= float(factor);
      break;
    case Kind::Llama3:
      frequency = stretchLlama3(frequency, *this);
      break;
    case Kind::Yarn:
      frequency = stretchYarn(i / 2, wavelength, size, *this);
      break;
    case Kind::Long: {
      // LongRoPE (Ding et al., arXiv 2402.13753).
      const auto &factors = changesAt(length) ? longFactors : shortFactors;
      frequency = 1.0f / (factors[i / 2] * wavelength);
      break;
    }
    }
    frequencies.push_back(frequency);
  }
  return frequencies;
}

} // namespace tp
