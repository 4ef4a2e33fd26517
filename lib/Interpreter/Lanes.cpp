//===- Lanes.cpp - Execute bytecode on the lanes of a register file -------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One switch over the opcodes; what each does is a loop over the lanes that the
// compiler vectorises, followed by rounding to the result's type.
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/FormatVariadic.h"
#include <bit>
#include <cmath>
#include <functional>

using namespace mlir;

namespace tp::interp {

static void roundLanes(double *values, int64_t n, ElementType type) {
  if (type.kind == ElementType::F32) {
    for (int64_t i = 0; i < n; ++i)
      values[i] = double(float(values[i]));
  } else if (type.kind != ElementType::F64) {
    for (int64_t i = 0; i < n; ++i)
      values[i] = roundTo(type, values[i]);
  }
}

/// True if any correct program gets the exact result where that is
/// representable; functions are approximated.
static bool isCorrectlyRounded(Opcode opcode) {
  switch (opcode) {
  case Opcode::AddF:
  case Opcode::SubF:
  case Opcode::MulF:
  case Opcode::DivF:
  case Opcode::Sqrt:
  case Opcode::Fma:
  case Opcode::TruncF:
    return true;
  default:
    return false;
  }
}

/// True if nothing is rounded.
static bool isExact(Opcode opcode) {
  switch (opcode) {
  case Opcode::NegF:
  case Opcode::AbsF:
  case Opcode::Floor:
  case Opcode::Ceil:
  case Opcode::Round:
  case Opcode::RoundEven:
  case Opcode::Trunc:
  case Opcode::ExtF:
  case Opcode::RemF:
  case Opcode::MaximumF:
  case Opcode::MinimumF:
  case Opcode::MaxNumF:
  case Opcode::MinNumF:
  case Opcode::CopySign:
    return true;
  default:
    return false;
  }
}

/// Round results to `type`, in a disturbed run after changing them.
static void finishLanes(Opcode opcode, double *values, int64_t n,
                        ElementType type, Disturber *disturber) {
  if (disturber && !isExact(opcode))
    disturber->disturb(type, {values, size_t(n)}, isCorrectlyRounded(opcode));
  roundLanes(values, n, type);
}

static void wrapLanes(int64_t *values, int64_t n, ElementType type) {
  if (type.width == 64)
    return;
  if (type.width == 1) {
    for (int64_t i = 0; i < n; ++i)
      values[i] &= 1;
    return;
  }
  int shift = 64 - type.width;
  for (int64_t i = 0; i < n; ++i)
    values[i] = int64_t(uint64_t(values[i]) << shift) >> shift;
}

/// The bits that a number has.
static uint64_t getMask(ElementType type) {
  return ~uint64_t(0) >> (64 - type.width);
}
static uint64_t zeroExtend(ElementType type, int64_t value) {
  return uint64_t(value) & getMask(type);
}

/// An i1 is stored as 0 or 1; as a signed number its 1 is -1.
static int64_t signExtend(ElementType type, int64_t value) {
  return type.width == 1 ? -value : value;
}

/// The float with these bits, and the bits of a float.
static double fromBits(ElementType type, int64_t bits) {
  switch (type.kind) {
  case ElementType::F64:
    return std::bit_cast<double>(bits);
  case ElementType::F32:
    return std::bit_cast<float>(uint32_t(bits));
  case ElementType::BF16:
    return std::bit_cast<float>(uint32_t(bits) << 16);
  default:
    return llvm::APFloat(llvm::APFloat::IEEEhalf(),
                         llvm::APInt(16, uint64_t(bits) & 0xFFFF))
        .convertToDouble();
  }
}
static int64_t toBits(ElementType type, double value) {
  switch (type.kind) {
  case ElementType::F64:
    return std::bit_cast<int64_t>(value);
  case ElementType::F32:
    return int32_t(std::bit_cast<uint32_t>(float(value)));
  case ElementType::BF16:
    return int16_t(std::bit_cast<uint32_t>(float(value)) >> 16);
  default: {
    llvm::APFloat half(value);
    bool losesInfo;
    half.convert(llvm::APFloat::IEEEhalf(), llvm::APFloat::rmNearestTiesToEven,
                 &losesInfo);
    return half.bitcastToAPInt().getSExtValue();
  }
  }
}

namespace {
/// An instruction on the first n lanes of a register file.
class LaneRun {
public:
  LaneRun(const Instruction &instruction, Lanes &lanes, int64_t n,
          const LaneContext &context, std::string &error)
      : instruction(instruction), lanes(lanes), n(n), context(context),
        error(error), type(instruction.type), from(instruction.from) {}

  bool run();

private:
  const double *floats(uint16_t reg) { return lanes.floatRegister(reg); }
  const int64_t *ints(uint16_t reg) { return lanes.intRegister(reg); }
  double *floatResult() { return lanes.floatRegister(instruction.target); }
  int64_t *intResult() { return lanes.intRegister(instruction.target); }

  // The forms of Opcodes.def.
  template <typename F>
  bool mapFloat(F value);
  template <typename F>
  bool mapFloats(F value);
  template <typename F>
  bool mapInts(F value);
  template <typename F>
  bool mapUnsigned(F value);
  // The case that fits none of them.
  template <typename F>
  bool makeFloat(F value, bool rounds);
  template <typename F>
  bool makeInt(F value, bool wraps);
  bool fma();
  bool power();
  bool convertToFloat(bool isSigned);
  bool convertToInt(bool isSigned);
  bool multiplyHigh(bool isSigned);
  bool castToFloat();
  bool castToInt();
  template <typename F>
  bool compareFloatsBy(F holds);
  template <typename F>
  bool compareIntsBy(F holds, bool isSigned);
  bool compareFloats();
  bool compareInts();
  bool loopIndex();
  bool extract();

  int64_t divide(int64_t x, int64_t y) {
    dividesByZero |= y == 0;
    return y == 0 ? 0 : y == -1 ? int64_t(-uint64_t(x)) : x / y;
  }
  int64_t remainder(int64_t x, int64_t y) {
    dividesByZero |= y == 0;
    return y == 0 || y == -1 ? 0 : x % y;
  }
  int64_t floorDivide(int64_t x, int64_t y) {
    int64_t quotient = divide(x, y);
    return y != 0 && quotient * y != x && ((x < 0) != (y < 0)) ? quotient - 1
                                                               : quotient;
  }
  uint64_t divideUnsigned(uint64_t x, uint64_t y) {
    dividesByZero |= y == 0;
    return y == 0 ? 0 : x / y;
  }
  uint64_t remainderUnsigned(uint64_t x, uint64_t y) {
    dividesByZero |= y == 0;
    return y == 0 ? 0 : x % y;
  }

  const Instruction &instruction;
  Lanes &lanes;
  int64_t n;
  const LaneContext &context;
  std::string &error;
  ElementType type, from;
  bool dividesByZero = false;
};
} // namespace

template <typename F>
bool LaneRun::mapFloat(F value) {
  const double *a = floats(instruction.a);
  double *result = floatResult();
  for (int64_t i = 0; i < n; ++i)
    result[i] = value(a[i]);
  finishLanes(instruction.opcode, result, n, type, context.disturber);
  return true;
}

template <typename F>
bool LaneRun::mapFloats(F value) {
  const double *a = floats(instruction.a), *b = floats(instruction.b);
  double *result = floatResult();
  for (int64_t i = 0; i < n; ++i)
    result[i] = value(a[i], b[i]);
  Opcode opcode = instruction.opcode;
  Disturber *disturber = context.disturber;
  if (disturber && (opcode == Opcode::AddF || opcode == Opcode::SubF)) {
    disturber->disturbAdditions(type, {result, size_t(n)}, a, b);
    disturber = nullptr;
  }
  finishLanes(opcode, result, n, type, disturber);
  return true;
}

template <typename F>
bool LaneRun::mapInts(F value) {
  const int64_t *a = ints(instruction.a), *b = ints(instruction.b);
  int64_t *result = intResult();
  if (type.width == 1)
    for (int64_t i = 0; i < n; ++i)
      result[i] = value(signExtend(type, a[i]), signExtend(type, b[i]));
  else
    for (int64_t i = 0; i < n; ++i)
      result[i] = value(a[i], b[i]);
  wrapLanes(result, n, type);
  return !dividesByZero;
}

template <typename F>
bool LaneRun::mapUnsigned(F value) {
  const int64_t *a = ints(instruction.a), *b = ints(instruction.b);
  int64_t *result = intResult();
  uint64_t mask = getMask(type);
  for (int64_t i = 0; i < n; ++i)
    result[i] = int64_t(value(uint64_t(a[i]) & mask, uint64_t(b[i]) & mask));
  wrapLanes(result, n, type);
  return !dividesByZero;
}

/// The value of lane i, as it is or rounded to the type.
template <typename F>
bool LaneRun::makeFloat(F value, bool rounds) {
  double *result = floatResult();
  for (int64_t i = 0; i < n; ++i)
    result[i] = value(i);
  if (rounds)
    roundLanes(result, n, type);
  return true;
}

template <typename F>
bool LaneRun::makeInt(F value, bool wraps) {
  int64_t *result = intResult();
  for (int64_t i = 0; i < n; ++i)
    result[i] = value(i);
  if (wraps)
    wrapLanes(result, n, type);
  return true;
}

bool LaneRun::fma() {
  const double *a = floats(instruction.a), *b = floats(instruction.b);
  const double *c = floats(instruction.c);
  double *result = floatResult();
  for (int64_t i = 0; i < n; ++i)
    result[i] = std::fma(a[i], b[i], c[i]);
  finishLanes(instruction.opcode, result, n, type, context.disturber);
  return true;
}

bool LaneRun::power() {
  const double *a = floats(instruction.a);
  const int64_t *b = ints(instruction.b);
  double *result = floatResult();
  for (int64_t i = 0; i < n; ++i)
    result[i] = std::pow(a[i], double(b[i]));
  finishLanes(instruction.opcode, result, n, type, context.disturber);
  return true;
}

bool LaneRun::convertToFloat(bool isSigned) {
  const int64_t *a = ints(instruction.a);
  return makeFloat(
      [=, this](int64_t i) {
        return isSigned ? double(signExtend(from, a[i]))
                        : double(zeroExtend(from, a[i]));
      },
      /*rounds=*/true);
}

bool LaneRun::convertToInt(bool isSigned) {
  const double *a = floats(instruction.a);
  int64_t *result = intResult();
  double limit = std::ldexp(1.0, isSigned ? type.width - 1 : type.width);
  for (int64_t i = 0; i < n; ++i) {
    double value = std::trunc(a[i]);
    if (!(value < limit && value >= (isSigned ? -limit : 0.0))) {
      error = llvm::formatv("expected a number that fits {0} bits, got {1}",
                            type.width, a[i]);
      return false;
    }
    result[i] = isSigned ? int64_t(value) : int64_t(uint64_t(value));
  }
  wrapLanes(result, n, type);
  return true;
}

bool LaneRun::multiplyHigh(bool isSigned) {
  const int64_t *a = ints(instruction.a), *b = ints(instruction.b);
  return makeInt(
      [=, this](int64_t i) {
        unsigned __int128 product =
            isSigned ? (unsigned __int128)((__int128)signExtend(type, a[i]) *
                                           signExtend(type, b[i]))
                     : (unsigned __int128)zeroExtend(type, a[i]) *
                           zeroExtend(type, b[i]);
        return int64_t(uint64_t(product >> type.width));
      },
      /*wraps=*/true);
}

bool LaneRun::castToFloat() {
  if (from.isFloat()) {
    const double *a = floats(instruction.a);
    return makeFloat(
        [=, this](int64_t i) { return fromBits(type, toBits(from, a[i])); },
        /*rounds=*/false);
  }
  const int64_t *a = ints(instruction.a);
  return makeFloat([=, this](int64_t i) { return fromBits(type, a[i]); },
                   /*rounds=*/false);
}

bool LaneRun::castToInt() {
  if (from.isFloat()) {
    const double *a = floats(instruction.a);
    return makeInt([=, this](int64_t i) { return toBits(from, a[i]); },
                   /*wraps=*/true);
  }
  const int64_t *a = ints(instruction.a);
  return makeInt([=](int64_t i) { return a[i]; }, /*wraps=*/true);
}

template <typename F>
bool LaneRun::compareFloatsBy(F holds) {
  const double *a = floats(instruction.a), *b = floats(instruction.b);
  return makeInt(
      [=](int64_t i) {
        return int64_t(holds(a[i], b[i], std::isunordered(a[i], b[i])));
      },
      /*wraps=*/false);
}

bool LaneRun::compareFloats() {
  switch (arith::CmpFPredicate(instruction.immediate)) {
#define PREDICATE(NAME, VALUE)                                                 \
  case arith::CmpFPredicate::NAME:                                             \
    return compareFloatsBy([](double x, double y, bool unordered) {            \
      (void)x, (void)y, (void)unordered;                                       \
      return VALUE;                                                            \
    });
    PREDICATE(AlwaysFalse, false)
    PREDICATE(OEQ, x == y)
    PREDICATE(OGT, x > y)
    PREDICATE(OGE, x >= y)
    PREDICATE(OLT, x < y)
    PREDICATE(OLE, x <= y)
    PREDICATE(ONE, !unordered && x != y)
    PREDICATE(ORD, !unordered)
    PREDICATE(UEQ, unordered || x == y)
    PREDICATE(UGT, unordered || x > y)
    PREDICATE(UGE, unordered || x >= y)
    PREDICATE(ULT, unordered || x < y)
    PREDICATE(ULE, unordered || x <= y)
    PREDICATE(UNE, unordered || x != y)
    PREDICATE(UNO, unordered)
    PREDICATE(AlwaysTrue, true)
#undef PREDICATE
  }
  llvm_unreachable("a predicate");
}

template <typename F>
bool LaneRun::compareIntsBy(F holds, bool isSigned) {
  const int64_t *a = ints(instruction.a), *b = ints(instruction.b);
  uint64_t mask = getMask(from);
  if (!isSigned)
    return makeInt(
        [=](int64_t i) {
          return int64_t(holds(uint64_t(a[i]) & mask, uint64_t(b[i]) & mask));
        },
        /*wraps=*/false);
  int64_t sign = from.width == 1 ? -1 : 1;
  return makeInt(
      [=](int64_t i) { return int64_t(holds(sign * a[i], sign * b[i])); },
      /*wraps=*/false);
}

bool LaneRun::compareInts() {
  switch (arith::CmpIPredicate(instruction.immediate)) {
  case arith::CmpIPredicate::eq:
    return compareIntsBy(std::equal_to<>(), false);
  case arith::CmpIPredicate::ne:
    return compareIntsBy(std::not_equal_to<>(), false);
  case arith::CmpIPredicate::slt:
    return compareIntsBy(std::less<>(), true);
  case arith::CmpIPredicate::sle:
    return compareIntsBy(std::less_equal<>(), true);
  case arith::CmpIPredicate::sgt:
    return compareIntsBy(std::greater<>(), true);
  case arith::CmpIPredicate::sge:
    return compareIntsBy(std::greater_equal<>(), true);
  case arith::CmpIPredicate::ult:
    return compareIntsBy(std::less<>(), false);
  case arith::CmpIPredicate::ule:
    return compareIntsBy(std::less_equal<>(), false);
  case arith::CmpIPredicate::ugt:
    return compareIntsBy(std::greater<>(), false);
  case arith::CmpIPredicate::uge:
    return compareIntsBy(std::greater_equal<>(), false);
  }
  llvm_unreachable("a predicate");
}

bool LaneRun::loopIndex() {
  int64_t dim = instruction.immediate;
  int64_t start = context.position[dim];
  int64_t step = dim == context.laneDim ? 1 : 0;
  return makeInt([=](int64_t i) { return start + i * step; },
                 /*wraps=*/false);
}

bool LaneRun::extract() {
  const Tensor &tensor = context.captured[instruction.a];
  int64_t addresses[kLanes] = {};
  int64_t stride = 1;
  for (int64_t dim = tensor.getRank() - 1; dim >= 0; --dim) {
    int64_t size = tensor.getShape()[dim];
    const int64_t *index = ints(context.indices[instruction.immediate + dim]);
    for (int64_t i = 0; i < n; ++i) {
      if (uint64_t(index[i]) >= uint64_t(size)) {
        error = llvm::formatv("index out of range: expected 0 <= index < {0} "
                              "in dimension {1}, got {2}",
                              size, dim, index[i]);
        return false;
      }
      addresses[i] += index[i] * stride;
    }
    stride *= size;
  }
  if (instruction.opcode == Opcode::ExtractF)
    return makeFloat([&](int64_t i) { return tensor.getFloat(addresses[i]); },
                     /*rounds=*/false);
  return makeInt([&](int64_t i) { return tensor.getInt(addresses[i]); },
                 /*wraps=*/false);
}

bool LaneRun::run() {
  auto f = [&](uint16_t reg) { return floats(reg); };
  auto s = [&](uint16_t reg) { return ints(reg); };
  const auto &[a, b, c] = std::tie(instruction.a, instruction.b, instruction.c);
  switch (instruction.opcode) {
#define FLOAT1(NAME, OP, VALUE)                                                \
  case Opcode::NAME:                                                           \
    return mapFloat([](double x) -> double { return VALUE; });
#define FLOAT2(NAME, OP, VALUE)                                                \
  case Opcode::NAME:                                                           \
    return mapFloats([](double x, double y) -> double { return VALUE; });
#define INT2(NAME, OP, VALUE)                                                  \
  case Opcode::NAME:                                                           \
    return mapInts([&](int64_t x, int64_t y) -> int64_t { return VALUE; });
#define UNSIGNED2(NAME, OP, VALUE)                                             \
  case Opcode::NAME:                                                           \
    return mapUnsigned(                                                        \
        [&](uint64_t x, uint64_t y) -> uint64_t { return VALUE; });
#include "Opcodes.def"
  case Opcode::Fma:
    return fma();
  case Opcode::FPowI:
    return power();
  case Opcode::CmpF:
    return compareFloats();
  case Opcode::CmpI:
    return compareInts();
  case Opcode::SelectF:
    return makeFloat([condition = s(a), x = f(b), y = f(c)](
                         int64_t i) { return condition[i] ? x[i] : y[i]; },
                     /*rounds=*/false);
  case Opcode::SelectI:
    return makeInt([condition = s(a), x = s(b),
                    y = s(c)](int64_t i) { return condition[i] ? x[i] : y[i]; },
                   /*wraps=*/false);
  case Opcode::SIToFP:
  case Opcode::UIToFP:
    return convertToFloat(instruction.opcode == Opcode::SIToFP);
  case Opcode::FPToSI:
  case Opcode::FPToUI:
    return convertToInt(instruction.opcode == Opcode::FPToSI);
  case Opcode::SignExtend:
    return makeInt(
        [x = s(a), this](int64_t i) { return signExtend(from, x[i]); },
        /*wraps=*/true);
  case Opcode::ZeroExtend:
    return makeInt(
        [x = s(a), this](int64_t i) { return int64_t(zeroExtend(from, x[i])); },
        /*wraps=*/true);
  case Opcode::AbsI:
    return makeInt(
        [x = s(a)](int64_t i) {
          return x[i] < 0 ? int64_t(-uint64_t(x[i])) : x[i];
        },
        /*wraps=*/true);
  case Opcode::MulHighU:
  case Opcode::MulHighS:
    return multiplyHigh(instruction.opcode == Opcode::MulHighS);
  case Opcode::BitcastToFloat:
    return castToFloat();
  case Opcode::BitcastToInt:
    return castToInt();
  case Opcode::LoopIndex:
    return loopIndex();
  case Opcode::ExtractF:
  case Opcode::ExtractI:
    return extract();
  case Opcode::MoveF:
    return makeFloat([x = f(a)](int64_t i) { return x[i]; },
                     /*rounds=*/false);
  case Opcode::MoveI:
    return makeInt([x = s(a)](int64_t i) { return x[i]; }, /*wraps=*/false);
  case Opcode::Jump:
  case Opcode::JumpIfZero:
    break;
  }
  return true;
}

bool execute(ArrayRef<Instruction> instructions, Lanes &lanes, int64_t n,
             const LaneContext &context, std::string &error) {
  for (size_t at = 0; at < instructions.size();) {
    const Instruction &instruction = instructions[at++];
    if (instruction.opcode == Opcode::Jump ||
        (instruction.opcode == Opcode::JumpIfZero &&
         lanes.intRegister(instruction.a)[0] == 0)) {
      assert(n == 1 && "lanes that jump run one at a time");
      at = instruction.immediate;
      continue;
    }
    if (!LaneRun(instruction, lanes, n, context, error).run()) {
      if (error.empty())
        error = "division by zero";
      return false;
    }
  }
  return true;
}

} // namespace tp::interp
