//===- DecoderFamilies.h - Families of language models ----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of the table of families (Families.cpp) of dense language models, in
// files by kinship.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_IMPORT_DECODERFAMILIES_H
#define TP_LIB_IMPORT_DECODERFAMILIES_H

#include "tp/Import/Family.h"

namespace tp {

// Layers with and without a window (WindowFamilies.cpp).
Family getOlmo2();
Family getOlmo3();
Family getExaone4();
Family getCohere();
Family getCohere2();

// Near Llama (LlamaFamilies.cpp).
Family getGlm();
Family getGlm4();
Family getErnie45();
Family getHunyuanDense();
Family getMinistral3();
Family getMinistral();
Family getArcee();
Family getInternLM3();
Family getHelium();
/// Qwen2 with layers that predict more tokens, which no program reads.
Family getMiMo();
/// The texts of Qwen2-VL, Qwen2.5-VL and Qwen3-VL.
Family getQwen2VLText();
Family getQwen25VLText();
Family getQwen3VLText();

// Convolutions in the place of attention (ConvFamilies.cpp).
Family getLfm2();
Family getLfm2Moe();
/// LinearFamilies.cpp: layers with linear attention.
Family getQwen3Next();
Family getQwen35Text();
Family getQwen35MoeText();
/// MambaFamilies.cpp: layers with Mamba-2.
Family getGraniteHybrid();
Family getNemotronH();

/// The most positions that a short convolution sees: each one's weight is
/// written out in the program.
inline constexpr int64_t mostTaps = 64;
/// The most heads of linear attention, and elements of one.
inline constexpr int64_t mostElements = 1 << 16;
struct ConvConfig;
struct LinearConfig;
/// Gives a model linear attention with its convolutions; one all of whose
/// layers have attention needs neither (LinearFamilies.cpp).
void setLinear(ModelConfig &config, const LinearConfig &linear,
               const ConvConfig &conv);

// Layer norms and no gate (LayerNormFamilies.cpp).
Family getPhi();
Family getGPTJ();
Family getGPTNeo();
Family getNemotron();

/// NemotronNas.cpp.
Family getNemotronNas();
/// Gemma4.cpp.
Family getGemma4Text();

/// Families.cpp.
Family getQwen2();

} // namespace tp

#endif // TP_LIB_IMPORT_DECODERFAMILIES_H
