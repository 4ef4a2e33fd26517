#!/bin/bash
# Install the build tree, build another project against it, run the result.
# usage: run.sh BUILD_DIR SOURCE_DIR CC CXX
set -euo pipefail
build=$1 source=$2 cc=$3 cxx=$4
work=$build/package-test
rm -rf "$work"
cmake --install "$build" --prefix "$work/prefix" > "$work.log"
sed -n '/^```cpp$/,/^```$/{/^```/d;p}' "$source/docs/Editors.md" > "$work/their-opt.cpp"
cmake -G Ninja -S "$source/test/Package" -B "$work/build" -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" \
  -DCMAKE_PREFIX_PATH="$work/prefix" -DEXAMPLE="$work/their-opt.cpp" > "$work.log"
ninja -C "$work/build" > "$work.log" || { cat "$work.log"; exit 1; }
cat > "$work/model.mlir" <<IR
tp.mesh @mesh <["tp"=2]>
func.func @f(%x: tensor<4x8xf32> {tp.sharding = #tp.sharding<@mesh, [{"tp"}, {}]>}) -> tensor<4x8xf32> {
  %y = "their.scale"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
IR
for tool in "$work"/prefix/bin/*; do
  "$tool" --help > "$work.log" 2>&1 || { cat "$work.log"; exit 1; }
done
# The rule carries the sharding of the operand to the result.
"$work/build/their-opt" "$work/model.mlir" --tp-propagate-pipeline > "$work.log" 2>&1 || { cat "$work.log"; exit 1; }
grep -q 'their.scale.*tp.shardings = \[#tp.sharding<@mesh, \[{"tp"}, {}\]>\]' "$work.log" || { cat "$work.log"; exit 1; }
echo "the installed package works"
rm -rf "$work"
