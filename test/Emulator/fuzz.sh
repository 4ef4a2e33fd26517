#!/bin/sh
# fuzz.sh BIN FIRST LAST: random programs' kernels in the emulator. A failure
# prints the seed; `tp-fuzz --seed N --print` shows the program.
set -u
program=$(mktemp --suffix=.mlir) || exit 1
output=$(mktemp) || exit 1
trap 'rm -f "$program" "$output"' EXIT
failed=0
for seed in $(seq "$2" "$3"); do
  "$1/tp-fuzz" --seed "$seed" --print > "$program" || exit 1
  "$1/tp-check-kernels" "$program" --ptx > "$output" 2>&1 && continue
  # Some programs are data movement by collectives alone.
  grep -q "error: the program has no kernel" "$output" && continue
  # Others make a partial state's successor of what only its sum gives.
  grep -q "needs the reduced value of the partial state" "$output" && continue
  # And experts may have what no device has the derivative of.
  grep -q "has no kernel on a device" "$output" && continue
  echo "seed $seed:"
  cat "$output"
  failed=1
done
exit $failed
