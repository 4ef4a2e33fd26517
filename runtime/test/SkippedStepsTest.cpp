//===- SkippedStepsTest.cpp - steps that are not finite -------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step whose loss or norm is not finite is as if its rows were not there; it
// is counted and reported; and a run of nothing else ends, with the weights
// that are good under the name that is resumed.
//
//===----------------------------------------------------------------------===//

#include "TrainRuns.h"

using namespace tprt;
using namespace tprt::test;

namespace {

constexpr const char *kRun =
    "--weights in --lr 0.02 --weight-decay 0.1 --log log --save out ";

/// A fixture whose rows 2 and 3, the second step of each pass, are poisoned.
struct Poisoned : TrainFixture {
  explicit Poisoned(bool isHalf = false, bool isSgd = false)
      : TrainFixture(2, isHalf, isSgd) {
    // A pass of whole steps.
    tokens.resize(size_t(6 * (kTrainLength + 1)));
    tokens[2 * (kTrainLength + 1)] = kPoison;
    writeData(tokens);
  }
  /// The same without these rows.
  void heal() {
    tokens.erase(tokens.begin() + 2 * (kTrainLength + 1),
                 tokens.begin() + 4 * (kTrainLength + 1));
    writeData(tokens);
  }
};

} // namespace

TEST(SkippedSteps, AreAsIfTheirRowsWereNotThere) {
  for (const char *backend : {"threads", "processes"})
    for (bool isHalf : {false, true})
      for (bool isSgd : {false, true}) {
        if (isHalf && isSgd)
          continue;
        SCOPED_TRACE(detail::join(backend, " ", isHalf, " ", isSgd));
        Poisoned f(isHalf, isSgd);
        auto result =
            f.train(detail::join(kRun, "--steps 5 --backend ", backend));
        ASSERT_EQ(result.code, 0) << result.err;
        EXPECT_TRUE(inOrder(
            result.err,
            {"tp-run: step 1 of 5: loss ",
             "tp-run: step 2: the loss is nan, the gradient's norm nan: it is "
             "skipped (1 in a row, at most 10)\n",
             "tp-run: step 4: the loss is nan, the gradient's norm nan: it is "
             "skipped (1 in a row, at most 10)\n",
             "tp-run: step 5 of 5: loss ",
             "tp-run: 2 steps were skipped, as the loss or the gradient's norm "
             "was not finite\n"}))
            << result.err;
        EXPECT_EQ(progressOf(f, "out")["skipped"], 2);
        EXPECT_EQ(progressOf(f, "out")["position"], 7 * kTrainBatch);
        auto lines = linesOf(f.directory / "log");
        ASSERT_EQ(lines.size(), 7u);
        std::string all = readFile(f.directory / "out/model.safetensors"),
                    states =
                        readFile(f.directory / "out/optimizer.safetensors");

        f.heal();
        ASSERT_EQ(f.train(detail::join(kRun, "--overwrite --steps 5")).code, 0);
        EXPECT_EQ(readFile(f.directory / "out/model.safetensors"), all);
        EXPECT_EQ(readFile(f.directory / "out/optimizer.safetensors"), states);
        auto good = linesOf(f.directory / "log");
        ASSERT_EQ(good.size(), 5u);
        for (size_t i = 0, at = 0; i < lines.size(); ++i) {
          bool isSkipped = i == 1 || i == 4;
          EXPECT_EQ(lines[i]["applied"], !isSkipped);
          EXPECT_EQ(lines[i]["skipped"], (i >= 1) + (i >= 4));
          EXPECT_EQ(lines[i]["position"], (i + 1) * kTrainBatch);
          EXPECT_EQ(lines[i]["step"], good[at]["step"]);
          EXPECT_EQ(lines[i]["lr"], good[at]["lr"]);
          EXPECT_EQ(lines[i]["loss"],
                    isSkipped ? json(nullptr) : good[at]["loss"]);
          at += !isSkipped;
        }
      }
}

/// Accumulation: one bad micro-batch makes the step a bad one, and nothing of
/// it is left in the next.
TEST(SkippedSteps, OfSeveralMicroBatches) {
  Poisoned f;
  std::string run = detail::join(kRun, "--accumulate 3 --steps 1 ");
  auto result = f.train(run + "--max-skips 2");
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(progressOf(f, "out"), json());
  // Two steps of three batches: one with the poison, one without.
  std::vector<int32_t> rows = f.tokens;
  f.heal();
  std::vector<int32_t> good = f.tokens;
  good.insert(good.end(), f.tokens.begin(), f.tokens.begin() + 10);
  rows.insert(rows.end(), good.begin(), good.end());
  f.tokens = rows;
  f.writeData(rows);
  ASSERT_EQ(f.train(run).code, 0);
  EXPECT_EQ(progressOf(f, "out")["position"], 12);
  std::string weights = readFile(f.directory / "out/model.safetensors");
  f.tokens = good;
  f.writeData(good);
  ASSERT_EQ(f.train(run + "--overwrite").code, 0);
  EXPECT_EQ(readFile(f.directory / "out/model.safetensors"), weights);
}

/// Runs with and without a break, before and after a step that is skipped.
TEST(SkippedSteps, GoOnBitForBit) {
  for (const char *backend : {"threads", "processes"})
    for (int first : {1, 2, 3, 4}) {
      Poisoned f;
      std::string run = "--weights in --lr 0.02 ";
      std::string part = detail::join(
          run, "--log l1 --save part --resume part --backend ", backend);
      ASSERT_EQ(f.train(run + "--log l2 --save once --steps 6").code, 0);
      ASSERT_EQ(f.train(detail::join(part, " --steps ", first)).code, 0);
      ASSERT_EQ(f.train(part + " --steps 6").code, 0);
      for (const char *file :
           {"model.safetensors", "optimizer.safetensors", "trainer.json"})
        EXPECT_EQ(readFile(f.directory / (std::string("once/") + file)),
                  readFile(f.directory / (std::string("part/") + file)))
            << first << " " << file;
      auto one = linesOf(f.directory / "l1"), two = linesOf(f.directory / "l2");
      ASSERT_EQ(one.size(), two.size());
      for (size_t i = 0; i < one.size(); ++i)
        for (const char *key :
             {"step", "loss", "applied", "skipped", "position"})
          EXPECT_EQ(one[i][key], two[i][key]) << i << " " << key;
    }
}

TEST(SkippedSteps, TooManyInARowEndTheRun) {
  for (const char *backend : {"threads", "processes"}) {
    Poisoned f;
    std::string more = detail::join("--backend ", backend, " --steps 9 ");
    auto result = f.train(kRun + more + "--save-every 1 --max-skips 0");
    EXPECT_EQ(result.code, 1);
    EXPECT_TRUE(inOrder(
        result.err, {"tp-run: error: step 2: the loss is nan, the gradient's "
                     "norm nan: expected finite numbers; '",
                     "/out' is of step 1\n"}))
        << result.err;
    EXPECT_EQ(progressOf(f, "out")["step"], 1);
    EXPECT_EQ(linesOf(f.directory / "log").size(), 2u);

    // From the beginning: nothing that could be saved was made.
    for (size_t i = 0; i < f.tokens.size(); i += 5)
      f.tokens[i] = kPoison;
    f.writeData(f.tokens);
    result = f.train("--weights in --lr 0.02 --max-skips 3 --save new " + more);
    EXPECT_EQ(result.code, 1);
    EXPECT_TRUE(
        inOrder(result.err,
                {"it is skipped (1 in a row, at most 3)\n",
                 "it is skipped (3 in a row, at most 3)\n", "error: step 1: ",
                 "expected finite numbers; all of 4 in a row were "
                 "skipped; nothing was saved\n"}))
        << result.err;
    EXPECT_FALSE(std::filesystem::exists(f.directory / "new"));
  }
}

/// A checkpoint whose weights turn out to be ruined takes no good one's place:
/// it was saved before any loss could tell.
TEST(SkippedSteps, RuinedWeightsAreWithdrawn) {
  for (const char *backend : {"threads", "processes"}) {
    TrainFixture f(2);
    std::string more = detail::join(" --max-skips 2 --backend ", backend);
    std::string first = "--weights in --lr 0.02 --steps 3 --save out --log "
                        "out/log --save-every 1" +
                        more;
    ASSERT_EQ(f.train(first).code, 0);
    std::string good = readFile(f.directory / "out/model.safetensors");
    auto result =
        f.run("--train d.safetensors --lr 1e20 --steps 9 --resume out --save "
              "out --log out/log --save-every 1" +
              more);
    EXPECT_EQ(result.code, 1);
    EXPECT_TRUE(inOrder(result.err,
                        {"error: step 5: the loss is inf, the gradient's norm ",
                         "all of 3 in a row were skipped; '",
                         "/out' is again of step 3, and '",
                         "/out.step-4' has the weights of step 4\n"}))
        << result.err;
    EXPECT_EQ(readFile(f.directory / "out/model.safetensors"), good);
    EXPECT_EQ(progressOf(f, "out.step-4")["step"], 4);
    EXPECT_EQ(linesOf(f.directory / "out/log").size(), 7u);
    EXPECT_FALSE(std::filesystem::exists(f.directory / "out.step-4/log"));
    // It goes on from there, and cuts what has come to nothing.
    ASSERT_EQ(f.run("--train d.safetensors --lr 0.02 --steps 5 --resume out "
                    "--save out --log out/log")
                  .code,
              0);
    auto lines = linesOf(f.directory / "out/log");
    ASSERT_EQ(lines.size(), 5u);
    for (int i = 0; i < 5; ++i)
      EXPECT_EQ(lines[size_t(i)]["step"], i + 1);

    EXPECT_EQ(progressOf(f, "out.step-3")["step"], 3);
    EXPECT_FALSE(std::filesystem::exists(f.directory / "out.step-4"));

    // Weights that were not saved are put beside the last checkpoint.
    ASSERT_EQ(f.run("--train d.safetensors --lr 1e20 --steps 9 --resume out "
                    "--save out" +
                    more)
                  .code,
              1);
    EXPECT_EQ(progressOf(f, "out")["step"], 5);
    EXPECT_EQ(progressOf(f, "out.step-6")["step"], 6);
  }
}
