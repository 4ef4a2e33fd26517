# usage: peers.sh FIXTURES PREFIX
# Runs a model in both forms and compares the results bit by bit.
set -e
for tp in 2 3; do
  for type in f32 bf16; do
    for form in peer library; do
      tp-compile "$1/llama-gqa" --mesh tp=$tp --seq 5 --dtype $type --all-reduce $form -o "$2.tpa" 2>/dev/null
      for backend in threads processes; do
        tp-run "$2.tpa" --weights random:1 --input random:2 --repeat 20 --backend $backend \
          --output "$2.$form.$backend.safetensors" 2>/dev/null
      done
    done
    cmp "$2.library.threads.safetensors" "$2.peer.threads.safetensors"
    cmp "$2.library.threads.safetensors" "$2.peer.processes.safetensors"
    echo "tp=$tp $type: same"
  done
done
