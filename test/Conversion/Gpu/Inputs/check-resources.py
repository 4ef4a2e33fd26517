"""Checks what the assembler says of kernels: check-resources.py kernels.json
KERNELS ARCHITECTURES. So many kernels, each for these architectures
(sm_80,sm_90; some for sm_90a besides), and none spills or has a stack."""
import json
import sys

with open(sys.argv[1]) as file:
    kernels = json.load(file)["kernels"]
kernels_wanted, architectures_wanted = int(sys.argv[2]), sys.argv[3].split(",")
faults = []
if len(kernels) != kernels_wanted:
    faults.append(f"expected {kernels_wanted} kernels, got {len(kernels)}")
for name, architectures in kernels.items():
    if set(architectures) - {"sm_90a"} != set(architectures_wanted):
        faults.append(f"{name}: expected {architectures_wanted}, got {list(architectures)}")
    for architecture, used in architectures.items():
        for resource in ("spill_stores", "spill_loads", "stack"):
            if used[resource] != 0:
                faults.append(f"{name} for {architecture}: {used[resource]} bytes of {resource}")
sys.exit("\n".join(faults) or 0)
