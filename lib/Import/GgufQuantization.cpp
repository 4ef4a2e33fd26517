//===- GgufQuantization.cpp - Which layers of a GGUF file are quantised ---===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A GGUF file chooses a type for each tensor, and no recipe says which. The
// tensors that tprt/gguf.h makes of it do: a scale for each group of a weight
// of bytes or nibbles, and perhaps a zero point.
//
//===----------------------------------------------------------------------===//

#include "CheckQuantized.h"

#include "ModelBuilder.h"
#include "tprt/gguf.h"

#include <map>
#include <tuple>

using namespace mlir;

namespace tp {

/// Returns the storage of the weight with these scales; nothing if there is no
/// such weight.
static std::optional<QuantizedScheme>
readScheme(const Checkpoint &checkpoint, StringRef module,
           const CheckpointTensor &scales) {
  QuantizedScheme scheme;
  const CheckpointTensor *values =
      checkpoint.find((module + ".weight_packed").str());
  int64_t perWord = 1;
  if (values) {
    scheme.format = QuantizedScheme::Format::Packed;
    scheme.bits = 4;
    scheme.isFloat = values->dtype == "U8";
    perWord = scheme.isFloat ? 2 : 8;
    if (scheme.isFloat)
      scheme.scaleType = QuantizedScheme::ScaleType::E8M0;
  } else {
    values = checkpoint.find((module + ".weight").str());
  }
  if (!values || values->shape.size() != 2 || scales.shape.size() != 2)
    return std::nullopt;
  scheme.columns = values->shape[1] * perWord / scales.shape[1];
  // An f16 of 256 elements times an integer of each group.
  if (scales.dtype == "F32")
    scheme.packedGroups = 256 / scheme.columns;
  scheme.isSymmetric = !checkpoint.find((module + ".weight_zero_point").str());
  return scheme;
}

LogicalResult settleGguf(Location loc, ModelConfig &config,
                         const Checkpoint &checkpoint) {
  if (!checkpoint.hasWeights())
    return emitError(loc) << "quantization_config: quant_method \"gguf\" needs "
                          << StringRef(tprt::kGgufFile) << " in "
                          << checkpoint.getDirectory()
                          << ", which says how each tensor is stored";
  using Key = std::tuple<int, int64_t, int64_t, bool, bool>;
  // In the order of names, so that programs do not depend on a hash.
  SmallVector<StringRef> modules;
  for (StringRef name : checkpoint.getTensors().keys())
    if (name.consume_back(".weight_scale"))
      modules.push_back(name);
  llvm::sort(modules);
  std::map<Key, size_t> numbers;
  std::vector<QuantizationConfig::Group> &groups = config.quantization->groups;
  for (StringRef module : modules) {
    auto scheme = readScheme(
        checkpoint, module, *checkpoint.find((module + ".weight_scale").str()));
    if (!scheme)
      continue;
    auto [number, isNew] = numbers.try_emplace(
        Key(int(scheme->format), scheme->columns, scheme->packedGroups,
            scheme->isFloat, scheme->isSymmetric),
        groups.size());
    if (isNew)
      groups.emplace_back().scheme = *scheme;
    (void)groups[number->second].targets.add(
        module, ModuleNames::Style::CompressedTensors);
  }
  return success();
}

} // namespace tp
