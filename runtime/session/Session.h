//===- Session.h - a program being run --------------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads an artifact, gives each rank a thread, its weights and its memory, runs
// steps, and brings the results together. What a user of the runtime holds.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_SESSION_SESSION_H
#define TPRT_SESSION_SESSION_H

#include "../tensors/Sequences.h"
#include "CodeModule.h"
#include "Devices.h"
#include "RankThreads.h"

#include <set>

namespace tprt {

/// Three years: clocks count nanoseconds in 64 bits.
inline constexpr double kLongestTimeout = 1e8;

struct SessionOptions {
  /// Empty: the first of the table that can run the program.
  std::string backend;
  /// The longest waits for another rank: in a step, for all to come together
  /// (none: $TPRT_START_TIMEOUT, or the same), and while weights are loaded and
  /// steps prepared.
  double timeoutSeconds = 60;
  std::optional<double> startSeconds;
  double loadSeconds = 1800;
  /// A rank that gives no sign of life for so long is lost; none:
  /// $TPRT_SILENCE_TIMEOUT, or kSilenceSeconds.
  std::optional<double> silenceSeconds;
  /// Ranks that stand still, as under a debugger, are waited for without limit.
  bool allowStops = false;
  bool timeline = false;
  /// Given by a program that is nothing but its ranks: its place among those
  /// that a launcher started, which chooses a backend where none is named.
  std::optional<ProcessInfo> process;
  /// The actions of this process when any rank fails, where ranks are
  /// processes.
  std::shared_ptr<const Policy> policy;
  /// Runs this rank alone, whatever the backend: collectives are left out and
  /// outputs() is refused.
  std::optional<int64_t> onlyRank;
};

/// The facts of a program that a launcher of ranks must know.
struct Plan {
  int64_t ranks;
  int64_t sharedBytes; ///< at most, per rank: buffers that others may read
  std::function<std::string(CallSite)> describe;
};

/// A tensor in the caller's memory, for the time of a call.
struct Binding {
  std::string_view name;
  FileType type;
  Shape shape;
  char *data;
  int64_t bytes;

  /// Elements at `data`, as many as the shape says.
  template <typename T>
  static Binding of(std::string_view name, FileType type, Shape shape,
                    T *data) {
    int64_t bytes = elementCount(shape) * int64_t(sizeof(T));
    return {name, type, std::move(shape), reinterpret_cast<char *>(data),
            bytes};
  }
};

/// Once a rank is lost, or any rank fails where ranks are processes, all calls
/// return that error. The end of a session waits for nothing then: memory that
/// a thread or a library may still write to is left to it.
class Session {
public:
  struct Close {
    void operator()(Session *session) const;
  };
  using Owner = std::unique_ptr<Session, Close>;

  /// load and start.
  static Expected<Owner> open(const std::string &artifact,
                              const SessionOptions &options);
  /// Reads and checks the artifact, and whether this machine can run it.
  static Expected<Owner> load(const std::string &artifact,
                              const SessionOptions &options);
  /// The backend that the options ask for, or that suits the artifact.
  const BackendRow &backend() const { return *backendRow; }
  /// The plan of a loaded session, which it must not outlive.
  Plan plan() const;
  /// An error if the machine has too little memory for so many ranks: said
  /// before weights are read, and before the system ends a
  /// process that fills its cache. start does it too.
  Status checkMemory(int64_t ranks) const;
  /// Makes this process' ranks and brings all ranks together; everything below
  /// comes after it. Where ranks are processes, `process` says which this one
  /// is; null: the environment does.
  Status start(std::shared_ptr<const ProcessInfo> process);

  const Manifest &manifest() const { return manifest_; }
  /// Position of the entry, the first for an empty name.
  Expected<int64_t> entry(const std::string &name) const;

  /// Loads all ranks' parameters; see Weights::open for `spec`. Of `states`, a
  /// .safetensors file, each tensor is what the state begins with that
  /// stateTensor gives its name.
  Status loadWeights(const std::string &spec, const std::string &states = "");
  /// The layers of a stack are one tensor: `{i}` in the name is a star. One of
  /// a checkpoint's own names gets `weight:` in front.
  static std::string stateTensor(const State &state);
  /// The checkpoint that loadWeights has read; null if no state begins with a
  /// parameter.
  const Weights *checkpoint() const { return weights ? &*weights : nullptr; }
  /// Names the loaded weights that hold NaN or infinity (describeNotFinite), as
  /// the cause of results that are not finite; empty if none does, or they
  /// cannot be read any more. The first call reads the checkpoint again. It is
  /// no call that other ranks make too.
  const std::string &notFiniteWeights();

  /// The entry for inputs of these shapes: see tprt::chooseEntry.
  Expected<int64_t> entryFor(const NamedShapes &given) const {
    return chooseEntry(manifest_.entries, given);
  }

  /// Sets an input of those of the entries that have one of that name (one
  /// must), of the shape that the manifest states, or with fewer positions if
  /// they are sequences; checks type, shape, range and padding. ENTRY.NAME is
  /// that of one entry, whatever NAME is given as.
  Status setInput(const std::vector<int64_t> &entries, const std::string &name,
                  const TensorView &value);

  /// An error naming the first input that has neither value nor default, or
  /// other positions than those before it.
  Status checkInputs(int64_t entry);

  /// Runs the entries in turn, `repeat` times, on all ranks. Inputs that were
  /// not set take their default, or are an error. States keep what a step of
  /// any entry leaves in them.
  Status run(const std::vector<int64_t> &entries, int64_t repeat);

  /// Runs the entry once on inputs that are read where they lie, and writes the
  /// outputs named, and no others, to where the caller wants them: in their own
  /// types, floats also as f32. What setInput gave is not used and forgotten.
  /// All ranks call it with the same outputs; those that get no results write
  /// nothing.
  Status step(int64_t entry, const std::vector<Binding> &inputs,
              const std::vector<Binding> &outputs);

  /// Writes outputs of the entry's last step, as step does.
  Status read(int64_t entry, const std::vector<Binding> &outputs);

  /// The same of rows of one output, from `first` on: as many as the binding's
  /// shape has. Ranks must have all rows, each a part of every row or all of
  /// it.
  Status readRows(int64_t entry, const Binding &output, int64_t first);

  /// Declines a step that this rank cannot take part in: the others, where they
  /// are processes, must not wait for it. If all refuse, nothing has happened.
  /// Returns the status.
  Status refuse(const Status &status);

  /// Writes the states named to where the caller wants them, as step does
  /// outputs; their initial values before the first step.
  Status readStates(const std::vector<Binding> &states);
  /// State `index` of the program, padding stripped, floats as f32. All of it,
  /// or `rows` rows of its first dimension, which may not be sharded then, from
  /// `first` on. Called by all ranks, like outputs, and nothing on those that
  /// get no results.
  Expected<std::optional<HostTensor>> state(int64_t index, int64_t first = 0,
                                            int64_t rows = -1);
  /// Gives every state its initial value again.
  Status resetStates();

  /// From now until endLead rank 0 alone decides what runs: where ranks are
  /// processes, its calls that all ranks make are sent to the others, which are
  /// in follow().
  void lead() { isLeading = processes() && root(); }
  Status endLead();
  /// True if rank 0 makes the calls of all ranks: it has them, or leads them.
  bool decidesAlone() const { return !processes() || isLeading; }
  /// Makes the calls that rank 0 sends, until its endLead; those that all ranks
  /// refuse alike change nothing. The time between calls is not limited while
  /// rank 0 lives.
  Status follow();

  /// True if this process gets results: all do but ranks that are processes
  /// other than rank 0. Those call outputs, stats and timeline like rank 0, in
  /// the same order, and get nothing.
  bool root() const { return options.onlyRank || here[0] == 0; }
  /// The rank that this process is, or 0 where it has all of them.
  int64_t rank() const { return here[0]; }
  /// True if Policy::isToldToEnd of some rank has said so. On rank 0.
  bool isToldToEnd() const {
    return processes() && backend_->channel()->isToldToEnd();
  }
  /// Tells ranks in other processes that this one cannot go on.
  void abort(const Status &status);
  /// Why no call can succeed any more, such as a rank that is lost, or success.
  /// Waits for nothing; where ranks are processes, for any thread.
  Status failure() const;

  /// The results of the last run of the entry but its states, padding stripped,
  /// floats as f32.
  Expected<std::vector<HostTensor>> outputs(int64_t entry);

  /// One JSON object: load seconds and bytes, step seconds, memory per rank;
  /// and `generation`, another one, if given.
  Expected<std::string> stats(const std::string &generation = "");
  /// Seconds that this process' ranks took to load their weights.
  double loadSeconds() const { return loadSeconds_; }
  /// How long the entry's steps took, as this process saw them.
  const StepTimes &stepTimes(int64_t entry) const {
    return times[size_t(entry)];
  }
  /// Peak resident bytes of all processes together. Called by all ranks; 0 on
  /// those that get no results.
  Expected<int64_t> peakBytes();
  /// The Chrome trace of the steps so far, of the last ones if there are many.
  Expected<std::string> timeline();

private:
  Session() = default;
  /// Opens the file and reads its tables; `texts` are the sections manifest,
  /// code and constants.
  Status readTables(const std::string &path, std::string_view (&texts)[3]);
  Status read(const std::string &path);
  Status settleLimits();
  Status connect();
  Expected<std::vector<CoreShare>> coreShares();
  Status checkKernels() const;
  int64_t sharedBytes() const;
  Status prepareStates();
  Status readWeights(const std::string &spec, const std::string &states);
  Expected<Weights> openWeights(const std::string &spec,
                                const std::string &states);
  Status expectAllRanks() const;
  Status upload(tprt_rank &rank, int64_t entry);
  Status setInput(int64_t entry, size_t position, std::string_view name,
                  const TensorView &value, bool copy);
  Status bindInputs(int64_t entry, const std::vector<Binding> &inputs);
  /// The positions of outputs.
  Expected<std::vector<size_t>>
  placesOf(int64_t entry, const std::vector<Binding> &outputs) const;
  Status write(int64_t entry, const std::vector<Binding> &outputs,
               const std::vector<size_t> &places);
  Status run(const std::vector<int64_t> &entries, int64_t repeat,
             const std::vector<bool> &chosen);
  std::vector<const void *> outputsHere(int64_t entry, size_t place) const;
  Expected<bool> assembleOutput(int64_t entry, size_t place, tprt_type type,
                                char *to);
  Expected<bool> assembleState(int64_t index, const State &part, int64_t offset,
                               tprt_type type, char *to);
  Status expectStates();
  Expected<bool> assembleAll(const Value &value,
                             std::vector<const void *> local, tprt_type type,
                             char *to);
  bool processes() const { return backend_ && backend_->channel(); }
  /// A call of rank 0 that the others repeat.
  struct Call {
    enum Kind : int64_t {
      Step,
      Read,
      ReadRows,
      ReadStates,
      ResetStates,
      State,
      Stats,
      Timeline,
      PeakBytes,
      End
    } kind;
    int64_t index = 0, first = 0, rows = 0; ///< an entry or a state, and rows
  };
  /// Makes a call that rank 0 has sent.
  Status make(const Call &call, const std::vector<Binding> &inputs,
              const std::vector<Binding> &outputs);
  /// Refuses a step that all ranks have begun.
  Status refuseTogether(const Status &status);
  /// Sends the call, if this rank leads.
  Status tell(const Call &call, const std::vector<Binding> &inputs = {},
              const std::vector<Binding> &outputs = {});
  /// Rank 0's bytes, on every rank that is a process.
  Expected<std::string> fromRoot(const std::string &bytes = "");
  /// One blob per rank: `mine` of each rank, on rank 0 or in threads.
  Expected<std::vector<std::string>>
  gather(const std::function<std::string(const tprt_rank &)> &mine);
  Status onRanks(const std::function<Status(int64_t)> &job);
  std::string describe(CallSite site) const;

  SessionOptions options;
  std::string where; ///< the artifact, for messages
  const BackendRow *backendRow = nullptr;
  LoadedFile file;
  Manifest manifest_;
  CodeModule code;
  Program program;
  uint64_t hash = 0; ///< of the artifact
  std::unique_ptr<Backend> backend_;
  std::vector<int64_t> here; ///< the ranks of this process
  /// By rank; null where it lives in another process.
  std::vector<std::unique_ptr<tprt_rank>> ranks;
  /// Inputs as set, per entry and input; empty: not set.
  std::vector<InputValues> inputs;
  /// Per entry: how they fit, and what it reads of them (none: as they are).
  std::vector<SequenceFit> fits;
  std::vector<InputValues> movedInputs;
  /// Entries and inputs that setInput set by both names.
  std::set<std::pair<int64_t, size_t>> ownInputs;
  bool loaded = false, statesReady = false, isLeading = false;
  /// Kept if a state begins with a parameter: it may be reset.
  std::optional<Weights> weights;
  std::string weightsSpec, statesFile;         ///< as loadWeights was given
  std::optional<std::string> weightsNotFinite; ///< once they were looked at
  Status left; ///< why a thread was left behind, if one was
  double loadSeconds_ = 0;
  std::vector<StepTimes> times; ///< by entry
  // Last, so that threads end before what they use.
  std::unique_ptr<RankThreads> threads;
};

} // namespace tprt

#endif // TPRT_SESSION_SESSION_H
