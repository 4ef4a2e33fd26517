"""Random stacks of layers, rolled by tp-roll-layers: `periods.py TP_OPT IR`.

IR is a program of equal layers. Some of them get another epsilon, so that there
are two kinds, in a random order: a prefix, a period, a suffix. Checked of each
stack: written out again it is what it was; each layer is in one loop or in
none; and no fewer layers could be written, which a search through all ways of
cutting the stack says.
"""

import functools
import random
import re
import subprocess
import sys

tp_opt, program = sys.argv[1:3]


def run(text, *options):
    return subprocess.run([tp_opt, *options], input=text, capture_output=True, text=True,
                          check=True).stdout


def written(kinds):
    """The fewest layers that loops over `kinds`, each as long as it can be, have."""

    @functools.cache
    def best(at):
        if at == len(kinds):
            return 0
        found = 1 + best(at + 1)
        for period in range(1, (len(kinds) - at) // 2 + 1):
            body, end = kinds[at:at + period], at + period
            while kinds[end:end + period] == body:
                end += period
            if end > at + period:
                found = min(found, period + best(end))
        return found

    return best(0)


def make_stack(rng, layers):
    """Kinds of so many layers."""

    def draw(least, most):
        return [rng.randrange(2) for _ in range(rng.randint(least, most))]

    prefix, period, suffix = draw(0, 2), draw(1, 5), draw(0, 2)
    middle = layers - len(prefix) - len(suffix)
    return prefix + (period * middle)[:middle] + suffix


def check(equal, kinds):
    odd = ",".join(str(i) for i, kind in enumerate(kinds) if kind) or "-1"
    stack = run(equal, f"--test-tp-unroll-layers=odd={odd}")
    rolled = run(stack, "--tp-roll-layers")
    assert run(rolled, "--test-tp-unroll-layers") == stack, (kinds, "is another program")
    norms = rolled.count("input_layernorm.weight\"")
    assert norms == written(tuple(kinds)), (kinds, norms, written(tuple(kinds)), rolled)
    times = 0
    for count, body in re.findall(r"tp\.repeat (\d+) times(.*?)tp\.yield", rolled, re.S):
        assert int(count) > 1, kinds
        times += (int(count) - 1) * body.count("input_layernorm.weight\"")
    assert norms + times == len(kinds), (kinds, rolled)


def main():
    rng = random.Random(7)
    equal = open(program, encoding="utf-8").read()
    layers = int(re.search(r"tp\.repeat (\d+) times", equal).group(1))
    for _ in range(24):
        check(equal, make_stack(rng, layers))
    print("24 stacks as they were")


if __name__ == "__main__":
    main()
