"""Random programs of states, run for some steps and compared with what they mean.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

usage: random-states.py FOLDER SEED PROGRAMS

Two or three states and an input; sums, products, reversals and totals of them; each state
gets one of the values as its successor, or none. A step has the old values in all that it
computes. States are whole, cut or partial, and begin with zeros, ones or tensors of a
checkpoint, one or one for each element, in any type. A program may be refused because a
state cannot be updated in place, or would have to be summed in each step, and for nothing
else.
"""

import os
import random
import subprocess
import sys

import tensors

folder, seed, programs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
STEPS = 3
RANKS = (1, 2, 4)
REFUSALS = ("cannot update state", "needs the reduced value of the partial state")
SHARDINGS = ("", ' sharding <@mesh, [{"tp"}]>', ' sharding <@mesh, [{}], partial sum {"tp"}>')


def draw_states(numbers, count, size, vector):
    """The states of a program, what they begin with, and their checkpoint."""
    states, initial, checkpoint = [], [], {}
    for i in range(count):
        kind = numbers.choice(["", " ones", " parameter \"w%d\"" % i, " parameter \"w%d.{i}\" from 3" % i])
        sharding = numbers.choice(SHARDINGS)
        # All types of a checkpoint hold these.
        values = [{"": 0.0, " ones": 1.0}.get(kind, numbers.randint(-16, 16) / 8) for _ in range(size)]
        dtype = numbers.choice(["F32", "F16"])
        if "{i}" in kind:
            sharding = sharding if sharding != SHARDINGS[1] else ""
            checkpoint.update({"w%d.%d" % (i, 3 + n): (dtype, [], [v]) for n, v in enumerate(values)})
        elif "parameter" in kind:
            checkpoint["w%d" % i] = (dtype, [size], values)
        states.append("tp.state @s%d : %s%s%s" % (i, vector, kind, sharding))
        initial.append(values)
    return states, initial, checkpoint


def make(numbers):
    """The size, the text of a program, what its states begin with, their checkpoint, and a
    function (input) -> (states, outputs)."""
    size, count = numbers.choice([5, 13, 16]), numbers.choice([2, 2, 3])
    vector = "tensor<%dxf32>" % size
    text, steps = [], []
    names = ["x"] + ["s%d" % i for i in range(count)]

    def add(line, compute):
        name = "v%d" % len(steps)
        text.append("  %%%s = %s" % (name, line))
        steps.append((name, compute))
        names.append(name)

    def generic(maps, operands, body):
        return ("linalg.generic {indexing_maps = [%s], iterator_types = [\"parallel\"]} ins(%s : %s) "
                "outs(%%e : %s) {\n  ^bb0(%s, %%o: f32):\n    %s\n    linalg.yield %%r : f32\n  } -> %s" % (
                    ", ".join("affine_map<(i) -> (%s)>" % m for m in maps + ["i"]),
                    ", ".join("%" + o for o in operands),
                    ", ".join("tensor<f32>" if m == "" else vector for m in maps), vector,
                    ", ".join("%%a%d: f32" % i for i in range(len(maps))), body, vector))

    for _ in range(numbers.randint(2, 7)):
        a, b, kind = numbers.choice(names), numbers.choice(names), numbers.randrange(4)
        if kind == 0:
            add("arith.addf %%%s, %%%s : %s" % (a, b, vector),
                lambda v, a=a, b=b: [0 + p + q for p, q in zip(v[a], v[b])])
        elif kind == 1:
            add("arith.mulf %%%s, %%half : %s" % (a, vector), lambda v, a=a: [p / 2 for p in v[a]])
        elif kind == 2:
            add(generic(["%d - i" % (size - 1)], [a], "%r = arith.negf %a0 : f32"),
                lambda v, a=a: [-p for p in reversed(v[a])])
        else:
            total = "t%d" % len(steps)
            text.append("  %%%s = linalg.reduce { arith.addf } ins(%%%s : %s) outs(%%init : tensor<f32>) "
                        "dimensions = [0]" % (total, a, vector))
            add(generic(["", "i"], [total, b], "%p = arith.mulf %a0, %c : f32\n    "
                        "%r = arith.addf %p, %a1 : f32"),
                lambda v, a=a, b=b: [sum(v[a]) / 16 + q for q in v[b]])
    kept = [i for i in range(count) if numbers.random() < 0.8]
    successors = {i: numbers.choice(names) for i in kept}
    outputs = [numbers.choice(names) for _ in range(numbers.randint(1, 2))]
    states, initial, checkpoint = draw_states(numbers, count, size, vector)
    results = ["%s {tp.state = @s%d}" % (vector, i) for i in kept]
    results += ["%s {tp.name = \"y%d\"}" % (vector, i) for i in range(len(outputs))]
    returned = [successors[i] for i in kept] + outputs
    whole = "\n".join(
        ["tp.mesh @mesh <[\"tp\"=RANKS]>"] + states
        + ["func.func @main(%%x: %s {tp.name = \"x\"}, %s) -> (%s) {" % (
            vector, ", ".join("%%s%d: %s {tp.state = @s%d}" % (i, vector, i) for i in range(count)),
            ", ".join(results)),
           "  %%half = arith.constant dense<0.5> : %s" % vector,
           "  %c = arith.constant 0.0625 : f32", "  %zero = arith.constant 0.0 : f32",
           "  %%e = tensor.empty() : %s" % vector, "  %f = tensor.empty() : tensor<f32>",
           "  %init = linalg.fill ins(%zero : f32) outs(%f : tensor<f32>) -> tensor<f32>"] + text
        + ["  return %s : %s" % (", ".join("%" + name for name in returned),
                                 ", ".join([vector] * len(returned))), "}", ""])

    def run(x):
        now = initial
        for _ in range(STEPS):
            values = {"x": x, **{"s%d" % i: state for i, state in enumerate(now)}}
            for name, compute in steps:
                values[name] = compute(values)
            now = [values[successors[i]] if i in successors else state for i, state in enumerate(now)]
        return now, [values[name] for name in outputs]

    return size, whole, checkpoint, run


def at(name):
    return os.path.join(folder, name)


def check(number):
    """True if the program was compiled, and not refused."""
    numbers = random.Random(number)
    size, text, checkpoint, run = make(numbers)
    x = [numbers.gauss(0, 1) for _ in range(size)]
    tensors.save(at("x.safetensors"), {"x": ("F32", [size], x)})
    x = tensors.load(at("x.safetensors"))["x"][1]
    weights = "random:1"
    if checkpoint:
        weights = at("w.safetensors")
        tensors.save(weights, checkpoint)
    compiled = True
    for ranks in RANKS:
        with open(at("p.mlir"), "w") as file:
            file.write(text.replace("RANKS", str(ranks)))
        made = subprocess.run(["tp-compile", at("p.mlir"), "--plan", "replicated", "-o",
                               at("p.tpa")], capture_output=True, text=True)
        if made.returncode == 1 and any(why in made.stderr for why in REFUSALS):
            compiled = False
            continue
        if made.returncode:
            raise SystemExit("seed %d at %d ranks: %s\n%s" % (number, ranks, made.stderr, text))
        subprocess.run(["tp-run", at("p.tpa"), "--weights", weights, "--repeat", str(STEPS), "--input",
                        at("x.safetensors"), "--states", at("s.safetensors"), "--output",
                        at("y.safetensors")], check=True)
        states, outputs = run(x)
        got = {**tensors.load(at("s.safetensors")), **tensors.load(at("y.safetensors"))}
        want = {**{"s%d" % i: v for i, v in enumerate(states)}, **{"y%d" % i: v for i, v in enumerate(outputs)}}
        for name, values in want.items():
            scale = max(1.0, max(abs(v) for v in values))
            for i, value in enumerate(values):
                if not abs(got[name][1][i] - value) <= 1e-5 * scale:
                    raise SystemExit("seed %d at %d ranks: %s[%d] is %r instead of %r\n%s" % (
                        number, ranks, name, i, got[name][1][i], value, text))
    return compiled


compiled = sum(check(seed + i) for i in range(programs))
print("seeds from %d: %d of %d programs run, the others refused" % (seed, compiled, programs))
if compiled * 3 < programs:
    raise SystemExit("too many are refused to say anything")
