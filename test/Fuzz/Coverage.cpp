//===- Coverage.cpp - What random programs reached ------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A collective is counted with the operation whose value it moves.
//
//===----------------------------------------------------------------------===//

#include "Coverage.h"

#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Verify/Passes.h"
#include "llvm/Support/Format.h"

using namespace mlir;

namespace tp::fuzz {

static std::optional<CollectiveKind> getRow(Operation *op) {
  if (auto step = dyn_cast<ReshardStepOpInterface>(op))
    return step.getRow().kind;
  return std::nullopt;
}

void Coverage::begin(ModuleOp global) {
  globalTypes.clear();
  global->walk([&](Operation *op) {
    if (auto id = op->getAttrOfType<IntegerAttr>(valueIdAttrName))
      globalTypes[id.getInt()] = llvm::to_vector(op->getResultTypes());
  });
}

Coverage::Layout Coverage::inspect(ArrayRef<int64_t> shape,
                                   const TensorSharding &sharding,
                                   const Mesh &mesh) const {
  Layout layout;
  if (shape.size() == sharding.getRank())
    for (auto [size, dim] : llvm::zip(shape, sharding.dims))
      layout.padded |= getPadding(size, dim) > 0;
  for (const AxisRef &ref : sharding.getUsedAxes())
    layout.subAxis |= ref.size != mesh.getAxis(ref.axis).size;
  return layout;
}

void Coverage::add(ModuleOp perRank) {
  MeshOp meshOp = getUniqueMesh(perRank);
  Mesh mesh = meshOp.getMesh().toMesh();
  auto getGlobalShape = [&](Value value) -> SmallVector<int64_t> {
    Type type;
    if (auto result = dyn_cast<OpResult>(value)) {
      if (auto id =
              result.getOwner()->getAttrOfType<IntegerAttr>(valueIdAttrName))
        type = globalTypes[id.getInt()][result.getResultNumber()];
    } else if (auto function = dyn_cast<FunctionOpInterface>(
                   value.getParentBlock()->getParentOp())) {
      if (auto whole = function.getArgAttrOfType<TypeAttr>(
              cast<BlockArgument>(value).getArgNumber(),
              TPDialect::getGlobalTypeAttrName()))
        type = whole.getValue();
    } else if (auto repeat =
                   dyn_cast<RepeatOp>(value.getParentBlock()->getParentOp())) {
      unsigned index = cast<BlockArgument>(value).getArgNumber();
      auto id = repeat->getAttrOfType<IntegerAttr>(valueIdAttrName);
      if (id && index > 0 && index <= repeat.getInits().size())
        type = globalTypes[id.getInt()][index - 1];
    }
    auto tensor = dyn_cast_or_null<RankedTensorType>(type);
    return tensor ? SmallVector<int64_t>(tensor.getShape())
                  : SmallVector<int64_t>();
  };
  auto count = [](Count &counter, Layout layout) {
    ++counter.all;
    counter.padded += layout.padded;
    counter.subAxis += layout.subAxis;
  };
  perRank->walk([&](Operation *op) {
    if (std::optional<CollectiveKind> row = getRow(op)) {
      Value source = op->getOperand(0);
      while (Operation *step = source.getDefiningOp()) {
        if (!getRow(step))
          break;
        source = step->getOperand(0);
      }
      Layout layout;
      SmallVector<int64_t> shape = getGlobalShape(source);
      for (StringRef name : {"from", "to"})
        if (auto sharding = op->getAttrOfType<ShardingAttr>(name)) {
          Layout side = inspect(shape, sharding.toSharding(mesh), mesh);
          layout.padded |= side.padded;
          layout.subAxis |= side.subAxis;
        }
      Operation *producer = source.getDefiningOp();
      count(reshards[producer ? producer->getName().getStringRef().str()
                              : "argument"][*row],
            layout);
      return;
    }
    if (!op->hasAttr(valueIdAttrName) || !op->getNumResults())
      return;
    Layout layout;
    for (Value value : op->getResults())
      if (ShardingAttr sharding = getSharding(value)) {
        Layout side =
            inspect(getGlobalShape(value), sharding.toSharding(mesh), mesh);
        layout.padded |= side.padded;
        layout.subAxis |= side.subAxis;
      }
    count(operations[op->getName().getStringRef().str()], layout);
  });
}

std::string Coverage::toText() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto line = [&](const std::string &name, int row, const Count &count) {
    os << name << ' ' << row << ' ' << count.all << ' ' << count.padded << ' '
       << count.subAxis << '\n';
  };
  for (const auto &[name, count] : operations)
    line(name, -1, count);
  for (const auto &[name, rows] : reshards)
    for (const auto &[row, count] : rows)
      line(name, int(row), count);
  return text;
}

void Coverage::addText(StringRef text) {
  SmallVector<StringRef> lines;
  text.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines) {
    SmallVector<StringRef> words;
    line.split(words, ' ');
    auto number = [&](unsigned index) {
      int64_t value = 0;
      words[index].getAsInteger(10, value);
      return value;
    };
    std::string name = words[0].str();
    Count &count = number(1) < 0 ? operations[name]
                                 : reshards[name][CollectiveKind(number(1))];
    count.all += number(2);
    count.padded += number(3);
    count.subAxis += number(4);
  }
}

void Coverage::print(llvm::raw_ostream &os) const {
  auto cell = [&](const Count &count) {
    std::string text = std::to_string(count.all);
    if (count.padded)
      text += " p" + std::to_string(count.padded);
    if (count.subAxis)
      text += " s" + std::to_string(count.subAxis);
    os << llvm::format("%-16s", count.all ? text.c_str() : "-");
  };
  os << llvm::format("%-24s%-16s", "operation", "runs");
  for (const CollectiveRow &row : collectiveRows)
    os << llvm::format("%-16s", row.id.data());
  os << "\n";
  auto line = [&](const std::string &name) {
    os << llvm::format("%-24s", name.c_str());
    auto runs = operations.find(name);
    cell(runs == operations.end() ? Count() : runs->second);
    auto rows = reshards.find(name);
    for (const CollectiveRow &row : collectiveRows) {
      Count count;
      if (rows != reshards.end())
        if (auto found = rows->second.find(row.kind);
            found != rows->second.end())
          count = found->second;
      cell(count);
    }
    os << "\n";
  };
  for (const auto &[name, count] : operations)
    line(name);
  for (const auto &[name, rows] : reshards)
    if (!operations.count(name))
      line(name);
}

SmallVector<StringRef> Coverage::getMissingRows() const {
  SmallVector<StringRef> missing;
  for (const CollectiveRow &row : collectiveRows) {
    bool used = llvm::any_of(reshards, [&](const auto &entry) {
      return entry.second.count(row.kind);
    });
    if (!used)
      missing.push_back(row.id);
  }
  return missing;
}

} // namespace tp::fuzz
