//===- Quantization.h - How a checkpoint is quantised -----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `quantization_config` of config.json: which linear layers are quantised,
// and how their tensors lie in the files. docs/Import.md has the formats.
//
//===----------------------------------------------------------------------===//

#ifndef TP_IMPORT_QUANTIZATION_H
#define TP_IMPORT_QUANTIZATION_H

#include "tp/Support/Glob.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Regex.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tp {

/// How a recipe quantises the inputs of linear layers.
struct ActivationScheme {
  std::string text;     ///< for messages
  std::string refusal;  ///< why it is not supported; empty if it is
  bool isFloat = false; ///< f8E4M3FN; else i8
  int64_t group = 0;    ///< inputs of a token that share a scale; 0: all
  /// The checkpoint has one scale for all tokens, `input_scale`.
  bool isStatic = false;
  /// Magnitudes above it do not count in a token's scale; 0: all do.
  double bound = 0;
  /// Activations stay floats whatever the recipe says.
  bool staysFloat = false;
};

/// How the weight of a linear layer [n outputs, k inputs] is stored.
struct QuantizedScheme {
  enum class Format {
    Packed, ///< `weight_packed`, words along k, and `weight_scale`
    Plain,  ///< `weight`, an element (or two of four bits) each byte, likewise
    Block,  ///< `weight`, and `weight_scale_inv` or (one) `weight_scale`
    GPTQ,
    AWQ,
    /// Stacks of all experts alone, `_blocks` and `_scales` behind their names:
    /// two elements a byte, in groups.
    Stack,
  };
  enum class ScaleType {
    Float, ///< of the checkpoint's own type
    E4M3,
    E8M0, ///< powers of two, the exponent plus 127 in a byte
  };
  Format format = Format::Plain;
  bool isFloat = false; ///< f8E4M3FN, or f4E2M1FN; else signed integers
  int64_t bits = 8;
  ScaleType scaleType = ScaleType::Float;
  /// The tensor with a scale of all scales, behind the module's path; empty:
  /// there is none. Scales are divided by it, or multiplied.
  llvm::StringRef outerScale;
  bool dividesByOuter = false;
  /// Outputs, and inputs, that share a scale; 0: all.
  int64_t rows = 1, columns = 0;
  bool isSymmetric = true;  ///< There are no zero points.
  bool isOrdered = false;   ///< A tensor says the group of each input.
  int64_t zeroStep = 0;     ///< The number to add to a stored zero point.
  int64_t packedGroups = 0; ///< Groups that the files have in one block.
  std::optional<ActivationScheme> activations;
};

/// The names of modules that a list has.
class ModuleNames {
public:
  /// How entries are understood: as compressed-tensors does (a name, a class,
  /// or "re:" with a regular expression that matches the beginning), or as
  /// `transformers` does (any part of the path, `*` standing for anything).
  enum class Style { CompressedTensors, Transformers };

  /// Returns an error for the entry, or an empty string.
  std::string add(llvm::StringRef entry, Style style);
  /// True if `name`, a linear layer, is in the list.
  bool contains(llvm::StringRef name) const;
  /// The same, by its name and not its class.
  bool lists(llvm::StringRef name) const;

private:
  bool hasLinear = false;
  std::vector<std::string> names;
  std::vector<Glob> globs;
  std::vector<std::shared_ptr<llvm::Regex>> expressions;
};

struct QuantizationConfig {
  std::string method;     ///< quant_method
  bool takesHead = false; ///< The head is one of the linear layers.
  struct Group {
    ModuleNames targets;
    QuantizedScheme scheme;
  };
  std::vector<Group> groups;
  ModuleNames ignored;
  /// How the recipe stores keys and values, for a remark; empty: as they are.
  std::string cacheScheme;

  /// How the linear layer `name` is stored; null: as it is in other
  /// checkpoints.
  const QuantizedScheme *find(llvm::StringRef name) const;
};

} // namespace tp

#endif // TP_IMPORT_QUANTIZATION_H
