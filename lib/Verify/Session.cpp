//===- Session.cpp - Run a per-rank program natively ----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random parameters are written to a temporary safetensors file, so that the
// runtime loads and slices them as it does a checkpoint's.
//
//===----------------------------------------------------------------------===//

#include "Session.h"

#include "mlir/Pass/PassManager.h"
#include "tp/CodeGen/Artifact.h"
#include "tp/Dialect/TP/IR/ModelAttributes.h"
#include "tp/Dialect/TP/IR/ParameterNames.h"
#include "tp/Pipelines/Pipelines.h"
#include "tp/Support/OutputFile.h"
#include "tp/Verify/Passes.h"
#include "tprt/tprt.h"
#include "llvm/Support/DynamicLibrary.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <bit>

using namespace mlir;
using namespace tp::interp;

namespace tp {

namespace {

/// The runtime's C interface, opened beside the program that runs.
struct Runtime {
  decltype(&tprt_open) open = nullptr;
  decltype(&tprt_close) close = nullptr;
  decltype(&tprt_error) error = nullptr;
  decltype(&tprt_entry) entry = nullptr;
  decltype(&tprt_describe_input) describeInput = nullptr;
  decltype(&tprt_describe_output) describeOutput = nullptr;
  decltype(&tprt_load_weights) loadWeights = nullptr;
  decltype(&tprt_run) run = nullptr;
  decltype(&tprt_output_count) outputCount = nullptr;
  decltype(&tprt_describe_state) describeState = nullptr;
  decltype(&tprt_read_states) readStates = nullptr;

  /// Empty, or why it cannot be had.
  static std::string load(Runtime &runtime) {
    std::string program = llvm::sys::fs::getMainExecutable(
        nullptr, reinterpret_cast<void *>(&Runtime::load));
    SmallString<128> path(llvm::sys::path::parent_path(program));
    llvm::sys::path::append(path, "..", "lib", "libtprt.so");
    std::string error;
    auto library =
        llvm::sys::DynamicLibrary::getPermanentLibrary(path.c_str(), &error);
    if (!library.isValid())
      return "cannot open the runtime: " + error;
    auto find = [&](auto &function, const char *name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(
          library.getAddressOfSymbol(name));
      return function != nullptr;
    };
    if (!find(runtime.open, "tprt_open") ||
        !find(runtime.close, "tprt_close") ||
        !find(runtime.error, "tprt_error") ||
        !find(runtime.entry, "tprt_entry") ||
        !find(runtime.describeInput, "tprt_describe_input") ||
        !find(runtime.describeOutput, "tprt_describe_output") ||
        !find(runtime.loadWeights, "tprt_load_weights") ||
        !find(runtime.run, "tprt_run") ||
        !find(runtime.outputCount, "tprt_output_count") ||
        !find(runtime.describeState, "tprt_describe_state") ||
        !find(runtime.readStates, "tprt_read_states"))
      return "the runtime at " + path.str().str() + " lacks a function";
    return "";
  }
};

} // namespace

/// The elements as raw little-endian bytes of a safetensors type; empty if it
/// is none that is known here.
static std::string toBytes(const Tensor &tensor, StringRef dtype) {
  std::string bytes;
  auto append = [&](auto value) {
    char buffer[sizeof(value)];
    llvm::support::endian::write(buffer, value, llvm::endianness::little);
    bytes.append(buffer, sizeof(value));
  };
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    if (dtype == "F32")
      append(std::bit_cast<uint32_t>(float(tensor.getFloat(i))));
    else if (dtype == "BF16")
      append(
          uint16_t(std::bit_cast<uint32_t>(float(tensor.getFloat(i))) >> 16));
    else if (dtype == "F16") {
      llvm::APFloat half(tensor.getFloat(i));
      bool losesInfo;
      half.convert(llvm::APFloat::IEEEhalf(),
                   llvm::APFloat::rmNearestTiesToEven, &losesInfo);
      append(uint16_t(half.bitcastToAPInt().getZExtValue()));
    } else if (dtype == "I64")
      append(uint64_t(tensor.getInt(i)));
    else if (dtype == "I32")
      append(uint32_t(tensor.getInt(i)));
    else if (dtype == "I8" || dtype == "U8" || dtype == "BOOL")
      append(uint8_t(tensor.getInt(i)));
    else
      return "";
  }
  return bytes;
}

/// The tensors of the checkpoint that a parameter is read from, one behind the
/// other, with their type and the shape of all of them together.
struct Stored {
  std::string bytes, dtype;
  SmallVector<int64_t> shape;
};

static Stored storeElements(const Tensor &tensor, StorageAttr storage) {
  ArrayRef<int64_t> shape = tensor.getShape();
  StringRef fileType = storage ? storage.getFileType().getValue() : "F32";
  bool isPlain = fileType == "F32" || fileType == "BF16" || fileType == "F16";
  Stored stored{"", isPlain ? "F32" : fileType.str(),
                storage ? storage.getFileShape(shape)
                        : SmallVector<int64_t>(shape)};
  if (!storage) {
    stored.bytes = toBytes(tensor, "F32");
    return stored;
  }
  int64_t width = storage.getBits() * storage.getElementsPerWord() / 8;
  if (!width)
    width = isPlain || fileType == "I32" ? 4 : 1;
  int64_t words = 1;
  for (int64_t size : stored.shape)
    words *= size;
  stored.bytes.assign(size_t(words * width), '\0');
  ElementType type = tensor.getElementType();
  SmallVector<int64_t> index(shape.size());
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    int64_t rest = i;
    for (int64_t d = int64_t(shape.size()) - 1; d >= 0; rest /= shape[d], --d)
      index[d] = rest % shape[d];
    auto [word, part] = storage.locate(shape, index);
    uint64_t bits = isPlain ? std::bit_cast<uint32_t>(float(tensor.getFloat(i)))
                    : type.isFloat()
                        ? toNarrowBits(type, tensor.getFloat(i))
                        : uint64_t(tensor.getInt(i) + storage.getOffset());
    if (storage.getBits())
      bits = (bits & ((uint64_t(1) << storage.getBits()) - 1))
             << (part * storage.getBits());
    for (int64_t b = 0; b < width; ++b)
      stored.bytes[size_t(word * width + b)] |= char(bits >> (8 * b));
    if (!storage.getBits())
      for (int64_t b = 0; b < width; ++b)
        stored.bytes[size_t(word * width + b)] = char(bits >> (8 * b));
  }
  return stored;
}

/// Write the checkpoint that the program reads, from the provider, as f32 where
/// it is not quantised.
static LogicalResult
writeCheckpoint(ModuleOp module, ParameterProvider &provider, StringRef path) {
  llvm::json::Object header;
  std::string data;
  auto add = [&](Operation *op) -> LogicalResult {
    SmallVector<NameRange, 2> all = getAllNames(op);
    RankedTensorType type = getCheckpointType(op);
    const NameRange &names = all.front();
    for (int64_t i = names.first; i < names.first + names.count; ++i) {
      ParameterRequest request;
      request.name = instantiate(names.pattern, i);
      ArrayRef<int64_t> shape = type.getShape();
      SmallVector<std::string> tensors = getTensorNames(request.name, shape);
      if (header.get(tensors.front()))
        continue;
      request.shape.assign(shape.begin(), shape.end());
      request.type = *getElementType(type);
      if (auto parameter = dyn_cast<ParameterOp>(op)) {
        request.storage = parameter.getStorageAttr();
        request.end = getIntegerEnd(parameter);
      }
      FailureOr<Tensor> tensor =
          provider.get(request, [&] { return op->emitError(); });
      if (failed(tensor))
        return failure();
      Stored stored = storeElements(*tensor, request.storage);
      int64_t begin = data.size(), each = stored.bytes.size() / tensors.size();
      for (const std::string &name : tensors) {
        header[name] = llvm::json::Object{
            {"dtype", stored.dtype},
            {"shape",
             llvm::json::Array(getTensorShape(request.name, stored.shape))},
            {"data_offsets", llvm::json::Array{begin, begin + each}}};
        begin += each;
      }
      data += stored.bytes;
    }
    return success();
  };
  SmallVector<Operation *> readers;
  module->walk([&](Operation *op) {
    if (!getAllNames(op).empty())
      readers.push_back(op);
  });
  // If one name has two types, the wider comes first.
  llvm::stable_sort(readers, [](Operation *a, Operation *b) {
    return getCheckpointType(a).getElementTypeBitWidth() >
           getCheckpointType(b).getElementTypeBitWidth();
  });
  for (Operation *op : readers)
    if (failed(add(op)))
      return failure();
  std::string text = llvm::formatv("{0}", llvm::json::Value(std::move(header)));
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string problem;
  std::unique_ptr<OutputFile> file = OutputFile::open(path, problem);
  if (!file)
    return module.emitError() << problem;
  char length[8];
  llvm::support::endian::write64le(length, text.size());
  file->os() << StringRef(length, 8) << text << data;
  problem = file->commit();
  if (!problem.empty())
    return module.emitError() << problem;
  return success();
}

/// Memory for what is described, floats as f32.
static std::unique_ptr<char[]> bindMemory(tprt_tensor &tensor) {
  if (StringRef(tensor.dtype) == "BF16" || StringRef(tensor.dtype) == "F16") {
    tensor.dtype = "F32";
    tensor.bytes *= 2;
  }
  auto memory = std::make_unique<char[]>(tensor.bytes);
  tensor.data = memory.get();
  return memory;
}

static FailureOr<Tensor> fromOutput(ModuleOp module,
                                    const tprt_tensor &output) {
  ArrayRef<int64_t> shape(output.shape, output.rank);
  StringRef dtype(output.dtype);
  ElementType type;
  if (dtype == "F32")
    type = {ElementType::F32, 32};
  else if (dtype == "I64")
    type = {ElementType::Int, 64};
  else if (dtype == "I32")
    type = {ElementType::Int, 32};
  else if (dtype == "I8" || dtype == "U8" || dtype == "BOOL")
    type = {ElementType::Int, 8};
  else
    return module.emitError()
           << "expected an output of F32, I64, I32, I8, U8 or BOOL, got "
           << dtype;
  Tensor tensor(shape, type);
  const char *data = static_cast<const char *>(output.data);
  namespace le = llvm::support::endian;
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    if (dtype == "F32")
      tensor.setFloat(i, std::bit_cast<float>(le::read32le(data + 4 * i)));
    else if (dtype == "I64")
      tensor.setInt(i, int64_t(le::read64le(data + 8 * i)));
    else if (type.width == 8)
      tensor.setInt(i, int8_t(data[i]));
    else
      tensor.setInt(i, int32_t(le::read32le(data + 4 * i)));
  }
  return tensor;
}

/// States as inputs and results like others: one step can be given any. What
/// they begin with is in the checkpoint all the same.
static void makeStatesValues(ModuleOp module) {
  module->removeAttr(TPDialect::getTrainingAttrName());
  Builder builder(module.getContext());
  StringAttr name = builder.getStringAttr(TPDialect::getStateAttrName());
  for (auto function : module.getOps<func::FuncOp>()) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      function.removeArgAttr(i, name);
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      function.removeResultAttr(i, name);
  }
  SmallVector<NameRange> unread;
  SmallVector<Attribute> ignored;
  if (auto old = module->getAttrOfType<ArrayAttr>(ignoredTensorsAttrName))
    llvm::append_range(ignored, old);
  for (auto state : module.getOps<StateOp>())
    llvm::append_range(unread, getAllNames(state));
  for (const std::string &pattern : getUnusedNames(unread, {}))
    ignored.push_back(builder.getStringAttr(pattern));
  if (!ignored.empty())
    module->setAttr(ignoredTensorsAttrName, builder.getArrayAttr(ignored));
  for (auto state : llvm::to_vector(module.getOps<StateOp>()))
    state.erase();
}

/// Writes the artifact of a per-rank program for this machine.
static LogicalResult compileTo(ModuleOp perRank, bool keepsStates,
                               StringRef artifact) {
  MLIRContext *context = perRank.getContext();
  FailureOr<TargetHandle> target = parseTarget(
      "cpu", [&](const Twine &text) { perRank.emitError() << text; });
  if (failed(target))
    return failure();
  DialectRegistry registry;
  registerTargetDialects(registry);
  context->appendDialectRegistry(registry);
  OwningOpRef<ModuleOp> module = perRank.clone();
  if (!keepsStates)
    makeStatesValues(*module);
  // Without ids, by which operations differ that users' programs have alike.
  module->walk([](Operation *op) { op->removeAttr(valueIdAttrName); });
  StageOptions stageOptions;
  stageOptions.target = *target;
  for (Stage stage : {Stage::Schedule, Stage::Lower}) {
    PassManager passes(context);
    passes.enableVerifier(stage != Stage::Lower);
    buildStage(passes, stage, stageOptions);
    if (failed(passes.run(*module)))
      return failure();
  }
  FailureOr<Program> program = compileProgram(*module, **target);
  if (failed(program))
    return failure();
  if (std::string problem = writeProgram(*program, artifact); !problem.empty())
    return perRank.emitError() << problem;
  return success();
}

namespace {
class OpenProgram : public NativeProgram {
public:
  explicit OpenProgram(ModuleOp perRank) : perRank(perRank) {}
  ~OpenProgram() override {
    if (session)
      runtime.close(session);
  }

  LogicalResult open(bool keepsStates, const VerifyOptions &options);
  FailureOr<SmallVector<Tensor>>
  run(StringRef function, ArrayRef<Tensor> inputs, std::string &fault) override;
  FailureOr<Tensor> getState(int64_t index) override;

private:
  InFlightDiagnostic complain() {
    return perRank.emitError() << "the runtime: " << runtime.error(session);
  }

  ModuleOp perRank;
  Runtime runtime;
  TemporaryFile artifact{"tpa"}, checkpoint{"safetensors"};
  tprt_session *session = nullptr;
};
} // namespace

LogicalResult OpenProgram::open(bool keepsStates,
                                const VerifyOptions &options) {
  if (std::string problem = Runtime::load(runtime); !problem.empty())
    return perRank.emitError() << problem;
  for (const TemporaryFile *file : {&artifact, &checkpoint})
    if (!file->error.empty())
      return perRank.emitError() << file->error;
  if (failed(compileTo(perRank, keepsStates, artifact.path)))
    return failure();
  std::string weights = options.weights;
  if (weights.empty()) {
    weights = checkpoint.path.str().str();
    RandomParameters random(options.seed);
    ParameterProvider *provider =
        options.parameters ? options.parameters : &random;
    if (failed(writeCheckpoint(perRank, *provider, checkpoint.path)))
      return failure();
  }
  if (runtime.open(artifact.path.c_str(), nullptr, &session) ||
      runtime.loadWeights(session, weights.c_str()))
    return complain();
  return success();
}

FailureOr<SmallVector<Tensor>> OpenProgram::run(StringRef function,
                                                ArrayRef<Tensor> inputs,
                                                std::string &fault) {
  int64_t entry = runtime.entry(session, function.str().c_str());
  if (entry < 0)
    return complain();
  std::vector<tprt_tensor> ins(inputs.size());
  std::vector<std::string> bytes(inputs.size());
  for (auto [index, input] : llvm::enumerate(inputs)) {
    tprt_tensor &in = ins[index];
    in.size = sizeof(in);
    if (runtime.describeInput(session, entry, index, &in, nullptr))
      return complain();
    bytes[index] = toBytes(input, in.dtype);
    in.data = bytes[index].data();
    in.bytes = bytes[index].size();
    in.rank = input.getShape().size();
    in.shape = input.getShape().data();
  }
  std::vector<tprt_tensor> outs(runtime.outputCount(session, entry));
  std::vector<std::unique_ptr<char[]>> memory(outs.size());
  for (auto [index, out] : llvm::enumerate(outs)) {
    out.size = sizeof(out);
    if (runtime.describeOutput(session, entry, index, &out))
      return complain();
    memory[index] = bindMemory(out);
  }
  if (runtime.run(session, entry, ins.data(), ins.size(), outs.data(),
                  outs.size())) {
    fault = runtime.error(session);
    return failure();
  }
  SmallVector<Tensor> results;
  for (const tprt_tensor &out : outs) {
    FailureOr<Tensor> tensor = fromOutput(perRank, out);
    if (failed(tensor))
      return failure();
    results.push_back(*tensor);
  }
  return results;
}

FailureOr<Tensor> OpenProgram::getState(int64_t index) {
  tprt_tensor state{};
  state.size = sizeof(state);
  if (runtime.describeState(session, index, &state))
    return complain();
  std::unique_ptr<char[]> memory = bindMemory(state);
  if (runtime.readStates(session, &state, 1))
    return complain();
  return fromOutput(perRank, state);
}

FailureOr<std::unique_ptr<NativeProgram>>
NativeProgram::open(ModuleOp perRank, bool keepsStates,
                    const VerifyOptions &options) {
  auto program = std::make_unique<OpenProgram>(perRank);
  if (failed(program->open(keepsStates, options)))
    return failure();
  return std::unique_ptr<NativeProgram>(std::move(program));
}

FailureOr<SmallVector<Tensor>>
executeProgram(ModuleOp perRank, StringRef function, ArrayRef<Tensor> inputs,
               const VerifyOptions &options, std::string &fault) {
  auto program = NativeProgram::open(perRank, /*keepsStates=*/false, options);
  if (failed(program))
    return failure();
  return (*program)->run(function, inputs, fault);
}

} // namespace tp
