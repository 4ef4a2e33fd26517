//===- WeightsTest.cpp - blocks of checkpoints ----------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every rank's block of sliced, permuted, sharded and padded parameters against
// an element-by-element definition, and the refusals of checkpoints that do not
// fit.
//
//===----------------------------------------------------------------------===//

#include "TestUtil.h"

#include "../tensors/Weights.h"

#include <cmath>
#include <thread>

using namespace tprt;
using namespace tprt::test;

namespace {

json parameter(const char *name, Shape shape) {
  json sharding = json::array();
  for (size_t d = 0; d < shape.size(); ++d)
    sharding.push_back(json::array());
  return {{"names", {std::string("model.") + name, name}},
          {"count", 1},
          {"first", 0},
          {"base", 0},
          {"source_shape", shape},
          {"shape", shape},
          {"sharding", sharding},
          {"local_shape", shape},
          {"type", "f32"}};
}

struct Checkpoint {
  TemporaryDirectory directory;
  json manifest = emptyManifest();

  explicit Checkpoint(const std::vector<TestTensor> &tensors) {
    write("model.safetensors", safetensors(tensors));
  }
  void write(const std::string &name, const std::string &bytes) {
    ASSERT_OK(writeFile(directory / name, bytes));
  }
  std::string refusal() {
    auto parsed = Manifest::parse(manifest.dump());
    EXPECT_TRUE(bool(parsed)) << parsed.status().message();
    return hideDirectory(
        Weights::open(directory.path.string(), *parsed).status().message());
  }
  /// Messages name the directory, which differs from run to run.
  std::string hideDirectory(std::string message) const {
    for (size_t at;
         (at = message.find(directory.path.string())) != std::string::npos;)
      message.replace(at, directory.path.string().size(), "DIR");
    return message;
  }
};

std::string zeros(int64_t bytes) { return std::string(bytes, '\0'); }

} // namespace

TEST(Weights, HeadersThatBeginLikeOtherFiles) {
  // The length 0x0280 is how a pickle begins.
  for (size_t length : {0x280, 0x10280}) {
    std::string file = safetensors({{"w", "F32", {2, 3}, zeros(24)}});
    uint64_t header = 0;
    std::memcpy(&header, file.data(), 8);
    file.insert(8 + header, length - header, ' ');
    header = length;
    std::memcpy(file.data(), &header, 8);
    Checkpoint c({});
    c.write("model.safetensors", file);
    c.manifest["parameters"] = {parameter("w", {2, 3})};
    EXPECT_EQ(c.refusal(), "");
  }
}

TEST(Weights, RefusalsByName) {
  Checkpoint c({{"w", "F32", {2, 3}, zeros(24)}});
  c.manifest["parameters"] = {parameter("w", {2, 3})};
  EXPECT_EQ(c.refusal(), "");

  c.manifest["parameters"] = {parameter("w", {3, 2})};
  EXPECT_EQ(c.refusal(), "'DIR/model.safetensors': tensor 'w': expected shape "
                         "[3, 2], got [2, 3]");
  json other = parameter("b", {3});
  other["base"] = 1;
  c.manifest["parameters"] = {parameter("w", {2, 3}), other};
  EXPECT_EQ(c.refusal(), "weights 'DIR': the checkpoint lacks tensors that the "
                         "program needs: 'model.b'");

  Checkpoint types({{"w", "I64", {2, 3}, zeros(48)}});
  types.manifest["parameters"] = {parameter("w", {2, 3})};
  EXPECT_EQ(types.refusal(), "'DIR/model.safetensors': tensor 'w': expected "
                             "type F32, BF16 or F16, got I64");

  Checkpoint unused({{"w", "F32", {2, 3}, zeros(24)},
                     {"x.inv_freq", "F32", {1}, zeros(4)},
                     {"y", "F32", {1}, zeros(4)}});
  unused.manifest["parameters"] = {parameter("w", {2, 3})};
  unused.manifest["ignored"] = {"*.inv_freq"};
  EXPECT_EQ(unused.refusal(), "weights 'DIR': the checkpoint has tensors that "
                              "the program does not use: 'y'");
  unused.manifest["ignored"] = {"*.inv_freq", "y"};
  EXPECT_EQ(unused.refusal(), "");
  std::filesystem::remove(unused.directory.path / "model.safetensors");
  EXPECT_EQ(unused.refusal(), "weights 'DIR': expected model.safetensors or "
                              "model.safetensors.index.json in the directory");
}

TEST(Weights, OneFileWinsOverAnIndex) {
  auto bytes = [](float value) { return toBytes(TPRT_F32, {value}); };
  Checkpoint c({{"w", "F32", {1}, bytes(1)}});
  c.write("other.safetensors", safetensors({{"w", "F32", {1}, bytes(2)}}));
  c.manifest["parameters"] = {parameter("w", {1})};
  auto manifest = Manifest::parse(c.manifest.dump());
  ASSERT_TRUE(bool(manifest)) << manifest.status().message();
  std::string note = "'DIR/model.safetensors' is read, and not the files that "
                     "model.safetensors.index.json beside it names";
  std::pair<std::string, std::string> indices[] = {
      {R"({"weight_map": {"w": "model.safetensors"}})", ""},
      {R"({"weight_map": {"w": "other.safetensors"}})", note},
      {R"({"weight_map": {"w": "missing.safetensors"}})", note},
      {"{", note}};
  for (const auto &[index, expected] : indices) {
    c.write("model.safetensors.index.json", index);
    auto weights = Weights::open(c.directory.path.string(), *manifest);
    ASSERT_TRUE(bool(weights)) << weights.status().message();
    EXPECT_EQ(c.hideDirectory(weights->note()), expected);
    float value = 0;
    ASSERT_TRUE(bool(weights->load(0, 0, {0}, &value)));
    EXPECT_EQ(value, 1);
  }
  std::filesystem::remove(c.directory.path / "model.safetensors");
  c.write("model.safetensors.index.json", indices[1].first);
  auto weights = Weights::open(c.directory.path.string(), *manifest);
  float value = 0;
  ASSERT_TRUE(bool(weights->load(0, 0, {0}, &value)));
  EXPECT_EQ(value, 2);
}

TEST(Weights, StacksOfTensors) {
  Checkpoint c({{"w.0.x", "F32", {2, 3}, zeros(24)},
                {"w.1.x", "BF16", {2, 3}, zeros(12)}});
  c.manifest["parameters"] = {parameter("w.{e}.x", {2, 2, 3})};
  EXPECT_EQ(c.refusal(), "'DIR/model.safetensors': tensor 'w.1.x': expected "
                         "type F32, that of 'w.0.x', got BF16");
  c.manifest["parameters"] = {parameter("w.{e}.x", {1, 2, 3})};
  EXPECT_EQ(c.refusal(), "weights 'DIR': the checkpoint has tensors that the "
                         "program does not use: 'w.1.x'");
  c.manifest["parameters"] = {parameter("w.{e}.x", {3, 2, 3})};
  c.write("model.safetensors",
          safetensors({{"w.0.x", "F32", {2, 3}, zeros(24)},
                       {"w.1.x", "F32", {2, 3}, zeros(24)}}));
  EXPECT_EQ(c.refusal(), "weights 'DIR': the checkpoint lacks tensors that the "
                         "program needs: 'model.w.2.x'");
  c.manifest["parameters"] = {parameter("w.{e}.x", {2, 3, 2})};
  EXPECT_EQ(c.refusal(), "'DIR/model.safetensors': tensor 'w.0.x': expected "
                         "shape [3, 2], got [2, 3]");
}

TEST(Weights, ShardedCheckpoints) {
  Checkpoint c({});
  std::filesystem::remove(c.directory.path / "model.safetensors");
  c.manifest["parameters"] = {parameter("w", {2})};
  json b = parameter("b", {1});
  b["base"] = 1;
  c.manifest["parameters"].push_back(b);
  c.write("1.safetensors", safetensors({{"w", "F32", {2}, zeros(8)}}));
  c.write("2.safetensors", safetensors({{"b", "F32", {1}, zeros(4)}}));
  auto index = [&](const json &map) {
    c.write("model.safetensors.index.json", json({{"weight_map", map}}).dump());
    return c.refusal();
  };
  EXPECT_EQ(index({{"w", "1.safetensors"}, {"b", "2.safetensors"}}), "");
  EXPECT_EQ(index({{"w", "1.safetensors"}, {"b", "1.safetensors"}}),
            "'DIR/model.safetensors.index.json': tensor 'b' is not in "
            "'1.safetensors'");
  EXPECT_EQ(
      index({{"w", "../1.safetensors"}}),
      "'DIR/model.safetensors.index.json'.weight_map: tensor 'w': expected "
      "the name of a file beside the index, got '../1.safetensors'");
  EXPECT_EQ(
      index({{"w", 1}}),
      "'DIR/model.safetensors.index.json'.weight_map: tensor 'w': expected "
      "a string, got number");
  EXPECT_EQ(index("w"), "'DIR/model.safetensors.index.json'.weight_map: "
                        "expected an object, got string");
  EXPECT_EQ(index({{"w", "3.safetensors"}}),
            "cannot open 'DIR/3.safetensors': No such file or directory");
  // One that is in two files counts where the index has it; one that it does
  // not list is not there.
  c.write("2.safetensors",
          safetensors({{"b", "F32", {1}, zeros(4)},
                       {"more", "F32", {1}, zeros(4)},
                       {"w", "F32", {2}, toBytes(TPRT_F32, {1, 2})}}));
  for (const auto &[file, want] :
       {std::pair("1.safetensors", 0.f), std::pair("2.safetensors", 2.f)}) {
    EXPECT_EQ(index({{"w", file}, {"b", "2.safetensors"}}), "");
    auto manifest = Manifest::parse(c.manifest.dump());
    ASSERT_OK(manifest.status());
    auto weights = Weights::open(c.directory.path.string(), *manifest);
    ASSERT_OK(weights.status());
    float values[2];
    ASSERT_OK(weights->load(0, 0, {0}, values).status());
    EXPECT_EQ(values[1], want);
    EXPECT_NE(weights->note().find("does not list tensors where the files have "
                                   "them, which are not read there: 'more'"),
              std::string::npos);
  }
}

//===----------------------------------------------------------------------===//
// Tensors that stand for one parameter
//===----------------------------------------------------------------------===//

namespace {
/// The notes of each of `shares` ranks on a checkpoint; empty if there are
/// none.
std::vector<std::string> compareAll(const Checkpoint &c, int64_t shares) {
  std::vector<std::string> said;
  auto manifest = Manifest::parse(c.manifest.dump());
  EXPECT_TRUE(bool(manifest)) << manifest.status().message();
  auto weights = Weights::open(c.directory.path.string(), *manifest);
  EXPECT_TRUE(bool(weights)) << weights.status().message();
  for (int64_t share = 0; share < shares; ++share)
    said.push_back(weights->compareShare(share, shares).message());
  return said;
}

int64_t countDifferent(const Checkpoint &c, int64_t shares) {
  std::vector<std::string> said = compareAll(c, shares);
  return int64_t(shares) - std::count(said.begin(), said.end(), "");
}
} // namespace

TEST(Weights, TwoNamesOfOneParameter) {
  std::vector<float> values = {1, 2, 3, 4, 5, 6}, others = values;
  others[5] = 7;
  auto tensor = [](const char *name, const char *type, tprt_type id,
                   const std::vector<float> &list) {
    return TestTensor{name, type, {2, 3}, toBytes(id, list)};
  };
  auto check = [&](const TestTensor &b, const char *type) {
    Checkpoint c({tensor("model.w", "F32", TPRT_F32, values), b});
    c.manifest["parameters"] = {parameter("w", {2, 3})};
    c.manifest["parameters"][0]["type"] = type;
    return countDifferent(c, 3);
  };
  EXPECT_EQ(check(tensor("w", "F32", TPRT_F32, values), "f32"), 0);
  EXPECT_EQ(check(tensor("w", "BF16", TPRT_BF16, values), "f32"), 0);
  // The share of one rank.
  EXPECT_EQ(check(tensor("w", "F32", TPRT_F32, others), "f32"), 1);
  EXPECT_EQ(check(tensor("w", "BF16", TPRT_BF16, others), "f32"), 1);
  // A difference that bf16 rounds away.
  others[5] = 6.0001f;
  EXPECT_EQ(check(tensor("w", "F32", TPRT_F32, others), "f32"), 1);
  EXPECT_EQ(check(tensor("w", "F32", TPRT_F32, others), "bf16"), 0);
  values[0] = 0, others = values, others[0] = -0.f;
  EXPECT_EQ(check(tensor("w", "F32", TPRT_F32, others), "f32"), 0);
  values[0] = others[0] = NAN;
  EXPECT_EQ(check(tensor("w", "F16", TPRT_F16, others), "f32"), 0);

  Checkpoint c({{"model.w", "F32", {2}, zeros(8)},
                {"w", "F32", {2}, toBytes(TPRT_F32, {0, 1})}});
  c.manifest["parameters"] = {parameter("w", {2})};
  EXPECT_EQ(
      c.hideDirectory(compareAll(c, 1)[0]),
      "tensors 'model.w' of 'DIR/model.safetensors' and 'w' of "
      "'DIR/model.safetensors' stand for the same parameter of the program but "
      "hold different values: compile it again with --ignore model.w or "
      "--ignore w, whichever is not to be read, or with --untie if they are a "
      "table of tokens and the head");
  c.manifest["excluded"] = {"w"};
  EXPECT_EQ(countDifferent(c, 1), 0);
  c.manifest["excluded"] = {"*w"};
  EXPECT_EQ(c.refusal(), "weights 'DIR': the checkpoint lacks tensors that the "
                         "program needs: 'model.w'");
  Checkpoint shape(
      {{"model.w", "F32", {2}, zeros(8)}, {"w", "F32", {1}, zeros(4)}});
  shape.manifest["parameters"] = {parameter("w", {2})};
  EXPECT_EQ(shape.refusal(), "'DIR/model.safetensors': tensor 'w': expected "
                             "shape [2], got [1]");
}

/// Random boxes of random tensors, against the definition.
TEST(Weights, PartsOfRandomTensors) {
  std::mt19937 random(kSeed);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    auto draw = [&](int64_t low, int64_t high) {
      return std::uniform_int_distribution<int64_t>(low, high)(random);
    };
    size_t rank = size_t(draw(1, 4));
    bool isStack = draw(0, 1);
    Shape shape, offsets, sizes;
    for (size_t d = 0; d < rank; ++d) {
      shape.push_back(draw(1, 6));
      offsets.push_back(draw(0, 1) ? draw(0, shape[d] - 1) : 0);
      sizes.push_back(draw(1, shape[d] - offsets[d]));
      if (draw(0, 1) && offsets[d] == 0)
        sizes[d] = shape[d];
    }
    std::vector<float> whole = randomFloats(random, elementCount(shape)), part;
    for (int64_t i = 0; i < elementCount(sizes); ++i) {
      int64_t left = i, from = 0, stride = 1;
      for (size_t d = rank; d-- > 0; left /= sizes[d]) {
        from += (offsets[d] + left % sizes[d]) * stride;
        stride *= shape[d];
      }
      part.push_back(whole[size_t(from)]);
    }
    bool differs = draw(0, 1);
    if (differs)
      part[size_t(draw(0, int64_t(part.size()) - 1))] += 1;
    // Some of the first dimensions may be one dimension of the files.
    int64_t joined = isStack ? 1 : draw(1, int64_t(rank));
    auto inFile = [&](Shape dims) {
      for (int64_t d = 1; d < joined; ++d) {
        dims[1] *= dims[0];
        dims.erase(dims.begin());
      }
      return dims;
    };
    std::vector<TestTensor> tensors = {
        {"whole", "F32", inFile(shape), toBytes(TPRT_F32, whole)}};
    Shape each = inFile(Shape(sizes.begin() + isStack, sizes.end()));
    int64_t bytes = elementCount(each) * 4;
    std::string all = toBytes(TPRT_F32, part);
    for (int64_t e = 0; e < (isStack ? sizes[0] : 1); ++e)
      tensors.push_back({isStack ? "part." + std::to_string(e) : "part", "F32",
                         each, all.substr(size_t(e * bytes), size_t(bytes))});
    Checkpoint c(tensors);
    c.manifest["parameters"] = {parameter("whole", inFile(shape))};
    c.manifest["tensor_parts"] = {{{"part", isStack ? "part.{e}" : "part"},
                                   {"whole", "whole"},
                                   {"shape", shape},
                                   {"offsets", offsets},
                                   {"sizes", sizes},
                                   {"type", "f32"},
                                   {"first", 0},
                                   {"count", 1}}};
    if (joined > 1)
      c.manifest["tensor_parts"][0]["joined"] = joined;
    EXPECT_EQ(countDifferent(c, draw(1, 5)), int64_t(differs));
    // The parts are used, and no tensors to save.
    auto manifest = Manifest::parse(c.manifest.dump());
    auto weights = Weights::open(c.directory.path.string(), *manifest);
    ASSERT_OK(weights.status());
    EXPECT_EQ(weights->checkpoint().size(), 1u);
  }
}

TEST(Weights, BlocksOfRandomTemplates) {
  std::mt19937 random(kSeed);
  auto pick = [&](int64_t low, int64_t high) {
    return low + int64_t(random() % (high - low + 1));
  };
  const char *fileTypes[] = {"F32", "BF16", "F16"};
  tprt_type types[] = {TPRT_F32, TPRT_BF16, TPRT_F16};
  for (int n = 0; n < 120; ++n) {
    SCOPED_TRACE(detail::join("seed ", kSeed, " case ", n));
    size_t rank = pick(1, 3);
    Shape source, offsets, sizes, permutation, shape, local;
    for (size_t d = 0; d < rank; ++d) {
      source.push_back(pick(1, d + 1 == rank ? 150 : 20));
      offsets.push_back(pick(0, source[d] - 1));
      sizes.push_back(pick(1, source[d] - offsets[d]));
      permutation.push_back(int64_t(d));
    }
    std::shuffle(permutation.begin(), permutation.end(), random);
    int64_t tp = 4;
    size_t sharded = pick(0, int64_t(rank) - 1);
    json refs = json::array();
    int64_t shards = 1, kind = pick(0, 3);
    if (kind == 1)
      refs = json::array({{{"axis", "tp"}}}), shards = 4;
    if (kind == 2)
      refs = json::array({{{"axis", "tp"}, {"size", 2}}}), shards = 2;
    if (kind == 3)
      refs = json::array(
          {{{"axis", "tp"}, {"pre", 2}}, {{"axis", "tp"}, {"size", 2}}}),
      shards = 4;
    json sharding = json::array();
    for (size_t d = 0; d < rank; ++d) {
      shape.push_back(sizes[permutation[d]]);
      int64_t cut = d == sharded ? shards : 1;
      // Sometimes a block is larger than it need be, as grains make it.
      local.push_back((shape[d] + cut - 1) / cut + (random() % 3 == 0));
      sharding.push_back(d == sharded ? refs : json::array());
    }
    int from = pick(0, 2), to = pick(0, 2);
    std::vector<float> values =
        rounded(types[from], randomFloats(random, elementCount(source)));
    // Half of them lie as a tensor for each position of the first dimension.
    bool isStack = random() % 2;
    std::vector<TestTensor> tensors;
    Shape part(source.begin() + isStack, source.end());
    for (int64_t e = 0; e < (isStack ? source[0] : 1); ++e) {
      auto begin = values.begin() + e * elementCount(part);
      tensors.push_back(
          {isStack ? detail::join("w.", e, ".x") : "w", fileTypes[from], part,
           toBytes(types[from], {begin, begin + elementCount(part)})});
    }
    Checkpoint c(tensors);
    json p = parameter(isStack ? "w.{e}.x" : "w", source);
    p["slice"] = {{"offsets", offsets}, {"sizes", sizes}};
    p["permutation"] = permutation;
    p["shape"] = shape;
    p["local_shape"] = local;
    p["sharding"] = sharding;
    p["type"] = typeName(types[to]);
    bool partial = kind == 2 && random() % 2;
    if (partial)
      p["partial"] = json::array({{{"axis", "tp"}, {"pre", 2}, {"size", 2}}});
    c.manifest = emptyManifest(tp);
    c.manifest["parameters"] = {p};
    auto manifest = Manifest::parse(c.manifest.dump());
    ASSERT_TRUE(bool(manifest)) << manifest.status().message();
    auto weights = Weights::open(c.directory.path.string(), *manifest);
    ASSERT_TRUE(bool(weights)) << weights.status().message();

    for (int64_t r = 0; r < tp; ++r) {
      std::string block(elementCount(local) * typeBytes(types[to]), '\x7f');
      ASSERT_TRUE(bool(weights->load(0, 0, {r}, block.data())));
      // The same in pieces of whole rows.
      std::string pieces(block.size(), '\x7f');
      int64_t rowBytes = int64_t(block.size()) / local[0];
      for (int64_t first = 0, rows; first < local[0]; first += rows) {
        rows = pick(1, local[0] - first);
        ASSERT_TRUE(bool(weights->load(
            0, 0, {r}, pieces.data() + first * rowBytes, first, rows)));
      }
      ASSERT_TRUE(pieces == block) << "rank " << r;
      std::vector<float> got = toFloats(types[to], block);
      int64_t shard = kind == 1   ? r
                      : kind == 2 ? r / 2
                      : kind == 3 ? r % 2 * 2 + r / 2
                                  : 0;
      for (int64_t i = 0; i < elementCount(local); ++i) {
        int64_t rest = i, index = 0;
        bool inside = !(partial && r % 2 != 0);
        Shape global(rank);
        for (size_t d = rank; d-- > 0;) {
          global[d] = rest % local[d] + (d == sharded ? shard * local[d] : 0);
          rest /= local[d];
          inside &= global[d] < shape[d];
        }
        float expected = 0;
        if (inside) {
          Shape at(rank);
          for (size_t d = 0; d < rank; ++d)
            at[permutation[d]] = offsets[permutation[d]] + global[d];
          for (size_t d = 0; d < rank; ++d)
            index = index * source[d] + at[d];
          expected = rounded(types[to], {values[index]})[0];
        }
        ASSERT_EQ(got[i], expected) << "rank " << r << " element " << i;
      }
    }
  }
}

TEST(Weights, FilesThatFail) {
  // The beginning of memory cannot be read.
  auto file = InputFile::open("/proc/self/mem");
  ASSERT_TRUE(bool(file)) << file.status().message();
  char byte;
  EXPECT_MESSAGE(file->read(0, &byte, 1),
                 "cannot read '/proc/self/mem': Input/output error");
  EXPECT_MESSAGE(InputFile::open("/").status(), "'/' is not a file");
}

/// A file that becomes shorter while it is read is an error, whenever it does.
TEST(Weights, CheckpointsThatAreCutShort) {
  constexpr int64_t kRows = 700, kColumns = 5000;
  std::mt19937 random(kSeed);
  std::vector<float> values = randomFloats(random, kRows * kColumns);
  for (bool transposed : {false, true})
    for (tprt_type type : {TPRT_F32, TPRT_BF16}) {
      SCOPED_TRACE(detail::join("seed ", kSeed, " ", typeName(type),
                                transposed ? " transposed" : ""));
      Checkpoint c(
          {{"w", "F32", {kRows, kColumns}, toBytes(TPRT_F32, values)}});
      json p = parameter("w", {kRows, kColumns});
      p["type"] = typeName(type);
      if (transposed) {
        p["permutation"] = {1, 0};
        p["shape"] = p["local_shape"] = {kColumns, kRows};
      }
      c.manifest["parameters"] = {p};
      auto manifest = Manifest::parse(c.manifest.dump());
      ASSERT_TRUE(bool(manifest)) << manifest.status().message();
      auto weights = Weights::open(c.directory.path.string(), *manifest);
      ASSERT_TRUE(bool(weights)) << weights.status().message();
      std::string block(kRows * kColumns * typeBytes(type), '\x7f');
      auto read = weights->load(0, 0, {0}, block.data());
      ASSERT_TRUE(bool(read)) << read.status().message();
      EXPECT_EQ(*read, kRows * kColumns * 4);
      std::vector<float> got = toFloats(type, block),
                         wanted = rounded(type, values);
      for (int64_t i = 0; i < kRows * kColumns; i += 17)
        ASSERT_EQ(got[transposed ? i % kColumns * kRows + i / kColumns : i],
                  wanted[i]);
      ASSERT_TRUE(bool(weights->fingerprint()));
      // Somewhere in the middle of a load.
      std::string path = c.directory / "model.safetensors";
      int64_t size = int64_t(std::filesystem::file_size(path));
      std::thread cutter([&, wait = useconds_t(random() % 3000)] {
        usleep(wait);
        std::filesystem::resize_file(path, uintmax_t(size / 2));
      });
      auto racing = weights->load(0, 0, {0}, block.data());
      cutter.join();
      std::string error = detail::join(
          "tensor 'w': '", path, "': expected ", size, " bytes, got ", size / 2,
          ": the file was cut short while it was read");
      if (!racing) {
        EXPECT_MESSAGE(racing.status(), error);
      }
      auto late = weights->load(0, 0, {0}, block.data());
      ASSERT_FALSE(bool(late));
      EXPECT_MESSAGE(late.status(), error);
      EXPECT_EQ(late.status().code(), Code::User);
      EXPECT_FALSE(bool(weights->fingerprint()));
    }
}

TEST(Weights, RandomValuesLookNormal) {
  json m = emptyManifest();
  json p = parameter("w", {100, 1000}), one = parameter("g", {4}),
       zero = parameter("z", {4});
  one["base"] = 1;
  zero["base"] = 2;
  zero["init"] = "zeros";
  m["parameters"] = {p, one, zero};
  auto manifest = Manifest::parse(m.dump());
  ASSERT_TRUE(bool(manifest)) << manifest.status().message();
  std::vector<float> a(100000), b(100000), g(4), z(4);
  auto load = [&](const char *spec, int64_t parameter, float *out) {
    auto weights = Weights::open(spec, *manifest);
    ASSERT_TRUE(bool(weights));
    ASSERT_TRUE(bool(weights->load(parameter, 0, {0}, out)));
  };
  load("random:1", 0, a.data());
  load("random:2", 0, b.data());
  load("random:1", 1, g.data());
  load("random:1", 2, z.data());
  double sum = 0, squares = 0, product = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += a[i], squares += a[i] * a[i], product += a[i] * b[i];
  EXPECT_NEAR(sum / 1e5, 0, 3e-4);
  EXPECT_NEAR(std::sqrt(squares / 1e5), 0.02, 3e-4);
  EXPECT_NEAR(product / 1e5, 0, 1e-5);
  EXPECT_EQ(g, (std::vector<float>{1, 1, 1, 1}));
  EXPECT_EQ(z, (std::vector<float>{0, 0, 0, 0}));
}

TEST(Weights, RandomValuesHaveTheirDeviationAndRow) {
  json m = emptyManifest();
  json p = parameter("w", {8, 6}), wide = p, turned = p;
  wide["base"] = 1;
  wide["deviation"] = 0.5;
  wide["zero_row"] = 2;
  turned = wide;
  turned["base"] = 2;
  turned["permutation"] = {1, 0};
  turned["shape"] = turned["local_shape"] = {6, 8};
  m["parameters"] = {p, wide, turned};
  auto manifest = Manifest::parse(m.dump());
  ASSERT_TRUE(bool(manifest)) << manifest.status().message();
  std::vector<std::vector<float>> values(3, std::vector<float>(48));
  auto weights = Weights::open("init:1", *manifest);
  for (int64_t i = 0; i < 3; ++i)
    ASSERT_TRUE(bool(weights->load(i, 0, {0}, values[size_t(i)].data())));
  for (size_t row = 0; row < 8; ++row)
    for (size_t column = 0; column < 6; ++column) {
      float expected = row == 2 ? 0 : values[0][row * 6 + column] * 25;
      EXPECT_FLOAT_EQ(values[1][row * 6 + column], expected);
      EXPECT_FLOAT_EQ(values[2][column * 8 + row], expected);
    }
}
