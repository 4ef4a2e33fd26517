//===- ManifestStatesTest.cpp - states and their initial values -----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entries of a manifest for states, caches and their initial values, and
// the refusals of wrong ones.
//
//===----------------------------------------------------------------------===//

#include "ManifestCases.h"

using namespace tprt;
using namespace tprt::test;

/// A manifest with a state that the entry replaces.
static json stateManifest() {
  json manifest = fullManifest();
  json state = json::parse(R"({"name": "s", "type": "f32", "shape": [6],
    "sharding": [[{"axis": "tp"}]], "local_shape": [2]})");
  manifest["states"] = json::array({state});
  state["state"] = 0;
  manifest["entries"][0]["inputs"].push_back(state);
  manifest["entries"][0]["outputs"].push_back(state);
  return manifest;
}

TEST(Manifest, States) {
  auto parsed = Manifest::parse(stateManifest().dump());
  ASSERT_TRUE(bool(parsed)) << parsed.status().message();
  EXPECT_EQ(parsed->states[0].initial, Input::Default::Zeros);
  EXPECT_EQ(parsed->states[0].localBytes(), 8);
  EXPECT_EQ(parsed->entries[0].inputs[0].state, -1);
  EXPECT_EQ(parsed->entries[0].inputs[2].state, 0);
  EXPECT_EQ(parsed->entries[0].outputs[1].state, 0);
}

TEST(Manifest, RefusalsOfStates) {
  const Fault faults[] = {
      {"/states/0/initial", "\"twos\"",
       "manifest.states[0].initial: expected one of 'ones', 'zeros', got "
       "'twos'"},
      {"/states/0/extra", "1", "manifest.states[0]: unknown key 'extra'"},
      {"/entries/0/inputs/2/state", "1",
       "manifest.entries[0].inputs[2].state: expected an integer in [0, 0], "
       "got 1"},
      {"/entries/0/inputs/2/type", "\"i32\"",
       "manifest.entries[0].inputs[2].state: expected the type, shape and "
       "sharding of state 's'"},
      {"/entries/0/outputs/0/state", "0",
       "manifest.entries[0].outputs[1].state: state 's' occurs twice"}};
  expectRefusals(stateManifest(), faults);
  json twice = stateManifest();
  twice["states"].push_back(twice["states"][0]);
  EXPECT_EQ(refusal(twice), "manifest.states[1].name: 's' occurs twice");
}

/// A manifest with two parameters behind the others that states begin with: one
/// as it is, and a stack of two.
static json initialManifest() {
  json manifest = stateManifest();
  manifest["states"][0]["partial"] = json::parse(R"([{"axis": "dp"}])");
  for (const char *list : {"inputs", "outputs"})
    manifest["entries"][0][list].back()["partial"] =
        manifest["states"][0]["partial"];
  manifest["states"].push_back(
      json::parse(R"({"name": "t", "type": "f32", "shape": [2, 6],
    "sharding": [[], [{"axis": "tp"}]], "local_shape": [2, 2],
    "partial": [{"axis": "dp"}], "reduction": "max"})"));
  json initial = json::parse(R"({"names": ["s"], "count": 1, "first": 0,
    "base": 3, "source_shape": [6], "shape": [6], "sharding": [[{"axis": "tp"}]],
    "local_shape": [2], "partial": [{"axis": "dp"}], "type": "f32",
    "state": 0})");
  manifest["parameters"].push_back(initial);
  initial["names"] = json::array({"t.{i}"});
  initial["count"] = 2;
  initial["base"] = 4;
  initial["state"] = 1;
  manifest["parameters"].push_back(initial);
  return manifest;
}

TEST(Manifest, InitialValuesOfStates) {
  auto parsed = Manifest::parse(initialManifest().dump());
  ASSERT_TRUE(bool(parsed)) << parsed.status().message();
  EXPECT_EQ(parsed->states[0].parameter, 1);
  EXPECT_EQ(parsed->states[1].parameter, 2);
  EXPECT_EQ(parsed->parameters[1].state, 0);
  EXPECT_EQ(parsed->parameters[0].state, -1);
  EXPECT_EQ(parsed->states[0].partial.size(), 1u);
  EXPECT_EQ(parsed->states[0].reduction, Reduction::Sum);
  EXPECT_EQ(parsed->states[1].reduction, Reduction::Max);
}

TEST(Manifest, SmallerCaches) {
  Manifest m;
  // Four pages a row, of 2 * 2 * 32 * 3 * 8 numbers.
  m.generation = Generation{32, 100, 5, 640, 8, 10, 0, {}};
  Value pool{"keys", TPRT_F32, {}, {2, 640, 3, 8}, {}};
  m.states = {State{pool}, State{pool}};
  constexpr int64_t kPage = 12288;
  EXPECT_EQ(m.smallerCache(1),
            "tp-compile --cells 608, --rows 4 or --context 96 fits");
  EXPECT_EQ(m.smallerCache(5 * kPage),
            "tp-compile --cells 480, --rows 3 or --context 96 fits");
  EXPECT_EQ(m.smallerCache(5 * kPage + 1),
            "tp-compile --cells 448, --rows 3 or --context 64 fits");
  EXPECT_EQ(m.smallerCache(16 * kPage),
            "tp-compile --cells 128 or --rows 1 fits");
  EXPECT_EQ(m.smallerCache(19 * kPage), "tp-compile --cells 32 fits");
  for (int64_t bytes : {19 * kPage + 1, 20 * kPage, 30 * kPage})
    EXPECT_EQ(m.smallerCache(bytes),
              "no cache fits, so use more ranks on more hosts");
  // A long context of few rows.
  m.generation->rows = 1, m.generation->context = 640;
  EXPECT_EQ(m.smallerCache(kPage),
            "tp-compile --cells 608 or --context 608 fits");
  m.entries = {{"main", {}, {}, 0, 0, 0, 90},
               {"step_1", {}, {}, 0, 0, 0, 10},
               {"step_8", {}, {}, 0, 0, 0, 30}};
  EXPECT_EQ(m.generationBytes(), 30);
}

TEST(Manifest, RefusalsOfInitialValues) {
  const char *alike =
      "manifest.parameters[1].state: expected the type and shapes of state "
      "'s', "
      "or of an element of its first dimension for each instance";
  const Fault faults[] = {
      {"/parameters/1/state", "2",
       "manifest.parameters[1].state: expected an integer in [0, 1], got 2"},
      {"/parameters/2/state", "0",
       "manifest.parameters[2].state: state 's' has another initial value "
       "already"},
      {"/states/0/initial", "\"ones\"",
       "manifest.parameters[1].state: state 's' has another initial value "
       "already"},
      {"/parameters/1/type", "\"bf16\"", alike},
      {"/parameters/1/local_shape/0", "3", alike},
      {"/states/0/reduction", "\"mean\"",
       "manifest.states[0].reduction: expected one of 'sum', 'max', 'min', got "
       "'mean'"},
      {"/states/0/partial/0/axis", "\"tp\"",
       "manifest.states[0].partial[0]: axis 'tp' is used twice"},
      {"/entries/0/inputs/2/reduction", "\"max\"",
       "manifest.entries[0].inputs[2].state: expected the type, shape and "
       "sharding of state 's'"}};
  expectRefusals(initialManifest(), faults);
}
