//===- TrainFixture.h - a small program that trains, and its files -*- C++
//-*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// train.c as an artifact for any degree, in f32 or bf16, with AdamW or SGD. Its
// weights are stacks of layers and of experts, transposed, parts of one tensor,
// tied and uneven, so that a checkpoint has to be put together. And what it
// must come to, in f64.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TEST_TRAINFIXTURE_H
#define TPRT_TEST_TRAINFIXTURE_H

#include "RunFixture.h"

#include "../training/Tokens.h"

#include <cmath>

namespace tprt::test {

constexpr int64_t kTrainRows = 7, kTrainBatch = 2, kTrainLength = 4, kIds = 40,
                  kPoison = 39;

struct TrainWeight {
  const char *state;
  std::vector<std::string> names;
  int64_t count, first;
  Shape source, offsets, sizes;
  std::vector<int64_t> permutation;
  int64_t sharded; ///< dimension of the permuted slice; -1: none
};

inline const std::vector<TrainWeight> kTrainWeights = {
    {"layers.{i}.w", {"layers.{i}.w"}, 2, 1, {3, 5}, {0, 0}, {3, 5}, {1, 0}, 0},
    {"q", {"qk"}, 1, 0, {7, 4}, {0, 0}, {4, 4}, {0, 1}, 1},
    {"k", {"qk"}, 1, 0, {7, 4}, {4, 0}, {3, 4}, {0, 1}, -1},
    {"l.{i}.e.{e}.w",
     {"l.{i}.e.{e}.w"},
     2,
     0,
     {3, 2},
     {0, 0},
     {3, 2},
     {0, 1},
     0},
    {"table", {"table", "head"}, 1, 0, {6, 2}, {0, 0}, {6, 2}, {0, 1}, 0},
    {"norm", {"norm"}, 1, 0, {4}, {0}, {4}, {0}, -1}};

/// The program; `constants` receives what train.c reads.
inline json trainManifest(int64_t ranks, bool isHalf, bool isSgd,
                          std::string &constants, int64_t spins = 0) {
  json none = json::array(), tp = json::array({{{"axis", "tp"}}});
  const char *type = isHalf ? "bf16" : "f32";
  std::vector<int64_t> sizes{
      kTrainBatch * kTrainLength,   isHalf, isSgd, kPoison, spins,
      int64_t(kTrainWeights.size())};
  json states = json::array(), weights = json::array();
  json m = emptyManifest(ranks), parameters = json::array();
  int64_t base = 0;
  auto scalar = [&](const std::string &name) {
    return json{{"name", name},
                {"type", "f32"},
                {"shape", none},
                {"sharding", none},
                {"local_shape", none}};
  };
  auto add = [&](json state, const std::string &name, const char *type) {
    state["name"] = name;
    state["type"] = type;
    states.push_back(state);
    return int64_t(states.size()) - 1;
  };
  for (const TrainWeight &w : kTrainWeights) {
    Shape shape, local;
    json sharding = json::array();
    for (size_t d = 0; d < w.source.size(); ++d) {
      shape.push_back(w.sizes[size_t(w.permutation[d])]);
      bool cut = int64_t(d) == w.sharded;
      local.push_back(cut ? (shape[d] + ranks - 1) / ranks : shape[d]);
      sharding.push_back(cut ? tp : none);
    }
    // [outer, local, inner] of the state.
    size_t dim = size_t(std::max<int64_t>(0, w.sharded));
    int64_t outer = w.count, inner = 1;
    for (size_t d = 0; d < shape.size(); ++d)
      (d < dim ? outer : inner) *= d == dim ? 1 : shape[d];
    for (int64_t n :
         {outer, local[dim], shape[dim], inner, int64_t(w.sharded >= 0)})
      sizes.push_back(n);
    json p = {{"names", w.names},
              {"count", w.count},
              {"first", w.first},
              {"base", base},
              {"source_shape", w.source},
              {"slice", {{"offsets", w.offsets}, {"sizes", w.sizes}}},
              {"permutation", w.permutation},
              {"shape", shape},
              {"sharding", sharding},
              {"local_shape", local},
              {"init", shape.size() == 1 ? "ones" : "normal"}};
    json state = {
        {"shape", shape}, {"sharding", sharding}, {"local_shape", local}};
    if (w.count > 1) {
      state["shape"].insert(state["shape"].begin(), w.count);
      state["local_shape"].insert(state["local_shape"].begin(), w.count);
      state["sharding"].insert(state["sharding"].begin(), none);
    }
    std::string name = w.state;
    json row = {{"decay", name != "norm"}};
    row["weight"] = add(state, name, type);
    row["gradient"] = add(state, "grad:" + name, "f32");
    if (isSgd) {
      row["momentum"] = add(state, "momentum:" + name, "f32");
    } else {
      row["exp_avg"] = add(state, "exp_avg:" + name, "f32");
      row["exp_avg_sq"] = add(state, "exp_avg_sq:" + name, "f32");
    }
    if (isHalf)
      row["master"] = add(state, "master:" + name, "f32");
    for (const char *key : {"weight", "master"}) {
      if (!row.contains(key))
        continue;
      json own = p;
      own["base"] = base;
      own["type"] = states[row[key].get<size_t>()]["type"];
      own["state"] = row[key];
      parameters.push_back(own);
      base += w.count;
    }
    weights.push_back(row);
  }
  json loss = scalar("");
  loss["partial"] = tp;
  int64_t lossSum = add(loss, "loss_sum", "f32");
  int64_t tokens = add(scalar(""), "tokens", "f32");
  m["states"] = states;
  m["parameters"] = parameters;
  m["ignored"] = {"*.inv_freq", "position_ids"};
  m["training"] = {{"optimizer", isSgd ? "sgd" : "adamw"},
                   {"clip", 0},
                   {"weights", weights},
                   {"loss_sum", lossSum},
                   {"tokens", tokens}};

  json gradient = m["entries"][0], update = gradient;
  auto state = [&](json &list, int64_t i) {
    json value = states[size_t(i)];
    value["state"] = i;
    value["name"] = "@" + value["name"].get<std::string>();
    list.push_back(value);
  };
  for (const char *name : {"input_ids", "targets"}) {
    json input = scalar(name);
    input["type"] = "i32";
    input["shape"] = input["local_shape"] = {kTrainBatch, kTrainLength};
    input["sharding"] = {none, none};
    if (name[0] == 'i')
      input["range"] = {0, kIds};
    else
      input["unshifted"] = "labels";
    gradient["inputs"].push_back(input);
  }
  for (const char *key : {"weight", "gradient"})
    for (const json &w : weights)
      state(gradient["inputs"], w[key]);
  for (const char *name :
       isSgd ? std::vector<const char *>{"lr", "weight_decay", "momentum"}
             : std::vector<const char *>{
                   "decay", "step_size", "one_minus_beta1", "beta2",
                   "one_minus_beta2", "correction", "eps"})
    update["inputs"].push_back(scalar(name));
  for (const json &w : weights)
    for (const char *key :
         {"weight", "gradient", "exp_avg", "momentum", "exp_avg_sq", "master"})
      if (w.contains(key))
        state(update["inputs"], w[key]);
  for (json *entry : {&gradient, &update})
    for (int64_t i : {lossSum, tokens})
      state((*entry)["inputs"], i);
  for (const char *name : {"loss_sum", "tokens", "grad_norm"}) {
    json output = scalar(name);
    if (name == std::string("loss_sum"))
      output["partial"] = tp;
    update["outputs"].push_back(output);
  }
  gradient["name"] = "gradient";
  update["name"] = "update";
  m["entries"] = {gradient, update};
  constants = {reinterpret_cast<char *>(sizes.data()),
               sizes.size() * sizeof(int64_t)};
  return m;
}

/// Rows of `width` ids.
inline TestTensor idTensor(const char *name, int64_t width,
                           const std::vector<int32_t> &ids) {
  return {name,
          "I32",
          {int64_t(ids.size()) / width, width},
          {reinterpret_cast<const char *>(ids.data()), ids.size() * 4}};
}

/// Files of runs.
struct TrainFixture {
  TemporaryDirectory directory;
  std::vector<TestTensor> tensors; ///< of the checkpoint
  std::vector<int32_t> tokens;     ///< [rows, length + 1]
  bool isHalf, isSgd;

  explicit TrainFixture(int64_t ranks, bool isHalf = false, bool isSgd = false,
                        tprt_type stored = TPRT_F32, int64_t spins = 0)
      : isHalf(isHalf), isSgd(isSgd) {
    std::mt19937 random(kSeed);
    std::filesystem::create_directory(directory / "in");
    auto tensor = [&](const std::string &name, Shape shape) {
      tensors.push_back(
          {name, fileTypeName(fileTypeOf(stored)), shape,
           toBytes(stored, randomFloats(random, elementCount(shape)))});
    };
    tensor("layers.1.w", {3, 5});
    tensor("layers.2.w", {3, 5});
    tensor("qk", {7, 4});
    tensor("head", {6, 2});
    tensor("norm", {4});
    tensors.push_back({"rope.inv_freq", "F32", {1}, "abcd"});
    tensors.push_back({"position_ids", "I64", {2}, std::string(16, 'p')});
    for (int64_t i = 0; i < kTrainRows * (kTrainLength + 1); ++i)
      tokens.push_back(int32_t(random() % (kIds - 1)));
    for (const char *layer : {"l.0.e.", "l.1.e."})
      for (const char *expert : {"0.w", "1.w", "2.w"})
        tensor(std::string(layer) + expert, {2});
    write("in/model.safetensors", safetensors(tensors));
    write("in/config.json", "{\"model_type\": \"test\"}");
    write("in/tokenizer.json", "{}");
    write("in/pytorch_model.bin", "old weights");
    compile(ranks, spins);
    writeData(tokens);
  }
  void compile(int64_t ranks, int64_t spins = 0) {
    std::string constants;
    json manifest = trainManifest(ranks, isHalf, isSgd, constants, spins);
    write("p.tpa", writeArtifact({{"manifest", manifest.dump()},
                                  {"code", readFile(TPRT_TEST_TRAIN)},
                                  {"constants", constants}}));
  }
  void write(const std::string &name, const std::string &bytes) const {
    Status status = writeFile(directory / name, bytes);
    if (!status.ok())
      throw std::runtime_error(status.message());
  }
  void writeData(const std::vector<int32_t> &values,
                 const std::vector<int32_t> &labels = {}) const {
    std::vector<TestTensor> list{idTensor("tokens", kTrainLength + 1, values)};
    if (!labels.empty())
      list.push_back(idTensor("labels", kTrainLength + 1, labels));
    write("d.safetensors", safetensors(list));
  }

  std::string command(const std::string &arguments) const {
    return "cd " + (directory / "") + "; " + TPRT_RUN + " p.tpa " + arguments;
  }
  Fixture::Result run(const std::string &arguments) const {
    int status =
        std::system(("(" + command(arguments) + ") >" + (directory / "stdout") +
                     " 2>" + (directory / "err"))
                        .c_str());
    return {WEXITSTATUS(status), readFile(directory / "stdout"),
            readFile(directory / "err")};
  }
  Fixture::Result train(const std::string &arguments) const {
    return run("--train d.safetensors --order sequential " + arguments);
  }
  void refuse(const std::string &arguments, int code,
              const std::string &message) const {
    auto result = run(arguments);
    EXPECT_EQ(result.code, code) << arguments;
    EXPECT_EQ(result.err, "tp-run: error: " + message + "\n");
  }
  std::map<std::string, TensorView> load(const std::string &file) {
    auto opened = TensorFile::open(directory / file);
    EXPECT_TRUE(bool(opened)) << opened.status().message();
    if (!opened)
      return {};
    loaded.push_back(std::make_unique<TensorFile>(std::move(*opened)));
    return loaded.back()->tensors();
  }

  /// The weights after `steps` steps of `rows` rows each: PyTorch's AdamW with
  /// betas 0.9, 0.95, eps 1e-8, or SGD with momentum 0.9; decay 0.1.
  std::map<std::string, std::vector<double>>
  expected(int64_t steps, int64_t rows, double rate) const {
    std::map<std::string, std::vector<double>> result;
    for (const TestTensor &tensor : tensors) {
      auto type = floatTypeOf(*parseFileType(tensor.dtype));
      if (!type || tensor.name == "rope.inv_freq")
        continue;
      double decay = tensor.name == "norm" ? 0 : 0.1;
      for (float begin : toFloats(*type, tensor.bytes)) {
        double w = begin, m = 0, v = 0;
        for (int64_t step = 1; step <= steps; ++step) {
          double seen = isHalf ? rounded(TPRT_BF16, {float(w)})[0] : w, g = 0;
          for (int64_t r = 0; r < rows; ++r) {
            const int32_t *row = &tokens[size_t(
                ((step - 1) * rows + r) % kTrainRows * (kTrainLength + 1))];
            for (int64_t t = 0; t < kTrainLength; ++t)
              g += seen - double(row[t] - row[t + 1]) / 16;
          }
          g /= double(rows * kTrainLength);
          if (isSgd) {
            m = 0.9 * m + g + decay * w;
            w -= rate * m;
            continue;
          }
          w *= 1 - rate * decay;
          m = 0.9 * m + 0.1 * g;
          v = 0.95 * v + 0.05 * g * g;
          w -= rate / (1 - std::pow(0.9, step)) * m /
               (std::sqrt(v) / std::sqrt(1 - std::pow(0.95, step)) + 1e-8);
        }
        result[tensor.name].push_back(w);
      }
    }
    return result;
  }

private:
  std::vector<std::unique_ptr<TensorFile>> loaded;
};

} // namespace tprt::test

#endif // TPRT_TEST_TRAINFIXTURE_H
