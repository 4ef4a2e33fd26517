//===- TrainTest.cpp - tp-run --train -------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program train.c at several degrees, on threads and processes: what comes
// out against AdamW and SGD in f64, checkpoints bit for bit, runs that go on
// and that are killed.
//
//===----------------------------------------------------------------------===//

#include "TrainRuns.h"

#include <set>

using namespace tprt;
using namespace tprt::test;

namespace {

/// All files of two checkpoints.
void expectSameFiles(const TrainFixture &f, const std::string &a,
                     const std::string &b) {
  std::set<std::string> names;
  for (const std::string &folder : {a, b})
    for (auto &entry :
         std::filesystem::directory_iterator(f.directory / folder))
      names.insert(entry.path().filename());
  EXPECT_EQ(names, (std::set<std::string>{
                       "config.json", "tokenizer.json", "model.safetensors",
                       "optimizer.safetensors", "trainer.json"}));
  for (const std::string &name : names)
    EXPECT_EQ(readFile(f.directory / (a + "/" + name)),
              readFile(f.directory / (b + "/" + name)))
        << name;
}

} // namespace

TEST(Train, AsInPyTorchOnAnyRanks) {
  for (int64_t ranks : {1, 2, 3})
    for (const char *backend : {"threads", "processes"})
      for (bool isHalf : {false, true})
        for (bool isSgd : {false, true}) {
          if (backend[0] == 'p' && (ranks == 1 || isSgd))
            continue;
          SCOPED_TRACE(detail::join(ranks, " ", backend, isHalf ? " bf16" : "",
                                    isSgd ? " sgd" : ""));
          TrainFixture f(ranks, isHalf, isSgd);
          auto result = f.train(
              detail::join("--weights in --save out/ --steps 5 --accumulate 2 "
                           "--lr 0.02 --weight-decay 0.1 --log log --backend ",
                           backend));
          ASSERT_EQ(result.code, 0) << result.err;
          expectWeights(f, "out", 5, 2 * kTrainBatch, 0.02,
                        isHalf ? 2e-4 : 2e-6);
          auto lines = linesOf(f.directory / "log");
          ASSERT_EQ(lines.size(), 5u);
          EXPECT_EQ(lines[4]["step"], 5);
          EXPECT_EQ(lines[4]["tokens"], 2 * kTrainBatch * kTrainLength);
          EXPECT_EQ(lines[4]["lr"], 0.02);
          EXPECT_LT(lines[4]["loss"], lines[0]["loss"]);
          EXPECT_GT(lines[4]["grad_norm"], 0);
          EXPECT_TRUE(lines[4]["seconds"].is_number());
          EXPECT_GT(lines[4]["tokens_per_second"], 0);
          EXPECT_GT(lines[4]["peak_bytes"], 1 << 20);
          EXPECT_EQ(result.err.find("tp-run: step 1 of 5: loss "), 0u)
              << result.err;
          EXPECT_EQ(readFile(f.directory / "out/config.json"),
                    "{\"model_type\": \"test\"}");
          EXPECT_FALSE(std::filesystem::exists(f.directory / ".out.saving"));
        }
}

/// The first loss, by hand: of the mean over the tokens, before any step.
TEST(Train, LossIsThatOfTheMean) {
  TrainFixture f(3);
  ASSERT_EQ(
      f.train("--weights in --steps 1 --accumulate 3 --lr 1 --log log").code,
      0);
  double sum = 0;
  for (int64_t r = 0; r < 3 * kTrainBatch; ++r)
    for (int64_t t = 0; t < kTrainLength; ++t) {
      const int32_t *at = &f.tokens[size_t(r * (kTrainLength + 1) + t)];
      for (const auto &tensor : f.tensors)
        if (tensor.dtype == "F32" && tensor.name != "rope.inv_freq")
          for (float w : toFloats(TPRT_F32, tensor.bytes))
            sum += std::pow(w - double(at[0] - at[1]) / 16, 2) / 2;
    }
  json line = linesOf(f.directory / "log")[0];
  double expected = sum / double(3 * kTrainBatch * kTrainLength);
  EXPECT_NEAR(line["loss"].get<double>(), expected, 1e-5 * expected);
}

/// Cut into rows; two ranks that are processes say what is left but once.
TEST(Train, OneStreamOfTokens) {
  TrainFixture f(2);
  auto run = [&] {
    auto result = f.train("--weights in --steps 4 --lr 0.1 --save o "
                          "--overwrite --backend processes");
    EXPECT_EQ(result.code, 0) << result.err;
    return result.err;
  };
  run();
  std::string rows = readFile(f.directory / "o/model.safetensors");
  int64_t count = kTrainRows * (kTrainLength + 1) + 3;
  f.tokens.resize(size_t(count));
  f.write("d.safetensors",
          safetensors({{"tokens",
                        "I32",
                        {count},
                        {reinterpret_cast<char *>(f.tokens.data()),
                         f.tokens.size() * 4}}}));
  std::string told = "tp-run: 'd.safetensors': the last 3 tokens fill no row "
                     "of 5 and are left out\n",
              err = run();
  EXPECT_EQ(err.find(told), 0u) << err;
  EXPECT_EQ(err.find(told, 1), std::string::npos) << err;
  EXPECT_EQ(readFile(f.directory / "o/model.safetensors"), rows);
}

TEST(Train, NoStepSavesTheInput) {
  for (bool isHalf : {false, true})
    for (tprt_type stored : {TPRT_F32, TPRT_BF16, TPRT_F16}) {
      // f32 from a checkpoint, kept in bf16 alone, is another number.
      SCOPED_TRACE(detail::join(isHalf, " ", typeName(stored)));
      TrainFixture f(2, isHalf, false, stored);
      auto result = f.train("--weights in --save out --steps 0 --lr 1");
      ASSERT_EQ(result.code, 0) << result.err;
      EXPECT_EQ(result.err, "");
      auto got = f.load("out/model.safetensors");
      EXPECT_EQ(got.size(), f.tensors.size());
      for (const TestTensor &tensor : f.tensors)
        EXPECT_EQ(got.at(tensor.name).bytes, tensor.bytes) << tensor.name;
    }
}

/// Four steps and then five more, with what the checkpoint says of the rest.
TEST(Train, GoesOnBitForBit) {
  for (bool isHalf : {false, true})
    for (tprt_type stored : {TPRT_F32, TPRT_F16}) {
      SCOPED_TRACE(detail::join(isHalf, " ", typeName(stored)));
      TrainFixture f(2, isHalf, false, stored);
      std::string run = "--train d.safetensors --log log --save ";
      std::string first =
          "--weights in --lr 0.02 --accumulate 2 --seed 5 --betas 0.8,0.9 "
          "--eps "
          "1e-6 --weight-decay 0.2 --schedule constant:warmup=6 --steps ";
      ASSERT_EQ(f.run(run + "whole " + first + "9").code, 0);
      auto whole = linesOf(f.directory / "log");
      json kept = json::parse(readFile(f.directory / "whole/trainer.json"));
      EXPECT_EQ(kept["recipe"]["seed"], 5);
      EXPECT_EQ(kept["recipe"]["order"], "shuffle");
      EXPECT_EQ(kept["position"], 9 * 2 * kTrainBatch);
      EXPECT_EQ(whole[2]["lr"], 0.02 * 3 / 7);

      auto begun =
          f.run(run + "part --backend processes --resume part " + first + "4");
      ASSERT_EQ(begun.code, 0) << begun.err;
      std::string told =
          "tp-run: there is no checkpoint at 'part' yet: the run "
          "begins with --weights\n";
      EXPECT_EQ(begun.err.find(told), 0u) << begun.err;
      EXPECT_EQ(begun.err.find(told, 1), std::string::npos) << begun.err;
      // Lines that a killed run had written after its checkpoint.
      std::ofstream(f.directory / "log", std::ios::app)
          << "{\"step\": 5}\n{\"st";
      std::filesystem::copy(f.directory / "part", f.directory / "other");
      auto rest = f.run(run + "part --resume part --steps 9");
      ASSERT_EQ(rest.code, 0) << rest.err;
      expectSameFiles(f, "whole", "part");
      auto lines = linesOf(f.directory / "log");
      ASSERT_EQ(lines.size(), 9u);
      for (size_t i = 0; i < 9; ++i)
        EXPECT_EQ(lines[i]["loss"], whole[i]["loss"]) << i;

      // Each element is its own: other ranks make no difference here.
      f.compile(3);
      ASSERT_EQ(f.run(run + "other --resume other --steps 9").code, 0);
      expectSameFiles(f, "whole", "other");
      // There is nothing to do.
      ASSERT_EQ(f.run("--train d.safetensors --resume other --steps 3").code,
                0);
    }
}

TEST(Train, GradientsOfTheMean) {
  for (int64_t ranks : {1, 3})
    for (const char *backend : {"threads", "processes"}) {
      TrainFixture f(ranks);
      std::vector<int32_t> ids, targets;
      for (int64_t i = 0; i < kTrainBatch * kTrainLength; ++i) {
        ids.push_back(f.tokens[size_t(i)]);
        targets.push_back(i % 3 ? f.tokens[size_t(i + 1)] : -100);
      }
      f.write("i.safetensors",
              safetensors({idTensor("input_ids", kTrainLength, ids),
                           idTensor("targets", kTrainLength, targets)}));
      auto result =
          f.run(std::string("--weights in --input i.safetensors --gradients "
                            "g.safetensors --backend ") +
                backend);
      ASSERT_EQ(result.code, 0) << result.err;
      auto got = f.load("g.safetensors");
      ASSERT_EQ(got.size(), 12u);
      double loss = 0, count = 0;
      for (int32_t target : targets)
        count += target != -100;
      for (const TestTensor &tensor : f.tensors) {
        if (!got.count(tensor.name))
          continue;
        EXPECT_EQ(got[tensor.name].shape, tensor.shape);
        auto g = toFloats(TPRT_F32, std::string(got[tensor.name].bytes));
        auto w = toFloats(TPRT_F32, tensor.bytes);
        for (size_t k = 0; k < w.size(); ++k) {
          double sum = 0;
          for (size_t t = 0; t < ids.size(); ++t) {
            double d = w[k] - double(ids[t] - targets[t]) / 16;
            if (targets[t] != -100)
              sum += d, loss += d * d / 2;
          }
          EXPECT_NEAR(g[k], sum / count, 1e-5) << tensor.name << " " << k;
        }
      }
      EXPECT_NEAR(toFloats(TPRT_F32, std::string(got["loss"].bytes))[0],
                  loss / count, 1e-5 * loss / count);
    }
  TrainFixture f(1);
  std::string nothing(size_t(kTrainBatch * kTrainLength), char(-100));
  f.write("i.safetensors",
          safetensors({{"input_ids", "U8", {2, 4}, std::string(8, 1)},
                       {"labels", "I8", {2, 4}, nothing}}));
  f.refuse("--weights in --input i.safetensors --gradients g.safetensors", 1,
           "--gradients: all labels are -100: expected tokens to predict");
  f.refuse("--weights in --input i.safetensors --gradients g.npy", 2,
           "--gradients 'g.npy': expected a name ending in .safetensors");
}

/// Labels as `transformers` takes them are the tokens' own: each is the target
/// of the position before it, and nothing is that of the last.
TEST(Train, LabelsThatAreNotShifted) {
  TrainFixture f(2);
  std::vector<int32_t> ids, labels, targets;
  for (int64_t i = 0; i < kTrainBatch * kTrainLength; ++i) {
    ids.push_back(f.tokens[size_t(i)]);
    labels.push_back(i % 5 ? ids.back() : -100);
  }
  for (int64_t i = 0; i < kTrainBatch * kTrainLength; ++i)
    targets.push_back((i + 1) % kTrainLength ? labels[size_t(i + 1)] : -100);
  TestTensor given = idTensor("input_ids", kTrainLength, ids);
  auto gradients = [&](const std::vector<TestTensor> &more) {
    std::vector<TestTensor> list{given};
    list.insert(list.end(), more.begin(), more.end());
    f.write("i.safetensors", safetensors(list));
    auto result = f.run("--weights in --input i.safetensors --gradients "
                        "g.safetensors");
    EXPECT_EQ(result.code, 0) << result.err;
    return readFile(f.directory / "g.safetensors");
  };
  std::string first = gradients({idTensor("targets", kTrainLength, targets)});
  EXPECT_EQ(gradients({idTensor("labels", kTrainLength, labels)}), first);
  // The tensor has another type than the program's.
  TestTensor wide{"labels", "I64", {kTrainBatch, kTrainLength}, ""};
  for (int64_t label : labels)
    wide.bytes.append(reinterpret_cast<char *>(&label), sizeof(label));
  EXPECT_EQ(gradients({wide}), first);

  f.write("i.safetensors",
          safetensors({given, idTensor("labels", kTrainLength, labels),
                       idTensor("targets", kTrainLength, targets)}));
  f.refuse("--weights in --input i.safetensors --gradients g.safetensors", 1,
           "'i.safetensors': inputs 'targets' and 'labels': expected one of "
           "them: 'labels' are the tokens' own, 'targets' those of the tokens "
           "that follow");
  f.write("i.safetensors",
          safetensors({given, {"labels", "I8", {1, 2}, "\1\2"}}));
  f.refuse("--weights in --input i.safetensors --gradients g.safetensors", 1,
           "'i.safetensors': input 'labels': expected shape [2, 4] as "
           "compiled, got [1, 2]");
}

TEST(Train, WeightsThatAreMadeUp) {
  std::string first;
  for (int64_t ranks : {1, 3}) {
    TrainFixture f(ranks);
    ASSERT_EQ(f.train("--weights init:7 --save out --config in --steps 2 --lr "
                      "0.1")
                  .code,
              0);
    auto got = f.load("out/model.safetensors");
    EXPECT_EQ(got.size(), 11u);
    EXPECT_EQ(got.count("table"), 1u);
    std::string text = readFile(f.directory / "out/model.safetensors");
    if (ranks == 1)
      first = text;
    EXPECT_EQ(text, first);
  }
  // Beginning with random weights is the same.
  TrainFixture f(2);
  ASSERT_EQ(f.train("--weights random:7 --save out --config in --steps 2 --lr "
                    "0.1")
                .code,
            0);
  EXPECT_EQ(readFile(f.directory / "out/model.safetensors"), first);
}

TEST(Train, TokensThatDoNotCount) {
  TrainFixture f(2);
  // The third and fourth of seven rows, which are a step, have no label.
  std::vector<int32_t> labels = f.tokens;
  for (size_t i = 0; i < labels.size(); ++i)
    if (i / 5 == 2 || i / 5 == 3 || i % 5 == 1)
      labels[i] = -100;
  f.writeData(f.tokens, labels);
  auto result =
      f.train("--weights in --steps 3 --lr 0.01 --log log --save out");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(inOrder(
      result.err, {"tp-run: step 1 of 3: loss ",
                   "tp-run: no token of the 2 rows after step 1 counts: they "
                   "make no step\n",
                   "tp-run: step 3 of 3: loss "}))
      << result.err;
  auto lines = linesOf(f.directory / "log");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1]["tokens"], kTrainBatch * (kTrainLength - 1));
  EXPECT_EQ(json::parse(readFile(f.directory / "out/trainer.json"))["position"],
            8);
  // Adam's step count knows nothing of them: a step later all is as if they
  // were not there.
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < f.tokens.size(); ++i)
    if (i / 5 != 2 && i / 5 != 3)
      tokens.push_back(f.tokens[i]);
  std::vector<int32_t> shorter;
  for (size_t i = 0; i < labels.size(); ++i)
    if (i / 5 != 2 && i / 5 != 3)
      shorter.push_back(labels[i]);
  f.writeData(tokens, shorter);
  ASSERT_EQ(f.train("--weights in --steps 3 --lr 0.01 --log log2").code, 0);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(linesOf(f.directory / "log2")[i]["loss"], lines[i]["loss"]);

  f.writeData(f.tokens, std::vector<int32_t>(f.tokens.size(), -100));
  result = f.train("--weights in --steps 3 --lr 0.01");
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(inOrder(result.err,
                      {"error: 'd.safetensors': all labels are -100, of all 7 "
                       "rows: expected tokens to predict\n"}))
      << result.err;
}

/// Whenever it ends, what is there is whole. TPRT_KILLS says how often.
TEST(Train, KilledAtAnyMoment) {
  const char *given = getenv("TPRT_KILLS");
  int kills = given ? std::atoi(given) : 6;
  std::mt19937 random(kSeed);
  int found = 0;
  for (int i = 0; i < kills; ++i) {
    bool isProcesses = i % 2;
    TrainFixture f(2);
    Background run(f, kEndless + std::string("--save-every 1 --backend ") +
                          (isProcesses ? "processes" : "threads"));
    if (i % 3)
      waitFor(f.directory / "out/trainer.json");
    std::this_thread::sleep_for(
        std::chrono::microseconds(random() % (i % 3 ? 100'000 : 200'000)));
    std::vector<pid_t> ranks =
        i % 4 == 1 ? run.children() : std::vector<pid_t>();
    pid_t rank = ranks.empty() ? 0 : ranks[0];
    kill(rank ? rank : run.process, SIGKILL);
    EXPECT_EQ(run.wait(), rank ? 3 : -SIGKILL);
    if (rank) {
      EXPECT_TRUE(inOrder(readFile(f.directory / "err"),
                          {"rank 0 was killed by signal 9 (Killed)"}))
          << readFile(f.directory / "err");
    }
    // The kernel kills the ranks, but only then.
    std::this_thread::sleep_for(
        std::chrono::milliseconds(isProcesses ? 50 : 0));
    bool isThere = std::filesystem::exists(f.directory / "out");
    found += isThere;
    EXPECT_TRUE(isThere || i % 3 == 0);
    int64_t step = 0;
    if (isThere) {
      step = json::parse(readFile(f.directory / "out/trainer.json"))["step"];
      EXPECT_GT(step, 0);
      expectWeights(f, "out", step, kTrainBatch, 0.02, 2e-5);
    }
    auto result = f.train(detail::join("--weights in --lr 0.02 --weight-decay "
                                       "0.1 --resume out --save out --steps ",
                                       step + 3));
    ASSERT_EQ(result.code, 0) << result.err;
    expectWeights(f, "out", step + 3, kTrainBatch, 0.02, 2e-5);
  }
  EXPECT_GT(found, kills / 2);
}
