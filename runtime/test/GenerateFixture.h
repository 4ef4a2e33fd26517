//===- GenerateFixture.h - a program that generates, and its files -*- C++
//-*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program generate.c, as an artifact for any degree, with prompts.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TEST_GENERATEFIXTURE_H
#define TPRT_TEST_GENERATEFIXTURE_H

#include "FakeModel.h"
#include "RunFixture.h"

namespace tprt::test {

inline constexpr int64_t kPage = 4, kContext = 64, kBatchRows = 3, kCells = 128,
                         kVocabulary = 50;

inline const Generation kProgram{.page = kPage,
                                 .context = kContext,
                                 .rows = kBatchRows,
                                 .cells = kCells,
                                 .chunk = 8,
                                 .vocabulary = kVocabulary,
                                 .window = 0,
                                 .stopIds = {7}};

inline json valueOf(const char *name, const char *type, Shape shape,
                    Shape local, json sharding) {
  return {{"name", name},
          {"type", type},
          {"shape", shape},
          {"sharding", sharding},
          {"local_shape", local}};
}

inline json generateManifest(int64_t ranks) {
  json none = json::array();
  auto whole = [&](const char *name, const char *type, Shape shape) {
    return valueOf(name, type, shape, shape, json(shape.size(), none));
  };
  int64_t local = (kVocabulary + ranks - 1) / ranks;
  json m = emptyManifest(ranks), entries = json::array();
  json cells = whole("cells", "i64", {kCells});
  m["states"] = {cells};
  cells["state"] = 0;
  for (int64_t tokens : {1, 4, 8}) {
    json entry = m["entries"][0];
    entry["name"] = "step_" + std::to_string(tokens);
    entry["inputs"] = {whole("ids", "i32", {1, tokens}),
                       whole("starts", "i32", {kBatchRows + 1}),
                       whole("context", "i32", {kBatchRows}),
                       whole("table", "i32", {kBatchRows, kContext / kPage}),
                       cells,
                       whole("positions", "i32", {kBatchRows}),
                       whole("seeds", "i64", {kBatchRows}),
                       whole("temperatures", "f32", {kBatchRows}),
                       whole("top_k", "i32", {kBatchRows}),
                       whole("top_p", "f32", {kBatchRows}),
                       whole("min_p", "f32", {kBatchRows})};
    entry["outputs"] = {valueOf("logits", "f32", {kBatchRows, kVocabulary},
                                {kBatchRows, local},
                                {none, json::array({{{"axis", "tp"}}})}),
                        cells, whole("tokens", "i32", {kBatchRows}),
                        whole("logprobs", "f32", {kBatchRows})};
    entries.push_back(entry);
  }
  m["entries"] = entries;
  m["generation"] = {{"page", kPage},      {"context", kContext},
                     {"rows", kBatchRows}, {"cells", kCells},
                     {"chunk", 8},         {"vocabulary", kVocabulary},
                     {"window", 0},        {"stop_ids", {7}}};
  return m;
}

/// The files of one run of generate.c.
struct GenerateFixture {
  TemporaryDirectory directory;
  std::vector<std::vector<int32_t>> prompts;

  /// `change` is merged into the manifest.
  explicit GenerateFixture(int64_t ranks, int64_t spins = 0,
                           const json &change = json::object()) {
    json manifest = generateManifest(ranks);
    manifest.merge_patch(change);
    int64_t sizes[5] = {kPage, kBatchRows, kContext / kPage,
                        (kVocabulary + ranks - 1) / ranks, spins};
    write("p.tpa",
          writeArtifact({{"manifest", manifest.dump()},
                         {"code", readFile(TPRT_TEST_GENERATE)},
                         {"constants",
                          {reinterpret_cast<char *>(sizes), sizeof(sizes)}}}));
    write("none.safetensors", safetensors({}));
    std::mt19937 random(kSeed);
    for (size_t length : {1, 3, 4, 5, 8, 9, 30, 62, 4}) {
      prompts.emplace_back();
      for (size_t i = 0; i < length; ++i)
        prompts.back().push_back(int32_t(random() % kVocabulary));
    }
    prompts.back() = {prompts[6].begin(), prompts[6].begin() + 20};
    write("prompts.json", json(prompts).dump());
  }
  void write(const std::string &name, const std::string &bytes) {
    Status status = writeFile(directory / name, bytes);
    if (!status.ok())
      throw std::runtime_error(status.message());
  }
  std::string command(const std::string &arguments) const {
    return std::string(TPRT_RUN) + " " + (directory / "p.tpa") + " --weights " +
           (directory / "none.safetensors") + " --generate " +
           (directory / "prompts.json") + " " + arguments;
  }
  std::string output() const { return "--output " + (directory / "out.json"); }
  json answers() const { return json::parse(readFile(directory / "out.json")); }
  Fixture::Result run(const std::string &arguments) const {
    int status = std::system((command(arguments) + " >" + (directory / "out") +
                              " 2>" + (directory / "err"))
                                 .c_str());
    return {WEXITSTATUS(status), readFile(directory / "out"),
            readFile(directory / "err")};
  }
  void refuse(const std::string &arguments, int code,
              const std::string &message) const {
    auto result = run(arguments);
    EXPECT_EQ(result.code, code);
    EXPECT_EQ(result.err, message + "\n");
  }
};

} // namespace tprt::test

#endif // TPRT_TEST_GENERATEFIXTURE_H
