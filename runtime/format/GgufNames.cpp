//===- GgufNames.cpp - GGUF tensors as those of a checkpoint --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row of the table says what a tensor of an architecture is called in
// `transformers`. Stacks of experts become a tensor for each expert, and
// quantised tensors their parts.
//
// Example: "blk.2.ffn_down.weight" of llama, [64, 256] in Q4_0, becomes
// "model.layers.2.mlp.down_proj.weight_packed", [64, 32] in I32, and
// "model.layers.2.mlp.down_proj.weight_scale", [64, 8] in F16.
//
//===----------------------------------------------------------------------===//

#include "tprt/gguf.h"

#include <algorithm>
#include <iterator>

using namespace tprt;

namespace {

using Role = GgufPart::Role;

/// Architectures, as bits.
enum Arch : unsigned {
  Llama = 1,
  Qwen2 = 2,
  Qwen3 = 4,
  Gemma = 8,
  Gemma2 = 16,
  Gemma3 = 32,
  Phi3 = 64,
  Qwen2Moe = 128,
  Qwen3Moe = 256,
  Granite = 512,
};

constexpr std::pair<std::string_view, Arch> kArchs[] = {
    {"llama", Llama},     {"qwen2", Qwen2},       {"qwen3", Qwen3},
    {"gemma", Gemma},     {"gemma2", Gemma2},     {"gemma3", Gemma3},
    {"phi3", Phi3},       {"qwen2moe", Qwen2Moe}, {"qwen3moe", Qwen3Moe},
    {"granite", Granite},
};

constexpr unsigned kAll = ~0u, kPostNorms = Gemma2 | Gemma3,
                   kGemmas = Gemma | Gemma2 | Gemma3,
                   kQwenMoes = Qwen2Moe | Qwen3Moe,
                   kInterleaved = Llama | Granite;

/// A tensor of each layer, without "blk.N." and ".weight" or ".bias"; `{e}` in
/// the name stands for an expert of a stack.
struct Row {
  std::string_view own, name;
  unsigned archs = kAll;
};

constexpr Row kRows[] = {
    {"attn_norm", "input_layernorm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_qkv", "self_attn.qkv_proj", Phi3},
    {"attn_output", "self_attn.o_proj"},
    {"attn_q_norm", "self_attn.q_norm", Qwen3 | Qwen3Moe | Gemma3},
    {"attn_k_norm", "self_attn.k_norm", Qwen3 | Qwen3Moe | Gemma3},
    {"post_attention_norm", "post_attention_layernorm", kPostNorms},
    {"ffn_norm", "pre_feedforward_layernorm", kPostNorms},
    {"ffn_norm", "post_attention_layernorm"},
    {"post_ffw_norm", "post_feedforward_layernorm", kPostNorms},
    {"ffn_up", "mlp.gate_up_proj", Phi3},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
    {"ffn_gate_inp", "mlp.gate", kQwenMoes},
    {"ffn_gate_exps", "mlp.experts.{e}.gate_proj", kQwenMoes},
    {"ffn_up_exps", "mlp.experts.{e}.up_proj", kQwenMoes},
    {"ffn_down_exps", "mlp.experts.{e}.down_proj", kQwenMoes},
    {"ffn_gate_inp_shexp", "mlp.shared_expert_gate", Qwen2Moe},
    {"ffn_gate_shexp", "mlp.shared_expert.gate_proj", Qwen2Moe},
    {"ffn_up_shexp", "mlp.shared_expert.up_proj", Qwen2Moe},
    {"ffn_down_shexp", "mlp.shared_expert.down_proj", Qwen2Moe},
    {"ffn_gate_inp", "block_sparse_moe.gate", Llama},
    {"ffn_gate_exps", "block_sparse_moe.experts.{e}.w1", Llama},
    {"ffn_up_exps", "block_sparse_moe.experts.{e}.w3", Llama},
    {"ffn_down_exps", "block_sparse_moe.experts.{e}.w2", Llama},
};

/// Tensors outside of layers.
constexpr Row kOuterRows[] = {{"token_embd", "model.embed_tokens"},
                              {"output_norm", "model.norm"},
                              {"output", "lm_head"}};

/// Tensors that config.json says, as tp-gguf has written it.
constexpr std::string_view kSaid[] = {"rope_freqs.weight",
                                      "rope_factors_long.weight",
                                      "rope_factors_short.weight"};

std::string replaceAll(std::string text, std::string_view what,
                       const std::string &by) {
  if (size_t at = text.find(what); at != std::string::npos)
    text.replace(at, what.size(), by);
  return text;
}

class Mapper {
public:
  Mapper(const std::string &where, const Gguf &file)
      : where(where), file(file) {}
  Expected<std::map<std::string, GgufPart>> run();

private:
  /// The module's name, and the end of the tensor's; empty: it has no place.
  std::pair<std::string, std::string_view>
  nameOf(const GgufTensor &tensor) const;
  Status addTensor(size_t index);
  Status addParts(GgufPart part, const std::string &module,
                  std::string_view end, std::vector<int64_t> shape);
  Status add(GgufPart part, std::string name, FileType type,
             std::vector<int64_t> shape);
  Status setHeads(std::string_view own, const GgufTensor &tensor,
                  GgufPart &part) const;

  const std::string &where;
  const Gguf &file;
  std::string archName;
  Arch arch = Llama;
  std::map<std::string, GgufPart> parts;
};

} // namespace

static const Row *findRow(const Row *begin, const Row *end,
                          std::string_view own, Arch arch) {
  const Row *row = std::find_if(begin, end, [&](const Row &one) {
    return one.own == own && (one.archs & arch);
  });
  return row == end ? nullptr : row;
}

std::pair<std::string, std::string_view>
Mapper::nameOf(const GgufTensor &tensor) const {
  std::string_view own = tensor.name, end;
  for (std::string_view one : {".weight", ".bias"})
    if (own.ends_with(one)) {
      end = one.substr(1);
      own.remove_suffix(one.size());
    }
  if (end.empty())
    return {};
  std::string prefix;
  const Row *row = nullptr;
  if (own.starts_with("blk.")) {
    own.remove_prefix(4);
    size_t dot = own.find('.');
    std::string_view layer = own.substr(0, dot);
    bool isNumber = dot != std::string_view::npos && !layer.empty() &&
                    layer.size() < 7 &&
                    layer.find_first_not_of("0123456789") == layer.npos;
    if (!isNumber)
      return {};
    prefix = "model.layers." + std::string(layer) + ".";
    row =
        findRow(std::begin(kRows), std::end(kRows), own.substr(dot + 1), arch);
  } else {
    row = findRow(std::begin(kOuterRows), std::end(kOuterRows), own, arch);
  }
  if (!row)
    return {};
  return {prefix + std::string(row->name), end};
}

/// llama.cpp rotates neighbours in these architectures, and `transformers` the
/// halves of a head: rows of queries and keys lie in pairs.
Status Mapper::setHeads(std::string_view own, const GgufTensor &tensor,
                        GgufPart &part) const {
  bool isQuery = own.find("attn_q.") != own.npos,
       isKey = own.find("attn_k.") != own.npos;
  if (!(arch & kInterleaved) || (!isQuery && !isKey))
    return {};
  auto find = [&](const char *key) -> int64_t {
    auto found = file.integers.find(archName + "." + key);
    return found == file.integers.end() ? 0 : found->second;
  };
  int64_t heads = find("attention.head_count");
  if (isKey && find("attention.head_count_kv"))
    heads = find("attention.head_count_kv");
  int64_t rows = tensor.shape[0];
  if (heads < 1 || rows % heads != 0 || rows / heads % 2 != 0)
    return userError(where, ": tensor '", tensor.name, "': expected its ", rows,
                     " rows to be heads of an even size, of which metadata '",
                     archName, ".attention.head_count", isKey ? "_kv" : "",
                     "' gives the number, got ", heads);
  part.headRows = rows / heads;
  return {};
}

Status Mapper::add(GgufPart part, std::string name, FileType type,
                   std::vector<int64_t> shape) {
  int64_t bytes = kFileTypes[int(type)].bytes;
  for (int64_t extent : shape)
    bytes *= extent;
  part.place = {type, std::move(shape), 0, bytes};
  part.name = name;
  if (!parts.emplace(std::move(name), std::move(part)).second)
    return userError(where, ": two tensors stand for '", part.name, "'");
  return {};
}

/// The tensors of one weight or bias.
Status Mapper::addParts(GgufPart part, const std::string &module,
                        std::string_view end, std::vector<int64_t> shape) {
  const GgufType &type = *file.tensors[part.tensor].type;
  std::string name = module + "." + std::string(end);
  if (type.elements == GgufElements::Floats)
    return add(part, name, part.isLessOne ? FileType::F32 : type.file, shape);
  int64_t k = shape.back();
  part.role = Role::Values;
  switch (type.elements) {
  case GgufElements::Floats:
  case GgufElements::Bytes:
    TPRT_TRY(add(part, name, FileType::I8, shape));
    break;
  case GgufElements::Nibbles:
    shape.back() = k / 8;
    TPRT_TRY(add(part, name + "_packed", FileType::I32, shape));
    break;
  case GgufElements::E2M1:
    shape.back() = k / 2;
    TPRT_TRY(add(part, name + "_packed", FileType::U8, shape));
    break;
  }
  shape.back() = k / type.group;
  part.role = Role::Scales;
  TPRT_TRY(add(part, name + "_scale", type.file, shape));
  if (!type.hasZeros)
    return {};
  part.role = Role::Zeros;
  return add(part, name + "_zero_point", FileType::F32, shape);
}

Status Mapper::addTensor(size_t index) {
  const GgufTensor &tensor = file.tensors[index];
  if (std::find(std::begin(kSaid), std::end(kSaid), tensor.name) !=
      std::end(kSaid))
    return {};
  auto [module, end] = nameOf(tensor);
  if (module.empty())
    return userError(where, ": tensor '", tensor.name,
                     "' has no place in a model of architecture '", archName,
                     "' that is known here");
  GgufPart part;
  part.tensor = index;
  TPRT_TRY(setHeads(tensor.name, tensor, part));
  part.isLessOne = (arch & kGemmas) && tensor.name.ends_with("norm.weight");
  if (part.isLessOne && tensor.type->name != "F32")
    return userError(where, ": tensor '", tensor.name,
                     "': expected the weight of a norm to be of type F32, got ",
                     tensor.type->name);
  std::vector<int64_t> shape = tensor.shape;
  bool isStack = module.find("{e}") != std::string::npos;
  if (shape.size() != (isStack ? 3u : 2u) && (isStack || shape.size() > 2))
    return userError(where, ": tensor '", tensor.name, "': expected ",
                     isStack ? "three dimensions" : "one or two dimensions",
                     ", got ", shape.size());
  if (!isStack) {
    if (module.ends_with("shared_expert_gate") && shape.size() == 1)
      shape.insert(shape.begin(), 1);
    return addParts(part, module, end, shape);
  }
  constexpr int64_t kMostExperts = 1 << 16;
  if (shape[0] > kMostExperts)
    return userError(where, ": tensor '", tensor.name, "': expected at most ",
                     kMostExperts, " experts, got ", shape[0]);
  for (int64_t e = 0; e < shape[0]; ++e) {
    part.firstRow = e * shape[1];
    TPRT_TRY(addParts(part, replaceAll(module, "{e}", std::to_string(e)), end,
                      {shape[1], shape[2]}));
  }
  return {};
}

Expected<std::map<std::string, GgufPart>> Mapper::run() {
  auto given = file.texts.find("general.architecture");
  archName = given == file.texts.end() ? "" : given->second;
  const auto *row =
      std::find_if(std::begin(kArchs), std::end(kArchs),
                   [&](const auto &one) { return one.first == archName; });
  if (row == std::end(kArchs)) {
    std::string known;
    for (const auto &[one, bit] : kArchs)
      known += (known.empty() ? "" : ", ") + std::string(one);
    return userError(where, ": unsupported general.architecture '", archName,
                     "'; expected one of ", known,
                     "; the safetensors that the file was made from may be "
                     "supported");
  }
  arch = row->second;
  for (size_t i = 0; i < file.tensors.size(); ++i)
    TPRT_TRY(addTensor(i));
  return std::move(parts);
}

Expected<std::map<std::string, GgufPart>> tprt::mapGguf(const std::string &name,
                                                        const Gguf &file) {
  return Mapper(name, file).run();
}
