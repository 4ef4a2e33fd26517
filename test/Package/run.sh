#!/bin/bash
# Install the build tree, build another project against it, run the result.
# usage: run.sh BUILD_DIR SOURCE_DIR CC CXX
set -euo pipefail
build=$1 source=$2 cc=$3 cxx=$4
work=$build/package-test
rm -rf "$work"
cmake --install "$build" --prefix "$work/prefix" > "$work.log"
cmake -G Ninja -S "$source/test/Package" -B "$work/build" -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" \
  -DCMAKE_CXX_FLAGS=-fno-exceptions -DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld \
  -DCMAKE_PREFIX_PATH="$work/prefix" > "$work.log"
ninja -C "$work/build" > "$work.log" || { cat "$work.log"; exit 1; }
cat > "$work/model.mlir" <<IR
func.func @f() -> tensor<4xf32> {
  %0 = tp.parameter "a" : tensor<4xf32>
  %1 = tp.parameter "b" : tensor<4xf32>
  %2 = arith.addf %0, %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
IR
for tool in "$work"/prefix/bin/*; do
  "$tool" --help > "$work.log" 2>&1 || { cat "$work.log"; exit 1; }
done
[ "$("$work/build/count-parameters" "$work/model.mlir")" = "2 parameters" ]
echo "the installed package works"
rm -rf "$work"
