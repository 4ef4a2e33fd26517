//===- ModelAttributes.h - What model IR says beside its ops ---*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of the discardable attributes that import writes and lower copies into
// the artifact's manifest: about the model, about what users may leave out, and
// about tensors of the checkpoint that the program does not read.
//
//===----------------------------------------------------------------------===//

#ifndef TP_DIALECT_TP_IR_MODELATTRIBUTES_H
#define TP_DIALECT_TP_IR_MODELATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace tp {

/// On the module: StringAttr, the checkpoint directory's last path component.
inline constexpr llvm::StringLiteral modelNameAttrName = "tp.model_name";
/// On the module: StringAttr, such as "LlamaForCausalLM".
inline constexpr llvm::StringLiteral architectureAttrName = "tp.architecture";
/// On the module: StringAttr, such as "llama".
inline constexpr llvm::StringLiteral modelTypeAttrName = "tp.model_type";
/// On the module: ArrayAttr of StringAttr, glob patterns (`*` any run of
/// characters) on the names of checkpoint tensors that may be there unused.
inline constexpr llvm::StringLiteral ignoredTensorsAttrName =
    "tp.ignored_tensors";
/// On the module: ArrayAttr of StringAttr, such patterns of tensors that the
/// checkpoint is read without: as if the files did not have them.
inline constexpr llvm::StringLiteral excludedTensorsAttrName =
    "tp.excluded_tensors";
/// The format that weights are quantised to while they are read.
inline constexpr llvm::StringLiteral quantizeAttrName = "tp.quantize";
/// On the module: ArrayAttr of DictionaryAttr, tensors that checkpoints may
/// hold beside others of which they are a part, and that must have its values:
/// `part` and `whole` are names, perhaps with `{i}` and `{e}`, `shape` that of
/// the whole, where the part begins at `offsets` and has `sizes` (arrays of
/// I64), `type` what they are read as, `first` and `count` (I64) iterations,
/// `joined` (I64, or 1) how many leading dimensions are one in the files.
inline constexpr llvm::StringLiteral tensorPartsAttrName = "tp.tensor_parts";
/// On the module: DictionaryAttr of BoolAttr, what the config.json of a
/// checkpoint of this program must say, where that of the one it was imported
/// from says otherwise.
inline constexpr llvm::StringLiteral changedConfigAttrName =
    "tp.changed_config";
/// On the module: DictionaryAttr of what an engine has to know of the steps of
/// generation, as the manifest's `generation` says it.
inline constexpr llvm::StringLiteral generationAttrName = "tp.generation";
/// In tp.training: StringAttr, the mesh axis that cuts moments and masters
/// beside what cuts their weights.
inline constexpr llvm::StringLiteral shardOptimizerAttrName = "shard_optimizer";
/// On the module while a stage runs: ArrayAttr of [name, first, count], what
/// the names of the program's parameters stood for when it began.
inline constexpr llvm::StringLiteral notedParametersAttrName =
    "tp.noted_parameters";

/// On an argument: StringAttr "ones" or "zeros", its value if left out.
inline constexpr llvm::StringLiteral defaultAttrName = "tp.default";
/// On an argument: DenseI64ArrayAttr [lo, hi), the values allowed.
inline constexpr llvm::StringLiteral rangeAttrName = "tp.range";
/// On an argument: StringAttr, which random values tp-verify gives it (see
/// makeInputs) instead of uniform ones.
inline constexpr llvm::StringLiteral valuesAttrName = "tp.values";
/// On an argument: UnitAttr, each row is ones and then zeros.
inline constexpr llvm::StringLiteral rightPaddedAttrName = "tp.right_padded";
/// On an argument [B, S] of integers: StringAttr, a second name under which
/// callers give it one position later, as `labels` are in `transformers`:
/// element [b, s] is element [b, s + 1] of what they give, and the last -100.
inline constexpr llvm::StringLiteral unshiftedAttrName = "tp.unshifted";
/// On an argument or a result [B, S, ...]: UnitAttr, B sequences of S
/// positions. Shorter ones may be given: the runtime pads them, with zeros in
/// the mask.
inline constexpr llvm::StringLiteral sequencesAttrName = "tp.sequences";

/// On tp.parameter, what random weights hold there instead of numbers of
/// deviation 0.02: StringAttr "ones" or "zeros", or DictionaryAttr of their
/// `deviation` (F64) and a `zero_row` (I64) of the checkpoint's tensor, each if
/// it has one.
inline constexpr llvm::StringLiteral initAttrName = "tp.init";
} // namespace tp

#endif // TP_DIALECT_TP_IR_MODELATTRIBUTES_H
