//===- TrainingTest.cpp - data, schedules, refusals -----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of rows, what files of tokens may be, learning rates beside their
// formulas, and all that tp-run --train refuses, with the message that the user
// reads.
//
//===----------------------------------------------------------------------===//

#include "TrainFixture.h"

#include "../training/Recipe.h"

#include <numbers>
#include <set>

using namespace tprt;
using namespace tprt::test;
using namespace tprt::training;

/// Each pass has each row once; passes and seeds differ.
TEST(Training, OrderOfRows) {
  for (int64_t rows : {1, 2, 3, 4, 5, 16, 17, 1000}) {
    std::vector<std::vector<int64_t>> passes;
    for (uint64_t seed : {1, 2})
      for (int64_t pass : {0, 1, 7}) {
        std::vector<int64_t> &order = passes.emplace_back();
        for (int64_t i = 0; i < rows; ++i) {
          EXPECT_EQ(rowAt(pass * rows + i, rows, false, seed), i);
          order.push_back(rowAt(pass * rows + i, rows, true, seed));
        }
        std::set<int64_t> all(order.begin(), order.end());
        EXPECT_EQ(int64_t(all.size()), rows);
        EXPECT_EQ(*all.begin(), 0);
        EXPECT_EQ(*all.rbegin(), rows - 1);
      }
    if (rows >= 16) {
      EXPECT_EQ(std::set(passes.begin(), passes.end()).size(), passes.size());
    }
  }
  // No row keeps its neighbour, and the first is anywhere: chi-squared of 16
  // bins is below 38 in 999 of 1000 cases.
  int64_t neighbours = 0, rows = 1000;
  std::vector<int> bins(16);
  for (int64_t i = 1; i < rows; ++i)
    neighbours += rowAt(i, rows, true, 3) == rowAt(i - 1, rows, true, 3) + 1;
  EXPECT_LT(neighbours, 10);
  for (uint64_t seed = 0; seed < 1600; ++seed)
    ++bins[size_t(rowAt(0, 160, true, seed) / 10)];
  double chi = 0;
  for (int count : bins)
    chi += (count - 100) * (count - 100) / 100.0;
  EXPECT_LT(chi, 38);
}

TEST(Training, FilesOfTokens) {
  TemporaryDirectory directory;
  std::string data = directory / "d.npy";
  auto write = [&](const char *type, const std::string &shape,
                   const std::string &bytes) {
    std::string header = std::string("{'descr': '") + type +
                         "', 'fortran_order': False, 'shape': " + shape + ", }";
    header += std::string(63 - (10 + header.size()) % 64, ' ') + "\n";
    auto length = uint16_t(header.size());
    ASSERT_OK(
        writeFile(data, std::string("\x93NUMPY\x01\x00", 8) +
                            std::string(reinterpret_cast<char *>(&length), 2) +
                            header + bytes));
  };
  std::string bytes;
  for (uint16_t id : {1, 2, 3, 40000, 5, 6, 7, 8})
    bytes.append(reinterpret_cast<char *>(&id), 2);
  int32_t ids[2], labels[2];
  // A stream is cut into rows, and its end left out.
  write("<u2", "(8,)", bytes);
  auto stream = TokenFile::open(data, 2, 50000);
  ASSERT_TRUE(bool(stream)) << stream.status().message();
  EXPECT_EQ(stream->rows(), 2);
  EXPECT_EQ(stream->left(), 2);
  ASSERT_OK(stream->read(1, ids, labels));
  EXPECT_EQ(std::vector(ids, ids + 2), (std::vector{40000, 5}));
  EXPECT_EQ(std::vector(labels, labels + 2), (std::vector{5, 6}));
  auto narrow = TokenFile::open(data, 2, 40000);
  EXPECT_MESSAGE(narrow->read(1, ids, labels),
                 "'" + data +
                     "': token 0 of row 1: expected an id in [0, "
                     "40000), got 40000");
  auto refusal = [&](int64_t length) {
    std::string text = TokenFile::open(data, length, 10).status().message();
    return text.substr(std::min(text.size(), data.size() + 4));
  };
  EXPECT_EQ(refusal(8), "expected at least one row of 9 tokens, got 8 tokens");
  write("<u2", "(2, 4)", bytes);
  EXPECT_EQ(refusal(3), "");
  EXPECT_EQ(refusal(4),
            "expected rows of 5 tokens for a program that takes 4, got [2, 4]; "
            "tp-compile --seq 3 fits, or one stream [n], which is cut into "
            "rows");
  write("<u2", "(2, 2, 2)", bytes);
  EXPECT_EQ(refusal(1), "expected rows [n, 2] of token ids or one stream [n], "
                        "got [2, 2, 2]");
  write("<f2", "(8,)", bytes);
  EXPECT_EQ(refusal(1), "expected token ids of an integer type, got F16");

  data = directory / "d.safetensors";
  auto tensors = [&](const std::vector<TestTensor> &list) {
    ASSERT_OK(writeFile(data, safetensors(list)));
  };
  TestTensor tokens{"tokens", "I8", {2, 3}, "\1\2\3\4\5\6"};
  TestTensor classes{"labels", "I8", {2, 3}, "\1\2\x9c\4\x9c\6"}; // -100
  tensors({tokens, classes});
  auto masked = TokenFile::open(data, 2, 10);
  ASSERT_TRUE(bool(masked)) << masked.status().message();
  ASSERT_OK(masked->read(1, ids, labels));
  EXPECT_EQ(std::vector(ids, ids + 2), (std::vector{4, 5}));
  EXPECT_EQ(std::vector(labels, labels + 2), (std::vector{-100, 6}));
  classes.bytes[1] = -1;
  tensors({tokens, classes});
  masked = TokenFile::open(data, 2, 10);
  EXPECT_MESSAGE(masked->read(0, ids, labels),
                 "'" + data +
                     "': label 1 of row 0: expected an id in [0, 10) "
                     "or -100, got -1");
  classes.shape = {6};
  tensors({tokens, classes});
  EXPECT_EQ(refusal(2), "tensor 'labels': expected the shape of the tokens, "
                        "[2, 3], got [6]");
  tensors({tokens, {"targets", "I8", {2, 3}, "\1\2\3\4\5\6"}});
  EXPECT_EQ(refusal(2), "tensor 'targets' is not read: expected 'tokens' and, "
                        "if wanted, 'labels' alone");
  tokens.name = "text";
  tensors({tokens, classes});
  EXPECT_EQ(refusal(2), "expected one tensor, or one named 'tokens', got 2 of "
                        "other names");
  data = directory / "d.txt";
  EXPECT_EQ(TokenFile::open(data, 2, 10).status().message(),
            "cannot open '" + data + "': No such file or directory");
  ASSERT_OK(writeFile(data, "text"));
  EXPECT_EQ(refusal(2),
            "expected token ids in a file ending in .npy or .safetensors");
}

static Training adamW() {
  return {.optimizer = Training::Optimizer::AdamW,
          .clip = 0,
          .weights = {},
          .lossSum = 0,
          .tokens = 0};
}

/// As transformers' schedules, but that the first step is no step of rate 0.
TEST(Training, Schedules) {
  Training program = adamW();
  auto rates = [&](const char *schedule) {
    json all;
    auto recipe = Recipe::make(program, {{"lr", 0.5}, {"schedule", schedule}},
                               json::object(), all);
    EXPECT_TRUE(bool(recipe)) << recipe.status().message();
    std::vector<double> list;
    for (int64_t step = 1; step <= 12; ++step)
      list.push_back(recipe->rateOf(step, 12));
    return list;
  };
  EXPECT_EQ(rates("constant"), std::vector<double>(12, 0.5));
  auto constant = rates("constant:warmup=3"), linear = rates("linear"),
       cosine = rates("cosine:warmup=2,min=0.1"),
       least = rates("linear:min=0.25,warmup=20");
  for (int64_t step = 1; step <= 12; ++step) {
    size_t i = size_t(step) - 1;
    EXPECT_DOUBLE_EQ(constant[i], step <= 3 ? 0.5 * double(step) / 4 : 0.5);
    EXPECT_DOUBLE_EQ(linear[i], 0.5 * double(13 - step) / 12);
    EXPECT_DOUBLE_EQ(least[i], 0.5 * double(step) / 21);
    double part = double(step - 3) / 10;
    EXPECT_DOUBLE_EQ(cosine[i],
                     step <= 2
                         ? 0.5 * double(step) / 3
                         : 0.1 + 0.2 * (1 + std::cos(std::numbers::pi * part)));
  }
}

TEST(Training, InputsOfTheUpdate) {
  Training program = adamW();
  json all;
  auto recipe = Recipe::make(program, {{"lr", 0.003}}, json::object(), all);
  auto inputs = recipe->updateInputs(7, 10);
  EXPECT_EQ(inputs["decay"], float(1 - 0.003 * 0.1));
  EXPECT_EQ(inputs["step_size"], float(0.003 / (1 - std::pow(0.9, 7.0))));
  EXPECT_EQ(inputs["correction"], float(std::sqrt(1 - std::pow(0.95, 7.0))));
  EXPECT_EQ(inputs["beta2"], 0.95f);
  // Not what is left of 1 after rounding beta.
  EXPECT_EQ(inputs["one_minus_beta1"], float(1 - 0.9));
  EXPECT_EQ(inputs["one_minus_beta2"], float(1 - 0.95));
  EXPECT_NE(inputs["one_minus_beta2"], 1 - inputs["beta2"]);
}

TEST(Training, RefusedOptions) {
  TrainFixture f(1);
  std::string run = "--train d.safetensors --weights in --steps 2 ";
  auto refuse = [&](const std::string &options, int code,
                    const std::string &message) {
    f.refuse(run + options, code, message);
  };
  refuse("", 2, "expected --lr RATE, the learning rate");
  refuse("--lr 0", 2,
         "--lr: expected a number above 0 and below 1e+30, got 0.0");
  refuse("--lr nan", 2,
         "--lr: expected a number above 0 and below 1e+30, got nan");
  refuse("--lr x", 2,
         "--lr: expected a number, got 'x'; tp-run --help lists "
         "the options");
  refuse("--lr 1 --betas 0.9,1", 2,
         "--betas[1]: expected a number of at least 0 and below 1, got 1.0");
  refuse("--lr 1 --betas 0.9", 2, "--betas: expected two numbers, got 1");
  refuse("--lr 1 --accumulate 0", 2,
         "--accumulate: expected an integer in [1, 2147483647], got 0");
  refuse("--lr 1 --order random", 2,
         "--order: expected one of 'shuffle', "
         "'sequential', got 'random'");
  refuse("--lr 1 --momentum 0.5", 2,
         "--momentum: the program's optimizer is adamw, which takes --lr, "
         "--accumulate, --betas, --eps, --order, --schedule, --seed, "
         "--weight-decay");
  for (const char *schedule :
       {"exponential", "linear:", "linear:warmup", "linear:warmup=1.5",
        "cosine:max=1", "cosine:min=-1", "linear:warmup=2x"})
    refuse(std::string("--lr 1 --schedule ") + schedule, 2,
           std::string("--schedule: expected constant, cosine or linear, with "
                       ":warmup=STEPS,min=RATE behind it, got '") +
               schedule + "'");
  for (const char *schedule : {"constant:min=0.1", "linear:min=2"})
    refuse(std::string("--lr 1 --schedule ") + schedule, 2,
           std::string("--schedule: expected a min of cosine or linear that is "
                       "at most the rate, got '") +
               schedule + "' for 1");
  refuse("--lr 1 --save in", 1,
         "'in': expected a free name or the checkpoint of a run, got something "
         "without trainer.json");
  std::string here = f.directory.path.string();
  refuse("--lr 1 --save none/out", 1,
         "--save 'none/out': cannot write in '" + here +
             "/none': No such file or directory");
  // Its owner may write there, and yet nothing can be made.
  refuse("--lr 1 --save /proc/out", 1,
         "--save '/proc/out': cannot write in '/proc': No such file or "
         "directory");
  f.refuse(
      "--train d.safetensors --weights in --steps 2 --lr 1 --log /proc/log", 1,
      "cannot write '/proc/log': No such file or directory");
  f.refuse("--train d.safetensors --weights init:1 --steps 2 --lr 1 --save out",
           1,
           "--save 'out': expected config.json beside the weights, to go into "
           "the checkpoint; --config DIR says where it is");
  f.refuse("--train d.safetensors --steps 2 --lr 1 --resume out", 1,
           "--resume 'out': there is no checkpoint of a run; --weights DIR "
           "beside it says what to begin with");
  f.refuse("--train d.safetensors --weights in --steps 2 --lr 1 --log none/log",
           1, "cannot write 'none/log': No such file or directory");
  auto usage = [&](const std::string &options, const std::string &message) {
    auto result = f.run(options);
    EXPECT_EQ(result.code, 2) << options;
    EXPECT_EQ(result.err, "tp-run: error: " + message +
                              "; tp-run --help lists the options\n");
  };
  usage("--train d.safetensors --weights in --lr 1",
        "--train requires --steps");
  usage("--train d.safetensors --lr 1 --steps 1",
        "--weights is required (random:1 makes values up)");
  usage("--weights in --lr 1", "--lr requires --train");
  usage("--weights in --seed 1", "--seed requires --generate or --train");
  usage("--weights in --train data --seed -1",
        "--seed: expected 0 or more, got '-1'");
  usage(run + "--lr 1 --save-every 3", "--save-every requires --save");
  usage(run + "--lr 1 --config in", "--config requires --save");
  usage(run + "--lr 1 --entry update", "--entry excludes --train");
  usage(run + "--lr 1 --gradients g", "--train excludes --gradients");
}

TEST(Training, RefusedRuns) {
  TrainFixture f(1);
  ASSERT_EQ(f.train("--weights in --steps 1 --lr 1 --save out").code, 0);
  std::string go = "--train d.safetensors --resume out --steps 2";
  f.tokens.resize(15);
  f.writeData(f.tokens);
  f.refuse(go, 1,
           "'d.safetensors': expected the 7 rows of the run that goes on, got "
           "3; to train on other data begin with --weights 'out'");
  f.tokens.resize(35);
  f.writeData(f.tokens);
  json told = json::parse(readFile(f.directory / "out/trainer.json"));
  auto change = [&](const char *key, const json &value) {
    json changed = told;
    if (value.is_null())
      changed.erase(key);
    else
      changed[key] = value;
    f.write("out/trainer.json", changed.dump());
  };
  std::string where = "'" + (f.directory / "out/trainer.json") + "'";
  change("step", nullptr);
  f.refuse(go, 1, where + ": missing key 'step'");
  change("position", -1);
  f.refuse(go, 1,
           where + ".position: expected an integer in [0, "
                   "9223372036854775807], got -1");
  change("recipe", 3);
  f.refuse(go, 1, where + ".recipe: expected an object, got number");
  change("more", 3);
  f.refuse(go, 1, where + ": unknown key 'more'");
  // Rows of another length, whatever data there are, and before they are there.
  change("seq", told["seq"].get<int64_t>() + 5);
  std::string longer =
      "--resume 'out': the rows of the run are of " +
      std::to_string(told["seq"].get<int64_t>() + 5) + " tokens (--seq " +
      std::to_string(told["seq"].get<int64_t>() + 5) +
      "), and those of the program of " + told["seq"].dump() +
      ": expected the same, as the run counts rows; for others begin with "
      "--weights 'out'";
  f.refuse(go, 1, longer);
  f.refuse("--train none.npy --check --resume out --steps 2", 1, longer);
  // A checkpoint of an earlier version does not tell the length of its rows.
  change("seq", nullptr);
  EXPECT_EQ(f.run("--train none.npy --check --resume out --steps 2").code, 0);
  change("optimizer", "sgd");
  f.refuse(go, 1,
           "--resume 'out': the run's optimizer is sgd, the program's "
           "is adamw: expected the same, whose states the run has");
  change("step", 1);
  f.tokens[13] = kIds;
  f.writeData(f.tokens);
  auto result = f.run(go + " --order sequential");
  EXPECT_TRUE(inOrder(result.err, {"error: 'd.safetensors': token 3 of row 2: "
                                   "expected an id in [0, 40), got 40"}))
      << result.err;
  // States of another program, and missing ones.
  f.write("out/optimizer.safetensors", safetensors({}));
  f.refuse(go, 1,
           "'" + (f.directory / "out/optimizer.safetensors") +
               "': expected tensor 'exp_avg:layers.*.w'");
}

TEST(Training, RefusedPrograms) {
  Fixture plain(1);
  auto result = plain.run("--weights " + (plain.directory / "") +
                          " --train d.npy --steps 1 --lr 1");
  EXPECT_EQ(result.err,
            "tp-run: error: the program cannot train: it has no step that "
            "updates its weights; tp-compile DIR --train adamw makes one that "
            "can\n");
  result = plain.run("--weights " + (plain.directory / "") +
                     " --gradients g.safetensors");
  EXPECT_EQ(result.err.find("tp-run: error: the program cannot train"), 0u);

  TrainFixture f(1);
  std::string constants;
  json manifest = trainManifest(1, false, false, constants);
  auto refuse = [&](const std::function<void(json &)> &change,
                    const std::string &message) {
    json changed = manifest;
    change(changed);
    f.write("p.tpa", writeArtifact({{"manifest", changed.dump()},
                                    {"code", readFile(TPRT_TEST_TRAIN)},
                                    {"constants", constants}}));
    f.refuse("--train d.safetensors --weights in --steps 1 --lr 1", 1, message);
  };
  std::string artifact = "artifact 'p.tpa': manifest.training";
  refuse([](json &m) { m["training"]["optimizer"] = "lion"; },
         artifact + ".optimizer: expected one of 'adamw', 'sgd', got 'lion'");
  refuse([](json &m) { m["training"]["clip"] = -1; },
         artifact + ".clip: expected 0 or a positive f32 number, got -1");
  refuse([](json &m) { m["training"]["weights"][0]["weight"] = 1; },
         artifact + ".weights[0].weight: state 'grad:layers.{i}.w' begins with "
                    "no tensor of a checkpoint");
  refuse([](json &m) { m["training"]["weights"][0]["exp_avg"] = 4; },
         artifact + ".weights[0].exp_avg: expected a state of type f32 and "
                    "shape [2, 5, 3], got 'q', f32 [4, 4]");
  refuse([](json &m) { m["training"]["weights"][0]["momentum"] = 1; },
         artifact + ".weights[0]: unknown key 'momentum'");
  refuse([](json &m) { m["training"].erase("tokens"); },
         artifact + ": missing key 'tokens'");
  refuse([](json &m) { m["entries"][1]["name"] = "other"; },
         "no entry 'update'; the artifact has 'gradient', 'other'");
  refuse([](json &m) { m["entries"][0]["inputs"][0]["name"] = "pixels"; },
         "entry 'gradient': expected an input 'input_ids' of batch and length; "
         "the program is trained by its inputs, in C or Python");
  refuse([](json &m) { m["entries"][1]["inputs"][0]["name"] = "tilt"; },
         "entry 'update' has an input 'tilt' that tp-run does not know: "
         "expected a program of its own version");
  // Four rows of a tensor's seven are trained: the others stay, if they are
  // known.
  json part = manifest;
  part["training"]["weights"].erase(2);
  f.write("p.tpa", writeArtifact({{"manifest", part.dump()},
                                  {"code", readFile(TPRT_TEST_TRAIN)},
                                  {"constants", constants}}));
  std::string run =
      "--train d.safetensors --steps 1 --lr 1 --config in --save ";
  ASSERT_EQ(f.run(run + "out --weights in").code, 0);
  auto before = f.load("in/model.safetensors").at("qk").bytes,
       after = f.load("out/model.safetensors").at("qk").bytes;
  EXPECT_NE(before.substr(0, 64), after.substr(0, 64));
  EXPECT_EQ(before.substr(64), after.substr(64));
  f.refuse(run + "new --weights init:1", 1,
           "tensor 'qk': the program has a part of it alone, and weights that "
           "are made up have no rest: expected --weights DIR");
}
