//===- ManifestCases.h - valid manifests, and faults of them ----*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests break one thing of a valid manifest at a time and expect the exact
// message.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TEST_MANIFESTCASES_H
#define TPRT_TEST_MANIFESTCASES_H

#include "TestUtil.h"

namespace tprt::test {

/// A valid manifest with something in every table.
inline json fullManifest() {
  return json::parse(R"({
    "abi": 6, "producer": "test",
    "model": {"name": "m", "architecture": "a"},
    "target": {"triple": "x86_64", "features": ["avx2"]},
    "mesh": {"axes": [{"name": "dp", "size": 2}, {"name": "tp", "size": 4}]},
    "entries": [{"name": "main",
      "inputs": [{"name": "ids", "type": "i64", "shape": [2, 5],
                  "sharding": [[{"axis": "dp"}], []], "local_shape": [1, 5],
                  "range": [0, 10]},
                 {"name": "mask", "type": "i64", "shape": [2, 5],
                  "sharding": [[], []], "local_shape": [2, 5],
                  "default": "ones", "right_padded": true}],
      "outputs": [{"name": "y", "type": "f32", "shape": [6],
                   "sharding": [[{"axis": "tp"}]], "local_shape": [2]}],
      "arena_bytes": 64, "comm_bytes": 0, "scratch_bytes": 0,
      "peak_bytes": 9}],
    "parameters": [{"names": ["l.{i}.w"], "count": 3, "first": 1, "base": 0,
      "source_shape": [8, 10], "slice": {"offsets": [0, 2], "sizes": [8, 6]},
      "permutation": [1, 0], "shape": [6, 8],
      "sharding": [[{"axis": "tp", "pre": 2, "size": 2}], []],
      "local_shape": [3, 8], "partial": [{"axis": "tp", "size": 2}],
      "type": "bf16", "init": "normal"}],
    "ignored": ["*.b"],
    "gemms": [{"id": 0, "m": 4, "n": 3, "k": 8, "x_type": "bf16",
      "w_type": "bf16", "y_type": "f32", "bias": false, "activation": "none",
      "residual": false}],
    "attentions": [{"id": 0, "batch": 1, "q_len": 2, "kv_capacity": 2,
      "q_heads": 4, "kv_heads": 2, "head_size": 8, "type": "f32",
      "causal": true, "window": 0, "scale": 0.5, "mask": "none"}],
    "collectives": [{"id": 0, "kind": "all_gather", "type": "f32",
      "axes": [{"axis": "tp"}], "input_shape": [2, 3],
      "output_shape": [2, 11], "dim": 1, "count": 1, "bytes": 88,
      "cause": "", "annotation": "", "location": "", "pass": ""}],
    "kernels": [{"name": "k"}]})");
}

/// The same for a device.
inline json deviceManifest() {
  json manifest = fullManifest();
  manifest["target"]["device"] = "cuda";
  manifest["gemms"][0]["scale"] = 0.3;
  manifest["kernels"] = json::parse(R"([{"name": "k", "grid": [1, 1, 1],
    "block": [32, 1, 1], "shared_bytes": 0, "arguments": 12}])");
  return manifest;
}

inline std::string refusal(const json &manifest) {
  return Manifest::parse(manifest.dump()).status().message();
}

/// One thing of a manifest that is changed, and what is said to it.
struct Fault {
  const char *pointer, *value, *message;
};

template <size_t N>
void expectRefusals(const json &manifest, const Fault (&faults)[N]) {
  for (const Fault &fault : faults) {
    json changed = manifest;
    changed[json::json_pointer(fault.pointer)] = json::parse(fault.value);
    EXPECT_EQ(refusal(changed), fault.message) << fault.pointer;
  }
}

} // namespace tprt::test

#endif // TPRT_TEST_MANIFESTCASES_H
