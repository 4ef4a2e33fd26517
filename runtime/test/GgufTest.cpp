//===- GgufTest.cpp - headers of GGUF files -------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files that are cut short, that count beyond their end, or whose bytes are
// changed at random must give an error, or a header whose tensors lie in the
// file. What blocks stand for is compared in test/Integration/CPU/test_gguf.py.
//
//===----------------------------------------------------------------------===//

#include "tprt/gguf.h"
#include "TestUtil.h"

#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace tprt;

namespace {

constexpr uint32_t kText = 8, kList = 9, kU32 = 4;

struct Bytes {
  std::string data;

  template <typename T>
  Bytes &number(T value) {
    data.append(reinterpret_cast<const char *>(&value), sizeof value);
    return *this;
  }
  Bytes &text(std::string_view value) {
    number(uint64_t(value.size()));
    data += value;
    return *this;
  }
  Bytes &tensor(std::string_view name, std::vector<uint64_t> extents,
                uint32_t type, uint64_t offset) {
    text(name).number(uint32_t(extents.size()));
    for (uint64_t extent : extents)
      number(extent);
    return number(type).number(offset);
  }
};

constexpr uint32_t kF32 = 0, kF16 = 1, kQ4_0 = 2, kQ8_0 = 8;

/// A header of this many tensors and entries more than the architecture.
Bytes begin(uint64_t tensors, uint64_t entries = 0) {
  Bytes b;
  b.data = "GGUF";
  b.number(uint32_t(3)).number(tensors).number(entries + 3);
  b.text("general.architecture").number(kText).text("llama");
  b.text("llama.attention.head_count").number(kU32).number(uint32_t(2));
  b.text("tokenizer.ggml.tokens").number(kList).number(kText);
  b.number(uint64_t(2)).text("a").text("bc");
  return b;
}

Bytes end(Bytes b, size_t data) {
  b.data.resize((b.data.size() + 31) / 32 * 32 + data);
  return b;
}

Bytes valid() {
  Bytes b = begin(3);
  b.tensor("token_embd.weight", {32, 4}, kQ8_0, 0);
  b.tensor("blk.0.attn_q.weight", {32, 8}, kQ4_0, 160);
  b.tensor("output_norm.weight", {32}, kF32, 320);
  return end(b, 320 + 128);
}

Expected<std::map<std::string, GgufPart>> open(const std::string &data) {
  TPRT_ASSIGN(auto file,
              readGguf("'x'", int64_t(data.size()),
                       [&](int64_t offset, char *to, int64_t bytes) -> Status {
                         if (offset < 0 || bytes < 0 ||
                             offset + bytes > int64_t(data.size()))
                           return internalError("read past the end");
                         std::memcpy(to, data.data() + offset, size_t(bytes));
                         return {};
                       }));
  for (const GgufTensor &tensor : file.tensors)
    EXPECT_LE(tensor.offset, int64_t(data.size()));
  return mapGguf("'x'", file);
}

void expectError(const Bytes &bytes, const std::string &text) {
  auto parts = open(bytes.data);
  ASSERT_FALSE(parts);
  EXPECT_EQ(parts.status().code(), Code::User);
  EXPECT_NE(parts.status().message().find(text), std::string::npos)
      << parts.status().message();
}

TEST(Gguf, GivesTheCheckpointsTensors) {
  auto parts = open(valid().data);
  ASSERT_TRUE(parts) << parts.status().message();
  ASSERT_EQ(parts->size(), 5u);
  const GgufPart &packed =
      parts->at("model.layers.0.self_attn.q_proj.weight_packed");
  EXPECT_EQ(packed.place.type, FileType::I32);
  EXPECT_EQ(packed.place.shape, (std::vector<int64_t>{8, 4}));
  EXPECT_EQ(packed.headRows, 4);
  EXPECT_EQ(parts->at("model.embed_tokens.weight_scale").place.shape,
            (std::vector<int64_t>{4, 1}));
  EXPECT_EQ(parts->at("model.norm.weight").place.type, FileType::F32);
}

TEST(Gguf, RefusesFilesThatAreCutShort) {
  Bytes whole = valid();
  for (size_t size = 0; size < whole.data.size(); ++size)
    EXPECT_FALSE(open(whole.data.substr(0, size))) << size;
}

TEST(Gguf, RefusesCountsBeyondTheFile) {
  for (uint64_t count : {uint64_t(1) << 40, ~uint64_t(0)}) {
    expectError(begin(count), "the file ends inside of");
    expectError(begin(0, count - 3), "the file ends inside of");
    Bytes text = begin(0, 1);
    text.text("k").number(kText).number(count);
    expectError(text, "a text of " + std::to_string(count) +
                          " bytes in metadata 'k' reaches past the end of "
                          "the file (truncated?)");
    Bytes list = begin(0, 1);
    list.text("k").number(kList).number(kU32).number(count);
    expectError(list, "metadata 'k': a list of " + std::to_string(count) +
                          " items reaches past the end of the file "
                          "(truncated?)");
    Bytes extent = begin(1);
    extent.tensor("output_norm.weight", {1 << 10, count}, kF32, 0);
    expectError(end(extent, 64),
                "tensor 'output_norm.weight': dimension 1 of " +
                    std::to_string(count) + " elements is empty or too large");
  }
}

TEST(Gguf, RefusesTensorsThatDoNotLieInTheFile) {
  auto one = [](std::vector<uint64_t> extents, uint32_t type, uint64_t offset) {
    Bytes b = begin(1);
    b.tensor("output_norm.weight", std::move(extents), type, offset);
    return end(b, 64);
  };
  expectError(
      one({32}, kF32, 0),
      "tensor 'output_norm.weight': its 128 bytes at byte 0 of the data "
      "reach past the end of the file (truncated?)");
  expectError(one({8}, kF32, 64), "reach past the end of the file");
  expectError(one({8}, kF32, ~uint64_t(31)),
              "tensor 'output_norm.weight': its data begins at byte "
              "18446744073709551584 of the data, past the end of the file "
              "(truncated?)");
  expectError(one({8}, kF32, 4), "tensor 'output_norm.weight': expected its "
                                 "data at a multiple of 32 bytes, got 4");
  expectError(one({0}, kF32, 0), "is empty or too large");
  expectError(one({1, 1, 1, 1, 1}, kF32, 0), "expected 1 to 4 dimensions");
  expectError(one({33, 1}, kQ8_0, 0),
              ": expected rows of Q8_0 in multiples of 32 elements, got 33");
  expectError(one({32}, kQ8_0, 0), ": expected a tensor of one dimension to be "
                                   "of F32, F16 or BF16, got Q8_0");
  expectError(one({32, 1}, 16, 0),
              " is of type IQ2_XXS, which is not read: expected one of F32, "
              "F16, ");
  expectError(one({32, 1}, 16, 0),
              "; llama-quantize makes such a file of the F16 one");
  expectError(one({32, 1}, 4711, 0),
              " is of type number 4711, which is not read: expected one of ");
  Bytes overlapping = begin(2);
  overlapping.tensor("output_norm.weight", {16}, kF32, 0);
  overlapping.tensor("blk.0.attn_norm.weight", {8}, kF32, 32);
  expectError(end(overlapping, 64), "overlaps tensor 'output_norm.weight'");
}

TEST(Gguf, RefusesWhatHasNoPlace) {
  Bytes unknown = begin(1);
  unknown.tensor("blk.0.ssm_a", {8}, kF32, 0);
  expectError(end(unknown, 32), "tensor 'blk.0.ssm_a' has no place in a model "
                                "of architecture 'llama'");
  Bytes odd = begin(1);
  odd.tensor("blk.0.attn_q.weight", {32, 3}, kQ4_0, 0);
  expectError(end(odd, 64),
              ": tensor 'blk.0.attn_q.weight': expected its 3 rows to be heads "
              "of an even size, of which metadata 'llama.attention.head_count' "
              "gives the number, got 2");
  Bytes split = begin(0, 1);
  split.text("split.count").number(kU32).number(uint32_t(4));
  expectError(split, "is one of 4 files of a model: `llama-gguf-split "
                     "--merge` makes one file of them");
  Bytes other = valid();
  other.data.replace(other.data.find("llama"), 5, "mamba");
  expectError(other, ": unsupported general.architecture 'mamba'; expected "
                     "one of llama, ");
  expectError(other, "; the safetensors that the file was made from may be "
                     "supported");
  Bytes twice = begin(0, 1);
  twice.text("general.architecture").number(kText).text("llama");
  expectError(twice, "metadata 'general.architecture' is there twice");
  other.data.replace(4, 4, std::string("\0\0\0\3", 4));
  expectError(other, "expected version 2 or 3 of GGUF, little-endian");
}

TEST(Gguf, RefusesWhatIsSaidTwiceOrOddly) {
  Bytes twice = begin(2);
  twice.tensor("output_norm.weight", {8}, kF32, 0);
  twice.tensor("output_norm.weight", {8}, kF32, 32);
  expectError(end(twice, 64), "tensor 'output_norm.weight' is there twice");
  Bytes large = begin(0, 1);
  large.text("k").number(uint32_t(10)).number(~uint64_t(0));
  expectError(large, "metadata 'k' has the value 18446744073709551615, which "
                     "is too large");
  Bytes name = begin(1);
  name.tensor("a b", {8}, kF32, 0);
  expectError(end(name, 32), "expected the name in a tensor's entry to be 1 to "
                             "1024 printable characters");
  Bytes alignment = begin(0, 1);
  alignment.text("general.alignment").number(kU32).number(uint32_t(24));
  expectError(alignment, "expected general.alignment to be a power of two of "
                         "at most 1048576, got 24");
  Bytes experts = begin(1);
  experts.tensor("blk.0.ffn_gate_exps.weight", {1, 1, 65537}, kF32, 0);
  expectError(end(experts, 65537 * 4),
              ": tensor 'blk.0.ffn_gate_exps.weight': expected at most 65536 "
              "experts, got 65537");
  Bytes norm = begin(1);
  norm.data.replace(norm.data.find("llama"), 5, "gemma");
  norm.tensor("output_norm.weight", {8}, kF16, 0);
  expectError(end(norm, 32),
              ": tensor 'output_norm.weight': expected the weight "
              "of a norm to be of type F32, got F16");
}

TEST(Gguf, SurvivesRandomChanges) {
  const uint64_t seed = 20261127;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  const std::string whole = valid().data;
  for (int i = 0; i < 20000; ++i) {
    std::string changed = whole;
    for (uint64_t n = 1 + random() % 4; n > 0; --n)
      changed[random() % (whole.size() - 448)] =
          char(random() % 3 == 0 ? 0xff : random() % 256);
    auto parts = open(changed);
    if (!parts)
      EXPECT_EQ(parts.status().code(), Code::User) << parts.status().message();
  }
}

} // namespace
