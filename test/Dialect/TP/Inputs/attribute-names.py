"""Print a program per mistake that can be made with a name of the table of
attributes: each name with a letter less, at each place, and each name where it
may not stand. With --count, how many there are."""

import re
import sys

PLACES = {  # where: the program around an attribute
    "OnModule": "module attributes {%s} {}",
    "OnFunction": "func.func private @f() attributes {%s}",
    "OnParameter": 'func.func @f() {\n  %%0 = tp.parameter "w" {%s} : tensor<8xf32>\n  return\n}',
    "OnState": "tp.state @s : tensor<8xf32> {%s}",
    "OnOperation": "func.func @f(%%x: tensor<8xf32>) {\n  %%0 = arith.negf %%x {%s} : tensor<8xf32>\n  return\n}",
    "OnArgument": "func.func private @f(tensor<8xf32> {%s})",
    "OnResult": "func.func private @f() -> (tensor<8xf32> {%s})",
}
OPERATIONS = {"OnModule", "OnFunction", "OnParameter", "OnState"}

table = open(sys.argv[1]).read()
rows = dict(re.findall(r'\{"(tp\.\w+)",\s*([^,]*),', table))
assert len(rows) > 40, rows
programs = []
for name, places in rows.items():
    stands = set(re.findall(r"On\w+", places.replace("onValue", "OnArgument | OnResult")))
    if "OnOperation" in stands:
        stands |= OPERATIONS
    short = name[:-2] + name[-1]
    programs += [PLACES[place] % f"{short} = 3" for place in PLACES if short not in rows]
    programs += [PLACES[place] % f"{name} = 3" for place in PLACES if place not in stands]
    # Nothing holds a location alone.
    programs += [PLACES[place] % f'{name} = loc("a")' for place in PLACES if place in stands]
print(len(programs) if "--count" in sys.argv else "\n// -----\n".join(programs))
