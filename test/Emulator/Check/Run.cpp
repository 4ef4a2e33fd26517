//===- Run.cpp - A recorded call on emulated kernels ----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each tensor is an allocation of exactly its bytes at the alignment that its
// place in the program gives it, so that the last element is followed by memory
// that no kernel may touch.
//
//===----------------------------------------------------------------------===//

#include "Run.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>

using namespace tp::emulator;
using tp::interp::ElementType;
using tp::interp::Tensor;

namespace {
/// A registered range.
class Allocation {
public:
  /// `offset`: the address is that much past a multiple of the alignment.
  Allocation(size_t bytes, int64_t offset) : bytes(bytes) {
    constexpr size_t alignment = 256;
    size_t shift = offset % alignment;
    size_t whole = (shift + bytes + guard + alignment) / alignment * alignment;
    memory = static_cast<char *>(std::aligned_alloc(alignment, whole));
    memset(memory, 0xff, whole);
    base = memory + shift;
    if (bytes)
      tpEmulatorRegister(base, bytes);
  }
  ~Allocation() {
    if (bytes)
      tpEmulatorUnregister(base);
    std::free(memory);
  }
  Allocation(const Allocation &) = delete;
  Allocation &operator=(const Allocation &) = delete;

  char *base;
  size_t bytes;

private:
  static constexpr size_t guard = 64;
  char *memory;
};

/// Allocations and the slots of a call's arguments.
class Arguments {
public:
  Allocation &allocate(size_t bytes, int64_t offset) {
    allocations.push_back(std::make_unique<Allocation>(bytes, offset));
    return *allocations.back();
  }
  void add(uint64_t value) { slots.push_back(value); }
  void add(const void *pointer) {
    slots.push_back(reinterpret_cast<uintptr_t>(pointer));
  }
  /// Returns the addresses of all arguments, and then of `numbers`.
  std::vector<void *> get(llvm::ArrayRef<int64_t> numbers) {
    std::vector<void *> pointers;
    for (uint64_t &slot : slots)
      pointers.push_back(&slot);
    for (const int64_t &number : numbers)
      pointers.push_back(const_cast<int64_t *>(&number));
    return pointers;
  }

private:
  std::vector<std::unique_ptr<Allocation>> allocations;
  std::vector<uint64_t> slots;
};
} // namespace

static size_t getElementBytes(ElementType type) {
  switch (type.kind) {
  case ElementType::F64:
    return 8;
  case ElementType::F32:
    return 4;
  case ElementType::F16:
  case ElementType::BF16:
    return 2;
  case ElementType::Int:
  case ElementType::E4M3:
  case ElementType::E5M2:
  case ElementType::E2M1:
  case ElementType::E8M0:
    return (type.width + 7) / 8;
  }
  llvm_unreachable("all kinds are listed");
}

static size_t getBytes(const Tensor &tensor) {
  return tensor.getNumElements() * getElementBytes(tensor.getElementType());
}

template <typename T>
static void store(char *to, T value) {
  memcpy(to, &value, sizeof value);
}
template <typename T>
static T load(const char *from) {
  T value;
  memcpy(&value, from, sizeof value);
  return value;
}

static void writeElement(char *to, const Tensor &tensor, int64_t i) {
  ElementType type = tensor.getElementType();
  switch (type.kind) {
  case ElementType::F64:
    return store(to, tensor.getFloat(i));
  case ElementType::F32:
    return store(to, float(tensor.getFloat(i)));
  case ElementType::F16:
    return store(to, _Float16(tensor.getFloat(i)));
  case ElementType::BF16: // a bf16 value is exact in f32
    return store(
        to,
        uint16_t(llvm::bit_cast<uint32_t>(float(tensor.getFloat(i))) >> 16));
  case ElementType::Int: {
    int64_t value = tensor.getInt(i); // the low bytes come first
    memcpy(to, &value, getElementBytes(type));
  }
  }
}

static double readElement(const char *from, ElementType type) {
  switch (type.kind) {
  case ElementType::F64:
    return load<double>(from);
  case ElementType::F32:
    return load<float>(from);
  case ElementType::F16:
    return load<_Float16>(from);
  case ElementType::BF16:
    return llvm::bit_cast<float>(uint32_t(load<uint16_t>(from)) << 16);
  case ElementType::Int:
    break;
  }
  if (type.width == 64)
    return load<int64_t>(from);
  if (type.width == 32)
    return load<int32_t>(from);
  if (type.width == 16)
    return load<int16_t>(from);
  return load<int8_t>(from);
}

static void write(char *to, const Tensor &tensor) {
  size_t step = getElementBytes(tensor.getElementType());
  for (int64_t i = 0; i < tensor.getNumElements(); ++i)
    writeElement(to + i * step, tensor, i);
}

/// Compares element i of the result with `got`, if it has a tolerance.
static void compare(Outcome &outcome, const std::string &what,
                    const ExpectedResult &expected, int64_t i, double got,
                    int64_t &numWrong) {
  if (expected.tolerance < 0)
    return;
  double want = expected.tensor.getNumber(i);
  if (got == want || (std::isnan(got) && std::isnan(want)))
    return;
  double difference = std::abs(got - want);
  if (difference <= expected.tolerance) {
    outcome.worst = std::max(outcome.worst, difference / expected.tolerance);
    return;
  }
  if (numWrong++ == 0) {
    std::string text;
    llvm::raw_string_ostream(text)
        << what << ", element "
        << tp::interp::formatIndex(expected.tensor.getShape(), i)
        << llvm::format(": expected %.9g, got %.9g (tolerance %.3g)", want, got,
                        expected.tolerance);
    outcome.problems.push_back(text);
  }
}

static Outcome launchKernel(const TpEmulator *emulator,
                            const KernelLaunch &launch,
                            const std::string &kernel, Arguments &arguments,
                            uint64_t seed) {
  Outcome outcome;
  const char *code = launch.code.c_str();
  std::vector<void *> passed = arguments.get(launch.numbers);
  int32_t expected =
      tpEmulatorParameterCount(emulator, tpEmulatorFindKernel(emulator, code));
  if (expected != int32_t(passed.size())) {
    outcome.problems.push_back(
        "kernel " + kernel + " has " + std::to_string(expected) +
        " parameters, expected " + std::to_string(passed.size()));
    return outcome;
  }
  tpEmulatorLaunch(
      emulator, code, launch.grid, launch.block, launch.sharedBytes,
      passed.data(), seed,
      [](void *context, const char *text) {
        static_cast<Outcome *>(context)->problems.push_back(text);
      },
      &outcome);
  return outcome;
}

/// A library's kernel and those behind it.
static Outcome launchAll(const TpEmulator *emulator,
                         llvm::ArrayRef<KernelLaunch> launches,
                         const KernelCall &call, Arguments &arguments,
                         uint64_t seed) {
  if (call.scratchBytes > 0)
    arguments.add(arguments.allocate(call.scratchBytes, 0).base);
  Outcome outcome =
      launchKernel(emulator, launches.front(), call.kernel, arguments, seed);
  for (auto [launch, name] : llvm::zip(launches.drop_front(), call.then)) {
    Outcome next = launchKernel(emulator, launch, name, arguments, seed);
    llvm::append_range(outcome.problems, next.problems);
  }
  return outcome;
}

static void compareAll(Outcome &outcome, const KernelCall &call, size_t result,
                       const char *base) {
  const ExpectedResult &expected = call.results[result];
  size_t step = getElementBytes(expected.tensor.getElementType());
  int64_t numWrong = 0;
  for (int64_t j = 0; j < expected.tensor.getNumElements(); ++j)
    compare(outcome, call.kernel + ": result " + std::to_string(result),
            expected, j,
            readElement(base + j * step, expected.tensor.getElementType()),
            numWrong);
}

/// Operands in memory, and what is to be there afterwards.
using Given = std::vector<std::pair<Allocation *, std::string>>;

static void checkUnchanged(Outcome &outcome, const KernelCall &call,
                           const Given &given) {
  for (auto [i, operand] : llvm::enumerate(given))
    if (memcmp(operand.first->base, operand.second.data(),
               operand.second.size()))
      outcome.problems.push_back(call.kernel + ": writes to tensor operand " +
                                 std::to_string(i));
}

Outcome tp::emulator::runRows(const TpEmulator *emulator,
                              const KernelLaunch &launch,
                              const KernelCall &call, bool inPlace,
                              uint64_t seed) {
  Arguments arguments;
  Given given;
  std::vector<Allocation *> operands, results;
  for (auto [i, operand] : llvm::enumerate(call.operands)) {
    operands.push_back(nullptr);
    if (call.isScalar[i]) {
      arguments.add(uint64_t(operand.getInt(0)));
      continue;
    }
    Allocation &place =
        arguments.allocate(getBytes(operand), call.operandOffsets[i]);
    write(place.base, operand);
    operands.back() = &place;
    if (!inPlace || !llvm::is_contained(call.replaced, int64_t(i)))
      given.push_back({&place, std::string(place.base, place.bytes)});
    arguments.add(place.base);
  }
  for (auto [i, result] : llvm::enumerate(call.results)) {
    bool replaces = inPlace && call.replaced[i] >= 0;
    results.push_back(replaces ? operands[call.replaced[i]]
                               : &arguments.allocate(getBytes(result.tensor),
                                                     call.resultOffsets[i]));
    arguments.add(results.back()->base);
  }
  if (call.scratchBytes > 0)
    arguments.add(arguments.allocate(call.scratchBytes, 0).base);
  Outcome outcome =
      launchKernel(emulator, launch, call.kernel, arguments, seed);
  for (size_t i = 0; i < results.size(); ++i)
    compareAll(outcome, call, i, results[i]->base);
  checkUnchanged(outcome, call, given);
  return outcome;
}

/// Rows (b, s) of `tensor` [b, s, h, d] at `stride` elements from each other.
static Allocation &placeRows(Arguments &arguments, const Tensor &tensor,
                             int64_t stride, int64_t offset, bool filled) {
  auto shape = tensor.getShape();
  int64_t rows = shape[0] * shape[1], width = shape[2] * shape[3];
  size_t step = getElementBytes(tensor.getElementType());
  // Exactly up to the end of the last row.
  size_t bytes = rows ? ((rows - 1) * stride + width) * step : 0;
  Allocation &place = arguments.allocate(bytes, offset);
  for (int64_t row = 0; filled && row < rows; ++row)
    for (int64_t i = 0; i < width; ++i)
      writeElement(place.base + (row * stride + i) * step, tensor,
                   row * width + i);
  return place;
}

Outcome tp::emulator::runAttention(const TpEmulator *emulator,
                                   llvm::ArrayRef<KernelLaunch> launches,
                                   const KernelCall &call,
                                   const AttentionVariant &variant,
                                   llvm::ArrayRef<ExpectedResult> results,
                                   uint64_t seed) {
  Arguments arguments;
  const Tensor &query = call.operands[0];
  const ExpectedResult &expected = results[0];
  auto strideOf = [&](const Tensor &tensor) {
    return tensor.getShape()[2] * tensor.getShape()[3] + variant.extraStride;
  };
  for (int i = 0; i < 3; ++i) {
    const Tensor &operand = call.operands[i];
    Allocation &place = placeRows(arguments, operand, strideOf(operand),
                                  call.operandOffsets[i], /*filled=*/true);
    arguments.add(place.base);
    arguments.add(uint64_t(strideOf(operand)));
  }
  auto op = llvm::cast<tp::nn::AttentionOp>(call.library.getOperation());
  size_t next = 3;
  for (mlir::Value optional : {op.getMask(), op.getBias(), op.getSinks()}) {
    if (!optional) {
      arguments.add(nullptr);
      continue;
    }
    Allocation &place = arguments.allocate(getBytes(call.operands[next]),
                                           call.operandOffsets[next]);
    write(place.base, call.operands[next++]);
    arguments.add(place.base);
  }
  arguments.add(uint64_t(variant.keyLength));
  arguments.add(uint64_t(variant.keyLength - query.getShape()[1]));
  int64_t stride = strideOf(expected.tensor);
  Allocation &out =
      placeRows(arguments, expected.tensor, stride, call.resultOffsets[0],
                /*filled=*/false);
  arguments.add(out.base);
  arguments.add(uint64_t(stride));
  int64_t batch = query.getShape()[0], length = query.getShape()[1];
  int64_t heads = query.getShape()[2], size = expected.tensor.getShape()[3];
  Allocation *lse = nullptr;
  if (variant.wantsLse)
    lse = &arguments.allocate(batch * heads * length * sizeof(float), 0);
  arguments.add(lse ? lse->base : nullptr);

  std::string what = call.kernel + " (" + variant.name + ")";
  Outcome outcome = launchAll(emulator, launches, call, arguments, seed);
  ElementType type = expected.tensor.getElementType();
  int64_t numWrong = 0, width = heads * size;
  for (int64_t i = 0; i < expected.tensor.getNumElements(); ++i)
    compare(outcome, what + ": result", expected, i,
            readElement(out.base + (i / width * stride + i % width) *
                                       getElementBytes(type),
                        type),
            numWrong);
  // A row that sees no key has none.
  numWrong = 0;
  for (int64_t i = 0; lse && i < results[1].tensor.getNumElements(); ++i) {
    double got =
        readElement(lse->base + i * sizeof(float), {ElementType::F32, 32});
    if (std::isfinite(results[1].tensor.getFloat(i)))
      compare(outcome, what + ": lse", results[1], i, got, numWrong);
  }
  return outcome;
}

Outcome tp::emulator::runLibrary(const TpEmulator *emulator,
                                 llvm::ArrayRef<KernelLaunch> launches,
                                 const KernelCall &call, bool inPlace,
                                 uint64_t seed) {
  LibraryOpInterface op = call.library;
  Arguments arguments;
  llvm::DenseMap<mlir::Value, char *> places;
  Given given;
  llvm::DenseMap<mlir::Value, mlir::Value> replaced;
  for (mlir::OpResult result : op->getResults())
    if (mlir::OpOperand *operand =
            op.getReplacedOperand(result.getResultNumber());
        operand && inPlace)
      replaced[operand->get()] = result;
  for (auto [value, operand, offset] :
       llvm::zip(call.operandValues, call.operands, call.operandOffsets)) {
    Allocation &place = arguments.allocate(getBytes(operand), offset);
    write(place.base, operand);
    places[value] = place.base;
    if (mlir::Value result = replaced.lookup(value))
      places[result] = place.base;
    else
      given.push_back({&place, std::string(place.base, place.bytes)});
  }
  for (auto [value, result, offset] :
       llvm::zip(call.resultValues, call.results, call.resultOffsets))
    if (!places.count(value))
      places[value] = arguments.allocate(getBytes(result.tensor), offset).base;
  for (const LibraryArgument &argument :
       op.getLibraryCall(call.use).arguments) {
    if (auto *number = std::get_if<int64_t>(&argument))
      arguments.add(uint64_t(*number));
    else
      arguments.add(places.lookup(std::get<LibraryAddress>(argument).value));
  }
  Outcome outcome = launchAll(emulator, launches, call, arguments, seed);
  for (auto [i, value] : llvm::enumerate(call.resultValues))
    compareAll(outcome, call, i, places.lookup(value));
  checkUnchanged(outcome, call, given);
  return outcome;
}
