"""Random programs of repeats, compiled and compared with what they mean.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

    random-repeats.py BIN [--first N] [--count N] [--degrees 1,2,3] [--print]

Each seed makes a program of nested repeats, some of no iterations, some numbered
from elsewhere than zero, with carried values that swap, stacked operands and
results, values and parameters of the loops around, templates that siblings share,
and parameters that nothing reads. Its meaning is computed here, loop by loop, from
the definition of tp.repeat alone; tp-run must give it at every degree, from a
checkpoint that holds every name that the program writes down, and tp-verify must
find every stage equal. Prints the seed of what fails (--print shows its program) and
ends with 1.
"""

import argparse
import collections
import math
import os
import random
import subprocess
import sys
import tempfile

import tensors

ROWS, WIDTH, HIDDEN = 4, 6, 10
VALUE = (ROWS, WIDTH)
SHAPES = {
    "mlp.up_proj.weight": (HIDDEN, WIDTH),
    "mlp.down_proj.weight": (WIDTH, HIDDEN),
    "proj.weight": (WIDTH, WIDTH),
    "norm.weight": (WIDTH,),
}


def getType(shape):
    return "tensor<" + "x".join(str(size) for size in shape) + "xf32>"


VALUE_TYPE = getType(VALUE)


class Loop:
    """A tp.repeat while its body is made; the function is one without a parent."""

    def __init__(self, parent, number, count=1, first=0):
        self.parent, self.number, self.count, self.first = parent, number, count, first
        # Groups of names in use in the loop, and in loops inside it.
        self.groups, self.inner = set(), set()

    def isFree(self, group):
        """True if no loop around or inside names a template of the group."""
        return group not in self.inner and (not self.parent or self.parent.isUnused(group))

    def isUnused(self, group):
        return group not in self.groups and (not self.parent or self.parent.isUnused(group))

    def use(self, group):
        self.groups.add(group)
        around = self.parent
        while around:
            around.inner.add(group)
            around = around.parent


class Maker:
    """Draws a program: its text, and code that computes it.

    `values` are the names of tensors of VALUE in scope, `stacks` those of stacks of
    them with their counts; a step is a function of the environment and of the index
    of the loop that it is in.
    """

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.next = self.loops = 0
        # Names of the checkpoint with the shape; those of no instance too.
        self.checkpoint = {}
        self.features = collections.Counter()

    def name(self):
        self.next += 1
        return f"%v{self.next}"

    def pick(self, values):
        """One of the values, more often a late one."""
        return self.random.choice(values[-4:] if self.random.random() < 0.6 else values)

    def makeParameter(self, kind, loop, lines, steps, pad):
        """A parameter in `loop`: a template, or one name."""
        out, shape = self.name(), SHAPES[kind]
        if loop.parent and self.random.random() < 0.7:
            group = self.random.choice(["own", "a", "b"])
            if group == "own" or not loop.isFree(group):
                group = f"loop{loop.number}"
            loop.use(group)
            pattern = f"{group}.{{i}}.{kind}"
            for index in range(loop.first, loop.first + max(loop.count, 1)):
                self.checkpoint[pattern.replace("{i}", str(index))] = shape
        else:
            pattern = f"{self.random.choice(['a.0', 'a.3', 'b.1', 'shared'])}.{kind}"
            self.checkpoint[pattern] = shape
        lines.append(f'{pad}{out} = tp.parameter "{pattern}" : {getType(shape)}')

        def run(env, index):
            env[out] = self.weights[pattern.replace("{i}", str(index))]

        steps.append(run)
        return out

    def makeLinear(self, x, weight, rows, n, k, lines, steps, pad):
        out = self.name()
        lines.append(
            f"{pad}{out} = nn.linear {x}, {weight} : ({getType((rows, k))}, {getType((n, k))}) -> {getType((rows, n))}"
        )

        def run(env, index):
            a, w = env[x], env[weight]
            env[out] = [
                sum(a[r * k + j] * w[c * k + j] for j in range(k)) for r in range(rows) for c in range(n)
            ]

        steps.append(run)
        return out

    def makeTanh(self, x, shape, lines, steps, pad):
        out = self.name()
        lines.append(f"{pad}{out} = math.tanh {x} : {getType(shape)}")
        steps.append(lambda env, index: env.__setitem__(out, [math.tanh(v) for v in env[x]]))
        return out

    def makeSum(self, x, y, lines, steps, pad):
        out = self.name()
        lines.append(f"{pad}{out} = arith.addf {x}, {y} : {VALUE_TYPE}")
        steps.append(lambda env, index: env.__setitem__(out, [a + b for a, b in zip(env[x], env[y])]))
        return out

    def makeMlp(self, values, weights, loop, lines, steps, pad):
        # The weights may be of a loop around.
        x = self.pick(values)
        if weights and self.random.random() < 0.5:
            up, down = self.random.choice(weights)
            self.features["weights from above"] += 1
        else:
            up = self.makeParameter("mlp.up_proj.weight", loop, lines, steps, pad)
            down = self.makeParameter("mlp.down_proj.weight", loop, lines, steps, pad)
            if loop.parent:
                weights.append((up, down))
        wide = self.makeLinear(x, up, ROWS, HIDDEN, WIDTH, lines, steps, pad)
        wide = self.makeTanh(wide, (ROWS, HIDDEN), lines, steps, pad)
        return self.makeLinear(wide, down, ROWS, WIDTH, HIDDEN, lines, steps, pad)

    def makeNorm(self, values, weights, loop, lines, steps, pad):
        x, out = self.pick(values), self.name()
        weight = self.makeParameter("norm.weight", loop, lines, steps, pad)
        lines.append(
            f"{pad}{out} = nn.rms_norm {x}, {weight} {{epsilon = 1.0e-3 : f64}} : ({VALUE_TYPE}, {getType((WIDTH,))}) -> {VALUE_TYPE}"
        )

        def run(env, index):
            a, w, result = env[x], env[weight], []
            for r in range(ROWS):
                row = a[r * WIDTH : (r + 1) * WIDTH]
                scale = 1 / math.sqrt(sum(v * v for v in row) / WIDTH + 1e-3)
                result += [v * scale * f for v, f in zip(row, w)]
            env[out] = result

        steps.append(run)
        return out

    def makeProjection(self, values, weights, loop, lines, steps, pad):
        weight = self.makeParameter("proj.weight", loop, lines, steps, pad)
        x = self.pick(values)
        out = self.makeLinear(x, weight, ROWS, WIDTH, WIDTH, lines, steps, pad)
        return self.makeTanh(out, VALUE, lines, steps, pad)

    def makeDead(self, values, loop, lines, steps, pad):
        weight = self.makeParameter("proj.weight", loop, lines, steps, pad)
        if self.random.random() < 0.5:
            self.makeLinear(self.random.choice(values), weight, ROWS, WIDTH, WIDTH, lines, steps, pad)
        self.features["dead parameter"] += 1

    def makeBody(self, values, stacks, weights, loop, depth, runs, lines, steps, pad):
        """Statements of one block; adds to `values` and `stacks` what they make."""
        for _ in range(self.random.randint(1, 3 if depth else 4)):
            kind = self.random.random()
            if kind < 0.4 and depth < 3:
                self.makeRepeat(values, stacks, weights, loop, depth, runs, lines, steps, pad)
                continue
            if kind < 0.5:
                self.makeDead(values, loop, lines, steps, pad)
                continue
            if kind < 0.65 and stacks:
                out = self.makeSlice(stacks, lines, steps, pad)
            else:
                make = self.random.choice([self.makeMlp, self.makeMlp, self.makeNorm, self.makeProjection])
                out = make(values, weights, loop, lines, steps, pad)
            values.append(self.makeSum(out, self.pick(values), lines, steps, pad))

    def makeSlice(self, stacks, lines, steps, pad):
        stack, count = self.random.choice(stacks)
        out, at = self.name(), self.random.randrange(count)
        lines.append(
            f"{pad}{out} = tensor.extract_slice {stack}[{at}, 0, 0] [1, {ROWS}, {WIDTH}] [1, 1, 1] : "
            f"{getType((count,) + VALUE)} to {VALUE_TYPE}"
        )
        size = ROWS * WIDTH
        steps.append(lambda env, index: env.__setitem__(out, env[stack][at * size : (at + 1) * size]))
        return out

    def makeRepeat(self, values, stacks, weights, around, depth, runs, lines, steps, pad):
        choose = self.random.choice
        stacked = [choose(stacks)] if stacks and self.random.random() < 0.5 else []
        if stacked:
            count = stacked[0][1]
            stacked = [entry for entry in stacks if entry[1] == count][-2:]
        else:
            count = choose([0, 1, 1, 2, 2, 3, 4])
        while not stacked and runs * count > 24:
            count -= 1
        if runs * count > 24:
            return
        self.loops += 1
        loop = Loop(around, self.loops, count, choose([0, 0, 0, 1, 3]))
        numResults = self.random.randint(0, 2) if count else 0
        inits = [self.pick(values) for _ in range(self.random.randint(0 if numResults else 1, 2))]
        self.features[f"depth {depth + 1}"] += 1
        self.features[f"count {min(count, 2)}"] += 1
        if stacked:
            self.features["stacked operands"] += 1
        if numResults:
            self.features["stacked results"] += 1
        index = f"%i{loop.number}"
        carried, slices = [self.name() for _ in inits], [self.name() for _ in stacked]
        bodyLines, bodySteps = [], []
        inside, insideStacks, insideWeights = list(values) + slices + carried, list(stacks), list(weights)
        self.makeBody(inside, insideStacks, insideWeights, loop, depth + 1, runs * max(count, 1), bodyLines, bodySteps, pad + "  ")
        made = inside[len(values) :] or inside
        yielded = [choose(made[-3:]) for _ in range(len(inits) + numResults)]
        results = [self.name() for _ in yielded]
        types = [VALUE_TYPE] * len(inits) + [getType((count,) + VALUE)] * numResults
        operands = [VALUE_TYPE] * len(inits) + [getType((count,) + VALUE)] * len(stacked)
        arguments = [f"{index}: index"] + [f"{arg}: {VALUE_TYPE}" for arg in carried + slices]
        lines.append(
            f"{pad}{', '.join(results)} = tp.repeat {count} times"
            + (f" from {loop.first}" if loop.first else "")
            + (f" iter({', '.join(inits)})" if inits else "")
            + (f" stacked({', '.join(name for name, _ in stacked)})" if stacked else "")
            + (" {tp.comm_budget = #tp.comm_budget<any count 100>}" if self.random.random() < 0.3 else "")
            + f" : ({', '.join(operands)}) -> ({', '.join(types)}) {{"
        )
        lines.append(f"{pad}^bb0({', '.join(arguments)}):")
        lines += bodyLines
        lines.append(f"{pad}  tp.yield {', '.join(yielded)} : {', '.join([VALUE_TYPE] * len(yielded))}")
        lines.append(pad + "}")
        size = ROWS * WIDTH

        def run(env, index):
            current, kept = [env[name] for name in inits], [[] for _ in range(numResults)]
            for i in range(count):
                env.update(zip(carried, current))
                for arg, (name, _) in zip(slices, stacked):
                    env[arg] = env[name][i * size : (i + 1) * size]
                for step in bodySteps:
                    step(env, loop.first + i)
                made = [env[name] for name in yielded]
                current = made[: len(inits)]
                for stack, value in zip(kept, made[len(inits) :]):
                    stack += value
            env.update(zip(results, current + kept))

        steps.append(run)
        values += results[: len(inits)]
        stacks += [(name, count) for name in results[len(inits) :]]

    def make(self):
        lines, steps = [], []
        top = Loop(None, 0)
        values, stacks, weights = ["%x"], [("%s2", 2), ("%s3", 3)], []
        values.append(self.makeMlp(values, weights, top, lines, steps, "  "))
        for _ in range(3):
            self.makeRepeat(values, stacks, weights, top, 0, 1, lines, steps, "  ")
        self.makeBody(values, stacks, weights, top, 0, 1, lines, steps, "  ")
        # The first keeps the parameters that a plan knows in use.
        results = [values[1]] + values[-5:]
        arguments = ", ".join(
            f'%{name}: {getType(shape)} {{tp.name = "{name}"}}' for name, shape in self.getInputs()
        )
        outputs = ", ".join(f'{VALUE_TYPE} {{tp.name = "r{i}"}}' for i in range(len(results)))
        self.steps, self.results = steps, results
        return "\n".join(
            [f"func.func @main({arguments}) -> ({outputs}) {{"]
            + lines
            + [f"  return {', '.join(results)} : {', '.join([VALUE_TYPE] * len(results))}", "}", ""]
        )

    def getInputs(self):
        return [("x", VALUE), ("s2", (2,) + VALUE), ("s3", (3,) + VALUE)]

    def drawData(self):
        def draw(shape, scale):
            return [self.random.gauss(0, 1) * scale for _ in range(math.prod(shape))]

        self.weights = {
            name: draw(shape, 1 / math.sqrt(shape[-1]) if len(shape) == 2 else 1)
            for name, shape in sorted(self.checkpoint.items())
        }
        self.inputs = {name: draw(shape, 1) for name, shape in self.getInputs()}

    def compute(self):
        env = {"%" + name: value for name, value in self.inputs.items()}
        for step in self.steps:
            step(env, 0)
        return [env[name] for name in self.results]


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=120)
    return done.returncode, done.stdout + done.stderr


def check(tools, seed, degrees, folder, features):
    """What is wrong with the program of `seed`; empty if nothing is."""
    maker = Maker(seed)
    text = maker.make()
    maker.drawData()
    features.update(maker.features.keys())
    os.makedirs(os.path.join(folder, "weights"), exist_ok=True)
    path = {name: os.path.join(folder, name) for name in ("p.mlir", "p.tpa", "in.safetensors", "out.safetensors", "weights")}
    with open(path["p.mlir"], "w") as file:
        file.write(text)
    tensors.save(
        os.path.join(path["weights"], "model.safetensors"),
        {name: ("F32", list(maker.checkpoint[name]), data) for name, data in maker.weights.items()},
    )
    tensors.save(
        path["in.safetensors"],
        {name: ("F32", list(shape), maker.inputs[name]) for name, shape in maker.getInputs()},
    )
    expected = maker.compute()
    for degree in degrees:
        mesh = f"tp={degree}"
        status, output = run([tools + "/tp-compile", path["p.mlir"], "--mesh", mesh, "-o", path["p.tpa"]])
        if status == 0:
            status, output = run(
                [tools + "/tp-run", path["p.tpa"], "--weights", path["weights"]]
                + ["--input", path["in.safetensors"], "--output", path["out.safetensors"]]
            )
        if status != 0:
            return text, f"{mesh}: status {status}\n{output}"
        results = tensors.load(path["out.safetensors"])
        for i, want in enumerate(expected):
            got = results[f"r{i}"][1]
            scale = max(1, max(abs(v) for v in want))
            # NaN compares as different.
            if not all(abs(a - b) <= 1e-4 * scale for a, b in zip(got, want)):
                return text, f"{mesh}: result {i} is {got[:4]}..., expected {want[:4]}..."
        status, output = run(
            [tools + "/tp-verify", path["p.mlir"], "--mesh", mesh, "--plan", "megatron"]
            + ["--weights", path["weights"], "--stages", "propagate,partition,collectives,lower"]
        )
        if status != 0:
            return text, f"tp-verify {mesh}: status {status}\n{output}"
    return text, ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tools")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--degrees", default="1,2,3")
    parser.add_argument("--print", action="store_true")
    arguments = parser.parse_args()
    degrees = [int(degree) for degree in arguments.degrees.split(",")]
    failures, features = 0, collections.Counter()
    for seed in range(arguments.first, arguments.first + arguments.count):
        with tempfile.TemporaryDirectory() as folder:
            text, problem = check(arguments.tools, seed, degrees, folder, features)
        if arguments.print:
            print(text)
        if problem:
            failures += 1
            print(f"seed {seed}: {problem}")
    drawn = ", ".join(f"{name} {times}" for name, times in sorted(features.items()))
    print(f"{arguments.count} programs from seed {arguments.first}, {failures} failed; programs with: {drawn}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
