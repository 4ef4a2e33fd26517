//===- Script.cpp - Random steps of generation ----------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Script.h.
//
//===----------------------------------------------------------------------===//

#include "Script.h"

#include "tp/Dialect/TP/IR/ModelAttributes.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <numeric>
#include <random>
#include <set>

using namespace mlir;
using namespace tp::interp;

namespace tp {

std::vector<std::string> Script::getEntries() const {
  std::set<std::pair<size_t, std::string>> entries;
  for (const Step &step : steps)
    entries.insert({step.entry.size(), step.entry});
  std::vector<std::string> names;
  for (const auto &[size, entry] : entries)
    names.push_back(entry);
  return names;
}

std::optional<int64_t> getStepSize(func::FuncOp function) {
  StringRef name = function.getSymName();
  int64_t tokens;
  if (!name.consume_front("step_") || name.getAsInteger(10, tokens))
    return std::nullopt;
  return tokens;
}

static std::optional<unsigned> getArgument(func::FuncOp function,
                                           StringRef name) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto attr = function.getArgAttrOfType<StringAttr>(
            i, TPDialect::getNameAttrName());
        attr && attr.getValue() == name)
      return i;
  return std::nullopt;
}

FailureOr<unsigned> findArgument(func::FuncOp function, StringRef name) {
  if (std::optional<unsigned> index = getArgument(function, name))
    return *index;
  return function.emitError() << "expected @" << function.getSymName()
                              << " to have an input '" << name << "', got none";
}

FailureOr<unsigned> findResult(func::FuncOp function, StringRef name) {
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (auto attr = function.getResultAttrOfType<StringAttr>(
            i, TPDialect::getNameAttrName());
        attr && attr.getValue() == name)
      return i;
  return function.emitError()
         << "expected @" << function.getSymName() << " to have an output '"
         << name << "', got none";
}

bool isPool(StringRef name, ArrayRef<int64_t> shape, ElementType type) {
  if (shape.size() == 3)
    return type.isFloat() && name.contains("_scales");
  return shape.size() == 4 && (type.isFloat() || type.width == 8);
}

void poisonPages(StringRef name, Tensor &state, const FreedPages &freed) {
  constexpr int64_t nanByte = 0x7F;
  SmallVector<int64_t> shape(state.getShape());
  bool isFloat = state.getElementType().isFloat();
  if (!isPool(name, shape, state.getElementType()))
    return;
  state = state.clone();
  int64_t size =
      shape[1] / freed.count * llvm::product_of(ArrayRef(shape).drop_front(2));
  for (int64_t layer = 0; layer < shape[0]; ++layer)
    for (int64_t page : freed.pages)
      for (int64_t i = 0; i < size; ++i) {
        int64_t at = (layer * freed.count + page) * size + i;
        if (isFloat)
          state.setFloat(at, NAN);
        else
          state.setInt(at, nanByte);
      }
}

/// Each page that a script names is one of each pool, of all its cells or, of a
/// convolution, of fewer slots.
static LogicalResult checkPools(ModuleOp program, int64_t cells, int64_t page) {
  auto has = [&](int64_t size) {
    return size == cells || (size < cells && size % (cells / page) == 0);
  };
  for (auto state : program.getOps<StateOp>()) {
    ArrayRef<int64_t> shape = state.getGlobalType().getShape();
    if (isPool(state.getSymName(), shape,
               *getElementType(state.getGlobalType())) &&
        !has(shape[1]))
      return state.emitError() << "expected " << cells << " cells in state @"
                               << state.getSymName() << ", got " << shape[1];
  }
  return success();
}

namespace {
/// The facts of a program that a script needs.
struct Facts {
  int64_t page = 0, rows = 0, cells = 0, context = 0, window = 0;
  int64_t vocabulary = 0;
  /// The length of a text.
  int64_t longest = 0;
  /// True if steps choose the tokens that follow.
  bool choosesTokens = false;
  /// Tokens of each step, ascending.
  SmallVector<int64_t> sizes;

  int64_t getPagesPerRow() const { return llvm::divideCeil(context, page); }
};

/// A text on its way through the steps.
struct Row {
  int64_t text = -1, done = 0;
  /// By number of page of the text; -1: not there yet, or freed.
  SmallVector<int64_t> pages;
};

class ScriptMaker {
public:
  ScriptMaker(const Facts &facts, uint64_t seed)
      : facts(facts), random(seed), choice(seed), rows(facts.rows),
        freePages(facts.cells / facts.page) {
    std::iota(freePages.begin(), freePages.end(), 0);
    freedPages = freePages;
    for (Row &row : rows)
      row.pages.assign(facts.getPagesPerRow(), -1);
  }

  Script make(int64_t numSteps);

private:
  int64_t draw(int64_t end) { return random() % end; }
  bool happens(int64_t oneIn) { return draw(oneIn) == 0; }
  int64_t drawLength();
  void admit(Row &row);
  void free(int64_t &page);
  void leave(Row &row);
  void makeRoom();
  SmallVector<int64_t> shareTokens(int64_t size);
  SmallVector<int64_t> pickRows(int64_t count, ArrayRef<int64_t> shares) const;
  void drawChoices(Script::Step &step);
  Script::Step makeStep();
  void finish(Row &row);
  int64_t getLength(const Row &row) const {
    return script.texts[row.text].size();
  }

  Facts facts;
  std::mt19937_64 random, choice;
  std::vector<Row> rows;
  SmallVector<int64_t> freePages, freedPages;
  /// Texts that were thrown out.
  SmallVector<int64_t> waiting;
  Script script;
};
} // namespace

/// Around the ends of pages and of the window, or any.
int64_t ScriptMaker::drawLength() {
  const int64_t edges[] = {
      facts.page - 1, facts.page,       facts.page + 1, facts.window - 1,
      facts.window,   facts.window + 1, facts.longest,  1};
  int64_t length = edges[draw(std::size(edges))];
  if (length < 1 || length > facts.longest || happens(4))
    length = 1 + draw(facts.longest);
  return length;
}

void ScriptMaker::admit(Row &row) {
  row.done = 0;
  if (!waiting.empty()) {
    row.text = waiting.pop_back_val();
    return;
  }
  row.text = script.texts.size();
  std::vector<int64_t> &text = script.texts.emplace_back(drawLength());
  for (int64_t &id : text)
    id = draw(facts.vocabulary);
}

void ScriptMaker::free(int64_t &page) {
  if (page < 0)
    return;
  freePages.push_back(page);
  freedPages.push_back(page);
  page = -1;
}

void ScriptMaker::leave(Row &row) {
  for (int64_t &page : row.pages)
    free(page);
  row.text = -1;
}

/// How many of the tokens of a step of `size` each row gets.
SmallVector<int64_t> ScriptMaker::shareTokens(int64_t size) {
  SmallVector<int64_t> shares(rows.size(), 0), order(rows.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  // Now and then not all of them.
  int64_t left = happens(3) ? 1 + draw(size) : size;
  int64_t pagesLeft = freePages.size();
  bool isEmpty = true;
  for (int64_t number : order) {
    const Row &row = rows[number];
    if (row.text < 0 || left == 0)
      continue;
    int64_t inPage = (facts.page - row.done % facts.page) % facts.page;
    int64_t rest = std::min(
        {left, getLength(row) - row.done, inPage + pagesLeft * facts.page});
    if (rest == 0)
      continue;
    const int64_t choices[] = {0, 1, 1 + draw(rest), rest};
    int64_t share = choices[draw(4)];
    if (isEmpty)
      share = std::max<int64_t>(share, 1);
    isEmpty = false;
    shares[number] = share;
    left -= share;
    if (share > inPage)
      pagesLeft -= llvm::divideCeil(share - inPage, facts.page);
  }
  return shares;
}

/// The rows of a step of `count`: those with tokens, and some others, in order.
SmallVector<int64_t> ScriptMaker::pickRows(int64_t count,
                                           ArrayRef<int64_t> shares) const {
  int64_t others = count - llvm::count_if(shares, [](int64_t n) { return n; });
  SmallVector<int64_t> picked;
  for (auto [number, share] : llvm::enumerate(shares))
    if (share || others-- > 0)
      picked.push_back(number);
  return picked;
}

static Tensor makeNumbers(ArrayRef<int64_t> shape, ArrayRef<int64_t> values) {
  Tensor tensor(shape, {ElementType::Int, 32});
  for (auto [i, value] : llvm::enumerate(values))
    tensor.setInt(i, value);
  return tensor;
}

/// How the tokens that follow are chosen, in some of the rows.
void ScriptMaker::drawChoices(Script::Step &step) {
  SmallVector<int64_t> shape(step.inputs.at("context").getShape());
  Tensor positions(shape, {ElementType::Int, 32}), topK = positions.clone();
  Tensor seeds(shape, {ElementType::Int, 64});
  Tensor temperatures(shape, ElementType());
  Tensor topP = temperatures.clone(), minP = temperatures.clone();
  auto pick = [&](auto... values) {
    const double list[] = {double(values)...};
    return list[choice() % std::size(list)];
  };
  for (int64_t row = 0; row < shape[0]; ++row)
    positions.setInt(row, -1);
  for (const Script::LastToken &token : step.lastTokens) {
    if (pick(0, 1, 1) != 0)
      positions.setInt(token.row, token.position + 1);
    seeds.setInt(token.row, choice() >> 1);
    temperatures.setFloat(token.row, pick(0, 0.5, 1.5));
    topK.setInt(token.row, pick(0, 0, 1, 5));
    topP.setFloat(token.row, pick(1, 1, 0.3));
    minP.setFloat(token.row, pick(0, 0, 0.1));
  }
  step.inputs.insert({{"positions", positions},
                      {"seeds", seeds},
                      {"temperatures", temperatures},
                      {"top_k", topK},
                      {"top_p", topP},
                      {"min_p", minP}});
}

Script::Step ScriptMaker::makeStep() {
  Script::Step step;
  // Every other one the largest, so that texts come to their ends.
  int64_t size =
      happens(2) ? facts.sizes.back() : facts.sizes[draw(facts.sizes.size())];
  SmallVector<int64_t> ids, starts{0}, context, table;
  int64_t numRows = std::min(facts.rows, size);
  SmallVector<int64_t> shares = shareTokens(size);
  for (auto [place, number] : llvm::enumerate(pickRows(numRows, shares))) {
    Row &row = rows[number];
    int64_t share = shares[number];
    for (int64_t i = row.done; i < row.done + share; ++i) {
      int64_t &page = row.pages[i / facts.page];
      if (i % facts.page == 0) {
        std::swap(freePages[draw(freePages.size())], freePages.back());
        page = freePages.pop_back_val();
      }
      ids.push_back(script.texts[row.text][i]);
    }
    starts.push_back(ids.size());
    context.push_back(share ? row.done : 0);
    llvm::append_range(table, row.pages);
    row.done += share;
    if (share)
      step.lastTokens.push_back({int64_t(place), row.text, row.done - 1});
  }
  step.entry = "step_" + std::to_string(size);
  step.inputs["ids"] = makeNumbers({1, size}, ids);
  step.inputs["starts"] = makeNumbers({numRows + 1}, starts);
  step.inputs["context"] = makeNumbers({numRows}, context);
  step.inputs["table"] = makeNumbers({numRows, facts.getPagesPerRow()}, table);
  step.freed = {std::exchange(freedPages, {}), facts.cells / facts.page};
  if (facts.choosesTokens)
    drawChoices(step);
  return step;
}

/// Decides how a row goes on after a step.
void ScriptMaker::finish(Row &row) {
  if (row.text < 0)
    return;
  // A row that ended may keep its pages for a while.
  if (row.done == getLength(row) && !happens(4))
    return leave(row);
  if (happens(16)) {
    waiting.push_back(row.text);
    return leave(row);
  }
  // The next token sees the window that ends with itself.
  int64_t firstSeen = facts.window ? row.done + 1 - facts.window : 0;
  for (int64_t i = 0; (i + 1) * facts.page <= firstSeen; ++i)
    if (happens(2))
      free(row.pages[i]);
}

/// If there is no page for any row's next token, rows are thrown out until the
/// first that goes on has one: a cache need not hold what all rows can.
void ScriptMaker::makeRoom() {
  auto goesOn = [&](const Row &row) {
    return row.text >= 0 && row.done < getLength(row);
  };
  auto hasRoom = [&](const Row &row) {
    return goesOn(row) && (row.done % facts.page || !freePages.empty());
  };
  auto first = llvm::find_if(rows, goesOn);
  for (Row &row : rows) {
    if (llvm::any_of(rows, hasRoom))
      return;
    if (row.text < 0 || &row == &*first)
      continue;
    if (goesOn(row))
      waiting.push_back(row.text);
    leave(row);
  }
}

Script ScriptMaker::make(int64_t numSteps) {
  for (int64_t i = 0; i < numSteps; ++i) {
    for (Row &row : rows)
      if (row.text < 0 && happens(2))
        admit(row);
    auto goesOn = [&](const Row &row) {
      return row.text >= 0 && row.done < getLength(row);
    };
    if (llvm::none_of(rows, goesOn)) {
      leave(rows.front());
      admit(rows.front());
    }
    makeRoom();
    script.steps.push_back(makeStep());
    for (Row &row : rows)
      finish(row);
  }
  return std::move(script);
}

static FailureOr<Facts> readFacts(ModuleOp program) {
  Facts facts;
  for (auto function : program.getOps<func::FuncOp>())
    if (std::optional<int64_t> size = getStepSize(function)) {
      facts.sizes.push_back(*size);
      facts.choosesTokens |= getArgument(function, "positions").has_value();
    }
  llvm::sort(facts.sizes);
  auto generation = program->getAttrOfType<DictionaryAttr>(generationAttrName);
  auto main = program.lookupSymbol<func::FuncOp>("main");
  if (!generation || !main || facts.sizes.empty())
    return program.emitError()
           << "expected a program with @main and steps of generation for a "
              "script, got none: import a checkpoint with --generate";
  for (auto [name, fact] : {std::pair("page", &facts.page),
                            {"rows", &facts.rows},
                            {"cells", &facts.cells},
                            {"context", &facts.context},
                            {"window", &facts.window},
                            {"vocabulary", &facts.vocabulary}}) {
    auto number = generation.getAs<IntegerAttr>(name);
    if (!number || number.getInt() < (fact == &facts.window ? 0 : 1))
      return program.emitError()
             << "expected " << generationAttrName << " to say how large '"
             << name << "' is, got " << generation;
    *fact = number.getInt();
  }
  FailureOr<unsigned> ids = findArgument(main, "input_ids");
  if (failed(ids))
    return failure();
  auto type = cast<RankedTensorType>(main.getArgument(*ids).getType());
  facts.longest = std::min(facts.context, type.getShape().back());
  if (facts.cells < facts.page)
    return program.emitError() << "expected cells for a page of " << facts.page
                               << " positions, got " << facts.cells;
  // Alone a text has room.
  facts.longest =
      std::min(facts.longest, facts.cells / facts.page * facts.page);
  if (failed(checkPools(program, facts.cells, facts.page)))
    return failure();
  return facts;
}

FailureOr<Script> makeScript(ModuleOp program, uint64_t seed,
                             int64_t numSteps) {
  FailureOr<Facts> facts = readFacts(program);
  if (failed(facts))
    return failure();
  return ScriptMaker(*facts, seed).make(numSteps);
}

} // namespace tp
