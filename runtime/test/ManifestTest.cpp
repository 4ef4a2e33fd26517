//===- ManifestTest.cpp - refusals name the path --------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Starts from a valid manifest with something in every table, breaks one thing
// at a time and expects the exact message; then breaks it at random and expects
// no crash. Also the arithmetic of meshes and sub-axes.
//
//===----------------------------------------------------------------------===//

#include "ManifestCases.h"

#include "../support/QuantizedWeight.h"
#include "tprt/names.h"
#include "tprt/version.h"

using namespace tprt;
using namespace tprt::test;

TEST(Manifest, Valid) {
  auto parsed = Manifest::parse(fullManifest().dump());
  ASSERT_TRUE(bool(parsed)) << parsed.status().message();
  EXPECT_EQ(parsed->parameterSlots(), 3);
  EXPECT_EQ(parsed->parameters[0].nameOf(0, 2), "l.3.w");
  EXPECT_EQ(parsed->entries[0].inputs[1].defaultValue, Input::Default::Ones);
  EXPECT_EQ(parsed->attentions[0].scale, 0.5);
}

TEST(Manifest, Refusals) {
  const Fault faults[] = {
      {"/abi", "1", "manifest.abi: expected ABI version 6, got 1"},
      {"/extra", "1", "manifest: unknown key 'extra'"},
      {"/producer", "1", "manifest.producer: expected a string, got number"},
      {"/mesh/axes/1/size", "0",
       "manifest.mesh.axes[1].size: expected an integer in [1, 65536], got 0"},
      {"/mesh/axes/1/size", "1.5",
       "manifest.mesh.axes[1].size: expected an integer, got 1.5"},
      {"/mesh/axes/1/size", "18446744073709551615",
       "manifest.mesh.axes[1].size: integer 18446744073709551615 is too large"},
      {"/mesh/axes/1/name", "\"dp\"",
       "manifest.mesh.axes[1].name: axis 'dp' occurs twice"},
      {"/mesh/device_order", "[0]",
       "manifest.mesh.device_order: expected 8 ranks, got 1"},
      {"/mesh/device_order", "[0,1,2,3,4,5,6,6]",
       "manifest.mesh.device_order[7]: rank 6 occurs twice"},
      {"/entries", "[]", "manifest.entries: expected at least one entry"},
      {"/entries/0/inputs/0/shape/1", "-4",
       "manifest.entries[0].inputs[0].shape[1]: expected an integer in [1, "
       "1099511627776], got -4"},
      {"/entries/0/inputs/0/shape", "[1099511627776, 1099511627776]",
       "manifest.entries[0].inputs[0].shape: too many elements"},
      {"/entries/0/inputs/0/local_shape", "[1]",
       "manifest.entries[0].inputs[0].local_shape: expected 2 dimensions, "
       "got 1"},
      {"/entries/0/inputs/1/local_shape/0", "1",
       "manifest.entries[0].inputs[1].local_shape: dimension 0: 1 shards of 1 "
       "do not cover 2"},
      {"/entries/0/inputs/1/sharding/0",
       "{\"axes\": [], \"block\": 3, \"outer\": 1}",
       "manifest.entries[0].inputs[1].sharding[0].block: expected an integer "
       "in "
       "[1, 2], got 3"},
      {"/entries/0/inputs/1/sharding/0",
       "{\"axes\": [], \"block\": 1, \"outer\": 2}",
       "manifest.entries[0].inputs[1].sharding[0].outer: expected a divisor of "
       "1 "
       "shards, got 2"},
      {"/entries/0/inputs/1/name", "\"ids\"",
       "manifest.entries[0].inputs[1].name: input 'ids' occurs twice"},
      {"/entries/0/inputs/1/default", "\"twos\"",
       "manifest.entries[0].inputs[1].default: expected one of 'ones', "
       "'zeros', got 'twos'"},
      {"/entries/0/outputs/0/type", "\"f8\"",
       "manifest.entries[0].outputs[0].type: unknown element type 'f8'"},
      {"/entries/0/outputs/0/sharding/0/0/axis", "\"pp\"",
       "manifest.entries[0].outputs[0].sharding[0][0].axis: the mesh has no "
       "axis 'pp'"},
      {"/entries/0/outputs/0/sharding/0/0/size", "3",
       "manifest.entries[0].outputs[0].sharding[0][0]: pre 1 times size 3 does "
       "not divide axis 'tp' of size 4"},
      {"/parameters/0/partial/0/size", "4",
       "manifest.parameters[0].partial[0]: axis 'tp' is used twice"},
      {"/parameters/0/base", "1",
       "manifest.parameters[0].base: expected the next slot, 0, got 1"},
      {"/parameters/0/names/0", "\"w\"",
       "manifest.parameters[0].names: 'w' names 3 instances without '{i}'"},
      {"/parameters/0/slice/sizes/1", "9",
       "manifest.parameters[0].slice: dimension 1 reaches 11 of 10"},
      {"/parameters/0/permutation/0", "0",
       "manifest.parameters[0].permutation[1]: dimension 0 occurs twice"},
      {"/parameters/0/shape", "[8, 6]",
       "manifest.parameters[0].shape: expected the permuted slice, [6, 8], got "
       "[8, 6]"},
      {"/gemms/0/id", "1",
       "manifest.gemms[0].id: expected an integer in [0, 0], got 1"},
      {"/gemms/0/x_type", "\"f16\"",
       "manifest.gemms[0].x_type: expected f32 or bf16, got f16"},
      {"/gemms/0/bias", "0",
       "manifest.gemms[0].bias: expected a boolean, got number"},
      {"/attentions/0/kv_heads", "3",
       "manifest.attentions[0].kv_heads: expected a divisor of q_heads 4, "
       "got 3"},
      {"/collectives/0/kind", "\"reduce\"",
       "manifest.collectives[0].kind: expected one of 'all_reduce', "
       "'reduce_scatter', 'all_gather', 'all_to_all', 'collective_permute', "
       "got 'reduce'"},
      {"/collectives/0/reduction", "\"sum\"",
       "manifest.collectives[0]: 'reduction' has no meaning for all_gather"},
      {"/collectives/0/kind", "\"all_reduce\"",
       "manifest.collectives[0]: missing key 'reduction'"},
      {"/collectives/0/dim", "2",
       "manifest.collectives[0].dim: expected an integer in [0, 1], got 2"},
      {"/collectives/0/output_shape/1", "13",
       "manifest.collectives[0].output_shape: dimension 1: 3 and 13 do not fit "
       "all_gather over 4 ranks"},
      {"/collectives/0/output_shape/0", "1",
       "manifest.collectives[0].output_shape: dimension 0: 2 and 1 do not fit "
       "all_gather over 4 ranks"},
  };
  expectRefusals(fullManifest(), faults);
}

TEST(Manifest, RefusalsOfValues) {
  const Fault faults[] = {
      {"/target/architectures", "[\"sm_80\"]",
       "manifest.target.architectures: expected none for device 'cpu'"},
      {"/target/images", "[\"sm_90a\"]",
       "manifest.target.images: expected none for device 'cpu'"},
      {"/mesh/axes", "4", "manifest.mesh.axes: expected a list, got number"},
      {"/mesh/axes/0/size", "65536",
       "manifest.mesh.axes: expected at most 65536 ranks, got 262144"},
      {"/entries/1", "{}", "manifest.entries[1]: missing key 'name'"},
      {"/entries/0/inputs/0/shape", "[1, 1, 1, 1, 1, 1, 1, 1, 1]",
       "manifest.entries[0].inputs[0].shape: expected at most 8 dimensions, "
       "got 9"},
      {"/entries/0/inputs/0/range", "[0]",
       "manifest.entries[0].inputs[0].range: expected [low, high], got 1 "
       "items"},
      {"/entries/0/inputs/0/type", "\"f32\"",
       "manifest.entries[0].inputs[0].range: expected an input of integers, "
       "got f32"},
      {"/entries/0/inputs/1/type", "\"f32\"",
       "manifest.entries[0].inputs[1].right_padded: expected a mask [B, S] of "
       "integers, got [2, 5] of f32"},
      {"/parameters/0/names", "[]",
       "manifest.parameters[0].names: expected at least one name"},
      {"/parameters/0/slice/sizes", "[8]",
       "manifest.parameters[0].slice: expected 2 offsets and sizes, got 2 and "
       "1"},
      {"/parameters/0/slice/steps", "[1]",
       "manifest.parameters[0].slice: expected 2 steps, got 1"},
      {"/parameters/0/permutation", "[0]",
       "manifest.parameters[0].permutation: expected 2 items, got 1"},
      {"/parameters/0/type", "\"i32\"",
       "manifest.parameters[0].type: expected a float type, got i32"},
      {"/parameters/0/init", "\"random\"",
       "manifest.parameters[0].init: expected one of 'normal', 'ones', "
       "'zeros', got 'random'"},
      {"/parameters/0/deviation", "-0.5",
       "manifest.parameters[0].deviation: expected a number above 0 and below "
       "1e+06, got -0.5"},
      {"/attentions/0/mask_type", "\"f32\"",
       "manifest.attentions[0].mask_type: expected an integer type, got f32"},
      {"/attentions/0/soft_cap", "0",
       "manifest.attentions[0].soft_cap: expected a number above 0, got 0"},
      {"/attentions/0/bias_heads", "3",
       "manifest.attentions[0].bias_heads: expected 1 or q_heads 4, got 3"},
  };
  expectRefusals(fullManifest(), faults);
  json twice = fullManifest();
  twice["entries"].push_back(twice["entries"][0]);
  EXPECT_EQ(refusal(twice), "manifest.entries[1].name: 'main' occurs twice");
  json outputs = fullManifest();
  outputs["entries"][0]["outputs"].push_back(
      outputs["entries"][0]["outputs"][0]);
  EXPECT_EQ(refusal(outputs),
            "manifest.entries[0].outputs[1].name: output 'y' occurs twice");
  json many = fullManifest();
  many["ignored"] = json::array_t((1 << 20) + 1, "w");
  EXPECT_EQ(refusal(many), "manifest.ignored: expected at most 1048576 items, "
                           "got 1048577");
}

TEST(Manifest, Unshifted) {
  json manifest = fullManifest();
  json &input = manifest["entries"][0]["inputs"][0];
  input["unshifted"] = "labels";
  auto parsed = Manifest::parse(manifest.dump());
  ASSERT_TRUE(bool(parsed)) << parsed.status().message();
  EXPECT_EQ(parsed->entries[0].inputs[0].unshifted, "labels");
  const Fault faults[] = {
      {"/entries/0/inputs/0/unshifted", "1",
       "manifest.entries[0].inputs[0].unshifted: expected a string, got "
       "number"},
      {"/entries/0/inputs/0/type", "\"i8\"",
       "manifest.entries[0].inputs[0].unshifted: expected targets [B, S] of "
       "type i32 or i64 that are no state, got [2, 5] of i8"},
      {"/entries/0/inputs/0/unshifted", "\"ids\"",
       "manifest.entries[0].inputs[0].unshifted: input 'ids' occurs twice"},
  };
  expectRefusals(manifest, faults);
}

/// Each row of the table that moves something is read, with the keys that the
/// row has and no others.
TEST(Manifest, RefusalsOfTensorParts) {
  json manifest = fullManifest();
  manifest["excluded"] = {"*.c"};
  manifest["tensor_parts"] = json::parse(R"([{"part": "q.{e}", "whole": "l",
    "shape": [8, 10], "offsets": [0, 2], "sizes": [8, 6], "type": "bf16",
    "first": 0, "count": 1}])");
  EXPECT_EQ(refusal(manifest), "");
  const Fault faults[] = {
      {"/tensor_parts/0/sizes", "[8]",
       "manifest.tensor_parts[0]: expected 2 offsets and sizes, got 2 and 1"},
      {"/tensor_parts/0/sizes/1", "9",
       "manifest.tensor_parts[0]: dimension 1 reaches 11 of 10"},
      {"/tensor_parts/0/type", "\"i32\"",
       "manifest.tensor_parts[0].type: expected a float type, got i32"},
      {"/tensor_parts/0/joined", "1",
       "manifest.tensor_parts[0].joined: expected a tensor without '{e}', got "
       "'q.{e}'"},
      {"/model/changed_config", "{\"tie_word_embeddings\": 1}",
       "manifest.model.changed_config: key 'tie_word_embeddings': expected a "
       "boolean, got number"}};
  expectRefusals(manifest, faults);
}

TEST(Manifest, Sequences) {
  json manifest = fullManifest();
  json &entry = manifest["entries"][0];
  EXPECT_EQ(Manifest::parse(manifest.dump())->entries[0].positions, 0);
  for (json &input : entry["inputs"])
    input["sequences"] = true;
  auto parsed = Manifest::parse(manifest.dump());
  ASSERT_TRUE(bool(parsed)) << parsed.status().message();
  EXPECT_EQ(parsed->entries[0].positions, 5);
  EXPECT_TRUE(parsed->entries[0].inputs[0].sequences);
  EXPECT_FALSE(parsed->entries[0].outputs[0].sequences);
  const Fault faults[] = {
      {"/entries/0/outputs/0/sequences", "true",
       "manifest.entries[0].outputs[0].sequences: expected no state, of shape "
       "[B, S, ...], got [6]"},
      {"/entries/0/inputs/1/shape", "[2, 4]",
       "manifest.entries[0].inputs[1].sequences: expected 2 sequences of 5 "
       "positions as before it, got [2, 4]"},
      {"/entries/0/inputs/0/range", "[1, 10]",
       "manifest.entries[0].inputs[0].range: expected 0 in it, which pads "
       "sequences"},
      {"/entries/0/inputs/1/default", "\"zeros\"",
       "manifest.entries[0].inputs: expected a mask for what pads sequences: "
       "one of them with default 'ones'"},
  };
  expectRefusals(manifest, faults);
}

TEST(Manifest, OtherVersionsAreNamed) {
  json manifest = fullManifest();
  manifest["extra"] = 1;
  manifest["producer"] = "tp-mlir " + version();
  EXPECT_EQ(refusal(manifest), "manifest: unknown key 'extra'");
  manifest["producer"] = "tp-mlir 0.0.9 (commit 123)";
  EXPECT_EQ(refusal(manifest),
            "manifest: unknown key 'extra'; made by another version, tp-mlir "
            "0.0.9 (commit 123), and this is tp-mlir " +
                version() + ": compile it again");
}

TEST(Manifest, CollectivesHaveTheKeysOfTheirRow) {
  for (const CollectiveRow &row : collectiveRows) {
    SCOPED_TRACE(row.operation);
    json manifest = fullManifest();
    json &entry = manifest["collectives"][0];
    entry.erase("dim");
    entry["kind"] = row.operation;
    entry["input_shape"] = entry["output_shape"] = {8, 8};
    std::vector<std::string> keys;
    auto add = [&](bool has, const char *key, json value) {
      if (!has)
        return;
      keys.push_back(key);
      entry[key] = std::move(value);
    };
    add(row.reduces(), "reduction", "max");
    add(row.gathers() || row.cuts(), "dim", 0);
    add(row.gathers() && row.cuts(), "split_dim", 1);
    add(row.permutes(), "pairs", {{0, 1}, {1, 0}});
    if (row.isLocal()) {
      EXPECT_NE(refusal(manifest).find("expected one of"), std::string::npos);
      continue;
    }
    EXPECT_EQ(refusal(manifest), "");
    for (const std::string &key : keys) {
      json without = manifest;
      without["collectives"][0].erase(key);
      EXPECT_EQ(refusal(without),
                "manifest.collectives[0]: missing key '" + key + "'");
    }
    for (const char *key : {"reduction", "dim", "split_dim", "pairs"}) {
      if (entry.contains(key))
        continue;
      json with = manifest;
      with["collectives"][0][key] = 0;
      EXPECT_EQ(refusal(with),
                detail::join("manifest.collectives[0]: '", key,
                             "' has no meaning for ", row.operation));
    }
  }
}

TEST(Manifest, RefusalsOfCollectives) {
  json permute = fullManifest(), exchange = fullManifest();
  json &first = permute["collectives"][0], &second = exchange["collectives"][0];
  for (json *collective : {&first, &second})
    (*collective)["output_shape"] = {2, 3};
  first["kind"] = "collective_permute";
  first.erase("dim");
  first["pairs"] = json::parse("[[0, 1], [1, 0], [0]]");
  EXPECT_EQ(refusal(permute), "manifest.collectives[0].pairs[2]: expected "
                              "[source, destination], got 1 items");
  first["pairs"] = json::parse("[[0, 1], [2, 1]]");
  EXPECT_EQ(refusal(permute), "manifest.collectives[0].pairs[1]: a source or "
                              "destination occurs twice, in [2, 1]");
  second["kind"] = "all_to_all";
  second["split_dim"] = 1;
  EXPECT_EQ(refusal(exchange), "manifest.collectives[0].split_dim: expected "
                               "another dimension than 'dim'");
}

TEST(Manifest, RefusalsOfKernels) {
  const Fault faults[] = {
      {"/kernels/0/name", "\" k\"",
       "manifest.kernels[0].name: expected a symbol first, got ' k'"},
      {"/kernels/0/grid", "[1]",
       "manifest.kernels[0].grid: expected [x, y, z], got 1 items"},
      {"/kernels/0/block", "[64, 32, 1]",
       "manifest.kernels[0].block: expected at most 1024 threads, got 2048"},
      {"/kernels/0/images", "{\"sm_90a\": {\"grid\": [1, 1, 1]}}",
       "manifest.kernels[0].images: launch 'sm_90a': missing key 'block'"},
  };
  expectRefusals(deviceManifest(), faults);
}

TEST(Manifest, KernelsThatShareCode) {
  json device = deviceManifest();
  json other = device["kernels"][0];
  other["name"] = "j silu";
  device["kernels"].push_back(other);
  other["name"] = "i silu";
  other["code"] = "j";
  device["kernels"].push_back(other);
  auto manifest = Manifest::parse(device.dump());
  ASSERT_TRUE(bool(manifest)) << manifest.status().message();
  EXPECT_EQ(manifest->kernels[0].code, "k");
  EXPECT_EQ(manifest->kernels[1].code, "j");
  EXPECT_EQ(manifest->kernels[2].code, "j");
}

TEST(Manifest, KernelsOfOneArchitecture) {
  json device = deviceManifest();
  json launch{
      {"grid", {7, 1, 1}}, {"block", {384, 1, 1}}, {"shared_bytes", 64}};
  device["target"]["images"] = {"sm_90a"};
  device["kernels"][0]["images"] = {{"sm_90a", launch}};
  auto manifest = Manifest::parse(device.dump());
  ASSERT_TRUE(bool(manifest)) << manifest.status().message();
  EXPECT_EQ(manifest->images, std::vector<std::string>{"sm_90a"});
  const KernelLaunch &own = manifest->kernels[0].images.at("sm_90a");
  EXPECT_EQ(own.grid[0], 7);
  EXPECT_EQ(own.block[0], 384);
  EXPECT_EQ(own.sharedBytes, 64);
}

TEST(Manifest, ScalesOfDevices) {
  json host = fullManifest();
  host["gemms"][0]["scale"] = 0.5;
  EXPECT_EQ(refusal(host),
            "manifest.gemms[0].scale: expected none for device 'cpu'");
  json manifest = deviceManifest();
  json &scale = manifest["gemms"][0]["scale"];
  for (const char *good : {"0.5", "-3", "1.1754944e-38", "3.4028234e38"}) {
    scale = json::parse(good);
    auto parsed = Manifest::parse(manifest.dump());
    ASSERT_TRUE(bool(parsed)) << parsed.status().message();
    EXPECT_EQ(parsed->gemms[0].scale, std::strtof(good, nullptr));
  }
  for (auto [bad, got] : {std::pair("0", "0"),
                          {"-0.0", "-0.0"},
                          {"1e-39", "1e-39"},
                          {"3.5e38", "3.5e+38"},
                          {"-1e308", "-1e+308"}}) {
    scale = json::parse(bad);
    EXPECT_EQ(refusal(manifest),
              std::string("manifest.gemms[0].scale: expected "
                          "a normal f32 number other than "
                          "0, got ") +
                  got);
  }
  for (auto [bad, type] : {std::pair("\"0.5\"", "string"),
                           {"true", "boolean"},
                           {"null", "null"},
                           {"[1]", "array"}}) {
    scale = json::parse(bad);
    EXPECT_EQ(refusal(manifest),
              std::string("manifest.gemms[0].scale: expected a number, got ") +
                  type);
  }
  manifest["gemms"][0].erase("scale");
  auto parsed = Manifest::parse(manifest.dump());
  ASSERT_TRUE(bool(parsed)) << parsed.status().message();
  EXPECT_EQ(parsed->gemms[0].scale, 1);
}

TEST(Manifest, TextRefusals) {
  EXPECT_MESSAGE(Manifest::parse("{\"a\": 1, \"a\": 2}").status(),
                 "manifest: JSON names 'a' twice (line 1, column 12)");
  EXPECT_MESSAGE(Manifest::parse(std::string(100000, '[')).status(),
                 "manifest: JSON is nested 32 deep or more (line 1, "
                 "column 32)");
  EXPECT_MESSAGE(Manifest::parse("[]").status(),
                 "manifest: expected an object, got array");
  EXPECT_TRUE(Manifest::parse("{").status().message().starts_with(
      "manifest: invalid JSON: "));
  EXPECT_FALSE(Manifest::parse("{\"abi\": \"\xff\"}").status().ok());
}

TEST(Manifest, EveryMissingKeyIsNamed) {
  json manifest = fullManifest();
  for (const auto &item : manifest.items()) {
    json other = manifest;
    other.erase(item.key());
    EXPECT_EQ(refusal(other), "manifest: missing key '" + item.key() + "'");
  }
}

TEST(Manifest, RandomDamageDoesNotCrash) {
  std::mt19937 random(kSeed);
  const std::string texts[] = {fullManifest().dump(), deviceManifest().dump()};
  int refused = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::string &text = texts[i % 2];
    std::string damaged = text;
    for (int n = 1 + random() % 3; n > 0; --n) {
      size_t at = random() % damaged.size();
      switch (random() % 3) {
      case 0:
        damaged[at] = char(random());
        break;
      case 1:
        damaged.erase(at, random() % 20);
        break;
      case 2:
        damaged.insert(at, damaged.substr(random() % damaged.size(), 9));
        break;
      }
    }
    refused += !Manifest::parse(damaged);
  }
  EXPECT_GT(refused, 3000) << "seed " << kSeed;
}

TEST(Manifest, SubAxesAndDeviceOrder) {
  json manifest = fullManifest();
  manifest["mesh"]["device_order"] = {7, 6, 5, 4, 3, 2, 1, 0};
  auto parsed = Manifest::parse(manifest.dump());
  ASSERT_TRUE(bool(parsed)) << parsed.status().message();
  const Mesh &mesh = parsed->mesh;
  EXPECT_EQ(mesh.coordinates(0), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(mesh.coordinates(6), (std::vector<int64_t>{0, 1}));
  AxisRef major{1, 1, 2}, minor{1, 2, 2}, dp{0, 1, 2};
  EXPECT_EQ(mesh.digit(major, {0, 2}), 1);
  EXPECT_EQ(mesh.digit(minor, {0, 2}), 0);
  EXPECT_EQ(mesh.index({minor, major}, {0, 2}), 1);
  EXPECT_EQ(mesh.index({dp, minor}, {1, 3}), 3);
  // Rank 0 is at (1, 3); its neighbour on the minor half of tp at (1, 2).
  EXPECT_EQ(mesh.group({minor}, 0), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(mesh.group({major}, 0), (std::vector<int64_t>{2, 0}));
  EXPECT_EQ(mesh.group({minor, dp}, 0), (std::vector<int64_t>{5, 1, 4, 0}));
  EXPECT_EQ(mesh.group({}, 3), (std::vector<int64_t>{3}));
}

/// A name computes the layer's number if iterations have several layers; the
/// iteration is the number of a name that does not say so.
TEST(Manifest, LayerNumbers) {
  EXPECT_EQ(nameOfLayer("l.{i}.w", 3), "l.3.w");
  EXPECT_EQ(nameOfLayer("l.{2*{i}+1}.w", 3), "l.7.w");
  EXPECT_EQ(nameOfLayer("l.{6*{i}}.{i}.w", 10), "l.60.10.w");
  EXPECT_EQ(nameOfLayer("l.{{i}+4}.w", 3), "l.7.w");
  EXPECT_EQ(nameOfLayer("l.w", 3), "l.w");
  for (const char *name :
       {"{1*{i}}", "{02*{i}}", "{2*{i}+0}", "{*{i}}", "{2*{i}+}", "{{i}}",
        "2*{i}+1", "{2*{i}+1", "{9999999999*{i}}"}) {
    auto number = findLayerNumber(name);
    ASSERT_TRUE(number) << name;
    EXPECT_EQ(number->of(5), 5) << name;
    EXPECT_EQ(number->end - number->begin, 3u) << name;
  }
  for (int64_t scale : {1, 2, 31})
    for (int64_t offset : {0, 1, 30})
      EXPECT_EQ(nameOfLayer(writeLayerNumber(scale, offset), 7),
                std::to_string(7 * scale + offset));
}

/// A list that programs without a mixture of experts do without; and tensors of
/// the checkpoint that are one parameter.
TEST(Manifest, Experts) {
  json manifest = fullManifest();
  auto parsed = Manifest::parse(manifest.dump());
  ASSERT_TRUE(bool(parsed)) << parsed.status().message();
  EXPECT_TRUE(parsed->experts.empty());
  EXPECT_FALSE(parsed->parameters[0].isStack());
  manifest["experts"] = json::parse(R"([{"id": 0, "rows": 16, "experts": 8,
    "k": 4, "f": 6, "n": 5, "type": "bf16", "activation": "gelu_tanh"}])");
  manifest["parameters"][0]["names"] = {"l.{i}.{e}.w", "{e}.{i}"};
  parsed = Manifest::parse(manifest.dump());
  ASSERT_TRUE(bool(parsed)) << parsed.status().message();
  const Experts &e = parsed->experts[0];
  EXPECT_EQ(e.rows, 16);
  EXPECT_EQ(e.experts, 8);
  EXPECT_EQ(e.k, 4);
  EXPECT_EQ(e.f, 6);
  EXPECT_EQ(e.n, 5);
  EXPECT_EQ(e.type, TPRT_BF16);
  EXPECT_EQ(e.activation, Gemm::Activation::GeluTanh);
  const Parameter &p = parsed->parameters[0];
  EXPECT_TRUE(p.isStack());
  EXPECT_EQ(int64_t(p.tensorsOf(0, 1).size()), p.sourceShape[0]);
  EXPECT_EQ(p.tensorsOf(0, 1)[2], "l.2.2.w");
  EXPECT_EQ(p.tensorsOf(1, 0)[0], "0.1");
  EXPECT_EQ(p.tensorShape(),
            Shape(p.sourceShape.begin() + 1, p.sourceShape.end()));
  const Fault faults[] = {
      {"/experts/0/id", "1",
       "manifest.experts[0].id: expected an integer in [0, 0], got 1"},
      {"/experts/0/type", "\"i8\"",
       "manifest.experts[0].type: expected a float type, got i8"},
      {"/experts/0/top_k", "2", "manifest.experts[0]: unknown key 'top_k'"},
      {"/experts/0/alpha", "0",
       "manifest.experts[0].alpha: expected a finite number above 0, got 0"},
      {"/parameters/0/names", "[\"l.{i}.{e}.w\", \"l.{i}.w\"]",
       "manifest.parameters[0].names: expected '{e}' in all names or in none, "
       "got 'l.{i}.{e}.w' and 'l.{i}.w'"},
      {"/parameters/0/source_shape", "[]",
       "manifest.parameters[0].source_shape: expected a dimension for '{e}' in "
       "'l.{i}.{e}.w'"},
  };
  expectRefusals(manifest, faults);
  for (const char *key :
       {"rows", "experts", "k", "f", "n", "type", "activation"}) {
    json changed = manifest;
    changed["experts"][0].erase(key);
    EXPECT_EQ(refusal(changed),
              detail::join("manifest.experts[0]: missing key '", key, "'"));
  }
}

/// Attention to pages: a list that programs without generation do without.
TEST(Manifest, PagedAttention) {
  json manifest = fullManifest();
  auto parsed = Manifest::parse(manifest.dump());
  ASSERT_TRUE(bool(parsed)) << parsed.status().message();
  EXPECT_TRUE(parsed->pagedAttentions.empty());
  manifest["paged_attentions"] = json::parse(R"([{"id": 0, "tokens": 16,
    "q_heads": 4, "kv_heads": 2, "head_size": 8, "type": "f32",
    "cache_type": "bf16", "page": 32, "cells": 96, "rows": 3, "pages": 2,
    "window": 40, "scale": 0.5, "bias_type": "f16"}])");
  parsed = Manifest::parse(manifest.dump());
  ASSERT_TRUE(bool(parsed)) << parsed.status().message();
  const PagedAttention &a = parsed->pagedAttentions[0];
  EXPECT_EQ(std::tuple(a.tokens, a.qHeads, a.kvHeads, a.headSize, a.page,
                       a.cells, a.rows, a.pages, a.window),
            std::tuple(16, 4, 2, 8, 32, 96, 3, 2, 40));
  EXPECT_EQ(std::tuple(a.type, a.cacheType, a.scale, a.biasType, a.sinksType),
            std::tuple(TPRT_F32, TPRT_BF16, 0.5, TPRT_F16, std::nullopt));
  const Fault faults[] = {
      {"/paged_attentions/0/id", "1",
       "manifest.paged_attentions[0].id: expected an integer in [0, 0], got 1"},
      {"/paged_attentions/0/kv_heads", "3",
       "manifest.paged_attentions[0].kv_heads: expected a divisor of q_heads "
       "4, got 3"},
      {"/paged_attentions/0/cells", "90",
       "manifest.paged_attentions[0].cells: expected whole pages of 32, got "
       "90"},
      {"/paged_attentions/0/cache_type", "\"i8\"",
       "manifest.paged_attentions[0].cache_type: expected a float type, got "
       "i8"},
      {"/paged_attentions/0/window", "-1",
       "manifest.paged_attentions[0].window: expected an integer in [0, "
       "1099511627776], got -1"},
      {"/paged_attentions/0/mask", "\"none\"",
       "manifest.paged_attentions[0]: unknown key 'mask'"},
  };
  expectRefusals(manifest, faults);
  for (const char *key :
       {"tokens", "q_heads", "kv_heads", "head_size", "type", "cache_type",
        "page", "cells", "rows", "pages", "window", "scale"}) {
    json changed = manifest;
    changed["paged_attentions"][0].erase(key);
    EXPECT_EQ(
        refusal(changed),
        detail::join("manifest.paged_attentions[0]: missing key '", key, "'"));
  }
  json &own = manifest["paged_attentions"][0];
  own["element"] = "e4m3", own["scales"] = "heads";
  EXPECT_EQ(refusal(manifest), "manifest.paged_attentions[0].cache_type: "
                               "expected i8 beside an element, got bf16");
  own["cache_type"] = "i8";
  parsed = Manifest::parse(manifest.dump());
  EXPECT_EQ(parsed->pagedAttentions.at(0).element, QuantizedType::E4M3);
}
