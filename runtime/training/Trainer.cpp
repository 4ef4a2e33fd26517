//===- Trainer.cpp - the loop of training ---------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Trainer.h"

#include "Evaluation.h"
#include "Layout.h"
#include "Log.h"
#include "Recipe.h"

#include <chrono>
#include <cmath>
#include <thread>

using namespace tprt;
using namespace tprt::training;
using nlohmann::json;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

//===----------------------------------------------------------------------===//
// Checks before the run
//===----------------------------------------------------------------------===//

Expected<Source> training::sourceOf(const Options &options,
                                    const std::string &weights) {
  std::error_code ignored;
  if (!options.resume.empty()) {
    TPRT_ASSIGN(auto checkpoint, Checkpoint::at(options.resume, options.log));
    TPRT_ASSIGN(auto found, checkpoint.find());
    if (found) {
      TPRT_ASSIGN(auto progress, readProgress(found->folder));
      return Source{found->folder, statesFile(found->folder),
                    options.config.empty() ? found->folder : options.config,
                    progress, found->passedOver};
    }
    if (weights.empty())
      return userError("--resume '", options.resume,
                       "': there is no checkpoint of a run; --weights DIR "
                       "beside it says what to begin with");
  }
  Source source{weights, "", options.config, {}, ""};
  fs::path path(weights);
  if (source.folder.empty() && fs::is_directory(path, ignored))
    source.folder = weights;
  else if (source.folder.empty() && fs::is_regular_file(path, ignored))
    source.folder = fs::absolute(path).parent_path().string();
  return source;
}

Status training::checkStates(const Manifest &manifest,
                             const std::string &path) {
  TPRT_ASSIGN(auto file, InputFile::open(path));
  TPRT_ASSIGN(auto tensors, readSafetensorsHeader(file, path));
  for (const Training::Weight &weight : manifest.training->weights)
    for (int64_t i : {weight.expAvg, weight.expAvgSq, weight.momentum}) {
      std::string name =
          i < 0 ? "" : Session::stateTensor(manifest.states[size_t(i)]);
      if (i >= 0 && !tensors.count(name))
        return userError("'", path, "': expected tensor '", name, "'");
    }
  return {};
}

/// The data, and that it is that of the run which goes on.
static Expected<TokenFile> openData(const Steps &steps, const Options &options,
                                    const Progress &progress) {
  TPRT_ASSIGN(auto data, TokenFile::open(options.data, steps.length(),
                                         steps.vocabulary()));
  if (progress.rows > 0 && progress.rows != data.rows())
    return userError("'", options.data, "': expected the ", progress.rows,
                     " rows of the run that goes on, got ", data.rows(),
                     "; to train on other data begin with --weights '",
                     options.resume, "'");
  return data;
}

/// True if the rows of a run that goes on are as long as the program's.
static Status checkLength(const Steps &steps, const Options &options,
                          const Progress &before) {
  if (before.length == 0 || before.length == steps.length())
    return {};
  return userError("--resume '", options.resume,
                   "': the rows of the run are of ", before.length,
                   " tokens (--seq ", before.length,
                   "), and those of the program of ", steps.length(),
                   ": expected the same, as the run counts rows; for others "
                   "begin with --weights '",
                   options.resume, "'");
}

/// True if checkpoints go to where the run goes on from.
static Expected<bool> savesWhereItResumes(const Options &options,
                                          const Checkpoint &checkpoint) {
  if (options.resume.empty())
    return false;
  TPRT_ASSIGN(auto resumed, Checkpoint::at(options.resume, options.log));
  return resumed.isSameAs(checkpoint);
}

/// The name of the checkpoint whose loss of other data is the least.
static std::string bestOf(const std::string &save) { return save + ".best"; }

/// The place that checkpoints go to, which may not be another run's.
static Status checkSave(const Options &options, const Source &source) {
  std::string option = "--save '" + options.save + "'";
  TPRT_ASSIGN(auto checkpoint, Checkpoint::at(options.save, options.log));
  TPRT_ASSIGN(bool isOwn, savesWhereItResumes(options, checkpoint));
  auto occupant = checkpoint.occupant();
  if (occupant && !isOwn && !options.overwrite) {
    auto progress = readProgress(*occupant);
    return userError(option, ": '", *occupant,
                     "' is the checkpoint of another run",
                     progress ? detail::join(", of step ", progress->step) : "",
                     "; --resume '", options.save,
                     "' goes on with that run, --overwrite replaces it");
  }
  if (!options.evaluation.empty()) {
    TPRT_ASSIGN(auto best, Checkpoint::at(bestOf(options.save)));
    if (auto other = best.occupant(); other && !isOwn && !options.overwrite)
      return userError(option, ": '", *other,
                       "' is the best checkpoint of another run; --overwrite "
                       "replaces it");
  }
  TPRT_TRY(checkpoint.checkWritable().in(option));
  if (!checkpoint.holdsLog())
    TPRT_TRY(checkWritable(options.log));
  std::error_code ignored;
  if (!fs::exists(fs::path(source.folder) / "config.json", ignored))
    return userError(option, ": expected config.json beside the weights, to go "
                             "into the checkpoint; --config DIR says where it "
                             "is");
  return {};
}

/// A run goes on with the optimizer that its states are of.
static Status checkOptimizer(const Training &program, const Options &options,
                             const Source &source) {
  const std::string &before = source.progress.optimizer;
  if (source.states.empty() || before == program.name())
    return {};
  return userError("--resume '", options.resume, "': the run's optimizer is ",
                   before, ", the program's is ", program.name(),
                   ": expected the same, whose states the run has");
}

Status training::checkRecipe(const Manifest &manifest, const Options &options,
                             const Source &source) {
  TPRT_ASSIGN(auto program, trainingOf(manifest));
  TPRT_TRY(checkOptimizer(program, options, source)); // before the recipe's
  json all;
  return Recipe::make(program, options.recipe, source.progress.recipe, all)
      .status()
      .asUsage();
}

Status training::check(Session &session, const Options &options,
                       const Source &source) {
  TPRT_ASSIGN(auto steps, Steps::make(session));
  TPRT_TRY(steps.expectTokens());
  TPRT_TRY(trainingOf(steps.manifest()).status());
  const Progress &before = source.progress;
  TPRT_TRY(checkLength(steps, options, before));
  if (!options.checks)
    TPRT_TRY(openData(steps, options, before).status());
  if (!source.states.empty())
    TPRT_TRY(checkStates(session.manifest(), source.states));
  if (!options.evaluation.empty() && !options.checks)
    TPRT_TRY(Evaluation::open(steps, options.evaluation).status());
  return options.save.empty() ? checkWritable(options.log)
                              : checkSave(options, source);
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

namespace {

/// Pauses before a last checkpoint that could not be written is tried again.
constexpr int kFinalPauses[] = {1, 2};
/// An earlier one is tried again if the next interval is longer than this.
constexpr auto kRetry = std::chrono::minutes(1);

/// Rank 0's part.
class Trainer {
public:
  Trainer(Steps &steps, const Options &options, Source source)
      : steps(steps), options(options), source(std::move(source)),
        progress(this->source.progress) {}

  Status run();

private:
  Status begin();
  Status beginCheckpoint();
  Status takeBatch();
  Expected<std::optional<Steps::Result>> makeStep();
  Status step();
  Status evaluate();
  bool isEvaluationDue(int64_t before) const;
  bool isStale() const;
  Status noteEmpty();
  Status skip(const Steps::Result &result, json line);
  std::string setAside();
  Status save();
  Status saveNow();
  Status saveLast();
  bool isSaveDue(int64_t before) const;
  void sumUp() const;
  bool isToldToEnd() const {
    return options.isInterrupted() || steps.isToldToEnd();
  }

  Steps &steps;
  const Options &options;
  Source source;
  Progress progress;
  Recipe recipe{};
  std::optional<TokenFile> data;
  std::optional<Checkpoint> checkpoint, best;
  std::optional<Evaluation> evaluation;
  std::optional<Log> log;
  std::vector<int32_t> ids, targets;
  int64_t saved = -1;  ///< the step that was saved last
  int64_t empty = 0;   ///< rows in a row of which no token counts
  int64_t inARow = 0;  ///< steps that were skipped one after the other
  int64_t unsaved = 0; ///< checkpoints that could not be written
  bool isOwed = false; ///< the last one could not
  Clock::time_point owedSince;
};

Status Trainer::beginCheckpoint() {
  if (options.save.empty())
    return {};
  TPRT_TRY(weightLayout(steps).status());
  TPRT_ASSIGN(checkpoint, Checkpoint::at(options.save, options.log));
  TPRT_ASSIGN(bool isOwn, savesWhereItResumes(options, *checkpoint));
  TPRT_TRY(checkpoint->begin(options.keep, !isOwn));
  if (evaluation) {
    TPRT_ASSIGN(best, Checkpoint::at(bestOf(options.save)));
    TPRT_TRY(best->begin(1, !isOwn));
  }
  if (isOwn && source.weights == checkpoint->name())
    saved = progress.step;
  return {};
}

Status Trainer::begin() {
  TPRT_ASSIGN(auto program, trainingOf(steps.manifest()));
  json all;
  TPRT_ASSIGN(recipe,
              Recipe::make(program, options.recipe, progress.recipe, all));
  progress.recipe = all;
  progress.optimizer = program.name();
  TPRT_ASSIGN(data, openData(steps, options, progress));
  if (!source.passedOver.empty())
    say("the run goes on from '", source.weights, "', of step ", progress.step,
        ": ", source.passedOver);
  if (!options.resume.empty() && progress.rows == 0)
    say("there is no checkpoint at '", options.resume,
        "' yet: the run begins with --weights");
  if (data->left() > 0)
    say("'", options.data, "': the last ", data->left(),
        " tokens fill no row of ", steps.length() + 1, " and are left out");
  progress.rows = data->rows();
  progress.length = steps.length();
  ids.resize(size_t(steps.batch() * steps.length()));
  targets.resize(ids.size());
  if (!options.evaluation.empty()) {
    TPRT_ASSIGN(evaluation, Evaluation::open(steps, options.evaluation));
  }
  TPRT_TRY(beginCheckpoint());
  TPRT_ASSIGN(log, Log::open(options.log, progress, options.steps));
  return {};
}

Status Trainer::takeBatch() {
  for (int64_t row = 0; row < steps.batch(); ++row) {
    int64_t at = rowAt(progress.position++, data->rows(), recipe.isShuffled,
                       recipe.seed);
    TPRT_TRY(data->read(at, ids.data() + row * steps.length(),
                        targets.data() + row * steps.length()));
  }
  return {};
}

/// Makes a step; no result if the run was told to end in the midst of its
/// micro-batches: it goes on with the first of them then.
Expected<std::optional<Steps::Result>> Trainer::makeStep() {
  int64_t first = progress.position;
  for (int64_t i = 0; i < recipe.accumulate; ++i) {
    if (i > 0 && isToldToEnd()) {
      progress.position = first;
      return std::optional<Steps::Result>();
    }
    // A number that no other micro-batch of the run has.
    int64_t microstep = progress.position / steps.batch();
    TPRT_TRY(takeBatch());
    TPRT_TRY(steps.gradient(ids, targets, int64_t(recipe.seed), microstep));
  }
  TPRT_ASSIGN(auto result, steps.update(recipe.updateInputs(progress.step + 1,
                                                            options.steps)));
  return std::optional(result);
}

Status Trainer::noteEmpty() {
  int64_t rows = steps.batch() * recipe.accumulate;
  log->pause();
  say("no token of the ", rows, " rows after step ", progress.step,
      " counts: they make no step");
  if ((empty += rows) >= data->rows() + rows)
    return userError("'", options.data, "': all labels are -100, of all ",
                     data->rows(), " rows: expected tokens to predict");
  return {};
}

Status Trainer::step() {
  auto start = Clock::now();
  TPRT_ASSIGN(auto result, makeStep());
  if (!result)
    return {};
  if (result->tokens == 0)
    return noteEmpty();
  empty = 0;
  int64_t number = progress.step + 1;
  bool isFinite =
      std::isfinite(result->lossSum) && std::isfinite(result->gradNorm);
  TPRT_ASSIGN(auto peak, steps.peakBytes());
  double seconds = secondsSince(start);
  progress.skipped += !isFinite;
  json line = {{"step", number},
               {"loss", double(result->lossSum) / double(result->tokens)},
               {"tokens", int64_t(result->tokens)},
               {"lr", recipe.rateOf(number, options.steps)},
               {"grad_norm", result->gradNorm},
               {"applied", isFinite},
               {"skipped", progress.skipped},
               {"position", progress.position},
               {"seconds", seconds},
               {"tokens_per_second", double(result->tokens) / seconds},
               {"peak_bytes", peak}};
  if (!isFinite)
    return skip(*result, std::move(line));
  inARow = 0;
  progress.step = number;
  log->add(line);
  return {};
}

bool Trainer::isEvaluationDue(int64_t before) const {
  bool isNext =
      options.evaluateEvery > 0 && progress.step % options.evaluateEvery == 0;
  return evaluation && progress.step > before &&
         (isNext || progress.step == options.steps);
}

/// True if the loss of other data has not fallen for so long that the run ends.
bool Trainer::isStale() const {
  return evaluation && options.patience > 0 &&
         countWorse(progress) >= options.patience;
}

/// Notes the loss of the other data, and keeps the weights if it is the least.
Status Trainer::evaluate() {
  auto start = Clock::now();
  TPRT_ASSIGN(auto loss, evaluation->run(steps));
  bool isLeast = noteLoss(progress, loss.mean);
  log->addEvaluation({{"step", progress.step},
                      {"position", progress.position},
                      {"eval_loss", loss.mean},
                      {"eval_tokens", loss.tokens},
                      {"eval_seconds", secondsSince(start)}});
  log->pause();
  int64_t worse = countWorse(progress);
  say("step ", progress.step, ": loss ", loss.mean, " on '", options.evaluation,
      isLeast ? "', the least so far"
              : detail::join("', ", worse,
                             worse == 1 ? " evaluation" : " evaluations",
                             " after the least"));
  if (!isLeast || !best)
    return {};
  Status status = best->save(steps, progress, source.folder);
  if (status.code() != Code::User)
    return status;
  say("warning: the checkpoint of the least loss was not written: ",
      status.message());
  return {};
}

/// The program has kept all values as they were (docs/Training.md).
Status Trainer::skip(const Steps::Result &result, json line) {
  log->addSkipped(line);
  log->pause();
  std::string what = detail::join("step ", progress.step + 1, ": the loss is ",
                                  line["loss"].get<double>(),
                                  ", the gradient's norm ", result.gradNorm);
  // More of the data cannot mend the weights that the run began with.
  bool isFirst = inARow == 0 && progress.step == 0 && source.states.empty();
  if (isFirst && !steps.notFiniteWeights().empty())
    return userError(what, ": expected finite numbers; ",
                     steps.notFiniteWeights(), "; nothing was saved");
  if (++inARow <= options.maxSkips) {
    say(what, ": it is skipped (", inARow, " in a row, at most ",
        options.maxSkips, ")");
    return {};
  }
  const std::string &cause = steps.notFiniteWeights();
  return userError(
      what, ": expected finite numbers; ",
      inARow > 1 ? detail::join("all of ", inARow, " in a row were skipped; ")
                 : "",
      cause.empty() ? "" : cause + "; ", setAside());
}

/// Says in words where a run that only skips steps leaves its weights, which
/// may be what is wrong.
std::string Trainer::setAside() {
  if (!checkpoint)
    return "nothing was saved";
  std::string name = "'" + checkpoint->name() + "'";
  if (saved == progress.step) {
    // One step may have bad data; several have bad weights.
    auto before = inARow > 1 ? checkpoint->withdraw(saved) : std::nullopt;
    if (!before)
      return detail::join(name, " is of step ", saved,
                          inARow > 1 ? ", whose weights give that" : "");
    return detail::join(name, " is again of step ", *before, ", and '",
                        checkpoint->nameOf(saved), "' has the weights of step ",
                        saved);
  }
  std::string text = saved < 0 ? "nothing was saved before"
                               : detail::join(name, " is of step ", saved);
  if (progress.step == source.progress.step)
    return saved < 0 ? "nothing was saved" : text;
  auto beside = checkpoint->saveBeside(steps, progress, source.folder);
  if (!beside)
    return text + "; " + beside.status().message();
  return detail::join(text, ", and '", *beside, "' has the weights of step ",
                      progress.step);
}

Status Trainer::saveNow() {
  TPRT_TRY(checkpoint->save(steps, progress, source.folder));
  saved = progress.step;
  isOwed = false;
  source.folder = checkpoint->name();
  log->reopen();
  return {};
}

/// One that cannot be written does not end the run.
Status Trainer::save() {
  if (!checkpoint || saved == progress.step)
    return {};
  Status status = saveNow();
  if (status.code() != Code::User)
    return status;
  ++unsaved;
  isOwed = true;
  owedSince = Clock::now();
  log->pause();
  say("warning: the checkpoint of step ", progress.step,
      " was not written: ", status.message(), "; ",
      saved < 0 ? "there is none yet"
                : detail::join("'", checkpoint->name(), "' is of step ", saved),
      ", and the run goes on and tries again");
  return {};
}

/// At the end, where nothing comes after it.
Status Trainer::saveLast() {
  if (!checkpoint || saved == progress.step)
    return {};
  Status status = saveNow();
  for (int seconds : kFinalPauses) {
    if (status.code() != Code::User)
      return status;
    say("warning: the last checkpoint was not written: ", status.message(),
        "; it is tried again");
    std::this_thread::sleep_for(std::chrono::seconds(seconds));
    status = saveNow();
  }
  return status.ok()
             ? status
             : userError("the checkpoint of step ", progress.step,
                         " was not written: ", status.message(), "; ",
                         saved < 0 ? "nothing was saved"
                                   : detail::join("'", checkpoint->name(),
                                                  "' is of step ", saved));
}

bool Trainer::isSaveDue(int64_t before) const {
  bool isNext = options.saveEvery > 0 && progress.step > before &&
                progress.step % options.saveEvery == 0;
  return isNext || (isOwed && Clock::now() - owedSince > kRetry);
}

void Trainer::sumUp() const {
  if (progress.skipped > 0)
    say(progress.skipped, progress.skipped == 1 ? " step was" : " steps were",
        " skipped, as the loss or the gradient's norm was not finite");
  if (unsaved > 0)
    say(unsaved, unsaved == 1 ? " checkpoint" : " checkpoints",
        " could not be written; '", checkpoint->name(), "' is of step ", saved);
  if (isStale() && progress.step < options.steps)
    return say("the loss on '", options.evaluation, "' has not fallen for ",
               countWorse(progress), " evaluations: the run ends after step ",
               progress.step, " of ", options.steps,
               best ? detail::join("; '", best->name(), "' is of the least")
                    : "");
  if (progress.step < options.steps)
    say("interrupted after step ", progress.step, " of ", options.steps,
        checkpoint ? "; it is saved, and --resume goes on from it" : "");
}

Status Trainer::run() {
  TPRT_TRY(begin());
  while (progress.step < options.steps && !isToldToEnd() && !isStale()) {
    int64_t before = progress.step;
    TPRT_TRY(step());
    if (isEvaluationDue(before))
      TPRT_TRY(evaluate());
    if (isSaveDue(before))
      TPRT_TRY(save());
  }
  log->pause();
  TPRT_TRY(saveLast());
  sumUp();
  TPRT_TRY(log->close());
  return steps.end();
}

} // namespace

Status training::train(Session &session, const Options &options,
                       Source source) {
  TPRT_ASSIGN(auto steps, Steps::make(session));
  TPRT_TRY(steps.expectTokens());
  if (!session.root())
    return session.follow();
  steps.lead();
  return Trainer(steps, options, std::move(source)).run();
}

Status training::writeGradients(Session &session, const std::string &path) {
  TPRT_ASSIGN(auto steps, Steps::make(session));
  if (!session.root())
    return session.follow();
  steps.lead();
  const Training &program = *session.manifest().training;
  auto scalar = [&](int64_t index) -> Expected<float> {
    TPRT_ASSIGN(auto value, steps.state(index));
    return *reinterpret_cast<const float *>(value.bytes.data());
  };
  TPRT_ASSIGN(float loss, scalar(program.lossSum));
  TPRT_ASSIGN(float tokens, scalar(program.tokens));
  if (tokens == 0)
    return userError("--gradients: all labels are -100: expected tokens to "
                     "predict");
  loss /= tokens;
  TPRT_ASSIGN(auto layout, gradientLayout(steps));
  std::vector<std::pair<std::string, TensorPlace>> places{
      {"loss", {FileType::F32, {}, 0, sizeof(loss)}}};
  for (const LaidOut &tensor : layout)
    places.push_back({tensor.name, tensor.place});
  TPRT_ASSIGN(auto file, createSafetensors(path, places));
  TPRT_TRY(file.write(&loss, sizeof(loss)));
  TPRT_TRY(write(steps, layout, tokens, file));
  TPRT_TRY(file.commit());
  if (!std::isfinite(loss) && !steps.notFiniteWeights().empty())
    return userError("--gradients: the loss is ", loss, ": ",
                     steps.notFiniteWeights());
  return steps.end();
}
